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
use crate::journal::Journal;
use crate::key::{Key, DATA_KEY};
use crate::leb::Lebs;
use crate::node::NodeAt;
use crate::tnc::Index;
use ffslab_sim::Sim;

/// Most blocks that one access covers (`UBIFS_MAX_BULK_READ`).
const BLOCKS_MAX: u32 = 32;
/// Data nodes of a file that stand one behind the other in the same LEB (`bu_info`).
#[derive(Debug, Default)]
pub(crate) struct Bulk {
    pub ino: u32,
    /// The block that the caller asked for.
    pub first: u32,
    nodes: Vec<(Key, NodeAt)>,
    /// How many blocks, counted from `first` on, the nodes cover; blocks that are holes are included.
    pub blocks: u32,
    /// The file has no data behind these nodes.
    pub is_at_end: bool,
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
    pub fn find_bulk(&mut self, lebs: &Lebs, bulk: &mut Bulk) -> Res<()> {
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
    pub fn read_bulk(&self, lebs: &Lebs, bulk: &mut Bulk) -> Res<()> {
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
    pub fn fill(
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
