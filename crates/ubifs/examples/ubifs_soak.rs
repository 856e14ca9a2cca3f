//! The long form of the conformance kit for UBIFS. Run with `make soak`, or
//! `cargo run --release -p ffslab-ubifs --example ubifs_soak -- POINTS IMAGES`.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::on::{Kind, On, LARGE_PAGES, MLC_IN_SLC_MODE, PARALLEL_NOR, SMALL_PAGES, SPI_NAND, SPI_NOR};
use ffslab_conformance::soak::{self, Variant};
use ffslab_flash::Geometry;
use ffslab_ubifs::{Compression, Options};
use subject::{UbifsSubject, BAD_RESERVE};

/// 32 erase blocks of 32 KiB: garbage collection is never far.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 32 };

fn variant(name: &'static str, compression: Compression) -> Variant {
    let options = Options { compression, ..Options::default() };
    (name, Arc::new(UbifsSubject { policy: "kernel", options, geometry: SMALL, bad_reserve: BAD_RESERVE }))
}

fn on(kind: Kind, blocks: u32) -> Variant {
    let geometry = kind.with_blocks(blocks);
    let subject = UbifsSubject { policy: "kernel", options: Options::default(), geometry, bad_reserve: BAD_RESERVE };
    (kind.name, Arc::new(On { subject, medium: kind.medium }))
}

fn main() -> ExitCode {
    soak::main(&[
        variant("not compressed", Compression::None),
        variant("zlib", Compression::Zlib),
        on(SPI_NAND, 40),
        on(SMALL_PAGES, 80),
        on(LARGE_PAGES, 36),
        on(MLC_IN_SLC_MODE, 48),
        on(SPI_NOR, 40),
        on(PARALLEL_NOR, 40),
    ])
}
