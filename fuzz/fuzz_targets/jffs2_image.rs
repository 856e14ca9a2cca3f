//! Damaged JFFS2 images: see ../README.md for what an input means.

#![no_main]

#[path = "../../crates/jffs2/tests/subject/mod.rs"]
mod subject;

use ffslab_conformance::{hostile, Subject};
use ffslab_flash::Geometry;
use ffslab_jffs2::Options;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use subject::Jffs2Subject;

const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 20 };
const OPERATIONS_MAX: u64 = 1_000_000;

fn jffs2() -> Jffs2Subject {
    Jffs2Subject { options: Options::default(), geometry: GEOMETRY }
}

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| match hostile::base_images(&jffs2()) {
    Ok(images) => images,
    Err(failure) => panic!("sound images: {failure}"),
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, mut patches)) = input.split_first() else { return };
    let mut image = IMAGES[usize::from(choice & 0x7F) % IMAGES.len()].clone();
    let stride = (GEOMETRY.page_bytes + GEOMETRY.oob_bytes) as usize;
    while let [page_low, page_high, offset_low, offset_high, length, rest @ ..] = patches {
        let page = usize::from(u16::from_le_bytes([*page_low, *page_high])) % GEOMETRY.pages() as usize;
        let offset = usize::from(u16::from_le_bytes([*offset_low, *offset_high])) % stride;
        let length = usize::from(*length).min(rest.len()).min(stride - offset);
        let start = page * stride + offset;
        image[start..start + length].copy_from_slice(&rest[..length]);
        patches = &rest[length..];
    }
    if choice & 0x80 != 0 {
        jffs2().reseal(&mut image);
    }
    if let Err(failure) = hostile::use_image(&jffs2(), &image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
});
