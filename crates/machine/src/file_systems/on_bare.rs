//! What a bare program asks about a file system of paths and handles.

pub(super) use super::demands::{demand, no_library};
use crate::error::MachineError;
use crate::mount_options::{no_options, MountOptions};
use crate::own_tables::OwnTables;
use ffslab_bare::paths::Make;
use ffslab_fs::PathFileSystem;
use ffslab_images::file::load_bytes;
use ffslab_images::ImageSpec;
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_system::{ImageGiven, OptionError, SystemError};
use std::fmt::Debug;
use std::sync::Arc;

/// What a bare program asks about such a file system before there is one.
pub trait OnBare: Sync {
    /// Tables of `[stack]` that say something about this file system and not about all of them.
    fn own_keys(&self) -> &'static [&'static str];

    /// What the keys make of it on such a medium. Values that are absent are filled in.
    ///
    /// Errors: values that the file system or the medium does not have.
    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError>;
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

    fn is_new(&self, medium: &Mtd) -> bool {
        self.0.is_new(medium)
    }

    /// The image is all of the partition, or its beginning: nothing in it is looked for.
    fn load(&self, medium: &Mtd, given: &ImageGiven, image: &[u8]) -> Result<(), SystemError> {
        let start = given.offset_bytes.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)).min(image.len());
        let wanted = given.size_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let place_bytes = start..image.len().min(start.saturating_add(wanted));
        let spec = ImageSpec {
            path: given.name.clone().into(),
            oob: given.oob.unwrap_or(false),
            autoplace: given.autoplace.unwrap_or(false),
            place_bytes: place_bytes.clone(),
        };
        let loaded = load_bytes(medium, &spec, &image[place_bytes]);
        loaded.map_err(|error| SystemError::Image { says: error.to_string() })
    }
}

/// Of firmware, which mounts in one way. `no_read_only` says that the file system has no read-only mounts.
///
/// Errors: any option.
pub(super) fn refuse_options(
    fs: &'static str,
    options: &[String],
    no_read_only: &'static str,
) -> Result<(), SystemError> {
    let options = MountOptions::of(options)?;
    if options.remount || options.synchronous {
        return Err(OptionError::OfLinux.into());
    }
    if options.read_only {
        return Err(OptionError::NotSimulated { option: "ro".to_string(), why: no_read_only }.into());
    }
    Ok(no_options(fs, &options.others)?)
}
