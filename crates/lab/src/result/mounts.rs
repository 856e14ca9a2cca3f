//! What was done on each of several mounts.

use crate::run::Outcome;
use ffslab_system::MountDone;
use schemars::JsonSchema;
use serde::Serialize;

use super::MeanSd;

/// One of several mounts of the machine; the root is the first one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MountSummary {
    /// Its directory: "/", "/data".
    pub at: String,
    pub fs: String,
    /// Size of the partition or volume.
    #[serde(rename = "size_B")]
    pub size_bytes: u64,
    /// First erase block of the partition on the chip. Null: it is a volume on the UBI of another mount, whose row counts the
    /// programs and erases of both.
    pub first_block: Option<u32>,
    /// Erase blocks of the partition.
    pub blocks: Option<u32>,
    /// What programs read and wrote here.
    #[serde(rename = "user_read_B")]
    pub user_read_bytes: u64,
    #[serde(rename = "user_written_B")]
    pub user_written_bytes: u64,
    /// Pages programmed on the partition, by whomever.
    pub page_programs: Option<u64>,
    /// Bytes of these pages, divided by the bytes that programs wrote here; null: they wrote none, or the partition is
    /// shared.
    pub write_amplification: Option<f64>,
    /// Erases on the partition, not counting those of formatting.
    pub erases: Option<u64>,
    pub erases_per_block: Option<MeanSd>,
    /// Free at the end; null: not mounted then.
    #[serde(rename = "free_B")]
    pub free_bytes: Option<u64>,
}

impl MountSummary {
    pub(super) fn all(outcome: &Outcome, page_bytes: u64) -> Vec<MountSummary> {
        outcome.mounts.iter().map(|mount| MountSummary::of(mount, page_bytes)).collect()
    }

    fn of(mount: &MountDone, page_bytes: u64) -> MountSummary {
        let erases = mount.blocks.is_some().then_some(&mount.erases);
        let own = mount.page_programs.filter(|_| mount.written_bytes > 0 && !mount.is_shared);
        MountSummary {
            at: mount.at.clone(),
            fs: mount.fs.to_string(),
            size_bytes: mount.bytes,
            first_block: mount.blocks.as_ref().map(|blocks| blocks.start),
            blocks: mount.blocks.as_ref().map(|blocks| blocks.end - blocks.start),
            user_read_bytes: mount.read_bytes,
            user_written_bytes: mount.written_bytes,
            page_programs: mount.page_programs,
            write_amplification: own.map(|pages| (pages * page_bytes) as f64 / mount.written_bytes as f64),
            erases: erases.map(|erases| erases.iter().map(|&count| u64::from(count)).sum()),
            erases_per_block: erases.map(|erases| MeanSd::of(erases)),
            free_bytes: mount.free_bytes,
        }
    }
}
