//! Arguments of system calls, as programs give them, recordings hold them and systems take them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

    /// The words of the flags that are set, the access first. `unnamed` has none.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        let access = match (self.read, self.write) {
            (true, true) => "rdwr",
            (_, true) => "wronly",
            _ => "rdonly",
        };
        let further = [
            (self.create, "create"),
            (self.exclusive, "exclusive"),
            (self.truncate, "truncate"),
            (self.append, "append"),
            (self.sync, "sync"),
            (self.dsync, "dsync"),
            (self.directory, "directory"),
            (self.no_follow, "nofollow"),
            (self.direct, "direct"),
        ];
        std::iter::once(access).chain(further.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word))
    }

    /// Sets what a word says. Returns whether there is such a word.
    pub fn set(&mut self, word: &str) -> bool {
        match word {
            "rdonly" => self.read = true,
            "wronly" => self.write = true,
            "rdwr" => (self.read, self.write) = (true, true),
            "create" => self.create = true,
            "exclusive" => self.exclusive = true,
            "truncate" => self.truncate = true,
            "append" => self.append = true,
            "sync" => self.sync = true,
            "dsync" => self.dsync = true,
            "directory" => self.directory = true,
            "nofollow" => self.no_follow = true,
            "direct" => self.direct = true,
            _ => return false,
        }
        true
    }
}

/// Where an offset of lseek(2) counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whence {
    Set,
    Current,
    End,
}

words! {
    /// Flags of fallocate(2).
    FallocateFlag {
        /// FALLOC_FL_KEEP_SIZE: the file does not grow.
        KeepSize = "keep_size",
        /// FALLOC_FL_PUNCH_HOLE, which needs `keep_size`: the range becomes a hole.
        PunchHole = "punch_hole",
        /// FALLOC_FL_ZERO_RANGE.
        ZeroRange = "zero_range",
        /// FALLOC_FL_COLLAPSE_RANGE: what follows moves down.
        CollapseRange = "collapse_range",
        /// FALLOC_FL_INSERT_RANGE: what follows moves up.
        InsertRange = "insert_range",
    }
    /// What a program does with a mapped file.
    MapAccess {
        /// It loads (`PROT_READ`).
        Read = "read",
        /// It stores (`PROT_READ`, `PROT_WRITE`).
        Write = "write",
    }
    /// posix_fadvise(2).
    Advice {
        Normal = "normal",
        Random = "random",
        Sequential = "sequential",
        WillNeed = "willneed",
        DontNeed = "dontneed",
        /// Linux accepts it and does nothing (mm/fadvise.c of kernels before 6.3).
        NoReuse = "noreuse",
    }
    /// The programs of a boot.
    Runs {
        /// The kernel, and what it starts.
        Linux = "linux",
        /// U-Boot: with the prices of the board's table `[u_boot]`.
        UBoot = "u-boot",
        /// The first part of a boot loader, in its own memory: with those of `[spl]`.
        Spl = "spl",
    }
}

// Not derived: by meaning, not by order.
#[allow(clippy::derivable_impls)]
impl Default for Runs {
    fn default() -> Self {
        Runs::Linux
    }
}
