//! Block maps: each logical block has a data block in which its pages stand in order; log blocks take what is written again.
//!
//! * **Block map** with replacement blocks: pages keep their places in these, too, so that a write elsewhere copies what lies between
//!   (Ban, US patent 5,937,425; the open segments of flash cards).
//! * **BAST**: each log block takes pages of one logical block in any order. Kim, Kim, Noh, Min and Cho, "A Space-Efficient Flash Translation
//!   Layer for CompactFlash Systems", IEEE Transactions on Consumer Electronics 48(2), 2002.
//! * **Open segments** (`segments.rs`): what flash cards seem to have.
//! * **FAST**: one log block takes a sequence, the others take pages of all blocks. Lee, Park, Chung, Lee, Park and Song, "A Log
//!   Buffer-Based Flash Translation Layer Using Fully-Associative Sector Translation", ACM TECS 6(3), 2007.
//!
//! * **LAST** (`last.rs`): log blocks for long requests belong to one logical block, those for short ones are shared, hot pages apart.
//!
//! Merges are those of the papers: switch (the log block becomes the data block), partial (after the rest was copied to it), full
//! (everything is copied to a free block). A controller needs RAM for the block map and the map of the log blocks; the simulation
//! keeps a map of all pages in the host's memory instead and uses only what such a controller would know.
//!
//! With cache commands programs of a row overlap, so that what was written lasts after a flush only, as with the page map.
//!
//! After a power cut the records of all pages are read. No block is written on that was found then, because an erased record does not
//! prove an erased page; what is no data block is merged before the next write. Trims are not kept, as in the papers.

mod copies;
mod last;
mod merges;
mod recovery;
mod segments;

use std::collections::VecDeque;

use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, ReasonGuard};

use crate::causes;
use crate::commands::{Commands, Row};
use crate::config::{FtlConfig, FtlError};
use crate::flash::{Flash, OnMedium, Shape};
use crate::layer::Ftl;
use crate::statistics::Statistics;
use crate::tag::{Tag, KIND_DATA};
use ffslab_policy::{FreePool, Leveller};

use last::RandomBuffer;

const NONE: u32 = u32::MAX;

/// Free blocks kept back: for merges, for blocks that fail, and for merges that power cuts have interrupted.
const RESERVE_BLOCKS: u32 = 5;

/// Which blocks take what is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    BlockMap,
    Bast,
    Fast,
    Last,
    OpenSegments,
}

/// A log block, with its logical block if it belongs to one.
#[derive(Clone, Copy)]
struct Log {
    block: u32,
    logical_block: u32,
    /// Open segments: pages stand in any order from now on.
    is_random: bool,
}

impl Log {
    fn new(block: u32, logical_block: u32) -> Log {
        Log { block, logical_block, is_random: false }
    }
}

pub(crate) struct Hybrid<F: Flash = OnMedium> {
    flash: F,
    config: FtlConfig,
    scheme: Scheme,
    shape: Shape,
    commands: Commands,
    /// Programs that can be under way at a time.
    overlapped_pages: usize,
    /// Pages of the host's request behind the one that is read.
    further_pages: u32,
    /// Room for pages that are copied in a row.
    row: Row,
    /// The page of each logical page, and the logical page in each page if it is valid.
    newest: Vec<u32>,
    owner: Vec<u32>,
    valid: Vec<u32>,
    /// One more than the highest programmed page of each block.
    written: Vec<u32>,
    erases: Vec<u32>,
    clean: Vec<bool>,
    free: FreePool,
    leveller: Leveller,
    is_bad: Vec<bool>,
    /// The data block of each logical block.
    data: Vec<u32>,
    /// Log blocks, the oldest first. With FAST those for random writes.
    logs: VecDeque<Log>,
    /// FAST's log block for a sequence.
    sequential: Option<Log>,
    /// LAST's log blocks for short requests, and the length of the request that is being written.
    random: RandomBuffer,
    request_pages: u32,
    /// Blocks whose pages must be merged: found at the mount, or because a program failed in them (`true`).
    leftovers: Vec<(u32, bool)>,
    sequence: u64,
    buffer: Vec<u8>,
    statistics: Statistics,
}

impl<F: Flash> Hybrid<F> {
    pub fn format(flash: F, config: FtlConfig, scheme: Scheme) -> Result<Hybrid<F>, FtlError> {
        let mut made = Hybrid::blank(flash, config, scheme)?;
        {
            let _reason = made.flash.because(&causes::FORMATTING);
            for block in (0..made.shape.blocks).filter(|&block| !made.flash.is_bad(block)).collect::<Vec<_>>() {
                if made.erase(block)? {
                    made.free.insert(block, made.erases[block as usize]);
                }
            }
        }
        made.check_size()?;
        made.statistics = Statistics::of(&made.config);
        Ok(made)
    }

    fn blank(flash: F, config: FtlConfig, scheme: Scheme) -> Result<Hybrid<F>, FtlError> {
        let commands = Commands::of(&flash, &config)?;
        let shape = flash.shape();
        let (blocks, pages) = (shape.blocks as usize, (shape.blocks * shape.pages_per_block) as usize);
        Ok(Hybrid {
            newest: vec![NONE; config.logical_pages as usize],
            owner: vec![NONE; pages],
            valid: vec![0; blocks],
            written: vec![0; blocks],
            erases: vec![0; blocks],
            clean: vec![false; blocks],
            free: FreePool::new(config.free_rule(), config.seed),
            leveller: Leveller::new(config.levelling, config.endurance_erases, shape.blocks, config.seed),
            is_bad: (0..shape.blocks).map(|block| flash.is_bad(block)).collect(),
            data: vec![NONE; config.logical_pages.div_ceil(shape.pages_per_block) as usize],
            logs: VecDeque::new(),
            sequential: None,
            random: RandomBuffer::default(),
            request_pages: 1,
            leftovers: Vec::new(),
            sequence: 0,
            buffer: vec![0xFF; shape.page_bytes as usize],
            statistics: Statistics::of(&config),
            commands,
            overlapped_pages: commands.programs_at_a_time(&flash),
            further_pages: 0,
            row: Row::default(),
            flash,
            config,
            scheme,
            shape,
        })
    }

    fn check_size(&self) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        let good_blocks = self.shape.blocks - self.bad_blocks();
        let room = good_blocks.saturating_sub(self.log_blocks() + RESERVE_BLOCKS);
        let logical_pages_max = room * self.shape.pages_per_block;
        if logical_pages == 0 || logical_pages > logical_pages_max {
            return Err(FtlError::Size { logical_pages, logical_pages_max });
        }
        Ok(())
    }

    /// FAST needs one for a sequence and one for the rest.
    fn log_blocks(&self) -> u32 {
        let log_blocks_min = match self.scheme {
            Scheme::Last => last::LOG_BLOCKS_MIN,
            Scheme::OpenSegments => 1,
            _ => 2,
        };
        self.config.log_blocks.max(log_blocks_min)
    }

    fn bad_blocks(&self) -> u32 {
        self.is_bad.iter().filter(|&&is_bad| is_bad).count() as u32
    }

    fn worn_out(&self) -> FtlError {
        FtlError::WornOut { bad_blocks: self.bad_blocks(), blocks: self.shape.blocks }
    }

    fn logical_block_of(&self, logical_page: u32) -> u32 {
        logical_page / self.shape.pages_per_block
    }

    fn block_of(&self, page: u32) -> u32 {
        page / self.shape.pages_per_block
    }

    // ---- blocks ---------------------------------------------------------------------------------------------------

    /// `false`: the block is bad now.
    fn erase(&mut self, block: u32) -> Result<bool, FtlError> {
        debug_assert_eq!(self.valid[block as usize], 0, "block {block} holds valid pages");
        let erased = self.flash.erase(block);
        self.erases[block as usize] += 1;
        self.written[block as usize] = 0;
        self.statistics.erases += 1;
        self.leveller.counts_erase();
        match erased {
            Ok(()) => {
                self.clean[block as usize] = true;
                Ok(true)
            }
            Err(MtdError::EraseFailed | MtdError::BadBlock) => self.mark_bad(block).map(|()| false),
            Err(error) => Err(error.into()),
        }
    }

    fn mark_bad(&mut self, block: u32) -> Result<(), FtlError> {
        let _reason = self.flash.because(&causes::BLOCK_FAILED);
        self.is_bad[block as usize] = true;
        match self.flash.mark_bad(block) {
            Err(MtdError::PowerCut) => Err(MtdError::PowerCut.into()),
            _ => Ok(()),
        }
    }

    /// A block without valid pages is free again.
    fn release(&mut self, block: u32) -> Result<(), FtlError> {
        if self.erase(block)? {
            self.free.insert(block, self.erases[block as usize]);
        }
        Ok(())
    }

    /// The free block that the rule chooses, erased.
    fn take(&mut self) -> Result<u32, FtlError> {
        self.take_by(FreePool::take)
    }

    fn take_by(&mut self, choose: fn(&mut FreePool) -> Option<u32>) -> Result<u32, FtlError> {
        while let Some(block) = choose(&mut self.free) {
            let is_clean = self.clean[block as usize] || {
                let _reason = self.flash.because(&causes::FTL_ERASE);
                self.erase(block)?
            };
            if is_clean {
                self.clean[block as usize] = false;
                return Ok(block);
            }
        }
        Err(self.worn_out())
    }

    // ---- pages ----------------------------------------------------------------------------------------------------

    /// Programs a page of a block. `false`: the program has failed, and the block is no data and no log block any more.
    fn program(
        &mut self,
        block: u32,
        offset: u32,
        logical_page: u32,
        data: &[u8],
        flags_bits: u8,
    ) -> Result<bool, FtlError> {
        debug_assert!(offset >= self.written[block as usize], "page {offset} of block {block} is programmed already");
        self.sequence += 1;
        let page = block * self.shape.pages_per_block + offset;
        let tag = Tag {
            kind: KIND_DATA,
            flags_bits,
            number: logical_page,
            sequence: self.sequence,
            erases: self.erases[block as usize],
            data_crc: if F::KEEPS_BYTES { crc32fast::hash(data) } else { 0 },
        };
        let programmed = self.flash.program(page, data, &tag);
        self.was_programmed(logical_page, page, programmed)
    }

    /// Takes down what came of a program. `false` as [`Hybrid::program`].
    fn was_programmed(
        &mut self,
        logical_page: u32,
        page: u32,
        programmed: Result<(), MtdError>,
    ) -> Result<bool, FtlError> {
        let block = self.block_of(page);
        self.written[block as usize] = page % self.shape.pages_per_block + 1;
        match programmed {
            Ok(()) => {
                self.enter(logical_page, page);
                Ok(true)
            }
            Err(MtdError::ProgramFailed) => {
                self.statistics.failed_programs += 1;
                self.fails(block);
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
            self.valid[block as usize] -= 1;
        }
        self.owner[page as usize] = logical_page;
        let block = self.block_of(page);
        self.valid[block as usize] += 1;
    }

    /// Nothing more is written to the block; what it holds is merged before the next write.
    fn fails(&mut self, block: u32) {
        self.forget_log(block);
        if let Some(data) = self.data.iter_mut().find(|data| **data == block) {
            *data = NONE;
        }
        self.leftovers.push((block, true));
    }

    // ---- the host -------------------------------------------------------------------------------------------------

    fn check(&self, logical_page: u32) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        if logical_page >= logical_pages {
            return Err(FtlError::OutOfRange { logical_page, logical_pages });
        }
        Ok(())
    }

    /// The block and the place in it to which a page goes.
    fn place_for(&mut self, logical_page: u32) -> Result<(u32, u32), FtlError> {
        let (logical_block, offset) = (self.logical_block_of(logical_page), logical_page % self.shape.pages_per_block);
        let data = &mut self.data[logical_block as usize];
        if *data == NONE {
            let block = self.take()?;
            self.data[logical_block as usize] = block;
            return Ok((block, offset));
        }
        if offset >= self.written[*data as usize] {
            return Ok((*data, offset));
        }
        match self.scheme {
            Scheme::BlockMap => self.place_in_order(logical_block, offset, self.log_blocks(), &causes::MERGE_FULL),
            Scheme::Bast => self.place_in_own_log(logical_block),
            Scheme::Fast => self.place_in_shared_log(logical_block, offset),
            Scheme::Last => self.place_in_last(logical_block, offset),
            Scheme::OpenSegments => self.place_in_segment(logical_block, offset),
        }
    }

    fn write_page(&mut self, logical_page: u32, data: &[u8], reason: &'static Reason) -> Result<(), FtlError> {
        self.settle()?;
        self.level_wear()?;
        loop {
            let (block, offset) = self.place_for(logical_page)?;
            // Making a place can have found a block that fails.
            if !self.leftovers.is_empty() && self.leftovers.iter().any(|&(failed, _)| failed == block) {
                self.settle()?;
                continue;
            }
            let written = {
                let _reason = self.flash.because(reason);
                self.program(block, offset, logical_page, data, 0)?
            };
            if written {
                return self.close_if_full(block);
            }
            self.settle()?;
        }
    }
}

impl<F: Flash> Ftl for Hybrid<F> {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn logical_pages(&self) -> u32 {
        self.config.logical_pages
    }

    fn because(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        self.flash.because(reason)
    }

    fn read(&mut self, logical_page: u32, data: &mut [u8]) -> Result<(), FtlError> {
        self.check(logical_page)?;
        let page = self.newest[logical_page as usize];
        if page == NONE {
            data.fill(0);
            return Ok(());
        }
        let (found, read) = self.read_for_host(logical_page, page, data);
        match read {
            Err(MtdError::Uncorrectable) => Err(FtlError::Uncorrectable { logical_page, page }),
            Ok(_) if found.is_lost() => Err(FtlError::Uncorrectable { logical_page, page }),
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn tell_refusal(&self) {
        if let Some(refusal) = self.free.refusal().or_else(|| self.leveller.refusal()) {
            self.flash.give_up(&refusal);
        }
    }

    fn hint_request_pages(&mut self, pages: u32) {
        self.request_pages = pages;
    }

    fn hint_read_pages(&mut self, further_pages: u32) {
        self.further_pages = further_pages;
    }

    fn settle_reads(&self) {
        self.flash.settle_reads();
    }

    fn write(&mut self, logical_page: u32, data: &[u8], _hot: bool) -> Result<(), FtlError> {
        self.check(logical_page)?;
        self.write_page(logical_page, data, &causes::HOST_WRITE)?;
        self.statistics.host_pages += 1;
        Ok(())
    }

    fn pad(&mut self, logical_page: u32, data: &[u8]) -> Result<(), FtlError> {
        self.check(logical_page)?;
        self.write_page(logical_page, data, &causes::BLOCK_PADDING)?;
        self.statistics.padded_pages += 1;
        Ok(())
    }

    fn can_trim(&self) -> bool {
        false
    }

    fn trim(&mut self, logical_page: u32) -> Result<(), FtlError> {
        self.check(logical_page)
    }

    fn flush(&mut self) -> Result<(), FtlError> {
        self.flash.settle();
        Ok(())
    }

    fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.erases.clone()
    }

    fn map_bytes(&self) -> u64 {
        4 * (self.data.len() as u64 + u64::from(self.log_blocks()) * u64::from(self.shape.pages_per_block))
    }
}
