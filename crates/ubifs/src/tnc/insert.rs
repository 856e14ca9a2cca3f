//! Adding and changing branches.
//!
//! Follows `fs/ubifs/tnc.c` (`tnc_insert`, `ubifs_tnc_add`, `ubifs_tnc_replace`, `ubifs_tnc_add_nm`).

use super::{Branch, Index, NodeAt, Position, NO_ZNODE};
use crate::error::Res;
use crate::journal::Journal;
use crate::key::{Key, DATA_KEY};
use crate::leb::Lebs;
use crate::space::Space;

impl Index {
    /// Makes the index lead from this key to the node at this place.
    pub fn add(&mut self, lebs: &Lebs, space: &mut Space, key: Key, at: NodeAt) -> Res<()> {
        let (found, position) = self.find_dirty(lebs, space, key)?;
        if found {
            self.set_place(lebs, space, position, at)
        } else {
            self.insert(lebs, position, Branch::leaf(key, at))
        }
    }

    /// Makes the index lead from this key and name to the entry node at this place.
    pub fn add_name(
        &mut self,
        lebs: &Lebs,
        space: &mut Space,
        journal: &Journal,
        key: Key,
        at: NodeAt,
        name: &[u8],
    ) -> Res<()> {
        let (mut found, mut position) = self.find_dirty(lebs, space, key)?;
        if found {
            (found, position) = self.resolve_name(lebs, journal, key, position, name, true)?;
            self.dirty_bottom_up(lebs, space, position.znode)?;
            if found {
                return self.set_place(lebs, space, position, at);
            }
        }
        self.insert(lebs, position, Branch::leaf(key, at))?;
        if self.replaying {
            // The index may still have a branch to an older entry of the same name whose node is gone from flash, so
            // that its name could not be compared. Removing a name that cannot exist removes such a dangling branch.
            return self.remove_name(lebs, space, journal, key, b"\0");
        }
        Ok(())
    }

    /// Makes the index lead to the new place of a node that garbage collection has moved, if it still leads to the old
    /// one.
    pub fn replace(
        &mut self,
        lebs: &Lebs,
        space: &mut Space,
        key: Key,
        old_lnum: u32,
        old_offs: u32,
        at: NodeAt,
    ) -> Res<()> {
        let (found, position) = self.find_dirty(lebs, space, key)?;
        if found {
            if let Some(position) = self.seek_place(lebs, key, position, old_lnum, old_offs)? {
                self.dirty_bottom_up(lebs, space, position.znode)?;
                return self.set_place(lebs, space, position, at);
            }
        }
        space.add_dirt(lebs, at.lnum, at.len)
    }

    fn set_place(&mut self, lebs: &Lebs, space: &mut Space, position: Position, at: NodeAt) -> Res<()> {
        let branch = &mut self.zm(position.znode).branches[position.n as usize];
        branch.leaf = None;
        let old = std::mem::replace(&mut branch.at, at);
        space.add_dirt(lebs, old.lnum, old.len)
    }

    /// Passes a lowered first key of a znode on to the branches above that lead to it.
    fn correct_parent_keys(&mut self, mut id: u32) {
        let key = self.z(id).branches[0].key;
        loop {
            let parent = self.z(id).parent;
            if parent == NO_ZNODE || key >= self.z(parent).branches[0].key {
                return;
            }
            let above = self.zm(parent);
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
        let znode = self.zm(id);
        znode.branches.insert(n, branch);
        if n == 0 {
            znode.alt = true;
        }
        if znode.level > 0 {
            if child != NO_ZNODE {
                self.zm(child).iip = n as u32;
            }
            self.renumber_children(id, n + 1);
        }
    }

    pub(super) fn renumber_children(&mut self, id: u32, from: usize) {
        for i in from..self.z(id).branches.len() {
            let child = self.z(id).branches[i].child;
            if child != NO_ZNODE {
                let child = self.zm(child);
                (child.parent, child.iip) = (id, i as u32);
            }
        }
    }

    /// Inserts a branch behind a position of level 0; full znodes are split, up to the root.
    fn insert(&mut self, lebs: &Lebs, position: Position, mut branch: Branch) -> Res<()> {
        let fanout = lebs.geo.fanout as usize;
        let mut id = position.znode;
        let mut n = (position.n + 1) as usize;
        let mut appending = false;
        loop {
            let parent = self.z(id).parent;
            if self.z(id).branches.len() < fanout {
                self.insert_branch(id, branch, n);
                if n == 0 && parent != NO_ZNODE && self.z(id).iip == 0 {
                    self.correct_parent_keys(id);
                }
                return Ok(());
            }
            if self.z(id).alt {
                self.keep_old_place(id);
                self.branch_to(id).at = NodeAt::default();
            }
            let level = self.z(id).level;
            let new = self.allocate(parent, level, lebs.geo.fanout);
            let split = self.choose_split(lebs, id, n, branch.key, &mut appending);
            let (keep, into_new) = split;
            let moved: Vec<Branch> = self.zm(id).branches.drain(keep..).collect();
            let new_znode = self.zm(new);
            new_znode.dirty = true;
            new_znode.branches.extend(moved);
            self.dirty_cnt += 1;
            if level > 0 {
                self.renumber_children(new, 0);
            }
            let (target, at) = if into_new { (new, n - keep) } else { (id, n) };
            if level > 0 && branch.child != NO_ZNODE {
                self.zm(branch.child).parent = target;
            }
            self.insert_branch(target, branch, at);
            if parent == NO_ZNODE {
                self.grow_root(lebs, id, new, level);
                return Ok(());
            }
            if at == 0 && !into_new && self.z(id).iip == 0 {
                self.correct_parent_keys(id);
            }
            n = self.z(id).iip as usize + 1;
            branch = Branch::leaf(self.z(new).branches[0].key, NodeAt::default());
            branch.child = new;
            id = parent;
        }
    }

    /// Where to split a full znode into which a branch is to go at `n`: how many branches stay, and whether the new one
    /// goes to the new znode. Files that grow at their end get full znodes.
    fn choose_split(&self, lebs: &Lebs, id: u32, n: usize, key: Key, appending: &mut bool) -> (usize, bool) {
        let fanout = lebs.geo.fanout as usize;
        let half = fanout.div_ceil(2);
        let znode = self.z(id);
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
    fn grow_root(&mut self, lebs: &Lebs, left: u32, right: u32, level: u16) {
        let root = self.allocate(NO_ZNODE, level + 1, lebs.geo.fanout);
        let old = self.root.at;
        let mut branches = [
            Branch::leaf(self.z(left).branches[0].key, old),
            Branch::leaf(self.z(right).branches[0].key, NodeAt::default()),
        ];
        (branches[0].child, branches[1].child) = (left, right);
        let znode = self.zm(root);
        znode.dirty = true;
        znode.branches.extend(branches);
        self.dirty_cnt += 1;
        self.root.at = NodeAt::default();
        self.root.child = root;
        self.renumber_children(root, 0);
    }
}
