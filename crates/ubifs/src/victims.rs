//! Another rule than the kernel's for the LEB to collect.
//!
//! Candidates are the LEBs among which `ubifs_find_dirty_leb` chooses, as far as their properties are in memory: enough space
//! would be gained, there is dirt, nobody has taken them; LEBs of the index only when the index is large enough. Empty LEBs and
//! those without any node need no collecting and are found as ever. The policy is not asked by recovery during a mount, nor
//! after some rounds of one collection without success. `invalid` is dirt and free space together, both are gained. UBIFS does
//! not know when a LEB was written: `age` counts LEBs opened since, from the mount on, and `idle` is `age`. `erases` is UBI's
//! erase counter of the erase block that holds the LEB. `stream` is 1 for LEBs of the index.

use crate::leb::Lebs;
use crate::lprops::Category;
use crate::space::Space;
use crate::Ubifs;
use ffslab_policy::{AgeUnit, CandidateTable, Entry, Room, Victims};

/// The empty table for a victim policy of UBIFS: bytes, and age in LEBs opened.
pub fn victim_table(leb_bytes: u32) -> CandidateTable {
    CandidateTable::new(leb_bytes, Room::Bytes, AgeUnit::BlocksOpened).must_gain()
}

impl Ubifs {
    /// From now on `victims` choose the LEBs to collect: see [`victim_table`].
    pub fn collects_by(&mut self, victims: Victims) {
        self.core.space.opened_at = vec![0; self.core.lebs.geo.main_lebs as usize];
        self.core.space.victims = Some(victims);
    }
}

impl Space {
    /// A LEB is opened for writing.
    pub(crate) fn opens(&mut self, lebs: &Lebs, lnum: u32) {
        if let Some(opened_at) = self.opened_at.get_mut((lnum - lebs.geo.main_first) as usize) {
            self.opened_lebs = self.opened_lebs.wrapping_add(1);
            *opened_at = self.opened_lebs;
        }
    }

    /// The LEB that the policy chooses; `None`: the kernel's rule decides.
    pub(crate) fn victim_by_policy(&self, lebs: &Lebs, min_space: u32, exclude_index: bool) -> Option<u32> {
        let victims = self.victims.as_ref()?;
        let leb_bytes = lebs.geo.leb_bytes;
        let categories = &self.lpt.categories;
        let heaps = [Category::DirtyIndex, Category::Dirty, Category::Free].into_iter();
        let in_memory = heaps
            .flat_map(|category| categories.heap(category).iter().map(|&i| i as usize))
            .chain(categories.list(Category::Uncategorized));
        let fill = |table: &mut CandidateTable| {
            for i in in_memory {
                let lp = &self.lpt.props[i];
                let space = lp.free + lp.dirty;
                let is_index_wanted = !lp.is_index || (!exclude_index && space >= lebs.geo.half_leb());
                let is_worth_it = space >= min_space && lp.dirty >= lebs.geo.dead_wm && space < leb_bytes;
                if lp.is_taken || !is_index_wanted || !is_worth_it {
                    continue;
                }
                let lnum = lebs.geo.lnum_of(i);
                let age = self.opened_lebs.wrapping_sub(self.opened_at[i]).into();
                table.push(Entry {
                    block: lnum,
                    valid: leb_bytes - space,
                    invalid: space,
                    erases: lebs.erases_of(lnum),
                    age,
                    idle: age,
                    stream: lp.is_index.into(),
                });
            }
        };
        victims.choose(fill).unwrap_or_else(|refusal| {
            lebs.sim.give_up(refusal);
            None
        })
    }
}
