//! The steps below every file system: that which works on the partition itself, and those of which a boot consists beside attach and
//! mount.

use super::checks::{nonzero, request_size};
use super::error::StepError;
use super::{default_request, is_default};
use crate::calls::Runs;
use ffslab_text::quantity::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

step_keys! {
    /// A loop of operations on the partition at the level of the driver, like that of a kernel module that measures MTD
    /// calls: whole pages or erase blocks, one after the other. Nothing may be mounted. Bad blocks are skipped.
    MtdLoop {
        /// What is done again and again.
        op: MtdOp,
        /// Number of operations.
        count: u64,
        /// The page (`read`, `program`) or erase block (`erase`) of the partition at which the loop begins.
        #[serde(default)]
        first: u64,
    }
}

words! {
    /// Operations of `mtd_loop`.
    MtdOp {
        /// Reads pages; after the last one of the partition it goes on with the first.
        Read = "read",
        /// Programs pages with new content; they must be erased, and the partition must hold them all.
        Program = "program",
        /// Erases blocks; after the last one of the partition it goes on with the first.
        Erase = "erase",
    }
}

impl MtdLoop {
    /// Errors: a loop without operations.
    pub(super) fn check(&self) -> Result<(), StepError> {
        nonzero("count", self.count)
    }
}

step_keys! {
    /// A stage of the boot begins, to which the steps up to the next one belong: the results tell of each how long it took and what it
    /// read. When another program runs than before, everything in memory is gone, so the first stage of a boot loader is the power on.
    Stage {
        /// What the stage is called: "SPL", "attach".
        name: String,
        /// Whose code runs from here on.
        #[serde(default, skip_serializing_if = "is_default")]
        runs: Runs,
        /// Whether the UBI of a boot loader knows the fastmap, which it deletes if not; absent: as that of the kernel.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fastmap: Option<bool>,
    }
    /// Reads pages of the chip itself, one after the other, as an SPL reads its second part, and U-Boot an environment or what `nand read`
    /// is told: bad blocks are passed over. Nothing may be mounted.
    ReadRaw {
        /// The erase block of the chip, not of the partition, at which it begins.
        first_block: u32,
        /// How much is read, rounded up to whole pages.
        bytes: Bytes,
    }
    /// Reads a volume of the UBI that is attached, from its begin, as `ubi read` of U-Boot does: erase block by erase block, and no check
    /// sum of a static volume is looked at.
    UbiRead {
        /// Name of the volume.
        volume: String,
        /// How much is read; absent: all that the volume holds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Bytes>,
    }
    /// Opens, reads from begin to end and closes files, one after the other: a list of those that are read when a system starts, or what
    /// `ubifsload` of U-Boot loads.
    ReadFiles {
        /// Paths of the files, relative to the mount point, in the order in which they are read.
        files: Vec<String>,
        /// Bytes of one read.
        #[serde(rename = "request_B", default = "default_request")]
        request_bytes: Bytes,
    }
}

impl Stage {
    /// Errors: a stage without a name, a kernel that would have two configurations.
    pub(super) fn check(&self) -> Result<(), StepError> {
        if self.name.trim().is_empty() {
            return Err(StepError::NoStageName);
        }
        if self.runs == Runs::Linux && self.fastmap.is_some() {
            return Err(StepError::FastmapOfKernel);
        }
        Ok(())
    }
}

impl ReadRaw {
    /// Errors: nothing is read.
    pub(super) fn check(&self) -> Result<(), StepError> {
        nonzero("bytes", self.bytes.0)
    }
}

impl UbiRead {
    /// Errors: nothing is read.
    pub(super) fn check(&self) -> Result<(), StepError> {
        self.bytes.map_or(Ok(()), |bytes| nonzero("bytes", bytes.0))
    }
}

impl ReadFiles {
    /// Errors: no files; requests that are too large.
    pub(super) fn check(&self) -> Result<(), StepError> {
        if self.files.is_empty() {
            return Err(StepError::NoFiles);
        }
        request_size("request_B", self.request_bytes)
    }

    /// For messages: the first file, and how many there are.
    pub(super) fn title(&self) -> String {
        match self.files.as_slice() {
            [] => "read_files".to_string(),
            [only] => format!("read_files \"{only}\""),
            [first, rest @ ..] => format!("read_files \"{first}\" and {} more", rest.len()),
        }
    }
}
