//! Another rule than the kernel's for the block to collect.
//!
//! Candidates are the blocks on the lists from which `jffs2_find_gc_block` draws, if something in them is obsolete. A bad
//! block with live data comes before all of them, as in the kernel. JFFS2 knows neither the erases of a block nor when it was
//! written: the first are the chip's own count, the second is counted from the mount on, in blocks opened. When something in a
//! block became obsolete is not recorded, so `idle` is `age`.

use crate::blocks::List;
use crate::Jffs2;
use ffslab_policy::{AgeUnit, CandidateTable, Entry, Room};

/// The empty table for a victim policy of JFFS2: bytes, and age in blocks opened.
pub fn victim_table(block_bytes: u32) -> CandidateTable {
    CandidateTable::new(block_bytes, Room::Bytes, AgeUnit::BlocksOpened).must_gain()
}

/// The lists from which a block to collect is drawn.
const DRAWN_FROM: [List; 4] = [List::Erasable, List::VeryDirty, List::Dirty, List::Clean];

impl Jffs2 {
    /// The block that the policy chooses; `None`: the lot decides.
    pub(crate) fn victim_by_policy(&self) -> Option<u32> {
        let victims = self.victims.as_ref()?;
        let blocks = &self.store.space.blocks;
        if !blocks.is_empty(List::BadUsed) && self.store.space.free_blocks() > 0 {
            return None;
        }
        let erases = self.store.flash.mtd.erase_counts();
        let fill = |table: &mut CandidateTable| {
            for number in (0..blocks.count()).filter(|number| DRAWN_FROM.contains(&blocks[*number].list())) {
                let block = &blocks[number];
                let age = blocks.age_blocks(number).into();
                table.push(Entry {
                    block: number,
                    valid: block.used_bytes() + block.unchecked_bytes(),
                    invalid: block.dirty_bytes() + block.wasted_bytes(),
                    erases: erases.get(number as usize).copied().unwrap_or(0),
                    age,
                    idle: age,
                    stream: 0,
                });
            }
        };
        victims.choose(fill).unwrap_or_else(|refusal| {
            self.store.flash.sim.give_up(refusal);
            None
        })
    }
}
