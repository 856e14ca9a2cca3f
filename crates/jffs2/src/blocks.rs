//! Erase blocks, the lists they stand on, and the condition of their bytes.
//!
//! Follows `fs/jffs2/jffs2_fs_sb.h` and `nodelist.h` (`struct jffs2_eraseblock`). The lists are doubly linked
//! through the blocks, so that every move is one step and every length is known.

use crate::ledger::{Share, Shares};
use crate::refs::{RefId, NONE};

/// Which list a block stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum List {
    /// Full of live data.
    Clean,
    /// At least half of it is obsolete.
    VeryDirty,
    /// Some of it is obsolete.
    Dirty,
    /// Wholly obsolete, deliberately left alone for a while to spread wear.
    Erasable,
    /// Wholly obsolete, but the node that replaced its last node is still in the write buffer.
    ErasablePendingWbuf,
    ErasePending,
    Erasing,
    /// Being read back after the erase, to see whether it is really erased.
    EraseChecking,
    EraseComplete,
    Free,
    Bad,
    /// Bad, with live data to be moved away.
    BadUsed,
    /// On no list: the block being written to, or the one being collected.
    None,
}

const LISTS: usize = List::None as usize;

/// One erase block, of the size of a cache line, because every node that is superseded needs another block. The shares
/// are read through methods of the block (`used_bytes()` ...) and are changed only by [`Blocks::shift`].
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct EraseBlock {
    shares: Shares,
    pub first: RefId,
    pub last: RefId,
    /// While the block is being collected: the next node to move.
    pub gc_node: RefId,
    pub erase_failures: u32,
    /// Bytes that were read back since the erase.
    pub checked_bytes: u32,
    /// When the driver sees the end of the erase that the medium does by itself; `None`: it does none.
    pub erase_seen_at_ns: Option<u64>,
    /// At mount the block was erased but had no clean marker, and it was not erased since.
    pub is_blank: bool,
    list: List,
    previous: u32,
    next: u32,
}

impl EraseBlock {
    pub fn new(block_bytes: u32) -> Self {
        EraseBlock {
            shares: Shares::free(block_bytes),
            first: NONE,
            last: NONE,
            gc_node: NONE,
            erase_failures: 0,
            checked_bytes: 0,
            erase_seen_at_ns: None,
            is_blank: false,
            list: List::None,
            previous: NONE,
            next: NONE,
        }
    }

    pub fn list(&self) -> List {
        self.list
    }
}

impl std::ops::Deref for EraseBlock {
    type Target = Shares;
    #[inline]
    fn deref(&self) -> &Shares {
        &self.shares
    }
}

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
    length: u32,
}

/// The blocks of the partition, their lists, and the sums over them.
pub struct Blocks {
    blocks: Vec<EraseBlock>,
    block_bytes: u32,
    /// `block_bytes` as a power of two, which it is on NAND.
    block_shift: Option<u32>,
    totals: Shares,
    ends: [Ends; LISTS],
    /// When each block was opened for writing, counted in blocks that this mount has opened; 0: before it. For those who
    /// choose by age.
    opened_at: Vec<u32>,
    opened_blocks: u32,
}

impl Blocks {
    pub fn new(count: u32, block_bytes: u32) -> Self {
        Blocks {
            blocks: vec![EraseBlock::new(block_bytes); count as usize],
            block_bytes,
            block_shift: block_bytes.is_power_of_two().then(|| block_bytes.trailing_zeros()),
            totals: Shares::free(count * block_bytes),
            ends: [Ends { first: NONE, last: NONE, length: 0 }; LISTS],
            opened_at: vec![0; count as usize],
            opened_blocks: 0,
        }
    }

    /// A block is opened for writing.
    pub fn opens(&mut self, block: u32) {
        self.opened_blocks = self.opened_blocks.wrapping_add(1);
        self.opened_at[block as usize] = self.opened_blocks;
    }

    /// Blocks that were opened since this one.
    pub fn age_blocks(&self, block: u32) -> u32 {
        self.opened_blocks.wrapping_sub(self.opened_at[block as usize])
    }

    pub fn count(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// The block in which a byte of the medium is.
    #[inline]
    pub fn of(&self, offset: u32) -> u32 {
        match self.block_shift {
            Some(shift) => offset >> shift,
            None => offset / self.block_bytes,
        }
    }

    /// Offset of the first free byte of a block, behind its last node.
    #[inline]
    pub fn free_from(&self, block: u32) -> u32 {
        (block + 1) * self.block_bytes - self[block].free_bytes()
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Sums over all blocks.
    #[inline]
    pub fn totals(&self) -> &Shares {
        &self.totals
    }

    /// Moves `bytes` bytes of a block from one share to another, in the block and in the totals.
    #[inline]
    pub fn shift(&mut self, block: u32, from: Share, to: Share, bytes: u32) {
        let shares = &mut self.blocks[block as usize].shares;
        shares.shift(from, to, bytes);
        self.totals.shift(from, to, bytes);
        debug_assert_eq!(shares.sum_bytes(), self.block_bytes, "block {block}: {shares:?}");
        debug_assert_eq!(self.totals.sum_bytes(), self.count() * self.block_bytes, "{:?}", self.totals);
        debug_assert!(self.blocks[block as usize].of(to) <= self.totals.of(to), "block {block}: {:?}", self.totals);
    }

    /// Moves all bytes of one share of a block to another share. Returns how many bytes they were.
    pub fn shift_all(&mut self, block: u32, from: Share, to: Share) -> u32 {
        let bytes = self[block].of(from);
        self.shift(block, from, to, bytes);
        bytes
    }

    pub fn length(&self, list: List) -> u32 {
        self.ends[list as usize].length
    }

    pub fn is_empty(&self, list: List) -> bool {
        self.length(list) == 0
    }

    pub fn first(&self, list: List) -> Option<u32> {
        let first = self.ends[list as usize].first;
        (first != NONE).then_some(first)
    }

    /// Blocks of a new partition that wait for their first erase, or for the marker behind it.
    pub fn to_format(&self) -> u32 {
        let waits = |block: &&EraseBlock| {
            let lists = [List::ErasePending, List::Erasing, List::EraseChecking, List::EraseComplete];
            block.is_blank && lists.contains(&block.list)
        };
        self.blocks.iter().filter(waits).count() as u32
    }

    /// Takes `block` off its list.
    pub fn take(&mut self, block: u32) {
        let EraseBlock { list, previous, next, .. } = self.blocks[block as usize];
        if list == List::None {
            return;
        }
        let ends = &mut self.ends[list as usize];
        ends.length -= 1;
        if previous == NONE {
            ends.first = next;
        } else {
            self.blocks[previous as usize].next = next;
        }
        let ends = &mut self.ends[list as usize];
        if next == NONE {
            ends.last = previous;
        } else {
            self.blocks[next as usize].previous = previous;
        }
        let b = &mut self.blocks[block as usize];
        b.list = List::None;
        b.previous = NONE;
        b.next = NONE;
    }

    /// Takes the first block off `list`.
    pub fn take_first(&mut self, list: List) -> Option<u32> {
        let first = self.first(list)?;
        self.take(first);
        Some(first)
    }

    /// Moves `block` to the end of `list`.
    pub fn append(&mut self, block: u32, list: List) {
        self.take(block);
        let last = self.ends[list as usize].last;
        self.blocks[block as usize].previous = last;
        self.blocks[block as usize].list = list;
        if last == NONE {
            self.ends[list as usize].first = block;
        } else {
            self.blocks[last as usize].next = block;
        }
        let ends = &mut self.ends[list as usize];
        ends.last = block;
        ends.length += 1;
    }

    /// Moves `block` to the start of `list`.
    pub fn prepend(&mut self, block: u32, list: List) {
        self.take(block);
        let first = self.ends[list as usize].first;
        self.blocks[block as usize].next = first;
        self.blocks[block as usize].list = list;
        if first == NONE {
            self.ends[list as usize].last = block;
        } else {
            self.blocks[first as usize].previous = block;
        }
        let ends = &mut self.ends[list as usize];
        ends.first = block;
        ends.length += 1;
    }

    /// Moves the first `count` blocks of `list` to its end (done once per mount, to spread wear).
    pub fn rotate(&mut self, list: List, count: u32) {
        for _ in 0..count {
            if let Some(first) = self.first(list) {
                self.append(first, list);
            }
        }
    }
}

impl std::ops::Index<u32> for Blocks {
    type Output = EraseBlock;
    #[inline]
    fn index(&self, block: u32) -> &EraseBlock {
        &self.blocks[block as usize]
    }
}

impl std::ops::IndexMut<u32> for Blocks {
    #[inline]
    fn index_mut(&mut self, block: u32) -> &mut EraseBlock {
        &mut self.blocks[block as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_move_between_lists_in_order() {
        let mut blocks = Blocks::new(4, 1024);
        for b in 0..4 {
            blocks.append(b, List::Free);
        }
        blocks.prepend(2, List::Free);
        assert_eq!(blocks.take_first(List::Free), Some(2));
        blocks.append(1, List::Dirty);
        assert_eq!(blocks.length(List::Free), 2);
        blocks.rotate(List::Free, 1);
        assert_eq!(blocks.take_first(List::Free), Some(3));
        assert_eq!(blocks.take_first(List::Free), Some(0));
        assert_eq!(blocks.take_first(List::Free), None);
        assert_eq!(blocks[1].list(), List::Dirty);
    }
}
