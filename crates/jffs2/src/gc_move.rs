//! Moving one live node out of the block that is being emptied.
//!
//! Follows `fs/jffs2/gc.c`: a pristine node is copied as it is; other data are rebuilt from the page cache, joined
//! with their neighbours in the page; a hole is written anew; a deletion entry is dropped when nothing is left that it
//! deletes.

use crate::causes;
use ffslab_fs::{Errno, FileKind, Host, Result, PAGE_BYTES};

use crate::format::{
    crc32, Header, RawDirent, RawInode, COMPR_NONE, COMPR_ZERO, DIRENT_BYTES, INODE_BYTES, MIN_DATA_BYTES, TYPE_DIRENT,
};
use crate::fragment_list::Fragment;
use crate::fragments::FragmentMap;
use crate::inode::{encode_device, Dirent};
use crate::refs::{NodeState, RefId, NONE};
use crate::space::is_dirty;
use crate::summary::{dirent_entry_bytes, INODE_ENTRY_BYTES};
use crate::Jffs2;

impl Jffs2 {
    /// Moves a node of an inode that is in memory (`jffs2_garbage_collect_live`).
    pub(crate) fn collect_live(&mut self, host: &mut dyn Host, block: u32, id: RefId, ino: u32) -> Result<()> {
        // While the inode was loaded, its nodes were read, and this node or all nodes of the block may have turned out
        // to be obsolete.
        if self.store.space.gc_block != Some(block) || self.store.space.refs[id].is_obsolete() {
            return Ok(());
        }
        let Some(inode) = self.inodes.get(&ino) else { return Err(Errno::Io) };
        if let Some((name, dirent)) = inode.dirents.of_node(&self.store.space, id) {
            return if dirent.ino != 0 {
                self.move_dirent(ino, &name, dirent)
            } else {
                self.collect_deletion(ino, &name, dirent)
            };
        }
        if !self.store.space.refs[id].is_in_memory() {
            self.store.space.mark_obsolete(&self.store.flash, id);
            return Ok(());
        }
        if inode.metadata == id {
            return self.move_metadata(ino, id);
        }
        let Some((start, end)) = self.extent_of(ino, id) else { return Err(Errno::Io) };
        if self.store.space.refs[id].state() == NodeState::Pristine && self.store.copy_node(id)? {
            let new = self.store.space.inode_caches.get(&ino).map_or(NONE, |c| c.first);
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::Io)?;
            inode.fragments.replace_node(start, end, id, new);
            return Ok(());
        }
        let page = PAGE_BYTES as u32;
        if start / page < (end - 1) / page {
            // A data node never crosses the end of a page, so this node is a hole.
            self.move_hole(ino, id, start, end)
        } else {
            self.rebuild(host, ino, start, end)
        }
    }

    /// The range of the file from the first byte to the end of the last byte that still comes from the node. The kernel walks over all
    /// fragments from the beginning of the file until it has seen all of the node (`jffs2_garbage_collect_live`).
    fn extent_of(&self, ino: u32, id: RefId) -> Option<(u32, u32)> {
        let inode = self.inodes.get(&ino)?;
        let extent = self.extent_in(&inode.fragments, id);
        let end = extent.map_or(u32::MAX, |(_, end)| end);
        self.store.flash.sim.work_of_walk(|| inode.fragments.count_before(end));
        extent
    }

    fn extent_in(&self, fragments: &FragmentMap, id: RefId) -> Option<(u32, u32)> {
        let node = &self.store.space.refs[id];
        if node.fragments_or_slot == 1 {
            let whole = fragments.lookup(node.file_offset).filter(|f| f.node == id);
            if let Some(only) = whole {
                return Some((only.offset, only.end()));
            }
        }
        let mut extent: Option<(u32, u32)> = None;
        let mut left = node.fragments_or_slot;
        let first = fragments.lookup(node.file_offset).map_or(node.file_offset, |f| f.offset);
        for fragment in fragments.starting_at(first) {
            if left == 0 || fragment.offset >= node.file_offset + node.file_bytes {
                break;
            }
            if fragment.node == id {
                left -= 1;
                extent = Some((extent.map_or(fragment.offset, |e| e.0), fragment.end()));
            }
        }
        extent
    }

    /// Writes the node with the inode's attributes anew.
    fn move_metadata(&mut self, ino: u32, id: RefId) -> Result<()> {
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::Io)?;
        let data = match inode.kind {
            FileKind::CharDevice | FileKind::BlockDevice => encode_device(self.store.flash.endian, inode.device),
            FileKind::Symlink => {
                let mut data = vec![0; self.store.space.refs[id].file_bytes as usize];
                self.store.reader.read_data(&self.store.space, &self.store.flash, id, 0, &mut data)?;
                data
            }
            _ => Vec::new(),
        };
        self.store.reserve_for_gc(INODE_BYTES + data.len() as u32, INODE_ENTRY_BYTES)?;
        let version = inode.next_version();
        let raw = RawInode {
            file_bytes: inode.bytes_on_flash(),
            compressed_bytes: data.len() as u32,
            data_bytes: data.len() as u32,
            data_crc: crc32(0, &data),
            ..inode.raw(version)
        };
        let new = self.store.write_inode_node_gc(&raw, &data)?;
        inode.drop_metadata(&mut self.store.space, &self.store.flash);
        inode.metadata = new;
        Ok(())
    }

    fn move_dirent(&mut self, ino: u32, name: &[u8], old: Dirent) -> Result<()> {
        let bytes = DIRENT_BYTES + name.len() as u32;
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::Io)?;
        // If the two times differ they were set by a program, and a time in the directory entry would override them at
        // the next mount.
        let changed_s = if inode.modified_s == inode.changed_s { inode.modified_s } else { 0 };
        let raw = RawDirent {
            parent: ino,
            version: inode.next_version(),
            ino: old.ino,
            changed_s,
            name_bytes: name.len() as u8,
            dirent_type: old.dirent_type,
            name_crc: crc32(0, name),
        };
        self.store.reserve_for_gc(bytes, dirent_entry_bytes(name.len()))?;
        let new = self.store.write_dirent_node_gc(&raw, name)?;
        inode.dirents.add(&mut self.store.space, &self.store.flash, name, new);
        Ok(())
    }

    /// A deletion entry is needed as long as an older entry for the name is on flash in another block
    /// (`jffs2_garbage_collect_deletion_dirent`).
    fn collect_deletion(&mut self, ino: u32, name: &[u8], old: Dirent) -> Result<()> {
        if !self.store.flash.manner.marks_obsolete && self.deletes_something(ino, name, old.node)? {
            return self.move_dirent(ino, name, old);
        }
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.dirents.remove(&mut self.store.space, name);
        }
        self.store.space.mark_obsolete(&self.store.flash, old.node);
        Ok(())
    }

    fn deletes_something(&mut self, ino: u32, name: &[u8], node: RefId) -> Result<bool> {
        let _why = self.store.flash.sim.because(&causes::GC_LOOKUP);
        let e = self.store.flash.endian;
        let bytes = self.store.space.ref_bytes(node);
        let home = self.store.space.blocks.of(self.store.space.refs[node].offset());
        let name_crc = crc32(0, name);
        let mut raw = vec![0u8; bytes as usize];
        // A scan adds padding behind an obsolete node to its length (`jffs2_scan_dirty_space`). The kernel looks at nodes of
        // exactly the same length, passes over such a one, and forgets a deletion too early: a deleted name may come back after
        // the next mount. Under its own choice of blocks that is done here as well; other policies must lose nothing.
        let looks_at_longer = self.victims.is_some();
        let may_be_as_long = |length: u32| length == bytes || looks_at_longer && length > bytes;
        let mut next = self.store.space.inode_caches.get(&ino).map_or(NONE, |c| c.first);
        while next != NONE {
            let id = next;
            let other = self.store.space.refs[id];
            next = other.next_in_inode;
            if !other.is_obsolete()
                || !may_be_as_long(self.store.space.ref_bytes(id))
                || self.store.space.blocks.of(other.offset()) == home
            {
                continue;
            }
            match self.store.flash.read(other.offset(), &mut raw) {
                Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                Err(_) => continue,
                Ok(()) => {}
            }
            if Header::decode(e, &raw).node_type != TYPE_DIRENT {
                continue;
            }
            let same = e.u32(&raw, 36) == name_crc
                && usize::from(raw[28]) == name.len()
                && e.u32(&raw, 20) != 0
                && &raw[DIRENT_BYTES as usize..DIRENT_BYTES as usize + name.len()] == name;
            if same {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Writes a hole anew. A hole that is partly overwritten keeps its version, because with a new one it would hide
    /// the newer data.
    fn move_hole(&mut self, ino: u32, id: RefId, start: u32, end: u32) -> Result<()> {
        let keep_version = self.store.space.refs[id].fragments_or_slot > 1;
        let mut old = None;
        if keep_version {
            let mut header = [0u8; INODE_BYTES as usize];
            let offset = self.store.space.refs[id].offset();
            self.store.flash.read(offset, &mut header)?;
            old = RawInode::decode(self.store.flash.endian, &header).filter(|raw| raw.compression == COMPR_ZERO);
        }
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::Io)?;
        let (version, offset, bytes) = match old {
            Some(raw) => (raw.version, raw.offset, raw.covered_bytes()),
            None => (inode.next_version(), start, end - start),
        };
        let raw = RawInode {
            file_bytes: inode.bytes_on_flash(),
            offset,
            data_bytes: bytes,
            compression: COMPR_ZERO,
            ..inode.raw(version)
        };
        self.store.reserve_for_gc(INODE_BYTES, INODE_ENTRY_BYTES)?;
        let new = self.store.write_inode_node_gc(&raw, &[])?;
        if version == inode.highest_version {
            inode.fragments.add(&mut self.store.space, &self.store.flash, new);
            inode.drop_metadata(&mut self.store.space, &self.store.flash);
            return Ok(());
        }
        let first = self.store.space.refs[id].file_offset;
        let fragments = inode.fragments.replace_node(first, offset + bytes, id, new);
        self.store.space.refs[new].set_state(NodeState::Normal);
        self.store.space.refs[new].fragments_or_slot = fragments;
        self.store.space.refs[id].leave_memory();
        self.store.space.mark_obsolete(&self.store.flash, id);
        Ok(())
    }

    /// Rebuilds bytes `start .. end` of a page from the page cache and writes them as one node, together with other
    /// fragments of the page that are worth collecting (`jffs2_garbage_collect_dnode`).
    fn rebuild(&mut self, host: &mut dyn Host, ino: u32, start: u32, end: u32) -> Result<()> {
        let (from, to) = if self.store.space.free_blocks() + self.store.space.erasing_blocks
            > self.store.space.levels.gc_merge_blocks
        {
            self.merged_extent(ino, start, end)
        } else {
            (start, end)
        };
        let index = u64::from(from) / PAGE_BYTES as u64;
        let mut page = std::mem::take(&mut self.gc_page);
        let read = self.fetch_page(host, ino, index, &mut page);
        let written = read.and_then(|()| self.write_rebuilt(ino, &page, from, to, end));
        self.gc_page = page;
        written
    }

    fn fetch_page(&mut self, host: &mut dyn Host, ino: u32, index: u64, page: &mut [u8]) -> Result<()> {
        if self.users.is_none() {
            if let Some(cached) = host.page(ino, index) {
                page.copy_from_slice(cached);
                return Ok(());
            }
        }
        let inode = self.inodes.get(&ino).ok_or(Errno::Io)?;
        self.store.reader.read_range(
            &self.store.space,
            &self.store.flash,
            inode,
            (index * PAGE_BYTES as u64) as u32,
            page,
        )?;
        host.insert_page(ino, index, page);
        Ok(())
    }

    fn write_rebuilt(&mut self, ino: u32, page: &[u8], from: u32, to: u32, needed_end: u32) -> Result<()> {
        let page_at = from / PAGE_BYTES as u32 * PAGE_BYTES as u32;
        let mut at = from;
        while at < needed_end {
            let space = self.store.reserve_for_gc(INODE_BYTES + MIN_DATA_BYTES, INODE_ENTRY_BYTES)? - INODE_BYTES;
            let data = &page[(at - page_at) as usize..(to - page_at) as usize];
            let packed = self.compressor.compress(&self.store.flash.sim, data, data.len().min(space as usize));
            let stored = if packed.kind == COMPR_NONE {
                &data[..packed.stored_bytes]
            } else {
                &self.compressor.output()[..packed.stored_bytes]
            };
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::Io)?;
            let version = inode.next_version();
            let raw = RawInode {
                offset: at,
                compressed_bytes: packed.stored_bytes as u32,
                data_bytes: packed.taken_bytes as u32,
                compression: packed.kind,
                data_crc: crc32(0, stored),
                ..inode.raw(version)
            };
            let new = self.store.write_inode_node_gc(&raw, stored)?;
            inode.fragments.add(&mut self.store.space, &self.store.flash, new);
            inode.drop_metadata(&mut self.store.space, &self.store.flash);
            at += packed.taken_bytes as u32;
        }
        Ok(())
    }

    /// Widens an extent within its page, so that small fragments are joined. A fragment at the edge of the page is only
    /// included if its block is being collected or is dirty anyway; otherwise garbage collection could rewrite the same
    /// data for ever.
    fn merged_extent(&self, ino: u32, mut start: u32, mut end: u32) -> (u32, u32) {
        let page = PAGE_BYTES as u32;
        let (min, max) = (start / page * page, start / page * page + page);
        let Some(inode) = self.inodes.get(&ino) else { return (start, end) };
        let mut previous = inode.fragments.before(start);
        while let Some(f) = previous.filter(|f| f.offset >= min) {
            if f.offset > min {
                start = f.offset;
                previous = inode.fragments.before(f.offset);
                continue;
            }
            if self.worth_joining(f) {
                start = f.offset;
            }
            break;
        }
        let last = inode.fragments.lookup(end - 1).map_or(end - 1, |f| f.offset);
        let mut next = inode.fragments.after(last);
        while let Some(f) = next.filter(|f| f.end() <= max) {
            if f.end() < max {
                end = f.end();
                next = inode.fragments.after(f.offset);
                continue;
            }
            if self.worth_joining(f) {
                end = f.end();
            }
            break;
        }
        (start, end)
    }

    fn worth_joining(&self, fragment: Fragment) -> bool {
        if fragment.node == NONE {
            return false;
        }
        let block = self.store.space.blocks.of(self.store.space.refs[fragment.node].offset());
        let b = &self.store.space.blocks[block];
        self.store.space.gc_block == Some(block) || is_dirty(b.dirty_bytes() + b.wasted_bytes())
    }
}
