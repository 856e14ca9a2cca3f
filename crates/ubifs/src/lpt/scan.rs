//! Scanning the properties of all LEBs for one that fits. The leaves that a scan reads stay in memory only when they
//! are likely to be needed again.
//!
//! Follows `fs/ubifs/lpt.c` (`ubifs_lpt_scan_nolock`) and the call-backs of `fs/ubifs/find.c`.

use super::{Lpt, FANOUT, FANOUT_SHIFT};
use crate::error::{Res, NO_SPACE};
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::lprops::{Category, HEAP_MAX};
use crate::space::Space;

/// What a scan looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanFor {
    /// A LEB for garbage collection.
    Dirty { min_space: u32, pick_free: bool, exclude_index: bool },
    /// Free space for a journal head.
    Free { min_space: u32, pick_free: bool },
    /// A LEB without anything in it, for the index.
    Empty,
    /// A LEB of the index with gaps.
    DirtyIndex,
}

impl Lpt {
    /// Whether the leaf of this LEB, which a scan has read, should stay in memory (`valuable`).
    fn is_valuable(&self, geo: &Geometry, i: usize) -> bool {
        let lp = &self.props[i];
        match lp.category {
            Category::Dirty | Category::DirtyIndex | Category::Free => {
                self.categories.heap(lp.category).len() < HEAP_MAX || lp.free + lp.dirty >= geo.dark_wm
            }
            Category::Empty => {
                let empty = self.stats.empty_lebs + self.categories.freeable_cnt - self.stats.taken_empty_lebs;
                empty < i64::from(self.geo.lsave_cnt)
            }
            Category::Freeable | Category::FreeableIndex => true,
            Category::Uncategorized => false,
        }
    }

    fn fits(&self, geo: &Geometry, i: usize, what: ScanFor) -> bool {
        let lp = &self.props[i];
        let space = lp.free + lp.dirty;
        match what {
            ScanFor::Dirty { min_space, pick_free, exclude_index } => {
                space >= min_space
                    && !(exclude_index && lp.is_index)
                    && if space == geo.leb_bytes { pick_free } else { lp.dirty >= geo.dead_wm }
            }
            ScanFor::Free { min_space, pick_free } => {
                !lp.is_index
                    && lp.free >= min_space
                    && (pick_free || lp.free != geo.leb_bytes)
                    && !(space == geo.leb_bytes && lp.dirty > 0)
            }
            ScanFor::Empty => !lp.is_index && space == geo.leb_bytes,
            ScanFor::DirtyIndex => lp.is_index && space >= geo.idx_bytes_min,
        }
    }
}

impl Space {
    /// Whether a LEB in memory suits as a LEB of the index with gaps.
    pub fn is_dirty_index(&self, lebs: &Lebs, i: usize) -> bool {
        !self.lpt.props[i].is_taken && self.lpt.fits(&lebs.geo, i, ScanFor::DirtyIndex)
    }

    /// Looks at all LEBs from the one behind [`Lpt::lscan_lnum`] on; the LEB found becomes the new `lscan_lnum`.
    pub fn scan_lpt(&mut self, lebs: &Lebs, what: ScanFor) -> Res<u32> {
        let end = self.lpt.lscan_lnum;
        let height = self.lpt.geo.height;
        let mut lnum = if end + 1 >= lebs.geo.leb_cnt { lebs.geo.main_first } else { end + 1 };
        self.load_nnode(lebs, height, 0)?;
        // Index of the node that was visited last at each level, leaf first.
        let mut path: Vec<Option<u32>> = vec![None; height as usize];
        loop {
            let i = lnum - lebs.geo.main_first;
            let pnode = i >> FANOUT_SHIFT;
            for level in (1..height).rev() {
                let index = i >> (FANOUT_SHIFT * (level + 1));
                if path[level as usize] != Some(index) {
                    path[level as usize] = Some(index);
                    if !self.lpt.node(level, index).loaded {
                        self.read_nnode(lebs, level, index)?;
                    }
                }
            }
            if path[0] != Some(pnode) {
                path[0] = Some(pnode);
                if !self.lpt.pnodes[pnode as usize].loaded {
                    self.read_pnode(lebs, pnode)?;
                }
            }
            let in_tree = self.lpt.pnodes[pnode as usize].loaded;
            let i = i as usize;
            if !self.lpt.props[i].is_taken {
                let found = self.lpt.fits(&lebs.geo, i, what);
                if found || (!in_tree && self.lpt.is_valuable(&lebs.geo, i)) {
                    self.keep_scanned(lebs, pnode, i);
                }
                if found {
                    self.lpt.lscan_lnum = lnum;
                    return Ok(lnum);
                }
            }
            if lnum == end {
                return Err(NO_SPACE);
            }
            lnum += 1;
            if lnum >= lebs.geo.leb_cnt {
                lnum = lebs.geo.main_first;
                path.fill(None);
            }
        }
    }

    /// Makes the leaf that a scan has read a part of the tree in memory.
    fn keep_scanned(&mut self, lebs: &Lebs, pnode: u32, i: usize) {
        for level in 1..self.lpt.geo.height {
            self.lpt.node(level, pnode >> (FANOUT_SHIFT * level)).loaded = true;
        }
        if self.lpt.pnodes[pnode as usize].loaded {
            self.ensure_category(lebs, i);
        } else {
            self.add_pnode_to_tree(lebs, pnode);
        }
        debug_assert_eq!(pnode, i as u32 / FANOUT);
    }
}
