//! The tasks and reasons that systems and file systems have in common. Those of a single layer are in the crate of that
//! layer.

use ffslab_sim::{Kind, Purpose, Reason, Sim, Task};
pub use ffslab_sim::{CALLER, FORMATTING, LEFT_BY_SETUP, OTHER};

/// Write-back of dirty pages and inodes: a kernel worker, with a turn of its own. The system above runs it.
pub static FLUSHER: Task = Task { name: "flusher", title: "flusher", nice: 0, process: "kworker/u2:0" };

/// A program asked for these data.
pub static READ: Reason =
    Reason { name: "read", sentence: "data that the program asked for", kind: Kind::Reading, purpose: Purpose::Read };

/// The kernel reads ahead of the program.
pub static READ_AHEAD: Reason = Reason {
    name: "read-ahead",
    sentence: "pages that the kernel reads before the program asks for them",
    kind: Kind::Reading,
    purpose: Purpose::ForReads,
};

/// A page is read so that a part of it can be overwritten.
pub static READ_MODIFY_WRITE: Reason = Reason {
    name: "read-modify-write",
    sentence: "a page is read so that a part of it can be overwritten",
    kind: Kind::Reading,
    purpose: Purpose::Cost,
};

/// An inode comes into memory: its nodes' headers are read.
pub static INODE_READ: Reason = Reason {
    name: "inode read",
    sentence: "a file is opened: the headers of its nodes are read",
    kind: Kind::Reading,
    purpose: Purpose::ForReads,
};

/// A name is looked for in a directory, or its names are listed.
pub static NAME_LOOKUP: Reason = Reason {
    name: "name look-up",
    sentence: "a name is looked for in a directory, or its names are listed",
    kind: Kind::Reading,
    purpose: Purpose::ForReads,
};

/// Mount.
pub static MOUNT_SCAN: Reason = Reason {
    name: "mount scan",
    sentence: "the file system looks for its contents",
    kind: Kind::Mounting,
    purpose: Purpose::Cost,
};

/// User data.
pub static DATA: Reason =
    Reason { name: "user data", sentence: "data that the program wrote", kind: Kind::Writing, purpose: Purpose::Write };

/// Inodes, directory entries, headers.
pub static METADATA: Reason =
    Reason { name: "metadata", sentence: "inodes, names, deletions", kind: Kind::Writing, purpose: Purpose::Cost };

/// A partly filled page had to be written out.
pub static PADDING: Reason = Reason {
    name: "padding",
    sentence: "partly filled pages are written out",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// A program asked for its data to be safe now.
pub static SYNC: Reason = Reason {
    name: "sync",
    sentence: "the program asked for its data to be safe",
    kind: Kind::Writing,
    purpose: Purpose::Cost,
};

/// Garbage collection moves live data.
pub static GC_COPY: Reason = Reason {
    name: "gc copy",
    sentence: "garbage collection moves live data",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// Erase block summaries, checkpoints, indices.
pub static SUMMARY: Reason = Reason {
    name: "summary",
    sentence: "summaries of full blocks are written",
    kind: Kind::Indexing,
    purpose: Purpose::Cost,
};

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    sim.register(&[
        &READ,
        &READ_AHEAD,
        &READ_MODIFY_WRITE,
        &INODE_READ,
        &NAME_LOOKUP,
        &MOUNT_SCAN,
        &DATA,
        &METADATA,
        &PADDING,
        &SYNC,
        &GC_COPY,
        &SUMMARY,
    ]);
}
