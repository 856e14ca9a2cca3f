//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static SYNC_LEAVES_CACHE: Fault = Fault::new("fsync(2) leaves cached chunks in memory");
pub static OLDER_CHUNK_WINS: Fault = Fault::new("of two versions of a chunk the scan takes the older one");
pub static TARGET_GOES_FIRST: Fault =
    Fault::new("a rename deletes the file whose name it takes before it writes the new name");

/// All of them.
pub static ALL: [&Fault; 3] = [&SYNC_LEAVES_CACHE, &OLDER_CHUNK_WINS, &TARGET_GOES_FIRST];
