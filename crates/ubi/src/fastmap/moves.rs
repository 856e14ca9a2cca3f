//! Moving data with a fastmap: only to blocks of a pool, and also to get a block in which the next anchor can stand.
//!
//! Follows Linux 6.1.192 `drivers/mtd/ubi/wl.c` (`wear_leveling_worker`) and `fastmap-wl.c` (`need_wear_leveling`,
//! `next_peb_for_wl`, `get_peb_for_wl`).

use super::pools::best_anchor;
use crate::device::Device;
use crate::wear::{Place, Wear};

impl Wear {
    /// Whether data should move for wear: a block of the pool or a free one is so much more worn.
    pub fn wants_a_move_with_fastmap(&self) -> bool {
        let (Some(from), Some(fastmap)) = (self.used.first(), &self.fastmap) else { return false };
        let ready = fastmap.wl_pool.next();
        let worn = ready.into_iter().chain(self.worn_free()).map(|peb| self.erases[peb as usize]).max();
        worn.is_some_and(|worn| self.leads(worn, from))
    }

    fn leads(&self, erases: u32, from: u32) -> bool {
        i64::from(erases) - i64::from(self.erases[from as usize]) >= i64::from(self.threshold_erases)
    }
}

impl Device {
    /// From where to where data move now, and whether they do because of bit flips. Both blocks are taken out of their places.
    pub fn move_with_fastmap(&mut self) -> Option<(u32, u32, bool)> {
        let fastmap = self.wear.fastmap.as_ref()?;
        if fastmap.wl_pool.is_used_up() {
            self.want_fastmap();
            return None;
        }
        if self.wear.used.is_empty() && self.wear.scrub.is_empty() {
            return None;
        }
        let beneath_anchor = best_anchor(&self.wear.used);
        let anchor = fastmap.anchor_number;
        let is_worn = |(anchor, used): (u32, u32)| self.wear.leads(self.wear.erases[anchor as usize], used);
        if let Some(anchor) = anchor.filter(|&anchor| beneath_anchor.is_some_and(|used| is_worn((anchor, used)))) {
            self.wear.put(anchor, Place::Free);
            let fastmap = self.wear.fastmap.as_mut()?;
            fastmap.anchor_number = None;
            fastmap.produces_anchor = true;
        }
        let fastmap = self.wear.fastmap.as_mut()?;
        let (from, to, scrubbing) = if fastmap.produces_anchor {
            let from = beneath_anchor?;
            let to = fastmap.wl_pool.take()?;
            fastmap.produces_anchor = false;
            (from, to, false)
        } else if let Some(from) = self.wear.scrub.first() {
            (from, fastmap.wl_pool.take()?, true)
        } else {
            let from = self.wear.used.first()?;
            let to = fastmap.wl_pool.take()?;
            if !self.wear.leads(self.wear.erases[to as usize], from) {
                // It is given back, and the pool is the smaller for it.
                self.wear.put(to, Place::Free);
                return None;
            }
            (from, to, false)
        };
        self.wear.take(from);
        self.wear.take(to);
        Some((from, to, scrubbing))
    }

    /// Whether the partition was attached by a fastmap, so that an erase that was interrupted before is found only now.
    pub fn attached_by_fastmap(&self) -> bool {
        self.wear.fastmap.as_ref().is_some_and(|fastmap| fastmap.attached_by_it)
    }
}
