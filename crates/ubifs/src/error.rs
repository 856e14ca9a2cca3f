//! What goes wrong inside: errors of system calls and the three that never leave UBIFS.

use ffslab_fs::Errno;
use std::fmt;

/// A contradiction on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    pub what: &'static str,
    /// LEB, and offset in it in bytes, if one node or one LEB is to blame.
    pub(crate) place: Option<(u32, u32)>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.what)?;
        match self.place {
            Some((lnum, offs)) => write!(f, " (LEB {lnum}, offset {offs})"),
            None => Ok(()),
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
        Fail::Corrupt(Damage { what, place: None })
    }
}

/// Says where on the volume damage is. The code that finds it often sees bytes and not their place.
pub(crate) trait AtPlace {
    /// Adds a place to damage that has none yet.
    fn at(self, lnum: u32, offs: u32) -> Self;
}

impl<T> AtPlace for Res<T> {
    #[inline]
    fn at(self, lnum: u32, offs: u32) -> Res<T> {
        self.map_err(|fail| match fail {
            Fail::Corrupt(Damage { what, place: None }) => Fail::Corrupt(Damage { what, place: Some((lnum, offs)) }),
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
        let Fail::Corrupt(nowhere) = Fail::corrupt("bad superblock") else { unreachable!() };
        assert_eq!(nowhere.to_string(), "bad superblock");
    }
}
