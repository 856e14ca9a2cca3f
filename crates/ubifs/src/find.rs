//! Choosing LEBs: for journal heads, for garbage collection, for the index.
//!
//! Follows `fs/ubifs/find.c`.

use crate::error::{Res, NO_SPACE};
use crate::leb::Lebs;
use crate::lprops::{Category, Change, Lprops};
use crate::lpt::ScanFor;
use crate::space::Space;

/// Whether garbage collection may take a LEB that is empty or holds only dirt, and so needs no collecting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PickFree {
    No,
    Yes,
    /// It may, but it must not take a LEB of the index.
    YesNoIndex,
}

impl Space {
    fn spare_lebs(&self) -> i64 {
        let stats = &self.lpt.stats;
        stats.empty_lebs + self.lpt.categories.freeable_cnt + self.idx_gc_cnt - stats.taken_empty_lebs
    }

    /// How many more LEBs the index may need in the worst case than it has now.
    pub fn reserved_index_lebs(&self, min_idx_lebs: i64) -> i64 {
        (min_idx_lebs - self.lpt.stats.idx_lebs).max(0)
    }

    /// Whether there are empty or freeable LEBs beyond those that the index may still need.
    pub fn has_spare_lebs(&self, min_idx_lebs: i64) -> bool {
        self.reserved_index_lebs(min_idx_lebs) <= self.spare_lebs()
    }

    fn take(&mut self, lebs: &Lebs, lnum: u32) -> Res<Lprops> {
        let i = self.change_lp(lebs, lnum, Change { taken: Some(true), ..Change::default() })?;
        Ok(self.lpt.props[i])
    }

    /// The LEB that garbage collection takes next, marked as taken (`ubifs_find_dirty_leb`).
    /// `by_policy`: a policy may choose, if there is one.
    pub fn find_dirty_leb(
        &mut self,
        lebs: &Lebs,
        min_space: u32,
        pick: PickFree,
        by_policy: bool,
    ) -> Res<(u32, Lprops)> {
        let min_idx_lebs = self.budget.min_idx_lebs;
        let index_is_small = min_idx_lebs >= self.lpt.stats.idx_lebs;
        let mut pick_free = pick != PickFree::No;
        let exclude_index = pick == PickFree::YesNoIndex || index_is_small;
        if pick_free {
            if self.reserved_index_lebs(min_idx_lebs) < self.spare_lebs() {
                let categories = &self.lpt.categories;
                if let Some(i) = categories.first_of(Category::Empty).or(categories.first_of(Category::Freeable)) {
                    let lnum = lebs.geo.lnum_of(i);
                    return Ok((lnum, self.take(lebs, lnum)?));
                }
            } else {
                pick_free = false;
            }
        }
        if by_policy {
            if let Some(lnum) = self.victim_by_policy(lebs, min_space, exclude_index) {
                return Ok((lnum, self.take(lebs, lnum)?));
            }
        }
        let space = |i: u32| self.lpt.props[i as usize].free + self.lpt.props[i as usize].dirty;
        let index = self.lpt.categories.heap(Category::DirtyIndex).first().copied();
        let index = index.filter(|&i| !exclude_index && space(i) >= min_space && space(i) >= lebs.geo.half_leb());
        let other = self.lpt.categories.heap(Category::Dirty).first().copied().filter(|&i| space(i) >= min_space);
        let chosen = match (index, other) {
            (Some(index), Some(other)) => Some(if space(index) >= space(other) { index } else { other }),
            (index, other) => index.or(other),
        };
        let lnum = match chosen {
            Some(i) => lebs.geo.lnum_of(i as usize),
            None => self.scan_for_dirty(lebs, min_space, pick_free, exclude_index)?,
        };
        Ok((lnum, self.take(lebs, lnum)?))
    }

    fn scan_for_dirty(&mut self, lebs: &Lebs, min_space: u32, pick_free: bool, exclude_index: bool) -> Res<u32> {
        let fits = |i: usize| {
            let lp = &self.lpt.props[i];
            lp.free + lp.dirty >= min_space && lp.dirty >= lebs.geo.dead_wm
        };
        let mut free = self.lpt.categories.heap(Category::Free).iter().map(|&i| i as usize);
        if let Some(i) = free.find(|&i| fits(i)) {
            return Ok(lebs.geo.lnum_of(i));
        }
        let found = self.lpt.categories.list(Category::Uncategorized).find(|&i| {
            let lp = &self.lpt.props[i];
            !lp.is_taken && fits(i) && !(exclude_index && lp.is_index)
        });
        if let Some(i) = found {
            return Ok(lebs.geo.lnum_of(i));
        }
        if self.lpt.is_complete() {
            return Err(NO_SPACE);
        }
        self.scan_lpt(lebs, ScanFor::Dirty { min_space, pick_free, exclude_index })
    }

    /// Finds a LEB with room for a journal head and marks it as taken (`ubifs_find_free_space`). Returns its number and
    /// the offset at which its free space begins. `squeeze`: prefer LEBs that are partly used over empty ones.
    pub fn find_free_space(&mut self, lebs: &mut Lebs, min_space: u32, squeeze: bool) -> Res<(u32, u32)> {
        let stats = &self.lpt.stats;
        let pick_free = self.reserved_index_lebs(self.budget.min_idx_lebs) < self.spare_lebs()
            && stats.empty_lebs - stats.taken_empty_lebs > 0;
        let lnum = self.find_leb_with_space(lebs, min_space, pick_free, squeeze)?;
        let lp = self.take(lebs, lnum)?;
        let offs = lebs.geo.leb_bytes - lp.free;
        if offs == 0 {
            self.opens(lebs, lnum);
            lebs.unmap(lnum)?;
        }
        Ok((lnum, offs))
    }

    fn find_leb_with_space(&mut self, lebs: &Lebs, min_space: u32, pick_free: bool, squeeze: bool) -> Res<u32> {
        let categories = &self.lpt.categories;
        let has_space = |i: usize| self.lpt.props[i].free >= min_space;
        let fullest = categories.heap(Category::Free).first().map(|&i| i as usize).filter(|&i| has_space(i));
        let empty = categories.first_of(Category::Empty).filter(|_| pick_free);
        let first = if squeeze { fullest.or(empty) } else { empty.or(fullest) };
        if let Some(i) = first {
            return Ok(lebs.geo.lnum_of(i));
        }
        let mut dirty = categories.heap(Category::Dirty).iter().map(|&i| i as usize);
        if let Some(i) = dirty.find(|&i| has_space(i)) {
            return Ok(lebs.geo.lnum_of(i));
        }
        let is_usable = |i: usize| !self.lpt.props[i].is_taken && !self.lpt.props[i].is_index && has_space(i);
        let found = categories.list(Category::Uncategorized).find(|&i| is_usable(i));
        if let Some(i) = found {
            return Ok(lebs.geo.lnum_of(i));
        }
        if self.lpt.is_complete() {
            return Err(NO_SPACE);
        }
        self.scan_lpt(lebs, ScanFor::Free { min_space, pick_free })
    }

    /// An empty LEB for the index, marked as taken (`ubifs_find_free_leb_for_idx`).
    pub fn find_free_leb_for_index(&mut self, lebs: &mut Lebs) -> Res<u32> {
        let categories = &self.lpt.categories;
        let known = categories.first_of(Category::Empty).or(categories.first_of(Category::Freeable));
        let stats = &self.lpt.stats;
        let lnum = match known {
            Some(i) => lebs.geo.lnum_of(i),
            None if categories.counted != lebs.geo.main_lebs || stats.empty_lebs - stats.taken_empty_lebs > 0 => {
                self.scan_lpt(lebs, ScanFor::Empty)?
            }
            None => return Err(NO_SPACE),
        };
        let free = Some(lebs.geo.leb_bytes);
        let change = Change { free, dirty: Some(0), taken: Some(true), index: Some(true), ..Change::default() };
        self.change_lp(lebs, lnum, change)?;
        lebs.unmap(lnum)?;
        Ok(lnum)
    }

    /// The LEB of the index with most room in its gaps, marked as taken (`ubifs_find_dirty_idx_leb`).
    pub fn find_dirty_index_leb(&mut self, lebs: &Lebs) -> Res<u32> {
        while let Some(lnum) = self.dirty_idx_lebs.pop() {
            let i = self.lpt_lookup(lebs, lnum)?;
            let lp = &self.lpt.props[i];
            if !lp.is_taken && lp.is_index {
                self.take(lebs, lnum)?;
                return Ok(lnum);
            }
        }
        match self.find_any_dirty_index_leb(lebs) {
            Err(NO_SPACE) => self.reuse_collected_index_leb(lebs),
            result => result,
        }
    }

    fn find_any_dirty_index_leb(&mut self, lebs: &Lebs) -> Res<u32> {
        let categories = &self.lpt.categories;
        let heap = categories.heap(Category::DirtyIndex).iter().map(|&i| i as usize);
        let lists = [Category::FreeableIndex, Category::Uncategorized].into_iter();
        let known =
            heap.chain(lists.flat_map(|category| categories.list(category))).find(|&i| self.is_dirty_index(lebs, i));
        let lnum = match known {
            Some(i) => {
                self.lpt.lscan_lnum = lebs.geo.lnum_of(i);
                self.lpt.lscan_lnum
            }
            None if self.lpt.is_complete() => return Err(NO_SPACE),
            None => self.scan_lpt(lebs, ScanFor::DirtyIndex)?,
        };
        self.take(lebs, lnum)?;
        Ok(lnum)
    }

    /// Takes a LEB of the index that garbage collection has emptied in memory, while the index on flash still uses it.
    fn reuse_collected_index_leb(&mut self, lebs: &Lebs) -> Res<u32> {
        if self.idx_gc.is_empty() {
            return Err(NO_SPACE);
        }
        let lnum = self.idx_gc.remove(0).lnum;
        self.change_lp(lebs, lnum, Change { index: Some(true), idx_gc: -1, ..Change::default() })?;
        Ok(lnum)
    }

    /// The head of the index leaves a LEB.
    pub fn release_index_leb(&mut self, lebs: &Lebs, lnum: u32) -> Res<()> {
        self.update_lp(lebs, lnum, None, 0, Change { taken: Some(false), ..Change::default() })
    }

    /// Remembers which LEBs of the index have gaps, for the next commit (`ubifs_save_dirty_idx_lnums`).
    pub fn save_dirty_index_lebs(&mut self, lebs: &Lebs) {
        let first = lebs.geo.main_first;
        let props = &self.lpt.props;
        let mut dirtiest: Vec<u32> = self.lpt.categories.heap(Category::DirtyIndex).to_vec();
        dirtiest.sort_by_key(|&i| props[i as usize].dirty + props[i as usize].free);
        self.dirty_idx_lebs = dirtiest.into_iter().map(|i| first + i).collect();
    }
}
