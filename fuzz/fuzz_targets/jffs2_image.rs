//! Damaged JFFS2 images: see ../README.md for what an input means.

#![no_main]

mod damage;
mod jffs2_images;

use ffslab_conformance::{hostile, Subject};
use ffslab_jffs2::Compression;
use jffs2_images::GEOMETRY;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const OPERATIONS_MAX: u64 = 1_000_000;

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(jffs2_images::make);

fuzz_target!(|input: &[u8]| {
    let Some(mut damaged) = damage::apply(input, &IMAGES, &[], GEOMETRY) else { return };
    let jffs2 = jffs2_images::jffs2(Compression::None, true);
    if damaged.reseal {
        jffs2.reseal(&mut damaged.image);
    }
    if let Err(failure) = hostile::use_image(&jffs2, &damaged.image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
});
