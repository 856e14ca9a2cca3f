//! Writes dumps of chips on which JFFS2 has lived, for a real kernel to judge (tests/referee):
//! `cargo run -p ffslab-jffs2 --example jffs2_exhibits -- FOLDER [CUTS]`; see [`ffslab_conformance::exhibits::main`].

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::{exhibits, soak::Variant};
use ffslab_flash::Geometry;
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };
const SMALL: Geometry = Geometry { blocks: 16, ..USUAL };

fn main() -> ExitCode {
    let plain = Options::default();
    let zlib = Options { compression: Compression::Zlib, summary: true, ..plain };
    let variants = |geometry| -> [Variant; 2] {
        [("plain", plain), ("zlib-summary", zlib)].map(|(name, options)| -> Variant {
            (name, Arc::new(Jffs2Subject { policy: "kernel", options, geometry }))
        })
    };
    exhibits::main(&variants(USUAL), &variants(SMALL))
}
