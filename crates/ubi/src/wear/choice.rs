//! Which free block is handed out next, and which data move only to level wear: the kernel's rules (`find_mean_wl_entry`,
//! `find_wl_entry` and `wear_leveling_worker` of `drivers/mtd/ubi/wl.c`), unless others stand in for them.

use ffslab_policy::{FreePool, Leveller, Refusal, Wears};

use super::{Place, Wear};
use crate::options::DataLife;

impl Wear {
    /// Why an answer of a rule that stands in for the kernel's was refused, if one was.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let of_free = self.free_rule.as_ref().and_then(FreePool::refusal);
        of_free.or_else(|| self.leveller.as_ref().and_then(Leveller::refusal))
    }

    /// The free block for new data that are expected to live so long.
    pub(super) fn next_free(&mut self, life: DataLife) -> Option<u32> {
        if let Some(rule) = &mut self.free_rule {
            return rule.look_at_next();
        }
        match if self.asks_data_life { life } else { DataLife::Unknown } {
            DataLife::Short => self.free.first(),
            DataLife::Unknown => self.medium_free(),
            DataLife::Long => self.worn_free(),
        }
    }

    /// Whether data should move for wear.
    pub(super) fn wants_a_move(&mut self) -> bool {
        let Some(leveller) = &mut self.leveller else {
            if self.fastmap.is_some() {
                return self.wants_a_move_with_fastmap();
            }
            let (Some(from), Some(to)) = (self.used.first(), self.worn_free()) else { return false };
            return self.should_move(from, to);
        };
        let places = &self.places;
        if leveller.is_due() {
            self.chosen_by_rule = leveller.choose(&self.erases, |peb| match places[peb as usize] {
                Place::Used => Wears::Closed,
                Place::Nowhere => Wears::NoLonger,
                _ => Wears::Now,
            });
        }
        self.chosen_by_rule.is_some()
    }

    /// From where to where data move for wear; `None`: nowhere, as things are now.
    pub fn levelling_move(&mut self) -> Option<(u32, u32)> {
        if self.leveller.is_some() {
            let from = self.chosen_by_rule.take().filter(|&peb| self.places[peb as usize] == Place::Used)?;
            return Some((from, self.free.last()?));
        }
        let (from, to) = (self.used.first()?, self.worn_free()?);
        if !self.should_move(from, to) {
            // The kernel takes the block out of its tree before it looks, and the tree's shape decides what is handed out next.
            self.take(to);
            self.put(to, Place::Free);
            return None;
        }
        Some((from, to))
    }

    /// Chooses the free block for new data (`find_mean_wl_entry`): the root of the tree, which has medium wear, unless
    /// the erase counters differ too much.
    pub fn medium_free(&self) -> Option<u32> {
        let (first, last) = (self.free.first()?, self.free.last()?);
        if self.free.erases(last) - self.free.erases(first) < 2 * self.threshold_erases {
            self.root_beside_anchors()
        } else {
            self.free.below(self.threshold_erases)
        }
    }

    /// A free block with many erases, as a target for data from a block with few erases.
    pub fn worn_free(&self) -> Option<u32> {
        self.free.below(2 * self.threshold_erases)
    }

    /// Whether the erase counter of `to` exceeds that of `from` by so much that data should move.
    fn should_move(&self, from: u32, to: u32) -> bool {
        let (from, to) = (self.erases[from as usize], self.erases[to as usize]);
        to >= from.saturating_add(self.threshold_erases)
    }
}
