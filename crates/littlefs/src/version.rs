//! Which littlefs: the one that is compiled with this crate, or one that `ffslab foreign build` has made of a user's sources.

use crate::c::{self, Functions, LINKED};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Of the interface between this crate and the C side (`FFSLAB_LFS_ABI` of `littlefs.h`).
const ABI: u32 = 1;

/// The code of a littlefs.
#[derive(Clone, Copy)]
pub struct Version(pub(crate) &'static Functions);

/// Why there is no such code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("{file}: cannot be loaded: {why}")]
    Unloadable { file: String, why: String },
    #[error("{file}: was built for another ffslab: build it again with `ffslab foreign build littlefs`")]
    OtherAbi { file: String },
}

/// Libraries stay loaded, and each is loaded once.
static LOADED: Mutex<BTreeMap<PathBuf, Version>> = Mutex::new(BTreeMap::new());

impl Version {
    /// The littlefs of this crate.
    pub const LINKED: Version = Version(&LINKED);

    /// The littlefs of a library.
    ///
    /// Errors: the file is none, or one of another ffslab.
    pub fn load(file: &Path) -> Result<Version, LoadError> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(version) = loaded.get(file) {
            return Ok(*version);
        }
        let name = || file.display().to_string();
        let functions =
            c::load(file).map_err(|error| LoadError::Unloadable { file: name(), why: error.to_string() })?;
        if functions.abi() != ABI {
            return Err(LoadError::OtherAbi { file: name() });
        }
        let version = Version(Box::leak(Box::new(functions)));
        loaded.insert(file.to_path_buf(), version);
        Ok(version)
    }

    /// Major and minor number, as in (2, 9).
    pub fn number(self) -> (u32, u32) {
        let version = self.0.version();
        (version >> 16, version & 0xFFFF)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (major, minor) = self.number();
        write!(f, "littlefs {major}.{minor}")
    }
}
