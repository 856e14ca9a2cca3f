//! `[[stack.mount]]`: further mounts of a machine, beside the one that `[stack]` is.

use crate::error::MachineError;
use ffslab_text::Bytes;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};

/// Keys of `[stack]` that are about the machine; a mount has those of its machine.
const OF_MACHINE: &[&str] = &[
    "board",
    "kernel",
    "part",
    "chip",
    "chip_blocks",
    "medium",
    "faults",
    "ageing",
    "ecc",
    "ecc_strength_bits",
    "bitflip_threshold_bits",
    "slc_mode",
    "nand_wait",
    "bad_block_table",
    "smp",
    "word_bits",
    "memory_KiB",
    "hz",
    "uptime_us",
    "wall_clock_us",
    "traced",
    "clock_read_ns",
    "mount",
];

/// `fs` of a mount that is laid over others, and has no partition of its own.
pub(super) const OVERLAYFS: &str = "overlayfs";

/// More mounts than this are taken to be a mistake.
const MOUNTS_MAX: usize = 8;

/// A file system beside that of `[stack]`: on a partition of its own behind it on the same chip (`partition_blocks`), or on
/// a volume of the same UBI (`volume_B`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MountKeys {
    /// The directory at which programs see it: "/data".
    pub at: String,
    /// Size of the volume; absent: it is a partition.
    #[serde(rename = "volume_B", skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<u64>,
    /// Options of mount(8), as in `/etc/fstab`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// All other keys: those of `[stack]` that are not about the machine.
    #[serde(flatten)]
    pub(super) own: Table,
}

impl<'de> Deserialize<'de> for MountKeys {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<MountKeys, D::Error> {
        #[derive(Deserialize)]
        struct Known {
            at: String,
            #[serde(rename = "volume_B")]
            volume_bytes: Option<Bytes>,
            #[serde(default)]
            options: Vec<String>,
            #[serde(flatten)]
            own: Table,
        }
        let Known { at, volume_bytes, options, own } = Known::deserialize(from)?;
        let keys = MountKeys { at, volume_bytes: volume_bytes.map(|bytes| bytes.0), options, own };
        keys.check().map_err(Error::custom)?;
        Ok(keys)
    }
}

impl MountKeys {
    /// The directory without slashes around it.
    pub fn directory(&self) -> &str {
        self.at.trim_matches('/')
    }

    /// The text of one of the keys of `[stack]`.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.own.get(key).and_then(Value::as_str)
    }

    /// The path of the image that the partition holds at the start.
    pub fn image_mut(&mut self) -> Option<&mut String> {
        match self.own.get_mut("image") {
            Some(Value::String(image)) => Some(image),
            _ => None,
        }
    }

    /// Finds what is wrong with the table by itself.
    fn check(&self) -> Result<(), String> {
        let at = &self.at;
        if self.is_overlay() {
            return self.check_overlay();
        }
        if !self.is_below_root() {
            return Err(format!("at = \"{at}\": a directory below / is needed, such as \"/data\""));
        }
        if let Some(key) = OF_MACHINE.iter().find(|key| self.own.contains_key(**key)) {
            return Err(format!("mount at \"{at}\": {key} belongs to the machine: set it in [stack]"));
        }
        let has_blocks = self.own.contains_key("partition_blocks");
        match (self.volume_bytes, has_blocks) {
            (None, false) => Err(format!(
                "mount at \"{at}\": its size is missing: partition_blocks for a partition of its own, or volume_B for a \
                 volume of the UBI of [stack]"
            )),
            (Some(_), true) => Err(format!("mount at \"{at}\": partition_blocks and volume_B exclude each other")),
            (Some(0), _) => Err(format!("mount at \"{at}\": volume_B = 0: a volume has bytes, such as \"8 MiB\"")),
            _ => Ok(()),
        }
    }

    fn is_below_root(&self) -> bool {
        let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
        self.at.starts_with('/') && self.directory().split('/').all(is_part)
    }

    /// Whether it is laid over other mounts.
    pub fn is_overlay(&self) -> bool {
        self.text("fs") == Some(OVERLAYFS)
    }

    /// An overlay may also cover the root.
    fn check_overlay(&self) -> Result<(), String> {
        let at = &self.at;
        if at != "/" && !self.is_below_root() {
            return Err(format!("at = \"{at}\": a directory is needed, such as \"/\" or \"/merged\""));
        }
        let other = self.own.keys().find(|key| *key != "fs").map(String::as_str);
        if let Some(key) = self.volume_bytes.map(|_| "volume_B").or(other) {
            return Err(format!(
                "mount at \"{at}\": {key}: an overlay has the data of its lower and upper mounts: set it there"
            ));
        }
        ffslab_overlayfs::Options::of(&self.options).map(drop).map_err(|says| format!("mount at \"{at}\": {says}"))
    }

    /// Whether a key of `[stack]` is about the machine, and not about one mount.
    pub(super) fn is_of_machine(key: &str) -> bool {
        OF_MACHINE.contains(&key)
    }
}

/// Finds mounts that contradict each other.
///
/// Errors: too many, two at one place.
pub(super) fn check_all(mounts: &[MountKeys]) -> Result<(), MachineError> {
    let wrong = |mount: &MountKeys, says: String| Err(MachineError::Mount { at: mount.at.clone(), says });
    if let Some(mount) = mounts.get(MOUNTS_MAX) {
        return wrong(mount, format!("{MOUNTS_MAX} mounts beside that of [stack] are the limit"));
    }
    for (i, mount) in mounts.iter().enumerate() {
        if mounts[..i].iter().any(|earlier| earlier.directory() == mount.directory()) {
            return wrong(mount, "another mount is there already: give it another directory".to_string());
        }
    }
    Ok(())
}
