//! RTEMS as a system: what its keys describe, and the machine that is built of it.

mod machine;
mod spec;

pub use machine::Machine;
pub use spec::RtemsSpec;
