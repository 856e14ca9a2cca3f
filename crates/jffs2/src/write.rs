//! What system calls write: data, attributes, directory entries.
//!
//! Follows `fs/jffs2/write.c`. A node that could not be programmed is written once more in another block.

use crate::causes;
use crate::faults;
use ffslab_fs::{Errno, Host, Result, PAGE_BYTES};

use crate::format::{crc32, RawDirent, RawInode, DIRENT_BYTES, INODE_BYTES, MIN_DATA_BYTES};
use crate::inode::Inode;
use crate::refs::RefId;
use crate::reserve::Purpose;
use crate::summary::{dirent_entry_bytes, INODE_ENTRY_BYTES};
use crate::Jffs2;

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
            let _why = self.store.flash.sim.because(&causes::METADATA);
            if faults::OBSOLETE_TOO_EARLY.is_seeded() && self.store.flash.manner.marks_obsolete {
                if let Some(old) = inode.dirents.get(name) {
                    self.store.space.mark_obsolete(&self.store.flash, old.node);
                }
            }
            match self.store.write_dirent_node(&raw, name, dir) {
                Ok(dirent) => {
                    inode.dirents.add(&mut self.store.space, &self.store.flash, name, dirent);
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
        let _why = self.store.flash.sim.because(&causes::DATA);
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
                inode.fragments.add(&mut self.store.space, &self.store.flash, id);
                inode.drop_metadata(&mut self.store.space, &self.store.flash);
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
        let _why = self.store.flash.sim.because(&causes::DATA);
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
            let packed = self.compressor.compress(&self.store.flash.sim, data, space.min(data.len()));
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
                    inode.fragments.add(&mut self.store.space, &self.store.flash, id);
                    inode.drop_metadata(&mut self.store.space, &self.store.flash);
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
            inode.drop_metadata(&mut self.store.space, &self.store.flash);
            inode.metadata = id;
        }
    }
}
