//! Changes of names in the journal: entries and the inodes that change with them, as one group of nodes.
//!
//! Follows `fs/ubifs/journal.c` (`ubifs_jnl_update`, `ubifs_jnl_rename`).

use crate::core::Core;
use crate::error::Res;
use crate::format::*;
use crate::geometry::Geometry;
use crate::inode::{entry_type, Inode};
use crate::key::Key;
use crate::node::NodeAt;
use ffslab_fs::FileKind;

/// An entry node to write.
pub(crate) struct NewEntry<'a> {
    pub dir: u32,
    pub name: &'a [u8],
    /// Inode that the name stands for; 0 marks the name as deleted.
    pub ino: u32,
    pub entry_type: u8,
    pub cookie: u32,
    /// The name of an extended attribute; `dir` is the inode that has it.
    pub is_xattr: bool,
}

impl NewEntry<'_> {
    fn key(&self, geo: &Geometry) -> Key {
        if self.is_xattr {
            geo.xattr_key(self.dir, self.name)
        } else {
            geo.entry_key(self.dir, self.name)
        }
    }
}

/// A rename as the journal sees it.
pub(crate) struct Rename<'a> {
    pub old_dir: &'a Inode,
    pub old_name: &'a [u8],
    pub new_dir: &'a Inode,
    pub new_name: &'a [u8],
    pub inode: &'a Inode,
    /// The inode that had the new name before and loses it.
    pub replaced: Option<&'a Inode>,
    /// The inode that gets the old name, if the caller asked for a whiteout.
    pub whiteout: Option<&'a Inode>,
    pub cookies: (u32, u32),
}

/// Two names that are exchanged: `first_name` in `first_dir` stood for `first`.
pub(crate) struct Exchange<'a> {
    pub first_dir: &'a Inode,
    pub first_name: &'a [u8],
    pub first: (u32, FileKind),
    pub second_dir: &'a Inode,
    pub second_name: &'a [u8],
    pub second: (u32, FileKind),
    pub cookies: (u32, u32),
}

impl Core {
    /// The inode has lost its last name: it and its extended attributes are orphans.
    pub fn add_orphans(&mut self, ino: u32) -> Res<()> {
        self.journal.orphans.add(&self.lebs, ino)?;
        let attributes = self.index.attributes_of(&self.lebs, &self.journal, ino)?;
        attributes.iter().try_for_each(|&attribute| self.journal.orphans.add(&self.lebs, attribute))?;
        self.journal.orphans.delete_with(ino, attributes);
        Ok(())
    }

    /// Appends an entry node, aligned; returns its length.
    pub fn pack_entry(&mut self, nodes: &mut Vec<u8>, entry: &NewEntry<'_>) -> u32 {
        let from = nodes.len();
        let len = DENT_BYTES + entry.name.len() as u32 + 1;
        nodes.resize(from + align8(len) as usize, 0);
        let key = entry.key(&self.lebs.geo);
        let node = &mut nodes[from..];
        key.write_in_node(node, KEY_AT);
        put_u64(node, dent::INUM, u64::from(entry.ino));
        node[dent::TYPE] = entry.entry_type;
        put_u16(node, dent::NLEN, entry.name.len() as u16);
        put_u32(node, dent::COOKIE, entry.cookie);
        node[dent::NAME..dent::NAME + entry.name.len()].copy_from_slice(entry.name);
        self.lebs.finish_node(node, len, if entry.is_xattr { XENT_NODE } else { DENT_NODE }, IN_GROUP);
        len
    }

    /// Writes an entry node that adds or deletes a name, together with the inode that the name stands for and the
    /// directory (for an extended attribute: the inode that has it). Sets the commit number of an inode that loses its
    /// last name.
    pub fn write_name(&mut self, dir: &Inode, entry: &NewEntry<'_>, inode: &mut Inode) -> Res<()> {
        let deletion = entry.ino == 0;
        let is_last = deletion && inode.links == 0;
        let name_len = DENT_BYTES + entry.name.len() as u32 + 1;
        let data_len = if is_last { 0 } else { inode.data.len() as u32 };
        let ino_len = INO_BYTES + data_len;
        let len = align8(name_len) + align8(ino_len) + INO_BYTES + dir.data.len() as u32;
        self.reserve(BASE_HEAD, len)?;
        let mut nodes = Vec::with_capacity(len as usize + 8);
        self.pack_entry(&mut nodes, entry);
        self.pack_inode(&mut nodes, inode, false);
        self.pack_inode(&mut nodes, dir, true);
        nodes.truncate(len as usize);
        if is_last {
            self.add_orphans(inode.ino)?;
            inode.deleted_in = self.commits.number;
        }
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        if entry.is_xattr && !deletion {
            // A new extended attribute is a synchronous inode (S_SYNC in `create_xattr` of fs/ubifs/xattr.c), so
            // `ubifs_jnl_update` writes the buffer at once.
            self.sync_base_head()?;
        } else {
            self.journal.heads[BASE_HEAD].note_inode(inode.ino);
            self.journal.heads[BASE_HEAD].note_inode(dir.ino);
        }
        let key = entry.key(&self.lebs.geo);
        let (ino, dir_ino, dir_data) = (inode.ino, dir.ino, dir.data.len() as u32);
        self.index_change(|core| {
            if deletion {
                core.tnc_remove_name(key, entry.name)?;
                core.space.add_dirt(&core.lebs, lnum, name_len)?;
            } else {
                core.tnc_add_name(key, NodeAt { lnum, offs, len: name_len }, entry.name)?;
            }
            let ino_offs = offs + align8(name_len);
            core.tnc_add(Key::inode(ino), NodeAt { lnum, offs: ino_offs, len: ino_len })?;
            let dir_offs = ino_offs + align8(ino_len);
            core.tnc_add(Key::inode(dir_ino), NodeAt { lnum, offs: dir_offs, len: INO_BYTES + dir_data })
        })
    }

    /// Writes a rename. Returns `true` when the inode that was replaced is an orphan now.
    pub fn write_rename(&mut self, rename: &Rename<'_>) -> Res<bool> {
        let Rename { old_dir, old_name, new_dir, new_name, inode, replaced, whiteout, cookies } = *rename;
        let is_move = old_dir.ino != new_dir.ino;
        let is_last = replaced.is_some_and(|inode| inode.links == 0);
        let new_len = DENT_BYTES + new_name.len() as u32 + 1;
        let old_len = DENT_BYTES + old_name.len() as u32 + 1;
        let replaced_len = replaced.map_or(0, |inode| INO_BYTES + if is_last { 0 } else { inode.data.len() as u32 });
        let whiteout_len = whiteout.map_or(0, |inode| INO_BYTES + inode.data.len() as u32);
        let mut len = align8(new_len) + align8(old_len) + align8(replaced_len) + align8(whiteout_len) + INO_BYTES;
        if is_move {
            len += INO_BYTES;
        }
        self.reserve(BASE_HEAD, len)?;
        let mut nodes = Vec::with_capacity(len as usize);
        let entry_type = entry_type(inode.kind);
        let is_xattr = false;
        let new =
            NewEntry { dir: new_dir.ino, name: new_name, ino: inode.ino, entry_type, cookie: cookies.0, is_xattr };
        self.pack_entry(&mut nodes, &new);
        let (ino, entry_type) = whiteout.map_or((0, 0), |inode| (inode.ino, self::entry_type(inode.kind)));
        let gone = NewEntry { dir: old_dir.ino, name: old_name, ino, entry_type, cookie: cookies.1, is_xattr };
        self.pack_entry(&mut nodes, &gone);
        if let Some(replaced) = replaced {
            self.pack_inode(&mut nodes, replaced, false);
        }
        if let Some(whiteout) = whiteout {
            self.pack_inode(&mut nodes, whiteout, false);
        }
        self.pack_inode(&mut nodes, old_dir, !is_move);
        if is_move {
            self.pack_inode(&mut nodes, new_dir, true);
        }
        if let Some(replaced) = replaced.filter(|_| is_last) {
            self.add_orphans(replaced.ino)?;
        }
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        let head = &mut self.journal.heads[BASE_HEAD];
        [Some(new_dir), Some(old_dir), replaced, whiteout]
            .into_iter()
            .flatten()
            .for_each(|inode| head.note_inode(inode.ino));
        let (new_key, old_key) =
            (self.lebs.geo.entry_key(new_dir.ino, new_name), self.lebs.geo.entry_key(old_dir.ino, old_name));
        self.index_change(|core| {
            core.tnc_add_name(new_key, NodeAt { lnum, offs, len: new_len }, new_name)?;
            let old_at = NodeAt { lnum, offs: offs + align8(new_len), len: old_len };
            if whiteout.is_some() {
                core.tnc_add_name(old_key, old_at, old_name)?;
            } else {
                core.space.add_dirt(&core.lebs, lnum, old_len)?;
                core.tnc_remove_name(old_key, old_name)?;
            }
            let mut offs = old_at.offs + align8(old_len);
            if let Some(replaced) = replaced {
                core.tnc_add(Key::inode(replaced.ino), NodeAt { lnum, offs, len: replaced_len })?;
                offs += align8(replaced_len);
            }
            if let Some(whiteout) = whiteout {
                core.tnc_add(Key::inode(whiteout.ino), NodeAt { lnum, offs, len: whiteout_len })?;
                offs += align8(whiteout_len);
            }
            core.tnc_add(Key::inode(old_dir.ino), NodeAt { lnum, offs, len: INO_BYTES })?;
            if is_move {
                core.tnc_add(Key::inode(new_dir.ino), NodeAt { lnum, offs: offs + INO_BYTES, len: INO_BYTES })?;
            }
            Ok(())
        })?;
        Ok(is_last)
    }

    /// Writes an exchange of two names (`ubifs_jnl_xrename`).
    pub fn write_exchange(&mut self, exchange: &Exchange<'_>) -> Res<()> {
        let Exchange { first_dir, first_name, first, second_dir, second_name, second, cookies } = *exchange;
        let is_move = first_dir.ino != second_dir.ino;
        let lens = [second_name, first_name].map(|name| DENT_BYTES + name.len() as u32 + 1);
        let dirs = if is_move { 2 } else { 1 };
        self.reserve(BASE_HEAD, align8(lens[0]) + align8(lens[1]) + dirs * INO_BYTES)?;
        let mut nodes = Vec::new();
        let entries = [(second_dir.ino, second_name, first, cookies.0), (first_dir.ino, first_name, second, cookies.1)];
        for (dir, name, (ino, kind), cookie) in entries {
            let entry_type = entry_type(kind);
            self.pack_entry(&mut nodes, &NewEntry { dir, name, ino, entry_type, cookie, is_xattr: false });
        }
        self.pack_inode(&mut nodes, first_dir, !is_move);
        if is_move {
            self.pack_inode(&mut nodes, second_dir, true);
        }
        let (lnum, offs) = self.append(BASE_HEAD, &nodes)?;
        self.journal.heads[BASE_HEAD].note_inode(first_dir.ino);
        self.journal.heads[BASE_HEAD].note_inode(second_dir.ino);
        let keys =
            [self.lebs.geo.entry_key(second_dir.ino, second_name), self.lebs.geo.entry_key(first_dir.ino, first_name)];
        self.index_change(|core| {
            core.tnc_add_name(keys[0], NodeAt { lnum, offs, len: lens[0] }, second_name)?;
            let offs = offs + align8(lens[0]);
            core.tnc_add_name(keys[1], NodeAt { lnum, offs, len: lens[1] }, first_name)?;
            let offs = offs + align8(lens[1]);
            core.tnc_add(Key::inode(first_dir.ino), NodeAt { lnum, offs, len: INO_BYTES })?;
            if is_move {
                core.tnc_add(Key::inode(second_dir.ino), NodeAt { lnum, offs: offs + INO_BYTES, len: INO_BYTES })?;
            }
            Ok(())
        })
    }
}
