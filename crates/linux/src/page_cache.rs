//! The page cache: up-to-date pages of files, least recently used ones leave first.
//!
//! Pages lie in a slab; a hash finds them by (inode, index), one intrusive list orders them by use, another one joins
//! the pages of an inode. Nothing here costs more when files are large or many.

use ffslab_fs::{Ino, PAGE_BYTES};
use ffslab_sim::Arena;
use rustc_hash::FxHashMap;

/// Position of a page in the slab; valid until the page leaves the cache.
pub(crate) type Slot = u32;

const NONE: Slot = Slot::MAX;
/// Address space is reserved for so many pages at a time (32 MiB); memory is committed when a page is used.
const PAGES_PER_CHUNK: usize = 8192;
/// The least capacity: a batch of a read pins up to 15 pages while one more is read.
const PAGES_MIN: usize = 16;

#[derive(Clone, Copy)]
struct Link {
    before: Slot,
    after: Slot,
}

const UNLINKED: Link = Link { before: NONE, after: NONE };

impl Page {
    const VACANT: Page = Page {
        ino: 0,
        index: 0,
        marked: false,
        pinned: false,
        dirty: false,
        writing: false,
        by_use: UNLINKED,
        of_inode: UNLINKED,
    };
}

struct Page {
    ino: Ino,
    index: u64,
    /// The read-ahead mark (`PG_readahead`): touching this page starts the next window.
    marked: bool,
    /// In use by the running system call; not on the use list and therefore never a victim.
    pinned: bool,
    /// It must be written before it may leave.
    dirty: bool,
    /// It is being written and must not leave.
    writing: bool,
    by_use: Link,
    of_inode: Link,
}

pub(crate) struct PageCache {
    capacity_pages: usize,
    pages: Vec<Page>,
    chunks: Vec<Arena>,
    free: Vec<Slot>,
    by_key: FxHashMap<(Ino, u64), Slot>,
    first_of_inode: FxHashMap<Ino, Slot>,
    most_recent: Slot,
    least_recent: Slot,
    dirty_pages: usize,
}

impl PageCache {
    pub fn new(capacity_bytes: u64) -> Self {
        let capacity = usize::try_from(capacity_bytes / PAGE_BYTES as u64).unwrap_or(usize::MAX);
        Self {
            capacity_pages: capacity.clamp(PAGES_MIN, NONE as usize),
            pages: Vec::new(),
            chunks: Vec::new(),
            free: Vec::new(),
            by_key: FxHashMap::default(),
            first_of_inode: FxHashMap::default(),
            most_recent: NONE,
            least_recent: NONE,
            dirty_pages: 0,
        }
    }

    pub fn capacity_pages(&self) -> u64 {
        self.capacity_pages as u64
    }

    #[inline]
    pub fn find(&self, ino: Ino, index: u64) -> Option<Slot> {
        self.by_key.get(&(ino, index)).copied()
    }

    #[inline]
    pub fn data(&self, slot: Slot) -> &[u8] {
        let at = slot as usize % PAGES_PER_CHUNK * PAGE_BYTES;
        &self.chunks[slot as usize / PAGES_PER_CHUNK][at..at + PAGE_BYTES]
    }

    #[inline]
    pub fn data_mut(&mut self, slot: Slot) -> &mut [u8] {
        let at = slot as usize % PAGES_PER_CHUNK * PAGE_BYTES;
        &mut self.chunks[slot as usize / PAGES_PER_CHUNK][at..at + PAGE_BYTES]
    }

    /// Takes a page that is not cached in, as the most recently used one; the caller fills it. What it holds until
    /// then is left over from its last use.
    pub fn insert(&mut self, ino: Ino, index: u64) -> Slot {
        let slot = self.vacant_slot();
        let first = self.first_of_inode.insert(ino, slot).unwrap_or(NONE);
        if first != NONE {
            self.pages[first as usize].of_inode.before = slot;
        }
        self.pages[slot as usize] = Page { ino, index, of_inode: Link { before: NONE, after: first }, ..Page::VACANT };
        self.by_key.insert((ino, index), slot);
        self.link_most_recent(slot);
        slot
    }

    fn vacant_slot(&mut self) -> Slot {
        if self.free.is_empty() && self.pages.len() >= self.capacity_pages {
            self.evict();
        }
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let slot = self.pages.len();
        if slot / PAGES_PER_CHUNK == self.chunks.len() {
            self.chunks.push(Arena::new(PAGES_PER_CHUNK * PAGE_BYTES));
        }
        self.pages.push(Page::VACANT);
        slot as Slot
    }

    /// Drops the least recently used page that may leave. Dirty ones are passed over, as used now; when all are dirty
    /// the cache grows beyond its capacity, and whoever makes pages dirty has to wait.
    fn evict(&mut self) {
        for _ in 0..self.by_key.len() {
            let slot = self.least_recent;
            if slot == NONE {
                return;
            }
            if !self.must_stay(slot) {
                return self.remove(slot);
            }
            self.touch(slot);
        }
    }

    fn must_stay(&self, slot: Slot) -> bool {
        let page = &self.pages[slot as usize];
        page.dirty || page.writing
    }

    /// No clean page is left that could make room for another one.
    pub fn is_full_of_dirty_pages(&self) -> bool {
        self.dirty_pages >= self.capacity_pages
    }

    #[inline]
    pub fn is_dirty(&self, slot: Slot) -> bool {
        self.pages[slot as usize].dirty
    }

    /// Returns whether that was news.
    pub fn set_dirty(&mut self, slot: Slot, dirty: bool) -> bool {
        let is_news = std::mem::replace(&mut self.pages[slot as usize].dirty, dirty) != dirty;
        match (is_news, dirty) {
            (true, true) => self.dirty_pages += 1,
            (true, false) => self.dirty_pages -= 1,
            _ => {}
        }
        is_news
    }

    /// While it is being written the page stays in the cache, clean or not.
    pub fn set_writing(&mut self, slot: Slot, writing: bool) {
        self.pages[slot as usize].writing = writing;
    }

    /// The page was used now.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        if slot != self.most_recent && !self.pages[slot as usize].pinned {
            self.unlink_by_use(slot);
            self.link_most_recent(slot);
        }
    }

    /// Keeps the page in the cache until [`PageCache::unpin`].
    #[inline]
    pub fn pin(&mut self, slot: Slot) {
        if !self.pages[slot as usize].pinned {
            self.unlink_by_use(slot);
            self.pages[slot as usize].pinned = true;
        }
    }

    /// Ends [`PageCache::pin`]; the page counts as used now.
    #[inline]
    pub fn unpin(&mut self, slot: Slot) {
        if self.pages[slot as usize].pinned {
            self.pages[slot as usize].pinned = false;
            self.link_most_recent(slot);
        }
    }

    /// Sets the read-ahead mark.
    pub fn mark(&mut self, slot: Slot) {
        self.pages[slot as usize].marked = true;
    }

    #[inline]
    pub fn is_marked(&self, slot: Slot) -> bool {
        self.pages[slot as usize].marked
    }

    pub fn clear_mark(&mut self, slot: Slot) {
        self.pages[slot as usize].marked = false;
    }

    pub fn remove(&mut self, slot: Slot) {
        let Page { ino, index, pinned, of_inode, .. } = self.pages[slot as usize];
        if !pinned {
            self.unlink_by_use(slot);
        }
        self.set_dirty(slot, false);
        if of_inode.after != NONE {
            self.pages[of_inode.after as usize].of_inode.before = of_inode.before;
        }
        if of_inode.before != NONE {
            self.pages[of_inode.before as usize].of_inode.after = of_inode.after;
        } else if of_inode.after != NONE {
            self.first_of_inode.insert(ino, of_inode.after);
        } else {
            self.first_of_inode.remove(&ino);
        }
        self.by_key.remove(&(ino, index));
        self.free.push(slot);
    }

    /// Drops every page that is not dirty.
    pub fn clear_clean(&mut self) {
        if self.dirty_pages == 0 {
            return self.clear();
        }
        let mut slot = self.most_recent;
        while slot != NONE {
            let after = self.pages[slot as usize].by_use.after;
            if !self.must_stay(slot) {
                self.remove(slot);
            }
            slot = after;
        }
    }

    /// Drops every page. The memory stays for the pages to come.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.free.clear();
        self.by_key.clear();
        self.first_of_inode.clear();
        self.most_recent = NONE;
        self.least_recent = NONE;
        self.dirty_pages = 0;
    }

    /// Drops the pages of `ino` from `first` to `last`, both included, that are not dirty.
    pub fn remove_range(&mut self, ino: Ino, first: u64, last: u64) {
        let mut slot = self.first_of_inode.get(&ino).copied().unwrap_or(NONE);
        while slot != NONE {
            let Page { index, of_inode, .. } = self.pages[slot as usize];
            if (first..=last).contains(&index) && !self.must_stay(slot) {
                self.remove(slot);
            }
            slot = of_inode.after;
        }
    }

    /// The file was cut to `size_bytes`: pages beyond it go (dirty ones must have been cleaned before), and what the last page holds behind the end becomes zero.
    pub fn truncate(&mut self, ino: Ino, size_bytes: u64) {
        let page_bytes = PAGE_BYTES as u64;
        self.remove_range(ino, size_bytes.div_ceil(page_bytes), u64::MAX);
        let tail = (size_bytes % page_bytes) as usize;
        if tail != 0 {
            if let Some(slot) = self.find(ino, size_bytes / page_bytes) {
                self.data_mut(slot)[tail..].fill(0);
            }
        }
    }

    fn unlink_by_use(&mut self, slot: Slot) {
        let Link { before, after } = self.pages[slot as usize].by_use;
        if before != NONE {
            self.pages[before as usize].by_use.after = after;
        } else {
            self.most_recent = after;
        }
        if after != NONE {
            self.pages[after as usize].by_use.before = before;
        } else {
            self.least_recent = before;
        }
    }

    fn link_most_recent(&mut self, slot: Slot) {
        let first = self.most_recent;
        self.pages[slot as usize].by_use = Link { before: NONE, after: first };
        if first != NONE {
            self.pages[first as usize].by_use.before = slot;
        } else {
            self.least_recent = slot;
        }
        self.most_recent = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indices(cache: &PageCache, ino: Ino) -> Vec<u64> {
        (0..100).filter(|&index| cache.find(ino, index).is_some()).collect()
    }

    #[test]
    fn the_least_recently_used_page_leaves() {
        let mut cache = PageCache::new(16 * PAGE_BYTES as u64);
        for index in 0..16 {
            cache.insert(1, index);
        }
        cache.touch(cache.find(1, 0).unwrap());
        cache.insert(2, 0);
        assert_eq!(indices(&cache, 1), [vec![0], (2..16).collect()].concat());
    }

    #[test]
    fn a_pinned_page_stays() {
        let mut cache = PageCache::new(0);
        let first = cache.insert(1, 0);
        cache.pin(first);
        for index in 1..40 {
            cache.insert(1, index);
        }
        assert_eq!(indices(&cache, 1), [vec![0], (25..40).collect()].concat());
        cache.unpin(first);
        for index in 40..56 {
            cache.insert(1, index);
        }
        assert_eq!(indices(&cache, 1), (40..56).collect::<Vec<_>>());
    }

    #[test]
    fn truncation_cuts_pages_and_clears_the_tail() {
        let mut cache = PageCache::new(1 << 20);
        for index in 0..4 {
            let slot = cache.insert(7, index);
            cache.data_mut(slot).fill(0xAA);
            cache.insert(8, index);
        }
        cache.truncate(7, 4096 + 10);
        assert_eq!(indices(&cache, 7), [0, 1]);
        assert_eq!(indices(&cache, 8), [0, 1, 2, 3]);
        let page = cache.data(cache.find(7, 1).unwrap());
        assert!(page[..10].iter().all(|&b| b == 0xAA) && page[10..].iter().all(|&b| b == 0));
        cache.remove_range(8, 1, 2);
        assert_eq!(indices(&cache, 8), [0, 3]);
        cache.remove_range(7, 0, u64::MAX);
        assert!(indices(&cache, 7).is_empty());
    }
}
