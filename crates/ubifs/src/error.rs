//! What goes wrong inside: errors of system calls and the three that never leave UBIFS.

use ffslab_fs::Errno;
use std::fmt;
use thiserror::Error;

/// A contradiction on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    pub what: &'static str,
    /// The inode to which the damaged node belongs, if it is known.
    pub(crate) ino: Option<u32>,
    /// LEB, and offset in it in bytes, if one node or one LEB is to blame.
    pub(crate) place: Option<(u32, u32)>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.what)?;
        match (self.ino, self.place) {
            (Some(ino), Some((lnum, offs))) => write!(f, " (inode {ino}, LEB {lnum}, offset {offs})"),
            (Some(ino), None) => write!(f, " (inode {ino})"),
            (None, Some((lnum, offs))) => write!(f, " (LEB {lnum}, offset {offs})"),
            (None, None) => Ok(()),
        }
    }
}

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
    /// The medium contradicts itself.
    Corrupt(Damage),
}

impl Fail {
    pub const fn corrupt(what: &'static str) -> Fail {
        Fail::Corrupt(Damage { what, ino: None, place: None })
    }
}

/// Says where on the volume damage is, and what it belongs to. The code that finds it often sees only bytes.
pub(crate) trait AtPlace {
    /// Adds a place to damage that has none yet.
    fn at(self, lnum: u32, offs: u32) -> Self;

    /// Adds an inode to damage that has none yet.
    fn of_inode(self, ino: u32) -> Self;
}

impl<T> AtPlace for Res<T> {
    #[inline]
    fn at(self, lnum: u32, offs: u32) -> Res<T> {
        self.map_err(|fail| match fail {
            Fail::Corrupt(damage @ Damage { place: None, .. }) => {
                Fail::Corrupt(Damage { place: Some((lnum, offs)), ..damage })
            }
            other => other,
        })
    }

    #[inline]
    fn of_inode(self, ino: u32) -> Res<T> {
        self.map_err(|fail| match fail {
            Fail::Corrupt(damage @ Damage { ino: None, .. }) => Fail::Corrupt(Damage { ino: Some(ino), ..damage }),
            other => other,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Damage is told with the place at which it was found, not with that from which the way led there.
    #[test]
    fn the_first_place_of_damage_stays() {
        let found: Res<()> = Err(Fail::corrupt("bad index node")).at(7, 512).at(3, 0);
        let Err(Fail::Corrupt(damage)) = found else { panic!("{found:?}") };
        assert_eq!(damage.to_string(), "bad index node (LEB 7, offset 512)");
        assert_eq!(Err::<(), _>(Fail::Unclean).at(7, 512), Err(Fail::Unclean));
        let found: Res<()> = Err(Fail::corrupt("bad entry node")).of_inode(65).of_inode(1).at(7, 512);
        let Err(Fail::Corrupt(damage)) = found else { panic!("{found:?}") };
        assert_eq!(damage.to_string(), "bad entry node (inode 65, LEB 7, offset 512)");
        let Fail::Corrupt(nowhere) = Fail::corrupt("bad superblock") else { unreachable!() };
        assert_eq!(nowhere.to_string(), "bad superblock");
    }
}

/// Why a volume could not be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    /// The superblock, two LEBs for the master node, log, LPT, orphans and main area; a large journal needs more.
    #[error("UBIFS needs at least {needed} LEBs, the volume has {lebs}")]
    TooFewLebs { lebs: u32, needed: u32 },
    #[error("UBIFS needs LEBs of at least 15 KiB, the volume's have {leb_bytes} bytes")]
    SmallLebs { leb_bytes: u32 },
    #[error("the volume holds no valid UBIFS: {0}")]
    Corrupt(Damage),
    #[error("the medium cannot be used: {0}")]
    Medium(Errno),
}

impl From<Fail> for MountError {
    fn from(fail: Fail) -> MountError {
        match fail {
            Fail::Corrupt(what) => MountError::Corrupt(what),
            Fail::TooFewLebs { lebs, needed } => MountError::TooFewLebs { lebs, needed },
            Fail::Unclean => MountError::Corrupt(Damage { what: "damaged nodes", ino: None, place: None }),
            other => MountError::Medium(other.into()),
        }
    }
}
