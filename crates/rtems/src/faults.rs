//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static SYNC_DOES_NOT_WAIT: Fault = Fault::new("rtems_bdbuf_syncdev returns before anything is written");
pub static FSYNC_LEAVES_ENTRY: Fault = Fault::new("fsync(2) of DOSFS leaves the size of a file in memory");
pub static FSYNC_LEAVES_INODE: Fault = Fault::new("fsync(2) of RFS leaves what it holds of a file in memory");

/// All of them.
pub static ALL: [&Fault; 3] = [&SYNC_DOES_NOT_WAIT, &FSYNC_LEAVES_ENTRY, &FSYNC_LEAVES_INODE];
