//! The page cache: up-to-date pages of files, of which the least recently used ones leave first.
//!
//! Pages are stored in a slab. A file finds its pages through leaves of 64 pages each, as in the kernel's tree. The
//! order of use is a queue to which every use appends the page; a page knows its last place in the queue, and its older
//! places are ignored. So a use touches only the page's own entry and the end of the queue, not neighbours in a linked
//! list anywhere in memory: with large caches, such accesses are most of the cost of a page hit. No operation is slower
//! for large or many files.

use std::cell::Cell;
use std::collections::VecDeque;

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
/// As `XA_CHUNK_SIZE` (`include/linux/xarray.h`).
const PAGES_PER_LEAF: u64 = 64;
/// Value of [`Page::place`] for a page that the running system call uses and that therefore must not leave.
const PINNED: u64 = 0;
/// Page index in a slot that holds no page.
const NOWHERE: u64 = u64::MAX;
/// The queue is cleaned up when it is this many times as long as the number of pages, so that this happens rarely and
/// the queue stays short.
const QUEUE_LENGTHS_MAX: usize = 4;

/// The slots of neighbouring pages of a file.
struct Leaf {
    /// The leaf holds the pages from `number * PAGES_PER_LEAF` on.
    number: u64,
    pages: u32,
    slots: Box<[Slot; PAGES_PER_LEAF as usize]>,
}

/// The leaves of a file that hold at least one page, in the order of their numbers.
#[derive(Default)]
struct FilePages(Vec<Leaf>);

impl FilePages {
    /// Index of the leaf `number`, or the index at which it would be inserted.
    #[inline]
    fn position(&self, number: u64) -> Result<usize, usize> {
        // In a file that is cached from its start on, the index of a leaf is its number, so that index is tried first.
        match usize::try_from(number).ok().and_then(|guess| self.0.get(guess)) {
            Some(leaf) if leaf.number == number => Ok(number as usize),
            _ => self.0.binary_search_by_key(&number, |leaf| leaf.number),
        }
    }

    #[inline]
    fn find(&self, index: u64) -> Option<Slot> {
        let leaf = &self.0[self.position(index / PAGES_PER_LEAF).ok()?];
        let slot = leaf.slots[(index % PAGES_PER_LEAF) as usize];
        (slot != NONE).then_some(slot)
    }

    fn insert(&mut self, index: u64, slot: Slot) {
        let number = index / PAGES_PER_LEAF;
        let at = self.position(number).unwrap_or_else(|at| {
            self.0.insert(at, Leaf { number, pages: 0, slots: Box::new([NONE; PAGES_PER_LEAF as usize]) });
            at
        });
        self.0[at].slots[(index % PAGES_PER_LEAF) as usize] = slot;
        self.0[at].pages += 1;
    }

    /// Takes out a page, which must be there.
    fn remove(&mut self, index: u64) {
        let Ok(at) = self.position(index / PAGES_PER_LEAF) else { return };
        self.0[at].slots[(index % PAGES_PER_LEAF) as usize] = NONE;
        self.0[at].pages -= 1;
        if self.0[at].pages == 0 {
            self.0.remove(at);
        }
    }

    /// Takes out the pages of `first ..= last` for which `goes` returns `true`.
    fn remove_range(&mut self, first: u64, last: u64, mut goes: impl FnMut(Slot) -> bool) {
        let from = self.position(first / PAGES_PER_LEAF).unwrap_or_else(|at| at);
        let mut to = from;
        while let Some(leaf) = self.0.get_mut(to).filter(|leaf| leaf.number <= last / PAGES_PER_LEAF) {
            let start = leaf.number * PAGES_PER_LEAF;
            for (slot, index) in leaf.slots.iter_mut().zip(start..) {
                if *slot != NONE && (first..=last).contains(&index) && goes(*slot) {
                    *slot = NONE;
                    leaf.pages -= 1;
                }
            }
            to += 1;
        }
        if to - from == 1 {
            if self.0[from].pages == 0 {
                self.0.remove(from);
            }
        } else if to > from {
            let mut at = 0;
            self.0.retain(|leaf| {
                at += 1;
                !(from + 1..=to).contains(&at) || leaf.pages != 0
            });
        }
    }
}

/// What is special about a page.
#[derive(Clone, Copy, Default)]
struct Flags {
    /// The read-ahead mark (`PG_readahead`): touching this page starts the next window.
    marked: bool,
    /// The page must be written before it may leave the cache.
    dirty: bool,
    /// The page is being written and must not leave the cache.
    writing: bool,
    /// A program has the page in its page table: it loads from it without a page fault.
    mapped: bool,
    /// And it may store to it without one, so the page is dirty: what cleans a page takes this away (`page_mkclean`).
    writable: bool,
    /// A program has used the page once (`PG_referenced`).
    referenced: bool,
    /// It has used it again: the page stands on the list of active pages (`PG_active`).
    active: bool,
    /// It has a place and no content (no `PG_uptodate`): read-ahead has left it out, or could not read it.
    unread: bool,
}

impl Flags {
    fn must_stay(self) -> bool {
        self.dirty || self.writing
    }
}

/// The state of a slot, all in one place: in a large cache each access is a cache miss of the host.
#[derive(Clone, Copy)]
struct Page {
    ino: Ino,
    flags: Flags,
    index: u64,
    /// The page's last place in the queue, or [`PINNED`].
    place: u64,
}

pub(crate) struct PageCache {
    capacity_pages: usize,
    chunks: Vec<Arena>,
    /// State of each slot.
    slots: Vec<Page>,
    dirty_pages: usize,
    free: Vec<Slot>,
    files: FxHashMap<Ino, FilePages>,
    /// The slot that was found last, because a system call looks for the same page several times.
    recent: Cell<Slot>,
    /// Pages in the order of use, the most recent one last. Places are numbered on from that of the first element.
    queue: VecDeque<Slot>,
    first_place: u64,
}

impl PageCache {
    pub fn new(capacity_bytes: u64) -> Self {
        let capacity = usize::try_from(capacity_bytes / PAGE_BYTES as u64).unwrap_or(usize::MAX);
        Self {
            capacity_pages: capacity.clamp(PAGES_MIN, NONE as usize),
            chunks: Vec::new(),
            slots: Vec::new(),
            dirty_pages: 0,
            free: Vec::new(),
            files: FxHashMap::default(),
            recent: Cell::new(0),
            queue: VecDeque::new(),
            first_place: PINNED + 1,
        }
    }

    pub fn capacity_pages(&self) -> u64 {
        self.capacity_pages as u64
    }

    #[inline]
    pub fn find(&self, ino: Ino, index: u64) -> Option<Slot> {
        if self.slots.get(self.recent.get() as usize).is_some_and(|page| (page.ino, page.index) == (ino, index)) {
            return Some(self.recent.get());
        }
        let slot = self.files.get(&ino)?.find(index)?;
        self.recent.set(slot);
        Some(slot)
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

    /// Gives an uncached page a slot, as the most recently used one. The caller fills it, as it holds old bytes.
    pub fn insert(&mut self, ino: Ino, index: u64) -> Slot {
        let slot = self.vacant_slot();
        self.slots[slot as usize] = Page { ino, index, flags: Flags::default(), place: PINNED };
        self.files.entry(ino).or_default().insert(index, slot);
        self.append_to_queue(slot);
        slot
    }

    fn vacant_slot(&mut self) -> Slot {
        if self.free.is_empty() && self.slots.len() >= self.capacity_pages {
            self.evict();
        }
        if let Some(slot) = self.free.pop() {
            return slot;
        }
        let slot = self.slots.len();
        if slot / PAGES_PER_CHUNK == self.chunks.len() {
            self.chunks.push(Arena::new(PAGES_PER_CHUNK * PAGE_BYTES));
        }
        self.slots.push(Page { ino: 0, index: NOWHERE, flags: Flags::default(), place: PINNED });
        slot as Slot
    }

    /// Drops the least recently used page that may leave. Dirty pages are skipped and count as used now. When all pages
    /// are dirty the cache grows beyond its capacity, and tasks that dirty pages have to wait.
    fn evict(&mut self) {
        for _ in 0..self.slots.len() {
            let Some(slot) = self.least_recent() else { return };
            if !self.slots[slot as usize].flags.must_stay() {
                return self.remove(slot);
            }
            self.append_to_queue(slot);
        }
    }

    /// Whether no clean page is left that could make room for another one.
    pub fn is_full_of_dirty_pages(&self) -> bool {
        self.dirty_pages >= self.capacity_pages
    }

    #[inline]
    pub fn is_dirty(&self, slot: Slot) -> bool {
        self.slots[slot as usize].flags.dirty
    }

    /// Sets whether a page is dirty. Returns `true` when that is a change.
    pub fn set_dirty(&mut self, slot: Slot, dirty: bool) -> bool {
        let flags = &mut self.slots[slot as usize].flags;
        let is_news = std::mem::replace(&mut flags.dirty, dirty) != dirty;
        flags.writable &= dirty;
        match (is_news, dirty) {
            (true, true) => self.dirty_pages += 1,
            (true, false) => self.dirty_pages -= 1,
            _ => {}
        }
        is_news
    }

    /// Sets whether a page is being written. Until the write ends the page stays in the cache, even if it is clean.
    pub fn set_writing(&mut self, slot: Slot, writing: bool) {
        self.slots[slot as usize].flags.writing = writing;
    }

    /// Notes that the page was used now.
    #[inline]
    pub fn touch(&mut self, slot: Slot) {
        let place = self.slots[slot as usize].place;
        if place != PINNED && place + 1 != self.first_place + self.queue.len() as u64 {
            self.append_to_queue(slot);
        }
    }

    /// Notes that a program uses the page. Returns whether it becomes an active one by that: when it is used for the second time.
    #[inline]
    pub fn becomes_active(&mut self, slot: Slot) -> bool {
        let flags = &mut self.slots[slot as usize].flags;
        let is_second = flags.referenced && !flags.active;
        flags.active |= is_second;
        flags.referenced = true;
        is_second
    }

    /// Keeps the page in the cache until [`PageCache::unpin`].
    #[inline]
    pub fn pin(&mut self, slot: Slot) {
        self.slots[slot as usize].place = PINNED;
    }

    /// Ends [`PageCache::pin`]; the page counts as used now.
    #[inline]
    pub fn unpin(&mut self, slot: Slot) {
        if self.slots[slot as usize].place == PINNED {
            self.append_to_queue(slot);
        }
    }

    /// Sets the read-ahead mark.
    pub fn mark(&mut self, slot: Slot) {
        self.slots[slot as usize].flags.marked = true;
    }

    #[inline]
    pub fn is_marked(&self, slot: Slot) -> bool {
        self.slots[slot as usize].flags.marked
    }

    pub fn clear_mark(&mut self, slot: Slot) {
        self.slots[slot as usize].flags.marked = false;
    }

    /// Whether the page has no content yet.
    #[inline]
    pub fn is_unread(&self, slot: Slot) -> bool {
        self.slots[slot as usize].flags.unread
    }

    pub fn set_unread(&mut self, slot: Slot, unread: bool) {
        self.slots[slot as usize].flags.unread = unread;
    }

    /// Whether a program has the page in its page table.
    #[inline]
    pub fn is_mapped(&self, slot: Slot) -> bool {
        self.slots[slot as usize].flags.mapped
    }

    /// Whether it may store to the page at once.
    #[inline]
    pub fn is_writable(&self, slot: Slot) -> bool {
        self.slots[slot as usize].flags.writable
    }

    /// A page fault puts the page into a page table. Only a dirty page becomes writable there.
    pub fn map(&mut self, slot: Slot, writable: bool) {
        let flags = &mut self.slots[slot as usize].flags;
        flags.mapped = true;
        flags.writable = flags.dirty && (flags.writable || writable);
    }

    /// The pages of `ino` from `first` to `last` leave the page table.
    pub fn unmap_range(&mut self, ino: Ino, first: u64, last: u64) {
        for index in first..=last {
            if let Some(slot) = self.find(ino, index) {
                let flags = &mut self.slots[slot as usize].flags;
                (flags.mapped, flags.writable) = (false, false);
            }
        }
    }

    /// Drops a page, whatever state it is in.
    pub fn remove(&mut self, slot: Slot) {
        self.set_dirty(slot, false);
        let page = &mut self.slots[slot as usize];
        page.flags.writing = false;
        page.place = PINNED;
        let (ino, index) = (page.ino, std::mem::replace(&mut page.index, NOWHERE));
        let Some(file) = self.files.get_mut(&ino) else { return };
        file.remove(index);
        if file.0.is_empty() {
            self.files.remove(&ino);
        }
        self.free.push(slot);
    }

    /// Number of pages in the cache.
    pub fn pages(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Drops every page. The memory stays for the pages to come.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.dirty_pages = 0;
        self.free.clear();
        self.files.clear();
        self.queue.clear();
    }

    /// Drops every page that is not dirty.
    pub fn clear_clean(&mut self) {
        if self.dirty_pages == 0 {
            return self.clear();
        }
        let inodes: Vec<Ino> = self.files.keys().copied().collect();
        for ino in inodes {
            self.remove_range(ino, 0, u64::MAX);
        }
    }

    /// Drops the pages of `ino` from `first` to `last`, both included, that are not dirty.
    pub fn remove_range(&mut self, ino: Ino, first: u64, last: u64) {
        let Some(file) = self.files.get_mut(&ino) else { return };
        file.remove_range(first, last, |slot| {
            let goes = !self.slots[slot as usize].flags.must_stay();
            if goes {
                let page = &mut self.slots[slot as usize];
                (page.place, page.index) = (PINNED, NOWHERE);
                self.free.push(slot);
            }
            goes
        });
        if file.0.is_empty() {
            self.files.remove(&ino);
        }
    }

    /// Cuts the cached pages of a file to `size_bytes`: pages beyond are dropped (dirty ones must have been cleaned
    /// before), and the bytes of the last page behind the end become zero.
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

    #[inline]
    fn append_to_queue(&mut self, slot: Slot) {
        if self.queue.len() >= QUEUE_LENGTHS_MAX * self.slots.len().max(PAGES_MIN) {
            self.clean_queue();
        }
        self.slots[slot as usize].place = self.first_place + self.queue.len() as u64;
        self.queue.push_back(slot);
    }

    /// The page whose last use is the longest ago among those that are not pinned, if there is one.
    fn least_recent(&mut self) -> Option<Slot> {
        while let Some(&slot) = self.queue.front() {
            if self.slots[slot as usize].place == self.first_place {
                return Some(slot);
            }
            self.queue.pop_front();
            self.first_place += 1;
        }
        None
    }

    /// Removes the places from the queue that are not the last place of their page.
    #[cold]
    fn clean_queue(&mut self) {
        let mut place = self.first_place;
        let mut next = self.first_place;
        self.queue.retain(|&slot| {
            let counts = self.slots[slot as usize].place == place;
            if counts {
                self.slots[slot as usize].place = next;
                next += 1;
            }
            place += 1;
            counts
        });
    }
}

#[cfg(test)]
mod tests;
