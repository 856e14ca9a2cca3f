//! Writing the index into the gaps of its own LEBs, when there is no empty LEB left.
//!
//! Follows `fs/ubifs/tnc_commit.c` (`layout_in_gaps`, `layout_leb_in_gaps`, `fill_gap`).

use super::{Index, NodeAt};
use crate::error::{Fail, Res, NO_SPACE};
use crate::format::*;
use crate::key::Key;
use crate::leb::Lebs;
use crate::lprops::Change;
use crate::node::pad;
use crate::scan::ScannedLeb;
use crate::space::Space;

impl Index {
    /// Fills gaps until what is left fits into the empty LEBs there are.
    pub(super) fn lay_out_in_gaps(&mut self, lebs: &mut Lebs, space: &mut Space, znodes: usize) -> Res<()> {
        let mut left = znodes;
        loop {
            match self.fill_gaps_of_one_leb(lebs, space) {
                Ok(written) => left -= written.min(left),
                Err(NO_SPACE) => return Ok(()),
                Err(fail) => return Err(fail),
            }
            if self.index_lebs_needed(lebs, left) <= self.commit.lebs.len() {
                return Ok(());
            }
        }
    }

    /// Fills the gaps of the dirtiest index LEB with changed znodes. Returns how many znodes found a place.
    fn fill_gaps_of_one_leb(&mut self, lebs: &mut Lebs, space: &mut Space) -> Res<usize> {
        let lnum = space.find_dirty_index_leb(lebs)?;
        self.commit.gap_lebs.push(lnum);
        let mut leb = lebs.scan(lnum, 0)?;
        let result = self.fill_gaps(lebs, &mut leb);
        let outcome = match result {
            Ok((written, end, dirt)) => space.write_filled(lebs, &leb, written, end, dirt),
            Err(fail) => Err(fail),
        };
        lebs.recycle(leb);
        outcome
    }

    /// Puts znodes between the nodes that must stay. Returns how many, where the LEB ends now and how much of it is dirt.
    fn fill_gaps(&mut self, lebs: &mut Lebs, leb: &mut ScannedLeb) -> Res<(usize, u32, u32)> {
        let (mut written, mut dirt, mut gap_start) = (0, 0, 0);
        for i in 0..leb.nodes.len() {
            let node = leb.nodes[i];
            if node.kind != IDX_NODE {
                return Err(Fail::corrupt("LEB of the index with other nodes"));
            }
            let bytes = leb.node(&node);
            let (key, level) = (Key::read(bytes, idx::BRANCHES + BRANCH_BYTES as usize), get_u16(bytes, idx::LEVEL));
            let state = self.index_node_state(lebs, key, level, leb.lnum, node.offs)?;
            let is_kept = state.is_some() || self.old_idx.contains(&(leb.lnum, node.offs));
            if is_kept {
                if state != Some(false) {
                    dirt += align8(node.len);
                }
                let (count, pad_bytes, _) = self.fill_gap(lebs, leb, gap_start, node.offs)?;
                written += count;
                dirt += pad_bytes;
                gap_start = align8(node.offs + node.len);
            }
        }
        let (count, pad_bytes, end) = self.fill_gap(lebs, leb, gap_start, lebs.geo.leb_bytes)?;
        Ok((written + count, end, dirt + pad_bytes))
    }

    /// Fills one gap with changed znodes. Returns the number of znodes, the bytes of padding, and where the last node
    /// or the padding ends.
    fn fill_gap(&mut self, lebs: &mut Lebs, leb: &mut ScannedLeb, start: u32, end: u32) -> Res<(usize, u32, u32)> {
        let mut at = start;
        let mut written = 0;
        while let Some(&id) = self.commit.znodes.get(self.commit.rest) {
            let len = self.znode_bytes(id);
            if len >= end - at {
                break;
            }
            self.keep_old_place(id);
            self.pack_znode(lebs, id, &mut leb.bytes[at as usize..])?;
            leb.bytes[(at + len) as usize..align8(at + len) as usize].fill(0);
            self.place_znode(id, NodeAt { lnum: leb.lnum, offs: at, len });
            at += align8(len);
            self.commit.rest += 1;
            written += 1;
        }
        let padded = if end == lebs.geo.leb_bytes { align(at, lebs.geo.min_io) } else { end };
        if padded > at {
            pad(&mut leb.bytes[at as usize..padded as usize]);
        }
        Ok((written, padded - at, padded))
    }
}

impl Space {
    /// Writes a LEB of the index whose gaps were filled, and says so in its properties. Returns `written`.
    fn write_filled(&mut self, lebs: &mut Lebs, leb: &ScannedLeb, written: usize, end: u32, dirt: u32) -> Res<usize> {
        let free = lebs.geo.leb_bytes - end;
        let change = Change { free: Some(free), dirty: Some(dirt), ..Change::default() };
        if written == 0 {
            // No znode fitted, so the LEB stays as it is. If it had counted as free, because its nodes were all to
            // move, it is in use again.
            if self.read_lp(lebs, leb.lnum)?.free == lebs.geo.leb_bytes {
                self.change_lp(lebs, leb.lnum, change)?;
            }
            return Ok(0);
        }
        self.change_lp(lebs, leb.lnum, change)?;
        lebs.change(leb.lnum, &leb.bytes[..end as usize])?;
        Ok(written)
    }
}
