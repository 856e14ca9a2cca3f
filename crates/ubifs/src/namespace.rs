//! Names: making, linking, removing, renaming.
//!
//! Follows `fs/ubifs/dir.c`.

use crate::budget::{Growth, Request};
use crate::causes;
use crate::core::Core;
use crate::error::{Res, NOT_FOUND};
use crate::format::*;
use crate::inode::{entry_bytes, entry_type, kind_of_entry, Inode};
use crate::journal::NewEntry;
use crate::key::Key;
use crate::tnc::entry_name;
use crate::Ubifs;
use ffslab_fs::{DirEntry, Errno, FileKind, Host, Ino, NewNode, Result, TimeSpec};

/// Inode numbers above this are not given out.
const INO_MAX: u32 = 0xFFFF_FF00;

impl Ubifs {
    /// The next cookie of a directory entry, which a real kernel draws at random. 0 without the double-hash feature.
    pub(crate) fn next_cookie(&mut self) -> u32 {
        if !self.core.lebs.geo.double_hash {
            return 0;
        }
        self.cookie = self.cookie.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.cookie >> 32) as u32
    }

    fn directory(&mut self, dir: Ino) -> Result<&mut Inode> {
        let inode = self.inode(dir)?;
        if inode.kind == FileKind::Directory {
            Ok(inode)
        } else {
            Err(Errno::NotDir)
        }
    }

    /// Inode that a name stands for, as a walk along a path asks for it.
    pub(crate) fn find_name(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.find_name_by(dir, name, Core::lookup_name)
    }

    /// The same of a name that the VFS has walked along just before.
    pub(crate) fn find_known_name(&mut self, dir: Ino, name: &[u8]) -> Result<Ino> {
        self.find_name_by(dir, name, Core::known_name)
    }

    fn find_name_by(
        &mut self,
        dir: Ino,
        name: &[u8],
        look: fn(&mut Core, Key, &[u8], &mut Vec<u8>) -> Res<()>,
    ) -> Result<Ino> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        self.directory(dir)?;
        let _why = self.core.lebs.sim.because_if_none(&causes::NAME_LOOKUP);
        let key = self.core.lebs.geo.entry_key(dir, name);
        let mut node = std::mem::take(&mut self.entry);
        let found = look(&mut self.core, key, name, &mut node);
        let ino = get_u64(&node, dent::INUM) as u32;
        self.entry = node;
        found?;
        Ok(ino)
    }

    pub(crate) fn is_empty_directory(&mut self, dir: Ino) -> Result<bool> {
        let mut node = Vec::new();
        match self.core.next_entry(Key::dent(dir, 0), b"", &mut node) {
            Ok(()) => Ok(false),
            Err(NOT_FOUND) => Ok(true),
            Err(fail) => Err(fail.into()),
        }
    }

    pub(crate) fn list_directory(&mut self, dir: Ino, emit: &mut dyn FnMut(DirEntry<'_>)) -> Result<()> {
        self.directory(dir)?;
        let _why = self.core.lebs.sim.because_if_none(&causes::NAME_LOOKUP);
        let mut key = Key::dent(dir, 0);
        let (mut node, mut name) = (Vec::new(), Vec::new());
        // Names whose hashes are the same.
        let mut names_of_key: Vec<Vec<u8>> = Vec::new();
        loop {
            match self.core.next_entry(key, &name, &mut node) {
                Ok(()) => {}
                Err(NOT_FOUND) => return Ok(()),
                Err(fail) => return Err(fail.into()),
            }
            let next = Key::read(&node, KEY_AT);
            if next != key {
                names_of_key.clear();
            }
            // On a damaged medium an entry can lead back, and the walk would never end.
            if next < key || entry_name(&node).is_empty() || names_of_key.iter().any(|seen| seen == entry_name(&node)) {
                return Err(Errno::Io);
            }
            name.clear();
            name.extend_from_slice(entry_name(&node));
            names_of_key.push(name.clone());
            let ino = get_u64(&node, dent::INUM) as u32;
            emit(DirEntry { ino, name: &name, kind: kind_of_entry(node[dent::TYPE]) });
            key = next;
        }
    }

    /// Makes a new inode in memory, with the flags that an inode below `parent` inherits (`ubifs_new_inode`).
    pub(crate) fn new_inode(&mut self, host: &dyn Host, parent: Ino, kind: FileKind) -> Result<Box<Inode>> {
        if self.core.highest_ino >= INO_MAX {
            return Err(Errno::Inval);
        }
        let now = self.now(host);
        let compression = self.compression;
        let parent = self.inode(parent)?;
        let flags = match (parent.kind == FileKind::Directory, kind == FileKind::Directory) {
            (true, true) => parent.flags & (INODE_COMPR | INODE_SYNC | INODE_DIRSYNC),
            (true, false) => parent.flags & (INODE_COMPR | INODE_SYNC),
            // The inode of an extended attribute, whose parent is not a directory, inherits nothing.
            (false, _) => 0,
        };
        self.core.highest_ino += 1;
        let mut inode = Box::new(Inode::new(self.core.highest_ino, kind, now));
        inode.flags = flags;
        inode.creation_sqnum = self.core.lebs.next_sqnum();
        if kind == FileKind::File {
            inode.compression = compression;
        }
        Ok(inode)
    }

    /// Makes an inode and its first name.
    pub(crate) fn create_node(
        &mut self,
        host: &mut dyn Host,
        dir: Ino,
        name: &[u8],
        node: &NewNode<'_>,
    ) -> Result<Ino> {
        check_name(name)?;
        self.directory(dir)?;
        let data: Vec<u8> = match node.kind {
            FileKind::Symlink => node.target.to_vec(),
            FileKind::CharDevice | FileKind::BlockDevice => node.device.to_le_bytes().to_vec(),
            _ => Vec::new(),
        };
        if data.len() > INODE_DATA_MAX || (node.kind == FileKind::Symlink && data.is_empty()) {
            return Err(Errno::NameTooLong);
        }
        let request = Request {
            new_ino: true,
            new_dent: true,
            dirtied_inos: 1,
            new_ino_bytes: align8(data.len() as u32),
            ..Request::default()
        };
        let growth = self.budget(host, &request)?;
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let mut inode = match self.new_inode(host, dir, node.kind) {
            Ok(inode) => inode,
            Err(error) => {
                self.core.space.release_budget(&self.core.lebs, growth);
                return Err(error);
            }
        };
        let now = inode.changed;
        (inode.permissions, inode.uid, inode.gid) = (node.permissions & 0o7777, node.uid, node.gid);
        if !data.is_empty() {
            inode.size_bytes = data.len() as u64;
        }
        inode.data = data;
        let is_dir = node.kind == FileKind::Directory;
        inode.links = 1 + u32::from(is_dir);
        let cookie = self.next_cookie();
        let parent = self.inodes.get_mut(&dir).ok_or(Errno::NoEnt)?;
        let before = (parent.size_bytes, parent.links, parent.modified, parent.changed);
        parent.size_bytes += entry_bytes(name);
        parent.links += u32::from(is_dir);
        (parent.modified, parent.changed) = (now, now);
        let entry = NewEntry { dir, name, ino: inode.ino, entry_type: entry_type(node.kind), cookie, is_xattr: false };
        match self.core.write_name(parent, &entry, &mut inode) {
            Ok(()) => {
                inode.synced_bytes = inode.size_bytes;
                self.core.space.mark_clean(&self.core.lebs, parent);
                self.core.space.release_budget(&self.core.lebs, growth);
                let (ino, is_sync) =
                    (inode.ino, parent.is_directory_sync(self.mount_flags) || inode.is_sync(self.mount_flags));
                self.inodes.insert(ino, inode);
                self.sync_names(is_sync).map(|()| ino)
            }
            Err(fail) => {
                (parent.size_bytes, parent.links, parent.modified, parent.changed) = before;
                self.core.space.release_budget(&self.core.lebs, growth);
                Err(fail.into())
            }
        }
    }

    /// Makes a file without a name (`ubifs_tmpfile`). The journal shows it as a file whose last name was just deleted.
    /// The kernel writes "#" as that deleted name and so, by mistake, removes a file called "#" from its directory.
    /// Here the name is "/", which no file can have.
    pub(crate) fn create_unnamed_node(&mut self, host: &mut dyn Host, dir: Ino, node: &NewNode<'_>) -> Result<Ino> {
        self.directory(dir)?;
        let request = Request { new_ino: true, new_dent: true, dirtied_inos: 1, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let inode_growth = match self.budget(host, &Request { dirtied_inos: 1, ..Request::default() }) {
            Ok(inode_growth) => inode_growth,
            Err(error) => {
                self.core.space.release_budget(&self.core.lebs, growth);
                return Err(error);
            }
        };
        let result = self.write_unnamed(host, dir, node);
        self.core.space.release_budget(&self.core.lebs, growth);
        self.core.space.release_budget(&self.core.lebs, inode_growth);
        result
    }

    fn write_unnamed(&mut self, host: &mut dyn Host, dir: Ino, node: &NewNode<'_>) -> Result<Ino> {
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let mut inode = self.new_inode(host, dir, node.kind)?;
        (inode.permissions, inode.uid, inode.gid) = (node.permissions & 0o7777, node.uid, node.gid);
        inode.links = 0;
        let (cookie, entry_type) = (self.next_cookie(), entry_type(node.kind));
        let parent = self.inodes.get_mut(&dir).ok_or(Errno::NoEnt)?;
        let entry = NewEntry { dir, name: b"/", ino: 0, entry_type, cookie, is_xattr: false };
        self.core.write_name(parent, &entry, &mut inode)?;
        self.core.space.mark_clean(&self.core.lebs, parent);
        let ino = inode.ino;
        self.inodes.insert(ino, inode);
        Ok(ino)
    }

    /// Changes a name of an inode that exists, with its directory. `change` gets both and the present time.
    fn update_name(
        &mut self,
        host: &mut dyn Host,
        dir: Ino,
        ino: Ino,
        name: &[u8],
        deletion: bool,
        change: impl FnOnce(&mut Inode, &mut Inode, TimeSpec),
    ) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let now = self.now(host);
        let cookie = self.next_cookie();
        let (Some(mut parent), Some(mut inode)) = (self.inodes.remove(&dir), self.inodes.remove(&ino)) else {
            return Err(Errno::NoEnt);
        };
        let before = (parent.clone(), inode.clone());
        change(&mut parent, &mut inode, now);
        (parent.modified, parent.changed, inode.changed) = (now, now, now);
        let shown = if deletion { 0 } else { ino };
        let entry = NewEntry { dir, name, ino: shown, entry_type: entry_type(inode.kind), cookie, is_xattr: false };
        let result = self.core.write_name(&parent, &entry, &mut inode);
        match result {
            Ok(()) => {
                inode.synced_bytes = inode.size_bytes;
                self.core.space.mark_clean(&self.core.lebs, &mut inode);
                self.core.space.mark_clean(&self.core.lebs, &mut parent);
            }
            Err(_) => (parent, inode) = before,
        }
        let flags = self.mount_flags;
        let of_inode = inode.is_sync(flags) && inode.links > 0;
        let is_sync = result.is_ok() && (parent.is_directory_sync(flags) || of_inode);
        self.inodes.insert(dir, parent);
        self.inodes.insert(ino, inode);
        result.map_err(Errno::from)?;
        self.sync_names(is_sync)
    }

    pub(crate) fn link_inode(&mut self, host: &mut dyn Host, ino: Ino, dir: Ino, name: &[u8]) -> Result<()> {
        check_name(name)?;
        self.directory(dir)?;
        let inode = self.inode(ino)?;
        if inode.kind == FileKind::Directory {
            return Err(Errno::Perm);
        }
        let dirtied_ino_bytes = align8(inode.data.len() as u32);
        let request = Request { new_dent: true, dirtied_inos: 2, dirtied_ino_bytes, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let was_unnamed = self.inode(ino)?.links == 0;
        if was_unnamed {
            self.core.journal.orphans.delete(ino);
        }
        let result = self.update_name(host, dir, ino, name, false, |parent, inode, _| {
            inode.links += 1;
            parent.size_bytes += entry_bytes(name);
        });
        if was_unnamed && result.is_err() {
            self.core.add_orphans(ino)?;
        }
        self.core.space.release_budget(&self.core.lebs, growth);
        result
    }

    pub(crate) fn remove_name(&mut self, host: &mut dyn Host, dir: Ino, name: &[u8], directory: bool) -> Result<()> {
        let ino = self.find_known_name(dir, name)?;
        let kind = self.inode(ino)?.kind;
        match (kind == FileKind::Directory, directory) {
            (true, false) => return Err(Errno::IsDir),
            (false, true) => return Err(Errno::NotDir),
            (true, true) if !self.is_empty_directory(ino)? => return Err(Errno::NotEmpty),
            _ => {}
        }
        self.purge_xattrs(host, ino)?;
        let request = Request { mod_dent: true, dirtied_inos: 2, ..Request::default() };
        let growth = self.budget_for_removal(host, &request)?;
        let result = self.update_name(host, dir, ino, name, true, |parent, inode, _| {
            if directory {
                inode.links = 0;
                parent.links = parent.links.saturating_sub(1);
            } else {
                inode.links = inode.links.saturating_sub(1);
            }
            parent.size_bytes = parent.size_bytes.saturating_sub(entry_bytes(name));
        });
        self.release_removal(growth);
        result
    }

    /// Reserves room for a deletion. When there is none the deletion goes on without a budget: LEBs are kept in reserve
    /// for that.
    fn budget_for_removal(&mut self, host: &mut dyn Host, request: &Request) -> Result<Option<Growth>> {
        match self.budget(host, request) {
            Ok(growth) => Ok(Some(growth)),
            Err(Errno::NoSpc) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn release_removal(&mut self, growth: Option<Growth>) {
        match growth {
            Some(growth) => self.core.space.release_budget(&self.core.lebs, growth),
            None => self.core.space.budget.no_space = false,
        }
    }

    /// Ends the life of an inode in memory that nobody uses any more: without names it is deleted on flash, too
    /// (`ubifs_evict_inode`).
    pub(crate) fn evict_inode(&mut self, ino: Ino) -> Result<()> {
        self.load(ino)?;
        let Some(mut inode) = self.inodes.remove(&ino) else { return Ok(()) };
        while let Some(page) = inode.dirty_pages.take_next(0) {
            let is_hole = inode.holes.contains(page);
            let request = Request { new_page: is_hole, dirtied_page: !is_hole, ..Request::default() };
            self.core.space.release_request(&self.core.lebs, &request);
        }
        let mut result = Ok(());
        if inode.links == 0 {
            let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
            inode.size_bytes = 0;
            result = self.delete_with_attributes(&inode);
        }
        if inode.dirty {
            self.core.space.release_inode_budget(&self.core.lebs, &inode);
        } else {
            self.core.space.budget.no_space = false;
        }
        result
    }

    fn delete_with_attributes(&mut self, inode: &Inode) -> Result<()> {
        let mut attributes = Vec::new();
        if inode.xattr_cnt > 0 {
            for ino in self.core.index.attributes_of(&self.core.lebs, &self.core.journal, inode.ino)? {
                self.load(ino)?;
                if let Some(mut attribute) = self.inodes.remove(&ino) {
                    attribute.links = 0;
                    attributes.push(*attribute);
                }
            }
        }
        self.core.delete_inode(inode, &attributes).map_err(Errno::from)
    }
}

pub(crate) fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(Errno::NameTooLong);
    }
    Ok(())
}
