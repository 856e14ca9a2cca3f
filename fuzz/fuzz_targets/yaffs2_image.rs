//! Damaged YAFFS2 images: see ../README.md for what an input means.

#![no_main]

mod damage;
mod yaffs2_images;

use ffslab_conformance::{hostile, Subject};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use yaffs2_images::GEOMETRY;

const OPERATIONS_MAX: u64 = 1_000_000;

/// Writers of the images, images.
static IMAGES: LazyLock<(Vec<usize>, Vec<Vec<u8>>)> =
    LazyLock::new(|| yaffs2_images::make(&yaffs2_images::writers()).into_iter().unzip());

fuzz_target!(|input: &[u8]| {
    let (writers, images) = &*IMAGES;
    let Some(mut damaged) = damage::apply(input, images, &[], GEOMETRY) else { return };
    let yaffs2 = yaffs2_images::writers().swap_remove(writers[damaged.number]);
    if damaged.reseal {
        yaffs2.reseal(&mut damaged.image);
    }
    if let Err(failure) = hostile::use_image(&yaffs2, &damaged.image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
});
