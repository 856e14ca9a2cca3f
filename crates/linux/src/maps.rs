//! Mapped files: mmap(2), the page faults of loads and stores, msync(2), munmap(2).
//!
//! Source: `mm/filemap.c` (`filemap_fault`, `do_sync_mmap_readahead`, `do_async_mmap_readahead`, `filemap_map_pages`),
//! `mm/memory.c` (`do_read_fault`, `do_shared_fault`, `do_wp_page`), `mm/mmap.c` (`do_mmap`) and `mm/msync.c` of Linux 5.10, 6.1,
//! 6.12 and 2.6.37. Maps are shared ones (`MAP_SHARED`) and lie in memory so that the place of a page in 64 KiB is that in the
//! file, which decides which neighbours a fault maps along.
//!
//! A page is in the page table when it is marked as mapped in the page cache. So when several programs map one file, the first
//! fault of a page serves all of them.

use crate::config::ReadAheadRules;
use crate::open_file::{Mapping, OpenFile};
use crate::page_cache::Slot;
use crate::read::Reader;
use crate::vfs::{spend, Vfs};
use crate::write_back;
use ffslab_fs::{Errno, FileKind, Ino, Result, PAGE_BYTES};
use ffslab_sim::Work;
use ffslab_system::{Fd, MapAccess};

const PAGE: u64 = PAGE_BYTES as u64;
/// `fault_around_bytes` of `mm/memory.c`, in pages: 64 KiB, since Linux 3.15.
const FAULT_AROUND_PAGES: u64 = 16;

impl Vfs {
    /// The map of an open file, if all the bytes lie in it; [`Errno::Inval`] otherwise.
    fn map_of(&self, fd: Fd, at: u64, bytes: usize) -> Result<(Ino, Mapping)> {
        let &OpenFile { ino, map, .. } = self.file(fd)?;
        let mapping = map.ok_or(Errno::Inval)?;
        let end = at.checked_add(bytes as u64).ok_or(Errno::Inval)?;
        if at >= mapping.first * PAGE && end <= (mapping.last + 1) * PAGE {
            Ok((ino, mapping))
        } else {
            Err(Errno::Inval)
        }
    }

    /// `do_mmap`: an open file that could be written makes a map that could become writable, which some file systems refuse
    /// whatever the program wants to do.
    pub(crate) fn map_file(&mut self, fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Result<()> {
        let &OpenFile { kind, flags, map, .. } = self.file(fd)?;
        let end = at.checked_add(bytes).ok_or(Errno::Inval)?;
        if bytes == 0 || !at.is_multiple_of(PAGE) || map.is_some() {
            return Err(Errno::Inval);
        }
        if !flags.read || (access == MapAccess::Write && !flags.write) {
            return Err(Errno::Acces);
        }
        if kind != FileKind::File {
            return Err(Errno::NoDev);
        }
        if flags.write && !self.parts()?.0.maps_shared_writable() {
            return Err(Errno::Inval);
        }
        self.file_mut(fd)?.map = Some(Mapping { access, first: at / PAGE, last: (end - 1) / PAGE });
        Ok(())
    }

    /// What was stored stays in the page cache; it is written later.
    pub(crate) fn unmap(&mut self, fd: Fd) -> Result<()> {
        let file = self.file_mut(fd)?;
        let (ino, Mapping { first, last, .. }) = (file.ino, file.map.take().ok_or(Errno::Inval)?);
        let end = self.parts()?.0.getattr(ino)?.size_bytes.div_ceil(PAGE);
        self.memory.pages.unmap_range(ino, first, last.min(end));
        // Nodes of the tree of maps, or of the file's own map.
        self.sim.frees_later();
        Ok(())
    }

    /// msync(2) with `MS_SYNC`. Since 3.17 it writes the range and leaves time stamps alone, as fdatasync(2) does; before, it was
    /// an fsync(2) of the file.
    pub(crate) fn sync_map(&mut self, fd: Fd, at: u64, bytes: usize) -> Result<()> {
        self.map_of(fd, at, bytes)?;
        if bytes == 0 || !self.file(fd)?.flags.write {
            return Ok(());
        }
        match self.config.kernel.read_ahead {
            ReadAheadRules::V2_6 => self.sync_range(fd, 0, u64::MAX, false),
            _ => self.sync_range(fd, at / PAGE, (at + bytes as u64 - 1) / PAGE, true),
        }
    }

    // ---- loads and stores --------------------------------------------------------------------------------------------

    /// A program loads bytes and does nothing with them.
    pub(crate) fn load_mapped(&mut self, fd: Fd, at: u64, bytes: usize) -> Result<()> {
        let (ino, mapping) = self.map_of(fd, at, bytes)?;
        let end = at + bytes as u64;
        for index in at / PAGE..end.div_ceil(PAGE) {
            loop {
                match self.memory.pages.find(ino, index) {
                    Some(slot) if self.memory.pages.is_mapped(slot) => break self.memory.pages.touch(slot),
                    _ => self.fault(|vfs| vfs.read_fault(fd, mapping, index))?,
                }
            }
        }
        Ok(())
    }

    pub(crate) fn store_mapped(&mut self, fd: Fd, at: u64, data: &[u8]) -> Result<()> {
        let (ino, mapping) = self.map_of(fd, at, data.len())?;
        if mapping.access != MapAccess::Write {
            return Err(Errno::Acces);
        }
        let mut done = 0;
        while done < data.len() {
            let position = at + done as u64;
            let (index, start) = (position / PAGE, (position % PAGE) as usize);
            let count = (PAGE_BYTES - start).min(data.len() - done);
            // Between a fault and the store the page may have been written back, which takes it away again.
            let slot = loop {
                match self.memory.pages.find(ino, index) {
                    Some(slot) if self.memory.pages.is_writable(slot) => break slot,
                    _ => self.fault(|vfs| vfs.write_fault(fd, index))?,
                }
            };
            self.memory.pages.data_mut(slot)[start..start + count].copy_from_slice(&data[done..done + count]);
            self.memory.pages.touch(slot);
            self.memory.write_back.page_changed(ino, index);
            done += count;
        }
        Ok(())
    }

    /// A page fault enters and leaves the kernel as a system call does, but nothing traces it as one.
    fn fault(&mut self, body: impl FnOnce(&mut Vfs) -> Result<()>) -> Result<()> {
        self.spend(self.config.costs.call_ns);
        self.wait_for_chip();
        let result = body(self);
        spend(&self.sim, &self.config, self.config.costs.page_ns);
        self.sim.work(Work::PageRead, 0);
        self.schedule();
        result
    }

    fn read_fault(&mut self, fd: Fd, mapping: Mapping, index: u64) -> Result<()> {
        let mut reader = self.reader(fd)?;
        let maps_around = reader.config.kernel.read_ahead >= ReadAheadRules::V5_10;
        if maps_around && reader.map_around(mapping, index) {
            return Ok(());
        }
        let begins_anew = reader.fault_in(index)?;
        if maps_around && begins_anew && reader.map_around(mapping, index) {
            return Ok(());
        }
        let slot = reader.memory.pages.find(reader.ino, index).ok_or(Errno::Io)?;
        reader.memory.pages.map(slot, false);
        Ok(())
    }

    /// A store to a page that is not in the page table, or there for loads alone.
    fn write_fault(&mut self, fd: Fd, index: u64) -> Result<()> {
        let mut reader = self.reader(fd)?;
        let is_mapped =
            reader.memory.pages.find(reader.ino, index).is_some_and(|slot| reader.memory.pages.is_mapped(slot));
        if !is_mapped {
            reader.fault_in(index)?;
        }
        let ino = reader.ino;
        let (fs, memory) = self.parts()?;
        let slot = memory.pages.find(ino, index).ok_or(Errno::Io)?;
        memory.write_back.store_begins(fs);
        memory.pages.pin(slot);
        let made = fs.page_mkwrite(memory, ino, index);
        memory.pages.unpin(slot);
        made?;
        memory.pages.map(slot, true);
        write_back::balance_dirty_pages(memory, fs)
    }
}

impl Reader<'_> {
    /// Brings a page into the cache (`filemap_fault`). Returns whether the fault begins anew afterwards, because the lock of the
    /// program's memory was given up for the chip. [`Errno::Io`], a bus error for programs: it lies behind the end of the file.
    fn fault_in(&mut self, index: u64) -> Result<bool> {
        let rules = self.config.kernel.read_ahead;
        (self.demand_start, self.demand_end) = (index, index + 1);
        if index >= self.size_bytes()?.div_ceil(PAGE) {
            return Err(Errno::Io);
        }
        let mut begins_anew = false;
        match self.memory.pages.find(self.ino, index) {
            Some(slot) => {
                begins_anew = self.hit(slot, index);
                self.fill_if_unread(index)?;
            }
            None => {
                self.miss(index);
                begins_anew |= rules >= ReadAheadRules::V5_10;
                if self.memory.pages.find(self.ino, index).is_none() {
                    self.read_page(index)?;
                }
                self.fill_if_unread(index)?;
            }
        }
        self.ra.last_page = Some(index);
        if rules == ReadAheadRules::V2_6 {
            self.ra.prev_pos = (index * PAGE) as i64;
        }
        Ok(begins_anew)
    }

    /// A page that read-ahead has left out is read for itself.
    fn fill_if_unread(&mut self, index: u64) -> Result<()> {
        match self.memory.pages.find(self.ino, index) {
            Some(slot) if self.memory.pages.is_unread(slot) => self.fill_page(slot, index),
            _ => Ok(()),
        }
    }

    /// `do_async_mmap_readahead`: a mark on the page starts the next window.
    fn hit(&mut self, slot: Slot, index: u64) -> bool {
        // A policy is told of the page that is needed, the kernel asks for a window around it.
        let pages = if self.is_left_to_policy() { 1 } else { self.ra.ra_pages };
        if pages == 0 && self.config.kernel.read_ahead >= ReadAheadRules::V5_10 {
            return false;
        }
        self.ra.mmap_hits(1);
        if !self.memory.pages.is_marked(slot) {
            return false;
        }
        self.memory.pages.clear_mark(slot);
        if pages > 0 {
            self.memory.pages.pin(slot);
            self.read_on_demand(index, pages, true);
            self.memory.pages.unpin(slot);
        }
        true
    }

    /// `do_sync_mmap_readahead`. 2.6.37 takes a fault behind the page of the last one for a sequential read.
    fn miss(&mut self, index: u64) {
        let (rules, pages) = (self.config.kernel.read_ahead, self.ra.ra_pages);
        if self.is_left_to_policy() {
            return self.read_on_demand(index, 1, false);
        }
        if rules == ReadAheadRules::V2_6 {
            if index as i64 - 1 == self.ra.prev_pos >> 12 {
                return match (pages, self.ra.random) {
                    (0, _) => {}
                    (_, true) => self.force(index, pages),
                    _ => self.read_on_demand(index, pages, false),
                };
            }
        } else if pages == 0 {
            return;
        }
        let most = if rules == ReadAheadRules::V2_6 { pages.min(self.sane_pages()) } else { pages };
        if let Some(window) = self.ra.around(rules, index, most) {
            self.read_window(window);
        }
    }

    /// Maps the cached pages around a fault (`do_fault_around`, `filemap_map_pages`), but for those that carry the mark of
    /// read-ahead or are not read. Returns whether the page of the fault was among them.
    fn map_around(&mut self, mapping: Mapping, index: u64) -> bool {
        let start = index - index % FAULT_AROUND_PAGES;
        let end = self.size_bytes().unwrap_or(0).div_ceil(PAGE);
        let last = (start + FAULT_AROUND_PAGES - 1).min(mapping.last);
        let (mut hits, mut is_mapped) = (0, false);
        for page in start.max(mapping.first)..=last {
            let Some(slot) = self.memory.pages.find(self.ino, page).filter(|_| page < end) else { continue };
            if !self.memory.pages.is_marked(slot) && !self.memory.pages.is_unread(slot) {
                self.memory.pages.map(slot, false);
                hits += 1;
                is_mapped |= page == index;
            }
        }
        self.ra.mmap_hits(hits);
        is_mapped
    }
}
