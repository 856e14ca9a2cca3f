//! Why littlefs touches the flash, in the order of `enum cause` of `littlefs.c` (`python/ffslab/foreign/littlefs`), which tells them by its functions.

use ffslab_fs::causes;
use ffslab_sim::{Kind, Purpose, Reason, Sim};

/// A file is opened.
pub static FILE_OPEN: Reason = Reason {
    name: "file open",
    sentence: "a file is opened: its entry, and its content if that stands there, are read",
    kind: Kind::Reading,
    purpose: Purpose::ForReads,
};

/// The place of a byte is looked for in a file's list of blocks, which is linked backwards.
pub static BLOCK_LIST: Reason = Reason {
    name: "block list walk",
    sentence: "a place in a file is looked for along its list of blocks, which begins at the end",
    kind: Kind::Reading,
    purpose: Purpose::ForReads,
};

/// A file takes another block.
pub static FILE_BLOCK: Reason = Reason {
    name: "new file block",
    sentence: "a file takes a block: it is erased, and gets pointers and what an incomplete last block held",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// What stands behind a changed part of a file is written again.
pub static TAIL_COPY: Reason = Reason {
    name: "tail copy",
    sentence: "what stands behind a changed part of a file is copied to new blocks",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// A file becomes too large for its directory.
pub static OUTLINING: Reason = Reason {
    name: "outlining",
    sentence: "a small file has grown: its content moves from its directory to a block of its own",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// Entries are added to the log of a directory.
pub static COMMIT: Reason = Reason {
    name: "commit",
    sentence: "changes are added to the log of a directory and read back",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// A full log of a directory is written anew.
pub static COMPACTION: Reason = Reason {
    name: "compaction",
    sentence: "the full log of a directory is written anew into its other block, or split",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// All directories and block lists are read to find free blocks.
pub static ALLOCATION_SCAN: Reason = Reason {
    name: "allocation scan",
    sentence: "all directories and lists of blocks are read to see which blocks are free",
    kind: Kind::Managing,
    purpose: Purpose::Cost,
};

/// Something moves to another block.
pub static RELOCATION: Reason = Reason {
    name: "relocation",
    sentence: "something moves to another block, and whoever points to it is looked for",
    kind: Kind::Recovering,
    purpose: Purpose::Cost,
};

/// What a power cut left half done.
pub static REPAIR: Reason = Reason {
    name: "repair",
    sentence: "what an interrupted change left behind is put in order, before the first write after a mount",
    kind: Kind::Recovering,
    purpose: Purpose::Cost,
};

/// The used blocks are counted.
pub static SPACE_COUNT: Reason = Reason {
    name: "space count",
    sentence: "a program asks for free space: all directories and lists of blocks are read",
    kind: Kind::Reading,
    purpose: Purpose::Cost,
};

/// By the numbers of `enum cause`.
pub(crate) static BY_NUMBER: [&Reason; 18] = [
    &causes::OTHER,
    &causes::FORMATTING,
    &causes::MOUNT_SCAN,
    &causes::NAME_LOOKUP,
    &FILE_OPEN,
    &causes::READ,
    &BLOCK_LIST,
    &causes::DATA,
    &FILE_BLOCK,
    &TAIL_COPY,
    &OUTLINING,
    &COMMIT,
    &COMPACTION,
    &ALLOCATION_SCAN,
    &RELOCATION,
    &REPAIR,
    &causes::METADATA,
    &SPACE_COUNT,
];

/// Makes the reasons known to a machine.
pub(crate) fn register(sim: &Sim) {
    causes::register(sim);
    sim.register(&BY_NUMBER);
}
