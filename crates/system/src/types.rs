//! Types of the calls that all systems share. What a program gives them is part of the vocabulary of workloads.

use ffslab_fs::{FileKind, Ino};

pub use ffslab_workload::calls::{Advice, FallocateFlag, MapAccess, OpenFlags, Runs, Whence};

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

/// How an image is put on a medium. What is `None` is found out from the image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageGiven {
    /// What messages call it.
    pub name: String,
    /// Whether each page is followed by its OOB area.
    pub oob: Option<bool>,
    /// Whether the OOB areas begin with the bytes for the free ones of the chip.
    pub autoplace: Option<bool>,
    /// Partitions of the image, as on the kernel's command line, and which of them is meant.
    pub mtdparts: Option<String>,
    pub partition: Option<String>,
    /// Where the partition begins, and how long it is, in bytes of page data.
    pub offset_bytes: Option<u64>,
    pub size_bytes: Option<u64>,
}
