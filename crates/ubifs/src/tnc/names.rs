//! Entries whose names have the same hash: they stand in the order of their names.
//!
//! Follows `fs/ubifs/tnc.c` (`resolve_collision`, `fallible_resolve_collision`).

use super::load::entry_name;
use super::{Index, Position};
use crate::error::{Res, NOT_FOUND};
use crate::format::get_u32;
use crate::journal::Journal;
use crate::key::Key;
use crate::leb::Lebs;
use std::cmp::Ordering;

/// `true` and the position of the branch with the name, or `false` and the position behind which the name belongs.
type Resolved = (bool, Position);

impl Index {
    /// How the name of an entry compares with `name`. `None`: the entry is not on flash any more (only during replay).
    fn compare_name(
        &mut self,
        lebs: &Lebs,
        journal: &Journal,
        position: Position,
        name: &[u8],
    ) -> Res<Option<Ordering>> {
        let n = position.n as usize;
        if !self.load_entry(lebs, journal, position.znode, n)? {
            return Ok(None);
        }
        let entry = self.z(position.znode).branches[n].leaf.as_ref().ok_or(NOT_FOUND)?;
        Ok(Some(entry_name(&entry.0).cmp(name)))
    }

    /// Finds the entry with this name among the branches with `key`. `start` is one of those branches.
    pub(super) fn resolve_name(
        &mut self,
        lebs: &Lebs,
        journal: &Journal,
        key: Key,
        start: Position,
        name: &[u8],
        adding: bool,
    ) -> Res<Resolved> {
        if self.replaying {
            return self.resolve_name_in_replay(lebs, journal, key, start, name, adding);
        }
        let mut position = start;
        match self.compare_name(lebs, journal, start, name)? {
            Some(Ordering::Equal) => Ok((true, start)),
            Some(Ordering::Greater) => loop {
                let Some(before) = self.previous(lebs, position)? else {
                    return Ok((false, Position { n: -1, ..position }));
                };
                if self.key_at(before) != key {
                    return Ok((false, self.behind(before, position)));
                }
                position = before;
                match self.compare_name(lebs, journal, position, name)? {
                    Some(Ordering::Equal) => return Ok((true, position)),
                    Some(Ordering::Less) => return Ok((false, position)),
                    _ => {}
                }
            },
            _ => loop {
                let Some(after) = self.next(lebs, position)? else { return Ok((false, position)) };
                if self.key_at(after) != key {
                    return Ok((false, position));
                }
                match self.compare_name(lebs, journal, after, name)? {
                    Some(Ordering::Equal) => return Ok((true, after)),
                    Some(Ordering::Greater) => return Ok((false, position)),
                    _ => position = after,
                }
            },
        }
    }

    /// The position behind `before` and in front of `after`. When the two are in different znodes it is in the znode of
    /// `after`.
    fn behind(&self, before: Position, after: Position) -> Position {
        if before.n as usize == self.z(before.znode).branches.len() - 1 {
            Position { n: -1, ..after }
        } else {
            before
        }
    }

    /// Does the same during a replay, when entry nodes may be missing on flash because garbage collection has moved or
    /// dropped them since the last commit. The name of a missing node cannot be read, so it may be the name that is
    /// sought.
    fn resolve_name_in_replay(
        &mut self,
        lebs: &Lebs,
        journal: &Journal,
        key: Key,
        start: Position,
        name: &[u8],
        adding: bool,
    ) -> Res<Resolved> {
        let mut missing = None;
        let mut unsure = false;
        let first = self.compare_name(lebs, journal, start, name)?;
        match first {
            Some(Ordering::Equal) => return Ok((true, start)),
            None => {
                missing = Some(start);
                unsure = true;
            }
            Some(_) if !adding => unsure = true,
            Some(_) => {}
        }
        let mut result = start;
        if first == Some(Ordering::Greater) || unsure {
            loop {
                let Some(before) = self.previous(lebs, result)? else {
                    result.n = -1;
                    break;
                };
                if self.key_at(before) != key {
                    result = self.behind(before, result);
                    break;
                }
                result = before;
                match self.compare_name(lebs, journal, result, name)? {
                    Some(Ordering::Equal) => return Ok((true, result)),
                    None => missing = Some(result),
                    Some(_) if !adding => {}
                    Some(Ordering::Less) => break,
                    Some(_) => unsure = false,
                }
            }
        }
        if first == Some(Ordering::Less) || unsure {
            result = start;
            while let Some(after) = self.next(lebs, result)? {
                if self.key_at(after) != key {
                    break;
                }
                match self.compare_name(lebs, journal, after, name)? {
                    Some(Ordering::Equal) => return Ok((true, after)),
                    Some(Ordering::Greater) => break,
                    Some(Ordering::Less) => {}
                    None => missing = Some(after),
                }
                result = after;
            }
        }
        match missing {
            Some(missing) if !adding => Ok((true, missing)),
            _ => Ok((false, result)),
        }
    }

    /// Reads the entry with this key and name.
    pub fn lookup_name(
        &mut self,
        lebs: &Lebs,
        journal: &Journal,
        key: Key,
        name: &[u8],
        node: &mut Vec<u8>,
    ) -> Res<()> {
        self.locate(lebs, journal, key, node)?;
        if entry_name(node) == name {
            return Ok(());
        }
        let (found, start) = self.find(lebs, key)?;
        if !found {
            return Err(NOT_FOUND);
        }
        let (found, position) = self.resolve_name(lebs, journal, key, start, name, false)?;
        if !found {
            return Err(NOT_FOUND);
        }
        node.clear();
        node.extend_from_slice(self.entry(lebs, journal, position.znode, position.n as usize)?);
        Ok(())
    }

    /// Reads the entry of a name that the VFS has in its cache of names, which is why the kernel reads none. So an entry that waits
    /// in a write buffer is not kept in memory: who removes it finds it on flash if the buffer has been written by then
    /// (`ubifs_jnl_update`, `ubifs_jnl_rename` of `fs/ubifs/journal.c`). One that is on flash is read here and not there.
    pub fn known_name(&mut self, lebs: &Lebs, journal: &Journal, key: Key, name: &[u8], node: &mut Vec<u8>) -> Res<()> {
        let (found, position) = self.find(lebs, key)?;
        if found {
            let branch = &self.z(position.znode).branches[position.n as usize];
            if branch.leaf.is_none() && journal.is_buffered(lebs, branch.at) {
                journal.read_leaf(lebs, key, branch.at, node)?;
                if entry_name(node) == name {
                    return Ok(());
                }
            }
        }
        self.lookup_name(lebs, journal, key, name, node)
    }

    /// Reads the entry that follows `key` and `name` in the same directory, or the first one from `key` on if the name is
    /// empty. `NoEnt`: there is none (`ubifs_tnc_next_ent`).
    pub fn next_entry(&mut self, lebs: &Lebs, journal: &Journal, key: Key, name: &[u8], node: &mut Vec<u8>) -> Res<()> {
        let (found, mut position) = self.find(lebs, key)?;
        if !name.is_empty() {
            if found {
                position = self.resolve_name(lebs, journal, key, position, name, false)?.1;
            }
            position = self.next(lebs, position)?.ok_or(NOT_FOUND)?;
        } else if !found {
            position = self.next(lebs, position)?.ok_or(NOT_FOUND)?;
        }
        let at = self.key_at(position);
        if at.ino != key.ino || at.kind() != key.kind() {
            return Err(NOT_FOUND);
        }
        node.clear();
        node.extend_from_slice(self.entry(lebs, journal, position.znode, position.n as usize)?);
        debug_assert!(get_u32(node, 0) == crate::format::NODE_MAGIC);
        Ok(())
    }
}
