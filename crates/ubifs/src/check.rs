//! A check of the whole file system against itself, for tests: does what the LPT says about each LEB agree with what a
//! scan of the LEB finds and with what the index leads to?
//!
//! Follows `fs/ubifs/lprops.c` (`scan_check_cb`, `dbg_check_lprops`).

use crate::core::Core;
use crate::error::{Fail, Res};
use crate::format::{align8, GC_HEAD, IDX_NODE};
use crate::journal::Journal;
use crate::leb::Lebs;
use crate::lprops::{Category, Stats};
use crate::tnc::Index;
use crate::tnc::NO_ZNODE;
use crate::Ubifs;
use std::collections::BTreeMap;

/// Bytes in use per LEB, as the index says, and whether they are index nodes.
type Used = BTreeMap<u32, (u32, bool)>;

impl Index {
    fn count_used(&mut self, lebs: &mut Lebs, journal: &Journal, id: u32, used: &mut Used, nodes: &mut u64) -> Res<()> {
        let level = self.z(id).level;
        for n in 0..self.z(id).branches.len() {
            let branch = &self.z(id).branches[n];
            let (at, key, child) = (branch.at, branch.key, branch.child);
            let is_dirty = child != NO_ZNODE && self.z(child).dirty;
            if at.len > 0 && !is_dirty {
                let entry = used.entry(at.lnum).or_insert((0, level > 0));
                if entry.1 != (level > 0) {
                    return Err(Fail::corrupt("index nodes and others in one LEB"));
                }
                entry.0 += align8(at.len);
            }
            if level > 0 {
                let child = self.child_znode(lebs, id, n)?;
                if self.z(child).branches[0].key < key {
                    return Err(Fail::corrupt("a child begins below its branch"));
                }
                self.count_used(lebs, journal, child, used, nodes)?;
            } else {
                *nodes += 1;
                let mut node = Vec::new();
                journal.read_leaf(lebs, key, at, &mut node)?;
            }
        }
        Ok(())
    }
}

impl Core {
    fn check_leb(&mut self, lnum: u32, used: &Used, sums: &mut Stats) -> Result<(), String> {
        let geo = self.lebs.geo;
        let lp = self.space.read_lp(&self.lebs, lnum).map_err(|fail| format!("LEB {lnum}: {}", said(fail)))?;
        let (in_use, _) = used.get(&lnum).copied().unwrap_or((0, lp.is_index));
        let space = lp.free + lp.dirty;
        let index_head = lnum == self.index.ihead_lnum;
        let waits = self.space.idx_gc.iter().any(|entry| entry.lnum == lnum);
        if space + in_use != geo.leb_bytes && !waits {
            return Err(format!("LEB {lnum}: {in_use} bytes in use, {} free, {} dirty", lp.free, lp.dirty));
        }
        let scanned = space < geo.leb_bytes && !waits;
        if scanned {
            let leb = self.lebs.scan(lnum, 0).map_err(|fail| format!("LEB {lnum}: {}", said(fail)))?;
            let end = leb.end;
            let has_index = leb.nodes.first().is_some_and(|node| node.kind == IDX_NODE);
            self.lebs.recycle(leb);
            if geo.leb_bytes - end != lp.free && (!lp.is_index || index_head) {
                return Err(format!("LEB {lnum}: its free space begins at {end}, the LPT says {} free", lp.free));
            }
            if has_index != lp.is_index {
                return Err(format!("LEB {lnum}: index flag {} is wrong", lp.is_index));
            }
        }
        if !lp.is_taken && lp.category != Category::Uncategorized && lp.category != lp.categorize(&geo) {
            return Err(format!("LEB {lnum}: category {:?} for {lp:?}", lp.category));
        }
        let head = self.journal.head_of_bud(&self.lebs, lnum).is_some()
            || index_head
            || self.space.gc_lnum == Some(lnum)
            || waits;
        if lp.is_taken && !head {
            return Err(format!("LEB {lnum} is taken by nobody"));
        }
        sums.count(&geo, &lp);
        Ok(())
    }

    fn check(&mut self) -> Result<u64, String> {
        let text = said;
        (0..crate::format::HEADS)
            .try_for_each(|head| self.journal.sync_head(&mut self.lebs, &mut self.space, head))
            .map_err(text)?;
        // This comes first: it checks leaves of the LPT on flash, which the reads below bring into memory.
        let looked = self.space.look_at_lprops(&self.lebs).map_err(text)?;
        let root = self.index.root_znode(&self.lebs).map_err(text)?;
        let (mut used, mut nodes) = (Used::new(), 0);
        let at = self.index.root.at;
        if at.len > 0 && !self.index.z(root).dirty {
            used.insert(at.lnum, (align8(at.len), true));
        }
        self.index.count_used(&mut self.lebs, &self.journal, root, &mut used, &mut nodes).map_err(text)?;
        let mut sums = Stats::default();
        for (lnum, seen) in (self.lebs.geo.main_first..self.lebs.geo.leb_cnt).zip(looked) {
            self.check_leb(lnum, &used, &mut sums)?;
            let lp = self.space.read_lp(&self.lebs, lnum).map_err(text)?;
            if seen != (lp.free, lp.dirty) {
                return Err(format!("LEB {lnum}: an observer sees {seen:?} free and dirty bytes, it has {lp:?}"));
            }
        }
        if sums != self.space.lpt.stats {
            return Err(format!("the sums are {sums:?}, the file system has {:?}", self.space.lpt.stats));
        }
        if self.space.gc_lnum.is_none() && self.journal.heads[GC_HEAD].lnum.is_none() {
            return Err("garbage collection has no LEB".to_string());
        }
        Ok(nodes)
    }
}

impl Ubifs {
    /// Reads everything and compares it with the accounting. Returns the number of nodes that the index leads to.
    ///
    /// Errors: the first thing that does not agree, in words.
    pub fn check(&mut self) -> Result<u64, String> {
        self.core.check()
    }
}

/// Why something cannot be read, as people read it.
fn said(fail: Fail) -> String {
    match fail {
        Fail::Corrupt(damage) => damage.to_string(),
        other => format!("it cannot be read ({})", ffslab_fs::Errno::from(other)),
    }
}
