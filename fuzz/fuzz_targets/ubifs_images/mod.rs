//! The images that an input damages, made in memory: of real use, with several compressors and forms of the index. Each program uses a part of it.
#![allow(dead_code)]

#[path = "../../../crates/ubifs/tests/subject/mod.rs"]
mod subject;

use crate::damage;
use ffslab_conformance::hostile;
use ffslab_flash::Geometry;
use ffslab_ubifs::{Compression, Options};
use std::ops::Range;
use std::sync::LazyLock;
pub use subject::{structures, UbifsSubject, BAD_RESERVE};

/// Little more than UBIFS accepts; nearly all of an execution is proportional to the size.
pub const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 32 };

/// An image, what it was made by, and where its structures stand in the image without OOB.
pub struct Exhibit {
    pub writer: UbifsSubject,
    pub image: Vec<u8>,
    pub structures: Vec<Range<usize>>,
}

/// What makes the images, and mounts them again.
fn writers() -> Vec<UbifsSubject> {
    let of = |options| UbifsSubject { policy: "kernel", options, geometry: GEOMETRY, bad_reserve: BAD_RESERVE };
    vec![
        of(Options { check_data_crc: true, ..Options::default() }),
        of(Options { compression: Compression::Lzo, children_count: Some(3), ..Options::default() }),
        of(Options { compression: Compression::Zlib, ..Options::default() }),
        of(Options { compression: Compression::Zstd, ..Options::default() }),
    ]
}

pub fn make() -> Vec<Exhibit> {
    let exhibits = writers().into_iter().flat_map(|writer| {
        let images = hostile::base_images(&writer).unwrap_or_else(|failure| panic!("sound images: {failure}"));
        images.into_iter().map(move |image| {
            let data = structures::data_areas(&image, GEOMETRY);
            let structures = structures::structures(&data, GEOMETRY).into_iter().map(|found| found.place).collect();
            let writer = UbifsSubject {
                policy: "kernel",
                options: writer.options,
                geometry: GEOMETRY,
                bad_reserve: BAD_RESERVE,
            };
            Exhibit { writer, image, structures }
        })
    });
    exhibits.collect()
}

struct Images {
    writers: Vec<UbifsSubject>,
    images: Vec<Vec<u8>>,
    structures: Vec<Vec<Range<usize>>>,
}

static IMAGES: LazyLock<Images> = LazyLock::new(|| {
    let mut all = Images { writers: Vec::new(), images: Vec::new(), structures: Vec::new() };
    for exhibit in make() {
        all.writers.push(exhibit.writer);
        all.images.push(exhibit.image);
        all.structures.push(exhibit.structures);
    }
    all
});

/// Damages an image as `input` says and uses it. Panics at a finding.
pub fn check(input: &[u8]) {
    let Images { writers, images, structures } = &*IMAGES;
    damage::check(input, images, structures, GEOMETRY, |number| &writers[number]);
}
