//! Media without pages: nodes are written at once, and superseded ones are marked on the medium.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_mark_node_obsolete`, `jffs2_do_reserve_space`) and, of RTEMS cf811a4eb2,
//! `cpukit/libfs/src/jffs2/src/flashio.c` (`jffs2_flash_direct_writev`) and `fs-rtems.c`.

use ffslab_fs::Result;

use crate::blocks::List;
use crate::format::{pad, Header, ACCURATE, HEADER_BYTES};
use crate::refs::RefId;
use crate::store::{errno, Store};

impl Store {
    /// Writes each part of a node with one write, padded to whole words.
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

    /// Clears the "accurate" bit in the header of a superseded node and takes the node out of its inode's chain. If
    /// this fails nothing is lost: a mount finds superseded nodes by their versions.
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

    /// Makes the clean marker of a block obsolete, because a node is about to follow it and it is not needed any more.
    pub fn give_up_clean_marker(&mut self, block: u32) {
        let b = self.blocks[block];
        if !self.manner.marker_in_oob && b.used_bytes() == HEADER_BYTES && self.refs[b.first].owner == 0 {
            self.mark_obsolete(b.first);
        }
    }

    /// Erases all blocks that wait for an erase (`rtems_jffs2_initialize`).
    pub fn erase_all_pending(&mut self) -> Result<()> {
        while !self.blocks.is_empty(List::ErasePending) || !self.blocks.is_empty(List::EraseComplete) {
            self.erase_one_now()?;
        }
        Ok(())
    }

    /// The tick counter. That of RTEMS begins at 0, that of Linux five minutes before it wraps around to 0.
    pub fn jiffies(&self) -> u32 {
        match self.options.direct {
            true => (self.sim.now_ns() / self.sim.tick_ns()) as u32,
            false => self.sim.jiffies(),
        }
    }
}
