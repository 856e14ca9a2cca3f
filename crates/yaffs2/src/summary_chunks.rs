//! Block summaries on flash: written behind the last chunk that they describe, read by a scan.
//!
//! Follows `yaffs_summary.c`.

use ffslab_fs::Result;

use crate::causes;
use crate::chunks::Chunks;
use crate::objects::SUMMARY_ID;
use crate::options::Generation;
use crate::summary::{ENTRY_BYTES, HEADER_BYTES, VERSION};
use crate::tags::{EccResult, Tags, Words};

fn sum_of(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |sum: u32, &byte| sum.wrapping_add(u32::from(byte)))
}

impl Chunks {
    /// Notes a chunk's tags; after the last one before the summary, writes the summary and closes the block.
    pub fn add_to_summary(&mut self, chunk: u32, tags: &Tags) -> Result<()> {
        let (block, page) = (self.blocks.of(chunk), chunk % self.blocks.chunks_per_block);
        if page >= self.summary.chunks {
            return Ok(());
        }
        self.summary.entries[page as usize] = tags.words();
        if page == self.summary.chunks - 1 {
            self.write_summary(block)?;
            self.summary.entries.fill(Words::default());
            self.blocks.skip_rest_of_block();
        }
        Ok(())
    }

    fn write_summary(&mut self, block: u32) -> Result<()> {
        let _why = self.sim.because(&causes::SUMMARY);
        let all = self.summary.bytes();
        let mut header = [0; HEADER_BYTES];
        for (i, value) in [VERSION, block, self.blocks.info(block).sequence, sum_of(&all)].into_iter().enumerate() {
            header[i * 4..i * 4 + 4].copy_from_slice(&value.to_le_bytes());
        }
        let mut data = self.buffer();
        let mut whole = true;
        for (part, number) in all.chunks(self.data_bytes as usize - HEADER_BYTES).zip(0..) {
            let page = self.summary.chunks + number;
            data[..HEADER_BYTES].copy_from_slice(&header);
            data[HEADER_BYTES..HEADER_BYTES + part.len()].copy_from_slice(part);
            data[HEADER_BYTES + part.len()..].fill(0);
            let mut tags = Tags::of_data(SUMMARY_ID, number + 1, (part.len() + HEADER_BYTES) as u32);
            whole = self.program_chunk(block * self.blocks.chunks_per_block + page, &data, &mut tags)?;
            if !whole {
                break;
            }
            self.blocks.use_chunk(block, page);
        }
        self.release(data);
        self.blocks.info_mut(block).has_summary = whole;
        Ok(())
    }

    /// Reads a block's summary during a scan. Returns `false` when the block has no summary that can be trusted.
    pub fn read_summary(&mut self, block: u32) -> Result<bool> {
        let first = block * self.blocks.chunks_per_block;
        if self.summary.chunks == 0 {
            // Sources that know summaries look for one even when they are switched off.
            if self.options.generation > Generation::Y2010 {
                let mut data = self.buffer();
                self.read_chunk(first, &mut data)?;
                self.release(data);
            }
            return Ok(false);
        }
        let part_bytes = self.data_bytes as usize - HEADER_BYTES;
        let all_bytes = self.summary.chunks as usize * ENTRY_BYTES;
        let mut all = Vec::with_capacity(all_bytes);
        let mut header = [0; HEADER_BYTES];
        let mut data = self.buffer();
        let mut page = self.summary.chunks;
        let mut right = true;
        while right && all.len() < all_bytes {
            let count = part_bytes.min(all_bytes - all.len());
            let tags = self.read_chunk(first + page, &mut data)?;
            let id = page - self.summary.chunks + 1;
            right = tags.is_used
                && tags.ecc < EccResult::Unfixed
                && (tags.object, tags.chunk, tags.count_bytes as usize) == (SUMMARY_ID, id, count + HEADER_BYTES);
            if right {
                self.blocks.found_in_use(block, page);
                header.copy_from_slice(&data[..HEADER_BYTES]);
                all.extend_from_slice(&data[HEADER_BYTES..HEADER_BYTES + count]);
                page += 1;
            }
        }
        self.release(data);
        if !right {
            return Ok(false);
        }
        let word = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        // Today's sources do not look at the block's number.
        let block_agrees = self.options.generation == Generation::Today || word(4) == block;
        if word(0) != VERSION
            || !block_agrees
            || word(8) != self.blocks.info(block).sequence
            || word(12) != sum_of(&all)
        {
            return Ok(false);
        }
        self.summary.load(&all);
        self.blocks.info_mut(block).has_summary = true;
        Ok(true)
    }

    /// Frees the summary chunks of a block that is being collected.
    pub fn drop_summary(&mut self, block: u32) {
        if !self.blocks.info(block).has_summary {
            return;
        }
        for page in self.summary.chunks..self.blocks.chunks_per_block {
            if self.blocks.is_in_use(block, page) {
                self.blocks.drop_chunk(block, page);
            }
        }
    }
}
