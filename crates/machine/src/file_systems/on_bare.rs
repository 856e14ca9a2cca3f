//! What a bare program asks about a file system of paths and handles.

use crate::bare::BareKeys;
use crate::error::MachineError;
use ffslab_bare::paths::Make;
use ffslab_fs::PathFileSystem;
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_system::SystemError;
use std::fmt::Debug;
use std::sync::Arc;

/// What a bare program asks about such a file system before there is one.
pub trait OnBare: Sync {
    /// Tables of `[stack]` that say something about this file system and not about all of them.
    fn own_keys(&self) -> &'static [&'static str];

    /// What the keys make of it on such a medium. Values that are absent are filled in.
    ///
    /// Errors: values that the file system or the medium does not have.
    fn settings(&self, keys: &mut BareKeys, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError>;
}

/// The settings of such a file system, with which it is made and mounted as often as one likes.
pub trait PathSettings: Make + Debug + Send + Sync {}

impl<T: Make + Debug + Send + Sync> PathSettings for T {}

/// The same settings in the hands of a machine.
pub(crate) struct Shared(pub Arc<dyn PathSettings>);

impl Make for Shared {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        self.0.mount(medium, options)
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        self.0.format(medium)
    }
}
