//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static TORN_PAGES_BELIEVED: Fault =
    Fault::new("the mount of a page map does not look whether the last page is whole");
pub static LAST_SEEN_WINS: Fault = Fault::new("the mount of a page map takes the copy of a page that it sees last");
pub static CHECKPOINT_BELIEVED: Fault =
    Fault::new("the mount of a page map takes blocks for unchanged since its checkpoint");
pub static TORN_LOG_PAGES_BELIEVED: Fault =
    Fault::new("the mount of a log-block scheme does not look whether the last page is whole");
pub static LOG_UNORDERED: Fault =
    Fault::new("the mount of an SLC cache takes its pages in the order of blocks, not of time");

/// All of them.
pub static ALL: [&Fault; 5] =
    [&TORN_PAGES_BELIEVED, &LAST_SEEN_WINS, &CHECKPOINT_BELIEVED, &TORN_LOG_PAGES_BELIEVED, &LOG_UNORDERED];
