//! Where the next chunk goes, and whether there is room for it.
//!
//! Follows `yaffs_write_new_chunk` of `yaffs_guts.c`.

use ffslab_fs::Result;
use ffslab_sim::Work;

use crate::causes;
use crate::chunks::Chunks;
use crate::tags::{EccResult, Tags};

/// How many chunks are tried in turn for a write that fails (`YAFFS_WR_ATTEMPTS`).
const WRITE_ATTEMPTS_MAX: u32 = 5 * 64;

impl Chunks {
    /// Of the blocks that the next checkpoint takes, those that must be kept free beyond the blocks that the present one
    /// occupies.
    #[inline]
    pub fn still_wanted(&self, checkpoint_blocks: u32) -> i32 {
        checkpoint_blocks.saturating_sub(self.checkpoint.blocks) as i32
    }

    /// Is there room for so many chunks beside what the garbage collection and the next checkpoint need?
    pub fn has_room_for(&self, checkpoint_blocks: u32, chunks: i32) -> bool {
        let reserved = self.options.reserved_blocks as i32 + self.still_wanted(checkpoint_blocks);
        self.blocks.free_chunks() > reserved * self.blocks.chunks_per_block as i32 + chunks
    }

    /// Writes a chunk wherever the next free one is. `kept_blocks`: how many blocks the next checkpoint takes, for which
    /// room must be left beside the reserve; without a number the chunk may use both. `None`: no space.
    pub fn write_new_chunk(&mut self, data: &[u8], tags: &mut Tags, kept_blocks: Option<u32>) -> Result<Option<u32>> {
        self.invalidate_checkpoint()?;
        for _ in 0..=WRITE_ATTEMPTS_MAX {
            self.blocks.open_block();
            if kept_blocks.is_some_and(|kept| !self.has_room_for(kept, 1)) {
                return Ok(None);
            }
            let Some(chunk) = self.blocks.take_chunk() else { return Ok(None) };
            let block = self.blocks.of(chunk);
            // A block that this mount did not erase may hold the rest of a write that a power cut interrupted, so its
            // first chunk is checked before it is written. The check ends with the first write into the block.
            let doubtful = !self.blocks.info(block).skip_erased_check;
            if doubtful && !self.is_erased(chunk)? {
                self.delete_chunk(chunk)?;
                self.blocks.skip_rest_of_block();
                continue;
            }
            let mut written = self.program_chunk(chunk, data, tags)?;
            self.add_to_summary(chunk, tags)?;
            if doubtful {
                written = self.holds(chunk, data, tags)?;
            }
            if !written {
                self.chunk_error(block);
                if doubtful {
                    self.blocks.info_mut(block).needs_retiring = true;
                }
                self.delete_chunk(chunk)?;
                self.blocks.skip_rest_of_block();
                continue;
            }
            self.blocks.info_mut(block).skip_erased_check = true;
            return Ok(Some(chunk));
        }
        Ok(None)
    }

    fn is_erased(&mut self, chunk: u32) -> Result<bool> {
        let _why = self.sim.because(&causes::ERASE_CHECK);
        let mut data = self.buffer();
        let tags = self.read_chunk(chunk, &mut data)?;
        self.sim.work(Work::BlankCheck, data.len());
        let erased = tags.ecc == EccResult::NoError && !tags.is_used && data.iter().all(|&byte| byte == 0xFF);
        self.release(data);
        Ok(erased)
    }

    fn holds(&mut self, chunk: u32, expected: &[u8], tags: &Tags) -> Result<bool> {
        let _why = self.sim.because(&causes::ERASE_CHECK);
        let mut data = self.buffer();
        let found = self.read_chunk(chunk, &mut data)?;
        self.sim.work(Work::BlankCheck, data.len());
        let same = *data == *expected
            && found.ecc < EccResult::Unfixed
            && (found.object, found.chunk, found.count_bytes) == (tags.object, tags.chunk, tags.count_bytes);
        self.release(data);
        Ok(same)
    }
}
