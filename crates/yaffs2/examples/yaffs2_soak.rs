//! The long form of the conformance kit for YAFFS2. Run with `make soak`, or
//! `cargo run --release -p ffslab-yaffs2 --example yaffs2_soak -- POINTS IMAGES`.

#[path = "../tests/subject/mod.rs"]
mod subject;

use std::process::ExitCode;
use std::sync::Arc;

use ffslab_conformance::on::{Kind, On, LARGE_PAGES, SPI_NAND};
use ffslab_conformance::soak::{self, Variant};
use ffslab_flash::Geometry;
use ffslab_yaffs2::{Generation, Options};
use subject::Yaffs2Subject;

/// 24 erase blocks of 32 KiB: garbage collection is never far.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 24 };
/// 64 of them: with checkpoints.
const CHECKPOINTED: Geometry = Geometry { blocks: 64, ..SMALL };

fn variant(name: &'static str, geometry: Geometry, options: Options) -> Variant {
    (name, Arc::new(Yaffs2Subject { policy: "kernel", options, geometry }))
}

fn on(kind: Kind, options: Options) -> Variant {
    let subject = Yaffs2Subject { policy: "kernel", options, geometry: kind.with_blocks(24) };
    (kind.name, Arc::new(On { subject, medium: kind.medium }))
}

fn main() -> ExitCode {
    let today = Options::of(Generation::Today);
    // Pages of 4 KiB without the cache of short operations: with it a power cut can give a file that `truncate` has made longer, and
    // that was not synchronised, older data and another size (README, "What a power cut leaves").
    soak::main(&[
        variant("2010", CHECKPOINTED, Options::of(Generation::Y2010)),
        variant("2011, collecting", SMALL, Options::of(Generation::Y2011)),
        variant("2012", CHECKPOINTED, Options::of(Generation::Y2012)),
        variant("2012, in-band tags", CHECKPOINTED, Options { inband_tags: true, ..Options::of(Generation::Y2012) }),
        variant("today", CHECKPOINTED, today),
        variant("today, collecting", SMALL, today),
        on(SPI_NAND, today),
        on(LARGE_PAGES, Options { short_op_cache_pages: 0, ..today }),
    ])
}
