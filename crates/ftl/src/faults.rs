//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static TORN_LOG_PAGES_BELIEVED: Fault =
    Fault::new("the mount of a log-block scheme does not look whether the last page is whole");

/// All of them.
pub static ALL: [&Fault; 1] = [&TORN_LOG_PAGES_BELIEVED];
