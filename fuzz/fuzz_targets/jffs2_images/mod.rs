//! The images that an input damages, made in memory: of real use, with and without compression and summaries. Each program uses a part of it.
#![allow(dead_code)]

#[path = "../../../crates/jffs2/tests/subject/mod.rs"]
mod subject;

use crate::damage;
use ffslab_conformance::hostile;
use ffslab_flash::Geometry;
use ffslab_jffs2::{Compression, Options};
use std::sync::LazyLock;
pub use subject::Jffs2Subject;

/// As small as the workloads behind the images can do with: nearly all of an execution is proportional to it.
pub const GEOMETRY: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 8, blocks: 20 };
/// A page with its out-of-band bytes.
pub const STRIDE_BYTES: usize = (GEOMETRY.page_bytes + GEOMETRY.oob_bytes) as usize;

/// What mounts the images. Summaries are read whether or not new ones are written.
pub fn jffs2(compression: Compression, summary: bool) -> Jffs2Subject {
    Jffs2Subject {
        policy: "kernel",
        options: Options { compression, summary, ..Options::default() },
        geometry: GEOMETRY,
    }
}

pub fn make() -> Vec<Vec<u8>> {
    let writers = [
        jffs2(Compression::None, false),
        jffs2(Compression::Zlib, true),
        jffs2(Compression::Lzo, true),
        jffs2(Compression::Rtime, false),
    ];
    let images = writers.iter().map(|writer| match hostile::base_images(writer) {
        Ok(images) => images,
        Err(failure) => panic!("sound images: {failure}"),
    });
    images.flatten().collect()
}

static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(make);

/// Damages an image as `input` says and uses it. Panics at a finding.
pub fn check(input: &[u8]) {
    let jffs2 = jffs2(Compression::None, true);
    damage::check(input, &IMAGES, &[], GEOMETRY, |_| &jffs2);
}
