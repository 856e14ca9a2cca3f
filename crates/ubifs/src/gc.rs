//! Garbage collection of the main area.
//!
//! Follows `fs/ubifs/gc.c`. The valid nodes of a LEB move to the GC head, sorted, so that data of a file come together.
//! Nodes of the index are not moved: they are marked as changed, and the LEB is free after the next commit.

use crate::causes;
use crate::core::Core;
use crate::error::{Fail, Res, NO_SPACE};
use crate::find::PickFree;
use crate::format::*;
use crate::key::{Key, DATA_KEY, DENT_KEY};
use crate::leb::Lebs;
use crate::lprops::{Category, Change, Lprops};
use crate::node::NodeAt;
use crate::scan::{ScannedLeb, ScannedNode};
use crate::space::{IdxGc, Space};
use ffslab_sim::Work;
use std::cmp::Ordering;

/// After so many LEBs without success, garbage collection looks for LEBs with more dirt, or asks for a commit.
const SOFT_LEBS_LIMIT: u32 = 4;
/// After so many LEBs without success, garbage collection gives up.
const HARD_LEBS_LIMIT: u32 = 32;

/// What became of a LEB that garbage collection worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collected {
    Freed,
    /// Free after the next commit.
    FreedIndex,
    /// The LEB is empty and is kept as the new reserve of garbage collection.
    Retained,
}

fn order_data(a: &ScannedNode, b: &ScannedNode) -> Ordering {
    a.key.cmp(&b.key)
}

/// Inodes, the largest first, then entries by directory and hash.
fn order_others(a: &ScannedNode, b: &ScannedNode) -> Ordering {
    match (a.kind == INO_NODE, b.kind == INO_NODE) {
        (true, true) => b.len.cmp(&a.len),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => (a.key.ino, a.key.hash()).cmp(&(b.key.ino, b.key.hash())),
    }
}

impl Core {
    /// Frees a LEB for whoever needs room, when a budget does not fit.
    pub fn run_gc(&mut self) -> Res<()> {
        let lnum = self.collect_garbage(PickFree::No)?;
        self.space.return_leb(&self.lebs, lnum)
    }

    /// Frees a LEB and returns its number, marked as taken. `pick`: whether a LEB that needs no collecting will do.
    /// [`Fail::Again`]: a commit must run first. `NoSpc`: no LEB is worth collecting.
    pub fn collect_garbage(&mut self, pick: PickFree) -> Res<u32> {
        let _why = self.lebs.sim.because(&causes::GC_COPY);
        if self.commits.gc_should_commit() {
            return Err(Fail::Again);
        }
        self.lebs.check_writable()?;
        let mut result = self.collect_lebs(pick);
        if result == Err(NO_SPACE) && !self.space.idx_gc.is_empty() {
            self.commits.require_commit();
            result = Err(Fail::Again);
        }
        if let Err(fail) = result {
            if fail != NO_SPACE && fail != Fail::Again {
                self.lebs.read_only = true;
                return Err(fail);
            }
        }
        self.journal.sync_head(&mut self.lebs, &mut self.space, GC_HEAD)?;
        if let Some(lnum) = self.space.gc_lnum {
            self.lebs.unmap(lnum)?;
        }
        result
    }

    fn collect_lebs(&mut self, pick: PickFree) -> Res<u32> {
        let (dead_wm, dark_wm) = (self.lebs.geo.dead_wm, self.lebs.geo.dark_wm);
        let mut min_space = dead_wm;
        for round in 0.. {
            self.lebs.cond_resched();
            if self.commits.gc_should_commit() {
                return Err(Fail::Again);
            }
            if round > SOFT_LEBS_LIMIT && !self.space.idx_gc.is_empty() {
                self.commits.require_commit();
                return Err(Fail::Again);
            }
            if round > HARD_LEBS_LIMIT {
                return Err(NO_SPACE);
            }
            // After some LEBs without success the kernel's rule, which takes the dirtiest, must show whether there is room.
            let by_policy = round <= SOFT_LEBS_LIMIT;
            let (lnum, lp) = self.space.find_dirty_leb(&self.lebs, min_space, pick, by_policy)?;
            let before = self.journal.heads[GC_HEAD].space(&self.lebs.geo);
            match self.collect_leb(lnum, &lp) {
                Ok(Collected::Freed) => return Ok(lnum),
                Ok(Collected::FreedIndex) => continue,
                Ok(Collected::Retained) => {}
                Err(Fail::Again) => {
                    self.space.return_leb(&self.lebs, lnum)?;
                    return Err(Fail::Again);
                }
                Err(NO_SPACE) => return Err(Fail::corrupt("garbage collection ran out of space")),
                Err(fail) => return Err(fail),
            }
            if self.journal.heads[GC_HEAD].space(&self.lebs.geo) > before {
                min_space = (min_space / 2).max(dead_wm);
            } else if round >= SOFT_LEBS_LIMIT {
                min_space = (min_space * 2).min(dark_wm);
            }
        }
        Err(NO_SPACE)
    }

    /// Frees one LEB (`ubifs_garbage_collect_leb`).
    pub fn collect_leb(&mut self, lnum: u32, lp: &Lprops) -> Res<Collected> {
        self.lebs.sim.work(Work::GcPass, 0);
        if lp.free + lp.dirty == self.lebs.geo.leb_bytes {
            if lp.free != self.lebs.geo.leb_bytes {
                self.sync_other_heads()?;
                self.space.free_leb(&self.lebs, lnum)?;
            }
            self.lebs.unmap(lnum)?;
            if self.space.gc_lnum.is_none() {
                self.space.gc_lnum = Some(lnum);
                return Ok(Collected::Retained);
            }
            return Ok(Collected::Freed);
        }
        let leb = self.lebs.scan(lnum, 0)?;
        let result = match leb.nodes.first() {
            Some(node) if node.kind == IDX_NODE => self.collect_index_leb(&leb),
            Some(_) => self.collect_journal_leb(&leb),
            None => Err(Fail::corrupt("used LEB without nodes")),
        };
        self.lebs.recycle(leb);
        result
    }

    fn collect_index_leb(&mut self, leb: &ScannedLeb) -> Res<Collected> {
        for node in leb.nodes.iter().filter(|node| node.kind == IDX_NODE) {
            let bytes = leb.node(node);
            let key = Key::read(bytes, idx::BRANCHES + BRANCH_BYTES as usize);
            self.index.renew_index_node(
                &self.lebs,
                &mut self.space,
                key,
                get_u16(bytes, idx::LEVEL),
                leb.lnum,
                node.offs,
            )?;
        }
        self.space.idx_gc.insert(0, IdxGc { lnum: leb.lnum, unmap: false });
        let free = Some(self.lebs.geo.leb_bytes);
        let change = Change { free, dirty: Some(0), index: Some(false), idx_gc: 1, ..Change::default() };
        self.space.change_lp(&self.lebs, leb.lnum, change)?;
        Ok(Collected::FreedIndex)
    }

    fn collect_journal_leb(&mut self, leb: &ScannedLeb) -> Res<Collected> {
        self.move_nodes(leb)?;
        self.sync_other_heads()?;
        self.space.free_leb(&self.lebs, leb.lnum)?;
        if self.space.gc_lnum.is_none() {
            self.space.gc_lnum = Some(leb.lnum);
            return Ok(Collected::Retained);
        }
        self.journal.sync_head(&mut self.lebs, &mut self.space, GC_HEAD)?;
        self.lebs.unmap(leb.lnum)?;
        Ok(Collected::Freed)
    }

    /// Writes the buffers of the other journal heads. Nodes of the victim may be obsolete only because a newer node
    /// waits in such a buffer, and the newer one must be on flash before the victim is erased.
    fn sync_other_heads(&mut self) -> Res<()> {
        (0..HEADS)
            .filter(|&head| head != GC_HEAD)
            .try_for_each(|head| self.journal.sync_head(&mut self.lebs, &mut self.space, head))
    }

    /// Moves the GC head to the LEB that is kept in reserve (`switch_gc_head`).
    fn switch_gc_head(&mut self) -> Res<()> {
        let lnum = self.space.gc_lnum.ok_or(Fail::corrupt("no LEB for garbage collection"))?;
        self.journal.sync_head(&mut self.lebs, &mut self.space, GC_HEAD)?;
        self.lebs.unmap(lnum)?;
        self.journal.add_bud_to_log(&mut self.lebs, &mut self.commits, GC_HEAD, lnum, 0)?;
        self.space.gc_lnum = None;
        self.journal.heads[GC_HEAD].seek(&self.lebs.geo, lnum, 0);
        Ok(())
    }

    fn move_nodes(&mut self, leb: &ScannedLeb) -> Res<()> {
        if self.journal.heads[GC_HEAD].lnum.is_none() {
            self.switch_gc_head()?;
        }
        let (mut data, mut others) = (Vec::new(), Vec::new());
        for node in &leb.nodes {
            if node.kind > XENT_NODE || !self.index.has_leaf(&self.lebs, node.key, leb.lnum, node.offs)? {
                continue;
            }
            if node.key.kind() == DATA_KEY {
                data.push(*node);
            } else {
                others.push(*node);
            }
        }
        let least = data.iter().chain(&others).map(|node| node.len).min().unwrap_or(u32::MAX);
        data.sort_by(order_data);
        others.sort_by(order_others);
        let mut moved_data = 0;
        loop {
            while let Some(node) = data.get(moved_data) {
                if node.len > self.journal.heads[GC_HEAD].space(&self.lebs.geo) {
                    break;
                }
                self.move_node(leb, node)?;
                moved_data += 1;
            }
            let mut i = 0;
            while let Some(&node) = others.get(i) {
                let space = self.journal.heads[GC_HEAD].space(&self.lebs.geo);
                if space < least {
                    break;
                }
                if node.len > space {
                    // The nodes are sorted so that none of the following ones is smaller.
                    if node.key.kind() == DENT_KEY || node.len == INO_BYTES {
                        break;
                    }
                    i += 1;
                    continue;
                }
                self.move_node(leb, &node)?;
                others.remove(i);
            }
            if moved_data == data.len() && others.is_empty() {
                return Ok(());
            }
            self.switch_gc_head()?;
        }
    }

    fn move_node(&mut self, leb: &ScannedLeb, node: &ScannedNode) -> Res<()> {
        self.lebs.cond_resched();
        let head = &self.journal.heads[GC_HEAD];
        let lnum = head.lnum.ok_or(NO_SPACE)?;
        let at = NodeAt { lnum, offs: head.next_offs(), len: node.len };
        self.journal.write_head(&mut self.lebs, &mut self.space, &mut self.commits, GC_HEAD, leb.node(node))?;
        self.index.replace(&self.lebs, &mut self.space, node.key, leb.lnum, node.offs, at)
    }
}

impl Space {
    fn free_leb(&mut self, lebs: &Lebs, lnum: u32) -> Res<()> {
        self.change_lp(lebs, lnum, Change { free: Some(lebs.geo.leb_bytes), dirty: Some(0), ..Change::default() })?;
        Ok(())
    }

    // ---- commit ------------------------------------------------------------------------------------------------

    /// Unmaps LEBs that hold nothing but dirt and free space, and notes those of the index, which the running commit
    /// frees (`ubifs_gc_start_commit`).
    pub fn start_gc_commit(&mut self, lebs: &mut Lebs) -> Res<()> {
        while let Some(i) = self.lpt.categories.first_of(Category::Freeable) {
            let lnum = lebs.geo.main_first + i as u32;
            lebs.unmap(lnum)?;
            self.free_leb(lebs, lnum)?;
        }
        self.idx_gc.iter_mut().for_each(|entry| entry.unmap = true);
        while let Some(i) = self.lpt.categories.first_of(Category::FreeableIndex) {
            let lnum = lebs.geo.main_first + i as u32;
            let free = Some(lebs.geo.leb_bytes);
            let change = Change { free, dirty: Some(0), taken: Some(true), index: Some(false), idx_gc: 1 };
            self.change_lp(lebs, lnum, change)?;
            self.idx_gc.insert(0, IdxGc { lnum, unmap: true });
        }
        Ok(())
    }

    /// Frees the LEBs that the index on flash does not use any more (`ubifs_gc_end_commit`).
    pub fn end_gc_commit(&mut self, lebs: &mut Lebs) -> Res<()> {
        for entry in std::mem::take(&mut self.idx_gc) {
            if entry.unmap {
                lebs.unmap(entry.lnum)?;
                self.change_lp(lebs, entry.lnum, Change { taken: Some(false), idx_gc: -1, ..Change::default() })?;
            } else {
                self.idx_gc.push(entry);
            }
        }
        Ok(())
    }
}
