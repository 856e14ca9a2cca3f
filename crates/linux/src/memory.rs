//! The system's memory as the file system below sees it: page cache and time of day.

use crate::page_cache::PageCache;
use ffslab_fs::{FileSystem, Host, Ino, InodeDirt, Result, TimeSpec, PAGE_BYTES};
use ffslab_sim::Sim;

/// Stands apart from the file system in [`crate::Vfs`], so that a call into the file system can borrow both.
pub(crate) struct Memory {
    pub pages: PageCache,
    sim: Sim,
    epoch_s: u64,
}

impl Memory {
    pub fn new(sim: Sim, page_cache_bytes: u64, epoch_s: u64) -> Self {
        Self { pages: PageCache::new(page_cache_bytes), sim, epoch_s }
    }
}

impl Host for Memory {
    fn page(&mut self, ino: Ino, index: u64) -> Option<&[u8]> {
        let slot = self.pages.find(ino, index)?;
        self.pages.touch(slot);
        Some(self.pages.data(slot))
    }

    fn insert_page(&mut self, ino: Ino, index: u64, page: &[u8]) {
        // A page that is cached may hold bytes that a running write has not stored yet: it wins.
        if page.len() == PAGE_BYTES && self.pages.find(ino, index).is_none() {
            let slot = self.pages.insert(ino, index);
            self.pages.data_mut(slot).copy_from_slice(page);
        }
    }

    fn now(&self) -> TimeSpec {
        let now_ns = self.sim.now_ns();
        TimeSpec {
            seconds: (self.epoch_s + now_ns / 1_000_000_000) as i64,
            nanoseconds: (now_ns % 1_000_000_000) as u32,
        }
    }

    fn dirty_page(&mut self, _ino: Ino, _index: u64) {}

    fn is_page_dirty(&self, _ino: Ino, _index: u64) -> bool {
        false
    }

    fn clean_page(&mut self, _ino: Ino, _index: u64) -> bool {
        false
    }

    fn dirty_inode(&mut self, _ino: Ino, _dirt: InodeDirt) {}

    fn inode_dirt(&self, _ino: Ino) -> Option<InodeDirt> {
        None
    }

    fn clean_inode(&mut self, _ino: Ino) {}

    fn truncate_pages(&mut self, ino: Ino, size_bytes: u64, _dropped: &mut dyn FnMut(u64)) {
        self.pages.truncate(ino, size_bytes);
    }

    fn write_back(&mut self, _fs: &mut dyn FileSystem, _pages: u64) -> Result<()> {
        Ok(())
    }

    fn write_back_inode(&mut self, _fs: &mut dyn FileSystem, _ino: Ino, _first: u64, _last: u64) -> Result<()> {
        Ok(())
    }

    fn run_flusher(&mut self, _fs: &mut dyn FileSystem) {}
}
