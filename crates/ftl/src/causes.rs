//! Why a flash translation layer uses the flash.

pub use ffslab_mtd::causes::*;
use ffslab_sim::{Kind, Purpose, Reason, Sim};

const fn cost(name: &'static str, sentence: &'static str, kind: Kind) -> Reason {
    Reason { name, sentence, kind, purpose: Purpose::Cost }
}

/// Sectors that the host reads.
pub static HOST_READ: Reason =
    Reason { name: "FTL host read", sentence: "sectors are read", kind: Kind::Reading, purpose: Purpose::Read };

/// Sectors that the host writes.
pub static HOST_WRITE: Reason =
    Reason { name: "FTL host write", sentence: "sectors are written", kind: Kind::Writing, purpose: Purpose::Write };

/// The rest of a page of which only some sectors are written.
pub static PAGE_FILL: Reason =
    cost("FTL page fill", "the rest of a page is read, because only some of its sectors are written", Kind::Writing);

/// What the write buffer does not hold of a block that leaves it.
pub static BLOCK_PADDING: Reason = cost(
    "FTL block padding",
    "pages that the write buffer does not hold are written with the rest of their block",
    Kind::Writing,
);

/// Garbage collection moves what is still valid.
pub static GC_COPY: Reason =
    cost("FTL gc copy", "valid pages of a block are moved so that it can be erased", Kind::Collecting);

/// Blocks are erased before they are written again.
pub static FTL_ERASE: Reason = cost("FTL erase", "blocks are erased before they are written again", Kind::Erasing);

/// Static wear levelling moves what lies still.
pub static LEVELLING: Reason =
    cost("FTL wear levelling", "data that lie still are moved so that their block is worn, too", Kind::Managing);

/// What was trimmed is noted.
pub static TRIM: Reason = cost("FTL trim", "it is noted which sectors were trimmed", Kind::Managing);

/// The map is written so that the next mount need not look for it.
pub static CHECKPOINT: Reason = cost("FTL checkpoint", "the map is written so that a mount is short", Kind::Indexing);

/// A mount looks for the map.
pub static RECOVERY_SCAN: Reason =
    cost("FTL recovery scan", "out-of-band areas and checkpoints are read to find the map again", Kind::Mounting);

/// A block that failed is emptied and marked.
pub static BLOCK_FAILED: Reason =
    cost("FTL bad block", "a block that failed is emptied and marked bad", Kind::Recovering);

/// A log block becomes the data block.
pub static MERGE_SWITCH: Reason =
    cost("FTL switch merge", "a log block written in order takes the place of its data block", Kind::Collecting);

/// The rest of a data block is copied to a log block.
pub static MERGE_PARTIAL: Reason = cost(
    "FTL partial merge",
    "the rest of a data block is copied to a log block that takes its place",
    Kind::Collecting,
);

/// Data and log blocks are copied to a free block.
pub static MERGE_FULL: Reason =
    cost("FTL full merge", "the newest pages of a block are gathered in another block", Kind::Collecting);

/// Blocks of the SLC cache are emptied.
pub static FOLD: Reason =
    cost("FTL fold", "pages of the SLC cache are moved to cells with several bits", Kind::Collecting);

/// A part of the map is read.
pub static MAP_READ: Reason = cost("FTL map read", "entries of the map that are not in RAM are read", Kind::Managing);

/// A part of the map is written.
pub static MAP_WRITE: Reason = cost("FTL map write", "changed entries of the map are written", Kind::Managing);

/// A block with corrected bits is written anew.
pub static REFRESH: Reason =
    cost("FTL refresh", "a block in which bits went wrong is moved before more of them do", Kind::Managing);

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_mtd::causes::register(sim);
    sim.register(&[&HOST_READ, &HOST_WRITE, &PAGE_FILL, &GC_COPY, &FTL_ERASE, &LEVELLING, &TRIM]);
    sim.register(&[&CHECKPOINT, &RECOVERY_SCAN, &BLOCK_FAILED, &REFRESH, &MAP_READ, &MAP_WRITE]);
    sim.register(&[&MERGE_SWITCH, &MERGE_PARTIAL, &MERGE_FULL, &FOLD, &BLOCK_PADDING]);
}
