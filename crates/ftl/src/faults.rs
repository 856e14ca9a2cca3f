//! Deliberate defects of test builds: see [`ffslab_sim::Fault`].

use ffslab_sim::Fault;

pub static TORN_LOG_PAGES_BELIEVED: Fault =
    Fault::new("the mount of a log-block scheme does not look whether the last page is whole");
pub static FLUSH_LEAVES_BUFFER: Fault = Fault::new("a flush leaves what waits in the write buffer");
pub static FLUSH_WRITES_ONE_BLOCK: Fault = Fault::new("a flush writes one logical block of the write buffer");
pub static PADDING_OVERWRITES: Fault =
    Fault::new("block padding writes what is on flash also in place of pages that wait in the buffer");
pub static PARTIAL_PAGE_NOT_FILLED: Fault =
    Fault::new("of a page that was written in part the other sectors are not read before it leaves the buffer");

/// All of them.
pub static ALL: [&Fault; 5] = [
    &TORN_LOG_PAGES_BELIEVED,
    &FLUSH_LEAVES_BUFFER,
    &FLUSH_WRITES_ONE_BLOCK,
    &PADDING_OVERWRITES,
    &PARTIAL_PAGE_NOT_FILLED,
];
