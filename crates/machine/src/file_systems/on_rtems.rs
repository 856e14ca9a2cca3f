//! What a stack with RTEMS asks about a file system.

use crate::device_keys::DiskSpec;
use crate::error::MachineError;
use crate::media::FlashSpec;
use crate::rtems_keys::RtemsKeys;
use ffslab_fs::Errno;
use ffslab_mtd::Mtd;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, DiskId};
use ffslab_rtems::libio::FileSystem;
use ffslab_system::{OptionError, SystemError};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// What a stack with RTEMS asks about a file system before there is one.
pub trait OnRtems: Sync {
    /// The name by which RTEMS mounts it.
    fn name(&self) -> &'static str;

    /// Keys of `[stack]` that say something about this file system or its medium and not about all of them. A key may have
    /// several owners; for the file systems that do not own it, it is refused.
    fn own_keys(&self) -> &'static [&'static str];

    /// What the keys make of it. Values that are absent are filled in.
    ///
    /// Errors: values that the file system or its medium does not have.
    fn settings(&self, keys: &mut RtemsKeys, given: &Given<'_>) -> Result<RtemsFs, MachineError>;
}

/// What is known besides the keys of a file system.
pub struct Given<'a> {
    /// Files that keys name are found from here.
    pub base_dir: &'a Path,
    pub bdbuf: &'a BdbufConfig,
}

/// A file system of RTEMS with what it stands on.
#[derive(Clone, Debug)]
pub enum RtemsFs {
    /// Its files lie in memory.
    Memory(Arc<dyn InMemory>),
    /// It works on a block device, through the block cache.
    Disk(DiskSpec, Arc<dyn OnDisk>),
    /// It has a flash driver of its own.
    Flash(FlashSpec, Arc<dyn OnFlash>),
}

impl RtemsFs {
    pub fn disk(&self) -> Option<&DiskSpec> {
        match self {
            RtemsFs::Disk(disk, _) => Some(disk),
            _ => None,
        }
    }

    pub fn disk_mut(&mut self) -> Option<&mut DiskSpec> {
        match self {
            RtemsFs::Disk(disk, _) => Some(disk),
            _ => None,
        }
    }

    pub fn flash(&self) -> Option<&FlashSpec> {
        match self {
            RtemsFs::Flash(flash, _) => Some(flash),
            _ => None,
        }
    }
}

/// The settings of a file system in memory.
///
/// Errors of `mount`: options that it does not have.
pub trait InMemory: Debug + Send + Sync {
    fn mount(&self, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError>;
}

/// The settings of a file system on a block device.
pub trait OnDisk: Debug + Send + Sync {
    /// Makes a new one.
    ///
    /// Errors: the device is too small, or fails.
    fn format(&self, cache: &mut Bdbuf, disk: DiskId) -> Result<(), Errno>;

    /// Errors: options that it does not have, what it says of the device.
    fn mount(&self, cache: &mut Bdbuf, disk: DiskId, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError>;
}

/// The settings of a file system with a flash driver of its own. An erased flash is an empty file system.
///
/// Errors of `mount`: options that it does not have, what it says of the flash.
pub trait OnFlash: Debug + Send + Sync {
    fn mount(&self, cache: &mut Bdbuf, flash: &Mtd, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError>;
}

/// Refuses all options, for file systems that have none of their own.
///
/// Errors: the first option.
pub(super) fn no_options(fs: &'static str, options: &[&str]) -> Result<(), OptionError> {
    match options.first() {
        Some(option) => Err(OptionError::OnlyReadOnly { option: option.to_string(), fs }),
        None => Ok(()),
    }
}
