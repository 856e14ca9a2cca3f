//! Buffered read and read-ahead: `mm/filemap.c` of Linux 6.1 (`filemap_read`) and of Linux 2.6.37
//! (`do_generic_file_read`). Which pages are read ahead is decided in [`crate::read_ahead`].
//!
//! Flash drivers read synchronously: all pages are read one after the other inside the call, and the program also waits
//! for those that it did not ask for.

use crate::config::{ReadAheadRules, VfsConfig};
use crate::memory::Memory;
use crate::open_file::OpenFile;
use crate::page_cache::Slot;
use crate::read_ahead::{ReadAhead, Request, Window, FORCED_CHUNK_PAGES};
use crate::vfs::{spend, Vfs};
use crate::write_back;
use ffslab_fs::causes;
use ffslab_fs::{Errno, FileKind, FileSystem, Ino, Result, PAGE_BYTES};
use ffslab_policy::ReadAheadRule;
use ffslab_sim::{Function, Sim, Work};
use ffslab_system::{Advice, Fd};

const PAGE: u64 = PAGE_BYTES as u64;
/// Pages that 6.1 takes from the cache at once (`PAGEVEC_SIZE`).
const BATCH_PAGES: usize = 15;

/// Where the bytes that are read go.
pub(crate) enum Target<'a> {
    Buffer(&'a mut [u8]),
    /// Nowhere; everything else happens as in a read with a buffer.
    Discard(usize),
}

impl Target<'_> {
    fn len(&self) -> usize {
        match self {
            Target::Buffer(buffer) => buffer.len(),
            Target::Discard(len) => *len,
        }
    }

    fn put(&mut self, at: usize, data: &[u8]) {
        if let Target::Buffer(buffer) = self {
            buffer[at..at + data.len()].copy_from_slice(data);
        }
    }
}

impl Vfs {
    /// Reads at the file position, which moves on. 0 at the end of the file.
    pub(crate) fn read_on(&mut self, fd: Fd, buffer: &mut [u8]) -> Result<usize> {
        let position = self.file(fd)?.position;
        let count = self.read_file(fd, position, Target::Buffer(buffer))?;
        self.file_mut(fd)?.position = position + count as u64;
        Ok(count)
    }

    pub(crate) fn read_file(&mut self, fd: Fd, at: u64, target: Target) -> Result<usize> {
        let file = self.file(fd)?;
        if !file.flags.read {
            return Err(Errno::BadF);
        }
        if file.kind != FileKind::File {
            return Err(Errno::IsDir);
        }
        let rules = self.config.kernel.read_ahead;
        let mut reader = self.reader(fd)?;
        let limit = reader.fs.file_bytes_max();
        if at >= limit || target.len() == 0 {
            return Ok(0);
        }
        let len = target.len().min(usize::try_from(limit - at).unwrap_or(usize::MAX));
        match rules {
            ReadAheadRules::V2_6 | ReadAheadRules::V5_10 => reader.read_by_page(at, len, target),
            ReadAheadRules::V6_1 | ReadAheadRules::V6_11 => reader.read_in_batches(at, len, target),
        }
    }

    /// posix_fadvise(2) (`mm/fadvise.c`); `len` 0 means to the end of the file.
    pub(crate) fn take_advice(&mut self, fd: Fd, at: u64, len: u64, advice: Advice) -> Result<()> {
        let device_ra_pages = self.device_ra_pages;
        let rules = self.config.kernel.read_ahead;
        let file = self.file_mut(fd)?;
        // `last` is the last byte of the range.
        let last = if len == 0 { u64::MAX } else { at.saturating_add(len) - 1 };
        match advice {
            Advice::Normal => {
                file.read_ahead.ra_pages = device_ra_pages;
                file.read_ahead.random = false;
            }
            Advice::Random => file.read_ahead.random = true,
            Advice::Sequential => {
                file.read_ahead.ra_pages = device_ra_pages * 2;
                file.read_ahead.random = false;
            }
            Advice::WillNeed if file.kind == FileKind::File => {
                let (first, last) = (at / PAGE, last / PAGE);
                self.reader(fd)?.force(first, last - first + 1);
            }
            Advice::DontNeed => {
                let ino = file.ino;
                let (fs, memory) = self.parts()?;
                let first = at.div_ceil(PAGE);
                // Kernels since 4.8 keep a page that is only partly in the range, unless the file ends in the range.
                let spares_last = rules >= ReadAheadRules::V5_10
                    && last % PAGE != PAGE - 1
                    && last.checked_add(1) != Some(fs.getattr(ino)?.size_bytes);
                let end = last / PAGE + u64::from(!spares_last);
                if fs.delays_writes() || memory.write_back.has_stores {
                    // Errors are kept with the inode, and the next fsync reports them.
                    let _kept = write_back::start_writing_range(memory, fs, ino, at / PAGE, last / PAGE);
                }
                if first < end {
                    memory.pages.remove_range(ino, first, end - 1);
                }
            }
            Advice::WillNeed | Advice::NoReuse => {}
        }
        Ok(())
    }

    pub(crate) fn reader(&mut self, fd: Fd) -> Result<Reader<'_>> {
        let file = self.files.get_mut(fd.0 as usize).and_then(Option::as_mut).ok_or(Errno::BadF)?;
        let OpenFile { ino, read_ahead, .. } = file;
        let fs = self.fs.as_deref_mut().ok_or(Errno::NoDev)?;
        let (memory, sim, config) = (&mut self.memory, &self.sim, &self.config);
        Ok(Reader {
            fs,
            memory,
            sim,
            config,
            ino: *ino,
            ra: read_ahead,
            rule: self.read_ahead_rule.as_mut(),
            demand_start: 0,
            demand_end: 0,
            batch: Batch::default(),
        })
    }
}

/// Cached pages that follow each other. They stay pinned while the batch is in use.
#[derive(Default)]
struct Batch {
    slots: [Slot; BATCH_PAGES],
    len: usize,
}

/// One read call, or one page fault, at work.
pub(crate) struct Reader<'a> {
    pub fs: &'a mut dyn FileSystem,
    pub memory: &'a mut Memory,
    pub sim: &'a Sim,
    pub config: &'a VfsConfig,
    pub ino: Ino,
    pub ra: &'a mut ReadAhead,
    /// What says how far to read ahead, if not the kernel decides.
    rule: Option<&'a mut ReadAheadRule>,
    /// First page that the program asks for; a page fault reads pages before it, too.
    pub demand_start: u64,
    /// First page behind those that it asks for. Pages from there on are read ahead.
    pub demand_end: u64,
    batch: Batch,
}

impl Reader<'_> {
    pub fn size_bytes(&mut self) -> Result<u64> {
        self.fs.getattr(self.ino).map(|stat| stat.size_bytes)
    }

    // ---- since 5.12 --------------------------------------------------------------------------------------------------

    fn read_in_batches(&mut self, at: u64, len: usize, mut target: Target) -> Result<usize> {
        let end = at + len as u64;
        self.demand_end = end.div_ceil(PAGE);
        let mut position = at;
        let mut failure = None;
        while position < end {
            self.fs.resched(self.memory);
            let size = self.size_bytes()?;
            if position >= size {
                break;
            }
            if let Err(error) = self.get_pages(position / PAGE) {
                failure = Some(error);
                break;
            }
            let copy_end = end.min(size);
            for i in 0..self.batch.len {
                if position >= copy_end {
                    break;
                }
                let count = (PAGE - position % PAGE).min(copy_end - position);
                self.copy(self.batch.slots[i], position, count, (position - at) as usize, &mut target);
                position += count;
                self.ra.prev_pos = position as i64;
            }
            self.release_batch();
            if position >= size {
                break;
            }
        }
        finish(position - at, failure)
    }

    /// Fills the batch with at least one page, from `index` on (`filemap_get_pages`).
    fn get_pages(&mut self, index: u64) -> Result<()> {
        self.fill_batch(index);
        if self.batch.len == 0 {
            self.sync_read_ahead(index);
            self.fill_batch(index);
        }
        if self.batch.len == 0 {
            let slot = self.read_page(index)?;
            self.hold(slot);
            return Ok(());
        }
        let last_index = index + self.batch.len as u64 - 1;
        // A batch ends with a marked page, so only its last page can carry the mark.
        let last = self.batch.slots[self.batch.len - 1];
        if self.memory.pages.is_marked(last) {
            self.memory.pages.clear_mark(last);
            self.async_read_ahead(last_index);
        }
        // So can only its last page have been left out by read-ahead.
        if self.memory.pages.is_unread(last) {
            if let Err(error) = self.fill_page(last, last_index) {
                self.memory.pages.unpin(last);
                self.batch.len -= 1;
                return if self.batch.len == 0 { Err(error) } else { Ok(()) };
            }
        }
        Ok(())
    }

    fn fill_batch(&mut self, index: u64) {
        for index in index..self.demand_end.min(index + BATCH_PAGES as u64) {
            let Some(slot) = self.memory.pages.find(self.ino, index) else { break };
            self.hold(slot);
            if self.memory.pages.is_marked(slot) || self.memory.pages.is_unread(slot) {
                break;
            }
        }
    }

    fn hold(&mut self, slot: Slot) {
        self.memory.pages.pin(slot);
        self.batch.slots[self.batch.len] = slot;
        self.batch.len += 1;
    }

    fn release_batch(&mut self) {
        for &slot in &self.batch.slots[..self.batch.len] {
            self.memory.pages.unpin(slot);
        }
        self.batch.len = 0;
    }

    // ---- until 5.11 --------------------------------------------------------------------------------------------------

    fn read_by_page(&mut self, at: u64, len: usize, mut target: Target) -> Result<usize> {
        let end = at + len as u64;
        self.demand_end = end.div_ceil(PAGE);
        let mut position = at;
        let mut prev_pos = self.ra.prev_pos;
        let mut failure = None;
        while position < end {
            self.fs.resched(self.memory);
            let index = position / PAGE;
            // The size is checked only after the page was read. So a read at the end of a file whose size is a multiple
            // of the page size leaves a page of zeros behind the end in the cache.
            let slot = match self.get_page(index) {
                Ok(slot) => slot,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            };
            let size = self.size_bytes()?;
            if position >= size {
                break;
            }
            let page_end = size.min((index + 1) * PAGE);
            let count = page_end.min(end) - position;
            self.copy(slot, position, count, (position - at) as usize, &mut target);
            self.memory.pages.touch(slot);
            position += count;
            // The position of the last copied byte by page index and offset, with the offset 0 after a whole page.
            prev_pos = (index * PAGE + position % PAGE) as i64;
        }
        self.ra.prev_pos = prev_pos;
        finish(position - at, failure)
    }

    fn get_page(&mut self, index: u64) -> Result<Slot> {
        let slot = match self.memory.pages.find(self.ino, index) {
            Some(slot) => slot,
            None => {
                self.sync_read_ahead(index);
                match self.memory.pages.find(self.ino, index) {
                    Some(slot) => slot,
                    None => return self.read_page(index),
                }
            }
        };
        if self.memory.pages.is_marked(slot) {
            self.memory.pages.clear_mark(slot);
            self.memory.pages.pin(slot);
            self.async_read_ahead(index);
            self.memory.pages.unpin(slot);
        }
        Ok(slot)
    }

    // ---- common ------------------------------------------------------------------------------------------------------

    fn copy(&mut self, slot: Slot, position: u64, count: u64, to: usize, target: &mut Target) {
        let start = (position % PAGE) as usize;
        target.put(to, &self.memory.pages.data(slot)[start..start + count as usize]);
        let before = self.ra.last_page.replace(position / PAGE);
        // A page that is read piece by piece counts as used once (`do_generic_file_read` of `mm/filemap.c`).
        if before != self.ra.last_page {
            self.memory.mark_accessed(slot);
        }
        spend(self.sim, self.config, self.config.costs.page_ns);
        self.sim.work(Work::PageRead, count as usize);
    }

    /// Reads ahead because the page at `index` is missing (`page_cache_sync_readahead`).
    fn sync_read_ahead(&mut self, index: u64) {
        let count = self.demand_end - index;
        if self.is_left_to_policy() {
            return self.read_on_demand(index, count, false);
        }
        if self.ra.ra_pages == 0 {
            // In both kernels the caller then reads the single page. 6.1 first forces a read-ahead of 0 pages.
            return;
        }
        if self.ra.random {
            self.force(index, count);
        } else {
            self.read_on_demand(index, count, false);
        }
    }

    /// Reads ahead because the page at `index` carried the mark, which is cleared (`page_cache_async_readahead`).
    fn async_read_ahead(&mut self, index: u64) {
        if self.ra.ra_pages > 0 || self.is_left_to_policy() {
            self.read_on_demand(index, self.demand_end - index, true);
        }
    }

    /// Whether a policy says what is read ahead.
    pub fn is_left_to_policy(&self) -> bool {
        self.rule.is_some() && !self.ra.random
    }

    pub fn read_on_demand(&mut self, index: u64, count: u64, marked: bool) {
        self.sim.work(Work::ReadAhead, 0);
        let request = Request { index, count, marked, sane_pages: self.sane_pages() };
        if let Some(rule) = self.rule.as_deref_mut().filter(|_| !self.ra.random) {
            let window = self.ra.by_policy(rule, request);
            if let Some(refusal) = rule.refusal() {
                self.sim.give_up(refusal);
            }
            return self.read_window(window);
        }
        let (pages, ino) = (&self.memory.pages, self.ino);
        let window = self.ra.on_demand(&self.config.kernel, request, |index| pages.find(ino, index).is_some());
        if let Some(window) = window {
            self.read_window(window);
        }
    }

    /// `force_page_cache_readahead`: reads exactly these pages, in pieces of 2 MiB, but no more than a window (6.1) or
    /// half of the memory (2.6).
    pub fn force(&mut self, start: u64, count: u64) {
        let limit = match self.config.kernel.read_ahead {
            ReadAheadRules::V2_6 => self.sane_pages(),
            _ => self.ra.ra_pages,
        };
        let end = start + count.min(limit);
        let mut start = start;
        while start < end {
            let count = FORCED_CHUNK_PAGES.min(end - start);
            self.read_window(Window { start, count, lookahead: 0 });
            start += count;
        }
    }

    /// `max_sane_readahead` of 2.6: half of the free and the inactive pages. All pages of this cache count as inactive.
    pub fn sane_pages(&self) -> u64 {
        self.memory.pages.capacity_pages() / 2
    }

    /// Reads those pages of a window that are not cached, up to the end of the file, and sets the mark
    /// (`__do_page_cache_readahead`). A page that cannot be read stays missing, and a later read of it reports the
    /// error.
    pub fn read_window(&mut self, window: Window) {
        let Ok(size @ 1..) = self.size_bytes() else { return };
        let end_of_file = size.div_ceil(PAGE);
        let Window { start, mut count, lookahead } = window;
        let in_file = count.min(end_of_file.saturating_sub(start));
        let at_once = self.config.kernel.read_ahead >= ReadAheadRules::V5_10;
        if at_once {
            // Kernels since 5.8 cut the window to the file before they place the mark. If the mark would fall in front
            // of the window, no page is marked.
            count = in_file;
        }
        if self.fs.reads_ahead() {
            return self.hand_over(Window { start, count, lookahead });
        }
        let mark = (lookahead > 0).then(|| (start + count).checked_sub(lookahead)).flatten();
        // They also put all consecutive missing pages into the cache before they read the first one, so the next page
        // is there and locked.
        for index in start..start + in_file {
            if self.memory.pages.find(self.ino, index).is_some() {
                continue;
            }
            self.memory.locked_page = (at_once && index + 1 < start + in_file).then_some((self.ino, index + 1));
            let Ok(slot) = self.read_page(index) else { continue };
            if mark == Some(index) {
                self.memory.pages.mark(slot);
            }
        }
        self.memory.locked_page = None;
    }

    /// Reads one page into the cache.
    pub fn read_page(&mut self, index: u64) -> Result<Slot> {
        let slot = self.memory.pages.insert(self.ino, index);
        self.memory.pages.set_unread(slot, true);
        match self.fill_page(slot, index) {
            Ok(()) => Ok(slot),
            Err(error) => {
                self.memory.pages.remove(slot);
                Err(error)
            }
        }
    }

    /// Reads a page that has a place in the cache.
    pub fn fill_page(&mut self, slot: Slot, index: u64) -> Result<()> {
        let reason =
            if (self.demand_start..self.demand_end).contains(&index) { &causes::READ } else { &causes::READ_AHEAD };
        let _reason = self.sim.because(reason);
        self.sim.work(Work::PageFill, 0);
        let begun_ns = self.sim.now_ns();
        let read = self.fs.read_folio(self.ino, index, self.memory.pages.data_mut(slot));
        self.sim.function_ends(Function::ReadPage, begun_ns);
        let has_others = read?;
        self.memory.pages.set_unread(slot, false);
        if has_others {
            self.memory.pages.pin(slot);
            self.fs.insert_read_pages(self.memory);
            self.memory.pages.unpin(slot);
        }
        Ok(())
    }
}

/// The result of a read call: an error is reported only when nothing was read before it.
fn finish(count: u64, failure: Option<Errno>) -> Result<usize> {
    match failure {
        Some(error) if count == 0 || error == Errno::PowerCut => Err(error),
        _ => Ok(count as usize),
    }
}
