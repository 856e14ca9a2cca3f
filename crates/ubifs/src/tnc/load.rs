//! Reading index nodes and what they lead to.
//!
//! Follows `fs/ubifs/tnc_misc.c` (`read_znode`, `ubifs_tnc_read_node`) and `tnc.c` (`fallible_read_node`).

use super::{Branch, Leaf, NodeAt, NO_ZNODE};
use crate::core::Core;
use crate::error::{AtPlace, Fail, Res, NOT_FOUND};
use crate::format::*;
use crate::key::{Key, DATA_KEY, DENT_KEY, INO_KEY, XENT_KEY};
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

impl Core {
    /// The root of the index.
    pub fn root_znode(&mut self) -> Res<u32> {
        match self.tnc.root.child {
            NO_ZNODE => {
                let id = self.read_znode(self.tnc.root.at, NO_ZNODE, 0)?;
                self.tnc.root.child = id;
                Ok(id)
            }
            id => Ok(id),
        }
    }

    /// The znode below branch `n`.
    pub fn child_znode(&mut self, id: u32, n: usize) -> Res<u32> {
        let branch = &self.tnc.z(id).branches[n];
        if branch.child != NO_ZNODE {
            return Ok(branch.child);
        }
        let at = branch.at;
        let child = self.read_znode(at, id, n as u32)?;
        if self.tnc.z(child).level + 1 != self.tnc.z(id).level || self.tnc.z(child).branches.is_empty() {
            self.tnc.release(child);
            return Err(Fail::corrupt("index node of a wrong level")).at(at.lnum, at.offs);
        }
        self.tnc.zm(id).branches[n].child = child;
        Ok(child)
    }

    fn read_znode(&mut self, at: NodeAt, parent: u32, iip: u32) -> Res<u32> {
        let mut node = std::mem::take(&mut self.index_buffer);
        let read = self.lebs.read_node(&mut node, IDX_NODE, at.lnum, at.offs, at.len);
        let result = read.and_then(|()| self.unpack_znode(&node, parent, iip)).at(at.lnum, at.offs);
        self.index_buffer = node;
        result
    }

    fn unpack_znode(&mut self, node: &[u8], parent: u32, iip: u32) -> Res<u32> {
        let children = u32::from(get_u16(node, idx::CHILD_CNT));
        let level = get_u16(node, idx::LEVEL);
        if children == 0 || children > self.lebs.geo.fanout || level > LEVELS_MAX {
            return Err(Fail::corrupt("bad index node"));
        }
        if (node.len() as u32) < idx_node_bytes(children) {
            return Err(Fail::corrupt("short index node"));
        }
        let id = self.tnc.allocate(parent, level, self.lebs.geo.fanout);
        self.tnc.zm(id).iip = iip;
        for i in 0..children as usize {
            let from = idx::BRANCHES + i * (BRANCH_BYTES + KEY_BYTES) as usize;
            let at = NodeAt { lnum: get_u32(node, from), offs: get_u32(node, from + 4), len: get_u32(node, from + 8) };
            let branch = Branch::leaf(Key::read(node, from + 12), at);
            let before = self.tnc.z(id).branches.last().map(|branch| branch.key);
            if let Err(fail) = self.check_branch(level, before, &branch) {
                self.tnc.release(id);
                return Err(fail);
            }
            self.tnc.zm(id).branches.push(branch);
        }
        Ok(id)
    }

    fn check_branch(&self, level: u16, before: Option<Key>, branch: &Branch) -> Res<()> {
        let NodeAt { lnum, offs, len } = branch.at;
        let end = u64::from(offs) + u64::from(len);
        if !self.lebs.geo.is_main(lnum)
            || end > u64::from(self.lebs.geo.leb_bytes)
            || offs % 8 != 0
            || len < HEADER_BYTES
        {
            return Err(Fail::corrupt("bad branch of an index node"));
        }
        if branch.key.kind() > XENT_KEY {
            return Err(Fail::corrupt("bad key in an index node"));
        }
        if level == 0 {
            let range = self.lebs.geo.node_range(node_kind(branch.key));
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

    // ---- what the index leads to -------------------------------------------------------------------------------

    /// Reads the node that `key` leads to, from a write buffer if it is still there.
    pub fn read_leaf(&mut self, key: Key, at: NodeAt, node: &mut Vec<u8>) -> Res<()> {
        let kind = node_kind(key);
        match self.journal.head_of_bud(&self.lebs, at.lnum) {
            Some(head) => self.journal.read_node_of_head(&mut self.lebs, head, node, kind, at)?,
            None => self.lebs.read_node(node, kind, at.lnum, at.offs, at.len)?,
        }
        if Key::read(node, KEY_AT) != key {
            return Err(Fail::corrupt("node with another key than the index says")).at(at.lnum, at.offs);
        }
        Ok(())
    }

    /// Reads an entry node that may not exist any more: during replay the index can still lead to nodes that were
    /// overwritten since the last commit. Returns `false` when there is no such node at this place.
    pub(super) fn try_read_entry(&mut self, key: Key, at: NodeAt, node: &mut Vec<u8>) -> Res<bool> {
        if at.len < HEADER_BYTES || u64::from(at.offs) + u64::from(at.len) > u64::from(self.lebs.geo.leb_bytes) {
            return Ok(false);
        }
        node.resize(at.len as usize, 0);
        // A read-only mount meets pages whose ECC is missing after a power cut; Linux fails with an I/O error there.
        self.lebs.read_checked(at.lnum, at.offs, node)?;
        let is_node = check_node(&self.lebs.geo, node, at.offs, true).is_ok()
            && node[header::TYPE] == node_kind(key)
            && get_u32(node, header::LEN) == at.len;
        Ok(is_node && Key::read(node, KEY_AT) == key)
    }

    /// Brings the entry node of a branch into memory. `false`: it is not on flash any more (only during replay).
    pub(super) fn load_entry(&mut self, id: u32, n: usize) -> Res<bool> {
        let branch = &self.tnc.z(id).branches[n];
        if branch.leaf.is_some() {
            return Ok(true);
        }
        let (key, at) = (branch.key, branch.at);
        let mut node = std::mem::take(&mut self.entry_buffer);
        let read = match self.replaying {
            true => self.try_read_entry(key, at, &mut node),
            false => self.read_leaf(key, at, &mut node).map(|()| true),
        };
        let loaded = read.and_then(|is_there| {
            if is_there {
                validate_entry(&node)?;
                self.tnc.zm(id).branches[n].leaf = Some(Box::new(Leaf(node.clone().into_boxed_slice())));
            }
            Ok(is_there)
        });
        self.entry_buffer = node;
        loaded
    }

    /// The entry node of a branch.
    pub(super) fn entry(&mut self, id: u32, n: usize) -> Res<&[u8]> {
        if !self.load_entry(id, n)? {
            return Err(NOT_FOUND);
        }
        self.tnc.z(id).branches[n].leaf.as_ref().map(|leaf| &leaf.0[..]).ok_or(NOT_FOUND)
    }
}
