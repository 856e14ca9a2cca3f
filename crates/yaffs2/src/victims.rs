//! Another rule than YAFFS2's own for the block to collect.
//!
//! When garbage collection is worth its cost stays YAFFS2's decision: candidates are the full blocks with at most as many live
//! chunks as it accepts at this urgency, and which of them is taken is the policy's choice. Prioritised blocks, the oldest
//! dirty block after many fruitless calls and the refreshed block come as ever. The age of a block is that of its sequence
//! number, in blocks opened since, also before the mount. When a chunk became obsolete is not recorded, so `idle` is `age`. Erases are the chip's own count.

use crate::blocks::BlockState;
use crate::device::Device;
use crate::Yaffs2;
use ffslab_policy::{AgeUnit, CandidateTable, Entry, Room, Victims};

/// The empty table for a victim policy of YAFFS2: pages (chunks), and age in blocks opened.
pub fn victim_table(pages_per_block: u32) -> CandidateTable {
    CandidateTable::new(pages_per_block, Room::Pages, AgeUnit::BlocksOpened).must_gain()
}

impl Yaffs2 {
    /// From now on `victims` choose the blocks to collect: see [`victim_table`].
    pub fn collects_by(&mut self, victims: Victims) {
        self.device.chunks.gc.victims = Some(victims);
    }
}

impl Device {
    /// The block that the policy chooses among those with at most so many live chunks; `None`: the own search decides.
    pub(crate) fn victim_by_policy(&mut self, live_most: i32) -> Option<u32> {
        let victims = self.chunks.gc.victims.clone()?;
        let erases = self.chunks.medium.mtd().erase_counts();
        let fill = |table: &mut CandidateTable| {
            for block in self.chunks.blocks.all() {
                let info = *self.chunks.blocks.info(block);
                let live = info.live();
                let is_wanted = info.state == BlockState::Full && (0..=live_most).contains(&live);
                if !is_wanted || !self.chunks.blocks.may_be_collected(block) {
                    continue;
                }
                let first = self.chunks.blocks.first();
                let age = self.chunks.blocks.sequence.wrapping_sub(info.sequence).into();
                table.push(Entry {
                    block,
                    valid: live as u32,
                    invalid: self.chunks.blocks.chunks_per_block - live as u32,
                    erases: erases.get((block - first) as usize).copied().unwrap_or(0),
                    age,
                    idle: age,
                    stream: 0,
                });
            }
        };
        victims.choose(fill).unwrap_or_else(|refusal| {
            self.chunks.sim.give_up(refusal);
            None
        })
    }
}
