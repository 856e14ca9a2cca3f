//! The reasons of what is only read are those that all file systems have.

pub use ffslab_fs::causes::*;
use ffslab_sim::Sim;
pub use ffslab_ubi::causes::UBI_THREAD;

/// Makes the reasons known to a machine, before the first of them is given.
pub fn register(sim: &Sim) {
    ffslab_ubi::causes::register(sim);
    ffslab_fs::causes::register(sim);
}
