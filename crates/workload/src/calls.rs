//! Arguments of system calls, as programs give them, recordings hold them and systems take them.

/// Flags of open(2). At least one of `read` and `write` must be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    pub read: bool,
    pub write: bool,
    pub create: bool,
    /// `O_EXCL`
    pub exclusive: bool,
    pub truncate: bool,
    pub append: bool,
    /// `O_SYNC`
    pub sync: bool,
    /// `O_DSYNC`
    pub dsync: bool,
    pub directory: bool,
    pub no_follow: bool,
    /// `O_DIRECT`: none of the flash file systems has it, so open(2) ends in EINVAL.
    pub direct: bool,
    /// `O_TMPFILE`: a new file without a name, in the directory that the path names. With `exclusive` it can never get
    /// one.
    pub unnamed: bool,
}

impl OpenFlags {
    pub const READ: OpenFlags = OpenFlags {
        read: true,
        write: false,
        create: false,
        exclusive: false,
        truncate: false,
        append: false,
        sync: false,
        dsync: false,
        directory: false,
        no_follow: false,
        direct: false,
        unnamed: false,
    };
    pub const WRITE: OpenFlags = OpenFlags { read: false, write: true, ..OpenFlags::READ };
    pub const READ_WRITE: OpenFlags = OpenFlags { write: true, ..OpenFlags::READ };
    /// `O_RDWR | O_CREAT`.
    pub const CREATE: OpenFlags = OpenFlags { create: true, ..OpenFlags::READ_WRITE };
}

/// Where an offset of lseek(2) counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    Set,
    Current,
    End,
}
