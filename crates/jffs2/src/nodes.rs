//! Whole nodes: writing new ones into the space that was reserved, and copying old ones.
//!
//! Follows `fs/jffs2/write.c` and `gc.c` (`jffs2_garbage_collect_pristine`).

use ffslab_fs::{Errno, Result, PAGE_BYTES};
use ffslab_sim::Work;

use crate::format::{
    crc32, Endian, Header, RawDirent, RawInode, DIRENT_BYTES, INODE_BYTES, MIN_DATA_BYTES, TYPE_DIRENT, TYPE_INODE,
};
use crate::inode::Dirent;
use crate::refs::{NodeState, RefId};
use crate::space::node_bytes;
use crate::store::Store;
use crate::summary::{dirent_entry_bytes, INODE_ENTRY_BYTES};

/// The state of a new node: pristine, if garbage collection may copy it as it is. That is so for a node with a whole
/// page, and for one that begins at the start of a page and reaches to the end of the file.
fn state_of(raw: &RawInode) -> NodeState {
    let page = PAGE_BYTES as u32;
    let to_the_end = raw.offset.is_multiple_of(page) && raw.offset + raw.data_bytes == raw.file_bytes;
    if raw.data_bytes >= page || to_the_end {
        NodeState::Pristine
    } else {
        NodeState::Normal
    }
}

impl Store {
    /// Writes an inode node into the space that was reserved. `for_ino` as in [`Store::flash_write`].
    pub fn write_inode_node(&mut self, raw: &RawInode, data: &[u8], for_ino: u32) -> Result<RefId> {
        let offset = self.space.write_offset();
        let header = raw.encode(self.flash.endian);
        self.flash.node_work(Work::NodeWrite, header.len() + data.len());
        self.flash_write(offset, [&header, data], for_ino)?;
        let id = self.add_node(offset, state_of(raw), node_bytes(INODE_BYTES, data.len()), raw.ino)?;
        self.space.refs[id].set_covered(raw.offset, raw.data_bytes);
        Ok(id)
    }

    /// Writes a directory entry into the space that was reserved.
    pub fn write_dirent_node(&mut self, raw: &RawDirent, name: &[u8], for_ino: u32) -> Result<Dirent> {
        let offset = self.space.write_offset();
        let header = raw.encode(self.flash.endian);
        self.flash.node_work(Work::NodeWrite, header.len() + name.len());
        self.flash_write(offset, [&header, name], for_ino)?;
        let state = if raw.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
        let node = self.add_node(offset, state, node_bytes(DIRENT_BYTES, name.len()), raw.parent)?;
        Ok(Dirent { node, version: raw.version, ino: raw.ino, dirent_type: raw.dirent_type })
    }

    /// Like [`Store::write_inode_node`], for garbage collection: if the program operation fails the node is written
    /// once more in new space.
    pub fn write_inode_node_gc(&mut self, raw: &RawInode, data: &[u8]) -> Result<RefId> {
        match self.write_inode_node(raw, data, 0) {
            Err(Errno::Io) => {
                self.reserve_for_gc(INODE_BYTES + data.len() as u32, INODE_ENTRY_BYTES)?;
                self.write_inode_node(raw, data, 0)
            }
            other => other,
        }
    }

    /// As [`Store::write_inode_node_gc`] for a directory entry.
    pub fn write_dirent_node_gc(&mut self, raw: &RawDirent, name: &[u8]) -> Result<Dirent> {
        match self.write_dirent_node(raw, name, 0) {
            Err(Errno::Io) => {
                self.reserve_for_gc(DIRENT_BYTES + name.len() as u32, dirent_entry_bytes(name.len()))?;
                self.write_dirent_node(raw, name, 0)
            }
            other => other,
        }
    }

    /// Copies a pristine node (`jffs2_garbage_collect_pristine`). `false`: it does not fit or is damaged, so it must be
    /// rebuilt. The new reference takes over what memory holds about the node, and is the first one in its inode's
    /// chain.
    pub fn copy_node(&mut self, id: RefId) -> Result<bool> {
        let bytes = self.space.ref_bytes(id);
        let owner = self.space.refs[id].owner;
        // Only the least space is asked for: otherwise the rest of a block would be wasted although the node could be
        // split into it.
        let least = if owner == 0 { bytes } else { bytes.min(INODE_BYTES + MIN_DATA_BYTES) };
        if self.reserve_for_gc(least, bytes)? < bytes {
            return Ok(false);
        }
        let mut node = std::mem::take(&mut self.reader.node);
        let copied = self.copy_node_through(id, owner, &mut node[..bytes as usize]);
        self.reader.node = node;
        copied
    }

    fn copy_node_through(&mut self, id: RefId, owner: u32, node: &mut [u8]) -> Result<bool> {
        self.flash.sim.copy_begins();
        self.flash.read(self.space.refs[id].offset(), node)?;
        self.flash.sim.work_of_copy(Work::NodeRead, node.len());
        self.flash.sim.work_of_check_of_copy(node.len());
        if !is_sound(self.flash.endian, node, owner) {
            return Ok(false);
        }
        let bytes = node.len() as u32;
        let mut offset = self.space.write_offset();
        self.flash.sim.work_of_copy(Work::NodeWrite, node.len());
        match self.flash_write(offset, [node, &[]], 0) {
            Err(Errno::Io) => {
                self.reserve_for_gc(bytes, bytes)?;
                offset = self.space.write_offset();
                self.flash_write(offset, [node, &[]], 0)?;
            }
            other => other?,
        }
        let new = self.add_node(offset, NodeState::Pristine, bytes, owner)?;
        let old = self.space.refs[id];
        let node = &mut self.space.refs[new];
        node.file_offset = old.file_offset;
        node.file_bytes = old.file_bytes;
        node.fragments_or_slot = old.fragments_or_slot;
        self.space.refs[id].leave_memory();
        self.space.mark_obsolete(&self.flash, id);
        Ok(true)
    }
}

/// Whether the check sums of a node are right. A node without an owner may be of any kind.
fn is_sound(e: Endian, node: &[u8], owner: u32) -> bool {
    let header = Header::decode(e, node);
    if !header.crc_ok(e, node) {
        return false;
    }
    match header.node_type {
        TYPE_INODE => RawInode::decode(e, node).is_some_and(|raw| {
            let data = node.get(INODE_BYTES as usize..(INODE_BYTES + raw.compressed_bytes) as usize);
            raw.data_bytes == 0 || data.is_some_and(|d| crc32(0, d) == raw.data_crc)
        }),
        TYPE_DIRENT => RawDirent::decode(e, node).is_some_and(|raw| {
            let name = node.get(DIRENT_BYTES as usize..DIRENT_BYTES as usize + usize::from(raw.name_bytes));
            name.is_some_and(|n| crc32(0, n) == raw.name_crc)
        }),
        _ => owner == 0,
    }
}
