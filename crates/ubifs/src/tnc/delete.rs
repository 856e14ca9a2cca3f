//! Removing branches.
//!
//! Follows `fs/ubifs/tnc.c` (`tnc_delete`, `ubifs_tnc_remove_nm`, `ubifs_tnc_remove_range`, `ubifs_tnc_remove_ino`).

use super::load::entry_name;
use super::{Position, NO_ZNODE};
use crate::core::Core;
use crate::error::{Fail, Res, NOT_FOUND};
use crate::format::{dent, get_u64};
use crate::key::Key;

impl Core {
    /// The branch goes; znodes that have none left go too, and a root with a single child is replaced by it.
    fn delete(&mut self, position: Position) -> Res<()> {
        let mut id = position.znode;
        let branch = self.tnc.zm(id).branches.remove(position.n as usize);
        self.space.add_dirt(&mut self.lebs, branch.at.lnum, branch.at.len)?;
        if !self.tnc.z(id).branches.is_empty() {
            return Ok(());
        }
        let mut n;
        loop {
            let parent = self.tnc.z(id).parent;
            n = self.tnc.z(id).iip as usize;
            self.tnc.dirty_cnt -= 1;
            self.tnc.keep_old_place(id);
            if parent == NO_ZNODE {
                return Err(Fail::corrupt("the index became empty"));
            }
            self.tnc.release(id);
            id = parent;
            if self.tnc.z(id).branches.len() != 1 {
                break;
            }
        }
        self.tnc.zm(id).branches.remove(n);
        self.renumber_children(id, n);
        if self.tnc.z(id).parent == NO_ZNODE {
            self.shrink_root(id)?;
        }
        Ok(())
    }

    fn shrink_root(&mut self, mut id: u32) -> Res<()> {
        while self.tnc.z(id).branches.len() == 1 && self.tnc.z(id).level != 0 {
            let child = self.child_znode(id, 0)?;
            self.dirty_znode(child)?;
            self.tnc.keep_old_place(id);
            self.tnc.root.at = self.tnc.z(id).branches[0].at;
            self.tnc.root.child = child;
            let znode = self.tnc.zm(child);
            (znode.parent, znode.iip) = (NO_ZNODE, 0);
            self.tnc.dirty_cnt -= 1;
            self.tnc.release(id);
            id = child;
        }
        Ok(())
    }

    /// Removes the node with this key, if there is one.
    pub fn tnc_remove(&mut self, key: Key) -> Res<()> {
        let (found, position) = self.find_dirty(key)?;
        if found {
            self.delete(position)?;
        }
        Ok(())
    }

    /// Removes the entry with this key and name, if there is one.
    pub fn tnc_remove_name(&mut self, key: Key, name: &[u8]) -> Res<()> {
        let (found, position) = self.find_dirty(key)?;
        if found {
            let (found, position) = self.resolve_name(key, position, name, false)?;
            if found {
                self.dirty_bottom_up(position.znode)?;
                self.delete(position)?;
            }
        }
        Ok(())
    }

    /// Removes everything with a key from `from` to `to`.
    pub fn tnc_remove_range(&mut self, from: Key, to: Key) -> Res<()> {
        let in_range = |key: Key| from <= key && key <= to;
        loop {
            let (found, mut position) = self.find(from)?;
            if !found {
                match self.next(position)? {
                    Some(after) if in_range(self.key_at(after)) => position = after,
                    _ => return Ok(()),
                }
            }
            self.dirty_bottom_up(position.znode)?;
            let first = position.n as usize + 1;
            let branches = &self.tnc.z(position.znode).branches;
            let count = branches[first..].iter().take_while(|branch| in_range(branch.key)).count();
            for i in first..first + count {
                let at = self.tnc.z(position.znode).branches[i].at;
                self.space.add_dirt(&mut self.lebs, at.lnum, at.len)?;
            }
            self.tnc.zm(position.znode).branches.drain(first..first + count);
            if self.tnc.z(position.znode).level > 0 {
                return Err(Fail::corrupt("leaf of the index above level 0"));
            }
            self.delete(position)?;
        }
    }

    /// Removes an inode with all that belongs to it, extended attributes included.
    pub fn tnc_remove_ino(&mut self, ino: u32) -> Res<()> {
        let mut key = Key::xent(ino, 0);
        let mut node = Vec::new();
        let mut name = Vec::new();
        loop {
            match self.next_entry(key, &name, &mut node) {
                Ok(()) => {}
                Err(NOT_FOUND) => break,
                Err(fail) => return Err(fail),
            }
            let attribute = get_u64(&node, dent::INUM) as u32;
            name.clear();
            name.extend_from_slice(entry_name(&node));
            key = Key::read(&node, crate::format::KEY_AT);
            self.tnc_remove_name(key, &name)?;
            self.tnc_remove_range(Key::lowest(attribute), Key::highest(attribute))?;
        }
        self.tnc_remove_range(Key::lowest(ino), Key::highest(ino))
    }
}
