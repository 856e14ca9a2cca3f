//! Damaged images of UBI and UBIFS: see ../README.md for what an input means.

#![no_main]

mod damage;
mod ubifs_images;

use ffslab_conformance::{hostile, Subject};
use libfuzzer_sys::fuzz_target;
use std::ops::Range;
use std::sync::LazyLock;
use ubifs_images::{UbifsSubject, GEOMETRY};

const OPERATIONS_MAX: u64 = 1_000_000;

struct Images {
    writers: Vec<UbifsSubject>,
    images: Vec<Vec<u8>>,
    structures: Vec<Vec<Range<usize>>>,
}

static IMAGES: LazyLock<Images> = LazyLock::new(|| {
    let mut all = Images { writers: Vec::new(), images: Vec::new(), structures: Vec::new() };
    for exhibit in ubifs_images::make() {
        all.writers.push(exhibit.writer);
        all.images.push(exhibit.image);
        all.structures.push(exhibit.structures);
    }
    all
});

fuzz_target!(|input: &[u8]| {
    let Images { writers, images, structures } = &*IMAGES;
    let Some(mut damaged) = damage::apply(input, images, structures, GEOMETRY) else { return };
    let ubifs = &writers[damaged.number];
    if damaged.reseal {
        ubifs.reseal(&mut damaged.image);
    }
    if let Err(failure) = hostile::use_image(ubifs, &damaged.image, OPERATIONS_MAX) {
        panic!("{failure}");
    }
});
