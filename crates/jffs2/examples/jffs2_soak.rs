//! The long form of the conformance kit for JFFS2. Run with `make soak`, or
//! `cargo run --release -p ffslab-jffs2 --example jffs2_soak -- POINTS IMAGES`.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::on::{Kind, On, LARGE_PAGES, PARALLEL_NOR, SMALL_PAGES, SPI_NAND, SPI_NOR};
use ffslab_conformance::soak::{self, Variant};
use ffslab_flash::Geometry;
use ffslab_jffs2::{Compression, Options};
use subject::Jffs2Subject;

/// 24 erase blocks of 32 KiB: garbage collection is never far.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 24 };

fn variant(name: &'static str, compression: Compression, options: Options) -> Variant {
    (name, Arc::new(Jffs2Subject { policy: "kernel", options: Options { compression, ..options }, geometry: SMALL }))
}

fn on(kind: Kind, blocks: u32) -> Variant {
    let subject = Jffs2Subject { policy: "kernel", options: Options::default(), geometry: kind.with_blocks(blocks) };
    (kind.name, Arc::new(On { subject, medium: kind.medium }))
}

fn main() -> ExitCode {
    let summaries = Options { summary: true, ..Options::default() };
    soak::main(&[
        variant("plain", Compression::None, Options::default()),
        variant("zlib, summaries", Compression::Zlib, summaries),
        variant("rtime, as Linux 2.6.37", Compression::Rtime, Options::linux_2_6_37()),
        variant("lzo, summaries", Compression::Lzo, summaries),
        on(SPI_NAND, 24),
        on(SMALL_PAGES, 48),
        on(LARGE_PAGES, 20),
        on(SPI_NOR, 24),
        on(PARALLEL_NOR, 24),
    ])
}
