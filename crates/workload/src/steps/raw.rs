//! The step that works on the partition itself, below every file system.

use super::about::nonzero;
use super::error::StepError;
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
