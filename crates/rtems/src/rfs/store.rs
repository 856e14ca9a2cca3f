//! What all parts of RFS work on: layout, buffers, groups with their bitmaps.
//!
//! Follows `rtems-rfs-group.c`.

use super::bitmap::Bitmap;
use super::handle::{Handle, Held};
use super::layout::{Layout, GROUP_BLOCK_BITMAP, GROUP_INODE_BITMAP, ROOT_INO, SUPERBLOCK_BLOCKS};
use crate::bdbuf::Bdbuf;
use crate::Quirks;
use ffslab_fs::Errno;

pub(super) struct Group {
    pub base: u32,
    pub blocks: Bitmap,
    pub inodes: Bitmap,
}

pub(super) struct Store {
    pub layout: Layout,
    pub held: Held,
    pub groups: Vec<Group>,
    /// Bitmaps stay in their buffers between calls.
    pub hold_bitmaps: bool,
    pub quirks: Quirks,
}

/// The two bitmaps of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Blocks,
    Inodes,
}

impl Store {
    pub fn fixed(&self) -> bool {
        self.quirks == Quirks::Fixed
    }

    /// `rtems_rfs_group_open`, for all groups.
    pub fn open_groups(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        for group in 0..self.layout.groups_count {
            let base = self.layout.group_base(group);
            let size = self.layout.group_size(group);
            let inodes = self.layout.group_inodes.min(size);
            let held = &mut self.held;
            let blocks = Bitmap::open(held, cache, Handle::default(), size, base + GROUP_BLOCK_BITMAP)?;
            let inodes = Bitmap::open(held, cache, Handle::default(), inodes, base + GROUP_INODE_BITMAP)?;
            self.groups.push(Group { base, blocks, inodes });
            if let (false, Some(group)) = (self.hold_bitmaps, self.groups.last_mut()) {
                self.held.release(cache, &mut group.blocks.handle);
                self.held.release(cache, &mut group.inodes.handle);
            }
        }
        Ok(())
    }

    pub fn close_groups(&mut self, cache: &mut Bdbuf) {
        for group in &mut self.groups {
            self.held.close(cache, &mut group.inodes.handle);
            self.held.close(cache, &mut group.blocks.handle);
        }
    }

    fn group_bits(&self, of: Of) -> u32 {
        match of {
            Of::Blocks => self.layout.group_blocks,
            Of::Inodes => self.layout.group_inodes,
        }
    }

    /// `rtems_rfs_group_bitmap_alloc`: allocates a free block or inode as near to the goal as possible: in the group of
    /// the goal, then in its neighbours on both sides in turn.
    pub fn allocate(&mut self, cache: &mut Bdbuf, goal: u32, of: Of) -> Result<u32, Errno> {
        let size = self.group_bits(of);
        let goal = goal.saturating_sub(ROOT_INO);
        let first = i64::from(goal / size);
        let mut bit = goal % size;
        let mut offset = 0;
        let mut direction = 1;
        let mut both = true;
        loop {
            let group = first + direction * offset;
            if offset > 0 {
                bit = if direction > 0 { 0 } else { size - 1 };
            }
            if !(0..self.groups.len() as i64).contains(&group) {
                if !both {
                    return Err(Errno::NoSpc);
                }
                direction = -direction;
                both = false;
                continue;
            }
            let target = &mut self.groups[group as usize];
            let base = target.base;
            let bitmap = match of {
                Of::Blocks => &mut target.blocks,
                Of::Inodes => &mut target.inodes,
            };
            let found = bitmap.allocate(&mut self.held, cache, bit)?;
            if !self.hold_bitmaps {
                self.held.release(cache, &mut bitmap.handle);
            }
            if let Some(bit) = found {
                return Ok(match of {
                    Of::Blocks => base + bit,
                    Of::Inodes => self.layout.group_inodes * group as u32 + bit + ROOT_INO,
                });
            }
            if both {
                direction = -direction;
                if direction < 0 {
                    offset += 1;
                }
            } else {
                offset += 1;
            }
        }
    }

    /// `rtems_rfs_group_bitmap_free`.
    pub fn free(&mut self, cache: &mut Bdbuf, number: u32, of: Of) -> Result<(), Errno> {
        let size = self.group_bits(of);
        let number = number.checked_sub(SUPERBLOCK_BLOCKS).ok_or(Errno::Io)?;
        let group = self.groups.get_mut((number / size) as usize).ok_or(Errno::Io)?;
        let bitmap = match of {
            Of::Blocks => &mut group.blocks,
            Of::Inodes => &mut group.inodes,
        };
        let result = bitmap.give_back(&mut self.held, cache, number % size);
        self.held.release(cache, &mut bitmap.handle);
        result
    }

    /// Used blocks and inodes (`rtems_rfs_group_usage`).
    pub fn usage(&self) -> (u32, u32) {
        let used = |bitmap: &Bitmap| bitmap.size - bitmap.free.min(bitmap.size);
        let sum = |of: fn(&Group) -> &Bitmap| self.groups.iter().map(|group| used(of(group))).sum();
        (sum(|group| &group.blocks), sum(|group| &group.inodes))
    }
}
