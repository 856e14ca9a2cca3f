//! How much space the next checkpoint takes, and so how much must be kept for it.
//!
//! Follows `yaffs_calc_checkpt_blocks_required` of `yaffs_yaffs2.c`. The sizes of structures are those of a checkpoint
//! (`checkpoint.rs`).

use crate::device::Device;
use crate::options::Generation;
use crate::tnodes::LEAF_CHUNKS;

/// Smaller partitions have no checkpoints.
const BLOCKS_MIN: u32 = 60;

pub const VALIDITY_BYTES: u32 = 16;
pub const DEVICE_BYTES: u32 = 36;
pub const BLOCK_INFO_BYTES: u32 = 8;

/// An object, without the tree of a file. Until December 2011 the size of a file had 32 bits.
pub fn object_bytes(generation: Generation) -> u32 {
    match generation {
        Generation::Y2010 | Generation::Y2011 => 28,
        Generation::Y2012 | Generation::Today => 32,
    }
}

impl Device {
    pub fn has_checkpoints(&self) -> bool {
        self.chunks.options.checkpoint_write && self.chunks.blocks.count() >= BLOCKS_MIN
    }

    /// Bits of a chunk's number in a leaf of a tree (`tnode_width`).
    pub fn tnode_width_bits(&self) -> u32 {
        let chunks = self.chunks.blocks.chunks_per_block * (self.chunks.blocks.last() + 1);
        chunks.next_power_of_two().trailing_zeros().next_multiple_of(2).max(16)
    }

    /// Bytes of a tnode in memory and in a checkpoint: a leaf or eight pointers, whichever is larger.
    pub fn tnode_bytes(&self) -> u32 {
        (self.tnode_width_bits() * LEAF_CHUNKS as u32 / 8).max(self.chunks.options.pointer_bits)
    }

    /// Blocks that the next checkpoint takes. They are counted once for each number of objects and tnodes, because every chunk
    /// that is written needs the result.
    pub fn checkpoint_blocks(&self) -> u32 {
        if !self.has_checkpoints() {
            return 0;
        }
        let (objects, tnodes) = (self.objects.count(), self.tnodes.count());
        match self.checkpoint_blocks.get() {
            Some((of_objects, of_tnodes, blocks)) if (of_objects, of_tnodes) == (objects, tnodes) => blocks,
            _ => {
                let blocks = self.checkpoint_size_blocks(objects, tnodes);
                self.checkpoint_blocks.set(Some((objects, tnodes, blocks)));
                blocks
            }
        }
    }

    /// Blocks that a checkpoint of so many objects and tnodes takes.
    fn checkpoint_size_blocks(&self, objects: u32, tnodes: u32) -> u32 {
        let blocks = self.chunks.blocks.count();
        let bytes = 2 * VALIDITY_BYTES
            + DEVICE_BYTES
            + blocks * (BLOCK_INFO_BYTES + self.chunks.blocks.bit_stride_bytes() as u32)
            + (object_bytes(self.chunks.options.generation) + 4) * objects
            + (self.tnode_bytes() + 4) * tnodes
            + 4;
        // One block more because of rounding, and two in case of bad blocks.
        bytes / (self.chunks.data_bytes * self.chunks.blocks.chunks_per_block) + 3
    }

    /// Is there room for so many chunks beside what the garbage collection and the next checkpoint need?
    pub fn has_room_for(&self, chunks: i32) -> bool {
        self.chunks.has_room_for(self.checkpoint_blocks(), chunks)
    }

    /// How many chunks programs may still write (`yaffs_get_n_free_chunks`).
    pub fn free_chunks_for_programs(&self) -> i32 {
        let per_block = self.chunks.blocks.chunks_per_block as i32;
        let kept = self.chunks.options.reserved_blocks as i32 + 1 + self.chunks.still_wanted(self.checkpoint_blocks());
        let free = self.chunks.blocks.free_chunks() + self.objects.deleted_files - self.cache.dirty_flags();
        (free - kept * per_block).max(0)
    }
}
