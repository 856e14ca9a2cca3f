//! Adding and changing branches.
//!
//! Follows `fs/ubifs/tnc.c` (`tnc_insert`, `ubifs_tnc_add`, `ubifs_tnc_replace`, `ubifs_tnc_add_nm`).

use super::{Branch, NodeAt, Position, NO_ZNODE};
use crate::core::Core;
use crate::error::Res;
use crate::key::{Key, DATA_KEY};

impl Core {
    /// Makes the index lead from this key to the node at this place.
    pub fn tnc_add(&mut self, key: Key, at: NodeAt) -> Res<()> {
        let (found, position) = self.find_dirty(key)?;
        if found {
            self.set_place(position, at)
        } else {
            self.insert(position, Branch::leaf(key, at))
        }
    }

    /// Makes the index lead from this key and name to the entry node at this place.
    pub fn tnc_add_name(&mut self, key: Key, at: NodeAt, name: &[u8]) -> Res<()> {
        let (mut found, mut position) = self.find_dirty(key)?;
        if found {
            (found, position) = self.resolve_name(key, position, name, true)?;
            self.dirty_bottom_up(position.znode)?;
            if found {
                return self.set_place(position, at);
            }
        }
        self.insert(position, Branch::leaf(key, at))?;
        if self.replaying {
            // The index may still have a branch to an older entry of the same name whose node is gone from flash, so
            // that its name could not be compared. Removing a name that cannot exist removes such a dangling branch.
            return self.tnc_remove_name(key, b"\0");
        }
        Ok(())
    }

    /// Makes the index lead to the new place of a node that garbage collection has moved, if it still leads to the old
    /// one.
    pub fn tnc_replace(&mut self, key: Key, old_lnum: u32, old_offs: u32, at: NodeAt) -> Res<()> {
        let (found, position) = self.find_dirty(key)?;
        if found {
            if let Some(position) = self.seek_place(key, position, old_lnum, old_offs)? {
                self.dirty_bottom_up(position.znode)?;
                return self.set_place(position, at);
            }
        }
        self.space.add_dirt(&mut self.lebs, at.lnum, at.len)
    }

    fn set_place(&mut self, position: Position, at: NodeAt) -> Res<()> {
        let branch = &mut self.tnc.zm(position.znode).branches[position.n as usize];
        branch.leaf = None;
        let old = std::mem::replace(&mut branch.at, at);
        self.space.add_dirt(&mut self.lebs, old.lnum, old.len)
    }

    /// Passes a lowered first key of a znode on to the branches above that lead to it.
    fn correct_parent_keys(&mut self, mut id: u32) {
        let key = self.tnc.z(id).branches[0].key;
        loop {
            let parent = self.tnc.z(id).parent;
            if parent == NO_ZNODE || key >= self.tnc.z(parent).branches[0].key {
                return;
            }
            let above = self.tnc.zm(parent);
            above.branches[0].key = key;
            above.alt = true;
            if above.parent == NO_ZNODE || above.iip != 0 {
                return;
            }
            id = parent;
        }
    }

    fn insert_branch(&mut self, id: u32, branch: Branch, n: usize) {
        let child = branch.child;
        let znode = self.tnc.zm(id);
        znode.branches.insert(n, branch);
        if n == 0 {
            znode.alt = true;
        }
        if znode.level > 0 {
            if child != NO_ZNODE {
                self.tnc.zm(child).iip = n as u32;
            }
            self.renumber_children(id, n + 1);
        }
    }

    pub(super) fn renumber_children(&mut self, id: u32, from: usize) {
        for i in from..self.tnc.z(id).branches.len() {
            let child = self.tnc.z(id).branches[i].child;
            if child != NO_ZNODE {
                let child = self.tnc.zm(child);
                (child.parent, child.iip) = (id, i as u32);
            }
        }
    }

    /// Inserts a branch behind a position of level 0; full znodes are split, up to the root.
    fn insert(&mut self, position: Position, mut branch: Branch) -> Res<()> {
        let fanout = self.lebs.geo.fanout as usize;
        let mut id = position.znode;
        let mut n = (position.n + 1) as usize;
        let mut appending = false;
        loop {
            let parent = self.tnc.z(id).parent;
            if self.tnc.z(id).branches.len() < fanout {
                self.insert_branch(id, branch, n);
                if n == 0 && parent != NO_ZNODE && self.tnc.z(id).iip == 0 {
                    self.correct_parent_keys(id);
                }
                return Ok(());
            }
            if self.tnc.z(id).alt {
                self.tnc.keep_old_place(id);
                self.tnc.branch_to(id).at = NodeAt::default();
            }
            let level = self.tnc.z(id).level;
            let new = self.tnc.allocate(parent, level, self.lebs.geo.fanout);
            let split = self.choose_split(id, n, branch.key, &mut appending);
            let (keep, into_new) = split;
            let moved: Vec<Branch> = self.tnc.zm(id).branches.drain(keep..).collect();
            let new_znode = self.tnc.zm(new);
            new_znode.dirty = true;
            new_znode.branches.extend(moved);
            self.tnc.dirty_cnt += 1;
            if level > 0 {
                self.renumber_children(new, 0);
            }
            let (target, at) = if into_new { (new, n - keep) } else { (id, n) };
            if level > 0 && branch.child != NO_ZNODE {
                self.tnc.zm(branch.child).parent = target;
            }
            self.insert_branch(target, branch, at);
            if parent == NO_ZNODE {
                self.grow_root(id, new, level);
                return Ok(());
            }
            if at == 0 && !into_new && self.tnc.z(id).iip == 0 {
                self.correct_parent_keys(id);
            }
            n = self.tnc.z(id).iip as usize + 1;
            branch = Branch::leaf(self.tnc.z(new).branches[0].key, NodeAt::default());
            branch.child = new;
            id = parent;
        }
    }

    /// Where to split a full znode into which a branch is to go at `n`: how many branches stay, and whether the new one
    /// goes to the new znode. Files that grow at their end get full znodes.
    fn choose_split(&self, id: u32, n: usize, key: Key, appending: &mut bool) -> (usize, bool) {
        let fanout = self.lebs.geo.fanout as usize;
        let half = fanout.div_ceil(2);
        let znode = self.tnc.z(id);
        let same_file = |other: Key| other.ino == key.ino && other.kind() == DATA_KEY;
        let mut check_file_end = false;
        if znode.level == 0 && key.kind() == DATA_KEY {
            if n == fanout {
                *appending |= same_file(znode.branches[n - 1].key);
            } else {
                check_file_end = true;
            }
        } else if *appending && n != fanout {
            *appending = false;
            check_file_end = true;
        }
        if check_file_end && n >= half && same_file(znode.branches[0].key) && !same_file(znode.branches[n].key) {
            return (n, false);
        }
        if *appending {
            (fanout, true)
        } else if n < half {
            (half - 1, false)
        } else {
            (half, true)
        }
    }

    /// Adds a new root above the two halves of the old one, which was split.
    fn grow_root(&mut self, left: u32, right: u32, level: u16) {
        let root = self.tnc.allocate(NO_ZNODE, level + 1, self.lebs.geo.fanout);
        let old = self.tnc.root.at;
        let mut branches = [
            Branch::leaf(self.tnc.z(left).branches[0].key, old),
            Branch::leaf(self.tnc.z(right).branches[0].key, NodeAt::default()),
        ];
        (branches[0].child, branches[1].child) = (left, right);
        let znode = self.tnc.zm(root);
        znode.dirty = true;
        znode.branches.extend(branches);
        self.tnc.dirty_cnt += 1;
        self.tnc.root.at = NodeAt::default();
        self.tnc.root.child = root;
        self.renumber_children(root, 0);
    }
}
