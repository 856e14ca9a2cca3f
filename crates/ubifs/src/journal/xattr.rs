//! Changes of extended attributes in the journal. A new one is a name like others: [`Core::write_name`].
//!
//! Follows `fs/ubifs/journal.c` (`ubifs_jnl_change_xattr`, `ubifs_jnl_delete_xattr`).

use super::NewEntry;
use crate::core::Core;
use crate::error::Res;
use crate::format::*;
use crate::inode::{entry_type, Inode};
use crate::key::Key;
use crate::node::NodeAt;
use ffslab_fs::FileKind;

impl Core {
    /// Writes a new value of an extended attribute, which is the data of `inode`, together with `owner`, the inode that
    /// has the attribute.
    pub fn write_xattr_value(&mut self, owner: &Inode, inode: &Inode) -> Res<()> {
        let owner_len = INO_BYTES + owner.data.len() as u32;
        let len = INO_BYTES + inode.data.len() as u32;
        self.reserve(BASE_HEAD, align8(owner_len) + align8(len))?;
        let mut nodes = Vec::new();
        self.pack_inode(&mut nodes, owner, false);
        self.pack_inode(&mut nodes, inode, true);
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        self.journal.heads[BASE_HEAD].note_inode(owner.ino);
        self.journal.heads[BASE_HEAD].note_inode(inode.ino);
        self.index_change(|core| {
            core.tnc_add(Key::inode(owner.ino), NodeAt { lnum, offs, len: owner_len })?;
            core.tnc_add(Key::inode(inode.ino), NodeAt { lnum, offs: offs + align8(owner_len), len })
        })
    }

    /// Writes the removal of an extended attribute: its name, its `inode` without links, and `owner`, the inode that
    /// had the attribute. When `owner` is a symbolic link whose target is no multiple of 8 bytes long, the kernel
    /// enters a wrong offset for it into the index; this code enters the right one.
    pub fn write_xattr_removal(&mut self, owner: &Inode, inode: &Inode, name: &[u8]) -> Res<()> {
        let name_len = DENT_BYTES + name.len() as u32 + 1;
        let owner_len = INO_BYTES + owner.data.len() as u32;
        self.reserve(BASE_HEAD, align8(name_len) + INO_BYTES + align8(owner_len))?;
        let mut nodes = Vec::new();
        let entry_type = entry_type(FileKind::File);
        let entry = NewEntry { dir: owner.ino, name, ino: 0, entry_type, cookie: 0, is_xattr: true };
        self.pack_entry(&mut nodes, &entry);
        self.pack_inode(&mut nodes, inode, false);
        self.pack_inode(&mut nodes, owner, true);
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        self.journal.heads[BASE_HEAD].note_inode(owner.ino);
        let key = self.lebs.geo.xattr_key(owner.ino, name);
        self.index_change(|core| {
            core.tnc_remove_name(key, name)?;
            core.space.add_dirt(&core.lebs, lnum, name_len)?;
            core.tnc_remove_range(Key::lowest(inode.ino), Key::highest(inode.ino))?;
            core.space.add_dirt(&core.lebs, lnum, INO_BYTES)?;
            let offs = offs + align8(name_len) + INO_BYTES;
            core.tnc_add(Key::inode(owner.ino), NodeAt { lnum, offs, len: owner_len })
        })
    }
}
