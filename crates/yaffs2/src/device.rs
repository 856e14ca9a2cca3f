//! Everything that a mounted YAFFS2 keeps in memory, and the way chunks reach flash.
//!
//! Follows `struct yaffs_dev` and the chunk functions of `yaffs_guts.c` and `yaffs_nand.c`.

use crate::causes;
use ffslab_fs::Result;
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;

use crate::blocks::{BlockState, Blocks};
use crate::cache::ShortOpCache;
use crate::checkpoint::CheckpointState;
use crate::gc::GcState;
use crate::medium::Medium;
use crate::objects::{Obj, Objects};
use crate::options::Options;
use crate::summary::Summary;
use crate::tags::{EccResult, Tags};
use crate::tnodes::Tnodes;

/// How many chunks are tried in turn for a write that fails (`YAFFS_WR_ATTEMPTS`).
const WRITE_ATTEMPTS_MAX: u32 = 5 * 64;
/// Sequence number in the tags of a block that is bad but could not be marked.
pub const SEQUENCE_BAD_BLOCK: u32 = 0xFFFF_0000;

pub(crate) struct Device {
    pub sim: Sim,
    pub options: Options,
    pub medium: Medium,
    pub data_bytes: u32,
    pub blocks: Blocks,
    pub tnodes: Tnodes,
    pub objects: Objects,
    pub cache: ShortOpCache,
    pub summary: Summary,
    pub gc: GcState,
    pub checkpoint: CheckpointState,
    /// Directories whose headers have to be written, in the order of their last change.
    pub dirty_directories: Vec<Obj>,
    /// Present time of day, for time stamps.
    pub now_s: u32,
    buffers: Vec<Box<[u8]>>,
}

impl Device {
    pub fn new(mtd: Mtd, options: Options) -> Device {
        let sim = mtd.sim().clone();
        causes::register(&sim);
        let chunks_per_block = mtd.pages_per_block();
        let blocks = Blocks::new(mtd.blocks(), chunks_per_block);
        let medium = Medium::new(mtd, &options);
        let data_bytes = medium.data_bytes();
        Device {
            sim,
            medium,
            data_bytes,
            blocks,
            tnodes: Tnodes::new(),
            objects: Objects::new(),
            cache: ShortOpCache::new(options.short_op_cache_pages, data_bytes),
            summary: Summary::new(options.block_summaries, chunks_per_block, data_bytes),
            gc: GcState::new(),
            checkpoint: CheckpointState::default(),
            dirty_directories: Vec::new(),
            now_s: 0,
            buffers: Vec::new(),
            options,
        }
    }

    /// Discards everything that a failed attempt to read a checkpoint has left in memory.
    pub fn start_over(&mut self) {
        self.blocks = Blocks::new(self.blocks.count(), self.blocks.chunks_per_block);
        self.tnodes = Tnodes::new();
        self.objects = Objects::new();
    }

    /// A chunk-sized buffer; give it back with [`Device::release`].
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
    fn chunk_error(&mut self, block: u32) {
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

    // ---- writing -------------------------------------------------------------------------------------------

    /// Is there room for so many chunks beside what the garbage collection and the next checkpoint need?
    pub fn has_room_for(&self, chunks: i32) -> bool {
        let reserved = self.options.reserved_blocks as i32 + self.checkpoint_blocks_wanted();
        self.blocks.free_chunks() > reserved * self.blocks.chunks_per_block as i32 + chunks
    }

    /// Programs one chunk and notes its tags for the block's summary.
    pub fn program_chunk(&mut self, chunk: u32, data: &[u8], tags: &mut Tags) -> Result<bool> {
        tags.sequence = self.blocks.sequence;
        tags.is_used = true;
        let written = self.medium.write(chunk - self.blocks.chunks_per_block, data, tags)?;
        self.add_to_summary(chunk, tags)?;
        Ok(written)
    }

    /// Writes a chunk wherever the next free one is. `None`: no space.
    pub fn write_new_chunk(&mut self, data: &[u8], tags: &mut Tags, use_reserve: bool) -> Result<Option<u32>> {
        self.invalidate_checkpoint()?;
        for _ in 0..=WRITE_ATTEMPTS_MAX {
            self.blocks.open_block();
            if !use_reserve && !self.has_room_for(1) {
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
        let erased = tags.ecc == EccResult::NoError && !tags.is_used && data.iter().all(|&byte| byte == 0xFF);
        self.release(data);
        Ok(erased)
    }

    fn holds(&mut self, chunk: u32, expected: &[u8], tags: &Tags) -> Result<bool> {
        let _why = self.sim.because(&causes::ERASE_CHECK);
        let mut data = self.buffer();
        let found = self.read_chunk(chunk, &mut data)?;
        let same = *data == *expected
            && found.ecc < EccResult::Unfixed
            && (found.object, found.chunk, found.count_bytes) == (tags.object, tags.chunk, tags.count_bytes);
        self.release(data);
        Ok(same)
    }

    // ---- deleting and erasing ------------------------------------------------------------------------------

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

    // ---- space ---------------------------------------------------------------------------------------------

    /// How many chunks programs may still write (`yaffs_get_n_free_chunks`).
    pub fn free_chunks_for_programs(&self) -> i32 {
        let per_block = self.blocks.chunks_per_block as i32;
        let kept = self.options.reserved_blocks as i32 + 1 + self.checkpoint_blocks_wanted();
        let free = self.blocks.free_chunks() + self.objects.deleted_files - self.cache.dirty_flags();
        (free - kept * per_block).max(0)
    }
}
