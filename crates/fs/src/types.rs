//! The types that file systems and operating systems exchange.

/// Inode number.
pub type Ino = u32;

/// Size of a page of the page cache (`PAGE_SIZE` of the boards in question).
pub const PAGE_BYTES: usize = 4096;

/// Kind of an inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    CharDevice,
    BlockDevice,
    Fifo,
    Socket,
}

impl FileKind {
    /// The name for messages and tables.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::File => "file",
            FileKind::Directory => "directory",
            FileKind::Symlink => "symlink",
            FileKind::CharDevice => "char device",
            FileKind::BlockDevice => "block device",
            FileKind::Fifo => "fifo",
            FileKind::Socket => "socket",
        }
    }

    /// The `S_IFMT` bits of a mode.
    pub fn mode_bits(self) -> u32 {
        match self {
            FileKind::Fifo => 0o010000,
            FileKind::CharDevice => 0o020000,
            FileKind::Directory => 0o040000,
            FileKind::BlockDevice => 0o060000,
            FileKind::File => 0o100000,
            FileKind::Symlink => 0o120000,
            FileKind::Socket => 0o140000,
        }
    }

    /// Kind from a mode; `None` for bits that no kind has.
    pub fn from_mode(mode: u32) -> Option<FileKind> {
        Some(match mode & 0o170000 {
            0o010000 => FileKind::Fifo,
            0o020000 => FileKind::CharDevice,
            0o040000 => FileKind::Directory,
            0o060000 => FileKind::BlockDevice,
            0o100000 => FileKind::File,
            0o120000 => FileKind::Symlink,
            0o140000 => FileKind::Socket,
            _ => return None,
        })
    }

    /// The `d_type` of a directory entry (`DT_REG` = 8 ...).
    pub fn dirent_type(self) -> u8 {
        (self.mode_bits() >> 12) as u8
    }
}

/// A time stamp, in seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpec {
    pub seconds: i64,
    pub nanoseconds: u32,
}

/// What `create` makes.
#[derive(Clone, Debug)]
pub struct NewNode<'a> {
    pub kind: FileKind,
    /// Permission bits (07777).
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    /// Device number of device files.
    pub device: u32,
    /// Target of a symbolic link.
    pub target: &'a [u8],
}

impl NewNode<'static> {
    /// A plain file or directory of user 0 with the usual permissions.
    pub fn of(kind: FileKind) -> Self {
        let permissions = if kind == FileKind::Directory { 0o755 } else { 0o644 };
        NewNode { kind, permissions, uid: 0, gid: 0, device: 0, target: b"" }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub ino: Ino,
    pub kind: FileKind,
    pub permissions: u32,
    pub links: u32,
    pub uid: u32,
    pub gid: u32,
    pub device: u32,
    pub size_bytes: u64,
    /// `st_blocks`: in units of [`STAT_BLOCK_BYTES`], by the rule of the file system.
    pub blocks: u64,
    pub accessed: TimeSpec,
    pub modified: TimeSpec,
    pub changed: TimeSpec,
}

/// Unit of [`Stat::blocks`] (stat(2)).
pub const STAT_BLOCK_BYTES: u64 = 512;

/// Bits of `FS_IOC_GETFLAGS` and `FS_IOC_SETFLAGS`, which chattr(1) sets (`include/uapi/linux/fs.h`).
pub mod inode_flags {
    /// `FS_COMPR_FL`, "c": data are compressed.
    pub const COMPRESS: u32 = 0x4;
    /// `FS_SYNC_FL`, "S": every change is written at once.
    pub const SYNC: u32 = 0x8;
    /// `FS_IMMUTABLE_FL`, "i": nothing changes it.
    pub const IMMUTABLE: u32 = 0x10;
    /// `FS_APPEND_FL`, "a": it only grows.
    pub const APPEND: u32 = 0x20;
    /// `FS_ENCRYPT_FL`, "E": encrypted; cannot be set this way.
    pub const ENCRYPT: u32 = 0x800;
    /// `FS_DIRSYNC_FL`, "D": changes of a directory's names are written at once.
    pub const DIRECTORY_SYNC: u32 = 0x1_0000;
}

/// The attributes to change; those that are `None` stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttr {
    pub size_bytes: Option<u64>,
    pub permissions: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub accessed: Option<TimeSpec>,
    pub modified: Option<TimeSpec>,
}

impl SetAttr {
    /// Whether the system above asks for a new change time (`ATTR_CTIME`). It always does, except in truncate(2), which
    /// only asks for a size and leaves the time stamps to the file system (`do_truncate` of `fs/open.c`).
    pub fn moves_change_time(&self) -> bool {
        self.size_bytes.is_none() || self.modified.is_some()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatFs {
    pub block_bytes: u32,
    pub blocks: u64,
    pub blocks_free: u64,
    pub files: u64,
    pub files_free: u64,
}

/// What an erase block holds, by the accounting of its file system. The sizes add up to the size of the block; all are
/// 0 for a bad block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockSpace {
    /// Bytes that are still needed, including the file system's own data.
    pub valid_bytes: u32,
    /// Superseded, deleted or padding: garbage collection can free these bytes.
    pub invalid_bytes: u32,
    /// Bytes that are erased, or that can be written without another erase.
    pub free_bytes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'a> {
    pub ino: Ino,
    pub name: &'a [u8],
    pub kind: FileKind,
}

/// What setxattr(2) does when the attribute exists already, or does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XattrMode {
    /// It is made or replaced.
    #[default]
    Any,
    /// `XATTR_CREATE`: `Exist` when it exists.
    Create,
    /// `XATTR_REPLACE`: `NoData` when it does not.
    Replace,
}

/// Flags of renameat2(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenameFlags {
    /// `RENAME_NOREPLACE`: `Exist` when the new name exists.
    pub no_replace: bool,
    /// `RENAME_EXCHANGE`: each name gets what the other one stood for.
    pub exchange: bool,
    /// `RENAME_WHITEOUT`: the old name stands for a whiteout afterwards, a character device 0:0 as overlayfs wants it.
    pub whiteout: bool,
}

impl RenameFlags {
    /// No flag, which makes it rename(2).
    pub const NONE: RenameFlags = RenameFlags { no_replace: false, exchange: false, whiteout: false };
    pub const NO_REPLACE: RenameFlags = RenameFlags { no_replace: true, ..RenameFlags::NONE };
    pub const EXCHANGE: RenameFlags = RenameFlags { exchange: true, ..RenameFlags::NONE };
    pub const WHITEOUT: RenameFlags = RenameFlags { whiteout: true, ..RenameFlags::NONE };
}

/// Whether a page must be read before a part of it is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePlan {
    /// The page is up to date, or will be after the write.
    Ready,
    /// The page must be read from the medium first.
    ReadFirst,
}

/// How much is in memory and not on the medium yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Dirty pages of the page cache.
    pub pages: u64,
    /// Inodes that must be written themselves, or the corresponding structures of a file system.
    pub inodes: u64,
    /// Bytes in the file system's own buffers.
    pub buffered_bytes: u64,
}
