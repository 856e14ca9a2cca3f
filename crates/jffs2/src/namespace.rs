//! Names: create, link, unlink, rename, attributes.
//!
//! Follows `fs/jffs2/dir.c` and `fs.c` (`jffs2_do_setattr`). A rename writes the new name, then deletes the old one:
//! two nodes, so a power cut between them leaves both names.

use crate::causes;
use crate::faults;
use ffslab_fs::{Errno, FileKind, Host, NewNode, Result, SetAttr};

use crate::format::{crc32, RawInode, COMPR_ZERO, NAME_BYTES_MAX};
use crate::inode::{encode_device, seconds, Inode};
use crate::refs::NONE;
use crate::reserve::Purpose;
use crate::space::{InodeCache, InodeState};
use crate::Jffs2;

impl Jffs2 {
    fn directory(&mut self, ino: u32) -> Result<&Inode> {
        let inode = self.loaded(ino)?;
        if inode.kind == FileKind::Directory {
            Ok(inode)
        } else {
            Err(Errno::NotDir)
        }
    }

    /// Finds the entry of a name that is not deleted.
    pub(crate) fn entry(&mut self, dir: u32, name: &[u8]) -> Result<(u32, u8)> {
        let found = self.directory(dir)?.dirents.get(name).filter(|d| d.ino != 0).ok_or(Errno::NoEnt)?;
        Ok((found.ino, found.dirent_type))
    }

    fn check_name(name: &[u8]) -> Result<()> {
        if name.len() > NAME_BYTES_MAX {
            Err(Errno::NameTooLong)
        } else if name.is_empty() || name.contains(&0) || name.contains(&b'/') {
            Err(Errno::Inval)
        } else {
            Ok(())
        }
    }

    pub(crate) fn create_node(&mut self, host: &mut dyn Host, dir: u32, name: &[u8], new: &NewNode<'_>) -> Result<u32> {
        Self::check_name(name)?;
        let parent = self.directory(dir)?;
        // In a directory with the set-group-ID bit new files get the directory's group.
        let (inherit, parent_gid) = (parent.permissions & 0o2000 != 0, parent.gid);
        let data = match new.kind {
            FileKind::Symlink => new.target.to_vec(),
            FileKind::CharDevice | FileKind::BlockDevice => encode_device(self.store.flash.endian, new.device),
            _ => Vec::new(),
        };
        if data.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        if new.kind != FileKind::Symlink {
            // The kernel looks for a default ACL of the directory (`jffs2_init_acl_pre`), so its attributes come into memory.
            self.check_xattrs_of(dir)?;
        }
        let now_s = seconds(host.now());
        let ino = self.store.space.highest_ino.checked_add(1).ok_or(Errno::NoSpc)?;
        let mut permissions = new.permissions & 0o7777;
        if inherit && new.kind == FileKind::Directory {
            permissions |= 0o2000;
        }
        let mut inode = Inode::new(ino, new.kind, permissions, self.store.flash.options.name_hash);
        inode.uid = new.uid as u16;
        inode.gid = if inherit { parent_gid } else { new.gid as u16 };
        inode.accessed_s = now_s;
        inode.modified_s = now_s;
        inode.changed_s = now_s;
        inode.device = new.device;
        inode.is_new = true;
        if new.kind == FileKind::Symlink {
            inode.target = new.target.to_vec();
            inode.file_bytes = data.len() as u32;
        }
        let links_or_parent = if new.kind == FileKind::Directory { dir } else { 1 };
        self.store.space.highest_ino = ino;
        let is_directory = new.kind == FileKind::Directory;
        let cache = InodeCache { first: NONE, state: InodeState::Present, links_or_parent, is_directory };
        self.store.space.inode_caches.insert(ino, cache);
        self.inodes.insert(ino, Box::new(inode));

        let created = self.write_new_inode(host, ino, &data).and_then(|()| {
            let target = (ino, new.kind.dirent_type());
            self.add_dirent(host, dir, name, target, now_s)
        });
        if let Err(error) = created {
            if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
                cache.links_or_parent = 0;
            }
            self.delete_inode(ino);
            return Err(error);
        }
        Ok(ino)
    }

    fn write_new_inode(&mut self, host: &mut dyn Host, ino: u32, data: &[u8]) -> Result<()> {
        let _why = self.store.flash.sim.because(&causes::METADATA);
        let bytes = data.len() as u32;
        let data_crc = crc32(0, data);
        let id = self.write_whole_node(host, ino, Purpose::Write, data, &mut |inode| {
            let version = inode.next_version();
            RawInode { compressed_bytes: bytes, data_bytes: bytes, data_crc, ..inode.raw(version) }
        });
        self.complete_reservation();
        self.set_metadata(ino, id?);
        Ok(())
    }

    pub(crate) fn link_node_to(&mut self, host: &mut dyn Host, ino: u32, dir: u32, name: &[u8]) -> Result<()> {
        Self::check_name(name)?;
        self.directory(dir)?;
        let kind = self.loaded(ino)?.kind;
        if kind == FileKind::Directory {
            return Err(Errno::Perm);
        }
        let now_s = seconds(host.now());
        self.add_dirent(host, dir, name, (ino, kind.dirent_type()), now_s)?;
        if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
            cache.links_or_parent += 1;
        }
        Ok(())
    }

    /// Removes a name. A directory must be empty.
    pub(crate) fn remove_name(&mut self, host: &mut dyn Host, dir: u32, name: &[u8], directory: bool) -> Result<()> {
        let (ino, _) = self.entry(dir, name)?;
        let is_directory = self.loaded(ino)?.kind == FileKind::Directory;
        match (directory, is_directory) {
            (true, false) => return Err(Errno::NotDir),
            (false, true) => return Err(Errno::IsDir),
            (true, true) if self.loaded(ino)?.dirents.has_live() => return Err(Errno::NotEmpty),
            _ => {}
        }
        let now_s = seconds(host.now());
        self.delete_name(host, dir, name, now_s)?;
        self.lose_link(ino);
        Ok(())
    }

    /// Writes a node that says that the name is deleted. On media where nodes can be marked as obsolete, the name's own
    /// node is marked instead.
    fn delete_name(&mut self, host: &mut dyn Host, dir: u32, name: &[u8], now_s: u32) -> Result<()> {
        if !self.store.flash.manner.marks_obsolete {
            return self.add_dirent(host, dir, name, (0, 0), now_s);
        }
        let inode = self.inodes.get_mut(&dir).ok_or(Errno::NoEnt)?;
        if let Some(dirent) = inode.dirents.get(name) {
            inode.dirents.remove(&mut self.store.space, name);
            self.store.space.mark_obsolete(&self.store.flash, dirent.node);
        }
        Ok(())
    }

    /// Counts a name of the inode less. For a directory, its deletion entries become obsolete as well.
    fn lose_link(&mut self, ino: u32) {
        let Some(inode) = self.inodes.get_mut(&ino) else { return };
        let directory = inode.kind == FileKind::Directory;
        if directory {
            let deleted: Vec<_> = inode.dirents.iter().map(|(name, d)| (name.to_vec(), d.node)).collect();
            for (name, node) in deleted {
                inode.dirents.remove(&mut self.store.space, &name);
                self.store.space.mark_obsolete(&self.store.flash, node);
            }
        }
        if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
            cache.links_or_parent = if directory { 0 } else { cache.links_or_parent.saturating_sub(1) };
        }
    }

    pub(crate) fn rename_node(
        &mut self,
        host: &mut dyn Host,
        from: u32,
        name: &[u8],
        to: u32,
        new_name: &[u8],
    ) -> Result<()> {
        Self::check_name(new_name)?;
        let (ino, dirent_type) = self.entry(from, name)?;
        let moved_kind = self.loaded(ino)?.kind;
        let victim = match self.entry(to, new_name) {
            Ok((victim, _)) if victim == ino => return Ok(()),
            Ok((victim, _)) => Some(victim),
            Err(Errno::NoEnt) => None,
            Err(error) => return Err(error),
        };
        if let Some(victim) = victim {
            let target = self.loaded(victim)?;
            match (moved_kind == FileKind::Directory, target.kind == FileKind::Directory) {
                (true, false) => return Err(Errno::NotDir),
                (false, true) => return Err(Errno::IsDir),
                (true, true) if target.dirents.has_live() => return Err(Errno::NotEmpty),
                _ => {}
            }
        }
        let now_s = seconds(host.now());
        if faults::OLD_NAME_GOES_FIRST.is_seeded() {
            self.delete_name(host, from, name, now_s)?;
        }
        self.add_dirent(host, to, new_name, (ino, dirent_type), now_s)?;
        if let Some(victim) = victim {
            self.lose_link(victim);
        }
        if moved_kind == FileKind::Directory {
            if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
                cache.links_or_parent = to;
            }
        }
        let removed = self.delete_name(host, from, name, now_s);
        if removed.is_err() && moved_kind != FileKind::Directory {
            // The new name is valid already, so the inode has two names now.
            if let Some(cache) = self.store.space.inode_caches.get_mut(&ino) {
                cache.links_or_parent += 1;
            }
        }
        removed
    }

    /// Writes a node with new attributes (`jffs2_do_setattr`).
    pub(crate) fn change_attributes(&mut self, host: &mut dyn Host, ino: u32, change: &SetAttr) -> Result<()> {
        let kind = self.loaded(ino)?.kind;
        let size = match change.size_bytes {
            Some(_) if kind == FileKind::Directory => return Err(Errno::IsDir),
            Some(_) if kind != FileKind::File => return Err(Errno::Inval),
            Some(size) => Some(u32::try_from(size).map_err(|_| Errno::FBig)?),
            None => None,
        };
        let now_s = seconds(host.now());
        let data = self.payload(ino)?;
        let _why = self.store.flash.sim.because(&causes::METADATA);
        let bytes = data.len() as u32;
        let data_crc = crc32(0, &data);
        let id = self.write_whole_node(host, ino, Purpose::Write, &data, &mut |inode| {
            let version = inode.next_version();
            inode.permissions = change.permissions.map_or(inode.permissions, |p| p & 0o7777);
            inode.uid = change.uid.map_or(inode.uid, |v| v as u16);
            inode.gid = change.gid.map_or(inode.gid, |v| v as u16);
            inode.accessed_s = change.accessed.map_or(inode.accessed_s, seconds);
            inode.modified_s = change.modified.map_or(inode.modified_s, seconds);
            if change.moves_change_time() {
                inode.changed_s = now_s;
            }
            let mut raw = RawInode { compressed_bytes: bytes, data_bytes: bytes, data_crc, ..inode.raw(version) };
            if let Some(size) = size {
                raw.file_bytes = size;
                if size > inode.file_bytes {
                    // The added part of the file becomes a hole.
                    raw.compression = COMPR_ZERO;
                    raw.offset = inode.file_bytes;
                    raw.data_bytes = size - inode.file_bytes;
                }
            }
            raw
        });
        let id = match id {
            Ok(id) => id,
            Err(error) => {
                self.complete_reservation();
                return Err(error);
            }
        };
        let inode = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
        let old_bytes = inode.file_bytes;
        if let Some(size) = size {
            if size < old_bytes {
                inode.fragments.truncate(&mut self.store.space, &self.store.flash, size);
            }
            inode.file_bytes = size;
        }
        inode.drop_metadata(&mut self.store.space, &self.store.flash);
        if size.is_some_and(|size| size > old_bytes) {
            inode.fragments.add(&mut self.store.space, &self.store.flash, id);
        } else {
            inode.metadata = id;
        }
        self.complete_reservation();
        Ok(())
    }

    /// Data that the node with the attributes of a special inode must contain: the target of a symbolic link, or a
    /// device number.
    fn payload(&mut self, ino: u32) -> Result<Vec<u8>> {
        let inode = self.inodes.get(&ino).ok_or(Errno::NoEnt)?;
        match inode.kind {
            FileKind::CharDevice | FileKind::BlockDevice => Ok(encode_device(self.store.flash.endian, inode.device)),
            FileKind::Symlink => {
                let id = inode.metadata;
                let mut data = vec![0; inode.target.len()];
                if id != NONE {
                    self.store.reader.read_data(&self.store.space, &self.store.flash, id, 0, &mut data)?;
                }
                Ok(data)
            }
            _ => Ok(Vec::new()),
        }
    }
}
