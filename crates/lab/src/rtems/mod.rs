//! RTEMS as a system of experiments: its keys, and the machine that they describe.

mod keys;
mod machine;
#[cfg(test)]
mod tests;

pub(crate) use keys::FLASH_KIB;
pub use keys::{DiskSpec, RtemsKeys, RtemsSpec, SystemName};
pub use machine::Machine;
