//! Making room: garbage collection, wear levelling, blocks that failed or lose bits.

use ffslab_mtd::MtdError;
use ffslab_policy::Refusal;
use ffslab_sim::Reason;

use super::eviction::NONE;
use super::{PageMap, Stream};
use crate::blocks::State;
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;
use crate::tag::{Found, Tag, FLAG_LOST, KIND_DATA};

impl<F: Flash> PageMap<F> {
    /// Why an answer of a policy was refused, if one was; from then on the layer's own rule decides.
    pub fn policy_refusal(&self) -> Option<Refusal> {
        let of_streams = || self.hot_pages.as_ref().and_then(|pages| pages.refusal());
        let of_cache = || self.cache.as_ref().and_then(|cache| cache.refusal());
        self.blocks.refusal().or_else(|| self.leveller.refusal()).or_else(of_streams).or_else(of_cache)
    }

    /// Sees to it that the stream can be written: collects until enough blocks are free.
    #[inline]
    pub(super) fn make_room(&mut self, stream: Stream) -> Result<(), FtlError> {
        let enough_free = self.blocks.free_blocks() >= self.config.gc_free_blocks;
        if enough_free && self.has_room(stream) && self.failing.is_empty() && self.to_refresh.is_empty() {
            return Ok(());
        }
        self.make_room_slowly(stream)
    }

    fn make_room_slowly(&mut self, stream: Stream) -> Result<(), FtlError> {
        // Cuts leave fewer free blocks than there were: each makes a block end early.
        self.collect_until(self.config.gc_free_blocks, None)?;
        self.empty_failed_blocks()?;
        if !self.has_room(stream) {
            self.collect_until(self.config.gc_free_blocks + 1, Some(stream))?;
            self.level_wear()?;
        }
        self.refresh()?;
        self.empty_failed_blocks()
    }

    /// Collects until so many blocks are free, or the stream has room.
    pub(super) fn collect_until(&mut self, free_blocks: u32, stream: Option<Stream>) -> Result<(), FtlError> {
        let mut rounds = 0;
        let enough = |ftl: &Self| stream.is_some_and(|stream| ftl.has_room(stream));
        while self.blocks.free_blocks() < free_blocks && !enough(self) {
            rounds += 1;
            // Random and old victims can be full of valid pages, but not all of them again and again.
            if rounds > 8 * self.shape.blocks {
                return Err(self.worn_out());
            }
            if !self.collect()? {
                return Err(self.worn_out());
            }
        }
        Ok(())
    }

    /// Collects while nobody waits: one page, or one block where the map stands on flash, because all its moves are written to the map
    /// together. `false`: enough blocks are free, or the policy names a block that would give nothing.
    pub(crate) fn collect_idly(&mut self) -> Result<bool, FtlError> {
        let Some(free_blocks) = self.config.idle_free_blocks else { return Ok(false) };
        let (block, page) = match self.emptied_idly {
            Some(begun) => begun,
            None if self.blocks.free_blocks() >= free_blocks => return Ok(false),
            None => {
                self.write_trims()?;
                let full = self.shape.pages_per_block;
                let chosen =
                    self.blocks.choose(self.sequence).filter(|&block| self.blocks.valid[block as usize] < full);
                let Some(block) = chosen else { return Ok(false) };
                self.blocks.take_out(block, State::Emptied);
                (block, block << self.block_shift)
            }
        };
        self.emptied_idly = Some((block, page));
        if self.cache.is_some() {
            self.statistics.idle_pages += self.end_idle_block()?;
            return Ok(true);
        }
        let end = (block + 1) << self.block_shift;
        match (page..end).find(|&page| self.owner[page as usize] != NONE) {
            None => self.statistics.idle_pages += self.end_idle_block()?,
            Some(page) => {
                let _reason = self.flash.because(&causes::GC_COPY);
                self.move_one(Stream::Collected, self.owner[page as usize], page)?;
                self.statistics.gc_pages += 1;
                self.statistics.idle_pages += 1;
                self.emptied_idly = Some((block, page + 1));
            }
        }
        Ok(true)
    }

    /// Ends what [`PageMap::collect_idly`] has begun. Returns how many pages were moved for it.
    fn end_idle_block(&mut self) -> Result<u64, FtlError> {
        let Some((block, _)) = self.emptied_idly.take() else { return Ok(0) };
        self.write_trims()?;
        let moved = u64::from(self.empty(block, Stream::Collected, &causes::GC_COPY)?);
        self.statistics.gc_pages += moved;
        self.statistics.collected_blocks += 1;
        self.erase_emptied(block).map(|()| moved)
    }

    /// Empties the block that the policy chooses. `false`: there is none.
    fn collect(&mut self) -> Result<bool, FtlError> {
        if self.emptied_idly.is_some() {
            return self.end_idle_block().map(|_| true);
        }
        self.write_trims()?;
        // Where the map stands on flash, moved pages change parts of it that are written, too: a block full of valid pages can cost
        // more pages than it gives. So where collection has not gained for some time, no policy is asked.
        let is_in_need = self.cache.is_some() && self.blocks.free_blocks() + 1 < self.config.gc_free_blocks;
        let chosen = if is_in_need { self.blocks.emptiest() } else { self.blocks.choose(self.sequence) };
        let Some(victim) = chosen else { return Ok(false) };
        self.blocks.take_out(victim, State::Emptied);
        self.statistics.gc_pages += u64::from(self.empty(victim, Stream::Collected, &causes::GC_COPY)?);
        self.statistics.collected_blocks += 1;
        self.erase_emptied(victim)?;
        Ok(true)
    }

    fn erase_emptied(&mut self, block: u32) -> Result<(), FtlError> {
        if self.erase_block(block)? {
            self.blocks.release(block, true);
        }
        Ok(())
    }

    /// Moves what is valid in a block. Returns how many pages these were.
    fn empty(&mut self, block: u32, stream: Stream, reason: &'static Reason) -> Result<u32, FtlError> {
        let _reason = self.flash.because(reason);
        if !F::KEEPS_BYTES {
            return self.empty_without_bytes(block, stream);
        }
        if self.commands.move_pages() {
            return self.empty_by_commands(block, stream);
        }
        let first = block << self.block_shift;
        let (mut moved, mut page) = (0, first);
        while self.blocks.valid[block as usize] > 0 {
            debug_assert!(page < first + self.shape.pages_per_block, "block {block}: valid pages are miscounted");
            let number = self.owner[page as usize];
            if number != NONE {
                self.move_page(stream, number, page)?;
                moved += 1;
            }
            page += 1;
        }
        self.settle_moved()?;
        Ok(moved)
    }

    /// As [`PageMap::empty`] where nothing is kept but the map: page after page goes to the open block, and what is known of the
    /// two blocks is brought up to date once for all of them.
    fn empty_without_bytes(&mut self, block: u32, stream: Stream) -> Result<u32, FtlError> {
        let (first, pages_per_block) = (block << self.block_shift, self.shape.pages_per_block);
        let (mut moved, mut page) = (0, first);
        while self.blocks.valid[block as usize] > 0 {
            let place = self.open_place(stream)?;
            let open = self.open[place];
            let index = open as usize;
            let written = self.blocks.written[index];
            let mut target = (open << self.block_shift) + written;
            let end = (open << self.block_shift) + pages_per_block;
            let left = self.blocks.valid[block as usize].min(end - target);
            let last = target + left;
            while target < last {
                debug_assert!(page < first + pages_per_block, "block {block}: valid pages are miscounted");
                let number = std::mem::replace(&mut self.owner[page as usize], NONE);
                if number != NONE {
                    let _ = self.flash.read(page, &mut []);
                    self.sequence += 1;
                    let erases = self.blocks.erases[index];
                    let tag =
                        Tag { kind: KIND_DATA, flags_bits: 0, number, sequence: self.sequence, erases, data_crc: 0 };
                    self.flash.program(target, &[], &tag)?;
                    self.owner[target as usize] = number;
                    self.map[number as usize] = target;
                    target += 1;
                }
                page += 1;
            }
            if written == 0 {
                self.blocks.first_sequence[index] = self.sequence - u64::from(left) + 1;
            }
            self.blocks.written[index] += left;
            self.blocks.valid[index] += left;
            self.blocks.valid[block as usize] -= left;
            moved += left;
            if target == end {
                self.open[place] = NONE;
                self.blocks.close(open, self.sequence);
            }
        }
        Ok(moved)
    }

    #[inline]
    pub(super) fn move_page(&mut self, stream: Stream, number: u32, page: u32) -> Result<(), FtlError> {
        if !F::KEEPS_BYTES {
            let _ = self.flash.read(page, &mut []);
            return self.append(stream, number, &[], 0);
        }
        if number >= self.first_translation {
            return self.write_translation(number - self.first_translation);
        }
        if number >= self.first_trim {
            return self.write_trim_page(number - self.first_trim);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let moved = self.copy_through(stream, number, page, &mut buffer);
        self.buffer = buffer;
        self.has_changed(number);
        moved
    }

    fn copy_through(&mut self, stream: Stream, number: u32, page: u32, data: &mut [u8]) -> Result<(), FtlError> {
        let (found, read) = self.flash.read(page, data);
        let mut flags_bits = match found {
            Found::Tag(tag) => tag.flags_bits & FLAG_LOST,
            _ => 0,
        };
        match read {
            Ok(_) => {}
            Err(MtdError::Uncorrectable) => flags_bits |= FLAG_LOST,
            Err(error) => return Err(error.into()),
        }
        self.append(stream, number, data, flags_bits)
    }

    /// Empties the blocks in which a program has failed, and marks them bad.
    fn empty_failed_blocks(&mut self) -> Result<(), FtlError> {
        while let Some(block) = self.failing.pop() {
            self.write_trims()?;
            let moved = self.empty(block, Stream::Collected, &causes::BLOCK_FAILED)?;
            self.statistics.other_moved_pages += u64::from(moved);
            self.mark_bad(block)?;
        }
        Ok(())
    }

    /// Writes blocks anew in which bits were corrected.
    fn refresh(&mut self) -> Result<(), FtlError> {
        while let Some(block) = self.to_refresh.pop() {
            // It may have been collected since.
            if self.blocks.state[block as usize] != State::Closed {
                continue;
            }
            self.move_block(block, Stream::Collected, &causes::REFRESH)?;
            self.collect_until(self.config.gc_free_blocks, None)?;
        }
        Ok(())
    }

    fn move_block(&mut self, block: u32, stream: Stream, reason: &'static Reason) -> Result<(), FtlError> {
        self.write_trims()?;
        // Writing trims can have closed no block of the victims but this one is still there.
        self.blocks.take_out(block, State::Emptied);
        let moved = self.empty(block, stream, reason)?;
        self.statistics.other_moved_pages += u64::from(moved);
        self.erase_emptied(block)
    }

    /// Static wear levelling: the data of the block that the rule names move to the most worn free block, and theirs is worn from
    /// now on.
    fn level_wear(&mut self) -> Result<(), FtlError> {
        if !self.leveller.is_due() {
            return Ok(());
        }
        let blocks = &self.blocks;
        match self.leveller.choose(&blocks.erases, |block| blocks.wears(block)) {
            Some(block) => self.move_block(block, Stream::Levelled, &causes::LEVELLING),
            None => Ok(()),
        }
    }
}
