//! Writes dumps of chips on which UBIFS has lived, for a real kernel to judge (tests/referee):
//! `cargo run -p ffslab-ubifs --example ubifs_exhibits -- FOLDER [CUTS]`; see [`ffslab_conformance::exhibits::main`].

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::{exhibits, soak::Variant};
use ffslab_flash::Geometry;
use ffslab_ubi::BadReserve;
use ffslab_ubifs::{Compression, Options};
use subject::UbifsSubject;

const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };
/// Garbage collection is never far.
const SMALL: Geometry = Geometry { blocks: 28, ..USUAL };
/// What the kernel keeps when it is told to be ready for one bad block of 1024 on its chip of 2048.
const BAD_RESERVE: BadReserve = BadReserve::PercentOfPartition(1);

fn variant(name: &'static str, options: Options, geometry: Geometry) -> Variant {
    (name, Arc::new(UbifsSubject { policy: "kernel", options, geometry, bad_reserve: BAD_RESERVE }))
}

fn main() -> ExitCode {
    let of = |compression| Options { compression, ..Options::default() };
    // As `mkfs.ubifs --fanout 4 --jrn-size 1MiB` would make it.
    let formatted = Options { children_count: Some(4), journal_bytes: Some(1 << 20), ..of(Compression::Lzo) };
    let all = [
        ("none", of(Compression::None)),
        ("lzo", of(Compression::Lzo)),
        ("zlib", of(Compression::Zlib)),
        ("zstd", of(Compression::Zstd)),
        ("formatted", formatted),
    ];
    let variants = |geometry| all.map(|(name, options)| variant(name, options, geometry));
    exhibits::main(&variants(USUAL), &variants(SMALL))
}
