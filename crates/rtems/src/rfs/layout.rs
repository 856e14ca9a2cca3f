//! Superblock and sizes.

use super::handle::be32;
use ffslab_fs::Errno;

pub const MAGIC: u32 = 0x2809_2001;
pub const SUPERBLOCK_BLOCKS: u32 = 1;
pub const INODE_BYTES: u32 = 56;
/// Slots of an inode's block map.
pub const INODE_BLOCKS: u32 = 5;
pub const ROOT_INO: u32 = 1;
/// In each group: block bitmap, inode bitmap, inode table, data.
pub const GROUP_BLOCK_BITMAP: u32 = 0;
pub const GROUP_INODE_BITMAP: u32 = 1;
pub const GROUP_INODES: u32 = 2;

/// The fields of the superblock and the sizes that follow from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub blocks: u32,
    pub block_bytes: u32,
    pub bad_blocks: u32,
    pub name_max_bytes: u32,
    pub groups_count: u32,
    pub group_blocks: u32,
    pub group_inodes: u32,
}

impl Layout {
    /// The ten words of the superblock.
    pub fn words(&self) -> [u32; 10] {
        [
            MAGIC,
            0,
            self.block_bytes,
            self.blocks,
            self.bad_blocks,
            self.name_max_bytes,
            self.groups_count,
            self.group_blocks,
            self.group_inodes,
            INODE_BYTES,
        ]
    }

    /// Reads and checks a superblock. In addition to the original's checks, sizes are refused that would cause a
    /// division by zero or an access beyond the device.
    pub fn read(bytes: &[u8], media_bytes: u64) -> Result<Layout, Errno> {
        let word = |index: usize| bytes.get(index * 4..index * 4 + 4).map_or(0, be32);
        let layout = Layout {
            block_bytes: word(2),
            blocks: word(3),
            bad_blocks: word(4),
            name_max_bytes: word(5),
            groups_count: word(6),
            group_blocks: word(7),
            group_inodes: word(8),
        };
        let size = u64::from(layout.blocks) * u64::from(layout.block_bytes);
        let groups = u64::from(layout.groups_count);
        let good = word(0) == MAGIC
            && word(9) == INODE_BYTES
            && size <= media_bytes
            && (512..=1 << 20).contains(&layout.block_bytes)
            && (1..=layout.block_bytes * 8).contains(&layout.group_blocks)
            && (1..=layout.block_bytes * 8).contains(&layout.group_inodes)
            && (1..=u64::from(layout.blocks)).contains(&groups)
            && groups * u64::from(layout.group_inodes) < 1 << 31
            && u64::from(layout.group_base(layout.groups_count - 1)) + 2 < u64::from(layout.blocks);
        if good {
            Ok(layout)
        } else {
            Err(Errno::Io)
        }
    }

    pub fn inodes_per_block(&self) -> u32 {
        self.block_bytes / INODE_BYTES
    }

    /// How many block numbers fit into a table.
    pub fn table_slots(&self) -> u32 {
        self.block_bytes / 4
    }

    /// Largest number of blocks of a file whose map has one level of tables.
    pub fn singly_blocks(&self) -> u32 {
        self.table_slots() * INODE_BLOCKS
    }

    /// The number of blocks that no file can reach.
    pub fn doubly_blocks(&self) -> u32 {
        self.table_slots().saturating_mul(self.table_slots()).saturating_mul(INODE_BLOCKS)
    }

    pub fn inodes(&self) -> u32 {
        self.groups_count * self.group_inodes
    }

    pub fn group_base(&self, group: u32) -> u32 {
        group.saturating_mul(self.group_blocks).saturating_add(SUPERBLOCK_BLOCKS)
    }

    /// Blocks of a group; the last one may be shorter (`rtems_rfs_group_open`).
    pub fn group_size(&self, group: u32) -> u32 {
        let base = self.group_base(group);
        self.group_blocks.min(self.blocks - base)
    }
}
