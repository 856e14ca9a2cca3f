//! What a file system may ask of the system above it: its page cache, and what in it still has to be written.

use crate::{FileSystem, Ino, Result, TimeSpec, PAGE_BYTES};
use std::collections::BTreeMap;

/// How much of an inode is not on the medium yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InodeDirt {
    /// Only what fdatasync(2) may leave out, as time stamps (`I_DIRTY_SYNC`).
    Attributes,
    /// Something that is needed to find the data, as the size (`I_DIRTY_DATASYNC`).
    Data,
}

/// What a file system may ask of the system above. The second half is for file systems that delay writes
/// ([`FileSystem::delays_writes`]); they pass themselves where the host must call them back.
pub trait Host {
    /// The up-to-date cached page, if there is one. [`PAGE_BYTES`] long.
    fn page(&mut self, ino: Ino, index: u64) -> Option<&[u8]>;

    /// Takes a page that the file system read for its own purposes into the cache.
    fn insert_page(&mut self, ino: Ino, index: u64, page: &[u8]);

    /// Whether the page has a place in the cache, but is still to be read: it cannot be inserted. So are the pages of a
    /// read-ahead of 6.1, which are read one after the other.
    fn is_page_locked(&self, _ino: Ino, _index: u64) -> bool {
        false
    }

    /// Present time of day for time stamps.
    fn now(&self) -> TimeSpec;

    // ---- delayed writing -----------------------------------------------------------------------------------

    /// The cached page must be written (`set_page_dirty`). No effect when it is not cached.
    fn dirty_page(&mut self, ino: Ino, index: u64);

    fn is_page_dirty(&self, ino: Ino, index: u64) -> bool;

    /// The file system writes the page by itself: it is clean from now on (`clear_page_dirty_for_io`). `false`: it was
    /// clean before.
    fn clean_page(&mut self, ino: Ino, index: u64) -> bool;

    /// The inode itself must be written (`mark_inode_dirty`).
    fn dirty_inode(&mut self, ino: Ino, dirt: InodeDirt);

    /// `None`: the inode itself is clean; it may have dirty pages.
    fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt>;

    /// The file system has written the inode by itself and the host need not ask for it any more. A file system that
    /// keeps a dirty flag of its own may do without: [`FileSystem::write_inode`] then finds nothing to do.
    fn clean_inode(&mut self, ino: Ino);

    /// Cuts cached pages as [`FileSystem::setattr`] changes the size, for file systems that need it done at a moment of
    /// their own (`truncate_setsize`). `dropped` is told the dirty pages that went unwritten, in ascending order.
    fn truncate_pages(&mut self, ino: Ino, size_bytes: u64, dropped: &mut dyn FnMut(u64));

    /// Space is short: the flusher writes about `pages` dirty pages back while the caller waits, on old kernels all there
    /// are (`writeback_inodes_sb_nr`, `writeback_inodes_sb`). Errors of single pages are kept for the next fsync; only
    /// [`crate::Errno::PowerCut`] is passed on. For the program's calls only: a background task cannot wait for the
    /// flusher, and nothing happens when it asks.
    fn write_back(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<()>;

    /// Writes the dirty pages `first ..= last` of an inode, in the running task (`filemap_write_and_wait_range`).
    /// Returns the first error.
    fn write_back_inode(&mut self, fs: &mut dyn FileSystem, ino: Ino, first: u64, last: u64) -> Result<()>;

    /// Runs the flusher ([`ffslab_sim::Task::Flusher`]), which the CPU model has chosen, until it sleeps or yields. See
    /// [`crate::run_turn`].
    fn run_flusher(&mut self, fs: &mut dyn FileSystem);
}

/// A host without a page cache, as RTEMS is one. Remembers the single page that is being written, and what of it and
/// of inodes a delaying file system has still to write: such a host calls [`NoPageCache::write_through`] after each
/// operation.
#[derive(Default)]
pub struct NoPageCache {
    current: Option<(Ino, u64)>,
    page: Vec<u8>,
    is_dirty: bool,
    inodes: BTreeMap<Ino, InodeDirt>,
    /// Time of day that [`Host::now`] reports.
    pub time: TimeSpec,
}

impl NoPageCache {
    /// Puts the page that the following `write_end` is about in place. What was there before is forgotten.
    pub fn set_page(&mut self, ino: Ino, index: u64, page: &[u8]) {
        self.current = Some((ino, index));
        self.is_dirty = false;
        self.page.clear();
        self.page.extend_from_slice(page);
    }

    /// Writes what the last operation left dirty: the page, then inodes in ascending order.
    ///
    /// # Errors
    /// The first one; everything counts as clean afterwards nevertheless.
    pub fn write_through(&mut self, fs: &mut dyn FileSystem) -> Result<()> {
        let mut result = Ok(());
        if let Some((ino, index)) = self.current.filter(|_| self.is_dirty) {
            self.is_dirty = false;
            result = fs.write_page(self, ino, index);
        }
        while let Some((ino, _)) = self.inodes.pop_first() {
            let written = fs.write_inode(self, ino);
            result = result.and(written);
        }
        result
    }
}

impl Host for NoPageCache {
    fn page(&mut self, ino: Ino, index: u64) -> Option<&[u8]> {
        (self.current == Some((ino, index))).then_some(&self.page[..])
    }

    fn insert_page(&mut self, _ino: Ino, _index: u64, _page: &[u8]) {}

    fn now(&self) -> TimeSpec {
        self.time
    }

    fn dirty_page(&mut self, ino: Ino, index: u64) {
        self.is_dirty |= self.current == Some((ino, index));
    }

    fn is_page_dirty(&self, ino: Ino, index: u64) -> bool {
        self.is_dirty && self.current == Some((ino, index))
    }

    fn clean_page(&mut self, ino: Ino, index: u64) -> bool {
        let was_dirty = self.is_page_dirty(ino, index);
        self.is_dirty &= !was_dirty;
        was_dirty
    }

    fn dirty_inode(&mut self, ino: Ino, dirt: InodeDirt) {
        let entry = self.inodes.entry(ino).or_insert(dirt);
        *entry = dirt.max(*entry);
    }

    fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt> {
        self.inodes.get(&ino).copied()
    }

    fn clean_inode(&mut self, ino: Ino) {
        self.inodes.remove(&ino);
    }

    fn truncate_pages(&mut self, ino: Ino, size_bytes: u64, dropped: &mut dyn FnMut(u64)) {
        let Some((current_ino, index)) = self.current else { return };
        if current_ino != ino {
            return;
        }
        let page_bytes = PAGE_BYTES as u64;
        if index >= size_bytes.div_ceil(page_bytes) {
            if self.is_dirty {
                dropped(index);
            }
            self.is_dirty = false;
            self.current = None;
        } else if index == size_bytes / page_bytes {
            self.page[(size_bytes % page_bytes) as usize..].fill(0);
        }
    }

    fn write_back(&mut self, fs: &mut dyn FileSystem, _pages: u64) -> Result<()> {
        self.write_through(fs)
    }

    fn write_back_inode(&mut self, fs: &mut dyn FileSystem, ino: Ino, first: u64, last: u64) -> Result<()> {
        match self.current {
            Some((current, index)) if self.is_dirty && current == ino && (first..=last).contains(&index) => {
                self.is_dirty = false;
                fs.write_page(self, ino, index)
            }
            _ => Ok(()),
        }
    }

    fn run_flusher(&mut self, fs: &mut dyn FileSystem) {
        // Nothing ever waits for a flusher here.
        fs.sim().block(ffslab_sim::Task::Flusher);
    }
}
