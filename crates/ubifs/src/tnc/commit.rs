//! Writing the changed index.
//!
//! Follows `fs/ubifs/tnc_commit.c`. First every changed znode gets its place (`layout_in_empty_space`, or the gaps of
//! dirty LEBs when there are no empty ones), then they are written one behind the other. Others may run in between and
//! change the index: the kernel copies a znode that waits to be written before it changes it (`dirty_cow_znode`); here
//! all are packed when they get their places, which comes to the same.

use super::{Flush, Index, Layout, NodeAt, NO_ZNODE};
use crate::error::{Fail, Res, NO_SPACE};
use crate::format::*;
use crate::leb::Lebs;
use crate::lprops::Change;
use crate::node::pad;
use crate::space::Space;

/// What the layout has decided about one znode.
struct Step {
    id: u32,
    at: NodeAt,
    /// With this znode the write buffer is full up to a boundary: this piece is written.
    flush: Option<Flush>,
}

impl Index {
    /// Gives every changed znode its new place; returns the place of the root (`ubifs_tnc_start_commit`).
    pub fn start_commit(&mut self, lebs: &mut Lebs, space: &mut Space) -> Res<NodeAt> {
        let znodes = self.dirty_znodes();
        let count = znodes.len();
        let mut stream = std::mem::take(&mut self.commit.stream);
        stream.clear();
        let new_head = (self.ihead_lnum, self.ihead_offs);
        self.commit = Layout { znodes, new_head, stream, ..Layout::default() };
        if count > 0 {
            match self.allocate_index_lebs(lebs, space, count) {
                Ok(()) => {}
                Err(NO_SPACE) => self.lay_out_in_gaps(lebs, space, count)?,
                Err(fail) => return Err(fail),
            }
            self.lay_out_in_empty_space(lebs, space)?;
            for i in self.commit.used..self.commit.lebs.len() {
                let lnum = self.commit.lebs[i];
                let change = Change { taken: Some(false), index: Some(false), ..Change::default() };
                space.change_lp(lebs, lnum, change)?;
            }
        }
        self.old_idx.clear();
        space.save_dirty_index_lebs(lebs);
        space.budget.old_idx_bytes = self.calc_idx_bytes;
        space.budget.uncommitted_idx = 0;
        space.budget.min_idx_lebs = space.calc_min_idx_lebs(lebs);
        Ok(self.root.at)
    }

    /// Changed znodes in the order in which they are written.
    fn dirty_znodes(&self) -> Vec<u32> {
        let mut znodes = Vec::new();
        let root = self.root.child;
        if root != NO_ZNODE {
            self.add_dirty_znodes(root, &mut znodes);
        }
        znodes
    }

    fn add_dirty_znodes(&self, id: u32, znodes: &mut Vec<u32>) {
        let znode = self.z(id);
        if !znode.dirty {
            return;
        }
        if znode.level > 0 {
            for branch in &znode.branches {
                if branch.child != NO_ZNODE {
                    self.add_dirty_znodes(branch.child, znodes);
                }
            }
        }
        znodes.push(id);
    }

    pub(super) fn index_lebs_needed(&self, lebs: &Lebs, znodes: usize) -> usize {
        let per_head = (lebs.geo.leb_bytes - self.ihead_offs) / lebs.geo.idx_bytes_max;
        znodes.saturating_sub(per_head as usize).div_ceil((lebs.geo.leb_bytes / lebs.geo.idx_bytes_max) as usize)
    }

    fn allocate_index_lebs(&mut self, lebs: &mut Lebs, space: &mut Space, znodes: usize) -> Res<()> {
        for _ in 0..self.index_lebs_needed(lebs, znodes) {
            let lnum = space.find_free_leb_for_index(lebs)?;
            self.commit.lebs.push(lnum);
        }
        Ok(())
    }

    pub(super) fn znode_bytes(&self, id: u32) -> u32 {
        idx_node_bytes(self.z(id).branches.len() as u32)
    }

    /// Sets the place at which the commit will write a znode.
    pub(super) fn place_znode(&mut self, id: u32, at: NodeAt) {
        self.branch_to(id).at = at;
        self.calc_idx_bytes += i64::from(align8(at.len));
        self.dirty_cnt -= 1;
    }

    /// Runs through the znodes that go into empty space, with the buffer of the kernel's writer.
    fn empty_space_steps(&self, lebs: &Lebs) -> Res<Vec<Step>> {
        let commit = &self.commit;
        let leb_bytes = lebs.geo.leb_bytes;
        let buffer_bytes = align(lebs.geo.idx_bytes_max, lebs.geo.min_io);
        let rest = &commit.znodes[commit.rest.min(commit.znodes.len())..];
        let mut empty_lebs = commit.lebs[commit.used..].iter().copied();
        let mut head = Some(self.ihead_lnum);
        let (mut offs, mut used, mut avail) = (self.ihead_offs, 0u32, i64::from(buffer_bytes));
        if rest.first().is_some_and(|&id| offs + self.znode_bytes(id) > leb_bytes) {
            head = None;
        }
        let mut steps = Vec::with_capacity(rest.len());
        for (i, &id) in rest.iter().enumerate() {
            let lnum = match head {
                Some(lnum) => lnum,
                None => {
                    (offs, used, avail) = (0, 0, i64::from(buffer_bytes));
                    let lnum = empty_lebs.next().ok_or(NO_SPACE)?;
                    head = Some(lnum);
                    lnum
                }
            };
            let len = self.znode_bytes(id);
            let at = NodeAt { lnum, offs: offs + used, len };
            used += align8(len);
            avail -= i64::from(align8(len));
            let next_len = rest.get(i + 1).map(|&next| self.znode_bytes(next));
            let next_fits = next_len.is_some_and(|next| offs + used + next <= leb_bytes);
            if next_fits && avail > 0 {
                steps.push(Step { id, at, flush: None });
                continue;
            }
            let bytes = if next_fits { buffer_bytes } else { align(used, lebs.geo.min_io) };
            let from = offs;
            offs += bytes;
            let leb_ends = next_len.is_some_and(|next| offs + next > leb_bytes);
            steps.push(Step { id, at, flush: Some(Flush { lnum, offs: from, bytes, used, leb_ends }) });
            used = used.saturating_sub(bytes);
            avail = i64::from(buffer_bytes) - i64::from(used);
            if leb_ends {
                head = None;
            }
        }
        Ok(steps)
    }

    fn lay_out_in_empty_space(&mut self, lebs: &mut Lebs, space: &mut Space) -> Res<()> {
        let steps = self.empty_space_steps(lebs)?;
        self.commit.head_is_full = steps.first().is_some_and(|first| first.at.lnum != self.ihead_lnum);
        let mut stream = std::mem::take(&mut self.commit.stream);
        let last = steps.len().saturating_sub(1);
        let mut written = 0;
        for (i, step) in steps.iter().enumerate() {
            if self.commit.lebs.get(self.commit.used) == Some(&step.at.lnum) {
                self.commit.used += 1;
            }
            self.place_znode(step.id, step.at);
            let at = stream.len();
            stream.resize(at + align8(step.at.len) as usize, 0);
            self.pack_znode(lebs, step.id, &mut stream[at..])?;
            let Some(flush) = step.flush else { continue };
            let end = flush.offs + flush.bytes;
            if flush.leb_ends || i == last {
                let free = lebs.geo.leb_bytes - end;
                let dirt = flush.bytes.saturating_sub(flush.used);
                space.update_lp(lebs, flush.lnum, Some(free), dirt, Change::default())?;
            }
            written += flush.bytes as usize;
            let packed = stream.len();
            if packed < written {
                stream.resize(written, 0);
                pad(&mut stream[packed..]);
            }
            self.commit.writes.push(flush);
            self.commit.new_head = (flush.lnum, end);
        }
        self.commit.stream = stream;
        Ok(())
    }

    /// Packs a znode as an index node.
    pub(super) fn pack_znode(&mut self, lebs: &mut Lebs, id: u32, bytes: &mut [u8]) -> Res<()> {
        let znode = self.z(id);
        let len = idx_node_bytes(znode.branches.len() as u32);
        bytes[..len as usize].fill(0);
        put_u16(bytes, idx::CHILD_CNT, znode.branches.len() as u16);
        put_u16(bytes, idx::LEVEL, znode.level);
        for (i, branch) in znode.branches.iter().enumerate() {
            let from = idx::BRANCHES + i * (BRANCH_BYTES + KEY_BYTES) as usize;
            if branch.at.lnum == 0 || branch.at.len == 0 {
                return Err(Fail::corrupt("bad branch in an index node to write"));
            }
            put_u32(bytes, from, branch.at.lnum);
            put_u32(bytes, from + 4, branch.at.offs);
            put_u32(bytes, from + 8, branch.at.len);
            branch.key.write(bytes, from + 12);
        }
        lebs.finish_node(&mut bytes[..len as usize], len, IDX_NODE, NO_GROUP);
        self.zm(id).dirty = false;
        Ok(())
    }

    /// Prepares the writing of what [`Index::start_commit`] laid out (`ubifs_tnc_end_commit`).
    pub fn begin_writes(&mut self, lebs: &Lebs, space: &mut Space) -> Res<()> {
        for lnum in std::mem::take(&mut self.commit.gap_lebs) {
            space.return_leb(lebs, lnum)?;
        }
        if self.commit.head_is_full {
            space.release_index_leb(lebs, self.ihead_lnum)?;
        }
        Ok(())
    }

    /// Writes the next piece. `false`: all is written. Others may run between two pieces (`write_index`).
    pub fn write_piece(&mut self, lebs: &mut Lebs, space: &mut Space) -> Res<bool> {
        let commit = &mut self.commit;
        if let Some(&piece) = commit.writes.get(commit.writes_done) {
            let from = commit.bytes_done;
            commit.writes_done += 1;
            commit.bytes_done += piece.bytes as usize;
            let stream = std::mem::take(&mut commit.stream);
            let result = lebs.write(piece.lnum, piece.offs, &stream[from..from + piece.bytes as usize]);
            self.commit.stream = stream;
            result?;
            if piece.leb_ends {
                space.release_index_leb(lebs, piece.lnum)?;
            }
        }
        let commit = &self.commit;
        if commit.writes_done < commit.writes.len() {
            return Ok(true);
        }
        (self.ihead_lnum, self.ihead_offs) = commit.new_head;
        Ok(false)
    }
}
