//! The chunks of the medium: reading, programming, going out of use, erasing. Nothing here knows to what a chunk belongs.
//!
//! Follows the chunk functions of `yaffs_guts.c` and `yaffs_nand.c`, `yaffs_tags_marshall_query_block` and, of
//! `yaffs_yaffs2.c`, `yaffs2_checkpt_invalidate`. Where the next chunk goes stands in `new_chunks.rs`.

use ffslab_fs::Result;
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;

use crate::blocks::{BlockState, Blocks};
use crate::causes;
use crate::gc_state::GcState;
use crate::medium::Medium;
use crate::options::Options;
use crate::summary::Summary;
use crate::tags::{EccResult, Tags};

/// Sequence number in the tags of a block that is bad but could not be marked.
pub const SEQUENCE_BAD_BLOCK: u32 = 0xFFFF_0000;
/// Sequence number in the tags of checkpoint pages.
pub const SEQUENCE_CHECKPOINT: u32 = 0x21;

/// The checkpoint on flash.
#[derive(Default)]
pub(crate) struct CheckpointState {
    /// It agrees with memory.
    pub is_valid: bool,
    /// Blocks that hold it, up to date or not.
    pub blocks: u32,
}

pub(crate) struct Chunks {
    pub sim: Sim,
    pub options: Options,
    pub medium: Medium,
    pub data_bytes: u32,
    pub blocks: Blocks,
    pub summary: Summary,
    pub checkpoint: CheckpointState,
    /// Something was written since the super block was written last (`s_dirt`).
    pub super_is_dirty: bool,
    /// What garbage collection remembers. It stands here because errors and erases change it.
    pub gc: GcState,
    buffers: Vec<Box<[u8]>>,
}

impl Chunks {
    pub fn new(mtd: Mtd, options: Options) -> Chunks {
        let sim = mtd.sim().clone();
        let chunks_per_block = mtd.pages_per_block();
        let blocks = Blocks::new(mtd.blocks(), chunks_per_block);
        let medium = Medium::new(mtd, &options);
        let data_bytes = medium.data_bytes();
        Chunks {
            sim,
            medium,
            data_bytes,
            blocks,
            summary: Summary::new(options.block_summaries, chunks_per_block, data_bytes),
            checkpoint: CheckpointState::default(),
            super_is_dirty: true,
            gc: GcState::new(),
            buffers: Vec::new(),
            options,
        }
    }

    /// A chunk-sized buffer; give it back with [`Chunks::release`].
    pub fn buffer(&mut self) -> Box<[u8]> {
        self.buffers.pop().unwrap_or_else(|| vec![0; self.data_bytes as usize].into_boxed_slice())
    }

    pub fn release(&mut self, buffer: Box<[u8]>) {
        self.buffers.push(buffer);
    }

    // ---- reading -------------------------------------------------------------------------------------------

    /// Reads a chunk with its tags. When ECC had to correct something, or could not, the block of the chunk is
    /// prioritised for garbage collection.
    pub fn read_chunk(&mut self, chunk: u32, data: &mut [u8]) -> Result<Tags> {
        let tags = self.medium.read(chunk - self.blocks.chunks_per_block, data)?;
        self.notice(chunk, &tags);
        Ok(tags)
    }

    pub fn read_tags(&mut self, chunk: u32) -> Result<Tags> {
        let tags = self.medium.read_tags(chunk - self.blocks.chunks_per_block)?;
        self.notice(chunk, &tags);
        Ok(tags)
    }

    fn notice(&mut self, chunk: u32, tags: &Tags) {
        if tags.ecc > EccResult::NoError {
            self.chunk_error(self.blocks.of(chunk));
        }
    }

    /// Counts an error of a block and prioritises the block for garbage collection; after the fourth error it is to be
    /// retired (`yaffs_handle_chunk_error`).
    pub fn chunk_error(&mut self, block: u32) {
        let info = self.blocks.info_mut(block);
        if !info.gc_prioritise {
            info.gc_prioritise = true;
            info.error_strikes = (info.error_strikes + 1) & 7;
            if info.error_strikes > 3 {
                info.needs_retiring = true;
            }
            self.gc.has_prioritised = true;
        }
    }

    /// Determines state and sequence number of one block (`yaffs_tags_marshall_query_block`).
    pub fn query_block(&mut self, block: u32) -> Result<(BlockState, u32)> {
        if self.medium.is_bad(block - 1) {
            return Ok((BlockState::Dead, 0));
        }
        let tags = self.medium.read_tags((block - 1) * self.blocks.chunks_per_block)?;
        Ok(if tags.is_used { (BlockState::NeedsScan, tags.sequence) } else { (BlockState::Empty, 0) })
    }

    // ---- programming, deleting, erasing --------------------------------------------------------------------

    /// Programs one chunk.
    pub fn program_chunk(&mut self, chunk: u32, data: &[u8], tags: &mut Tags) -> Result<bool> {
        tags.sequence = self.blocks.sequence;
        tags.is_used = true;
        self.medium.write(chunk - self.blocks.chunks_per_block, data, tags)
    }

    /// Marks a chunk as out of use. A full block without any chunk in use is erased at once, unless it holds a shrink
    /// header.
    pub fn delete_chunk(&mut self, chunk: u32) -> Result<()> {
        if chunk == 0 {
            return Ok(());
        }
        let (block, page) = (self.blocks.of(chunk), chunk % self.blocks.chunks_per_block);
        self.blocks.became_dirtier(block);
        let state = self.blocks.info(block).state;
        use BlockState::{Allocating, Collecting, Full, NeedsScan};
        if !matches!(state, Allocating | Full | NeedsScan | Collecting) {
            return Ok(());
        }
        let left = self.blocks.drop_chunk(block, page);
        if left == 0 && !self.blocks.info(block).has_shrink_header && matches!(state, Full | Collecting) {
            self.block_became_dirty(block)?;
        }
        Ok(())
    }

    /// Erases a block without chunks in use, or marks it bad if it is to be retired (`yaffs_block_became_dirty`).
    pub fn block_became_dirty(&mut self, block: u32) -> Result<()> {
        self.blocks.forget_oldest_dirty(block);
        self.blocks.info_mut(block).state = BlockState::Dirty;
        self.gc.forget_block(block);
        let mut erased = false;
        if !self.blocks.info(block).needs_retiring {
            self.invalidate_checkpoint()?;
            let _why = self.sim.because(&causes::ERASE);
            erased = self.medium.erase(block - 1)?;
        }
        if !erased {
            self.blocks.was_lost();
            return self.retire(block);
        }
        self.blocks.was_erased(block);
        Ok(())
    }

    /// Takes a block out of use for good (`yaffs_retire_block`).
    fn retire(&mut self, block: u32) -> Result<()> {
        let _why = self.sim.because(&causes::RECOVERY);
        self.invalidate_checkpoint()?;
        self.blocks.forget_oldest_dirty(block);
        if !self.medium.mark_bad(block - 1)? && self.medium.erase(block - 1)? {
            let mut data = self.buffer();
            data.fill(0xFF);
            let tags = Tags { sequence: SEQUENCE_BAD_BLOCK, ..Tags::default() };
            self.medium.write((block - 1) * self.blocks.chunks_per_block, &data, &tags)?;
            self.release(data);
        }
        let info = self.blocks.info_mut(block);
        info.state = BlockState::Dead;
        info.gc_prioritise = false;
        info.needs_retiring = false;
        Ok(())
    }

    // ---- the checkpoint on flash ---------------------------------------------------------------------------

    /// Erases the checkpoint on flash, because something is about to change.
    #[inline]
    pub fn invalidate_checkpoint(&mut self) -> Result<()> {
        self.super_is_dirty = true;
        if self.checkpoint.is_valid || self.checkpoint.blocks > 0 {
            self.checkpoint.is_valid = false;
            self.erase_checkpoint()?;
        }
        Ok(())
    }

    pub fn erase_checkpoint(&mut self) -> Result<()> {
        let _why = self.sim.because(&causes::SUMMARY);
        for block in self.blocks.all() {
            if self.blocks.info(block).state != BlockState::Checkpoint {
                continue;
            }
            if self.medium.erase(block - 1)? {
                self.blocks.became_empty(block);
            } else {
                self.medium.mark_bad(block - 1)?;
                self.blocks.info_mut(block).state = BlockState::Dead;
            }
        }
        self.checkpoint.blocks = 0;
        Ok(())
    }
}
