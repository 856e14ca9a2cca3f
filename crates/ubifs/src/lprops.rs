//! Properties of a LEB, and the categories by which LEBs are found.
//!
//! Follows `fs/ubifs/lprops.c`. Three categories are heaps of limited size, the others are lists whose first entry is the
//! latest.

use crate::error::Res;
use crate::format::align8;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::lpt::{Lpt, Stats};
use crate::space::Space;

/// Largest number of LEBs in a heap (`LPT_HEAP_SZ`).
pub(crate) const HEAP_MAX: usize = 256;
const NONE: u32 = u32::MAX;
/// Limit for the dirty bytes of a LEB. It is far more than a LEB holds, so only a damaged medium reaches it.
const DIRTY_MAX: u32 = 1 << 30;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Category {
    #[default]
    Uncategorized,
    /// LEBs with so much dirt that garbage collection picks among them; a heap.
    Dirty,
    /// A LEB of the index with gaps.
    DirtyIndex,
    /// Some space is free.
    Free,
    Empty,
    /// Nothing but free space and dirt.
    Freeable,
    FreeableIndex,
}

impl Category {
    fn heap(self) -> Option<usize> {
        match self {
            Category::Dirty => Some(0),
            Category::DirtyIndex => Some(1),
            Category::Free => Some(2),
            _ => None,
        }
    }

    fn list(self) -> usize {
        match self {
            Category::Empty => 1,
            Category::Freeable => 2,
            Category::FreeableIndex => 3,
            _ => 0,
        }
    }
}

/// Properties of a LEB of the main area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lprops {
    pub free: u32,
    pub dirty: u32,
    pub is_index: bool,
    /// Whether a head, garbage collection or a commit uses the LEB. A LEB in use belongs to no category.
    pub is_taken: bool,
    pub category: Category,
    /// Position in its heap.
    place: u32,
}

impl Lprops {
    pub fn free(leb_bytes: u32) -> Lprops {
        Lprops { free: leb_bytes, dirty: 0, is_index: false, is_taken: false, category: Category::Empty, place: 0 }
    }

    /// The category that the properties call for.
    pub fn categorize(&self, geo: &Geometry) -> Category {
        if self.is_taken {
            return Category::Uncategorized;
        }
        if self.free == geo.leb_bytes {
            return Category::Empty;
        }
        if self.free + self.dirty == geo.leb_bytes {
            return if self.is_index { Category::FreeableIndex } else { Category::Freeable };
        }
        if self.is_index {
            if self.dirty + self.free >= geo.idx_bytes_min {
                return Category::DirtyIndex;
            }
        } else {
            if self.dirty >= geo.dead_wm && self.dirty > self.free {
                return Category::Dirty;
            }
            if self.free > 0 {
                return Category::Free;
            }
        }
        Category::Uncategorized
    }

    fn weight(&self, heap: usize) -> u32 {
        match heap {
            2 => self.free,
            1 => self.free + self.dirty,
            _ => self.dirty,
        }
    }
}

/// Heaps and lists. Entries are indices of [`Lpt::props`].
#[derive(Debug, Default)]
pub(crate) struct Categories {
    heaps: [Vec<u32>; 3],
    /// First entries of the lists: uncategorized, empty, freeable, freeable index.
    first: [u32; 4],
    next: Vec<u32>,
    previous: Vec<u32>,
    pub freeable_cnt: i64,
    /// How many LEBs are in some category, uncategorized ones included.
    pub counted: u32,
}

impl Categories {
    pub fn new(lebs: usize) -> Categories {
        Categories { first: [NONE; 4], next: vec![NONE; lebs], previous: vec![NONE; lebs], ..Categories::default() }
    }

    pub fn heap(&self, category: Category) -> &[u32] {
        category.heap().map_or(&[], |heap| &self.heaps[heap])
    }

    /// Entries of a list, the latest first.
    pub fn list(&self, category: Category) -> impl Iterator<Item = usize> + '_ {
        let first = self.first[category.list()];
        std::iter::successors(Some(first), |&i| self.next.get(i as usize).copied())
            .take_while(|&i| i != NONE)
            .map(|i| i as usize)
    }

    pub fn first_of(&self, category: Category) -> Option<usize> {
        let first = self.first[category.list()];
        (first != NONE).then_some(first as usize)
    }

    fn push(&mut self, list: usize, i: usize) {
        debug_assert!(self.first[list] != i as u32, "LEB {i} of the main area enters list {list} twice");
        let old = std::mem::replace(&mut self.first[list], i as u32);
        self.next[i] = old;
        self.previous[i] = NONE;
        if old != NONE {
            self.previous[old as usize] = i as u32;
        }
    }

    fn unlink(&mut self, list: usize, i: usize) {
        let (next, previous) = (self.next[i], self.previous[i]);
        let points_here = if previous == NONE { self.first[list] } else { self.next[previous as usize] };
        debug_assert_eq!(points_here, i as u32, "LEB {i} of the main area is not in list {list}");
        match previous {
            NONE => self.first[list] = next,
            _ => self.next[previous as usize] = next,
        }
        if next != NONE {
            self.previous[next as usize] = previous;
        }
    }
}

impl Lpt {
    fn weight(&self, heap: usize, place: usize) -> u32 {
        self.props[self.categories.heaps[heap][place] as usize].weight(heap)
    }

    fn put(&mut self, heap: usize, place: usize, i: u32) {
        self.categories.heaps[heap][place] = i;
        self.props[i as usize].place = place as u32;
    }

    fn move_up(&mut self, heap: usize, mut place: usize) -> usize {
        let i = self.categories.heaps[heap][place];
        let weight = self.props[i as usize].weight(heap);
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.weight(heap, parent) >= weight {
                break;
            }
            let above = self.categories.heaps[heap][parent];
            self.put(heap, place, above);
            place = parent;
        }
        self.put(heap, place, i);
        place
    }

    /// Restores the order after the weight of the entry at `place` changed (`adjust_lpt_heap`).
    fn adjust(&mut self, heap: usize, place: usize) {
        if self.move_up(heap, place) != place {
            return;
        }
        let mut place = place;
        let i = self.categories.heaps[heap][place];
        let weight = self.props[i as usize].weight(heap);
        let len = self.categories.heaps[heap].len();
        loop {
            let left = 2 * place + 1;
            if left >= len {
                break;
            }
            let mut child = left;
            let left_weight = self.weight(heap, left);
            if weight < left_weight {
                if left + 1 < len && self.weight(heap, left + 1) > left_weight {
                    child = left + 1;
                }
            } else if left + 1 < len && weight < self.weight(heap, left + 1) {
                child = left + 1;
            } else {
                break;
            }
            let below = self.categories.heaps[heap][child];
            self.put(heap, place, below);
            self.put(heap, child, i);
            place = child;
        }
    }

    /// Returns `false` when the heap is full of LEBs that are better than this one.
    fn add_to_heap(&mut self, heap: usize, i: usize) -> bool {
        let len = self.categories.heaps[heap].len();
        if len < HEAP_MAX {
            self.categories.heaps[heap].push(i as u32);
            self.put(heap, len, i as u32);
            self.move_up(heap, len);
            return true;
        }
        // The kernel picks one of the lower half by the address of the properties in memory.
        let lower = HEAP_MAX / 2 - 1;
        let place = (i & lower) + lower;
        if self.props[i].weight(heap) <= self.weight(heap, place) {
            return false;
        }
        let out = self.categories.heaps[heap][place] as usize;
        self.props[out].category = Category::Uncategorized;
        self.categories.push(Category::Uncategorized.list(), out);
        self.put(heap, place, i as u32);
        self.move_up(heap, place);
        true
    }

    pub fn add_to_category(&mut self, i: usize, mut category: Category) {
        match category.heap() {
            Some(heap) if self.add_to_heap(heap, i) => {}
            Some(_) => {
                category = Category::Uncategorized;
                self.categories.push(category.list(), i);
            }
            None => self.categories.push(category.list(), i),
        }
        if category == Category::Freeable {
            self.categories.freeable_cnt += 1;
        }
        self.props[i].category = category;
        self.categories.counted += 1;
    }

    fn remove_from_category(&mut self, i: usize) {
        let category = self.props[i].category;
        match category.heap() {
            Some(heap) => {
                let place = self.props[i].place as usize;
                debug_assert_eq!(
                    self.categories.heaps[heap].get(place),
                    Some(&(i as u32)),
                    "LEB {i} of the main area is not in heap {heap}"
                );
                if let Some(last) = self.categories.heaps[heap].pop() {
                    if place < self.categories.heaps[heap].len() {
                        self.put(heap, place, last);
                        self.adjust(heap, place);
                    }
                }
            }
            None => self.categories.unlink(category.list(), i),
        }
        if category == Category::Freeable {
            self.categories.freeable_cnt -= 1;
        }
        self.categories.counted -= 1;
    }

    fn change_category(&mut self, geo: &Geometry, i: usize) {
        let (old, new) = (self.props[i].category, self.props[i].categorize(geo));
        if old == new {
            if let Some(heap) = new.heap() {
                self.adjust(heap, self.props[i].place as usize);
            }
        } else {
            self.remove_from_category(i);
            self.add_to_category(i, new);
        }
    }
}

/// What to change of a LEB's properties; `None` leaves a number alone.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change {
    pub free: Option<u32>,
    pub dirty: Option<u32>,
    pub taken: Option<bool>,
    pub index: Option<bool>,
    /// How the number of index LEBs that garbage collection has emptied changes.
    pub idx_gc: i64,
}

impl Stats {
    /// Adds one LEB to sums over LEBs.
    pub fn count(&mut self, geo: &Geometry, lp: &Lprops) {
        let space = lp.free + lp.dirty;
        self.empty_lebs += i64::from(lp.free == geo.leb_bytes);
        self.taken_empty_lebs += i64::from(lp.is_taken && lp.free == geo.leb_bytes);
        self.idx_lebs += i64::from(lp.is_index);
        self.total_free += i64::from(lp.free);
        self.total_dirty += i64::from(lp.dirty);
        if !lp.is_index {
            self.total_used += i64::from(geo.leb_bytes) - i64::from(space);
            if space < geo.dead_wm {
                self.total_dead += i64::from(space);
            } else {
                self.total_dark += i64::from(geo.dark(space));
            }
        }
    }
}

impl Space {
    /// An uncategorized LEB enters the category that it belongs to (`ubifs_ensure_cat`).
    pub fn ensure_category(&mut self, lebs: &Lebs, i: usize) {
        if self.lpt.props[i].category == Category::Uncategorized {
            let category = self.lpt.props[i].categorize(&lebs.geo);
            if category != Category::Uncategorized {
                self.lpt.remove_from_category(i);
                self.lpt.add_to_category(i, category);
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
        self.lpt.change_category(geo, i);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lpt::LptGeometry;

    const LEB_BYTES: u32 = 1 << 17;

    fn four_lebs() -> Lpt {
        let mut lpt = Lpt::new(LptGeometry { pnode_cnt: 1, ..LptGeometry::default() }, 2, LEB_BYTES);
        (0..4).for_each(|i| lpt.add_to_category(i, Category::Empty));
        lpt
    }

    #[test]
    fn a_leb_leaves_the_list_that_it_is_in() {
        let mut lpt = four_lebs();
        lpt.remove_from_category(2);
        assert_eq!(lpt.categories.list(Category::Empty).collect::<Vec<_>>(), [3, 1, 0]);
    }

    #[test]
    #[should_panic(expected = "LEB 2 of the main area is not in list 1")]
    fn a_leb_cannot_leave_its_list_twice() {
        let mut lpt = four_lebs();
        lpt.remove_from_category(2);
        lpt.remove_from_category(2);
    }

    #[test]
    #[should_panic(expected = "LEB 2 of the main area is not in heap 2")]
    fn a_leb_cannot_leave_a_heap_that_it_is_not_in() {
        let mut lpt = four_lebs();
        lpt.props[2].category = Category::Free;
        lpt.remove_from_category(2);
    }
}
