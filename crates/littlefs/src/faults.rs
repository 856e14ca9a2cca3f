//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static SYNC_DOES_NOTHING: Fault = Fault::new("a file is not synced");

/// All of them.
pub static ALL: [&Fault; 1] = [&SYNC_DOES_NOTHING];
