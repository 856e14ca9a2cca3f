//! What is known of the space: how full each LEB of the main area is, which LEBs are kept back, and what is promised.
//!
//! Choosing LEBs (`find`), their properties (`lprops`, `lpt`) and promises of room (`budget`) change this part and read
//! and write flash; they know neither journal nor index.

use crate::budget::Budget;
use crate::error::{Fail, Res};
use crate::format::align8;
use crate::leb::Lebs;
use crate::lprops::{Category, Change, Lprops, Stats};
use crate::lpt::Lpt;
use ffslab_policy::Victims;

/// Limit for the dirty bytes of a LEB. It is far more than a LEB holds, so only a damaged medium reaches it.
const DIRTY_MAX: u32 = 1 << 30;

/// A LEB of the index whose index nodes are all marked as changed: the commit that writes them elsewhere frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdxGc {
    pub lnum: u32,
    /// The commit that is running frees this LEB, so it is unmapped at the end of that commit.
    pub unmap: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Space {
    pub lpt: Lpt,
    pub budget: Budget,
    /// The empty LEB that is kept in reserve for garbage collection.
    pub gc_lnum: Option<u32>,
    /// LEBs of the index that garbage collection has emptied and a commit frees; the latest stands first.
    pub idx_gc: Vec<IdxGc>,
    /// How many LEBs of the index are empty in memory while the index on flash still uses them.
    pub idx_gc_cnt: i64,
    /// LEBs of the index as the last commit left them, the dirtiest last.
    pub dirty_idx_lebs: Vec<u32>,
    /// Who chooses the LEB to collect in place of the heaps.
    pub victims: Option<Victims>,
    /// When each LEB of the main area was opened for writing, counted in LEBs that this mount has opened; empty without a
    /// policy.
    pub opened_at: Vec<u32>,
    pub opened_lebs: u32,
    /// Working memory: a node of the LPT.
    pub node_buffer: Vec<u8>,
}

impl Space {
    /// Takes the LEB that is kept in reserve for garbage collection, and makes sure that it is empty.
    pub fn take_gc_leb(&mut self, lebs: &Lebs) -> Res<()> {
        let Some(lnum) = self.gc_lnum else { return Ok(()) };
        let free = Some(lebs.geo.leb_bytes);
        let change = Change { free, dirty: Some(0), taken: Some(true), ..Change::default() };
        self.change_lp(lebs, lnum, change).map(drop)
    }

    pub fn check_free_space(&self, lebs: &Lebs) -> Res<()> {
        let stats = &self.lpt.stats;
        if stats.total_free + stats.total_dirty < i64::from(lebs.geo.dark_wm) {
            return Err(Fail::Errno(ffslab_fs::Errno::NoSpc));
        }
        Ok(())
    }

    // ---- properties of LEBs (`fs/ubifs/lprops.c`) ----------------------------------------------------------------

    /// An uncategorized LEB enters the category that it belongs to (`ubifs_ensure_cat`).
    pub fn ensure_category(&mut self, lebs: &Lebs, i: usize) {
        if self.lpt.props[i].category == Category::Uncategorized {
            let category = self.lpt.props[i].categorize(&lebs.geo);
            if category != Category::Uncategorized {
                self.lpt.categories.remove(&mut self.lpt.props, i);
                self.lpt.categories.add(&mut self.lpt.props, i, category);
            }
        }
    }

    /// Changes properties and all sums that depend on them (`ubifs_change_lp`).
    pub fn change_lp(&mut self, lebs: &Lebs, lnum: u32, change: Change) -> Res<usize> {
        let i = self.lpt_lookup_dirty(lebs, lnum)?;
        let geo = &lebs.geo;
        let stats = &mut self.lpt.stats;
        let lp = &mut self.lpt.props[i];
        let leb = geo.leb_bytes;
        if lp.is_taken && lp.free == leb {
            stats.taken_empty_lebs -= 1;
        }
        if !lp.is_index {
            let space = lp.free + lp.dirty;
            if space < geo.dead_wm {
                stats.total_dead -= i64::from(space);
            } else {
                stats.total_dark -= i64::from(geo.dark(space));
            }
            stats.total_used -= i64::from(leb) - i64::from(space);
        }
        if let Some(free) = change.free {
            let free = align8(free).min(leb);
            stats.total_free += i64::from(free) - i64::from(lp.free);
            stats.empty_lebs += i64::from(free == leb) - i64::from(lp.free == leb);
            lp.free = free;
        }
        if let Some(dirty) = change.dirty {
            // During replay a LEB may have dirt in what still counts as free.
            let dirty = align8(dirty);
            stats.total_dirty += i64::from(dirty) - i64::from(lp.dirty);
            lp.dirty = dirty;
        }
        if let Some(index) = change.index {
            stats.idx_lebs += i64::from(index) - i64::from(lp.is_index);
            lp.is_index = index;
        }
        if let Some(taken) = change.taken {
            lp.is_taken = taken;
        }
        if !lp.is_index {
            let space = lp.free + lp.dirty;
            if space < geo.dead_wm {
                stats.total_dead += i64::from(space);
            } else {
                stats.total_dark += i64::from(geo.dark(space));
            }
            stats.total_used += i64::from(leb) - i64::from(space);
        }
        if lp.is_taken && lp.free == leb {
            stats.taken_empty_lebs += 1;
        }
        self.lpt.categories.recategorize(&mut self.lpt.props, geo, i);
        self.idx_gc_cnt += change.idx_gc;
        Ok(i)
    }

    /// The sums over the LEBs whose properties are in memory.
    pub fn sums_in_memory(&self, lebs: &Lebs) -> Stats {
        let mut sums = Stats::default();
        for lp in self.lpt.props.iter().take(lebs.geo.main_lebs as usize) {
            sums.count(&lebs.geo, lp);
        }
        sums
    }

    /// Own contradictions: once all properties are in memory, the sums may differ from them by what the medium said
    /// wrongly at the mount, and by that for good. Called at each commit, in builds with debug assertions.
    pub fn audit_sums(&mut self, lebs: &Lebs) {
        if !self.lpt.is_complete() {
            return;
        }
        let gap = self.lpt.stats.minus(&self.sums_in_memory(lebs));
        let known = *self.lpt.gap.get_or_insert(gap);
        debug_assert_eq!(gap, known, "sums over LEBs and properties of LEBs changed apart from each other");
    }

    /// Counts bytes of a LEB as dirt, because the node in them is obsolete.
    pub fn add_dirt(&mut self, lebs: &Lebs, lnum: u32, bytes: u32) -> Res<()> {
        self.update_lp(lebs, lnum, None, bytes, Change::default())
    }

    /// Sets free space and adds dirt (`ubifs_update_one_lp`).
    pub fn update_lp(&mut self, lebs: &Lebs, lnum: u32, free: Option<u32>, dirt: u32, change: Change) -> Res<()> {
        let i = self.lpt_lookup_dirty(lebs, lnum)?;
        let dirty = self.lpt.props[i].dirty.saturating_add(dirt).min(DIRTY_MAX);
        self.change_lp(lebs, lnum, Change { free, dirty: Some(dirty), ..change })?;
        Ok(())
    }

    /// Gives a taken LEB back: nobody uses it any more (`ubifs_return_leb`).
    pub fn return_leb(&mut self, lebs: &Lebs, lnum: u32) -> Res<()> {
        self.change_lp(lebs, lnum, Change { taken: Some(false), ..Change::default() })?;
        Ok(())
    }

    pub fn read_lp(&mut self, lebs: &Lebs, lnum: u32) -> Res<Lprops> {
        let i = self.lpt_lookup(lebs, lnum)?;
        Ok(self.lpt.props[i])
    }
}
