//! Reads what `strace -f -ttt -T` wrote: the file system calls of a real program, to be replayed on a simulated stack.
//!
//! Role: turns the text into [`Record`]s whose paths are relative to one directory (the root of the replay) and whose
//! descriptors are resolved to open file descriptions, across dup, fork, threads and close-on-exec. Follows the output
//! format of strace 4.x to 6.x as its manual page describes it, also with `-y` and `-yy`, plain or gzipped.
//! Leaves out what a replay cannot repeat: memory mappings, locks, asynchronous I/O, contents. Such calls on files
//! below the root are listed in [`Trace::ignored`], never dropped silently.

mod args;
mod calls;
mod descriptors;
mod existing;
mod follow;
mod groups;
mod interpreter;
mod line;
mod scope;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A trace that cannot be used; one line: file, line number, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}:{line}: {message}", path.display())]
    Line { path: PathBuf, line: u64, message: String },
    #[error("{}: {message}", path.display())]
    Content { path: PathBuf, message: String },
}

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

/// What `open` was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenMode {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub append: bool,
    pub sync: bool,
    pub dsync: bool,
    pub directory: bool,
    pub no_follow: bool,
}

/// Origin of a seek.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekFrom {
    Start,
    Current,
    End,
}

/// Advice of `posix_fadvise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    Normal,
    Random,
    Sequential,
    WillNeed,
    DontNeed,
    NoReuse,
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
        mode: OpenMode,
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
        from: SeekFrom,
    },
    Fsync {
        handle: Handle,
        data_only: bool,
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

/// A line of a trace is refused beyond this length; strace itself stays far below.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Reads a trace, gzipped or not. Only calls on files below `root` become records; without a `root` it is the deepest
/// directory that holds all files which the program could change.
pub fn read(path: &Path, root: Option<&str>) -> Result<Trace, TraceError> {
    let unreadable = |e: std::io::Error| TraceError::Unreadable { path: path.to_path_buf(), why: e.to_string() };
    let mut file = BufReader::new(File::open(path).map_err(unreadable)?);
    let gzipped = file.fill_buf().map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
    if gzipped {
        parse(path, BufReader::new(flate2::bufread::MultiGzDecoder::new(file)), root)
    } else {
        parse(path, file, root)
    }
}

/// As [`read`], from text in memory; `path` only names it in errors.
pub fn parse(path: &Path, mut text: impl BufRead, root: Option<&str>) -> Result<Trace, TraceError> {
    let at_line = |line, message| TraceError::Line { path: path.to_path_buf(), line, message };
    let mut follower = follow::Follower::default();
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        number += 1;
        let read = text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(n) if n as u64 == LINE_BYTES_MAX => {
                return Err(at_line(number, format!("the line is longer than {LINE_BYTES_MAX} bytes: {WANTED}")))
            }
            Ok(_) => {}
            Err(e) => return Err(at_line(number, format!("cannot be read: {e}"))),
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| at_line(number, format!("this is no text: {WANTED}")))?;
        follower.line(number, text.trim_end_matches(['\n', '\r'])).map_err(|message| at_line(number, message))?;
    }
    let followed = follower.finish();
    if followed.calls_seen == 0 {
        let message = format!("holds no system call: {WANTED}");
        return Err(TraceError::Content { path: path.to_path_buf(), message });
    }
    scope::restrict(path, followed, root)
}

/// What a line should look like; part of the errors.
const WANTED: &str = "expected lines of `strace -f -ttt -T`, such as `4711 1700000000.123456 close(3) = 0 <0.000010>`";

#[cfg(test)]
mod tests;
