//! The tasks of JFFS2, and why it uses the flash beside what all file systems do.

pub use ffslab_fs::causes::*;
pub use ffslab_mtd::causes::*;
use ffslab_sim::{Kind, Purpose, Reason, Sim, Task};

/// Garbage collection, at the urgency that it chooses (`set_user_nice(current, 10)` in fs/jffs2/background.c).
pub static GC_THREAD: Task = Task { name: "jffs2_gc_thread", title: "GC thread", nice: 10, process: "jffs2_gcd_mtd0" };

/// The kernel worker that runs the timer of the write buffer.
pub static KWORKER: Task = Task { name: "kworker", title: "kworker", nice: 0, process: "kworker/0:1" };

/// Garbage collection looks for what it need not move.
pub static GC_LOOKUP: Reason = Reason {
    name: "gc look-up",
    sentence: "garbage collection looks for what it need not move",
    kind: Kind::Collecting,
    purpose: Purpose::Cost,
};

/// Marking an erased block as clean.
pub static CLEAN_MARKER: Reason = Reason {
    name: "clean marker",
    sentence: "erased blocks are marked as usable",
    kind: Kind::Erasing,
    purpose: Purpose::Cost,
};

/// Checking nodes after mount.
pub static CHECK: Reason = Reason {
    name: "checking",
    sentence: "nodes are checked after mount",
    kind: Kind::Checking,
    purpose: Purpose::Cost,
};

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_mtd::causes::register(sim);
    ffslab_fs::causes::register(sim);
    sim.register(&[&GC_LOOKUP, &CLEAN_MARKER, &CHECK]);
}
