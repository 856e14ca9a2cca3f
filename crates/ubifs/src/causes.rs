//! The task of UBIFS. It uses the flash for the reasons that all file systems have.

pub use ffslab_fs::causes::*;
use ffslab_sim::{Sim, Task};
pub use ffslab_ubi::causes::*;

/// The background thread: commits, write buffers (fs/ubifs/super.c).
pub static UBIFS_THREAD: Task = Task { name: "ubifs_thread", title: "UBIFS thread", nice: 0, process: "ubifs_bgt0_0" };

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_ubi::causes::register(sim);
    ffslab_fs::causes::register(sim);
}
