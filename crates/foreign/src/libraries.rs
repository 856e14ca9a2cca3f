//! Libraries that `ffslab foreign build` has made: each is loaded once, and stays.

use crate::guard;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// Why a file is no such library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("{file}: there is no such file: `ffslab foreign build` makes it of your sources")]
    Absent { file: String },
    #[error("{file}: cannot be loaded: {why}")]
    Unloadable { file: String, why: String },
    #[error("{file}: was built for another ffslab: build it again with `ffslab foreign build`")]
    OtherAbi { file: String },
    /// What the environment says of its calls is none.
    #[error("{file}: {why}")]
    Limit { file: String, why: String },
    #[error("{file}: is a library of {store}")]
    OtherStore { file: String, store: String },
}

impl LoadError {
    /// What the system says that loads libraries.
    pub fn unloadable(file: &Path, why: impl ToString) -> LoadError {
        LoadError::Unloadable { file: file.display().to_string(), why: why.to_string() }
    }

    pub fn other_abi(file: &Path) -> LoadError {
        LoadError::OtherAbi { file: file.display().to_string() }
    }
}

/// What was loaded of each file.
pub struct Libraries<T: 'static>(Mutex<BTreeMap<PathBuf, &'static T>>);

impl<T> Libraries<T> {
    #[allow(clippy::new_without_default)] // Of a `static`.
    pub const fn new() -> Libraries<T> {
        Libraries(Mutex::new(BTreeMap::new()))
    }

    /// What `load` makes of a file, the first time.
    ///
    /// Errors: what `load` says.
    pub fn get(&self, file: &Path, load: impl FnOnce(&Path) -> Result<T, LoadError>) -> Result<&'static T, LoadError> {
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = loaded.get(file) {
            return Ok(found);
        }
        guard::limit().map_err(|why| LoadError::Limit { file: file.display().to_string(), why })?;
        if !file.exists() {
            return Err(LoadError::Absent { file: file.display().to_string() });
        }
        if !file.is_file() {
            return Err(LoadError::unloadable(file, "it is no regular file"));
        }
        let made: &'static T = Box::leak(Box::new(load(file)?));
        loaded.insert(file.to_path_buf(), made);
        Ok(made)
    }
}
