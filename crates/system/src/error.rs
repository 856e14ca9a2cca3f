//! Why a machine did not do what the person who experiments with it asked for.

use crate::Refusal;
use ffslab_fs::Errno;
use ffslab_mtd::{RestoreError, SaveError};
use thiserror::Error;

/// Why a mount, a power cut, UBI or the medium as a whole did nothing. One line: what, where, what would be right.
///
/// What calls of programs give back is a [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SystemError {
    /// The system does not have what was asked for, or a call that is part of it failed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    // ---- the state of the machine --------------------------------------------------------------------------------
    #[error("{what} is mounted already: umount it first{}", if *has_remount { ", or add the option \"remount\"" } else { "" })]
    MountedAlready { what: &'static str, has_remount: bool },
    #[error("{what} is mounted: umount it first")]
    Mounted { what: &'static str },
    #[error("remount: nothing is mounted: leave the option out")]
    NotMounted,
    #[error("fs = \"none\": there is no file system to mount")]
    NoFileSystem,
    #[error(transparent)]
    Ubi(#[from] UbiState),
    /// The machine does not start again after a power cut; `says`: what it says of its own configuration.
    #[error("{says}")]
    NoStart { says: String },
    // ---- what was given ------------------------------------------------------------------------------------------
    #[error(transparent)]
    Option(#[from] OptionError),
    /// An image that the medium cannot hold, or that the file system would not mount; `says`: what is wrong with it.
    #[error("{says}")]
    Image { says: String },
    // ---- the medium ----------------------------------------------------------------------------------------------
    /// The file system, or UBI below it, cannot use the medium.
    #[error("{says}")]
    Unusable {
        /// In its own words.
        says: String,
        /// With so many more erase blocks it would do; `None`: its size is not what is wrong.
        missing_blocks: Option<u32>,
    },
    #[error("the device cannot be formatted: {0}")]
    Unformattable(Errno),
    #[error("there is no block device{hint}")]
    NoDevice { hint: &'static str },
    #[error("oob = true: a block device has no OOB area")]
    NoOob,
    /// What is in memory cannot be kept.
    #[error("files in memory do not outlive the machine: make them in [[setup]] steps")]
    InMemory,
    #[error(transparent)]
    Save(#[from] SaveError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl SystemError {
    /// What the file system says of a medium that it cannot mount, whatever its size.
    pub fn unusable(says: impl ToString) -> SystemError {
        SystemError::Unusable { says: says.to_string(), missing_blocks: None }
    }

    /// How many more erase blocks the partition needs; `None`: its size is not what is wrong.
    pub fn missing_blocks(&self) -> Option<u32> {
        match self {
            SystemError::Unusable { missing_blocks, .. } => *missing_blocks,
            _ => None,
        }
    }
}

impl From<Errno> for SystemError {
    fn from(errno: Errno) -> SystemError {
        SystemError::Refused(errno.into())
    }
}

/// UBI is not as the call needs it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UbiState {
    #[error("fs = \"{fs}\" does not work on UBI: leave the step out")]
    Unused { fs: &'static str },
    #[error("UBI is attached already: detach it first")]
    AttachedAlready,
    #[error("UBI is attached to the partition: detach it first (ubi_detach)")]
    Attached,
    #[error("UBI is not attached")]
    NotAttached,
    /// A file system or a volume needs it.
    #[error("UBI is not attached: a step ubi_attach must come before")]
    Needed,
    #[error("UBI has no volume: a step ubi_make_volume makes one")]
    NoVolume,
    #[error(
        "UBI has {} volumes, {}: call the one to mount \"{wanted}\"",
        names.len(),
        names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    )]
    Several { names: Vec<String>, wanted: &'static str },
}

/// An option of a mount that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// Linux knows it, and here it would do nothing.
    #[error("mount option \"{option}\": {why}")]
    NotSimulated { option: String, why: &'static str },
    /// `known`: what the file system has, and where its other settings stand.
    #[error("unknown mount option \"{option}\": {fs} has {known}")]
    Unknown { option: String, fs: &'static str, known: String },
    #[error("a remount changes only the generic options here, not \"{option}\": umount and mount for that")]
    NotOnRemount { option: String },
    #[error("option \"{option}\": {fs} of RTEMS has no option but \"ro\"")]
    OnlyReadOnly { option: String, fs: &'static str },
    /// One of them, as RTEMS reads them: all or none.
    #[error("options {options:?}: {fs} has {known}")]
    OneOf { options: Vec<String>, fs: &'static str, known: &'static str },
    #[error("options \"remount\" and \"sync\" are those of Linux: leave them out")]
    OfLinux,
}
