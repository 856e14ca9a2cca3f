//! What is different on NOR flash: nodes are written at once, and superseded ones are marked on the medium.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_mark_node_obsolete`, `jffs2_do_reserve_space`) and, of RTEMS cf811a4eb2,
//! `cpukit/libfs/src/jffs2/src/flashio.c` (`jffs2_flash_direct_writev`) and `fs-rtems.c`.

use ffslab_fs::Result;

use crate::blocks::List;
use crate::format::{pad, Header, ACCURATE, HEADER_BYTES};
use crate::refs::RefId;
use crate::store::{errno, Store};

impl Store {
    /// One write for each part, padded to whole words.
    pub fn write_directly(&mut self, to: u32, parts: [&[u8]; 2]) -> Result<()> {
        let mut at = u64::from(to);
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let bytes = pad(part.len() as u32) as usize;
            let written = if bytes == part.len() {
                self.mtd.write(at, part)
            } else {
                let mut padded = part.to_vec();
                padded.resize(bytes, 0);
                self.mtd.write(at, &padded)
            };
            written.map_err(|error| errno(&error))?;
            at += bytes as u64;
        }
        Ok(())
    }

    /// Takes the "accurate" bit from a superseded node's header and the node from its inode's chain. A failure is of no
    /// consequence: the mount finds out by the versions.
    pub fn obliterate(&mut self, id: RefId, bytes: u32) {
        let e = self.endian;
        let offset = self.refs[id].offset();
        let mut raw = [0u8; HEADER_BYTES as usize];
        if self.flash_read(offset, &mut raw).is_err() {
            return;
        }
        let header = Header::decode(e, &raw);
        if pad(header.total_bytes) != pad(bytes) || header.node_type & ACCURATE == 0 {
            return;
        }
        e.put16(&mut raw, 2, header.node_type & !ACCURATE);
        if self.mtd.write(u64::from(offset), &raw).is_ok() {
            self.unchain_from_inode(id);
        }
    }

    /// The clean marker has done its duty when a node is about to follow it.
    pub fn give_up_clean_marker(&mut self, block: u32) {
        let b = self.blocks[block];
        if self.mtd.is_nor() && b.used_bytes() == HEADER_BYTES && self.refs[b.first].owner == 0 {
            self.mark_obsolete(b.first);
        }
    }

    /// Erases every block that waits (`rtems_jffs2_initialize`).
    pub fn erase_all_pending(&mut self) -> Result<()> {
        while !self.blocks.is_empty(List::ErasePending) || !self.blocks.is_empty(List::EraseComplete) {
            self.erase_one_now()?;
        }
        Ok(())
    }

    /// The tick counter: RTEMS counts from the start, Linux begins five minutes before zero.
    pub fn jiffies(&self) -> u32 {
        match self.mtd.is_nor() {
            true => (self.sim.now_ns() / self.sim.tick_ns()) as u32,
            false => self.sim.jiffies(),
        }
    }
}
