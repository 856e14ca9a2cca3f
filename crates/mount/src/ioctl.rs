//! The requests of ioctl(2) about flags of inodes.
//!
//! Linux asks a FUSE server for them where a program calls chattr(1) or lsattr(1) (`fs/fuse/ioctl.c`, `fuse_fileattr_get`
//! and `fuse_fileattr_set`), after it has checked who may set which (`vfs_fileattr_set`); setting asks for the present ones
//! in XFS's form first.

use crate::convert::number;
use ffslab_fs::inode_flags;
use ffslab_system::Answer;
use fuser::ReplyIoctl;
use nix::libc::{c_int, c_long, Ioctl};

/// The kind of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagsIoctl {
    /// `FS_IOC_GETFLAGS`
    Get,
    /// `FS_IOC_SETFLAGS`
    Set,
    /// `FS_IOC_FSGETXATTR`
    GetExtended,
    /// `FS_IOC_FSSETXATTR`, which UBIFS refuses (`fileattr_has_fsx` in `ubifs_fileattr_set`).
    SetExtended,
}

/// `struct fsxattr`, of which flags are the first word.
const EXTENDED_BYTES: usize = 28;
/// The flags that have a counterpart in `fsx_xflags` (`fileattr_fill_flags` of `fs/ioctl.c`): `FS_XFLAG_IMMUTABLE`,
/// `FS_XFLAG_APPEND`, `FS_XFLAG_SYNC`.
const EXTENDED: [(u32, u32); 3] =
    [(inode_flags::IMMUTABLE, 0x8), (inode_flags::APPEND, 0x10), (inode_flags::SYNC, 0x20)];

/// Numbers of `include/uapi/linux/fs.h`. `FS_IOC_GETFLAGS` is declared with a long, and for 32-bit programs with an int; an
/// int is moved either way.
pub fn flags_ioctl(command: u32) -> Option<FlagsIoctl> {
    use nix::{request_code_read as read, request_code_write as write};
    const KNOWN: [(Ioctl, FlagsIoctl); 6] = [
        (read!(b'f', 1, size_of::<c_long>()), FlagsIoctl::Get),
        (read!(b'f', 1, size_of::<c_int>()), FlagsIoctl::Get),
        (write!(b'f', 2, size_of::<c_long>()), FlagsIoctl::Set),
        (write!(b'f', 2, size_of::<c_int>()), FlagsIoctl::Set),
        (read!(b'X', 31, EXTENDED_BYTES), FlagsIoctl::GetExtended),
        (write!(b'X', 32, EXTENDED_BYTES), FlagsIoctl::SetExtended),
    ];
    KNOWN.into_iter().find(|&(code, _)| code as u32 == command).map(|(_, known)| known)
}

pub fn flags_reply(reply: ReplyIoctl, result: Answer<u32>) {
    match result {
        Ok(bits) => reply.ioctl(0, &bits.to_ne_bytes()),
        Err(error) => reply.error(number(error)),
    }
}

pub fn extended_flags_reply(reply: ReplyIoctl, result: Answer<u32>) {
    match result {
        Ok(bits) => {
            let set = EXTENDED.into_iter().filter(|&(flag, _)| bits & flag != 0);
            let extended = set.fold(0u32, |all, (_, flag)| all | flag);
            let mut answer = [0; EXTENDED_BYTES];
            answer[..4].copy_from_slice(&extended.to_ne_bytes());
            reply.ioctl(0, &answer);
        }
        Err(error) => reply.error(number(error)),
    }
}

pub fn set_reply(reply: ReplyIoctl, result: Answer<()>) {
    match result {
        Ok(()) => reply.ioctl(0, &[]),
        Err(error) => reply.error(number(error)),
    }
}
