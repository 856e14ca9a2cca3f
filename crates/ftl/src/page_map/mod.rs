//! The page map: each logical page can stand in any page of flash (Ban, US patent 5,404,485).
//!
//! The map is in RAM. On flash stands what finds it again: each page carries its logical number and an ascending sequence
//! number, so that of two copies the later one counts. Trims are kept as bits in pages of their own: a set bit says that the
//! logical page was trimmed when this page was written. No block is erased before the trims are on flash, because an older copy
//! of a trimmed page would come back otherwise.

mod checkpoint;
mod collection;
mod eviction;
mod map_cache;
mod moves;
mod recovery;
mod trims;

use ffslab_mtd::MtdError;
use ffslab_sim::Reason;

use crate::blocks::{Blocks, State};
use crate::causes;
use crate::commands::{Commands, Row};
use crate::config::{FtlConfig, FtlError, FREE_BLOCKS_MIN, TRANSLATION_BLOCKS};
use crate::flash::{Flash, Shape};
use crate::statistics::Statistics;
use crate::tag::{Tag, FLAG_RESUMED, KIND_DATA, KIND_MAP, KIND_TRIM};
use eviction::NONE;
use ffslab_policy::{HotPages, Leveller};
use map_cache::MapCache;

pub use recovery::Recovered;

/// What a block is written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Host,
    Hot,
    Collected,
    Levelled,
    Translation,
}

const STREAMS: usize = 5;

/// A device with a page map.
pub struct PageMap<F: Flash> {
    flash: F,
    config: FtlConfig,
    shape: Shape,
    block_shift: u32,
    /// Programs that can be under way at a time.
    overlapped_pages: u32,
    commands: Commands,
    /// Pages of the host's request behind the one that is read.
    further_pages: u32,
    /// Room for pages that are moved in a row.
    row: Row,
    /// The page of each logical page, then of each page of trim bits, then of each translation page.
    map: Vec<u32>,
    /// The number in `map` of what stands in each page, if it is valid.
    owner: Vec<u32>,
    blocks: Blocks,
    open: [u32; STREAMS],
    sequence: u64,
    /// Pages of trim bits that say something else than the map.
    stale_trims: Vec<u32>,
    /// Open blocks that a mount found begun, and in which nothing was written since.
    resumed: Vec<u32>,
    /// Blocks that must be emptied: a program has failed in them.
    failing: Vec<u32>,
    /// The block that is being emptied while nobody waits, and the page of it that is looked at next.
    emptied_idly: Option<(u32, u32)>,
    /// Blocks in which bits were corrected.
    to_refresh: Vec<u32>,
    checkpoint_blocks: Vec<u32>,
    pages_since_checkpoint: u32,
    leveller: Leveller,
    /// Tells hot pages from others, where the rule for streams does.
    hot_pages: Option<Box<dyn HotPages>>,
    buffer: Vec<u8>,
    /// DFTL.
    cache: Option<MapCache>,
    /// Number in `map` of the first page of trim bits and of the first translation page.
    first_trim: u32,
    first_translation: u32,
    statistics: Statistics,
}

impl<F: Flash> PageMap<F> {
    /// Makes an empty device: erases all good blocks and writes the first checkpoint.
    ///
    /// # Errors
    /// Settings that do not suit the medium; errors of the medium.
    pub fn format(flash: F, config: FtlConfig) -> Result<PageMap<F>, FtlError> {
        let mut made = PageMap::blank(flash, config)?;
        {
            let _reason = made.flash.because(&causes::FORMATTING);
            for block in 0..made.shape.blocks {
                if made.flash.is_bad(block) {
                    continue;
                }
                match made.flash.erase(block) {
                    Ok(()) => made.blocks.release(block, true),
                    Err(MtdError::EraseFailed) => made.mark_bad(block)?,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        made.check_size()?;
        if F::KEEPS_BYTES {
            let _reason = made.flash.because(&causes::FORMATTING);
            made.write_checkpoint()?;
        }
        made.statistics = Statistics::of(&made.config);
        Ok(made)
    }

    fn blank(flash: F, config: FtlConfig) -> Result<PageMap<F>, FtlError> {
        let free_blocks_min = match config.map_cache_entries_count {
            Some(_) => FREE_BLOCKS_MIN + TRANSLATION_BLOCKS,
            None => FREE_BLOCKS_MIN,
        };
        if config.gc_free_blocks < free_blocks_min && F::KEEPS_BYTES || config.gc_free_blocks == 0 {
            return Err(FtlError::FreeBlocks { free_blocks: config.gc_free_blocks, free_blocks_min });
        }
        let commands = Commands::of(&flash, &config)?;
        let shape = flash.shape();
        debug_assert!(shape.pages_per_block.is_power_of_two());
        let blocks = Blocks::new(shape.blocks, shape.pages_per_block, &config);
        let bits = shape.page_bytes * 8;
        let trim_pages = if F::KEEPS_BYTES { config.logical_pages.div_ceil(bits) } else { 0 };
        let translations = match config.map_cache_entries_count {
            Some(_) if F::KEEPS_BYTES => map_cache::translation_pages(config.logical_pages, shape.page_bytes),
            _ => 0,
        };
        let first_translation = config.logical_pages + trim_pages;
        let numbers = (first_translation + translations) as usize;
        let cache = config.map_cache_entries_count.filter(|_| translations > 0);
        Ok(PageMap {
            map: vec![NONE; numbers],
            owner: vec![NONE; (shape.blocks * shape.pages_per_block) as usize],
            blocks,
            open: [NONE; STREAMS],
            sequence: 0,
            stale_trims: Vec::new(),
            resumed: Vec::new(),
            failing: Vec::new(),
            emptied_idly: None,
            to_refresh: Vec::new(),
            checkpoint_blocks: Vec::new(),
            pages_since_checkpoint: 0,
            hot_pages: config.stream.make(),
            leveller: Leveller::new(config.levelling, config.endurance_erases, shape.blocks, config.seed),
            buffer: vec![0xFF; shape.page_bytes as usize],
            cache: cache.map(|entries| MapCache::new(entries, &config, translations)),
            first_trim: config.logical_pages,
            first_translation,
            statistics: Statistics::of(&config),
            commands,
            further_pages: 0,
            row: Row::default(),
            block_shift: shape.pages_per_block.trailing_zeros(),
            overlapped_pages: flash.overlap_programs(),
            flash,
            config,
            shape,
        })
    }

    /// Most logical pages that a device on so many good blocks can have.
    fn logical_pages_max(&self, good_blocks: u32) -> u32 {
        let streams = 1 + u32::from(self.config.gc_apart) + u32::from(self.config.keeps_hot_apart());
        let levelled = u32::from(self.config.levelling.moves_data());
        let translation = u32::from(self.cache.is_some());
        let kept_back = self.config.gc_free_blocks + streams + levelled + translation + 2 * self.blocks_of_checkpoint();
        let pages = good_blocks.saturating_sub(kept_back) * self.shape.pages_per_block;
        pages.saturating_sub((self.map.len() as u32 - self.config.logical_pages) + 1)
    }

    fn check_size(&self) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        let good_blocks = self.shape.blocks - self.blocks.bad_blocks();
        let logical_pages_max = self.logical_pages_max(good_blocks);
        if logical_pages == 0 || logical_pages > logical_pages_max {
            return Err(FtlError::Size { logical_pages, logical_pages_max });
        }
        Ok(())
    }

    pub fn config(&self) -> &FtlConfig {
        &self.config
    }

    pub fn flash(&self) -> &F {
        &self.flash
    }

    /// Gives the medium back; what is in RAM is lost, as in a power cut.
    pub fn into_flash(self) -> F {
        self.flash
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Counts from now on.
    pub fn reset_statistics(&mut self) {
        self.statistics = Statistics::of(&self.config);
    }

    /// Erases of each block, as far as the device knows them.
    pub fn erase_counts(&self) -> &[u32] {
        &self.blocks.erases
    }

    /// RAM that a controller needs for the map: an entry of 4 bytes a page, or with DFTL 8 bytes a cached entry (logical and
    /// physical page) and the directory.
    pub fn map_bytes(&self) -> u64 {
        let directory = self.map.len() as u64 - u64::from(self.config.logical_pages);
        match (&self.cache, self.config.map_cache_entries_count) {
            (Some(_), Some(entries)) => 8 * u64::from(entries) + 4 * directory,
            _ => self.map.len() as u64 * 4,
        }
    }

    // ---- the host -------------------------------------------------------------------------------------------------

    fn check(&self, logical_page: u32) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        if logical_page >= logical_pages {
            return Err(FtlError::OutOfRange { logical_page, logical_pages });
        }
        Ok(())
    }

    /// Reads a logical page of [`Shape::page_bytes`], which can be used after [`Flash::settle_reads`]; zeros where nothing was written or what was is trimmed.
    ///
    /// # Errors
    /// The page cannot be corrected, or could not when it was moved.
    pub fn read(&mut self, logical_page: u32, data: &mut [u8]) -> Result<(), FtlError> {
        self.check(logical_page)?;
        self.look_up(logical_page)?;
        let page = self.map[logical_page as usize];
        if page == NONE {
            data.fill(0);
            return Ok(());
        }
        let more = self.reads_on(logical_page, page);
        let (found, read) = self.flash.begin_read_in_row(page, data, more);
        let lost = found.is_lost();
        match read {
            Err(MtdError::Uncorrectable) => return Err(FtlError::Uncorrectable { logical_page, page }),
            Ok(_) if lost => return Err(FtlError::Uncorrectable { logical_page, page }),
            Ok(true) => self.refresh_soon(page >> self.block_shift),
            Ok(false) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Writes a logical page. It is on flash when this returns, or after [`PageMap::flush`] where several dies work or with cache commands.
    ///
    /// # Errors
    /// Too many blocks are bad; the power was cut.
    pub fn write(&mut self, logical_page: u32, data: &[u8], hot: bool) -> Result<(), FtlError> {
        let is_hot = self.hot_pages.as_mut().is_some_and(|pages| pages.writes(logical_page)) || hot;
        let stream = if is_hot && self.config.keeps_hot_apart() { Stream::Hot } else { Stream::Host };
        self.write_because(logical_page, data, stream, 0, &causes::HOST_WRITE)?;
        self.statistics.host_pages += 1;
        Ok(())
    }

    /// As [`PageMap::write`], of a page that the host did not write.
    pub(crate) fn pad(&mut self, logical_page: u32, data: &[u8]) -> Result<(), FtlError> {
        self.write_because(logical_page, data, Stream::Host, 0, &causes::BLOCK_PADDING)?;
        self.statistics.padded_pages += 1;
        Ok(())
    }

    /// Writes what the SLC cache held, with the flags of its record.
    pub(crate) fn fold(&mut self, logical_page: u32, data: &[u8], flags_bits: u8) -> Result<(), FtlError> {
        self.write_because(logical_page, data, Stream::Host, flags_bits, &causes::FOLD)?;
        self.statistics.host_pages += 1;
        Ok(())
    }

    fn write_because(
        &mut self,
        logical_page: u32,
        data: &[u8],
        stream: Stream,
        flags_bits: u8,
        reason: &'static Reason,
    ) -> Result<(), FtlError> {
        self.check(logical_page)?;
        self.look_up(logical_page)?;
        self.make_room(stream)?;
        {
            let _reason = self.flash.because(reason);
            self.append(stream, logical_page, data, flags_bits)?;
        }
        self.has_changed(logical_page);
        self.pages_since_checkpoint += 1;
        if self.config.checkpoint_every_pages.is_some_and(|pages| self.pages_since_checkpoint >= pages) {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Everything acknowledged is on flash when this returns: of writes that which dies are still at, and trims.
    pub fn flush(&mut self) -> Result<(), FtlError> {
        if !self.stale_trims.is_empty() {
            self.make_room(Stream::Host)?;
            self.write_trims()?;
        }
        self.flash.settle();
        Ok(())
    }

    // ---- writing pages --------------------------------------------------------------------------------------------

    /// The stream that a page goes to, given what is kept apart.
    #[inline]
    fn place_of(&self, stream: Stream) -> usize {
        match stream {
            Stream::Collected if !self.config.gc_apart => Stream::Host as usize,
            stream => stream as usize,
        }
    }

    #[inline]
    fn has_room(&self, stream: Stream) -> bool {
        self.open[self.place_of(stream)] != NONE
    }

    /// Programs a page where its stream is written, and enters it in the map.
    fn append(&mut self, stream: Stream, number: u32, data: &[u8], flags_bits: u8) -> Result<(), FtlError> {
        let data_crc = if F::KEEPS_BYTES { crc32fast::hash(data) } else { 0 };
        let (kind, told) = if number < self.first_trim {
            (KIND_DATA, number)
        } else if number < self.first_translation {
            (KIND_TRIM, number - self.first_trim)
        } else {
            (KIND_MAP, number - self.first_translation)
        };
        loop {
            let place = self.open_place(stream)?;
            let block = self.open[place];
            let index = block as usize;
            let page = (block << self.block_shift) + self.blocks.written[index];
            self.sequence += 1;
            let erases = self.blocks.erases[index];
            let mut tag = Tag { kind, flags_bits, number: told, sequence: self.sequence, erases, data_crc };
            let is_resumed = !self.resumed.is_empty() && self.resumed.contains(&block);
            if is_resumed {
                tag.flags_bits |= FLAG_RESUMED;
                self.resumed.retain(|&resumed| resumed != block);
            }
            let programmed = self.flash.program(page, data, &tag);
            if is_resumed {
                self.flash.settle();
            }
            if self.was_programmed(place, number, page, programmed)? {
                return Ok(());
            }
        }
    }

    /// Takes down what came of a program in the open block of `place`. `false`: the page must go elsewhere.
    fn was_programmed(
        &mut self,
        place: usize,
        number: u32,
        page: u32,
        programmed: Result<(), MtdError>,
    ) -> Result<bool, FtlError> {
        let block = self.open[place];
        let index = block as usize;
        if self.blocks.written[index] == 0 {
            self.blocks.first_sequence[index] = self.sequence;
        }
        self.blocks.written[index] += 1;
        match programmed {
            Ok(()) => {
                self.enter(number, page);
                if self.blocks.written[index] == self.shape.pages_per_block {
                    self.open[place] = NONE;
                    self.blocks.close(block, self.sequence);
                }
                Ok(true)
            }
            Err(MtdError::ProgramFailed) => {
                self.statistics.failed_programs += 1;
                self.open[place] = NONE;
                self.blocks.state[index] = State::Failing;
                self.failing.push(block);
                Ok(false)
            }
            // The chip counts a program of which the cut left nothing that can be seen.
            Err(MtdError::RuleBroken) => {
                self.open[place] = NONE;
                self.blocks.close(block, self.sequence);
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Number `number` of the map stands in this page now.
    #[inline]
    fn enter(&mut self, number: u32, page: u32) {
        let old = std::mem::replace(&mut self.map[number as usize], page);
        if old != NONE {
            self.owner[old as usize] = NONE;
            self.blocks.loses_page(old >> self.block_shift);
        }
        self.owner[page as usize] = number;
        self.blocks.valid[(page >> self.block_shift) as usize] += 1;
    }

    /// The open block of a stream; if no block is free, that of another one.
    #[inline]
    fn open_place(&mut self, stream: Stream) -> Result<usize, FtlError> {
        let place = self.place_of(stream);
        if self.open[place] != NONE {
            return Ok(place);
        }
        self.open_block(place, stream == Stream::Levelled)
    }

    #[cold]
    fn open_block(&mut self, place: usize, most_worn: bool) -> Result<usize, FtlError> {
        while let Some(block) = self.blocks.take(most_worn) {
            if self.blocks.clean[block as usize] || self.erase_block(block)? {
                self.blocks.state[block as usize] = State::Open;
                self.open[place] = block;
                return Ok(place);
            }
        }
        let other = self.open.iter().position(|&block| block != NONE);
        other.ok_or_else(|| self.worn_out())
    }

    fn worn_out(&self) -> FtlError {
        FtlError::WornOut { bad_blocks: self.blocks.bad_blocks(), blocks: self.shape.blocks }
    }

    /// Erases a block that holds nothing. `false`: it is bad now.
    fn erase_block(&mut self, block: u32) -> Result<bool, FtlError> {
        let index = block as usize;
        let erased = {
            let _reason = self.flash.because(&causes::FTL_ERASE);
            self.flash.erase(block)
        };
        self.blocks.erases[index] += 1;
        self.blocks.written[index] = 0;
        self.statistics.erases += 1;
        self.leveller.counts_erase();
        match erased {
            Ok(()) => Ok(true),
            Err(MtdError::EraseFailed | MtdError::BadBlock) => self.mark_bad(block).map(|()| false),
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing will be written to the block any more.
    fn mark_bad(&mut self, block: u32) -> Result<(), FtlError> {
        let _reason = self.flash.because(&causes::BLOCK_FAILED);
        self.blocks.state[block as usize] = State::Bad;
        match self.flash.mark_bad(block) {
            Err(MtdError::PowerCut) => Err(MtdError::PowerCut.into()),
            // A mark that cannot be written changes nothing: the block fails again after the next mount.
            _ => Ok(()),
        }
    }

    fn refresh_soon(&mut self, block: u32) {
        if self.blocks.state[block as usize] == State::Closed && !self.to_refresh.contains(&block) {
            self.to_refresh.push(block);
        }
    }
}
