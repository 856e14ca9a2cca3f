//! An SLC cache: blocks that are written with one bit a cell take all writes, and are folded into the rest of the device.
//!
//! The cache is a log of blocks. When no block of it is free, the oldest one is folded: what is valid in it moves to a page map over the
//! blocks with several bits a cell. Folding happens when a write waits for it, or when [`Ftl::idle`] is called. As in Im and
//! Shin, "Storage Architecture and Software Support for SLC/MLC Combined Flash Memory" (ACM SAC 2009), and Lee et al., "FlexFS: A Flexible
//! Flash File System for MLC NAND Flash Memory" (USENIX ATC 2009), which migrates while idle.
//!
//! **After a power cut** a page that is in the cache is newer than its copy in the page map, and of two in the cache that with the higher
//! sequence number counts. Blocks are folded and erased from the oldest on, so that no older copy outlives a newer one that
//! was folded. A block that fails is therefore emptied after all older ones. What the mount finds is not written on.
//!
//! **Leaves out.** Long sequences that go past the cache (Im and Shin), a cache that grows into free blocks (dynamic caches), trims. Cells
//! are not simulated: the medium's times are those of one bit, and operations on other blocks take so much longer as
//! [`SlcCacheConfig`] says.

mod recovery;
mod region;

use std::collections::VecDeque;
use std::rc::Rc;

use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, ReasonGuard};

use crate::causes;
use crate::config::{FtlConfig, FtlError, SlcCacheConfig};
use crate::flash::{CellMode, Flash, OnMedium, Shape};
use crate::layer::Ftl;
use crate::page_map::PageMap;
use crate::statistics::Statistics;
use crate::tag::{Tag, FLAG_LOST, KIND_DATA};
use region::Region;

const NONE: u32 = u32::MAX;

/// Free blocks of the cache that are kept back: one, so that a write finds place while the oldest block is folded.
const FREE_BLOCKS_MIN: usize = 1;

pub(crate) struct SlcCache<F: Flash = OnMedium> {
    cache: Region<F>,
    rest: PageMap<Region<F>>,
    /// The page of the cache that holds each logical page.
    newest: Vec<u32>,
    /// The logical page that each page of the cache holds, if it is valid.
    owner: Vec<u32>,
    valid: Vec<u32>,
    erases: Vec<u32>,
    /// Blocks that hold something, the oldest first; the last one is written on if `open_pages` is less than a block.
    log: VecDeque<u32>,
    open_pages: u32,
    /// Free blocks, with whether they have been erased since the mount.
    free: VecDeque<(u32, bool)>,
    /// The last block of the log has failed.
    has_failed: bool,
    sequence: u64,
    host_pages: u64,
    /// Of these, pages that went past the cache because it has no block left.
    past_cache_pages: u64,
    erases_count: u64,
    failed_programs: u64,
    statistics: Statistics,
    buffer: Vec<u8>,
}

impl<F: Flash> SlcCache<F> {
    pub fn format(flash: F, config: FtlConfig) -> Result<SlcCache<F>, FtlError> {
        let (cache, rest, settings) = parts(flash, &config)?;
        let rest = PageMap::format(rest, settings)?;
        let mut made = SlcCache::blank(cache, rest, &config);
        let reason = made.cache.because(&causes::FORMATTING);
        for block in (0..made.cache.shape().blocks).filter(|&block| !made.cache.is_bad(block)).collect::<Vec<_>>() {
            made.release(block)?;
        }
        made.erases_count = 0;
        drop(reason);
        Ok(made)
    }

    fn blank(cache: Region<F>, rest: PageMap<Region<F>>, config: &FtlConfig) -> SlcCache<F> {
        let shape = cache.shape();
        SlcCache {
            newest: vec![NONE; config.logical_pages as usize],
            owner: vec![NONE; (shape.blocks * shape.pages_per_block) as usize],
            valid: vec![0; shape.blocks as usize],
            erases: vec![0; shape.blocks as usize],
            log: VecDeque::new(),
            open_pages: 0,
            free: VecDeque::new(),
            has_failed: false,
            sequence: 0,
            host_pages: 0,
            past_cache_pages: 0,
            erases_count: 0,
            failed_programs: 0,
            statistics: Statistics::default(),
            buffer: vec![0xFF; shape.page_bytes as usize],
            cache,
            rest,
        }
    }

    fn first_page(&self, block: u32) -> u32 {
        block * self.cache.shape().pages_per_block
    }

    fn block_of(&self, page: u32) -> usize {
        (page / self.cache.shape().pages_per_block) as usize
    }

    /// Erases a block of the cache, which is free then, or bad.
    fn release(&mut self, block: u32) -> Result<(), FtlError> {
        debug_assert_eq!(self.valid[block as usize], 0, "block {block} of the cache holds valid pages");
        if self.erase(block)? {
            self.free.push_back((block, true));
        }
        Ok(())
    }

    /// `false`: the block is bad now.
    fn erase(&mut self, block: u32) -> Result<bool, FtlError> {
        let erased = self.cache.erase(block);
        self.erases[block as usize] += 1;
        self.erases_count += 1;
        match erased {
            Ok(()) => Ok(true),
            Err(MtdError::EraseFailed | MtdError::BadBlock) => self.mark_bad(block).map(|()| false),
            Err(error) => Err(error.into()),
        }
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), FtlError> {
        let _reason = self.cache.because(&causes::BLOCK_FAILED);
        match self.cache.mark_bad(block) {
            Err(MtdError::PowerCut) => Err(MtdError::PowerCut.into()),
            _ => Ok(()),
        }
    }

    // ---- folding --------------------------------------------------------------------------------------------------

    /// Moves what is valid in the oldest block to the page map, and frees the block.
    fn fold_oldest(&mut self) -> Result<(), FtlError> {
        let Some(&block) = self.log.front() else { return Ok(()) };
        {
            let _reason = self.cache.because(&causes::FOLD);
            let first = self.first_page(block);
            for page in first..first + self.cache.shape().pages_per_block {
                let logical_page = self.owner[page as usize];
                if logical_page != NONE {
                    self.fold_page(logical_page, page)?;
                }
            }
            // What the page map holds in memory only must be on flash before the newer copy is erased.
            self.rest.flush()?;
        }
        self.log.pop_front();
        let was_last = self.log.is_empty();
        if was_last && std::mem::take(&mut self.has_failed) {
            return self.mark_bad(block);
        }
        let _reason = self.cache.because(&causes::FOLD);
        self.release(block)
    }

    fn fold_page(&mut self, logical_page: u32, page: u32) -> Result<(), FtlError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (found, read) = self.cache.read(page, &mut buffer);
        let was_lost = found.is_lost();
        let folded = match read {
            Err(error) if error != MtdError::Uncorrectable => Err(error.into()),
            read => {
                let flags_bits = if was_lost || read.is_err() { FLAG_LOST } else { 0 };
                self.rest.fold(logical_page, &buffer, flags_bits)
            }
        };
        self.buffer = buffer;
        folded?;
        self.owner[page as usize] = NONE;
        self.newest[logical_page as usize] = NONE;
        let block = self.block_of(page);
        self.valid[block] -= 1;
        Ok(())
    }

    /// After a program has failed: everything is folded from the oldest block on, so that the failed one is the last.
    fn fold_all(&mut self) -> Result<(), FtlError> {
        while !self.log.is_empty() {
            self.fold_oldest()?;
        }
        Ok(())
    }

    // ---- the host -------------------------------------------------------------------------------------------------

    /// Opens a block if the last one is full. `false`: the cache has no block left.
    fn make_place(&mut self) -> Result<bool, FtlError> {
        if self.has_failed {
            self.fold_all()?;
        }
        if !self.log.is_empty() && self.open_pages < self.cache.shape().pages_per_block {
            return Ok(true);
        }
        while self.free.len() < FREE_BLOCKS_MIN && !self.log.is_empty() {
            self.fold_oldest()?;
        }
        while let Some((block, is_clean)) = self.free.pop_front() {
            let is_erased = is_clean || {
                let _reason = self.cache.because(&causes::FTL_ERASE);
                self.erase(block)?
            };
            if is_erased {
                self.log.push_back(block);
                self.open_pages = 0;
                return Ok(true);
            }
        }
        // Without a block of its own the cache holds nothing, so that no copy in it is older than what is written past it.
        self.fold_all()?;
        Ok(false)
    }

    /// `false`: the program has failed.
    fn program(&mut self, logical_page: u32, data: &[u8]) -> Result<bool, FtlError> {
        let Some(&block) = self.log.back() else { return Ok(false) };
        self.sequence += 1;
        let tag = Tag {
            kind: KIND_DATA,
            flags_bits: 0,
            number: logical_page,
            sequence: self.sequence,
            erases: self.erases[block as usize],
            data_crc: if F::KEEPS_BYTES { crc32fast::hash(data) } else { 0 },
        };
        let page = self.first_page(block) + self.open_pages;
        self.open_pages += 1;
        let _reason = self.cache.because(&causes::HOST_WRITE);
        match self.cache.program(page, data, &tag) {
            Ok(()) => {
                self.enter(logical_page, page);
                Ok(true)
            }
            Err(MtdError::ProgramFailed) => {
                self.failed_programs += 1;
                self.has_failed = true;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn enter(&mut self, logical_page: u32, page: u32) {
        let old = std::mem::replace(&mut self.newest[logical_page as usize], page);
        if old != NONE {
            self.owner[old as usize] = NONE;
            let block = self.block_of(old);
            self.valid[block] -= 1;
        }
        self.owner[page as usize] = logical_page;
        let block = self.block_of(page);
        self.valid[block] += 1;
    }

    fn check(&self, logical_page: u32) -> Result<(), FtlError> {
        let logical_pages = self.rest.config().logical_pages;
        if logical_page >= logical_pages {
            return Err(FtlError::OutOfRange { logical_page, logical_pages });
        }
        Ok(())
    }

    /// The page map's counts, where the host's pages are those that were folded.
    fn count(&mut self) {
        let rest = self.rest.statistics();
        self.statistics = Statistics {
            host_pages: self.host_pages,
            folded_pages: rest.host_pages - self.past_cache_pages,
            erases: rest.erases + self.erases_count,
            failed_programs: rest.failed_programs + self.failed_programs,
            mount_ns: self.statistics.mount_ns,
            ..*rest
        };
    }
}

impl<F: Flash> Ftl for SlcCache<F> {
    fn shape(&self) -> Shape {
        self.rest.shape()
    }

    fn logical_pages(&self) -> u32 {
        self.rest.config().logical_pages
    }

    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        self.cache.because(reason)
    }

    fn read(&mut self, logical_page: u32, data: &mut [u8]) -> Result<(), FtlError> {
        self.check(logical_page)?;
        let page = self.newest[logical_page as usize];
        if page == NONE {
            return self.rest.read(logical_page, data);
        }
        let (_, read) = self.cache.read(page, data);
        match read {
            Err(MtdError::Uncorrectable) => Err(FtlError::Uncorrectable { logical_page, page }),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn write(&mut self, logical_page: u32, data: &[u8], hot: bool) -> Result<(), FtlError> {
        self.check(logical_page)?;
        loop {
            if !self.make_place()? {
                self.rest.write(logical_page, data, hot)?;
                self.host_pages += 1;
                self.past_cache_pages += 1;
                break;
            }
            if self.program(logical_page, data)? {
                self.host_pages += 1;
                break;
            }
        }
        self.count();
        Ok(())
    }

    fn tell_refusal(&self) {
        self.rest.tell_refusal();
    }

    fn can_trim(&self) -> bool {
        false
    }

    fn trim(&mut self, logical_page: u32) -> Result<(), FtlError> {
        self.check(logical_page)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.rest.flush()
    }

    fn idle(&mut self) -> Result<bool, FtlError> {
        // The block that is written on stays.
        if self.log.len() <= 1 {
            return Ok(false);
        }
        self.fold_oldest()?;
        self.count();
        Ok(self.log.len() > 1)
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn erase_counts(&self) -> Vec<u32> {
        [self.rest.erase_counts(), &self.erases].concat()
    }

    fn map_bytes(&self) -> u64 {
        // The map of the rest, and an entry for each page of the cache.
        self.rest.map_bytes() + 4 * self.owner.len() as u64
    }
}

/// The cache, which has the last blocks, and the rest with its settings.
fn parts<F: Flash>(flash: F, config: &FtlConfig) -> Result<(Region<F>, Region<F>, FtlConfig), FtlError> {
    let shape = flash.shape();
    let SlcCacheConfig { blocks, cell_bits, read_further_ns, program_further_ns } =
        config.slc_cache.unwrap_or_default();
    if !(2..shape.blocks).contains(&blocks) || !(1..=4).contains(&cell_bits) {
        return Err(FtlError::Cache { cache_blocks: blocks, blocks: shape.blocks });
    }
    let refused = [("cache_commands", config.cache_commands), ("copy_back", config.copy_backs_max_count > 0)];
    if let Some((key, _)) = refused.into_iter().find(|&(_, is_wanted)| is_wanted) {
        return Err(FtlError::NotWithCache { key });
    }
    flash.set_further_times(read_further_ns, program_further_ns);
    let flash = Rc::new(flash);
    let others = shape.blocks - blocks;
    let cache_pages = (shape.pages_per_block / cell_bits).max(1);
    let cache = Region::new(&flash, others, blocks, cache_pages, CellMode::OneBit);
    let rest = Region::new(&flash, 0, others, shape.pages_per_block, CellMode::SeveralBits);
    Ok((cache, rest, FtlConfig { map_cache_entries_count: None, slc_cache: None, ..config.clone() }))
}
