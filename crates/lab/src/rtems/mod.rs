//! RTEMS as a system of experiments: its keys, and the machine that they describe.

mod keys;
mod machine;
#[cfg(test)]
mod tests;

pub use keys::{RtemsFs, RtemsKeys, RtemsSpec, SystemName};
pub use machine::Machine;
