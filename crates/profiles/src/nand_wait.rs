//! How tasks wait for the chip, as profiles and experiments say it.

use ffslab_sim::NandWait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a task does while the chip works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NandWaitName {
    /// It holds the CPU.
    Busy,
    /// It holds the CPU, but asks with each poll of a program or an erase whether another task shall run (`cond_resched`, as in
    /// `omap_wait` of `drivers/mtd/nand/omap2.c`).
    Resched,
    /// It sleeps; other tasks run.
    Sleep,
}

impl From<NandWaitName> for NandWait {
    fn from(name: NandWaitName) -> NandWait {
        match name {
            NandWaitName::Busy | NandWaitName::Resched => NandWait::Busy,
            NandWaitName::Sleep => NandWait::Sleep,
        }
    }
}
