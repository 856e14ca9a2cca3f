//! Types of the calls that all systems share. What a program gives them is part of the vocabulary of workloads.

use ffslab_fs::{FileKind, Ino};

pub use ffslab_workload::calls::{OpenFlags, Whence};
pub use ffslab_workload::steps::{Advice, FallocateFlag, MapAccess};

/// A file descriptor. The lowest free number is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fd(pub u32);

/// An entry of a directory as a program reads it (`struct dirent`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub ino: Ino,
    pub name: Vec<u8>,
    /// `d_type`; `None`: the system does not tell it there, and stat(2) does.
    pub kind: Option<FileKind>,
}
