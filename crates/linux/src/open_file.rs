//! What is known of an open file.

use crate::dentries::DentryId;
use crate::read_ahead::ReadAhead;
use ffslab_fs::{FileKind, Ino};
use ffslab_system::{MapAccess, OpenFlags};

/// An open file description.
pub(crate) struct OpenFile {
    pub(crate) dentry: DentryId,
    pub(crate) ino: Ino,
    pub(crate) kind: FileKind,
    pub(crate) flags: OpenFlags,
    pub(crate) position: u64,
    pub(crate) read_ahead: ReadAhead,
    /// Number of write-back errors that this open file has been told of, or need not be told of (`f_wb_err`).
    pub(crate) errors_known: u64,
    /// The part of it that is mapped into memory.
    pub(crate) map: Option<Mapping>,
}

/// A part of an open file in the memory of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mapping {
    pub(crate) access: MapAccess,
    pub(crate) first: u64,
    pub(crate) last: u64,
}
