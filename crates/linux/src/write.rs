//! Buffered write (`mm/filemap.c`, `generic_perform_write`; the same in 2.6.37 and 6.1).

use crate::memory::Memory;
use crate::open_file::OpenFile;
use crate::vfs::{spend, Vfs};
use crate::write_back;
use ffslab_fs::causes;
use ffslab_fs::inode_flags::SYNC;
use ffslab_fs::{Errno, FileKind, FileSystem, Ino, Result, WritePlan, PAGE_BYTES};
use ffslab_sim::{Function, NandWait, Sim, Work};
use ffslab_system::Fd;

/// The bytes that a program writes: `len` bytes, made by repeating `pattern`.
struct Source<'a> {
    pattern: &'a [u8],
    len: usize,
}

impl Source<'_> {
    fn copy_to(&self, from: usize, target: &mut [u8]) {
        let mut at = from % self.pattern.len();
        let mut filled = 0;
        while filled < target.len() {
            let count = (target.len() - filled).min(self.pattern.len() - at);
            target[filled..filled + count].copy_from_slice(&self.pattern[at..at + count]);
            filled += count;
            at = 0;
        }
    }
}

impl Vfs {
    /// Writes at the file position and moves it. Returns how many bytes were written; fewer than asked for when the
    /// medium became full.
    pub(crate) fn write_on(&mut self, fd: Fd, data: &[u8]) -> Result<usize> {
        let source = Source { pattern: data, len: data.len() };
        let position = self.file(fd)?.position;
        let (written, end) = self.write_file(fd, position, source)?;
        self.file_mut(fd)?.position = end;
        Ok(written)
    }

    /// As on Linux, a file opened with `append` is written at its end nevertheless.
    pub(crate) fn write_at(&mut self, fd: Fd, data: &[u8], at: u64) -> Result<usize> {
        let source = Source { pattern: data, len: data.len() };
        self.write_file(fd, at, source).map(|(written, _)| written)
    }

    /// pwrite(2) of `bytes` bytes that repeat `pattern`: for workloads that need no buffer of their own.
    /// [`Errno::Inval`] when `pattern` is empty and `bytes` is not 0.
    pub fn write_pattern(&mut self, fd: Fd, at: u64, bytes: usize, pattern: &[u8]) -> Result<usize> {
        if pattern.is_empty() && bytes > 0 {
            return Err(Errno::Inval);
        }
        let source = Source { pattern, len: bytes };
        self.system_call(|vfs| vfs.write_file(fd, at, source).map(|(written, _)| written))
    }

    /// Returns the number of bytes written and the position behind them.
    fn write_file(&mut self, fd: Fd, at: u64, mut source: Source) -> Result<(usize, u64)> {
        let OpenFile { ino, kind, flags, .. } = *self.file(fd)?;
        if !flags.write || kind != FileKind::File {
            return Err(Errno::BadF);
        }
        if source.len == 0 {
            return Ok((0, at));
        }
        let Some(fs) = self.fs.as_deref_mut() else {
            return Err(Errno::NoDev);
        };
        let at = if flags.append { fs.getattr(ino)?.size_bytes } else { at };
        let limit = fs.file_bytes_max();
        if at >= limit {
            return Err(Errno::FBig);
        }
        source.len = source.len.min(usize::try_from(limit - at).unwrap_or(usize::MAX));
        let delays = fs.delays_writes();
        let sleeps = self.sim.config().nand_wait == NandWait::Sleep;
        if self.config.kernel.write_looks_up_capability {
            fs.look_up_capability(ino)?;
        }
        spend(&self.sim, &self.config, self.config.costs.write_ns);
        fs.write_starts(&mut self.memory, ino)?;
        let mut written = 0;
        let mut failure = None;
        while written < source.len {
            let position = at + written as u64;
            let count = (PAGE_BYTES - position as usize % PAGE_BYTES).min(source.len - written);
            let piece = Piece { ino, at: position, count };
            let copy = |target: &mut [u8]| {
                source.copy_to(written, target);
                spend(&self.sim, &self.config, self.config.costs.page_ns);
            };
            if !delays && sleeps {
                // The file system will sleep for the chip. Other tasks that have waited longer get the CPU first.
                fs.resched(&mut self.memory);
            }
            // After a short count the loop continues behind the written bytes, and the next piece meets the error
            // itself.
            match piece.write(fs, &mut self.memory, &self.sim, copy) {
                Ok(accepted) => written += accepted,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
            if delays || !sleeps {
                fs.resched(&mut self.memory);
            }
            if delays {
                write_back::balance_dirty_pages(&mut self.memory, fs)?;
            }
        }
        match failure {
            Some(Errno::PowerCut) => return Err(Errno::PowerCut),
            Some(error) if written == 0 => return Err(error),
            _ => {}
        }
        // `generic_write_sync` of `include/linux/fs.h`: the mount option `sync` and the flag of chattr +S have the
        // effect of O_DSYNC.
        let asked = flags.sync || flags.dsync || self.synchronous;
        if written > 0 && (asked || fs.inode_flags(ino).is_ok_and(|bits| bits & SYNC != 0)) {
            let last = (at + written as u64 - 1) / PAGE_BYTES as u64;
            self.sync_range(fd, at / PAGE_BYTES as u64, last, !flags.sync)?;
        }
        Ok((written, at + written as u64))
    }
}

/// The part of a write that falls into one page.
struct Piece {
    ino: Ino,
    at: u64,
    count: usize,
}

impl Piece {
    /// Writes the piece. Returns how many bytes the file system accepted, at least 1. Unless all were accepted the page
    /// is dropped from the cache.
    fn write(
        &self,
        fs: &mut dyn FileSystem,
        memory: &mut Memory,
        sim: &Sim,
        copy: impl FnOnce(&mut [u8]),
    ) -> Result<usize> {
        let index = self.at / PAGE_BYTES as u64;
        let start = self.at as usize % PAGE_BYTES;
        sim.work(Work::PageWrite, self.count);
        let begun_ns = sim.now_ns();
        let cold = sim.takes_cold_caches();
        if cold {
            sim.work(Work::ColdCache, 0);
        }
        let mut cached = memory.pages.find(self.ino, index);
        if cached.is_none() && self.count < PAGE_BYTES && fs.reads_before_write() {
            cached = Some(self.fill(fs, memory, sim, cold, WritePlan::ReadFirst)?);
        }
        // The file system was told that the page is cached, so the page must stay in the cache while the file system
        // makes room.
        if let Some(slot) = cached {
            memory.pages.pin(slot);
        }
        let begun = fs.write_begin(memory, self.ino, self.at, self.count, cached.is_some());
        let plan = match begun {
            Ok(plan) => plan,
            Err(error) => {
                if let Some(slot) = cached {
                    memory.pages.unpin(slot);
                }
                return Err(error);
            }
        };
        // Garbage collection of the file system may have put the page into the cache in the meantime.
        let slot = match cached.or_else(|| memory.pages.find(self.ino, index)) {
            Some(slot) => slot,
            None => self.fill(fs, memory, sim, cold, plan)?,
        };
        sim.function_ends(Function::WriteBegin, begun_ns);
        memory.pages.pin(slot);
        copy(&mut memory.pages.data_mut(slot)[start..start + self.count]);
        memory.mark_accessed(slot);
        let end_begun_ns = sim.now_ns();
        let ended = match fs.write_end(memory, self.ino, self.at, self.count) {
            Ok(0) => Err(Errno::Io),
            other => other.map(|accepted| accepted.min(self.count)),
        };
        sim.function_ends(Function::WriteEnd, end_begun_ns);
        memory.pages.unpin(slot);
        memory.write_back.page_changed(self.ino, index);
        if ended != Ok(self.count) && !memory.pages.is_dirty(slot) {
            memory.pages.remove(slot);
        }
        ended
    }

    /// Brings the page into the cache, from the medium or as zeros around the piece.
    fn fill(
        &self,
        fs: &mut dyn FileSystem,
        memory: &mut Memory,
        sim: &Sim,
        cold: bool,
        plan: WritePlan,
    ) -> Result<u32> {
        let index = self.at / PAGE_BYTES as u64;
        let start = self.at as usize % PAGE_BYTES;
        if memory.pages.is_full_of_dirty_pages() {
            write_back::reclaim(memory, fs)?;
        }
        sim.work(Work::PageFill, 0);
        if cold {
            sim.work(Work::ColdCache, 0);
        }
        let slot = memory.pages.insert(self.ino, index);
        let page = memory.pages.data_mut(slot);
        if plan == WritePlan::ReadFirst {
            let _reason = sim.because(&causes::READ_MODIFY_WRITE);
            if let Err(error) = fs.read_page(self.ino, index, page) {
                memory.pages.remove(slot);
                return Err(error);
            }
        } else {
            sim.work(Work::PageClear, page.len() - self.count);
            page[..start].fill(0);
            page[start + self.count..].fill(0);
        }
        Ok(slot)
    }
}
