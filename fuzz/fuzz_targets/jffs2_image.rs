//! Damaged JFFS2 images: see ../README.md for what an input means.

#![no_main]

mod images;

use ffslab_conformance::{hostile, Subject};
use ffslab_jffs2::Compression;
use images::{GEOMETRY, STRIDE_BYTES};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

const OPERATIONS_MAX: u64 = 1_000_000;

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(images::make);

fuzz_target!(|input: &[u8]| {
    let Some((&choice, mut patches)) = input.split_first() else { return };
    let jffs2 = images::jffs2(Compression::None, true);
    let mut image = IMAGES[usize::from(choice & 0x7F) % IMAGES.len()].clone();
    while let [page_low, page_high, offset_low, offset_high, length, rest @ ..] = patches {
        let page = usize::from(u16::from_le_bytes([*page_low, *page_high])) % GEOMETRY.pages() as usize;
        let offset = usize::from(u16::from_le_bytes([*offset_low, *offset_high])) % STRIDE_BYTES;
        let length = usize::from(*length).min(rest.len()).min(STRIDE_BYTES - offset);
        let start = page * STRIDE_BYTES + offset;
        image[start..start + length].copy_from_slice(&rest[..length]);
        patches = &rest[length..];
    }
    if choice & 0x80 != 0 {
        jffs2.reseal(&mut image);
    }
    if let Err(failure) = hostile::use_image(&jffs2, &image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
});
