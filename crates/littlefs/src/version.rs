//! Which littlefs: the one that is compiled with this crate, or one that `ffslab foreign build` has made of a user's sources.

use crate::c::{self, Functions, LINKED};
use ffslab_foreign::guard::Guarded;
use ffslab_foreign::Libraries;
pub use ffslab_foreign::LoadError;
use std::fmt;
use std::path::Path;

/// Of the interface between this crate and the C side (`FFSLAB_LFS_ABI` of `littlefs.h`).
const ABI: u32 = 2;

/// The code of a littlefs.
#[derive(Clone, Copy)]
pub struct Version(pub(crate) &'static Guarded<Functions>);

static LOADED: Libraries<Guarded<Functions>> = Libraries::new();

impl Version {
    /// The littlefs of this crate.
    pub const LINKED: Version = Version(&LINKED);

    /// The littlefs of a library.
    ///
    /// Errors: the file is none, or one of another ffslab.
    pub fn load(file: &Path) -> Result<Version, LoadError> {
        let loaded = LOADED.get(file, |file| {
            let functions = c::load(file).map_err(|error| LoadError::unloadable(file, error))?;
            match functions.abi() {
                ABI => Ok(Guarded::of(functions, file)),
                _ => Err(LoadError::other_abi(file)),
            }
        });
        loaded.map(Version)
    }

    /// Major and minor number, as in (2, 9).
    pub fn number(self) -> (u32, u32) {
        let version = self.0.call().version();
        (version >> 16, version & 0xFFFF)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (major, minor) = self.number();
        write!(f, "littlefs {major}.{minor}")
    }
}
