//! Finding keys.
//!
//! Follows `fs/ubifs/tnc.c` (`ubifs_lookup_level0`, `lookup_level0_dirty`, `ubifs_tnc_locate`, `is_leaf_node_in_tnc`,
//! `lookup_znode`).

use super::{Index, NodeAt, Znode, NO_ZNODE};
use crate::error::{Res, NOT_FOUND};
use crate::journal::Journal;
use crate::key::Key;
use crate::leb::Lebs;
use crate::space::Space;

/// A branch of a znode of level 0; `n` is -1 when the key sought is below all that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub znode: u32,
    pub n: i32,
}

/// Znodes with up to so many branches are searched by looking at every branch. No comparison depends on the one before
/// it, so the host's CPU fetches missing cache lines in parallel and has no branch to predict.
const FEW_BRANCHES: usize = 16;

/// Finds the branch with this key (`true`), or else the one behind which the key belongs.
#[inline]
fn search(znode: &Znode, key: Key) -> (bool, i32) {
    let branches = &znode.branches[..];
    if branches.len() <= FEW_BRANCHES && !key.is_hashed() {
        let order = key.order();
        let before = branches.iter().filter(|branch| branch.key.order() < order).count();
        let exact = branches.get(before).is_some_and(|branch| branch.key == key);
        return (exact, before as i32 - i32::from(!exact));
    }
    // The same binary search as the kernel's: which one of several equal keys is found depends on the way of searching.
    let (mut begin, mut end) = (0, branches.len());
    while begin < end {
        let middle = (begin + end) / 2;
        match key.cmp(&branches[middle].key) {
            std::cmp::Ordering::Greater => begin = middle + 1,
            std::cmp::Ordering::Less => end = middle,
            std::cmp::Ordering::Equal => return (true, middle as i32),
        }
    }
    (false, end as i32 - 1)
}

impl Index {
    /// Finds a key. Of several branches with the same key any may be found.
    pub(crate) fn find(&mut self, lebs: &Lebs, key: Key) -> Res<(bool, Position)> {
        let (exact, position) = self.descend(lebs, key)?;
        self.step_back_if_hashed(lebs, key, exact, position)
    }

    /// Finds a key as [`Index::find`] does, and marks all znodes on the way as dirty, so that the commit writes them
    /// anew.
    pub(super) fn find_dirty(&mut self, lebs: &Lebs, space: &mut Space, key: Key) -> Res<(bool, Position)> {
        let (exact, position) = self.descend_dirty(lebs, space, key)?;
        let found = self.step_back_if_hashed(lebs, key, exact, position)?;
        if found.0 {
            self.dirty_bottom_up(lebs, space, found.1.znode)?;
        }
        Ok(found)
    }

    fn descend(&mut self, lebs: &Lebs, key: Key) -> Res<(bool, Position)> {
        let mut znode = self.root_znode(lebs)?;
        loop {
            let (exact, n) = search(self.z(znode), key);
            if self.z(znode).level == 0 {
                return Ok((exact, Position { znode, n }));
            }
            znode = self.child_znode(lebs, znode, n.max(0) as usize)?;
        }
    }

    fn descend_dirty(&mut self, lebs: &Lebs, space: &mut Space, key: Key) -> Res<(bool, Position)> {
        let mut znode = self.root_znode(lebs)?;
        loop {
            self.dirty_znode(lebs, space, znode)?;
            let (exact, n) = search(self.z(znode), key);
            if self.z(znode).level == 0 {
                return Ok((exact, Position { znode, n }));
            }
            znode = self.child_znode(lebs, znode, n.max(0) as usize)?;
        }
    }

    /// Steps back to the last branch of the previous znode when that has the key: branches with the same hashed key may
    /// spread over several znodes, and a search that ends before the first branch of a znode has missed them.
    fn step_back_if_hashed(&mut self, lebs: &Lebs, key: Key, exact: bool, position: Position) -> Res<(bool, Position)> {
        if exact || !key.is_hashed() || position.n != -1 {
            return Ok((exact, position));
        }
        match self.previous(lebs, position)? {
            Some(before) if self.key_at(before) == key => Ok((true, before)),
            _ => Ok((false, position)),
        }
    }

    pub(crate) fn key_at(&self, position: Position) -> Key {
        self.z(position.znode).branches[position.n as usize].key
    }

    pub(crate) fn at(&self, position: Position) -> NodeAt {
        self.z(position.znode).branches[position.n as usize].at
    }

    /// Whether the index has this key.
    pub fn has_key(&mut self, lebs: &Lebs, key: Key) -> Res<bool> {
        Ok(self.find(lebs, key)?.0)
    }

    /// Finds the node with this key and reads it.
    pub fn locate(&mut self, lebs: &Lebs, journal: &Journal, key: Key, node: &mut Vec<u8>) -> Res<NodeAt> {
        let (found, position) = self.find(lebs, key)?;
        if !found {
            return Err(NOT_FOUND);
        }
        let at = self.at(position);
        if key.is_hashed() {
            node.clear();
            node.extend_from_slice(self.entry(lebs, journal, position.znode, position.n as usize)?);
        } else {
            journal.read_leaf(lebs, key, at, node)?;
        }
        Ok(at)
    }

    /// Whether the index leads to the node of this key at this place.
    pub fn has_leaf(&mut self, lebs: &Lebs, key: Key, lnum: u32, offs: u32) -> Res<bool> {
        let (found, start) = self.find(lebs, key)?;
        if !found {
            return Ok(false);
        }
        self.seek_place(lebs, key, start, lnum, offs).map(|found| found.is_some())
    }

    /// Finds, among the branches with this key, the one that leads to this place on flash.
    pub(super) fn seek_place(
        &mut self,
        lebs: &Lebs,
        key: Key,
        start: Position,
        lnum: u32,
        offs: u32,
    ) -> Res<Option<Position>> {
        let is_there = |index: &Self, position: Position| {
            let at = index.at(position);
            (at.lnum, at.offs) == (lnum, offs)
        };
        if is_there(self, start) {
            return Ok(Some(start));
        }
        if !key.is_hashed() {
            return Ok(None);
        }
        let mut position = start;
        while let Some(before) = self.previous(lebs, position)? {
            if self.key_at(before) != key {
                break;
            }
            if is_there(self, before) {
                return Ok(Some(before));
            }
            position = before;
        }
        let mut position = start;
        while let Some(after) = self.next(lebs, position)? {
            if self.key_at(after) != key {
                break;
            }
            if is_there(self, after) {
                return Ok(Some(after));
            }
            position = after;
        }
        Ok(None)
    }

    // ---- index nodes -------------------------------------------------------------------------------------------

    /// The znode of the index node at this place, which has this first key and level.
    pub(super) fn find_znode(&mut self, lebs: &Lebs, key: Key, level: u16, lnum: u32, offs: u32) -> Res<Option<u32>> {
        let mut znode = self.root_znode(lebs)?;
        let root = self.root.at;
        if root.len > 0 && (root.lnum, root.offs) == (lnum, offs) {
            return Ok(Some(znode));
        }
        if level >= self.z(znode).level {
            return Ok(None);
        }
        let mut n;
        loop {
            n = search(self.z(znode), key).1;
            if n < 0 {
                let Some(left) = self.left_of(lebs, znode)? else { return Ok(None) };
                znode = left;
                n = search(self.z(znode), key).1.max(0);
            }
            if self.z(znode).level == level + 1 {
                break;
            }
            znode = self.child_znode(lebs, znode, n as usize)?;
        }
        let leads = |index: &Self, znode: u32, n: usize| {
            let at = index.z(znode).branches[n].at;
            at.len > 0 && (at.lnum, at.offs) == (lnum, offs)
        };
        let (start, start_n) = (znode, n as usize);
        if leads(self, start, start_n) {
            return self.child_znode(lebs, start, start_n).map(Some);
        }
        if !key.is_hashed() {
            return Ok(None);
        }
        let (mut znode, mut n) = (start, start_n);
        loop {
            if n > 0 {
                n -= 1;
            } else {
                let Some(left) = self.left_of(lebs, znode)? else { break };
                znode = left;
                n = self.z(znode).branches.len() - 1;
            }
            if leads(self, znode, n) {
                return self.child_znode(lebs, znode, n).map(Some);
            }
            if self.z(znode).branches[n].key < key {
                break;
            }
        }
        let (mut znode, mut n) = (start, start_n);
        loop {
            n += 1;
            if n >= self.z(znode).branches.len() {
                let Some(right) = self.right_of(lebs, znode)? else { break };
                (znode, n) = (right, 0);
            }
            if leads(self, znode, n) {
                return self.child_znode(lebs, znode, n).map(Some);
            }
            if self.z(znode).branches[n].key > key {
                break;
            }
        }
        Ok(None)
    }

    /// Marks an index node as dirty because its place on flash is needed: the next commit writes it elsewhere
    /// (`ubifs_dirty_idx_node`).
    pub fn renew_index_node(
        &mut self,
        lebs: &Lebs,
        space: &mut Space,
        key: Key,
        level: u16,
        lnum: u32,
        offs: u32,
    ) -> Res<()> {
        if let Some(znode) = self.find_znode(lebs, key, level, lnum, offs)? {
            self.dirty_bottom_up(lebs, space, znode)?;
        }
        Ok(())
    }

    /// Whether the index in memory knows the index node at this place. `Some(true)`: the node is dirty.
    pub(super) fn index_node_state(
        &mut self,
        lebs: &Lebs,
        key: Key,
        level: u16,
        lnum: u32,
        offs: u32,
    ) -> Res<Option<bool>> {
        let znode = self.find_znode(lebs, key, level, lnum, offs)?;
        debug_assert!(znode != Some(NO_ZNODE));
        Ok(znode.map(|znode| self.z(znode).dirty))
    }
}
