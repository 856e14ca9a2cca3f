//! Damaged images of UBI and UBIFS: see ../README.md for what an input means.

#![no_main]

mod damage;
mod ubifs_images;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| ubifs_images::check(input));
