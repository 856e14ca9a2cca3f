//! Recorded programs, whatever recorded them: the calls of a [`Trace`], ready for replay.
//!
//! Role: the one form of a recording ([`Trace`]) and the choice of its reader ([`read`]). Readers: [`crate::strace`], and
//! here fio's logs, the text of blkparse, the CSV of OpenFlash's tracers, block traces of Microsoft Research Cambridge and
//! in the format of the Storage Performance Council, and tables with units in their column names ([`table`]), which every
//! trace can be written as.
//! Leaves out what a recording does not hold: contents, and for all but strace the errors of calls.

mod blkparse;
mod error;
mod fio_log;
mod msr;
mod names;
mod onto;
mod openflash;
mod reading;
mod rows;
pub(crate) mod source;
mod spc;
pub mod stream;
pub mod table;

pub use crate::calls::{OpenFlags, Whence};
pub use crate::steps::Advice;
pub use error::{Fault, RowError, TraceError};
pub use reading::{parse, read};
use std::path::PathBuf;

/// A recorded run of a program, ready for replay.
#[derive(Clone, Debug)]
pub struct Trace {
    pub path: PathBuf,
    /// The directory whose contents are replayed; paths in the records are relative to it.
    pub root: String,
    pub records: Vec<Record>,
    /// What must exist before the first record, parents before their contents.
    pub existing: Vec<Existing>,
    /// Calls below the root that are not replayed: name (with the reason where it is not plain) and number.
    pub ignored: Vec<(String, u64)>,
    /// All system calls in the file, below the root or not.
    pub calls_seen: u64,
    /// Open file descriptions: [`Handle`]s run from 0 to one less.
    pub handles: u32,
}

/// An open file description (what `open` makes and `dup` and `fork` share). Never reused within a trace.
pub type Handle = u32;

/// One system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Line of the trace on which the call begins, from 1.
    pub line: u64,
    /// Process or thread; 0 when the trace was made without `-f`.
    pub process: u32,
    /// Start, since the first line of the trace.
    pub at_ns: u64,
    /// Time between the end of the latest replayed call before this one and its start; 0 if they overlap.
    pub think_ns: u64,
    /// How long the call took when it was recorded.
    pub duration_ns: u64,
    pub call: Call,
    pub result: Outcome,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Value(i64),
    /// Unix name of the error, such as ENOENT.
    Error(String),
}

/// A file by name or by open description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// `follow`: a symbolic link at the end stands for what it points to.
    Path {
        path: Vec<u8>,
        follow: bool,
    },
    Handle(Handle),
}

/// The calls that are replayed. Paths are relative to the root, without a leading slash; the root itself is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    Open {
        handle: Handle,
        path: Vec<u8>,
        flags: OpenFlags,
        permissions: u32,
    },
    Close {
        handle: Handle,
    },
    Read {
        handle: Handle,
        bytes: u64,
    },
    Write {
        handle: Handle,
        bytes: u64,
    },
    ReadAt {
        handle: Handle,
        offset: u64,
        bytes: u64,
    },
    WriteAt {
        handle: Handle,
        offset: u64,
        bytes: u64,
    },
    Seek {
        handle: Handle,
        offset: i64,
        whence: Whence,
    },
    Fsync {
        handle: Handle,
        data_only: bool,
    },
    /// Tells a device that nobody needs the bytes any more.
    Trim {
        handle: Handle,
        offset: u64,
        bytes: u64,
    },
    Sync,
    SyncFs {
        handle: Handle,
    },
    Truncate {
        target: Target,
        bytes: u64,
    },
    Rename {
        from: Vec<u8>,
        to: Vec<u8>,
        no_replace: bool,
    },
    Unlink {
        path: Vec<u8>,
    },
    MakeDirectory {
        path: Vec<u8>,
        permissions: u32,
    },
    RemoveDirectory {
        path: Vec<u8>,
    },
    Link {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    Symlink {
        target: Vec<u8>,
        path: Vec<u8>,
    },
    ReadLink {
        path: Vec<u8>,
    },
    /// Also `access`, which looks the name up in the same way.
    Stat {
        target: Target,
    },
    /// The first `getdents` of an open directory; the further ones are part of it.
    ListDirectory {
        handle: Handle,
    },
    ChangeMode {
        target: Target,
        permissions: u32,
    },
    ChangeOwner {
        target: Target,
        uid: Option<u32>,
        gid: Option<u32>,
    },
    /// `utimensat` and its older forms; the new times are those of the replay.
    ChangeTimes {
        target: Target,
    },
    StatFs {
        target: Target,
    },
    Advise {
        handle: Handle,
        offset: u64,
        bytes: u64,
        advice: Advice,
    },
}

impl Call {
    /// The path that a call names; empty for one that concerns everything. `Err`: it names an open file instead.
    pub fn path_or_handle(&self) -> Result<&[u8], Handle> {
        match self {
            Call::Open { path, .. }
            | Call::Unlink { path }
            | Call::MakeDirectory { path, .. }
            | Call::RemoveDirectory { path }
            | Call::Symlink { path, .. }
            | Call::ReadLink { path }
            | Call::Rename { from: path, .. }
            | Call::Link { from: path, .. } => Ok(path),
            Call::Close { handle }
            | Call::Read { handle, .. }
            | Call::Write { handle, .. }
            | Call::ReadAt { handle, .. }
            | Call::WriteAt { handle, .. }
            | Call::Seek { handle, .. }
            | Call::Fsync { handle, .. }
            | Call::Trim { handle, .. }
            | Call::SyncFs { handle }
            | Call::ListDirectory { handle }
            | Call::Advise { handle, .. } => Err(*handle),
            Call::Truncate { target, .. }
            | Call::Stat { target }
            | Call::ChangeMode { target, .. }
            | Call::ChangeOwner { target, .. }
            | Call::ChangeTimes { target }
            | Call::StatFs { target } => match target {
                Target::Path { path, .. } => Ok(path),
                Target::Handle(handle) => Err(*handle),
            },
            Call::Sync => Ok(b""),
        }
    }
}

/// Something that was there before the trace began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Relative to the root.
    pub path: Vec<u8>,
    pub kind: ExistingKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExistingKind {
    Directory,
    /// The smallest size that explains all that the trace shows.
    File {
        size_bytes: u64,
    },
    /// A symbolic link with this target, as `readlink` returned it.
    Symlink {
        target: Vec<u8>,
    },
}

/// An event takes some 600 bytes of memory until it is replayed: 600 MiB for so many.
const ROWS_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests;
