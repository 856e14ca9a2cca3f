//! How the erase blocks of a partition are distributed, for messages when there are too few of them.

use crate::attach::WORKING_PEBS;
use crate::device::Device;
use crate::media::LAYOUT_LEBS;
use std::fmt;

/// The distribution of the erase blocks. The other fields but the last add up to `pebs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub pebs: u32,
    pub volume_table_pebs: u32,
    /// Blocks for moving data and for the atomic change of a LEB.
    pub working_pebs: u32,
    /// Kept for two fastmaps.
    pub fastmap_pebs: u32,
    /// Kept to replace blocks that go bad.
    pub bad_reserve_pebs: u32,
    pub bad_pebs: u32,
    /// Blocks that are left alone, because they are corrupted or belong to an unknown internal volume.
    pub kept_pebs: u32,
    pub volume_pebs: u32,
    pub available_pebs: u32,
    /// What the reserve for bad blocks lacks: it takes what comes before volumes do.
    pub bad_reserve_lacks_pebs: u32,
}

impl Device {
    /// Blocks that are kept for the fastmap in use and the one that takes its place (`ubi_fastmap_init` of `wl.h`).
    pub fn fastmap_pebs(&self) -> u32 {
        self.wear.fastmap.as_ref().map_or(0, |fastmap| 2 * fastmap.blocks)
    }

    pub fn room(&self) -> Room {
        let space = &self.space;
        let own = LAYOUT_LEBS + WORKING_PEBS + self.fastmap_pebs() + space.bad_reserve_pebs;
        let pebs = self.io.layout.pebs;
        Room {
            pebs,
            volume_table_pebs: LAYOUT_LEBS,
            working_pebs: WORKING_PEBS,
            fastmap_pebs: self.fastmap_pebs(),
            bad_reserve_pebs: space.bad_reserve_pebs,
            bad_pebs: space.bad_pebs,
            kept_pebs: space.kept_pebs,
            volume_pebs: space.reserved_pebs.saturating_sub(own),
            available_pebs: space.available_pebs,
            bad_reserve_lacks_pebs: space.bad_reserve_level_pebs.saturating_sub(space.bad_reserve_pebs),
        }
    }
}

impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Room { pebs, volume_table_pebs, working_pebs, bad_reserve_pebs, .. } = self;
        write!(
            f,
            "of {pebs} erase blocks, {volume_table_pebs} hold the volume table, {working_pebs} are kept for moving data, \
             {bad_reserve_pebs} for blocks that go bad"
        )?;
        for (count, what) in [
            (self.fastmap_pebs, "for two fastmaps"),
            (self.bad_pebs, "are bad"),
            (self.kept_pebs, "are not UBI's"),
            (self.volume_pebs, "belong to volumes"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        write!(f, ", {} are available", self.available_pebs)
    }
}
