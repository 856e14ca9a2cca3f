//! Why a description is not one of a machine.

use ffslab_flash::ParseWeakError;
use ffslab_fs::Errno;
use ffslab_images::recognise::arranged::ArrangeError;
use ffslab_images::ImageError;
use ffslab_mtd::{MediumError, PartitionError, RestoreError};
use ffslab_profiles::ProfileError;
use ffslab_rtems::bdbuf::BdbufError;
use ffslab_rtems::UnknownQuirks;
use ffslab_system::SystemError;
use ffslab_text::toml_text::unknown;
use thiserror::Error;

/// One line: what is wrong, where, what would be right.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum MachineError {
    /// A profile that is not there, or that says something impossible.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    // ---- keys of [stack] -----------------------------------------------------------------------------------------
    /// A value that the key cannot have; `value` as it is written in TOML.
    #[error("{key} = {value}: {needed}")]
    Value { key: &'static str, value: String, needed: String },
    #[error("{key} = {value} is too large: at most {most}")]
    TooLarge { key: &'static str, value: u64, most: u64 },
    /// A value that contradicts that of another key.
    #[error("{key} = {value} exceeds {limit} = {most}")]
    Exceeds { key: &'static str, value: u64, limit: &'static str, most: u64 },
    /// A key that means nothing without another one.
    #[error("{key} is set, but not {other}: {hint}")]
    Without { key: &'static str, other: &'static str, hint: &'static str },
    #[error("{key} is set, but there is no image: give one with image = \"FILE\"")]
    WithoutImage { key: &'static str },
    /// A key of other file systems.
    #[error("{key} belongs to {owners}, not to {fs}: leave it out")]
    Foreign { key: &'static str, owners: String, fs: String },
    /// A text in a list of weak blocks or pages.
    #[error("faults.{list}: {why}")]
    Fault { list: &'static str, why: ParseWeakError },
    #[error("faults: {title} has none; leave them out")]
    NoFaults { title: &'static str },
    /// A key about what a medium does not have.
    #[error("{key}: {title} has no {what}; leave it out")]
    Lacks { key: &'static str, title: &'static str, what: &'static str },
    #[error("ageing: {title} does not age here; leave it out")]
    NoAgeing { title: &'static str },
    /// A policy for a decision that nobody takes.
    #[error("policy.{key}: with fs = \"{fs}\" no policy chooses; one does with {owners}")]
    NoDecision { key: &'static str, fs: String, owners: String },
    /// A policy for the page cache of a system that has none.
    #[error("policy.{key}: {system} has no page cache that could decide: leave it out")]
    NoPageCache { key: &'static str, system: &'static str },
    /// A policy that there is not.
    #[error("policy.{key}: {says}")]
    Policy { key: &'static str, says: String },
    /// What is wrong with a `[[stack.mount]]`.
    #[error("mount at \"{at}\": {says}")]
    Mount { at: String, says: String },
    /// Cells of several bits that a kernel, or its file system, does not take.
    #[error("part = \"{part}\": its cells are {cell}: {why}")]
    Mlc { part: String, cell: &'static str, why: &'static str },
    #[error("{title} cannot be divided into partitions: leave [[stack.mount]] out")]
    Undivided { title: &'static str },
    #[error("compression: {fs} has {known}")]
    Compression { fs: &'static str, known: &'static str },
    #[error("{}", unknown_fs(name, known, *elsewhere))]
    UnknownFileSystem {
        name: String,
        known: Vec<&'static str>,
        /// Which other system mounts it, and the value of `system` for that.
        elsewhere: Option<(&'static str, &'static str)>,
    },
    #[error(transparent)]
    Quirks(#[from] UnknownQuirks),
    // ---- the image -----------------------------------------------------------------------------------------------
    /// The file of an image that cannot be read or does not fit.
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error("{path}: {why}")]
    Arrangement { path: String, why: ArrangeError },
    /// A key says otherwise than the image.
    #[error("{path}: {key} = {value}, but its {found}: leave the key out")]
    Contradiction { path: String, key: &'static str, value: &'static str, found: &'static str },
    #[error("{path}: {bytes} B do not fit the device of {device_kib} KiB: raise device_KiB")]
    LargerThanDevice { path: String, bytes: usize, device_kib: usize },
    // ---- the medium ----------------------------------------------------------------------------------------------
    #[error(transparent)]
    Medium(#[from] MediumError),
    #[error("{0}; `partition_blocks` in [stack] makes the partition smaller, `chip_blocks` the chip larger")]
    NotOnChip(PartitionError),
    #[error("a partition of Linux cannot stand on {title}")]
    NotOnLinux { title: &'static str },
    #[error("RTEMS has no driver for {title}")]
    NotOnRtems { title: &'static str },
    /// A kept state that cannot be put back.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error("the state is of another medium")]
    OtherMedium,
    /// A block device that there is not, or that cannot be made or found again.
    #[error("{0}")]
    Device(String),
    // ---- RTEMS ---------------------------------------------------------------------------------------------------
    /// A configuration of the cache that RTEMS refuses.
    #[error(transparent)]
    Cache(#[from] BdbufError),
    /// It does not start.
    #[error("{0}")]
    Start(Errno),
}

impl MachineError {
    /// A number that the key cannot have. `needed` says what would be right.
    pub fn number(key: &'static str, value: impl Into<u64>, needed: impl Into<String>) -> MachineError {
        MachineError::Value { key, value: value.into().to_string(), needed: needed.into() }
    }

    /// The same of a word.
    pub fn word(key: &'static str, value: &str, needed: impl Into<String>) -> MachineError {
        MachineError::Value { key, value: format!("\"{value}\""), needed: needed.into() }
    }
}

/// Where power comes back, and the machine is built anew.
impl From<MachineError> for SystemError {
    fn from(error: MachineError) -> SystemError {
        SystemError::NoStart { says: error.to_string() }
    }
}

/// Why a file system or a medium of another crate cannot join. One line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegisterError {
    #[error("{kind} \"{name}\": a name has small letters, digits and '-'")]
    Name { kind: &'static str, name: &'static str },
    #[error("there is a {kind} \"{name}\" already")]
    Twice { kind: &'static str, name: &'static str },
    #[error("file system \"{fs}\" owns the key {key}, which {table} does not have")]
    Key { fs: &'static str, key: &'static str, table: &'static str },
}

/// An image that can be mounted so only with another value of a key of `[stack]`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("its {found}: set {key} = {value} in [stack]")]
pub struct OtherKey {
    pub found: &'static str,
    pub key: &'static str,
    pub value: &'static str,
}

/// What is wrong with the name of a file system, and what was probably meant.
fn unknown_fs(name: &str, known: &[&str], elsewhere: Option<(&str, &str)>) -> String {
    let small = name.to_lowercase();
    if known.contains(&small.as_str()) {
        return format!("fs \"{name}\": unknown, did you mean \"{small}\"?");
    }
    if name.contains(',') {
        return format!("fs \"{name}\": is one name; an axis `fs = [...]`, or --fs several times, compares");
    }
    if let Some((title, system)) = elsewhere {
        return format!(
            "fs \"{name}\": Linux has none here, {title} has: system = \"{system}\"; on Linux {}",
            known.join(", ")
        );
    }
    unknown("fs", name, known)
}
