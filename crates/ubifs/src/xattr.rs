//! Extended attributes. Each is an inode that holds the value, and an entry below its host that holds the name, so index,
//! journal and garbage collection treat them like the files of a directory. They are written at once, not delayed.
//!
//! Follows `fs/ubifs/xattr.c`.

use crate::budget::Request;
use crate::causes;
use crate::core::Core;
use crate::error::NOT_FOUND;
use crate::format::*;
use crate::geometry::Geometry;
use crate::inode::{entry_bytes, entry_type, Inode};
use crate::journal::{Journal, NewEntry};
use crate::key::Key;
use crate::leb::Lebs;
use crate::tnc::entry_name;
use crate::tnc::Index;
use crate::Ubifs;
use ffslab_fs::{Errno, FileKind, Host, Ino, Result, XattrMode};

/// Bytes of all names of an inode with their final NULs (`XATTR_LIST_MAX`).
const LIST_BYTES_MAX: u32 = 64 << 10;
/// Namespaces that are kept (`ubifs_xattr_handlers`).
const NAMESPACES: [&[u8]; 3] = [b"user.", b"trusted.", b"security."];
/// Name of the attribute that belongs to file encryption, which is not listed.
const ENCRYPTION_CONTEXT: &[u8] = b"c";

/// Whether attributes of this name are kept.
pub(crate) fn is_kept(name: &[u8]) -> bool {
    NAMESPACES.iter().any(|namespace| name.starts_with(namespace))
}

/// What a value adds to its host's sum (`CALC_XATTR_BYTES`).
fn value_bytes(len: usize) -> u32 {
    align8(INO_BYTES + len as u32 + 1)
}

impl Geometry {
    /// How many attributes an inode may have: their inodes must all fit into half a LEB, because they are deleted
    /// together.
    pub fn xattrs_max(&self) -> u32 {
        self.leb_bytes / 2 / INO_BYTES
    }
}

/// The attribute that lets a program do more than its user may (`XATTR_NAME_CAPS`).
pub(crate) const CAPABILITY: &[u8] = b"security.capability";

impl Inode {
    /// Counts a new attribute in the sums of the inode that has it.
    fn add_xattr(&mut self, name: &[u8], len: usize) {
        self.xattr_cnt += 1;
        self.xattr_bytes += entry_bytes(name) as u32 + value_bytes(len);
        self.xattr_names += name.len() as u32;
    }

    /// Takes a removed attribute out of the sums of the inode that had it. On a damaged image the sums may be too
    /// small.
    fn drop_xattr(&mut self, name: &[u8], len: usize) {
        self.xattr_cnt = self.xattr_cnt.saturating_sub(1);
        self.xattr_bytes = self.xattr_bytes.saturating_sub(entry_bytes(name) as u32 + value_bytes(len));
        self.xattr_names = self.xattr_names.saturating_sub(name.len() as u32);
    }
}

impl Ubifs {
    /// The inode of an attribute, in memory. `None`: there is none of this name.
    pub(crate) fn find_xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Option<Ino>> {
        let value_ino = self.look_up_xattr(ino, name)?;
        value_ino.map(|value_ino| self.load_xattr(value_ino)).transpose()
    }

    /// The number of that inode.
    fn look_up_xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Option<Ino>> {
        if name.len() > NAME_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        let _why = self.core.lebs.sim.because_if_none(&causes::INODE_READ);
        self.load(ino)?;
        let key = self.core.lebs.geo.xattr_key(ino, name);
        let mut node = std::mem::take(&mut self.entry);
        let found = self.core.lookup_name(key, name, &mut node);
        let value_ino = get_u64(&node, dent::INUM) as u32;
        self.entry = node;
        match found {
            Ok(()) => Ok(Some(value_ino)),
            Err(NOT_FOUND) => Ok(None),
            Err(fail) => Err(fail.into()),
        }
    }

    fn load_xattr(&mut self, value_ino: Ino) -> Result<Ino> {
        let _why = self.core.lebs.sim.because_if_none(&causes::INODE_READ);
        let inode = self.inode(value_ino)?;
        if inode.flags & INODE_XATTR == 0 {
            return Err(Errno::Inval);
        }
        Ok(value_ino)
    }

    pub(crate) fn read_xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let value_ino = self.find_xattr(ino, name)?.ok_or(Errno::NoData)?;
        Ok(self.inode(value_ino)?.data.clone())
    }

    pub(crate) fn list_xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        let _why = self.core.lebs.sim.because_if_none(&causes::INODE_READ);
        self.load(ino)?;
        let mut names = Vec::new();
        self.core.index.each_xattr(&self.core.lebs, &self.core.journal, ino, |name, _| {
            if name != ENCRYPTION_CONTEXT {
                names.push(name.to_vec());
            }
        })?;
        Ok(names)
    }

    pub(crate) fn write_xattr(
        &mut self,
        host: &mut dyn Host,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        if value.len() > INODE_DATA_MAX {
            return Err(Errno::Range);
        }
        match (self.look_up_xattr(ino, name)?, mode) {
            (None, XattrMode::Replace) => Err(Errno::NoData),
            (None, _) => self.create_xattr(host, ino, name, value),
            // Only one that is changed is brought into memory (`ubifs_xattr_set`).
            (Some(_), XattrMode::Create) => Err(Errno::Exist),
            (Some(value_ino), _) => {
                let value_ino = self.load_xattr(value_ino)?;
                self.change_xattr(host, ino, value_ino, value)
            }
        }
    }

    fn create_xattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8], value: &[u8]) -> Result<()> {
        let xattrs_max = self.core.lebs.geo.xattrs_max();
        let owner = self.inode(ino)?;
        let names_bytes = owner.xattr_names + owner.xattr_cnt + name.len() as u32 + 1;
        if owner.xattr_cnt >= xattrs_max || names_bytes > LIST_BYTES_MAX {
            return Err(Errno::NoSpc);
        }
        let request = Request {
            new_ino: true,
            new_dent: true,
            new_ino_bytes: align8(value.len() as u32),
            dirtied_inos: 1,
            dirtied_ino_bytes: align8(owner.data.len() as u32),
            ..Request::default()
        };
        let growth = self.budget(host, &request)?;
        let result = self.do_create_xattr(host, ino, name, value);
        self.core.space.release_budget(&self.core.lebs, growth);
        result
    }

    fn do_create_xattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8], value: &[u8]) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let mut inode = self.new_inode(host, ino, FileKind::File)?;
        inode.permissions = 0o777;
        inode.flags |= INODE_XATTR;
        inode.data = value.to_vec();
        inode.size_bytes = value.len() as u64;
        let cookie = self.next_cookie();
        let entry_type = entry_type(FileKind::File);
        let entry = NewEntry { dir: ino, name, ino: inode.ino, entry_type, cookie, is_xattr: true };
        self.with_owner(host, ino, |core, owner| {
            owner.add_xattr(name, value.len());
            core.write_name(owner, &entry, &mut inode)
        })?;
        inode.synced_bytes = inode.size_bytes;
        self.inodes.insert(inode.ino, inode);
        Ok(())
    }

    fn change_xattr(&mut self, host: &mut dyn Host, ino: Ino, value_ino: Ino, value: &[u8]) -> Result<()> {
        let bytes = align8(value.len() as u32) + align8(self.inode(ino)?.data.len() as u32);
        let request = Request { dirtied_inos: 2, dirtied_ino_bytes: bytes, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let result = self.do_change_xattr(host, ino, value_ino, value);
        self.core.space.release_budget(&self.core.lebs, growth);
        result
    }

    fn do_change_xattr(&mut self, host: &mut dyn Host, ino: Ino, value_ino: Ino, value: &[u8]) -> Result<()> {
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let mut inode = Box::new(self.inode(value_ino)?.clone());
        let old_bytes = value_bytes(inode.data.len());
        inode.data = value.to_vec();
        inode.size_bytes = value.len() as u64;
        self.with_owner(host, ino, |core, owner| {
            owner.xattr_bytes = owner.xattr_bytes.saturating_sub(old_bytes) + value_bytes(value.len());
            core.write_xattr_value(owner, &inode)
        })?;
        self.inodes.insert(value_ino, inode);
        self.sync_changed_xattr(ino)
    }

    /// The owner decides whether a change or a removal is written at once (`ubifs_jnl_change_xattr`, `ubifs_jnl_delete_xattr`).
    fn sync_changed_xattr(&mut self, ino: Ino) -> Result<()> {
        let mount_flags = self.mount_flags;
        let is_sync = self.inode(ino)?.is_directory_sync(mount_flags);
        self.sync_names(is_sync)
    }

    pub(crate) fn delete_xattr(&mut self, host: &mut dyn Host, ino: Ino, name: &[u8]) -> Result<()> {
        let value_ino = self.find_xattr(ino, name)?.ok_or(Errno::NoData)?;
        let dirtied_ino_bytes = align8(self.inode(ino)?.data.len() as u32);
        let request = Request { dirtied_inos: 2, mod_dent: true, dirtied_ino_bytes, ..Request::default() };
        let growth = self.budget(host, &request)?;
        let _why = self.core.lebs.sim.clone().because(&causes::METADATA);
        let mut inode = self.inode(value_ino)?.clone();
        inode.links = 0;
        let result = self.with_owner(host, ino, |core, owner| {
            owner.drop_xattr(name, inode.data.len());
            core.write_xattr_removal(owner, &inode, name)
        });
        self.core.space.release_budget(&self.core.lebs, growth);
        result?;
        self.inodes.remove(&value_ino);
        self.sync_changed_xattr(ino)
    }

    /// Deletes the attributes one by one when an image has more of them than the deletion of the inode can take along
    /// (`ubifs_purge_xattrs`).
    pub(crate) fn purge_xattrs(&mut self, host: &mut dyn Host, ino: Ino) -> Result<()> {
        if self.inode(ino)?.xattr_cnt <= self.core.lebs.geo.xattrs_max() {
            return Ok(());
        }
        let mut names = Vec::new();
        self.core.index.each_xattr(&self.core.lebs, &self.core.journal, ino, |name, _| names.push(name.to_vec()))?;
        names.into_iter().try_for_each(|name| self.delete_xattr(host, ino, &name))
    }

    /// Writes a change of an attribute together with the inode that has the attribute. If the write fails, the inode in
    /// memory is as before.
    fn with_owner(
        &mut self,
        host: &mut dyn Host,
        ino: Ino,
        write: impl FnOnce(&mut Core, &mut Inode) -> crate::error::Res<()>,
    ) -> Result<()> {
        let now = self.now(host);
        let owner = self.inodes.get_mut(&ino).ok_or(Errno::NoEnt)?;
        let before = (owner.xattr_cnt, owner.xattr_bytes, owner.xattr_names, owner.changed);
        owner.changed = now;
        match write(&mut self.core, owner) {
            Ok(()) => {
                owner.synced_bytes = owner.size_bytes;
                self.core.space.mark_clean(&self.core.lebs, owner);
                Ok(())
            }
            Err(fail) => {
                (owner.xattr_cnt, owner.xattr_bytes, owner.xattr_names, owner.changed) = before;
                Err(fail.into())
            }
        }
    }
}

impl Index {
    /// Calls `found` with the name and the inode number of each extended attribute, in the order of the index.
    pub fn each_xattr(
        &mut self,
        lebs: &Lebs,
        journal: &Journal,
        ino: u32,
        mut found: impl FnMut(&[u8], u32),
    ) -> crate::error::Res<()> {
        let mut key = Key::xent(ino, 0);
        let (mut node, mut name) = (Vec::new(), Vec::new());
        loop {
            match self.next_entry(lebs, journal, key, &name, &mut node) {
                Ok(()) => {}
                Err(NOT_FOUND) => return Ok(()),
                Err(fail) => return Err(fail),
            }
            name.clear();
            name.extend_from_slice(entry_name(&node));
            found(&name, get_u64(&node, dent::INUM) as u32);
            key = Key::read(&node, KEY_AT);
        }
    }

    /// Inode numbers of extended attributes.
    pub fn attributes_of(&mut self, lebs: &Lebs, journal: &Journal, ino: u32) -> crate::error::Res<Vec<u32>> {
        let mut found = Vec::new();
        self.each_xattr(lebs, journal, ino, |_, attribute| found.push(attribute))?;
        Ok(found)
    }
}
