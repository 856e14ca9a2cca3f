//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static SYNC_LEAVES_BUFFER: Fault = Fault::new("fsync(2) leaves the write buffer in memory");
pub static DATA_BELIEVED: Fault = Fault::new("the check sum of data is not compared at the first look at a file");
pub static OLD_NAME_GOES_FIRST: Fault = Fault::new("a rename deletes the old name before it writes the new one");
pub static OLDER_ENTRY_WINS: Fault = Fault::new("of two entries of a name the scan takes the older one");

/// All of them.
pub static ALL: [&Fault; 4] = [&SYNC_LEAVES_BUFFER, &DATA_BELIEVED, &OLD_NAME_GOES_FIRST, &OLDER_ENTRY_WINS];
