//! Properties of a LEB, and the categories by which LEBs are found.
//!
//! Follows `fs/ubifs/lprops.c`. Three categories are heaps of limited size, the others are lists whose first entry is the
//! latest.

use crate::geometry::Geometry;

/// Largest number of LEBs in a heap (`LPT_HEAP_SZ`).
pub(crate) const HEAP_MAX: usize = 256;
const NONE: u32 = u32::MAX;

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

/// Heaps and lists. Entries are indices of the properties ([`crate::lpt::Lpt::props`]), which each method gets.
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

impl Categories {
    fn weight(&self, props: &[Lprops], heap: usize, place: usize) -> u32 {
        props[self.heaps[heap][place] as usize].weight(heap)
    }

    fn put(&mut self, props: &mut [Lprops], heap: usize, place: usize, i: u32) {
        self.heaps[heap][place] = i;
        props[i as usize].place = place as u32;
    }

    fn move_up(&mut self, props: &mut [Lprops], heap: usize, mut place: usize) -> usize {
        let i = self.heaps[heap][place];
        let weight = props[i as usize].weight(heap);
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.weight(props, heap, parent) >= weight {
                break;
            }
            let above = self.heaps[heap][parent];
            self.put(props, heap, place, above);
            place = parent;
        }
        self.put(props, heap, place, i);
        place
    }

    /// Restores the order after the weight of the entry at `place` changed (`adjust_lpt_heap`).
    fn adjust(&mut self, props: &mut [Lprops], heap: usize, place: usize) {
        if self.move_up(props, heap, place) != place {
            return;
        }
        let mut place = place;
        let i = self.heaps[heap][place];
        let weight = props[i as usize].weight(heap);
        let len = self.heaps[heap].len();
        loop {
            let left = 2 * place + 1;
            if left >= len {
                break;
            }
            let mut child = left;
            let left_weight = self.weight(props, heap, left);
            if weight < left_weight {
                if left + 1 < len && self.weight(props, heap, left + 1) > left_weight {
                    child = left + 1;
                }
            } else if left + 1 < len && weight < self.weight(props, heap, left + 1) {
                child = left + 1;
            } else {
                break;
            }
            let below = self.heaps[heap][child];
            self.put(props, heap, place, below);
            self.put(props, heap, child, i);
            place = child;
        }
    }

    /// Returns `false` when the heap is full of LEBs that are better than this one.
    fn add_to_heap(&mut self, props: &mut [Lprops], heap: usize, i: usize) -> bool {
        let len = self.heaps[heap].len();
        if len < HEAP_MAX {
            self.heaps[heap].push(i as u32);
            self.put(props, heap, len, i as u32);
            self.move_up(props, heap, len);
            return true;
        }
        // The kernel picks one of the lower half by the address of the properties in memory.
        let lower = HEAP_MAX / 2 - 1;
        let place = (i & lower) + lower;
        if props[i].weight(heap) <= self.weight(props, heap, place) {
            return false;
        }
        let out = self.heaps[heap][place] as usize;
        props[out].category = Category::Uncategorized;
        self.push(Category::Uncategorized.list(), out);
        self.put(props, heap, place, i as u32);
        self.move_up(props, heap, place);
        true
    }

    pub fn add(&mut self, props: &mut [Lprops], i: usize, mut category: Category) {
        match category.heap() {
            Some(heap) if self.add_to_heap(props, heap, i) => {}
            Some(_) => {
                category = Category::Uncategorized;
                self.push(category.list(), i);
            }
            None => self.push(category.list(), i),
        }
        if category == Category::Freeable {
            self.freeable_cnt += 1;
        }
        props[i].category = category;
        self.counted += 1;
    }

    pub fn remove(&mut self, props: &mut [Lprops], i: usize) {
        let category = props[i].category;
        match category.heap() {
            Some(heap) => {
                let place = props[i].place as usize;
                debug_assert_eq!(
                    self.heaps[heap].get(place),
                    Some(&(i as u32)),
                    "LEB {i} of the main area is not in heap {heap}"
                );
                if let Some(last) = self.heaps[heap].pop() {
                    if place < self.heaps[heap].len() {
                        self.put(props, heap, place, last);
                        self.adjust(props, heap, place);
                    }
                }
            }
            None => self.unlink(category.list(), i),
        }
        if category == Category::Freeable {
            self.freeable_cnt -= 1;
        }
        self.counted -= 1;
    }

    pub fn recategorize(&mut self, props: &mut [Lprops], geo: &Geometry, i: usize) {
        let (old, new) = (props[i].category, props[i].categorize(geo));
        if old == new {
            if let Some(heap) = new.heap() {
                self.adjust(props, heap, props[i].place as usize);
            }
        } else {
            self.remove(props, i);
            self.add(props, i, new);
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

/// Sums over all LEBs of the main area (`ubifs_lp_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    pub empty_lebs: i64,
    pub taken_empty_lebs: i64,
    pub idx_lebs: i64,
    pub total_free: i64,
    pub total_dirty: i64,
    pub total_used: i64,
    pub total_dead: i64,
    pub total_dark: i64,
}

impl Stats {
    pub fn minus(&self, other: &Stats) -> Stats {
        Stats {
            empty_lebs: self.empty_lebs - other.empty_lebs,
            taken_empty_lebs: self.taken_empty_lebs - other.taken_empty_lebs,
            idx_lebs: self.idx_lebs - other.idx_lebs,
            total_free: self.total_free - other.total_free,
            total_dirty: self.total_dirty - other.total_dirty,
            total_used: self.total_used - other.total_used,
            total_dead: self.total_dead - other.total_dead,
            total_dark: self.total_dark - other.total_dark,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    const LEB_BYTES: u32 = 1 << 17;

    fn four_lebs() -> (Categories, [Lprops; 4]) {
        let (mut categories, mut props) = (Categories::new(4), [Lprops::free(LEB_BYTES); 4]);
        (0..4).for_each(|i| categories.add(&mut props, i, Category::Empty));
        (categories, props)
    }

    #[test]
    fn a_leb_leaves_the_list_that_it_is_in() {
        let (mut categories, mut props) = four_lebs();
        categories.remove(&mut props, 2);
        assert_eq!(categories.list(Category::Empty).collect::<Vec<_>>(), [3, 1, 0]);
    }

    #[test]
    #[should_panic(expected = "LEB 2 of the main area is not in list 1")]
    fn a_leb_cannot_leave_its_list_twice() {
        let (mut categories, mut props) = four_lebs();
        categories.remove(&mut props, 2);
        categories.remove(&mut props, 2);
    }

    #[test]
    #[should_panic(expected = "LEB 2 of the main area is not in heap 2")]
    fn a_leb_cannot_leave_a_heap_that_it_is_not_in() {
        let (mut categories, mut props) = four_lebs();
        props[2].category = Category::Free;
        categories.remove(&mut props, 2);
    }
}
