//! Errors of system calls, by their Unix names.

use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum Errno {
    #[error("ENOENT: no such file or directory")]
    NoEnt,
    #[error("ENXIO: no such device or address")]
    NxIo,
    #[error("EIO: input/output error")]
    Io,
    #[error("EBADF: bad file descriptor")]
    BadF,
    #[error("EACCES: permission denied")]
    Acces,
    #[error("EEXIST: file exists")]
    Exist,
    #[error("EXDEV: cross-device link")]
    XDev,
    #[error("ENODEV: no such device")]
    NoDev,
    #[error("ENOTDIR: not a directory")]
    NotDir,
    #[error("EISDIR: is a directory")]
    IsDir,
    #[error("EINVAL: invalid argument")]
    Inval,
    #[error("ENOTTY: inappropriate ioctl for device")]
    NoTty,
    #[error("EFBIG: file too large")]
    FBig,
    #[error("ENOSPC: no space left on device")]
    NoSpc,
    #[error("EROFS: read-only file system")]
    RoFs,
    #[error("EMLINK: too many links")]
    MLink,
    #[error("EPERM: operation not permitted")]
    Perm,
    #[error("ENAMETOOLONG: file name too long")]
    NameTooLong,
    #[error("ENOTEMPTY: directory not empty")]
    NotEmpty,
    #[error("ELOOP: too many levels of symbolic links")]
    Loop,
    #[error("EBUSY: device or resource busy")]
    Busy,
    #[error("ENOTSUP: operation not supported")]
    NotSup,
    #[error("ENODATA: no such attribute")]
    NoData,
    #[error("ERANGE: result too large")]
    Range,
    #[error("E2BIG: value too large")]
    TooBig,
    #[error("ENFILE: too many open files")]
    NFile,
    #[error("ESPIPE: illegal seek")]
    SPipe,
    #[error("ENOSYS: function not implemented")]
    NoSys,
    #[error("ENOMEM: out of memory")]
    NoMem,
    /// Not a Unix error: the simulated power went away during the operation.
    #[error("the power was cut")]
    PowerCut,
}

impl Errno {
    /// Unix name, as the measured cases and strace write it.
    pub fn name(self) -> &'static str {
        match self {
            Errno::NoEnt => "ENOENT",
            Errno::NxIo => "ENXIO",
            Errno::Io => "EIO",
            Errno::BadF => "EBADF",
            Errno::Acces => "EACCES",
            Errno::Exist => "EEXIST",
            Errno::XDev => "EXDEV",
            Errno::NoDev => "ENODEV",
            Errno::NotDir => "ENOTDIR",
            Errno::IsDir => "EISDIR",
            Errno::Inval => "EINVAL",
            Errno::NoTty => "ENOTTY",
            Errno::FBig => "EFBIG",
            Errno::NoSpc => "ENOSPC",
            Errno::RoFs => "EROFS",
            Errno::MLink => "EMLINK",
            Errno::Perm => "EPERM",
            Errno::NameTooLong => "ENAMETOOLONG",
            Errno::NotEmpty => "ENOTEMPTY",
            Errno::Loop => "ELOOP",
            Errno::Busy => "EBUSY",
            Errno::NotSup => "ENOTSUP",
            Errno::NoData => "ENODATA",
            Errno::Range => "ERANGE",
            Errno::TooBig => "E2BIG",
            Errno::NFile => "ENFILE",
            Errno::SPipe => "ESPIPE",
            Errno::NoSys => "ENOSYS",
            Errno::NoMem => "ENOMEM",
            Errno::PowerCut => "power cut",
        }
    }

    /// Number on Linux (`asm-generic/errno-base.h`, `errno.h`); a power cut, which no program sees, has that of EIO.
    pub fn number(self) -> u32 {
        match self {
            Errno::Perm => 1,
            Errno::NoEnt => 2,
            Errno::Io | Errno::PowerCut => 5,
            Errno::NxIo => 6,
            Errno::TooBig => 7,
            Errno::BadF => 9,
            Errno::NoMem => 12,
            Errno::Acces => 13,
            Errno::Busy => 16,
            Errno::Exist => 17,
            Errno::XDev => 18,
            Errno::NoDev => 19,
            Errno::NotDir => 20,
            Errno::IsDir => 21,
            Errno::Inval => 22,
            Errno::NoTty => 25,
            Errno::FBig => 27,
            Errno::NFile => 23,
            Errno::NoSpc => 28,
            Errno::SPipe => 29,
            Errno::RoFs => 30,
            Errno::MLink => 31,
            Errno::Range => 34,
            Errno::NameTooLong => 36,
            Errno::NoSys => 38,
            Errno::NotEmpty => 39,
            Errno::Loop => 40,
            Errno::NoData => 61,
            Errno::NotSup => 95,
        }
    }
}
