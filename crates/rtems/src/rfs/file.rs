//! Open files: position, size, reading and writing block by block.
//!
//! Follows `rtems-rfs-file.c` and `rtems-rfs-rtems-file.c`. All descriptors of a file share its inode and block map.

use super::handle::Handle;
use super::inode::Inode;
use super::map::{Map, Position, Size};
use super::quirks;
use super::store::Store;
use super::Rfs;
use crate::bdbuf::Bdbuf;
use crate::libio::OpenFile;
use ffslab_fs::Errno;

/// What all descriptors of a file have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub references: u32,
    pub inode: Inode,
    pub map: Map,
    pub size: Size,
    pub atime_s: u32,
    pub mtime_s: u32,
    pub ctime_s: u32,
    /// The last name of the file was removed while it was open. Only set when the bugs of 2018 are fixed.
    pub unlinked: bool,
}

/// One descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub shared: usize,
    handle: Handle,
    position: Position,
}

impl Shared {
    fn open(store: &mut Store, cache: &mut Bdbuf, ino: u32) -> Result<Shared, Errno> {
        let mut inode = store.inode_open(cache, ino)?;
        let map = match store.map_open(cache, &mut inode) {
            Ok(map) => map,
            Err(error) => {
                let _ = store.inode_close(cache, &mut inode);
                return Err(error);
            }
        };
        let shared = Shared {
            references: 1,
            map,
            size: Size { count: inode.block_count(cache), offset: u32::from(inode.block_offset(cache)) },
            atime_s: inode.atime(cache),
            mtime_s: inode.mtime(cache),
            ctime_s: inode.ctime(cache),
            unlinked: false,
            inode,
        };
        store.inode_unload(cache, &mut inode, false);
        Ok(Shared { inode, ..shared })
    }

    /// Writes the times into the inode, which is loaded afterwards, and the size into the block map.
    fn write_back(&mut self, store: &mut Store, cache: &mut Bdbuf) -> Result<(), Errno> {
        if !self.inode.is_loaded() {
            store.inode_load(cache, &mut self.inode)?;
        }
        self.inode.set_atime(cache, self.atime_s);
        self.inode.set_mtime(cache, self.mtime_s);
        self.inode.set_ctime(cache, self.ctime_s);
        if self.size != self.map.size {
            self.map.set_size(self.size);
        }
        Ok(())
    }
}

impl Rfs {
    pub(super) fn shared_of(&self, ino: u32) -> Option<usize> {
        self.shares.iter().position(|shared| shared.as_ref().is_some_and(|shared| shared.inode.ino == ino))
    }

    /// `rtems_rfs_file_open`. Gives the number of the descriptor.
    pub(super) fn file_open(&mut self, cache: &mut Bdbuf, ino: u32) -> Result<usize, Errno> {
        let shared = match self.shared_of(ino) {
            Some(shared) => {
                self.shares[shared].iter_mut().for_each(|shared| shared.references += 1);
                shared
            }
            None => {
                let new = Shared::open(&mut self.store, cache, ino)?;
                put(&mut self.shares, new)
            }
        };
        Ok(put(&mut self.files, File { shared, handle: Handle::default(), position: Position::default() }))
    }

    /// `rtems_rfs_file_close`: the last one writes the inode.
    pub(super) fn file_close(&mut self, cache: &mut Bdbuf, file: usize) -> Result<(), Errno> {
        let mut file = self.files.get_mut(file).and_then(Option::take).ok_or(Errno::BadF)?;
        let store = &mut self.store;
        let mut result = Ok(());
        if let Some(shared) = &mut self.shares[file.shared] {
            shared.references -= 1;
            if shared.references == 0 {
                result = shared.write_back(store, cache);
                let closed = store.map_close(cache, &mut shared.map, Some(&mut shared.inode));
                if shared.unlinked {
                    result = result.and(store.inode_delete(cache, &mut shared.inode));
                }
                result = result.and(closed).and(store.inode_close(cache, &mut shared.inode));
                self.shares[file.shared] = None;
            }
        }
        self.store.held.close(cache, &mut file.handle);
        result
    }

    /// Calls `f` with a descriptor and with the state that all descriptors of its file share.
    fn on_file<R>(
        &mut self,
        file: &OpenFile,
        f: impl FnOnce(&mut Store, &mut File, &mut Shared) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let file = self.files.get_mut(file.node.extra_id as usize).and_then(Option::as_mut).ok_or(Errno::BadF)?;
        let shared = self.shares[file.shared].as_mut().ok_or(Errno::BadF)?;
        f(&mut self.store, file, shared)
    }

    /// `rtems_rfs_rtems_file_read`.
    pub(super) fn file_read(
        &mut self,
        cache: &mut Bdbuf,
        open: &mut OpenFile,
        into: &mut [u8],
    ) -> Result<usize, Errno> {
        let pos = open.offset;
        let read = self.on_file(open, |store, file, shared| {
            let mut read = 0;
            if pos >= shared.size.bytes(store.layout.block_bytes) {
                return Ok(0);
            }
            while read < into.len() {
                let mut size = 0;
                io_start(store, cache, file, shared, &mut size, true)?;
                if size == 0 {
                    break;
                }
                let size = (size as usize).min(into.len() - read);
                let from = file.position.offset as usize;
                into[read..read + size].copy_from_slice(&file.handle.data(cache)[from..from + size]);
                file.handle.copied_out(cache, from, size);
                read += size;
                io_end(store, cache, file, shared, size as u32, true);
            }
            Ok(read)
        })?;
        open.offset = pos + read as u64;
        Ok(read)
    }

    /// `rtems_rfs_rtems_file_write`.
    pub(super) fn file_write(&mut self, cache: &mut Bdbuf, open: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        let mut pos = open.offset;
        let append = open.append;
        let written = self.on_file(open, |store, file, shared| {
            let size = shared.size.bytes(store.layout.block_bytes);
            if pos > size {
                set_size(store, cache, file, shared, pos)?;
                file.position = Position::of_bytes(pos, store.layout.block_bytes);
            } else if pos < size && append {
                pos = size;
                seek(store, cache, file, shared, pos)?;
            }
            let mut written = 0;
            while written < data.len() {
                let mut available = (data.len() - written).min(u32::MAX as usize) as u32;
                if let Err(error) = io_start(store, cache, file, shared, &mut available, false) {
                    match written {
                        0 => return Err(error),
                        _ => break,
                    }
                }
                let size = (available as usize).min(data.len() - written);
                let to = file.position.offset as usize;
                file.handle.data_mut(cache)[to..to + size].copy_from_slice(&data[written..written + size]);
                file.handle.copied_in(cache, to, size);
                written += size;
                io_end(store, cache, file, shared, size as u32, false);
            }
            Ok(written)
        })?;
        open.offset = pos + written as u64;
        Ok(written)
    }

    pub(super) fn file_seek(&mut self, cache: &mut Bdbuf, open: &mut OpenFile, to: u64) -> Result<(), Errno> {
        self.on_file(open, |store, file, shared| seek(store, cache, file, shared, to))?;
        open.offset = to;
        Ok(())
    }

    pub(super) fn file_truncate(&mut self, cache: &mut Bdbuf, open: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        self.on_file(open, |store, file, shared| set_size(store, cache, file, shared, bytes))
    }

    /// Writes the inode and the tables of an open file and synchronises the device. In 2018 only the device is
    /// synchronised; size, times and tables stay in memory.
    pub(super) fn file_sync(&mut self, cache: &mut Bdbuf, open: &mut OpenFile) -> Result<(), Errno> {
        if self.store.fixed() && !crate::faults::FSYNC_LEAVES_INODE.is_seeded() {
            self.on_file(open, |store, _, shared| {
                if shared.unlinked {
                    return Ok(());
                }
                let written = shared.write_back(store, cache);
                store.map_release_tables(cache, &mut shared.map);
                let written = written.and(store.map_write(cache, &mut shared.map, &mut shared.inode));
                store.inode_unload(cache, &mut shared.inode, true);
                written
            })?;
            self.store.held.release_all(cache);
        }
        cache.syncdev(self.store.held.disk)?;
        Ok(())
    }
}

/// Puts a value into the first free place.
fn put<T>(slots: &mut Vec<Option<T>>, value: T) -> usize {
    match slots.iter().position(Option::is_none) {
        Some(at) => {
            slots[at] = Some(value);
            at
        }
        None => {
            slots.push(Some(value));
            slots.len() - 1
        }
    }
}

/// `rtems_rfs_file_io_start`: gets the buffer of the present block. `available` is set to the number of bytes that can
/// be moved in this block; on entry it is the number that the caller wants to move.
fn io_start(
    store: &mut Store,
    cache: &mut Bdbuf,
    file: &mut File,
    shared: &mut Shared,
    available: &mut u32,
    read: bool,
) -> Result<(), Errno> {
    cache.cpu.spend(1, |costs| costs.rfs_block_ps);
    let block_bytes = store.layout.block_bytes;
    if !file.handle.has_block() {
        let mut with_content = read;
        let block = match store.map_find(cache, &mut shared.map, &file.position) {
            Ok(block) => {
                with_content |= file.position.offset > 0 || *available < block_bytes;
                block
            }
            Err(Errno::NxIo) if read => {
                *available = 0;
                return Ok(());
            }
            Err(Errno::NxIo) => {
                with_content = false;
                store.map_grow(cache, &mut shared.map)?
            }
            Err(error) => return Err(error),
        };
        store.held.request(cache, &mut file.handle, block, with_content)?;
    }
    let map = &shared.map;
    let size =
        if read && map.size.is_last(&map.position) && map.size.offset > 0 { map.size.offset } else { block_bytes };
    *available = size.saturating_sub(file.position.offset);
    Ok(())
}

/// `rtems_rfs_file_io_end`: gives the buffer back and moves the position on.
fn io_end(store: &mut Store, cache: &mut Bdbuf, file: &mut File, shared: &mut Shared, size: u32, read: bool) {
    if file.handle.has_block() {
        file.handle.dirty |= !read;
        store.held.release(cache, &mut file.handle);
    }
    file.position.offset += size;
    if file.position.offset >= store.layout.block_bytes {
        file.position.number += 1;
        file.position.offset -= store.layout.block_bytes;
    }
    let now_s = cache.now_s();
    if read {
        shared.atime_s = now_s;
        return;
    }
    shared.mtime_s = now_s;
    let block_bytes = store.layout.block_bytes;
    let is_longer = file.position.bytes(block_bytes) > shared.size.bytes(block_bytes);
    // In 2018 a position inside a full last block counts as past the end, and the file becomes shorter.
    let past = if store.fixed() { is_longer } else { shared.map.size.is_past(&file.position, false) };
    if past && file.position.bytes(block_bytes) < shared.size.bytes(block_bytes) {
        cache.sim().meet_fault(quirks::CUT);
    }
    if past {
        shared.map.set_size_offset(file.position.offset);
        shared.size = shared.map.size;
    }
}

/// `rtems_rfs_file_seek`.
fn seek(store: &mut Store, cache: &mut Bdbuf, file: &mut File, shared: &mut Shared, to: u64) -> Result<(), Errno> {
    if to > shared.size.bytes(store.layout.block_bytes) {
        store.held.release(cache, &mut file.handle);
        return Ok(());
    }
    file.position = Position::of_bytes(to, store.layout.block_bytes);
    if file.handle.has_block() {
        let block = store.map_find(cache, &mut shared.map, &file.position)?;
        if file.handle.block() != block {
            store.held.release(cache, &mut file.handle);
        }
    }
    Ok(())
}

/// `rtems_rfs_file_set_size`. RFS has no holes: added blocks are allocated and filled with zeros one by one.
fn set_size(
    store: &mut Store,
    cache: &mut Bdbuf,
    file: &mut File,
    shared: &mut Shared,
    bytes: u64,
) -> Result<(), Errno> {
    let block_bytes = store.layout.block_bytes;
    let size = shared.size.bytes(block_bytes);
    if size != bytes {
        let result = match bytes {
            0 => store.map_free_all(cache, &mut shared.map),
            _ if size < bytes => extend(store, cache, file, shared, bytes - size),
            _ => shorten(store, cache, file, shared, bytes),
        };
        // In 2018 the size of the open file is not updated when an error occurs, although the size in its map has
        // changed.
        if store.fixed() || result.is_ok() {
            shared.size = shared.map.size;
        }
        result?;
    }
    shared.mtime_s = cache.now_s();
    Ok(())
}

fn extend(store: &mut Store, cache: &mut Bdbuf, file: &mut File, shared: &mut Shared, bytes: u64) -> Result<(), Errno> {
    let mut left = bytes;
    let mut length = store.layout.block_bytes;
    let mut with_content = false;
    while left > 0 {
        let position = shared.map.size.end();
        let block = match store.map_find(cache, &mut shared.map, &position) {
            Err(Errno::NxIo) => store.map_grow(cache, &mut shared.map)?,
            found => found?,
        };
        if left < u64::from(length - position.offset) {
            length = left as u32 + position.offset;
            with_content = true;
            shared.map.set_size_offset(length);
        } else {
            shared.map.set_size_offset(0);
        }
        // In 2018 the old last block is filled up with zeros without being read first, so its content is lost unless
        // the cache holds it.
        let read = with_content || (store.fixed() && position.offset > 0);
        if !read && position.offset > 0 && !store.held.has(cache, block) {
            cache.sim().meet_fault(quirks::NOT_READ);
        }
        store.held.request(cache, &mut file.handle, block, read)?;
        file.handle.data_mut(cache)[position.offset as usize..length as usize].fill(0);
        file.handle.cleared(cache, position.offset as usize..length as usize);
        cache.cpu.spend(1, |costs| costs.rfs_block_ps);
        file.handle.dirty = true;
        store.held.release(cache, &mut file.handle);
        left -= u64::from(length - position.offset);
    }
    Ok(())
}

fn shorten(
    store: &mut Store,
    cache: &mut Bdbuf,
    file: &mut File,
    shared: &mut Shared,
    bytes: u64,
) -> Result<(), Errno> {
    let block_bytes = u64::from(store.layout.block_bytes);
    let keep = bytes.div_ceil(block_bytes) as u32;
    let blocks = shared.map.size.count.saturating_sub(keep);
    if blocks > 0 {
        store.map_shrink(cache, &mut shared.map, blocks)?;
    }
    shared.map.set_size_offset((bytes % block_bytes) as u32);
    if shared.map.size.is_past(&file.position, store.fixed()) {
        file.position = shared.map.size.end();
    }
    Ok(())
}
