//! What a file system may ask of the system above it: access to the page cache, and write-back of dirty pages and
//! inodes.

use crate::causes;
use crate::{FileSystem, Ino, Result, TimeSpec, PAGE_BYTES};
use std::collections::BTreeMap;

/// Which part of an inode is not on the medium yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InodeDirt {
    /// Only attributes that fdatasync(2) need not write, such as time stamps (`I_DIRTY_SYNC`).
    Attributes,
    /// Attributes that are needed to find the data, such as the size (`I_DIRTY_DATASYNC`).
    Data,
}

/// The services of the system above a file system. The second half is for file systems that delay writes
/// ([`FileSystem::delays_writes`]). They pass themselves as an argument where the host must call them back.
pub trait Host {
    /// The cached page, if it is cached and up to date. It is [`PAGE_BYTES`] long.
    fn page(&mut self, ino: Ino, index: u64) -> Option<&[u8]>;

    /// Puts a page into the cache that the file system read for its own purposes.
    fn insert_page(&mut self, ino: Ino, index: u64, page: &[u8]);

    /// Whether the page has a place in the cache but is not read yet, so that it cannot be inserted. This is so for
    /// pages that read-ahead of 6.1 will read next.
    fn is_page_locked(&self, _ino: Ino, _index: u64) -> bool {
        false
    }

    /// The current time of day, for time stamps.
    fn now(&self) -> TimeSpec;

    // ---- delayed writing -----------------------------------------------------------------------------------

    /// The cached page must be written (`set_page_dirty`). No effect when it is not cached.
    fn dirty_page(&mut self, ino: Ino, index: u64);

    fn is_page_dirty(&self, ino: Ino, index: u64) -> bool;

    /// Marks a page as clean, because the file system writes it by itself (`clear_page_dirty_for_io`). Returns `false`
    /// if it was clean before.
    fn clean_page(&mut self, ino: Ino, index: u64) -> bool;

    /// Marks an inode as dirty, so that it is written later (`mark_inode_dirty`).
    fn dirty_inode(&mut self, ino: Ino, dirt: InodeDirt);

    /// Which part of an inode is dirty. `None`: the inode itself is clean, although it may have dirty pages.
    fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt>;

    /// Marks an inode as clean, because the file system has written it by itself. A file system with a dirty flag of
    /// its own need not call this: [`FileSystem::write_inode`] then finds nothing to do.
    fn clean_inode(&mut self, ino: Ino);

    /// Cuts the cached pages of a file while [`FileSystem::setattr`] changes its size, for file systems that need this
    /// at a certain moment (`truncate_setsize`). `dropped` is called with the dirty pages that are dropped unwritten,
    /// in ascending order.
    fn truncate_pages(&mut self, ino: Ino, size_bytes: u64, dropped: &mut dyn FnMut(u64));

    /// Writes back dirty pages because space is short: about `pages` of them, on old kernels all
    /// (`writeback_inodes_sb_nr`, `writeback_inodes_sb`). The caller waits for the flusher. Errors of single pages are
    /// kept for the next fsync; only [`crate::Errno::PowerCut`] is returned. This works in calls of the program only: a
    /// background task cannot wait for the flusher, and nothing happens when it asks.
    fn write_back(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<()>;

    /// Writes the dirty pages `first ..= last` of an inode, in the running task (`filemap_write_and_wait_range`).
    /// Returns the first error.
    fn write_back_inode(&mut self, fs: &mut dyn FileSystem, ino: Ino, first: u64, last: u64) -> Result<()>;

    /// Runs the flusher ([`causes::FLUSHER`]) until it sleeps or yields. The CPU model has chosen it to run. See
    /// [`crate::run_turn`].
    fn run_flusher(&mut self, fs: &mut dyn FileSystem);
}

/// A host without a page cache, such as RTEMS. It keeps the single page that is being written, and notes which page and
/// which inodes a file system that delays writes has left dirty: after each operation the caller writes them with
/// [`NoPageCache::write_through`].
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
    /// Sets the page for the following `write_end`. The page before it is dropped.
    pub fn set_page(&mut self, ino: Ino, index: u64, page: &[u8]) {
        self.current = Some((ino, index));
        self.is_dirty = false;
        self.page.clear();
        self.page.extend_from_slice(page);
    }

    /// Writes what the last operation left dirty: the page, then the inodes in ascending order.
    ///
    /// # Errors
    /// The first error. Everything counts as clean afterwards nevertheless.
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
        // No task waits for a flusher on this host.
        fs.sim().block(&causes::FLUSHER);
    }
}
