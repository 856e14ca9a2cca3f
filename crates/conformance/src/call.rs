//! System calls as data: the calls of a sequence, and their results.

use ffslab_fs::{Errno, FileKind, RenameFlags, XattrMode};

/// How many descriptors a sequence has at the same time.
pub const SLOTS: usize = 4;

/// A system call. `slot` names the descriptor that an [`Call::Open`] has put there; a call on an empty slot fails with
/// [`Errno::BadF`]. Data are [`crate::content::pattern`] of `seed` and the offset in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opens a file, after closing the descriptor that the slot held before.
    Open {
        slot: usize,
        path: String,
        how: How,
    },
    Close {
        slot: usize,
    },
    Read {
        slot: usize,
        bytes: usize,
    },
    Write {
        slot: usize,
        bytes: usize,
        seed: u64,
    },
    Pread {
        slot: usize,
        at: u64,
        bytes: usize,
    },
    Pwrite {
        slot: usize,
        at: u64,
        bytes: usize,
        seed: u64,
    },
    SeekTo {
        slot: usize,
        at: u64,
    },
    SeekFromEnd {
        slot: usize,
        offset: i64,
    },
    Ftruncate {
        slot: usize,
        size_bytes: u64,
    },
    Truncate {
        path: String,
        size_bytes: u64,
    },
    Fsync {
        slot: usize,
    },
    Fdatasync {
        slot: usize,
    },
    /// open(O_DIRECTORY), fsync, close: makes the names in this directory durable.
    FsyncDirectory {
        path: String,
    },
    Sync,
    Rename {
        from: String,
        to: String,
    },
    Link {
        from: String,
        to: String,
    },
    Symlink {
        target: String,
        path: String,
    },
    Readlink {
        path: String,
    },
    Unlink {
        path: String,
    },
    Mkdir {
        path: String,
        permissions: u32,
    },
    Rmdir {
        path: String,
    },
    Mknod {
        path: String,
        kind: FileKind,
        device: u32,
    },
    Readdir {
        path: String,
    },
    Stat {
        path: String,
    },
    Lstat {
        path: String,
    },
    Fstat {
        slot: usize,
    },
    Chmod {
        path: String,
        permissions: u32,
    },
    Chown {
        path: String,
        uid: u32,
        gid: u32,
    },
    SetModified {
        path: String,
        seconds: i64,
    },
    /// renameat2(2).
    RenameWith {
        from: String,
        to: String,
        flags: RenameFlags,
    },
    /// open(2) with `O_TMPFILE`: makes a file without a name in the directory `path`. `exclusive`: it can never get a
    /// name.
    OpenUnnamed {
        slot: usize,
        path: String,
        exclusive: bool,
    },
    /// linkat(2) of an open file.
    LinkSlot {
        slot: usize,
        to: String,
    },
    /// lsetxattr(2).
    SetXattr {
        path: String,
        name: String,
        bytes: usize,
        seed: u64,
        mode: XattrMode,
    },
    /// lgetxattr(2).
    GetXattr {
        path: String,
        name: String,
    },
    /// llistxattr(2).
    ListXattr {
        path: String,
    },
    /// lremovexattr(2).
    RemoveXattr {
        path: String,
        name: String,
    },
    /// Drops the caches. This is no system call on files, but background work may happen.
    DropCaches,
    Sleep {
        ms: u64,
    },
    /// Closes everything, unmounts and mounts again.
    Remount,
    /// sync(2), followed by a power cut: nothing may be lost.
    SyncAndCrash,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// `O_RDWR` instead of `O_RDONLY`.
    pub write: bool,
    pub create: bool,
    pub exclusive: bool,
    pub truncate: bool,
    pub append: bool,
    /// `O_SYNC`
    pub sync: bool,
    pub no_follow: bool,
}

impl How {
    pub const READ: How = How {
        write: false,
        create: false,
        exclusive: false,
        truncate: false,
        append: false,
        sync: false,
        no_follow: false,
    };
    pub const WRITE: How = How { write: true, ..How::READ };
    pub const CREATE: How = How { create: true, ..How::WRITE };
    pub const APPEND: How = How { append: true, ..How::CREATE };
}

/// The result of a call that did not fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// Bytes written, or a file position.
    Number(u64),
    Bytes(Vec<u8>),
    /// Sorted by name.
    Names(Vec<(Vec<u8>, FileKind)>),
    Attributes(Attributes),
    /// Names of extended attributes, sorted.
    Xattrs(Vec<Vec<u8>>),
}

/// The part of stat(2) in which all file systems must agree. Size and link count of directories may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    pub kind: FileKind,
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    pub device: u32,
    /// 0 for directories.
    pub links: u32,
    /// 0 for directories.
    pub size_bytes: u64,
    /// Seconds; `None`: the model does not know it, and it is not compared.
    pub modified_s: Option<i64>,
}

impl Attributes {
    /// Whether the attributes of the model (`self`) and those found are the same, as far as both are known.
    pub fn agree(&self, found: &Attributes) -> bool {
        let known =
            |a: &Attributes, b: &Attributes| Attributes { modified_s: a.modified_s.and(b.modified_s), ..b.clone() };
        known(found, self) == known(self, found)
    }
}

pub type Outcome = std::result::Result<Answer, Errno>;

/// Whether the model's outcome agrees with that of the system under test.
pub fn outcomes_agree(model: &Outcome, found: &Outcome) -> bool {
    match (model, found) {
        (Ok(Answer::Attributes(model)), Ok(Answer::Attributes(found))) => model.agree(found),
        _ => model == found,
    }
}

/// Short text of an outcome, for failure reports.
pub fn describe(outcome: &Outcome) -> String {
    match outcome {
        Err(error) => error.name().to_string(),
        Ok(Answer::Done) => "done".to_string(),
        Ok(Answer::Number(number)) => number.to_string(),
        Ok(Answer::Bytes(bytes)) => {
            let hash = bytes.iter().fold(0u32, |hash, &byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
            let head: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("{} bytes ({} ..., hash {hash:08x})", bytes.len(), head.join(" "))
        }
        Ok(Answer::Names(names)) => {
            let names: Vec<String> =
                names.iter().map(|(name, kind)| format!("{}: {kind:?}", String::from_utf8_lossy(name))).collect();
            format!("[{}]", names.join(", "))
        }
        Ok(Answer::Attributes(attributes)) => format!("{attributes:?}"),
        Ok(Answer::Xattrs(names)) => {
            let names: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
            format!("[{}]", names.join(", "))
        }
    }
}
