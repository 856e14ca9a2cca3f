//! Writing nodes: data, attributes, directory entries.
//!
//! Follows `fs/jffs2/write.c`. A node that could not be programmed is written once more in another block.

use crate::causes;
use ffslab_fs::{Errno, Host, Result, PAGE_BYTES};
use ffslab_sim::Work;

use crate::format::{crc32, RawDirent, RawInode, DIRENT_BYTES, INODE_BYTES, MIN_DATA_BYTES};
use crate::inode::{Dirent, Inode};
use crate::refs::{NodeState, RefId, NONE};
use crate::reserve::Purpose;
use crate::store::{node_bytes, Store};
use crate::summary::{dirent_entry_bytes, INODE_ENTRY_BYTES};
use crate::Jffs2;

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
    /// Charges the CPU for writing or reading a node: all its bytes are moved, and each is covered by one of its check
    /// sums.
    pub fn node_work(&self, work: Work, bytes: usize) {
        self.sim.work(work, bytes);
        self.sim.work(Work::Crc, bytes);
    }

    /// Writes an inode node into the space that was reserved. `for_ino` as in [`Store::flash_write`].
    pub fn write_inode_node(&mut self, raw: &RawInode, data: &[u8], for_ino: u32) -> Result<RefId> {
        let offset = self.write_offset();
        let header = raw.encode(self.endian);
        self.node_work(Work::NodeWrite, header.len() + data.len());
        self.flash_write(offset, [&header, data], for_ino)?;
        let id = self.add_node(offset, state_of(raw), node_bytes(INODE_BYTES, data.len()), raw.ino)?;
        self.refs[id].set_covered(raw.offset, raw.data_bytes);
        Ok(id)
    }

    /// Writes a directory entry into the space that was reserved.
    pub fn write_dirent_node(&mut self, raw: &RawDirent, name: &[u8], for_ino: u32) -> Result<Dirent> {
        let offset = self.write_offset();
        let header = raw.encode(self.endian);
        self.node_work(Work::NodeWrite, header.len() + name.len());
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
}

/// How often a write is tried when program operations fail.
const ATTEMPTS: u32 = 2;

impl Jffs2 {
    /// Reserves space and writes a node that cannot be split. At each attempt `make` is called with a new version
    /// number.
    pub(crate) fn write_whole_node(
        &mut self,
        host: &mut dyn Host,
        ino: u32,
        purpose: Purpose,
        data: &[u8],
        make: &mut dyn FnMut(&mut Inode) -> RawInode,
    ) -> Result<RefId> {
        for attempt in 1.. {
            self.reserve(host, INODE_BYTES + data.len() as u32, purpose, INODE_ENTRY_BYTES)?;
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
            let raw = make(inode);
            match self.store.write_inode_node(&raw, data, ino) {
                Err(Errno::Io) if attempt < ATTEMPTS => self.complete_reservation(),
                other => return other,
            }
        }
        Err(Errno::Io)
    }

    /// Writes a directory entry `name` -> `target` (0 deletes the name) and enters it in the directory.
    pub(crate) fn add_dirent(
        &mut self,
        host: &mut dyn Host,
        dir: u32,
        name: &[u8],
        target: (u32, u8),
        changed_s: u32,
    ) -> Result<()> {
        let purpose = if target.0 == 0 { Purpose::Deletion } else { Purpose::Write };
        for attempt in 1.. {
            self.reserve(host, DIRENT_BYTES + name.len() as u32, purpose, dirent_entry_bytes(name.len()))?;
            let inode = self.inodes.get_mut(&dir).ok_or(Errno::NoEnt)?;
            let raw = RawDirent {
                parent: dir,
                version: inode.next_version(),
                ino: target.0,
                changed_s,
                name_bytes: name.len() as u8,
                dirent_type: target.1,
                name_crc: crc32(0, name),
            };
            let _why = self.store.sim.because(&causes::METADATA);
            match self.store.write_dirent_node(&raw, name, dir) {
                Ok(dirent) => {
                    inode.dirents.add(&mut self.store, name, dirent);
                    inode.modified_s = changed_s;
                    inode.changed_s = changed_s;
                    self.complete_reservation();
                    return Ok(());
                }
                Err(Errno::Io) if attempt < ATTEMPTS => self.complete_reservation(),
                Err(error) => {
                    self.complete_reservation();
                    return Err(error);
                }
            }
        }
        Err(Errno::Io)
    }

    /// Fills the gap between the end of file and `to` with a hole node (`jffs2_write_begin`).
    pub(crate) fn write_hole(&mut self, host: &mut dyn Host, ino: u32, to: u32, now_s: u32) -> Result<()> {
        let _why = self.store.sim.because(&causes::DATA);
        let made = self.write_whole_node(host, ino, Purpose::Write, &[], &mut |inode| RawInode {
            file_bytes: to,
            accessed_s: now_s,
            modified_s: now_s,
            changed_s: now_s,
            offset: inode.file_bytes,
            data_bytes: to - inode.file_bytes,
            compression: crate::format::COMPR_ZERO,
            ..{
                let version = inode.next_version();
                inode.raw(version)
            }
        });
        if let Some(inode) = self.inodes.get_mut(&ino) {
            if let Ok(id) = made {
                inode.fragments.add(&mut self.store, id);
                inode.drop_metadata(&mut self.store);
                inode.file_bytes = to;
            }
        }
        self.complete_reservation();
        made.map(|_| ())
    }

    /// Writes bytes `from .. to` of a cached page as data nodes (`jffs2_write_inode_range`). Returns how many bytes
    /// were written, or an error if none was.
    pub(crate) fn write_page_range(
        &mut self,
        host: &mut dyn Host,
        ino: u32,
        index: u64,
        from: usize,
        to: usize,
        now_s: u32,
    ) -> Result<usize> {
        let _why = self.store.sim.because(&causes::DATA);
        let page_at = (index * PAGE_BYTES as u64) as u32;
        let mut at = from;
        let mut retried = false;
        while at < to {
            let space = match self.reserve(host, INODE_BYTES + MIN_DATA_BYTES, Purpose::Write, INODE_ENTRY_BYTES) {
                Ok(space) => (space - INODE_BYTES) as usize,
                Err(error) => return if at > from { Ok(at - from) } else { Err(error) },
            };
            let page = host.page(ino, index).ok_or(Errno::Io)?;
            let data = &page[at..to];
            let packed = self.compressor.compress(&self.store.sim, data, space.min(data.len()));
            let stored = if packed.kind == 0 {
                &data[..packed.stored_bytes]
            } else {
                &self.compressor.output()[..packed.stored_bytes]
            };
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
            let offset = page_at + at as u32;
            let version = inode.next_version();
            let raw = RawInode {
                file_bytes: inode.file_bytes.max(offset + packed.taken_bytes as u32),
                accessed_s: now_s,
                modified_s: now_s,
                changed_s: now_s,
                offset,
                compressed_bytes: packed.stored_bytes as u32,
                data_bytes: packed.taken_bytes as u32,
                compression: packed.kind,
                data_crc: crc32(0, stored),
                ..inode.raw(version)
            };
            match self.store.write_inode_node(&raw, stored, ino) {
                Ok(id) => {
                    inode.fragments.add(&mut self.store, id);
                    inode.drop_metadata(&mut self.store);
                    self.complete_reservation();
                    at += packed.taken_bytes;
                    retried = false;
                }
                Err(error) => {
                    self.complete_reservation();
                    if error == Errno::Io && !retried {
                        retried = true;
                        continue;
                    }
                    return if at > from { Ok(at - from) } else { Err(error) };
                }
            }
        }
        Ok(at - from)
    }

    /// Replaces the node that holds an inode's attributes.
    pub(crate) fn set_metadata(&mut self, ino: u32, id: RefId) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.drop_metadata(&mut self.store);
            inode.metadata = id;
        }
    }

    /// Deletes an inode that has no users and no names: all its nodes become obsolete (`jffs2_do_clear_inode`).
    pub(crate) fn delete_inode(&mut self, ino: u32) {
        let Some(mut inode) = self.inodes.remove(&ino) else { return };
        inode.drop_metadata(&mut self.store);
        for fragment in inode.fragments.drain() {
            crate::fragments::release(&mut self.store, fragment.node);
        }
        self.store.forget_inode(&mut inode);
        self.mark_absent(ino);
    }

    /// Removes an inode that still has names from memory.
    pub(crate) fn drop_inode(&mut self, ino: u32) {
        let Some(mut inode) = self.inodes.remove(&ino) else { return };
        self.store.forget_inode(&mut inode);
        self.mark_absent(ino);
    }

    fn mark_absent(&mut self, ino: u32) {
        if let Some(cache) = self.store.inode_caches.get_mut(&ino) {
            cache.state = crate::store::InodeState::CheckedAbsent;
            if cache.first == NONE {
                self.store.inode_caches.remove(&ino);
            }
        }
    }
}
