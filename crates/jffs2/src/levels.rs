//! How much space JFFS2 holds in reserve, and at which levels of free space the garbage collection thread begins to
//! work.
//!
//! Follows `fs/jffs2/build.c` (`jffs2_calc_trigger_levels`).

/// Limits that the size of the medium sets at mount.
#[derive(Clone, Copy, Debug, Default)]
pub struct Levels {
    pub reserved_for_deletion_blocks: u32,
    pub reserved_for_write_blocks: u32,
    pub gc_trigger_blocks: u32,
    pub gc_merge_blocks: u32,
    pub very_dirty_trigger_blocks: u32,
    /// With less obsolete space than this, garbage collection is not worth while.
    pub no_space_dirty_bytes: u32,
}

impl Levels {
    pub fn of(flash_bytes: u32, block_bytes: u32) -> Levels {
        let blocks = flash_bytes / block_bytes;
        // 2 % of the medium, plus 100 bytes per block for the space that nodes lose at the end of blocks, rounded up to
        // blocks.
        let overhead = flash_bytes / 50 + blocks * 100 + block_bytes - 1;
        let reserved_for_deletion_blocks = 2;
        let reserved_for_write_blocks = reserved_for_deletion_blocks + overhead / block_bytes;
        Levels {
            reserved_for_deletion_blocks,
            reserved_for_write_blocks,
            gc_trigger_blocks: reserved_for_write_blocks + 1,
            gc_merge_blocks: reserved_for_deletion_blocks + 1,
            very_dirty_trigger_blocks: reserved_for_write_blocks + 1,
            no_space_dirty_bytes: block_bytes + flash_bytes / 100,
        }
    }
}
