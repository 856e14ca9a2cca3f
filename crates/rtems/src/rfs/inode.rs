//! Inodes: 56 bytes each, in the inode table of their group.
//!
//! Follows `rtems-rfs-inode.c`. An inode is loaded as often as somebody needs it and keeps its table block attached as
//! long as it is loaded.

use super::handle::{be16, be32, Handle};
use super::layout::{GROUP_INODES, INODE_BLOCKS, INODE_BYTES, ROOT_INO};
use super::store::{Of, Store};
use crate::bdbuf::Bdbuf;
use crate::libio::{S_IFBLK, S_IFCHR, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG};
use ffslab_fs::Errno;

/// Symbolic links shorter than this live in the block slots.
pub const INLINE_NAME_BYTES: u32 = INODE_BLOCKS * 4;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inode {
    pub ino: u32,
    pub handle: Handle,
    block: u32,
    offset: u32,
    loads: u32,
}

/// Offsets of the fields.
mod at {
    pub const LINKS: u32 = 0;
    pub const MODE: u32 = 2;
    pub const OWNER: u32 = 4;
    pub const FLAGS: u32 = 8;
    pub const BLOCK_OFFSET: u32 = 10;
    pub const BLOCK_COUNT: u32 = 12;
    pub const ATIME: u32 = 16;
    pub const MTIME: u32 = 20;
    pub const CTIME: u32 = 24;
    pub const BLOCKS: u32 = 28;
    pub const LAST_MAP_BLOCK: u32 = 48;
    pub const LAST_DATA_BLOCK: u32 = 52;
}

macro_rules! fields {
    ($($get:ident $set:ident $field:ident $read:ident $type:ty;)+) => {
        impl Inode {
            $(
                // The getter of the field `flags` is not used.
                #[allow(dead_code)]
                pub fn $get(&self, cache: &Bdbuf) -> $type {
                    let start = (self.offset + at::$field) as usize;
                    self.handle.data(cache).get(start..).map_or(0, $read)
                }

                pub fn $set(&mut self, cache: &mut Bdbuf, value: $type) {
                    let start = (self.offset + at::$field) as usize;
                    let bytes = value.to_be_bytes();
                    if let Some(field) = self.handle.data_mut(cache).get_mut(start..start + bytes.len()) {
                        field.copy_from_slice(&bytes);
                    }
                    self.handle.dirty = true;
                }
            )+
        }
    };
}

fields! {
    raw_links set_links LINKS be16 u16;
    mode set_mode MODE be16 u16;
    owner set_owner OWNER be32 u32;
    flags set_flags FLAGS be16 u16;
    block_offset set_block_offset BLOCK_OFFSET be16 u16;
    block_count set_block_count BLOCK_COUNT be32 u32;
    atime set_atime ATIME be32 u32;
    mtime set_mtime MTIME be32 u32;
    ctime set_ctime CTIME be32 u32;
    last_map_block set_last_map_block LAST_MAP_BLOCK be32 u32;
    last_data_block set_last_data_block LAST_DATA_BLOCK be32 u32;
}

impl Inode {
    pub fn is_loaded(&self) -> bool {
        self.loads > 0
    }

    /// The number of links. An inode table that was never written holds 0xffff, which means 0.
    pub fn links(&self, cache: &Bdbuf) -> u16 {
        match self.raw_links(cache) {
            0xffff => 0,
            links => links,
        }
    }

    pub fn file_type(&self, cache: &Bdbuf) -> u32 {
        u32::from(self.mode(cache)) & S_IFMT
    }

    pub fn is_directory(&self, cache: &Bdbuf) -> bool {
        self.file_type(cache) == S_IFDIR
    }

    pub fn uid(&self, cache: &Bdbuf) -> u16 {
        self.owner(cache) as u16
    }

    pub fn gid(&self, cache: &Bdbuf) -> u16 {
        (self.owner(cache) >> 16) as u16
    }

    pub fn set_uid_gid(&mut self, cache: &mut Bdbuf, uid: u16, gid: u16) {
        self.set_owner(cache, u32::from(gid) << 16 | u32::from(uid));
    }

    pub fn slot(&self, cache: &Bdbuf, slot: u32) -> u32 {
        let start = (self.offset + at::BLOCKS + slot * 4) as usize;
        self.handle.data(cache).get(start..).map_or(0, be32)
    }

    pub fn set_slot(&mut self, cache: &mut Bdbuf, slot: u32, value: u32) {
        self.set_slot_bytes(cache, slot * 4, &value.to_be_bytes());
        self.handle.dirty = true;
    }

    /// Writes text into the block slots (a short symbolic link). As in the original, the handle is not marked as dirty.
    pub fn set_slot_bytes(&mut self, cache: &mut Bdbuf, from: u32, bytes: &[u8]) {
        let start = (self.offset + at::BLOCKS + from) as usize;
        if let Some(field) = self.handle.data_mut(cache).get_mut(start..start + bytes.len()) {
            field.copy_from_slice(bytes);
        }
    }

    pub fn slot_bytes<'a>(&self, cache: &'a Bdbuf, length: usize) -> &'a [u8] {
        let start = (self.offset + at::BLOCKS) as usize;
        self.handle.data(cache).get(start..start + length.min(INLINE_NAME_BYTES as usize)).unwrap_or(&[])
    }

    /// `rtems_rfs_inode_time_stamp_now`: access and modification.
    pub fn touch(&mut self, cache: &mut Bdbuf, now_s: u32) {
        self.set_atime(cache, now_s);
        self.set_mtime(cache, now_s);
    }
}

impl Store {
    /// `rtems_rfs_inode_open`, loaded.
    pub fn inode_open(&mut self, cache: &mut Bdbuf, ino: u32) -> Result<Inode, Errno> {
        let index = ino.checked_sub(ROOT_INO).ok_or(Errno::Inval)?;
        let group = self.groups.get((index / self.layout.group_inodes) as usize).ok_or(Errno::Inval)?;
        let in_group = index % self.layout.group_inodes;
        let per_block = self.layout.inodes_per_block();
        let mut inode = Inode {
            ino,
            handle: Handle::default(),
            block: group.base + GROUP_INODES + in_group / per_block,
            offset: in_group % per_block * INODE_BYTES,
            loads: 0,
        };
        self.inode_load(cache, &mut inode)?;
        Ok(inode)
    }

    pub fn inode_load(&mut self, cache: &mut Bdbuf, inode: &mut Inode) -> Result<(), Errno> {
        if !inode.is_loaded() {
            self.held.request(cache, &mut inode.handle, inode.block, true)?;
        }
        inode.loads += 1;
        Ok(())
    }

    /// `rtems_rfs_inode_unload`.
    pub fn inode_unload(&mut self, cache: &mut Bdbuf, inode: &mut Inode, update_ctime: bool) {
        if inode.loads == 0 {
            return;
        }
        inode.loads -= 1;
        if inode.loads == 0 {
            if inode.handle.dirty && update_ctime {
                let now_s = cache.now_s();
                inode.set_ctime(cache, now_s);
            }
            self.held.release(cache, &mut inode.handle);
        }
    }

    /// `rtems_rfs_inode_close`.
    pub fn inode_close(&mut self, cache: &mut Bdbuf, inode: &mut Inode) -> Result<(), Errno> {
        self.inode_unload(cache, inode, true);
        match inode.loads {
            0 => Ok(()),
            _ => Err(Errno::Io),
        }
    }

    /// `rtems_rfs_inode_initialise`.
    pub fn inode_initialise(&mut self, cache: &mut Bdbuf, inode: &mut Inode, links: u16, mode: u32) {
        inode.set_links(cache, links);
        inode.set_flags(cache, 0);
        inode.set_mode(cache, mode as u16);
        inode.set_uid_gid(cache, 0, 0);
        inode.set_block_offset(cache, 0);
        inode.set_block_count(cache, 0);
        for slot in 0..INODE_BLOCKS {
            inode.set_slot(cache, slot, 0);
        }
        inode.set_last_map_block(cache, 0);
        inode.set_last_data_block(cache, 0);
        let now_s = cache.now_s();
        inode.touch(cache, now_s);
    }

    /// `rtems_rfs_inode_create`: a new inode with a name in a directory. Gives its number.
    pub fn inode_create(&mut self, cache: &mut Bdbuf, parent: u32, name: &[u8], mode: u32) -> Result<u32, Errno> {
        if !matches!(mode & S_IFMT, S_IFDIR | S_IFCHR | S_IFBLK | S_IFREG | S_IFLNK) {
            return Err(Errno::Inval);
        }
        let ino = self.allocate(cache, parent, Of::Inodes)?;
        let mut inode = match self.inode_open(cache, ino) {
            Ok(inode) => inode,
            Err(error) => {
                let _ = self.free(cache, ino, Of::Inodes);
                return Err(error);
            }
        };
        self.inode_initialise(cache, &mut inode, 1, mode);
        match self.name_new_inode(cache, &mut inode, parent, name, mode) {
            Ok(()) => {
                self.inode_close(cache, &mut inode)?;
                Ok(ino)
            }
            Err(error) => {
                let _ = self.inode_delete(cache, &mut inode);
                let _ = self.inode_close(cache, &mut inode);
                Err(error)
            }
        }
    }

    fn name_new_inode(
        &mut self,
        cache: &mut Bdbuf,
        inode: &mut Inode,
        parent: u32,
        name: &[u8],
        mode: u32,
    ) -> Result<(), Errno> {
        let ino = inode.ino;
        if mode & S_IFMT == S_IFDIR {
            self.dir_add_entry(cache, inode, b".", ino)?;
            self.dir_add_entry(cache, inode, b"..", parent)?;
        }
        let mut directory = self.inode_open(cache, parent)?;
        if let Err(error) = self.dir_add_entry(cache, &mut directory, name, ino) {
            let _ = self.inode_close(cache, &mut directory);
            return Err(error);
        }
        if mode & S_IFMT == S_IFDIR {
            let links = directory.links(cache) + 1;
            directory.set_links(cache, links);
        }
        let now_s = cache.now_s();
        directory.touch(cache, now_s);
        self.inode_close(cache, &mut directory)
    }

    /// `rtems_rfs_inode_delete`: gives back the inode and all its blocks.
    pub fn inode_delete(&mut self, cache: &mut Bdbuf, inode: &mut Inode) -> Result<(), Errno> {
        if !inode.is_loaded() {
            return Ok(());
        }
        self.free(cache, inode.ino, Of::Inodes)?;
        let mut map = self.map_open(cache, inode)?;
        // The slots of a short symbolic link and of a device node do not hold block numbers; their block count is 0, so
        // none is freed.
        let freed = self.map_free_all(cache, &mut map);
        let closed = self.map_close(cache, &mut map, Some(inode));
        let start = inode.offset as usize;
        if let Some(bytes) = inode.handle.data_mut(cache).get_mut(start..start + INODE_BYTES as usize) {
            bytes.fill(0xff);
        }
        inode.handle.dirty = true;
        self.held.release(cache, &mut inode.handle);
        inode.loads = 0;
        freed.and(closed)
    }
}
