//! Damaged YAFFS2 images: see ../README.md for what an input means.

#![no_main]

mod damage;
mod yaffs2_images;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| yaffs2_images::check(input));
