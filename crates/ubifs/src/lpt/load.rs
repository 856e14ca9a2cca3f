//! Reading the tree, and marking what changes.
//!
//! Follows `fs/ubifs/lpt.c` (`ubifs_read_nnode`, `read_pnode`, `ubifs_lpt_lookup`, `ubifs_lpt_lookup_dirty`,
//! `ubifs_lpt_init`).

use super::nodes::{unpack_nnode, unpack_pnode};
use super::{Lpt, Place, FANOUT, FANOUT_SHIFT};
use crate::error::{AtPlace, Res};
use crate::leb::Lebs;
use crate::space::Space;

impl Space {
    /// Reads the table of the LPT area (`lpt_init_rd`).
    pub fn init_lpt_for_reading(&mut self, lebs: &Lebs) -> Res<()> {
        let mut bytes = vec![0; self.lpt.geo.ltab_bytes as usize];
        let at = self.lpt.ltab_at;
        lebs.read_checked(at.lnum, at.offs, &mut bytes)?;
        self.lpt.unpack_ltab(lebs.geo.leb_bytes, &bytes)
    }

    /// Reads, in the big model, the leaves that were saved for a quick start, and frees empty LEBs (`lpt_init_wr`).
    pub fn init_lpt_for_writing(&mut self, lebs: &mut Lebs) -> Res<()> {
        if self.lpt.geo.big {
            let mut bytes = vec![0; self.lpt.geo.lsave_bytes as usize];
            let at = self.lpt.lsave_at;
            lebs.read_checked(at.lnum, at.offs, &mut bytes)?;
            let geo = lebs.geo;
            self.lpt.unpack_lsave(&geo, &bytes)?;
            for i in 0..self.lpt.lsave.len() {
                let lnum = self.lpt.lsave[i];
                self.lpt_lookup(lebs, lnum)?;
            }
        }
        for i in 0..lebs.geo.lpt_lebs {
            if self.lpt.ltab[i as usize].free == lebs.geo.leb_bytes {
                lebs.unmap(i + lebs.geo.lpt_first)?;
            }
        }
        Ok(())
    }

    /// Index of a LEB's properties, after reading them if need be.
    pub fn lpt_lookup(&mut self, lebs: &Lebs, lnum: u32) -> Res<usize> {
        let i = lnum - lebs.geo.main_first;
        self.load_pnode(lebs, i >> FANOUT_SHIFT)?;
        Ok(i as usize)
    }

    /// The same, for a change: the leaf and everything above it will be written by the next commit.
    pub fn lpt_lookup_dirty(&mut self, lebs: &Lebs, lnum: u32) -> Res<usize> {
        let i = lnum - lebs.geo.main_first;
        let pnode = i >> FANOUT_SHIFT;
        if !self.lpt.pnodes[pnode as usize].dirty {
            self.load_pnode(lebs, pnode)?;
            self.make_pnode_dirty(lebs, pnode);
        }
        Ok(i as usize)
    }

    pub(super) fn load_pnode(&mut self, lebs: &Lebs, index: u32) -> Res<()> {
        if self.lpt.pnodes[index as usize].loaded {
            return Ok(());
        }
        for level in (1..=self.lpt.geo.height).rev() {
            self.load_nnode(lebs, level, index >> (FANOUT_SHIFT * level))?;
        }
        self.read_pnode(lebs, index)?;
        self.add_pnode_to_tree(lebs, index);
        Ok(())
    }

    pub(super) fn load_nnode(&mut self, lebs: &Lebs, level: u32, index: u32) -> Res<()> {
        if !self.lpt.node(level, index).loaded {
            self.read_nnode(lebs, level, index)?;
            self.lpt.node(level, index).loaded = true;
        }
        Ok(())
    }

    /// Reads an inner node: its children's places are known afterwards.
    pub(super) fn read_nnode(&mut self, lebs: &Lebs, level: u32, index: u32) -> Res<()> {
        let node = *self.lpt.node(level, index);
        let mut children = [Place::default(); 4];
        if node.lnum != 0 {
            lebs.sim.work_of_mounting(|costs| costs.lpt_node_ns);
            let mut bytes = std::mem::take(&mut self.node_buffer);
            bytes.resize(self.lpt.geo.nnode_bytes as usize, 0);
            let read = lebs.read_checked(node.lnum, node.offs, &mut bytes);
            let unpacked = read.and_then(|()| unpack_nnode(&self.lpt.geo, &lebs.geo, level, index, &bytes));
            self.node_buffer = bytes;
            children = unpacked.at(node.lnum, node.offs)?;
        }
        for (i, place) in children.into_iter().enumerate() {
            let child = index * FANOUT + i as u32;
            if self.lpt.has_node(level - 1, child) {
                let child = self.lpt.node(level - 1, child);
                (child.lnum, child.offs) = (place.lnum, place.offs);
            }
        }
        Ok(())
    }

    /// Reads a leaf: the properties of its LEBs are known afterwards, but it is no part of the tree yet.
    pub(super) fn read_pnode(&mut self, lebs: &Lebs, index: u32) -> Res<()> {
        let node = self.lpt.pnodes[index as usize];
        let mut props = [(lebs.geo.leb_bytes, 0, false); 4];
        if node.lnum != 0 {
            lebs.sim.work_of_mounting(|costs| costs.lpt_node_ns);
            let mut bytes = std::mem::take(&mut self.node_buffer);
            bytes.resize(self.lpt.geo.pnode_bytes as usize, 0);
            let read = lebs.read_checked(node.lnum, node.offs, &mut bytes);
            let unpacked = read.and_then(|()| unpack_pnode(&self.lpt.geo, &lebs.geo, index, &bytes));
            self.node_buffer = bytes;
            props = unpacked.at(node.lnum, node.offs)?;
        }
        for (i, (free, dirty, is_index)) in props.into_iter().enumerate() {
            let lp = &mut self.lpt.props[(index * FANOUT) as usize + i];
            (lp.free, lp.dirty, lp.is_index, lp.is_taken) = (free, dirty, is_index, false);
            lp.category = lp.categorize(&lebs.geo);
        }
        Ok(())
    }

    /// The leaf becomes part of the tree, its LEBs enter their categories.
    pub(super) fn add_pnode_to_tree(&mut self, lebs: &Lebs, index: u32) {
        self.lpt.pnodes[index as usize].loaded = true;
        self.lpt.pnodes_have += 1;
        for i in index * FANOUT..(index + 1) * FANOUT {
            if i >= lebs.geo.main_lebs {
                break;
            }
            let category = self.lpt.props[i as usize].category;
            self.lpt.categories.add(&mut self.lpt.props, i as usize, category);
        }
    }

    // ---- changes -----------------------------------------------------------------------------------------------

    pub(super) fn make_pnode_dirty(&mut self, lebs: &Lebs, index: u32) {
        let first = lebs.geo.lpt_first;
        let lpt = &mut self.lpt;
        if std::mem::replace(&mut lpt.pnodes[index as usize].dirty, true) {
            return;
        }
        lpt.dirty_pnodes += 1;
        let bytes = lpt.geo.pnode_bytes;
        let lnum = lpt.pnodes[index as usize].lnum;
        lpt.add_dirt(first, lnum, bytes);
        self.make_nnodes_dirty(lebs, 1, index >> FANOUT_SHIFT);
    }

    /// Marks an inner node and those above it, up to one that is marked already.
    pub(super) fn make_nnodes_dirty(&mut self, lebs: &Lebs, mut level: u32, mut index: u32) {
        let first = lebs.geo.lpt_first;
        let lpt = &mut self.lpt;
        while level <= lpt.geo.height && !lpt.node(level, index).dirty {
            let node = lpt.node(level, index);
            node.dirty = true;
            let lnum = node.lnum;
            let bytes = lpt.geo.nnode_bytes;
            lpt.add_dirt(first, lnum, bytes);
            if level == lpt.geo.height {
                lpt.make_ltab_dirty(first);
            }
            level += 1;
            index >>= FANOUT_SHIFT;
        }
    }
}

impl Lpt {
    /// Bytes of a LEB of the LPT area are not needed any more.
    pub(super) fn add_dirt(&mut self, lpt_first: u32, lnum: u32, bytes: u32) {
        if let Some(entry) = lnum.checked_sub(lpt_first).and_then(|i| self.ltab.get_mut(i as usize)) {
            entry.dirty += bytes;
        }
    }

    pub(super) fn make_ltab_dirty(&mut self, lpt_first: u32) {
        if !std::mem::replace(&mut self.ltab_dirty, true) {
            self.add_dirt(lpt_first, self.ltab_at.lnum, self.geo.ltab_bytes);
        }
    }

    pub(super) fn make_lsave_dirty(&mut self, lpt_first: u32) {
        if !std::mem::replace(&mut self.lsave_dirty, true) {
            self.add_dirt(lpt_first, self.lsave_at.lnum, self.geo.lsave_bytes);
        }
    }
}
