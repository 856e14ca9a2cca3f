//! Experiments with `system = "rtems"`: the same steps on another system.
//!
//! What RTEMS does not have is refused by name: UBI, page cache and its advice, read-ahead of Linux, extended attributes, O_SYNC.

mod files;
mod keys;
mod machine;
mod runner;
#[cfg(test)]
mod tests;

pub use keys::{RtemsFs, RtemsKeys, RtemsSpec, SystemName};
pub use machine::{Machine, MachineCounts};
pub use runner::run;
