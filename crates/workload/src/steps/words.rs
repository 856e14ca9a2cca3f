//! The words that stand as values of keys.

pub use crate::calls::{Advice, FallocateFlag, MapAccess};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// Flags of `open`.
    OpenFlag {
        Rdonly = "rdonly",
        Wronly = "wronly",
        Rdwr = "rdwr",
        Create = "create",
        Truncate = "truncate",
        Append = "append",
        /// O_SYNC.
        Sync = "sync",
        /// O_DIRECT: none of the flash file systems has direct I/O, so the call ends in EINVAL.
        Direct = "direct",
        /// O_TMPFILE: a file without a name, in the directory part of `file`. Other steps refer to it by `file`
        /// nevertheless.
        Tmpfile = "tmpfile",
    }
    /// Flags of renameat2(2).
    RenameFlag {
        /// RENAME_NOREPLACE: EEXIST when `to` exists.
        NoReplace = "noreplace",
        /// RENAME_EXCHANGE: the two names are exchanged.
        Exchange = "exchange",
        /// RENAME_WHITEOUT: the old name stands for a whiteout afterwards.
        Whiteout = "whiteout",
    }
    /// Errors with which a step may be expected to fail.
    Failure {
        NoEnt = "ENOENT",
        Exist = "EEXIST",
        NotDir = "ENOTDIR",
        IsDir = "EISDIR",
        NotEmpty = "ENOTEMPTY",
        NoSpc = "ENOSPC",
        RoFs = "EROFS",
        NxIo = "ENXIO",
        FBig = "EFBIG",
        Inval = "EINVAL",
        NameTooLong = "ENAMETOOLONG",
        Perm = "EPERM",
        Acces = "EACCES",
        NotSup = "ENOTSUP",
        NoData = "ENODATA",
        Range = "ERANGE",
        TooBig = "E2BIG",
    }
    /// Flags of setxattr(2).
    XattrFlag {
        /// XATTR_CREATE: EEXIST when it exists.
        Create = "create",
        /// XATTR_REPLACE: ENODATA when it does not.
        Replace = "replace",
    }
    RequestOp {
        Read = "read",
        Write = "write",
        /// Reads and writes in turn, a read first.
        Alternate = "alternate",
    }
    Pattern {
        /// Offset (i % slots) * request_B.
        Sequential = "sequential",
        /// Offset (next() % slots) * request_B.
        Random = "random",
        /// Offset order[i % length of order] * request_B.
        Listed = "listed",
    }
    /// By which calls `requests` moves its bytes.
    RequestCalls {
        /// pread(2) and pwrite(2).
        Positioned = "pread",
        /// read(2) and write(2). Before each of them stands an lseek(2), unless the requests are sequential and the file is
        /// at the right position already.
        AtPosition = "read",
    }
    /// When `mmap` calls msync(2), with MS_SYNC.
    Msync {
        /// Never: what was stored is written when write-back comes to it.
        None = "none",
        /// After each access, for its bytes.
        Each = "each",
        /// Once, for the whole map, before it is unmapped.
        End = "end",
    }
    /// The bytes that a step writes.
    ContentName {
        /// Random bytes, which do not compress.
        Random = "random",
        /// One English sentence over and over; each write begins with its first word.
        Text = "text",
        /// Half random bytes, half text, in turns of 512 B.
        Mix = "mix",
        /// Zeros.
        #[serde(alias = "zeros")]
        Zero = "zero",
    }
    /// What follows each write of `append`.
    AppendSync {
        Fsync = "fsync",
        Fdatasync = "fdatasync",
        /// sync(2).
        Sync = "sync",
        None = "none",
    }
    /// How `set` writes on a file system, where a key is a file in the root.
    KeyFile {
        /// A new file `KEY.new` is written, synced and renamed to the key, and the directory is synced: the key has its old or its new
        /// value at any time.
        Renamed = "renamed",
        /// The file is truncated, written and synced: a power cut may leave neither value.
        Overwritten = "overwritten",
    }
    Until {
        NoSpc = "ENOSPC",
    }
    Think {
        Keep = "keep",
        None = "none",
        /// Each call comes when it came in the recording, or at once if those before it took longer here.
        Arrivals = "arrivals",
    }
}

// Not derived, because the default is a choice and not the first word of the list.
macro_rules! by_default {
    ($($Name:ident = $Variant:ident),+ $(,)?) => {
        $(#[allow(clippy::derivable_impls)]
        impl Default for $Name {
            fn default() -> Self {
                $Name::$Variant
            }
        })+
    };
}

by_default! { AppendSync = None, Msync = None, Think = Keep, KeyFile = Renamed, RequestCalls = Positioned, ContentName = Random }

/// Which way the bytes of a request go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    Read,
    Write,
}

impl RequestOp {
    /// What request number `i` of a step does.
    pub fn of_request(self, i: u64) -> Transfer {
        match self {
            RequestOp::Read => Transfer::Read,
            RequestOp::Write => Transfer::Write,
            RequestOp::Alternate if i.is_multiple_of(2) => Transfer::Read,
            RequestOp::Alternate => Transfer::Write,
        }
    }
}
