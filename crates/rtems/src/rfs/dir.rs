//! Directories: files of blocks with packed entries.
//!
//! Follows `rtems-rfs-dir.c`. An entry is inode (4 B), hash of the name (4 B), length (2 B), name; none spans blocks. A
//! length of 0xffff ends a block's entries. Entries that are deleted are closed up within their block.

use super::handle::{be16, be32, Handle};
use super::hash::name_hash;
use super::inode::Inode;
use super::map::{Map, Position};
use super::store::Store;
use crate::bdbuf::Bdbuf;
use crate::libio::DirEntry;
use ffslab_fs::Errno;

const ENTRY_BYTES: u32 = 10;
const EMPTY: u16 = 0xffff;
const NAME_MAX: usize = 255;

#[derive(Clone, Copy)]
struct Entry {
    ino: u32,
    hash: u32,
    length: u16,
}

fn entry_at(data: &[u8], offset: u32) -> Entry {
    let bytes = data.get(offset as usize..).unwrap_or(&[]);
    let part = |from: usize| bytes.get(from..).unwrap_or(&[]);
    Entry { ino: be32(bytes), hash: be32(part(4)), length: be16(part(8)) }
}

impl Store {
    /// Whether an entry is damaged: `rtems_rfs_dir_entry_valid` returns true for these, despite its name. Entries that
    /// reach beyond their block are damaged as well.
    fn is_bad(&self, entry: &Entry, offset: u32) -> bool {
        let length = u32::from(entry.length);
        length <= ENTRY_BYTES
            || length >= self.layout.name_max_bytes
            || length > self.layout.block_bytes - offset
            || entry.ino < 1
            || entry.ino > self.layout.inodes()
    }

    /// Calls `f` with the block map of a directory and a buffer handle, and closes both whether `f` succeeds or fails.
    fn with_directory<R>(
        &mut self,
        cache: &mut Bdbuf,
        inode: &mut Inode,
        f: impl FnOnce(&mut Self, &mut Bdbuf, &mut Map, &mut Handle) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let mut map = self.map_open(cache, inode)?;
        let mut handle = Handle::default();
        let result = f(self, cache, &mut map, &mut handle);
        self.held.close(cache, &mut handle);
        let closed = self.map_close(cache, &mut map, Some(inode));
        result.and_then(|result| closed.map(|()| result))
    }

    /// Turns ENXIO, the end of the directory, into ENOENT, because the caller looks for a name.
    fn or_none(result: Result<u32, Errno>) -> Result<u32, Errno> {
        result.map_err(|error| if error == Errno::NxIo { Errno::NoEnt } else { error })
    }

    /// `rtems_rfs_dir_lookup_ino`: inode and position of a name.
    pub fn dir_look_up(&mut self, cache: &mut Bdbuf, inode: &mut Inode, name: &[u8]) -> Result<(u32, u32), Errno> {
        let block_bytes = self.layout.block_bytes;
        let fixed = self.fixed();
        self.with_directory(cache, inode, |store, cache, map, handle| {
            let hash = name_hash(name);
            let mut block = Self::or_none(store.map_seek(cache, map, 0))?;
            while block != 0 {
                store.held.request(cache, handle, block, true)?;
                let data = handle.data(cache);
                let mut offset = 0;
                while offset < block_bytes - ENTRY_BYTES {
                    let entry = entry_at(data, offset);
                    if entry.length == EMPTY {
                        break;
                    }
                    if store.is_bad(&entry, offset) {
                        return Err(Errno::Io);
                    }
                    if entry.hash == hash {
                        let start = (offset + ENTRY_BYTES) as usize;
                        let found = data.get(start..start + name.len()).unwrap_or(&[]);
                        // In 2018 the lengths are not compared: an entry with the same hash whose name begins with the
                        // wanted one is taken.
                        let whole = !fixed || usize::from(entry.length) == ENTRY_BYTES as usize + name.len();
                        if found == name && whole {
                            let at = u64::from(map.position.number) * u64::from(block_bytes) + u64::from(offset);
                            return Ok((entry.ino, at as u32));
                        }
                    }
                    offset += u32::from(entry.length);
                }
                block = Self::or_none(store.map_next(cache, map))?;
            }
            Err(Errno::Io)
        })
    }

    /// `rtems_rfs_dir_add_entry`: into the first block with room behind its last entry.
    pub fn dir_add_entry(&mut self, cache: &mut Bdbuf, inode: &mut Inode, name: &[u8], ino: u32) -> Result<(), Errno> {
        let block_bytes = self.layout.block_bytes;
        let room = name.len() as u32 + ENTRY_BYTES;
        // In 2018 a name that fits no block makes the directory grow until the disk is full.
        if name.len() > NAME_MAX || room >= block_bytes.min(self.layout.name_max_bytes) {
            return Err(Errno::NameTooLong);
        }
        self.with_directory(cache, inode, |store, cache, map, handle| {
            let mut position = Position::default();
            loop {
                let (block, read) = match store.map_find(cache, map, &position) {
                    Ok(block) => (block, true),
                    Err(Errno::NxIo) => (store.map_grow(cache, map)?, false),
                    Err(error) => return Err(error),
                };
                position = Position { number: position.number + 1, offset: 0, block: 0 };
                store.held.request(cache, handle, block, read)?;
                if !read {
                    handle.data_mut(cache).fill(0xff);
                }
                let mut offset = 0;
                while offset < block_bytes - ENTRY_BYTES {
                    let entry = entry_at(handle.data(cache), offset);
                    if entry.length == EMPTY {
                        if room >= block_bytes - offset {
                            break;
                        }
                        let start = offset as usize;
                        let bytes = &mut handle.data_mut(cache)[start..start + room as usize];
                        bytes[0..4].copy_from_slice(&ino.to_be_bytes());
                        bytes[4..8].copy_from_slice(&name_hash(name).to_be_bytes());
                        bytes[8..10].copy_from_slice(&(room as u16).to_be_bytes());
                        bytes[10..].copy_from_slice(name);
                        handle.dirty = true;
                        return Ok(());
                    }
                    if store.is_bad(&entry, offset) {
                        return Err(Errno::Io);
                    }
                    offset += u32::from(entry.length);
                }
            }
        })
    }

    /// `rtems_rfs_dir_del_entry`: removes the entry of an inode; from its position, if that is known (not 0).
    pub fn dir_remove_entry(&mut self, cache: &mut Bdbuf, inode: &mut Inode, ino: u32, at: u32) -> Result<(), Errno> {
        let block_bytes = self.layout.block_bytes;
        let search = at == 0;
        self.with_directory(cache, inode, |store, cache, map, handle| {
            let mut block = Self::or_none(store.map_seek(cache, map, u64::from(at)))?;
            loop {
                store.held.request(cache, handle, block, true)?;
                let mut offset = if search { 0 } else { at % block_bytes };
                while offset < block_bytes - ENTRY_BYTES {
                    let entry = entry_at(handle.data(cache), offset);
                    if entry.length == EMPTY {
                        break;
                    }
                    if store.is_bad(&entry, offset) {
                        return Err(Errno::Io);
                    }
                    if entry.ino == ino {
                        let (start, length) = (offset as usize, usize::from(entry.length));
                        let data = handle.data_mut(cache);
                        data.copy_within(start + length.., start);
                        let end = data.len() - length;
                        data[end..].fill(0xff);
                        let empty = entry_at(handle.data(cache), offset).length == EMPTY && offset == 0;
                        if empty && map.size.is_last(&map.position) {
                            // If this fails the directory keeps an empty block, which does no harm.
                            let _ = store.map_shrink(cache, map, 1);
                        }
                        handle.dirty = true;
                        return Ok(());
                    }
                    if !search {
                        return Err(Errno::Io);
                    }
                    offset += u32::from(entry.length);
                }
                block = Self::or_none(store.map_next(cache, map))?;
            }
        })
    }

    /// `rtems_rfs_dir_read`: the entry at a position, and how far the next one is; `None` at the end.
    pub fn dir_read(
        &mut self,
        cache: &mut Bdbuf,
        inode: &mut Inode,
        at: u64,
    ) -> Result<Option<(DirEntry, u64)>, Errno> {
        let block_bytes = u64::from(self.layout.block_bytes);
        let in_block = at % block_bytes;
        let at =
            if block_bytes - in_block <= u64::from(ENTRY_BYTES) { (at / block_bytes + 1) * block_bytes } else { at };
        let result = self.with_directory(cache, inode, |store, cache, map, handle| {
            let mut length = 0;
            let mut block = Self::or_none(store.map_seek(cache, map, at))?;
            loop {
                store.held.request(cache, handle, block, true)?;
                let offset = map.position.offset;
                let entry = entry_at(handle.data(cache), offset);
                if entry.length != EMPTY {
                    if store.is_bad(&entry, offset) {
                        return Err(Errno::Io);
                    }
                    length += u64::from(entry.length);
                    let rest = block_bytes - u64::from(offset) - u64::from(entry.length);
                    if rest <= u64::from(ENTRY_BYTES) {
                        length += rest;
                    }
                    let start = (offset + ENTRY_BYTES) as usize;
                    let name_bytes = (usize::from(entry.length) - ENTRY_BYTES as usize).min(NAME_MAX);
                    let name = handle.data(cache)[start..start + name_bytes].to_vec();
                    return Ok((DirEntry { ino: entry.ino, name }, length));
                }
                length += block_bytes - u64::from(offset);
                block = Self::or_none(store.map_next(cache, map))?;
            }
        });
        match result {
            Ok(entry) => Ok(Some(entry)),
            Err(Errno::NoEnt) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// `rtems_rfs_dir_empty`: fails with ENOTEMPTY when there is more than "." and "..".
    pub fn dir_must_be_empty(&mut self, cache: &mut Bdbuf, inode: &mut Inode) -> Result<(), Errno> {
        let block_bytes = self.layout.block_bytes;
        self.with_directory(cache, inode, |store, cache, map, handle| {
            let mut block = store.map_seek(cache, map, 0)?;
            loop {
                store.held.request(cache, handle, block, true)?;
                let data = handle.data(cache);
                let mut offset = 0;
                while offset < block_bytes - ENTRY_BYTES {
                    let entry = entry_at(data, offset);
                    if entry.length == EMPTY {
                        break;
                    }
                    if store.is_bad(&entry, offset) {
                        return Err(Errno::Io);
                    }
                    let name = &data[(offset + ENTRY_BYTES) as usize..(offset + u32::from(entry.length)) as usize];
                    if name != b"." && name != b".." {
                        return Err(Errno::NotEmpty);
                    }
                    offset += u32::from(entry.length);
                }
                block = match store.map_next(cache, map) {
                    Ok(block) => block,
                    Err(Errno::NxIo) => return Ok(()),
                    Err(error) => return Err(error),
                };
            }
        })
    }
}
