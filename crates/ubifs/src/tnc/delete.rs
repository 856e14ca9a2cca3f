//! Removing branches.
//!
//! Follows `fs/ubifs/tnc.c` (`tnc_delete`, `ubifs_tnc_remove_nm`, `ubifs_tnc_remove_range`, `ubifs_tnc_remove_ino`).

use super::load::entry_name;
use super::{Index, Position, NO_ZNODE};
use crate::error::{Fail, Res, NOT_FOUND};
use crate::format::{dent, get_u64};
use crate::journal::Journal;
use crate::key::Key;
use crate::leb::Lebs;
use crate::space::Space;

impl Index {
    /// The branch goes; znodes that have none left go too, and a root with a single child is replaced by it.
    fn delete(&mut self, lebs: &Lebs, space: &mut Space, position: Position) -> Res<()> {
        let mut id = position.znode;
        let branch = self.zm(id).branches.remove(position.n as usize);
        space.add_dirt(lebs, branch.at.lnum, branch.at.len)?;
        if !self.z(id).branches.is_empty() {
            return Ok(());
        }
        let mut n;
        loop {
            let parent = self.z(id).parent;
            n = self.z(id).iip as usize;
            self.dirty_cnt -= 1;
            self.keep_old_place(id);
            if parent == NO_ZNODE {
                return Err(Fail::corrupt("the index became empty"));
            }
            self.release(id);
            id = parent;
            if self.z(id).branches.len() != 1 {
                break;
            }
        }
        self.zm(id).branches.remove(n);
        self.renumber_children(id, n);
        if self.z(id).parent == NO_ZNODE {
            self.shrink_root(lebs, space, id)?;
        }
        Ok(())
    }

    fn shrink_root(&mut self, lebs: &Lebs, space: &mut Space, mut id: u32) -> Res<()> {
        while self.z(id).branches.len() == 1 && self.z(id).level != 0 {
            let child = self.child_znode(lebs, id, 0)?;
            self.dirty_znode(lebs, space, child)?;
            self.keep_old_place(id);
            self.root.at = self.z(id).branches[0].at;
            self.root.child = child;
            let znode = self.zm(child);
            (znode.parent, znode.iip) = (NO_ZNODE, 0);
            self.dirty_cnt -= 1;
            self.release(id);
            id = child;
        }
        Ok(())
    }

    /// Removes the node with this key, if there is one.
    pub fn remove(&mut self, lebs: &Lebs, space: &mut Space, key: Key) -> Res<()> {
        let (found, position) = self.find_dirty(lebs, space, key)?;
        if found {
            self.delete(lebs, space, position)?;
        }
        Ok(())
    }

    /// Removes the entry with this key and name, if there is one.
    pub fn remove_name(&mut self, lebs: &Lebs, space: &mut Space, journal: &Journal, key: Key, name: &[u8]) -> Res<()> {
        let (found, position) = self.find_dirty(lebs, space, key)?;
        if found {
            let (found, position) = self.resolve_name(lebs, journal, key, position, name, false)?;
            if found {
                self.dirty_bottom_up(lebs, space, position.znode)?;
                self.delete(lebs, space, position)?;
            }
        }
        Ok(())
    }

    /// Removes everything with a key from `from` to `to`.
    pub fn remove_range(&mut self, lebs: &Lebs, space: &mut Space, from: Key, to: Key) -> Res<()> {
        let in_range = |key: Key| from <= key && key <= to;
        loop {
            let (found, mut position) = self.find(lebs, from)?;
            if !found {
                match self.next(lebs, position)? {
                    Some(after) if in_range(self.key_at(after)) => position = after,
                    _ => return Ok(()),
                }
            }
            self.dirty_bottom_up(lebs, space, position.znode)?;
            let first = position.n as usize + 1;
            let branches = &self.z(position.znode).branches;
            let count = branches[first..].iter().take_while(|branch| in_range(branch.key)).count();
            for i in first..first + count {
                let at = self.z(position.znode).branches[i].at;
                space.add_dirt(lebs, at.lnum, at.len)?;
            }
            self.zm(position.znode).branches.drain(first..first + count);
            if self.z(position.znode).level > 0 {
                return Err(Fail::corrupt("leaf of the index above level 0"));
            }
            self.delete(lebs, space, position)?;
        }
    }

    /// Removes an inode with all that belongs to it, extended attributes included.
    pub fn remove_inode(&mut self, lebs: &Lebs, space: &mut Space, journal: &Journal, ino: u32) -> Res<()> {
        let mut key = Key::xent(ino, 0);
        let mut node = Vec::new();
        let mut name = Vec::new();
        loop {
            match self.next_entry(lebs, journal, key, &name, &mut node) {
                Ok(()) => {}
                Err(NOT_FOUND) => break,
                Err(fail) => return Err(fail),
            }
            let attribute = get_u64(&node, dent::INUM) as u32;
            name.clear();
            name.extend_from_slice(entry_name(&node));
            key = Key::read(&node, crate::format::KEY_AT);
            self.remove_name(lebs, space, journal, key, &name)?;
            self.remove_range(lebs, space, Key::lowest(attribute), Key::highest(attribute))?;
        }
        self.remove_range(lebs, space, Key::lowest(ino), Key::highest(ino))
    }
}
