//! Types of the calls that all systems share. What a program gives them is part of the vocabulary of workloads.

pub use ffslab_workload::calls::{OpenFlags, Whence};
pub use ffslab_workload::steps::Advice;

/// A file descriptor. The lowest free number is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fd(pub u32);
