//! The mount scan: every block is examined and put on its list.
//!
//! Follows `fs/jffs2/scan.c`. A block that begins with 256 bytes of 0xFF is taken for empty; otherwise the whole block
//! is read. With summaries the last page is read first, and often nothing else.

use crate::causes;
use ffslab_fs::Result as FsResult;
use ffslab_mtd::{is_erased, MtdError};
use ffslab_sim::Work;

use crate::blocks::List;
use crate::flash::{errno, Flash};
use crate::format::{oob_clean_marker, pad, HEADER_BYTES, INODE_BYTES};
use crate::ledger::Share;
use crate::refs::NONE;
use crate::scan_block::{Walk, EMPTY_SCAN_BYTES};
use crate::scan_node::{Findings, Scan};
use crate::space::{is_dirty, Space};
use crate::summary::{Collector, FRAME_BYTES};
use crate::MountError;

/// In a block that looks empty, the out-of-band areas of so many pages must be erased, too.
const OOB_SCAN_PAGES: u32 = 4;

/// The result of the scan of a block.
enum BlockState {
    AllErased,
    CleanMarker,
    Clean,
    PartDirty,
    AllDirty,
    Bad,
}

/// Scans the medium and files every block. `data` is a buffer of one block.
pub fn scan(space: &mut Space, flash: &Flash, data: &mut [u8]) -> Result<Findings, MountError> {
    let mut scan = Scan { space, flash, findings: Findings::default() };
    scan.run(data)?;
    Ok(scan.findings)
}

impl Scan<'_> {
    fn run(&mut self, data: &mut [u8]) -> Result<(), MountError> {
        let _why = self.flash.sim.because(&causes::MOUNT_SCAN);
        self.space.scanning = true;
        let (mut empty, mut bad) = (0, 0);
        for block in 0..self.space.blocks.count() {
            self.flash.sim.work(Work::ScanBlock, 0);
            let mut collector = Collector::new(self.flash.options.summary);
            match self.scan_block(block, data, &mut collector)? {
                BlockState::AllErased => {
                    // The last erase may have been interrupted, so the block is erased again and marked as clean.
                    empty += 1;
                    self.space.blocks[block].is_blank = true;
                    self.queue_found(block);
                }
                BlockState::CleanMarker if self.space.blocks[block].dirty_bytes() == 0 => {
                    self.space.blocks.prepend(block, List::Free);
                }
                BlockState::CleanMarker | BlockState::AllDirty => self.queue_found(block),
                BlockState::Clean => self.space.blocks.prepend(block, List::Clean),
                BlockState::PartDirty => self.file_part_dirty(block, collector),
                BlockState::Bad => {
                    self.space.blocks.prepend(block, List::Bad);
                    self.space.blocks.shift_all(block, Share::Free, Share::Bad);
                    bad += 1;
                }
            }
        }
        self.space.scanning = false;
        self.prepare_next_block();
        if self.space.erasing_blocks > 0
            && self.space.blocks.totals().used_bytes() == 0
            && self.space.blocks.totals().unchecked_bytes() == 0
            && (self.space.free_blocks() + empty + bad != self.space.blocks.count() || bad == self.space.blocks.count())
        {
            let foreign = |&block: &u32| {
                let b = &self.space.blocks[block];
                b.list() == List::ErasePending && !b.is_blank
            };
            let block = (0..self.space.blocks.count()).find(foreign).unwrap_or(0);
            return Err(MountError::NotJffs2 { block });
        }
        Ok(())
    }

    fn queue_found(&mut self, block: u32) {
        self.space.blocks.prepend(block, List::ErasePending);
        self.space.erasing_blocks += 1;
    }

    /// Puts a block with nodes and free space on its list. Writing continues in the block with the most free space; in
    /// all others the free space counts as dirty.
    fn file_part_dirty(&mut self, block: u32, collector: Collector) {
        let free = self.space.blocks[block].free_bytes();
        let worthwhile = self.flash.page_bytes.max(2 * INODE_BYTES);
        let best = self.space.next_block.map_or(0, |b| self.space.blocks[b].free_bytes());
        if free > worthwhile && free > best {
            if let Some(other) = self.space.next_block.replace(block) {
                self.file_dirty(other);
            }
            self.space.summary = collector;
        } else {
            self.file_dirty(block);
        }
    }

    fn file_dirty(&mut self, block: u32) {
        let free = self.space.blocks[block].free_bytes();
        self.space.scan_dirty_space(block, free);
        self.space.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        let very = self.space.blocks[block].dirty_bytes() >= self.flash.block_bytes / 2;
        self.space.blocks.prepend(block, if very { List::VeryDirty } else { List::Dirty });
    }

    /// Lets writing continue at the start of the next page of the block with the most free space.
    fn prepare_next_block(&mut self) {
        let Some(block) = self.space.next_block else { return };
        self.space.blocks.shift_all(block, Share::Dirty, Share::Wasted);
        let skip = self.space.blocks[block].free_bytes() % self.flash.page_bytes;
        self.space.scan_dirty_space(block, skip);
    }

    fn scan_block(&mut self, block: u32, data: &mut [u8], collector: &mut Collector) -> Result<BlockState, MountError> {
        let start = block * self.flash.block_bytes;
        if self.flash.mtd.ask_bad(u64::from(start)) {
            return Ok(BlockState::Bad);
        }
        let marked = self.flash.manner.marker_in_oob && self.has_clean_marker(start)?;
        self.scan_content(block, start, marked, data, collector)
    }

    fn has_clean_marker(&mut self, start: u32) -> FsResult<bool> {
        let mut oob = [0u8; 8];
        match self.flash.mtd.read_oob_free(u64::from(start), &mut oob) {
            Ok(_) | Err(MtdError::Uncorrectable) => Ok(oob == oob_clean_marker(self.flash.endian)),
            Err(error) => Err(errno(&error)),
        }
    }

    /// Whether the out-of-band areas of the first pages are erased, except for the clean marker.
    fn oob_is_empty(&mut self, start: u32, marked: bool) -> FsResult<bool> {
        if !self.flash.manner.marker_in_oob {
            return Ok(true);
        }
        let free = self.flash.mtd.oob_free_bytes();
        let mut oob = vec![0u8; (OOB_SCAN_PAGES * free) as usize];
        match self.flash.mtd.read_oob_free(u64::from(start), &mut oob) {
            Ok(_) | Err(MtdError::Uncorrectable) => {}
            Err(error) => return Err(errno(&error)),
        }
        let skip = if marked { 8 } else { 0 };
        Ok(is_erased(&oob[skip..]))
    }

    fn scan_content(
        &mut self,
        block: u32,
        start: u32,
        marked: bool,
        data: &mut [u8],
        collector: &mut Collector,
    ) -> Result<BlockState, MountError> {
        if self.flash.options.summary && self.scan_summary(block, data)? {
            return Ok(self.classify(block));
        }
        let looked_at = EMPTY_SCAN_BYTES.min(data.len());
        self.flash.read_or_fetch(start, &mut data[..looked_at])?;
        if is_erased(&data[..looked_at]) {
            return Ok(match (self.oob_is_empty(start, marked)?, marked) {
                (false, _) => BlockState::AllDirty,
                (true, true) => BlockState::CleanMarker,
                (true, false) => BlockState::AllErased,
            });
        }
        if self.scan_nodes(block, data, collector)? == Walk::OnlyMarker {
            return Ok(BlockState::CleanMarker);
        }
        if collector.is_active() && pad(collector.bytes() + FRAME_BYTES) > self.space.blocks[block].free_bytes() {
            collector.disable();
        }
        self.space.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        Ok(self.classify(block))
    }

    fn classify(&mut self, block: u32) -> BlockState {
        let b = self.space.blocks[block];
        let live = b.used_bytes() + b.unchecked_bytes();
        let (marker_bytes, last) = if self.flash.manner.marker_in_oob { (0, NONE) } else { (HEADER_BYTES, b.last) };
        if live == marker_bytes && b.dirty_bytes() == 0 && b.first == last {
            BlockState::CleanMarker
        } else if !is_dirty(self.flash.block_bytes - live) {
            self.space.blocks.shift_all(block, Share::Dirty, Share::Wasted);
            BlockState::Clean
        } else if live != 0 {
            BlockState::PartDirty
        } else {
            BlockState::AllDirty
        }
    }
}
