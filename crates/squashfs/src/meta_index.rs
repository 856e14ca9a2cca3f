//! Where the lists of blocks of large files are read from: `fill_meta_index` of `fs/squashfs/file.c`. Only files with more than 2048
//! blocks have entries.

use crate::blocks::Blocks;
use crate::files::Node;
use crate::inode::{next_word, Is};
use crate::{Wrong, IS_PLAIN_DATA};
use ffslab_fs::{Errno, Ino, Result};

/// Blocks between two entries of a slot, when the file is not larger still (`SQUASHFS_META_INDEXES`).
const BLOCKS_PER_ENTRY: u64 = 2048;
const ENTRIES: usize = 127;
const SLOTS: usize = 8;
/// An entry covers no more blocks of the list than metadata are kept, less one.
const SKIP_MAX: u64 = 7;

/// Where a part of a file's list stands, and the first block of it.
#[derive(Clone, Copy)]
struct Known {
    list: (u64, usize),
    data_at: u64,
}

struct Slot {
    ino: Ino,
    /// Number of the first entry.
    first: u64,
    entries: Vec<Known>,
}

/// The slots, of which the oldest is given to the next file.
#[derive(Default)]
pub struct MetaIndex {
    slots: Vec<Slot>,
    next: usize,
}

impl MetaIndex {
    /// Where block `index` of a file stands, and what its list says of its size.
    pub fn place(&mut self, blocks: &mut Blocks, node: &Node, index: u64) -> Result<(u64, u32)> {
        let Is::File(file) = &node.inode.is else { return Err(Errno::IsDir) };
        let block_bytes = u64::from(blocks.superblock.block_bytes);
        let skip = (file.bytes / block_bytes / ((ENTRIES as u64 + 1) * BLOCKS_PER_ENTRY) + 1).min(SKIP_MAX);
        let per_entry = BLOCKS_PER_ENTRY * skip;
        let begin = Known { list: node.behind_offset, data_at: file.at_bytes };
        let (covered, known) = self.known(blocks, node.inode.number, index / per_entry, per_entry, begin)?;
        let left = index - covered * per_entry;
        let Known { list, data_at } = walk(blocks, known, left)?;
        let mut reader = blocks.reader(list.0, list.1);
        let size = next_word(&mut reader).map_err(|wrong| reader.errno(wrong))?;
        Ok((data_at, size))
    }

    /// The last entry at or before `wanted`, made if need be. Entry 0 is the begin of the list.
    fn known(
        &mut self,
        blocks: &mut Blocks,
        ino: Ino,
        wanted: u64,
        per_entry: u64,
        begin: Known,
    ) -> Result<(u64, Known)> {
        let (mut at, mut known) = (0, begin);
        while at < wanted {
            let slot = self.slot(ino, at + 1, wanted);
            let Slot { first, entries, .. } = &mut self.slots[slot];
            if let Some(last) = entries.len().checked_sub(1) {
                let entry = (wanted - *first).min(last as u64);
                (at, known) = (*first + entry, entries[entry as usize]);
            }
            while *first + (entries.len() as u64) <= wanted && entries.len() < ENTRIES {
                known = walk(blocks, known, per_entry)?;
                entries.push(known);
                at = *first + entries.len() as u64 - 1;
            }
        }
        Ok((at, known))
    }

    /// The slot of this file that begins nearest to `wanted` from `from` on, or a new one.
    fn slot(&mut self, ino: Ino, from: u64, wanted: u64) -> usize {
        let covers = |slot: &Slot| slot.ino == ino && (from..=wanted).contains(&slot.first) && !slot.entries.is_empty();
        let nearest =
            (0..self.slots.len()).filter(|&at| covers(&self.slots[at])).max_by_key(|&at| self.slots[at].first);
        nearest.unwrap_or_else(|| {
            let slot = Slot { ino, first: from, entries: Vec::new() };
            let at = self.next;
            self.next = (self.next + 1) % SLOTS;
            if at < self.slots.len() {
                self.slots[at] = slot;
            } else {
                self.slots.push(slot);
            }
            at
        })
    }
}

/// Reads the sizes of so many blocks (`read_indexes`).
fn walk(blocks: &mut Blocks, from: Known, count: u64) -> Result<Known> {
    let mut reader = blocks.reader(from.list.0, from.list.1);
    let mut data_at = from.data_at;
    for _ in 0..count {
        let size = next_word(&mut reader).map_err(|wrong| reader.errno(wrong))?;
        if size >> 25 != 0 {
            let wrong = Wrong::new(data_at, "a block of a file that cannot be so large");
            return Err(reader.errno(wrong));
        }
        data_at += u64::from(size & !IS_PLAIN_DATA);
    }
    Ok(Known { list: reader.place(), data_at })
}
