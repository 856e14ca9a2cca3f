//! Bulk-read: when a file is read page after page, the data nodes that follow in the same LEB are read with one access,
//! and the page cache gets their pages, too. A page of the chip that holds pieces of several nodes is then read once. Off
//! by default, as in Linux; it pays where data are compressed, or where a long read costs less than many short ones.
//!
//! Follows `fs/ubifs/file.c` (`ubifs_bulk_read`, `ubifs_do_bulk_read`, `populate_page`) and `tnc.c`
//! (`ubifs_tnc_get_bu_keys`, `ubifs_tnc_bulk_read`).

use crate::compress::Compressor;
use crate::error::{Fail, Res};
use crate::format::*;
use crate::geometry::Geometry;
use crate::inode::Inode;
use crate::journal::Journal;
use crate::key::{Key, DATA_KEY};
use crate::leb::Lebs;
use crate::tnc::Index;
use crate::tnc::NodeAt;
use crate::Ubifs;
use ffslab_fs::{Host, Ino, PAGE_BYTES};
use ffslab_sim::Sim;

/// Most blocks that one access covers (`UBIFS_MAX_BULK_READ`).
const BLOCKS_MAX: u32 = 32;
/// Reads in a row after which an inode is read in bulk.
const READS_IN_A_ROW: u32 = 3;

/// The recent reads of one inode, from which UBIFS sees whether the file is read sequentially.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    pub last_page: u64,
    in_a_row: u32,
    is_bulk: bool,
}

impl Reads {
    /// Notes that page `index` is read after page `last_page`. Returns whether page `index` is to be read in bulk.
    fn next(&mut self, index: u64, last_page: u64) -> bool {
        if index != last_page + 1 {
            (self.in_a_row, self.is_bulk) = (1, false);
        } else if !self.is_bulk {
            self.in_a_row += 1;
            self.is_bulk = self.in_a_row >= READS_IN_A_ROW;
        }
        self.is_bulk
    }
}

/// Data nodes of a file that stand one behind the other in the same LEB (`bu_info`).
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    ino: u32,
    /// The block that the caller asked for.
    first: u32,
    nodes: Vec<(Key, NodeAt)>,
    /// How many blocks, counted from `first` on, the nodes cover; blocks that are holes are included.
    blocks: u32,
    /// The file has no data behind these nodes.
    is_at_end: bool,
    bytes: Vec<u8>,
    /// Index in `nodes` of the first node from which no page was made yet.
    next: usize,
}

/// Bytes that one bulk read covers at most; nodes beyond them are left for another read (`max_bu_buf_len`).
fn bulk_bytes_max(geo: &Geometry) -> u32 {
    (BLOCKS_MAX * DATA_BYTES_MAX).min(geo.leb_bytes)
}

impl Index {
    /// Finds what can be read at once from block `first` on.
    fn find_bulk(&mut self, lebs: &Lebs, bulk: &mut Bulk) -> Res<()> {
        let key = Key::data(bulk.ino, bulk.first);
        let bytes_max = bulk_bytes_max(&lebs.geo);
        bulk.nodes.clear();
        (bulk.blocks, bulk.is_at_end, bulk.next) = (0, false, 0);
        let (found, mut position) = self.find(lebs, key)?;
        let mut block = bulk.first;
        let (mut lnum, mut end, mut bytes) = (None, 0, 0);
        if found {
            let at = self.at(position);
            if at.len > bytes_max {
                return Err(Fail::corrupt("a data node that is larger than a LEB"));
            }
            bulk.nodes.push((key, at));
            bulk.blocks = 1;
            (lnum, end, bytes) = (Some(at.lnum), at.offs + align8(at.len), at.len);
        }
        loop {
            let next = self.next(lebs, position)?.map(|position| (position, self.key_at(position)));
            let Some((after, key)) = next.filter(|(_, key)| key.ino == bulk.ino && key.kind() == DATA_KEY) else {
                bulk.is_at_end = true;
                break;
            };
            position = after;
            let at = self.at(position);
            if lnum.is_none() {
                (lnum, end, bytes) = (Some(at.lnum), at.offs, 0);
            }
            if lnum != Some(at.lnum) || end != at.offs || align8(bytes) + at.len > bytes_max {
                break;
            }
            end += align8(at.len);
            bytes = align8(bytes) + at.len;
            // `block` is the last one counted. As in the kernel, the block that the caller asked for is not counted
            // when it is a hole.
            bulk.blocks += key.block().saturating_sub(block + 1);
            if bulk.blocks >= BLOCKS_MAX {
                break;
            }
            block = key.block();
            bulk.nodes.push((key, at));
            bulk.blocks += 1;
            if bulk.blocks >= BLOCKS_MAX {
                break;
            }
        }
        bulk.blocks = bulk.blocks.min(BLOCKS_MAX);
        Ok(())
    }
}

impl Journal {
    /// Reads what [`Index::find_bulk`] found, and checks it.
    fn read_bulk(&self, lebs: &Lebs, bulk: &mut Bulk) -> Res<()> {
        let (Some(&(_, first)), Some(&(_, last))) = (bulk.nodes.first(), bulk.nodes.last()) else { return Ok(()) };
        let len = last.offs + last.len - first.offs;
        bulk.bytes.resize(len as usize, 0);
        let at = NodeAt { len, ..first };
        match self.head_of_bud(lebs, at.lnum) {
            Some(head) => self.read_of_head(lebs, head, &mut bulk.bytes, at)?,
            None => lebs.read_checked(at.lnum, at.offs, &mut bulk.bytes)?,
        }
        for &(key, at) in &bulk.nodes {
            let from = (at.offs - first.offs) as usize;
            let node = &bulk.bytes[from..from + at.len as usize];
            lebs.check_read(node, DATA_NODE, at.offs)?;
            if Key::read(node, KEY_AT) != key {
                return Err(Fail::corrupt("node with another key than the index says"));
            }
        }
        Ok(())
    }
}

impl Bulk {
    /// Makes page `index` from the nodes that were read. Returns `true` when the page is a hole.
    fn fill(
        &mut self,
        compressor: &mut Compressor,
        sim: &Sim,
        index: u64,
        size_bytes: u64,
        page: &mut [u8],
    ) -> Res<bool> {
        let base = self.nodes.first().map_or(0, |(_, at)| at.offs);
        if index >= size_bytes.div_ceil(u64::from(BLOCK_BYTES)) {
            sim.clear(page);
            return Ok(true);
        }
        while self.nodes.get(self.next).is_some_and(|(key, _)| u64::from(key.block()) < index) {
            self.next += 1;
        }
        let node = self.nodes.get(self.next).filter(|(key, _)| u64::from(key.block()) == index);
        let Some(&(_, at)) = node else {
            sim.clear(page);
            return Ok(true);
        };
        self.next += 1;
        let from = (at.offs - base) as usize;
        compressor.unpack_data(sim, &self.bytes[from..from + at.len as usize], page)?;
        let end = size_bytes - index * u64::from(BLOCK_BYTES);
        if end < page.len() as u64 {
            sim.clear(&mut page[end as usize..]);
        }
        Ok(false)
    }
}

impl Inode {
    /// Notes that page `index` is read. Returns whether to read it in bulk, which never happens when bulk-read is off.
    pub fn note_read(&mut self, index: u64, bulk_read: bool) -> bool {
        let last_page = std::mem::replace(&mut self.reads.last_page, index);
        bulk_read && self.reads.next(index, last_page)
    }
}

impl Ubifs {
    /// Reads a page together with the data nodes that follow it, and keeps those for [`Ubifs::insert_bulk`]. `None`: no
    /// bulk read is possible here, the caller must read the page by itself.
    pub(crate) fn read_page_in_bulk(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Option<bool> {
        let mut bulk = std::mem::take(&mut self.bulk);
        (bulk.ino, bulk.first) = (ino, index as u32);
        let result = self.core.index.find_bulk(&self.core.lebs, &mut bulk);
        let inode = self.inodes.get_mut(&ino)?;
        if bulk.is_at_end && result.is_ok() {
            (inode.reads.in_a_row, inode.reads.is_bulk) = (1, false);
        }
        if bulk.blocks == 0 && result.is_ok() {
            (inode.reads.in_a_row, inode.reads.is_bulk) = (0, false);
            self.bulk = bulk;
            return None;
        }
        let size_bytes = inode.size_bytes;
        // The kernel warns of an error and goes on page by page.
        let is_hole = result
            .and_then(|()| self.core.journal.read_bulk(&self.core.lebs, &mut bulk))
            .and_then(|()| bulk.fill(&mut self.core.compressor, &self.core.lebs.sim, index, size_bytes, page))
            .ok();
        self.bulk = bulk;
        is_hole
    }

    /// Gives the pages behind the one that was asked for to the page cache.
    pub(crate) fn insert_bulk(&mut self, host: &mut dyn Host) {
        let mut bulk = std::mem::take(&mut self.bulk);
        let (ino, first) = (bulk.ino, u64::from(bulk.first));
        let Some(size_bytes) = self.inodes.get(&ino).map(|inode| inode.size_bytes) else { return };
        let pages = size_bytes.div_ceil(u64::from(BLOCK_BYTES));
        let mut page = [0; PAGE_BYTES];
        let mut index = first + 1;
        while index < first + u64::from(bulk.blocks) && index < pages && !host.is_page_locked(ino, index) {
            if host.page(ino, index).is_none() {
                let Ok(is_hole) =
                    bulk.fill(&mut self.core.compressor, &self.core.lebs.sim, index, size_bytes, &mut page)
                else {
                    break;
                };
                host.insert_page(ino, index, &page);
                self.note_clean_page(ino, index, is_hole);
            }
            index += 1;
        }
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.reads.last_page = index - 1;
        }
        self.bulk = bulk;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_read_in_a_row_is_in_bulk_until_one_is_elsewhere() {
        let mut reads = Reads::default();
        let mut last_page = 0;
        let mut read = |index: u64| {
            let is_bulk = reads.next(index, last_page);
            last_page = index;
            is_bulk
        };
        assert_eq!([0, 1, 2, 3, 9, 10, 11, 11].map(&mut read), [false, false, true, true, false, false, true, false]);
    }
}
