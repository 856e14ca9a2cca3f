//! Links, symbolic links, removal.
//!
//! Follows `rtems-rfs-link.c`.

use super::handle::Handle;
use super::inode::{Inode, INLINE_NAME_BYTES};
use super::quirks;
use super::store::Store;
use super::Rfs;
use crate::bdbuf::Bdbuf;
use crate::libio::S_IFLNK;
use ffslab_fs::Errno;

impl Rfs {
    /// `rtems_rfs_link`: a further name. Directories only when they are renamed.
    pub(super) fn add_link(
        &mut self,
        cache: &mut Bdbuf,
        parent: u32,
        target: u32,
        name: &[u8],
        directories: bool,
    ) -> Result<(), Errno> {
        let store = &mut self.store;
        let mut inode = store.inode_open(cache, target)?;
        if !directories && inode.is_directory(cache) {
            store.inode_close(cache, &mut inode)?;
            return Err(Errno::NotSup);
        }
        let mut directory = match store.inode_open(cache, parent) {
            Ok(directory) => directory,
            Err(error) => {
                let _ = store.inode_close(cache, &mut inode);
                return Err(error);
            }
        };
        let added = store.dir_add_entry(cache, &mut directory, name, target);
        if added.is_ok() {
            let links = inode.links(cache) + 1;
            inode.set_links(cache, links);
            let now_s = cache.now_s();
            directory.touch(cache, now_s);
        }
        let closed = store.inode_close(cache, &mut directory);
        let closed = closed.and(store.inode_close(cache, &mut inode));
        added.and(closed)
    }

    /// `rtems_rfs_unlink`: removes a name, and the inode with its last name.
    pub(super) fn remove_link(
        &mut self,
        cache: &mut Bdbuf,
        parent: u32,
        target: u32,
        at: u32,
        only_empty: bool,
    ) -> Result<(), Errno> {
        let shared = self.shared_of(target);
        let store = &mut self.store;
        let mut inode = store.inode_open(cache, target)?;
        let is_directory = inode.is_directory(cache);
        if is_directory && only_empty {
            if let Err(error) = store.dir_must_be_empty(cache, &mut inode) {
                let _ = store.inode_close(cache, &mut inode);
                return Err(error);
            }
        }
        let mut directory = match store.inode_open(cache, parent) {
            Ok(directory) => directory,
            Err(error) => {
                let _ = store.inode_close(cache, &mut inode);
                return Err(error);
            }
        };
        let mut result = store.dir_remove_entry(cache, &mut directory, target, at);
        if result.is_ok() {
            let links = inode.links(cache);
            let open = shared.and_then(|shared| self.shares[shared].as_mut());
            if open.is_some() && links < 2 && !store.fixed() {
                cache.sim().meet_fault(quirks::UNLINKED);
            }
            let open = open.filter(|_| store.fixed());
            if links > 1 {
                inode.set_links(cache, links - 1);
            } else if let Some(open) = open {
                open.unlinked = true;
            } else {
                // In 2018 the data of a file that is still open are freed at once.
                result = store.inode_delete(cache, &mut inode);
                if is_directory && result.is_ok() {
                    let links = directory.links(cache);
                    directory.set_links(cache, if links > 1 { links - 1 } else { links });
                }
            }
        }
        if result.is_ok() {
            let now_s = cache.now_s();
            directory.touch(cache, now_s);
        }
        let closed = store.inode_close(cache, &mut directory);
        let closed = closed.and(store.inode_close(cache, &mut inode));
        result.and(closed)
    }

    /// `rtems_rfs_symlink`.
    pub(super) fn make_symlink(
        &mut self,
        cache: &mut Bdbuf,
        parent: u32,
        name: &[u8],
        target: &[u8],
    ) -> Result<(), Errno> {
        let store = &mut self.store;
        if target.len() as u32 >= store.layout.block_bytes {
            return Err(Errno::NameTooLong);
        }
        let ino = store.inode_create(cache, parent, name, S_IFLNK | 0o777)?;
        let mut inode = store.inode_open(cache, ino)?;
        if (target.len() as u32) < INLINE_NAME_BYTES {
            inode.set_slot_bytes(cache, 0, &[0; INLINE_NAME_BYTES as usize]);
            inode.set_slot_bytes(cache, 0, target);
            inode.set_block_count(cache, 0);
        } else {
            let written = store.write_link_block(cache, &mut inode, target);
            if let Err(error) = written {
                let _ = store.inode_close(cache, &mut inode);
                return Err(error);
            }
        }
        inode.set_block_offset(cache, target.len() as u16);
        store.inode_close(cache, &mut inode)
    }

    /// `rtems_rfs_symlink_read`.
    pub(super) fn read_symlink(&mut self, cache: &mut Bdbuf, ino: u32) -> Result<Vec<u8>, Errno> {
        let store = &mut self.store;
        let mut inode = store.inode_open(cache, ino)?;
        if inode.file_type(cache) != S_IFLNK {
            let _ = store.inode_close(cache, &mut inode);
            return Err(Errno::Inval);
        }
        let length = usize::from(inode.block_offset(cache));
        let content = if inode.block_count(cache) == 0 {
            Ok(inode.slot_bytes(cache, length).to_vec())
        } else {
            store.read_link_block(cache, &mut inode, length)
        };
        store.inode_close(cache, &mut inode)?;
        content
    }
}

impl Store {
    fn write_link_block(&mut self, cache: &mut Bdbuf, inode: &mut Inode, target: &[u8]) -> Result<(), Errno> {
        let mut map = self.map_open(cache, inode)?;
        let mut handle = Handle::default();
        let written = self.map_grow(cache, &mut map).and_then(|block| {
            self.held.request(cache, &mut handle, block, false)?;
            let data = handle.data_mut(cache);
            data.fill(0xff);
            data[..target.len()].copy_from_slice(target);
            // In 2018 the buffer is not marked as modified, so the block is never written.
            handle.dirty |= self.fixed();
            Ok(())
        });
        self.held.close(cache, &mut handle);
        let closed = self.map_close(cache, &mut map, Some(inode));
        written.and(closed)
    }

    fn read_link_block(&mut self, cache: &mut Bdbuf, inode: &mut Inode, length: usize) -> Result<Vec<u8>, Errno> {
        let mut map = self.map_open(cache, inode)?;
        let mut handle = Handle::default();
        let content = self.map_seek(cache, &mut map, 0).and_then(|block| {
            // In 2018 the block is not read from the device: if the cache does not hold it, the result is what its
            // buffer held before.
            let read = self.fixed();
            self.held.request(cache, &mut handle, block, read)?;
            Ok(handle.data(cache).get(..length).unwrap_or(&[]).to_vec())
        });
        self.held.close(cache, &mut handle);
        let closed = self.map_close(cache, &mut map, Some(inode));
        closed.and(content)
    }
}
