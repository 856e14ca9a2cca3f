//! The system's memory as the file system below sees it: page cache, what in it is dirty, and time of day.

use crate::config::VfsConfig;
use crate::page_cache::{PageCache, Slot};
use crate::write_back::{self, DirtyCache, WriteBack};
use ffslab_fs::{FileSystem, Host, Ino, InodeDirt, Result, TimeSpec, PAGE_BYTES};
use ffslab_sim::{Sim, Work};

/// The system's memory. It is kept apart from the file system in [`crate::Vfs`], so that a call into the file system
/// can borrow both.
pub(crate) struct Memory {
    pub pages: PageCache,
    pub write_back: WriteBack,
    sim: Sim,
    epoch_s: u64,
    epoch_ns: u32,
    /// The page for which read-ahead has reserved a place in the cache without having read it yet; see
    /// [`Host::is_page_locked`].
    pub locked_page: Option<(Ino, u64)>,
}

impl Memory {
    pub fn new(sim: Sim, config: &VfsConfig) -> Self {
        let pages = PageCache::new(config.page_cache_bytes);
        let write_back = WriteBack::new(&sim, config, pages.capacity_pages());
        Self { pages, write_back, sim, epoch_s: config.epoch_s, epoch_ns: config.epoch_ns, locked_page: None }
    }

    /// A program uses a page of the cache (`mark_page_accessed` of `mm/swap.c`).
    #[inline]
    pub fn mark_accessed(&mut self, slot: Slot) {
        if self.pages.becomes_active(slot) {
            self.sim.work(Work::PageActivate, 0);
        }
    }

    /// Cuts the cached pages of a file to a new size. The file system is told which dirty pages are dropped unwritten.
    pub fn cut(&mut self, fs: &mut dyn FileSystem, ino: Ino, size_bytes: u64) {
        self.truncate_pages(ino, size_bytes, &mut |index| fs.drop_dirty_page(ino, index));
    }

    /// Drops all pages of a deleted file, without writing any (`evict`).
    pub fn delete(&mut self, fs: &mut dyn FileSystem, ino: Ino) -> Result<()> {
        write_back::wait_for_flusher_to_leave(self, fs, ino)?;
        self.cut(fs, ino, 0);
        self.write_back.forget(ino);
        Ok(())
    }
}

impl DirtyCache for Memory {
    fn state(&mut self) -> &mut WriteBack {
        &mut self.write_back
    }

    fn clean_for_writing(&mut self, ino: Ino, index: u64) -> bool {
        match self.pages.find(ino, index) {
            Some(slot) if self.pages.set_dirty(slot, false) => {
                self.write_back.page_cleaned(ino, index);
                self.sim.makes_up(u64::from(ino), index, true);
                true
            }
            _ => false,
        }
    }

    fn write_page(&mut self, fs: &mut dyn FileSystem, ino: Ino, index: u64) -> Result<()> {
        let slot = self.pages.find(ino, index);
        if let Some(slot) = slot {
            self.pages.set_writing(slot, true);
        }
        let written = fs.write_page(self, ino, index);
        if let Some(slot) = slot.filter(|_| self.pages.find(ino, index) == slot) {
            self.pages.set_writing(slot, false);
        }
        written
    }
}

impl Host for Memory {
    fn page(&mut self, ino: Ino, index: u64) -> Option<&[u8]> {
        let slot = self.pages.find(ino, index)?;
        self.pages.touch(slot);
        Some(self.pages.data(slot))
    }

    fn insert_page(&mut self, ino: Ino, index: u64, page: &[u8]) {
        if page.len() != PAGE_BYTES {
            return;
        }
        let slot = match self.pages.find(ino, index) {
            // A page that is cached already may hold bytes that a running write has not stored yet, so it is kept.
            Some(slot) if !self.pages.is_unread(slot) => return,
            Some(slot) => slot,
            None => self.pages.insert(ino, index),
        };
        self.pages.data_mut(slot).copy_from_slice(page);
        self.pages.set_unread(slot, false);
    }

    fn is_page_locked(&self, ino: Ino, index: u64) -> bool {
        self.locked_page == Some((ino, index))
    }

    fn now(&self) -> TimeSpec {
        let now_ns = self.sim.now_ns() + u64::from(self.epoch_ns);
        TimeSpec {
            seconds: (self.epoch_s + now_ns / 1_000_000_000) as i64,
            nanoseconds: (now_ns % 1_000_000_000) as u32,
        }
    }

    fn dirty_page(&mut self, ino: Ino, index: u64) {
        if let Some(slot) = self.pages.find(ino, index) {
            if self.pages.set_dirty(slot, true) {
                self.sim.work(Work::PageDirty, 0);
                self.write_back.page_dirtied(ino, index);
                self.sim.puts_off(u64::from(ino), index);
            }
        }
    }

    fn is_page_dirty(&self, ino: Ino, index: u64) -> bool {
        self.pages.find(ino, index).is_some_and(|slot| self.pages.is_dirty(slot))
    }

    fn clean_page(&mut self, ino: Ino, index: u64) -> bool {
        self.clean_for_writing(ino, index)
    }

    fn dirty_inode(&mut self, ino: Ino, dirt: InodeDirt) {
        self.sim.work(Work::InodeDirty, 0);
        self.write_back.mark_inode(ino, Some(dirt));
    }

    fn inode_dirt(&self, ino: Ino) -> Option<InodeDirt> {
        self.write_back.inode_dirt(ino)
    }

    fn clean_inode(&mut self, ino: Ino) {
        self.write_back.clean_inode(ino);
    }

    fn truncate_pages(&mut self, ino: Ino, size_bytes: u64, dropped: &mut dyn FnMut(u64)) {
        let first = size_bytes.div_ceil(PAGE_BYTES as u64);
        while let Some(index) = self.write_back.first_dirty_page(ino, first, u64::MAX) {
            self.sim.makes_up(u64::from(ino), index, false);
            self.clean_for_writing(ino, index);
            self.write_back.page_cleaned(ino, index);
            dropped(index);
        }
        self.pages.truncate(ino, size_bytes);
    }

    fn write_back(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<()> {
        write_back::make_space(self, fs, pages)
    }

    fn write_back_inode(&mut self, fs: &mut dyn FileSystem, ino: Ino, first: u64, last: u64) -> Result<()> {
        write_back::write_range(self, fs, ino, first, last)
    }

    fn run_flusher(&mut self, fs: &mut dyn FileSystem) {
        write_back::flusher_turn(self, fs);
    }
}
