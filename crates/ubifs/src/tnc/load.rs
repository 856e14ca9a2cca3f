//! Reading index nodes and what they lead to.
//!
//! Follows `fs/ubifs/tnc_misc.c` (`read_znode`, `ubifs_tnc_read_node`) and `tnc.c` (`fallible_read_node`).

use super::{Branch, Index, Leaf, NodeAt, NO_ZNODE};
use crate::error::{AtPlace, Fail, Res, NOT_FOUND};
use crate::format::*;
use crate::geometry::Geometry;
use crate::journal::Journal;
use crate::key::{Key, DATA_KEY, DENT_KEY, INO_KEY, XENT_KEY};
use crate::leb::Lebs;
use crate::node::check_node;

/// Kind of the node on flash to which a key of this type leads.
fn node_kind(key: Key) -> u8 {
    match key.kind() {
        INO_KEY => INO_NODE,
        DATA_KEY => DATA_NODE,
        DENT_KEY => DENT_NODE,
        _ => XENT_NODE,
    }
}

/// Checks an entry node (`ubifs_validate_entry`).
pub(crate) fn validate_entry(node: &[u8]) -> Res<()> {
    let bad = Err(Fail::corrupt("bad entry node"));
    if node.len() <= dent::NAME {
        return bad;
    }
    let name_len = usize::from(get_u16(node, dent::NLEN));
    let kind = Key::read(node, KEY_AT).kind();
    let len = get_u32(node, header::LEN) as usize;
    if name_len > NAME_BYTES_MAX || len != dent::NAME + name_len + 1 || node.len() < len {
        return bad;
    }
    let name = &node[dent::NAME..dent::NAME + name_len];
    let wrong = node[dent::NAME + name_len] != 0
        || node[dent::TYPE] > 6
        || (kind == XENT_KEY && name.contains(&0))
        || get_u64(node, dent::INUM) > u64::from(u32::MAX)
        || !matches!(kind, DENT_KEY | XENT_KEY);
    if wrong {
        bad
    } else {
        Ok(())
    }
}

/// The name in an entry node that was validated.
pub(crate) fn entry_name(node: &[u8]) -> &[u8] {
    let len = usize::from(get_u16(node, dent::NLEN));
    node.get(dent::NAME..dent::NAME + len).unwrap_or(&[])
}

fn check_branch(geo: &Geometry, level: u16, before: Option<Key>, branch: &Branch) -> Res<()> {
    let NodeAt { lnum, offs, len } = branch.at;
    let end = u64::from(offs) + u64::from(len);
    if !geo.is_main(lnum) || end > u64::from(geo.leb_bytes) || offs % 8 != 0 || len < HEADER_BYTES {
        return Err(Fail::corrupt("bad branch of an index node"));
    }
    if branch.key.kind() > XENT_KEY {
        return Err(Fail::corrupt("bad key in an index node"));
    }
    if level == 0 {
        let range = geo.node_range(node_kind(branch.key));
        if !range.is_some_and(|(least, most)| (least..=most).contains(&len)) {
            return Err(Fail::corrupt("bad length in an index node"));
        }
    }
    match before {
        Some(before) if before > branch.key || (before == branch.key && !before.is_hashed()) => {
            Err(Fail::corrupt("keys of an index node out of order"))
        }
        _ => Ok(()),
    }
}

impl Index {
    /// The root of the index.
    pub fn root_znode(&mut self, lebs: &Lebs) -> Res<u32> {
        match self.root.child {
            NO_ZNODE => {
                let id = self.read_znode(lebs, self.root.at, NO_ZNODE, 0)?;
                self.root.child = id;
                Ok(id)
            }
            id => Ok(id),
        }
    }

    /// The znode below branch `n`.
    pub fn child_znode(&mut self, lebs: &Lebs, id: u32, n: usize) -> Res<u32> {
        let branch = &self.z(id).branches[n];
        if branch.child != NO_ZNODE {
            return Ok(branch.child);
        }
        let at = branch.at;
        let child = self.read_znode(lebs, at, id, n as u32)?;
        if self.z(child).level + 1 != self.z(id).level || self.z(child).branches.is_empty() {
            self.release(child);
            return Err(Fail::corrupt("index node of a wrong level")).at(at.lnum, at.offs);
        }
        self.zm(id).branches[n].child = child;
        Ok(child)
    }

    fn read_znode(&mut self, lebs: &Lebs, at: NodeAt, parent: u32, iip: u32) -> Res<u32> {
        let mut node = std::mem::take(&mut self.node_buffer);
        let read = lebs.read_node(&mut node, IDX_NODE, at.lnum, at.offs, at.len);
        let result = read.and_then(|()| self.unpack_znode(lebs, &node, parent, iip)).at(at.lnum, at.offs);
        self.node_buffer = node;
        result
    }

    fn unpack_znode(&mut self, lebs: &Lebs, node: &[u8], parent: u32, iip: u32) -> Res<u32> {
        let children = u32::from(get_u16(node, idx::CHILD_CNT));
        let level = get_u16(node, idx::LEVEL);
        if children == 0 || children > lebs.geo.fanout || level > LEVELS_MAX {
            return Err(Fail::corrupt("bad index node"));
        }
        if (node.len() as u32) < idx_node_bytes(children) {
            return Err(Fail::corrupt("short index node"));
        }
        let id = self.allocate(parent, level, lebs.geo.fanout);
        self.zm(id).iip = iip;
        for i in 0..children as usize {
            let from = idx::BRANCHES + i * (BRANCH_BYTES + KEY_BYTES) as usize;
            let at = NodeAt { lnum: get_u32(node, from), offs: get_u32(node, from + 4), len: get_u32(node, from + 8) };
            let branch = Branch::leaf(Key::read(node, from + 12), at);
            let before = self.z(id).branches.last().map(|branch| branch.key);
            if let Err(fail) = check_branch(&lebs.geo, level, before, &branch) {
                self.release(id);
                return Err(fail);
            }
            self.zm(id).branches.push(branch);
        }
        Ok(id)
    }

    /// Brings the entry node of a branch into memory. `false`: it is not on flash any more (only during replay).
    pub(super) fn load_entry(&mut self, lebs: &Lebs, journal: &Journal, id: u32, n: usize) -> Res<bool> {
        let branch = &self.z(id).branches[n];
        if branch.leaf.is_some() {
            return Ok(true);
        }
        let (key, at) = (branch.key, branch.at);
        let mut node = std::mem::take(&mut self.entry_buffer);
        let read = if self.replaying {
            lebs.try_read_entry(key, at, &mut node)
        } else {
            journal.read_leaf(lebs, key, at, &mut node).map(|()| true)
        };
        let loaded = read.and_then(|is_there| {
            if is_there {
                validate_entry(&node).at(at.lnum, at.offs).of_inode(key.ino)?;
                self.zm(id).branches[n].leaf = Some(Box::new(Leaf(node.clone().into_boxed_slice())));
            }
            Ok(is_there)
        });
        self.entry_buffer = node;
        loaded
    }

    /// The entry node of a branch.
    pub(super) fn entry(&mut self, lebs: &Lebs, journal: &Journal, id: u32, n: usize) -> Res<&[u8]> {
        if !self.load_entry(lebs, journal, id, n)? {
            return Err(NOT_FOUND);
        }
        self.z(id).branches[n].leaf.as_ref().map(|leaf| &leaf.0[..]).ok_or(NOT_FOUND)
    }
}

impl Journal {
    // ---- what the index leads to -------------------------------------------------------------------------------

    /// Reads the node that `key` leads to, from a write buffer if it is still there.
    pub fn read_leaf(&self, lebs: &Lebs, key: Key, at: NodeAt, node: &mut Vec<u8>) -> Res<()> {
        let kind = node_kind(key);
        let read = match self.head_of_bud(lebs, at.lnum) {
            Some(head) => self.read_node_of_head(lebs, head, node, kind, at),
            // Entries are read with the lock.
            None if key.is_hashed() => lebs.read_node(node, kind, at.lnum, at.offs, at.len),
            None => lebs.read_node_twice(node, kind, at.lnum, at.offs, at.len),
        };
        read.of_inode(key.ino)?;
        if Key::read(node, KEY_AT) != key {
            let other = Err(Fail::corrupt("node with another key than the index says"));
            return other.at(at.lnum, at.offs).of_inode(key.ino);
        }
        Ok(())
    }
}

impl Lebs {
    /// Reads an entry node that may not exist any more: during replay the index can still lead to nodes that were
    /// overwritten since the last commit. Returns `false` when there is no such node at this place.
    pub(super) fn try_read_entry(&self, key: Key, at: NodeAt, node: &mut Vec<u8>) -> Res<bool> {
        if at.len < HEADER_BYTES || u64::from(at.offs) + u64::from(at.len) > u64::from(self.geo.leb_bytes) {
            return Ok(false);
        }
        node.resize(at.len as usize, 0);
        // A read-only mount meets pages whose ECC is missing after a power cut; Linux fails with an I/O error there.
        self.read_checked(at.lnum, at.offs, node)?;
        let is_node = check_node(&self.geo, node, at.offs, true).is_ok()
            && node[header::TYPE] == node_kind(key)
            && get_u32(node, header::LEN) == at.len;
        Ok(is_node && Key::read(node, KEY_AT) == key)
    }
}
