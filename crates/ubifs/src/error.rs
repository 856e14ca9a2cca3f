//! What goes wrong inside: errors of system calls and the three that never leave UBIFS.

use ffslab_fs::Errno;

/// Why an internal operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fail {
    Errno(Errno),
    /// A commit must run first (`-EAGAIN`).
    Again,
    /// A node is damaged, as after an interrupted write (`-EUCLEAN`).
    Unclean,
    /// The medium returned data with more wrong bits than ECC corrects (`-EBADMSG`).
    BadMessage,
    /// A new file system does not fit the volume.
    TooFewLebs {
        lebs: u32,
        needed: u32,
    },
    /// The medium contradicts itself; the text says where.
    Corrupt(&'static str),
}

pub(crate) type Res<T> = Result<T, Fail>;

impl From<Errno> for Fail {
    fn from(error: Errno) -> Fail {
        Fail::Errno(error)
    }
}

impl From<Fail> for Errno {
    fn from(fail: Fail) -> Errno {
        match fail {
            Fail::Errno(error) => error,
            Fail::Again => Errno::NoSpc,
            Fail::Unclean | Fail::BadMessage => Errno::Io,
            Fail::Corrupt(_) | Fail::TooFewLebs { .. } => Errno::Inval,
        }
    }
}

pub(crate) const NO_SPACE: Fail = Fail::Errno(Errno::NoSpc);
pub(crate) const NOT_FOUND: Fail = Fail::Errno(Errno::NoEnt);
