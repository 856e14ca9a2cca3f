//! Room on flash for what becomes dirty in memory: a budget is granted before a page or an inode may become dirty.
//!
//! Follows `fs/ubifs/budget.c`. How much compression saves and how much space garbage collection frees is not known in
//! advance, so the worst case is assumed. When the worst case does not fit, dirty pages are written back, garbage is
//! collected, and a commit is run.

use crate::budget::{Growth, Request};
use crate::core::Core;
use crate::error::{Fail, Res, NO_SPACE};
use crate::format::*;
use crate::geometry::Geometry;
use crate::inode::Inode;
use crate::leb::Lebs;
use crate::space::Space;
use crate::Ubifs;
use ffslab_fs::{Errno, Host, Result};

const RETRIES_MAX: u32 = 3;
/// Pages that are written back at a time.
const WRITE_BACK_PAGES: u64 = 16;
const INDEX_LEBS_MIN: i64 = 2;

impl Space {
    /// LEBs that the index needs: three times its size, because it is written anew as a whole in the worst case.
    pub fn calc_min_idx_lebs(&self, lebs: &Lebs) -> i64 {
        let budget = &self.budget;
        let bytes = 3 * (budget.old_idx_bytes + budget.growth.idx + budget.uncommitted_idx);
        let leb = i64::from(lebs.geo.idx_leb_bytes).max(1);
        ((bytes + leb - 1) / leb + 1).max(INDEX_LEBS_MIN)
    }

    fn calc_available(&self, lebs: &Lebs, min_idx_lebs: i64) -> i64 {
        let stats = &self.lpt.stats;
        // Beside the LEBs of the index these are kept: one for garbage collection, one for each journal head, and one
        // for deletions.
        let reserved = min_idx_lebs + 1 + i64::from(lebs.geo.kept_for_heads_lebs) + 1;
        let mut available = lebs.geo.main_bytes() - stats.total_used;
        available -= reserved * i64::from(lebs.geo.leb_bytes);
        available -= stats.total_dead + stats.total_dark;
        if stats.idx_lebs > min_idx_lebs {
            available -= (stats.idx_lebs - min_idx_lebs) * i64::from(lebs.geo.dark_wm);
        }
        available.max(0)
    }

    /// Whether everything that has a budget now would still fit on flash in the worst case.
    fn fits(&mut self, lebs: &Lebs) -> bool {
        let min_idx_lebs = self.calc_min_idx_lebs(lebs);
        if !self.has_spare_lebs(min_idx_lebs) {
            return false;
        }
        let outstanding = self.budget.growth.data + self.budget.growth.dirty;
        if self.calc_available(lebs, min_idx_lebs) < outstanding {
            return false;
        }
        self.budget.min_idx_lebs = min_idx_lebs;
        true
    }

    fn try_budget(&mut self, lebs: &Lebs, growth: Growth) -> bool {
        self.budget.growth.add(growth);
        let fits = self.fits(lebs);
        if !fits {
            self.budget.growth.subtract(growth);
        }
        fits
    }

    /// Gives back a budget: what it was for has been written, or was never made dirty.
    pub fn release_budget(&mut self, lebs: &Lebs, growth: Growth) {
        if growth.data == 0 && growth.dirty == 0 {
            return;
        }
        self.budget.no_space = false;
        self.budget.growth.subtract(growth);
        self.budget.uncommitted_idx += growth.idx;
        self.budget.min_idx_lebs = self.calc_min_idx_lebs(lebs);
    }

    pub fn release_request(&mut self, lebs: &Lebs, request: &Request) {
        let growth = request.growth(&lebs.geo);
        self.release_budget(lebs, growth);
    }

    /// Turns the budget for a page that is new on flash into one for a page that replaces a data node
    /// (`ubifs_convert_page_budget`).
    pub fn convert_page_budget(&mut self, lebs: &Lebs) {
        self.budget.growth.idx -= i64::from(lebs.geo.idx_bytes_max);
        self.budget.growth.data -= i64::from(DATA_BYTES_MAX);
        self.budget.growth.dirty += i64::from(DATA_BYTES_MAX);
        self.budget.min_idx_lebs = self.calc_min_idx_lebs(lebs);
    }

    /// Free bytes as statfs(2) reports them: data that certainly fit.
    pub fn free_bytes(&self, lebs: &Lebs) -> u64 {
        let budget = &self.budget;
        let stats = &self.lpt.stats;
        let outstanding = budget.growth.data + budget.growth.dirty;
        let mut available = self.calc_available(lebs, budget.min_idx_lebs);
        let reserved = self.reserved_index_lebs(budget.min_idx_lebs);
        let spare =
            stats.empty_lebs + self.lpt.categories.freeable_cnt + self.idx_gc_cnt - stats.taken_empty_lebs - reserved;
        available += spare * (i64::from(lebs.geo.dark_wm) - i64::from(lebs.geo.leb_overhead));
        lebs.geo.reported_bytes((available - outstanding).max(0))
    }

    /// Marks an inode as clean that was written together with a name or another inode, and gives back its budget
    /// (`mark_inode_clean`).
    pub fn mark_clean(&mut self, lebs: &Lebs, inode: &mut Inode) {
        if std::mem::take(&mut inode.dirty) {
            self.release_inode_budget(lebs, inode);
        }
    }

    /// Gives back the budget of a dirty inode.
    pub fn release_inode_budget(&mut self, lebs: &Lebs, inode: &Inode) {
        let dirty = i64::from(INO_BYTES) + i64::from(align8(inode.data.len() as u32));
        self.release_budget(lebs, Growth { dirty, ..Default::default() });
    }
}

impl Geometry {
    /// How many bytes of file data fit into `free` bytes of flash when headers of data nodes and index nodes are
    /// counted.
    pub fn reported_bytes(&self, free: i64) -> u64 {
        let children = if self.fanout > 3 { self.fanout / 2 } else { 2 };
        let divisor = DATA_BYTES_MAX + self.idx_bytes_max * 3 / (children - 1);
        (free as u64).saturating_mul(u64::from(BLOCK_BYTES)) / u64::from(divisor)
    }
}

impl Ubifs {
    /// Reserves room for what is about to become dirty. [`Errno::NoSpc`]: write-back, garbage collection and commits
    /// did not free enough.
    pub(crate) fn budget(&mut self, host: &mut dyn Host, request: &Request) -> Result<Growth> {
        let growth = request.growth(&self.core.lebs.geo);
        if growth.data == 0 && growth.dirty == 0 {
            return Ok(growth);
        }
        let mut retried = false;
        loop {
            if self.core.space.budget.no_space {
                return Err(Errno::NoSpc);
            }
            if self.core.space.try_budget(&self.core.lebs, growth) {
                return Ok(growth);
            }
            if request.fast {
                return Err(Errno::NoSpc);
            }
            let made = self.make_free_space(host);
            self.core.lebs.cond_resched();
            match made {
                Err(Fail::Again) => {}
                Err(NO_SPACE) if !retried => retried = true,
                Err(NO_SPACE) => {
                    self.core.space.budget.no_space = true;
                    return Err(Errno::NoSpc);
                }
                Err(fail) => return Err(fail.into()),
                Ok(()) => {}
            }
        }
    }

    /// Tries to free space. [`Fail::Again`]: some space was freed, so the caller asks for its budget again. `NoSpc`:
    /// nothing more can be freed.
    fn make_free_space(&mut self, host: &mut dyn Host) -> Res<()> {
        let liability =
            |core: &Core| core.space.budget.growth.idx + core.space.budget.growth.data + core.space.budget.growth.dirty;
        for _ in 0..=RETRIES_MAX {
            let before = liability(&self.core);
            host.write_back(self, WRITE_BACK_PAGES)?;
            if liability(&self.core) < before {
                return Err(Fail::Again);
            }
            match self.core.run_gc() {
                Ok(()) => return Err(Fail::Again),
                Err(Fail::Again | NO_SPACE) => {}
                Err(fail) => return Err(fail),
            }
            self.core.run_commit()?;
        }
        Err(NO_SPACE)
    }
}
