//! The images that an input damages, made in memory: of real use, by several ages of YAFFS2 and with in-band tags. Each program uses a part of it.
#![allow(dead_code)]

#[path = "../../../crates/yaffs2/tests/subject/mod.rs"]
mod subject;

use crate::damage;
use ffslab_conformance::hostile;
use ffslab_flash::Geometry;
use ffslab_yaffs2::{Generation, Options};
use std::sync::LazyLock;
pub use subject::Yaffs2Subject;

/// With fewer blocks there are no checkpoints; nearly all of an execution is proportional to the size.
pub const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 8, blocks: 60 };
/// A page with its out-of-band bytes.
pub const STRIDE_BYTES: usize = (GEOMETRY.page_bytes + GEOMETRY.oob_bytes) as usize;

/// What makes the images, and mounts them again.
pub fn writers() -> Vec<Yaffs2Subject> {
    let of = |generation, inband_tags, checkpoint_write| Yaffs2Subject {
        policy: "kernel",
        options: Options { inband_tags, checkpoint_write, ..Options::of(generation) },
        geometry: GEOMETRY,
    };
    vec![
        of(Generation::Today, false, true),
        of(Generation::Today, false, false),
        of(Generation::Y2012, false, true),
        of(Generation::Y2010, false, true),
        of(Generation::Today, true, true),
    ]
}

/// The images, each with the number of its writer.
pub fn make(writers: &[Yaffs2Subject]) -> Vec<(usize, Vec<u8>)> {
    let images = writers.iter().enumerate().map(|(number, writer)| match hostile::base_images(writer) {
        Ok(images) => images.into_iter().map(move |image| (number, image)),
        Err(failure) => panic!("sound images: {failure}"),
    });
    images.flatten().collect()
}

/// Writers of the images, images.
static IMAGES: LazyLock<(Vec<usize>, Vec<Vec<u8>>)> = LazyLock::new(|| make(&writers()).into_iter().unzip());

/// Damages an image as `input` says and uses it. Panics at a finding.
pub fn check(input: &[u8]) {
    let (of_writers, images) = &*IMAGES;
    let writers = writers();
    damage::check(input, images, &[], GEOMETRY, |number| &writers[of_writers[number]]);
}
