//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static SYNC_LEAVES_BUFFERS: Fault = Fault::new("fsync(2) leaves the write buffers in memory");
pub static NODES_BELIEVED: Fault = Fault::new("check sums of nodes are not compared");
pub static REPLAY_UNORDERED: Fault = Fault::new("the replay takes the journal in the order of its LEBs, not of time");
pub static TRUNCATION_NOT_REPLAYED: Fault = Fault::new("the replay leaves truncations out");
pub static SIZE_RECOVERED_IN_MEMORY: Fault =
    Fault::new("the size that recovery gives to a file with data behind its end is kept in memory alone");

/// All of them.
pub static ALL: [&Fault; 5] =
    [&SYNC_LEAVES_BUFFERS, &NODES_BELIEVED, &REPLAY_UNORDERED, &TRUNCATION_NOT_REPLAYED, &SIZE_RECOVERED_IN_MEMORY];
