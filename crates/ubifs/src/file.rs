//! Pages of files: reading them, what a write reserves, writing them back, cutting files.
//!
//! Follows `fs/ubifs/file.c`.

use crate::budget::Request;
use crate::causes;
use crate::compress::Compressor;
use crate::core::Core;
use crate::error::{AtPlace, Fail, Res, NOT_FOUND};
use crate::format::*;
use crate::inode::Inode;
use crate::key::Key;
use crate::{BegunWrite, Ubifs};
use ffslab_fs::{Errno, FileKind, Host, Ino, InodeDirt, Result, SetAttr, TimeSpec, WritePlan};
use ffslab_sim::Sim;

impl Compressor {
    /// The block that a data node holds, filled up with zeros.
    pub fn unpack_data(&mut self, sim: &Sim, node: &[u8], page: &mut [u8]) -> Res<()> {
        let size = get_u32(node, data::SIZE) as usize;
        if size == 0 || size > page.len() {
            return Err(Fail::corrupt("bad size in a data node"));
        }
        let kind = get_u16(node, data::COMPR_TYPE);
        if self.decompress(sim, kind, &node[data::DATA..], page) != Some(size) {
            return Err(Fail::corrupt("damaged data in a data node"));
        }
        page[size..].fill(0);
        Ok(())
    }
}

impl Core {
    /// Reads a block; [`NOT_FOUND`]: it is a hole. Returns how many bytes the node has.
    fn read_block(&mut self, ino: u32, block: u32, page: &mut [u8]) -> Res<()> {
        let mut node = std::mem::take(&mut self.data_buffer);
        let result = self
            .locate(Key::data(ino, block), &mut node)
            .and_then(|_| self.compressor.unpack_data(&self.lebs.sim, &node, page));
        self.data_buffer = node;
        result
    }
}

impl Ubifs {
    /// Present time, as coarse as the file system keeps it.
    pub(crate) fn now(&self, host: &dyn Host) -> TimeSpec {
        truncated(host.now(), self.core.sb.time_granularity_ns)
    }

    pub(crate) fn inode(&mut self, ino: Ino) -> Result<&mut Inode> {
        self.load(ino)?;
        self.inodes.get_mut(&ino).map(|inode| &mut **inode).ok_or(Errno::NoEnt)
    }

    /// Brings an inode into memory.
    pub(crate) fn load(&mut self, ino: Ino) -> Result<()> {
        if self.inodes.contains_key(&ino) {
            return Ok(());
        }
        self.load_inode(ino).map_err(Errno::from)
    }

    /// Reads an inode into memory. Damage is told with its place and the number of the inode.
    pub(crate) fn load_inode(&mut self, ino: Ino) -> Res<()> {
        let _why = self.core.lebs.sim.because_if_none(&causes::INODE_READ);
        let mut node = std::mem::take(&mut self.entry);
        let read = self.core.locate(Key::inode(ino), &mut node);
        let inode = read.and_then(|at| Inode::unpack(ino, &node).at(at.lnum, at.offs).of_inode(ino));
        self.entry = node;
        let mut inode = inode?;
        if let Some(&bytes) = self.core.mount.deferred.sizes.get(&ino) {
            (inode.size_bytes, inode.synced_bytes) = (bytes, bytes);
        }
        self.inodes.insert(ino, Box::new(inode));
        Ok(())
    }

    /// Marks an inode as dirty (`__mark_inode_dirty`). Returns `true` when it was dirty before: it has a budget then,
    /// and the caller gives back the new one.
    pub(crate) fn mark_dirty(&mut self, host: &mut dyn Host, ino: Ino, dirt: InodeDirt) -> Result<bool> {
        let inode = self.inode(ino)?;
        let was_dirty = std::mem::replace(&mut inode.dirty, true);
        host.dirty_inode(ino, dirt);
        Ok(was_dirty)
    }

    // ---- reading -----------------------------------------------------------------------------------------------

    /// Reads a page for a program or for read-ahead. Returns `true` when a bulk read brought further pages, which the
    /// caller puts into the page cache with [`Ubifs::insert_bulk`].
    pub(crate) fn read_folio_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<bool> {
        let bulk_read = self.bulk_read;
        if self.inode(ino)?.note_read(index, bulk_read) {
            if let Some(is_hole) = self.read_page_in_bulk(ino, index, page) {
                self.note_clean_page(ino, index, is_hole);
                return Ok(true);
            }
        }
        self.read_file_page(ino, index, page).map(|()| false)
    }

    pub(crate) fn read_file_page(&mut self, ino: Ino, index: u64, page: &mut [u8]) -> Result<()> {
        let size_bytes = self.inode(ino)?.size_bytes;
        let beyond = size_bytes.div_ceil(u64::from(BLOCK_BYTES));
        let is_hole = if index >= beyond {
            true
        } else {
            match self.core.read_block(ino, index as u32, page) {
                Ok(()) => false,
                Err(NOT_FOUND) => true,
                Err(Fail::Errno(error)) => return Err(error),
                Err(_) => return Err(Errno::Io),
            }
        };
        if is_hole {
            self.core.lebs.sim.clear(page);
        } else if index + 1 == beyond {
            let end = (size_bytes - index * u64::from(BLOCK_BYTES)) as usize;
            self.core.lebs.sim.clear(&mut page[end..]);
        }
        self.note_clean_page(ino, index, is_hole);
        Ok(())
    }

    /// Records whether a page that was just read is a hole.
    pub(crate) fn note_clean_page(&mut self, ino: Ino, index: u64, is_hole: bool) {
        let Some(inode) = self.inodes.get_mut(&ino) else { return };
        let beyond = inode.size_bytes.div_ceil(u64::from(BLOCK_BYTES));
        if !inode.dirty_pages.contains(index) {
            if !is_hole {
                inode.holes.remove(index);
            } else if index < beyond {
                inode.holes.insert(index);
            }
        }
    }

    /// Whether there is no node for a page on flash.
    fn is_hole(&mut self, ino: Ino, index: u64, cached: bool) -> Result<bool> {
        let inode = self.inode(ino)?;
        if inode.holes.contains(index) {
            return Ok(true);
        }
        if inode.dirty_pages.contains(index) {
            return Ok(false);
        }
        if index >= inode.size_bytes.div_ceil(u64::from(BLOCK_BYTES)) {
            return Ok(true);
        }
        if cached {
            return Ok(false);
        }
        Ok(!self.core.index.has_key(&self.core.lebs, Key::data(ino, index as u32))?)
    }

    // ---- writing into the page cache -----------------------------------------------------------------------------

    /// Time stamps of a write (`update_mctime`).
    pub(crate) fn update_times(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        let now = self.now(host);
        let inode = self.inode(ino)?;
        if inode.modified == now && inode.changed == now {
            return Ok(());
        }
        let dirtied_ino_bytes = align8(inode.data.len() as u32);
        let request = Request { dirtied_inos: 1, dirtied_ino_bytes, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let now = self.now(host);
        let inode = self.inode(ino)?;
        (inode.modified, inode.changed) = (now, now);
        if self.mark_dirty(host, ino, InodeDirt::Attributes)? {
            self.core.space.release_budget(&self.core.lebs, growth);
        }
        Ok(())
    }

    /// Reserves what a write to a page needs (`ubifs_write_begin`).
    pub(crate) fn begin_write(
        &mut self,
        host: &mut dyn Host,
        ino: Ino,
        at: u64,
        bytes: usize,
        cached: bool,
    ) -> Result<WritePlan> {
        self.cancel_begun_write();
        self.core.lebs.check_writable().map_err(Errno::from)?;
        let index = at >> BLOCK_SHIFT;
        let is_whole = bytes == BLOCK_BYTES as usize;
        let appending = at + bytes as u64 > self.inode(ino)?.size_bytes;
        // A page that is overwritten as a whole is not read first, so nobody knows whether there is a data node for it:
        // it counts as a hole, for which the larger budget is taken.
        let mut hole = if !cached && is_whole { true } else { self.is_hole(ino, index, cached)? };
        let mut request = Request { fast: true, ..Request::default() };
        let inode = self.inode(ino)?;
        let had_budget = inode.dirty_pages.contains(index);
        request.dirtied_inos = u32::from(appending && !inode.dirty);
        if !had_budget {
            (request.new_page, request.dirtied_page) = (hole, !hole);
        }
        let growth = match self.budget(host, &request) {
            Ok(growth) => growth,
            Err(Errno::NoSpc) => {
                let slow = Request { new_page: true, dirtied_inos: u32::from(appending), ..Request::default() };
                let mut growth = self.budget(host, &slow)?;
                // Making room may have written the page and the inode back.
                let inode = self.inode(ino)?;
                let is_dirty = inode.dirty_pages.contains(index);
                let inode_was_dirty = inode.dirty;
                hole = if !cached && is_whole { true } else { self.is_hole(ino, index, cached)? };
                if is_dirty {
                    self.core.space.release_request(&self.core.lebs, &Request { new_page: true, ..Request::default() });
                    growth =
                        Request { dirtied_inos: slow.dirtied_inos, ..Request::default() }.growth(&self.core.lebs.geo);
                } else if !hole {
                    self.core.space.convert_page_budget(&self.core.lebs);
                    let converted =
                        Request { dirtied_page: true, dirtied_inos: slow.dirtied_inos, ..Request::default() };
                    growth = converted.growth(&self.core.lebs.geo);
                }
                if appending && inode_was_dirty {
                    let inode_growth = Request { dirtied_inos: 1, ..Request::default() }.growth(&self.core.lebs.geo);
                    self.core.space.release_budget(&self.core.lebs, inode_growth);
                    growth.dirty -= inode_growth.dirty;
                }
                growth
            }
            Err(error) => return Err(error),
        };
        self.begun = Some(BegunWrite { ino, index, hole, growth });
        Ok(if cached || is_whole { WritePlan::Ready } else { WritePlan::ReadFirst })
    }

    /// Gives back the budget of a write that was begun and then failed.
    fn cancel_begun_write(&mut self) {
        if let Some(begun) = self.begun.take() {
            self.core.space.release_budget(&self.core.lebs, begun.growth);
        }
    }

    /// Ends a write: the page in the page cache has its new bytes (`ubifs_write_end`).
    pub(crate) fn end_write(&mut self, host: &mut dyn Host, ino: Ino, at: u64, bytes: usize) -> Result<usize> {
        let index = at >> BLOCK_SHIFT;
        let begun = self.begun.take().filter(|begun| (begun.ino, begun.index) == (ino, index)).ok_or(Errno::Inval)?;
        let inode = self.inode(ino)?;
        if inode.dirty_pages.insert(index) {
            if begun.hole {
                inode.holes.insert(index);
            } else {
                inode.holes.remove(index);
            }
            host.dirty_page(ino, index);
        }
        let end = at + bytes as u64;
        if end > inode.size_bytes {
            inode.size_bytes = end;
            self.mark_dirty(host, ino, InodeDirt::Data)?;
        }
        Ok(bytes)
    }

    /// Reserves what a store to a mapped page needs, and marks the page and the inode as dirty (`ubifs_vm_page_mkwrite`).
    pub(crate) fn make_writable(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        self.core.lebs.check_writable().map_err(Errno::from)?;
        let now = self.now(host);
        let inode = self.inode(ino)?;
        let stamps = inode.modified != now || inode.changed != now;
        // Whether the page is dirty already is only looked at afterwards, so the larger budget is taken.
        let page = Request { new_page: true, ..Request::default() };
        self.budget(host, &Request { dirtied_inos: u32::from(stamps), ..page })?;
        let is_hole = self.is_hole(ino, index, true)?;
        if self.inode(ino)?.dirty_pages.insert(index) {
            if !is_hole {
                self.core.space.convert_page_budget(&self.core.lebs);
            }
            host.dirty_page(ino, index);
        } else {
            self.core.space.release_request(&self.core.lebs, &page);
        }
        if stamps {
            let now = self.now(host);
            let inode = self.inode(ino)?;
            (inode.modified, inode.changed) = (now, now);
            if self.mark_dirty(host, ino, InodeDirt::Attributes)? {
                let of_inode = Request { dirtied_inos: 1, ..Request::default() };
                self.core.space.release_request(&self.core.lebs, &of_inode);
            }
        }
        Ok(())
    }

    // ---- writing back --------------------------------------------------------------------------------------------

    /// Writes a page that the host has marked as clean (`ubifs_writepage`).
    pub(crate) fn write_back_page(&mut self, host: &mut dyn Host, ino: Ino, index: u64) -> Result<()> {
        let inode = self.inode(ino)?;
        let (size_bytes, synced_bytes) = (inode.size_bytes, inode.synced_bytes);
        let start = index * u64::from(BLOCK_BYTES);
        if start >= size_bytes {
            self.forget_dirty_page(ino, index);
            return Ok(());
        }
        let len = (size_bytes - start).min(u64::from(BLOCK_BYTES)) as usize;
        let is_inode_late =
            if len == BLOCK_BYTES as usize { index >= synced_bytes >> BLOCK_SHIFT } else { size_bytes > synced_bytes };
        if is_inode_late {
            // The inode on flash must never have a size below the end of the data nodes, so the inode is written first.
            if let Err(error) = self.write_back_inode(ino) {
                host.dirty_page(ino, index);
                return Err(error);
            }
        }
        self.do_write_page(host, ino, index, len)
    }

    fn do_write_page(&mut self, host: &mut dyn Host, ino: Ino, index: u64, len: usize) -> Result<()> {
        let compression = self.inode(ino)?.data_compression();
        let _why = self.core.lebs.sim.because_if_none(&causes::DATA);
        let page = host.page(ino, index).ok_or(Errno::Io)?;
        let written = self.core.write_data(ino, index as u32, &page[..len], compression);
        self.forget_dirty_page(ino, index);
        written.map_err(|fail| self.core.lebs.fatal(fail).into())
    }

    /// Gives back the budget of a page that was written back or dropped.
    pub(crate) fn forget_dirty_page(&mut self, ino: Ino, index: u64) {
        let Some(inode) = self.inodes.get_mut(&ino) else { return };
        let is_hole = inode.holes.remove(index);
        if !inode.dirty_pages.remove(index) {
            return;
        }
        let request = Request { new_page: is_hole, dirtied_page: !is_hole, ..Request::default() };
        self.core.space.release_request(&self.core.lebs, &request);
    }

    /// Writes an inode if it is dirty (`ubifs_write_inode`).
    pub(crate) fn write_back_inode(&mut self, ino: Ino) -> Result<()> {
        let Some(inode) = self.inodes.get_mut(&ino).filter(|inode| inode.dirty) else { return Ok(()) };
        let _why = self.core.lebs.sim.because_if_none(&causes::METADATA);
        let mut written = Ok(());
        if inode.links > 0 {
            written = self.core.write_inode_node(inode, &[]);
            if written.is_ok() {
                inode.synced_bytes = inode.size_bytes;
            }
        }
        inode.dirty = false;
        self.core.space.release_inode_budget(&self.core.lebs, inode);
        written.map_err(Errno::from)
    }

    // ---- attributes ------------------------------------------------------------------------------------------------

    pub(crate) fn change_attributes(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr) -> Result<()> {
        let inode = self.inode(ino)?;
        let (kind, size_bytes) = (inode.kind, inode.size_bytes);
        match change.size_bytes {
            Some(_) if kind == FileKind::Directory => return Err(Errno::IsDir),
            Some(_) if kind != FileKind::File => return Err(Errno::Inval),
            Some(size) if size > FILE_BYTES_MAX => return Err(Errno::FBig),
            Some(size) if size < size_bytes => return self.truncate(host, ino, change, size),
            _ => {}
        }
        let dirtied_ino_bytes = align8(inode.data.len() as u32);
        let request = Request { dirtied_inos: 1, dirtied_ino_bytes, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let (now, granularity_ns) = (self.now(host), self.core.sb.time_granularity_ns);
        let inode = self.inode(ino)?;
        if let Some(size) = change.size_bytes {
            inode.size_bytes = size;
            inode.modified = now;
        }
        apply(inode, change, now, granularity_ns);
        let dirt = if change.size_bytes.is_some() { InodeDirt::Data } else { InodeDirt::Attributes };
        if self.mark_dirty(host, ino, dirt)? {
            self.core.space.release_budget(&self.core.lebs, growth);
        }
        self.write_if_sync(ino)
    }

    /// Makes a file shorter (`do_truncation`).
    fn truncate(&mut self, host: &mut dyn Host, ino: Ino, change: &SetAttr, size: u64) -> Result<()> {
        let kept = (size % u64::from(BLOCK_BYTES)) as usize;
        let request =
            Request { dirtied_page: kept > 0, dirtied_inos: 1, dirtied_ino_bytes: TRUN_BYTES, ..Request::default() };
        let growth = match self.budget(host, &request) {
            Ok(growth) => Some(growth),
            // Emptying a file frees space, so it is allowed without a budget.
            Err(Errno::NoSpc) if size == 0 => None,
            Err(error) => return Err(error),
        };
        let mut dropped = Vec::new();
        host.truncate_pages(ino, size, &mut |index| dropped.push(index));
        dropped.into_iter().for_each(|index| self.forget_dirty_page(ino, index));
        let (now, granularity_ns) = (self.now(host), self.core.sb.time_granularity_ns);
        let inode = self.inode(ino)?;
        let old_size = std::mem::replace(&mut inode.size_bytes, size);
        let first_gone = size.div_ceil(u64::from(BLOCK_BYTES));
        while let Some(index) = self.inode(ino)?.dirty_pages.next(first_gone) {
            self.forget_dirty_page(ino, index);
        }
        let inode = self.inode(ino)?;
        while inode.holes.take_next(first_gone).is_some() {}
        let index = size >> BLOCK_SHIFT;
        let mut result = Ok(());
        if kept > 0 && host.clean_page(ino, index) {
            result = self.do_write_page(host, ino, index, kept);
        }
        if result.is_ok() {
            let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
            let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
            (inode.modified, inode.changed) = (now, now);
            apply(inode, change, now, granularity_ns);
            let written = self.core.write_truncation(inode, old_size, size);
            if written.is_ok() {
                inode.synced_bytes = inode.size_bytes;
                self.core.space.mark_clean(&self.core.lebs, inode);
            }
            result = written.map_err(Errno::from);
        }
        match growth {
            Some(growth) => self.core.space.release_budget(&self.core.lebs, growth),
            None => self.core.space.budget.no_space = false,
        }
        result?;
        let mount_flags = self.mount_flags;
        let is_sync = self.inode(ino)?.is_sync(mount_flags);
        self.sync_names(is_sync)
    }
}

/// A time stamp as coarse as the superblock says (`s_time_gran`; `timespec_trunc` of `kernel/time.c`, later
/// `timestamp_truncate` of `fs/inode.c`). Linux and mkfs.ubifs make file systems of one second.
fn truncated(time: TimeSpec, granularity_ns: u32) -> TimeSpec {
    TimeSpec { nanoseconds: time.nanoseconds - time.nanoseconds % granularity_ns.max(1), ..time }
}

/// Takes over all attributes in `change` except the size.
fn apply(inode: &mut Inode, change: &SetAttr, now: TimeSpec, granularity_ns: u32) {
    let kept = |time| truncated(time, granularity_ns);
    inode.uid = change.uid.unwrap_or(inode.uid);
    inode.gid = change.gid.unwrap_or(inode.gid);
    inode.accessed = change.accessed.map_or(inode.accessed, kept);
    inode.modified = change.modified.map_or(inode.modified, kept);
    inode.changed = now;
    inode.permissions = change.permissions.map_or(inode.permissions, |bits| bits & 0o7777);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_sets_is_kept_as_coarsely_as_the_superblock_says() {
        let time = TimeSpec { seconds: 7, nanoseconds: 123_456_789 };
        for (granularity_ns, nanoseconds) in [(1_000_000_000, 0), (1_000_000, 123_000_000), (1, 123_456_789)] {
            let mut inode = Inode::new(66, FileKind::File, TimeSpec::default());
            let change = SetAttr { accessed: Some(time), modified: Some(time), ..SetAttr::default() };
            apply(&mut inode, &change, TimeSpec::default(), granularity_ns);
            assert_eq!(
                (inode.accessed, inode.modified),
                (TimeSpec { nanoseconds, ..time }, TimeSpec { nanoseconds, ..time })
            );
        }
    }
}
