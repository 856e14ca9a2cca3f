//! The tasks of YAFFS2. It uses the flash for the reasons that all file systems have.

pub use ffslab_fs::causes::*;
pub use ffslab_mtd::causes::*;
use ffslab_sim::{Sim, Task};

/// Background garbage collection and directory updates (yaffs_vfs.c).
pub static YAFFS_THREAD: Task = Task { name: "yaffs2_thread", title: "YAFFS thread", nice: 0, process: "yaffs-bg-1" };

/// The thread of old kernels that writes changed super blocks (mm/backing-dev.c of 2.6.37).
pub static SYNC_SUPERS: Task =
    Task { name: "super_block_sync", title: "sync_supers thread", nice: 0, process: "sync_supers" };

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_mtd::causes::register(sim);
    ffslab_fs::causes::register(sim);
}
