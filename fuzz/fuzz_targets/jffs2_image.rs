//! Damaged JFFS2 images: see ../README.md for what an input means.

#![no_main]

mod damage;
mod jffs2_images;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| jffs2_images::check(input));
