//! The LEB properties tree: how much of each LEB of the main area is free and dirty.
//!
//! Follows `fs/ubifs/lpt.c`. The tree on flash has leaves (pnodes) of four LEBs and inner nodes (nnodes) of four children;
//! each is written anew, elsewhere, when it changes. In memory it is flat: arrays of nodes by level, where a node
//! counts as part of the tree once it was read.

mod bits;
mod commit;
mod default;
mod gc;
mod geometry;
mod load;
mod look;
mod nodes;
mod scan;

pub(crate) use default::create_default_lpt;
pub(crate) use geometry::{LptGeometry, FANOUT};
pub(crate) use scan::ScanFor;

use crate::lprops::{Categories, Lprops, Stats};
use geometry::{FANOUT_SHIFT, TYPE_BITS};

const CRC_BYTES: usize = 2;

/// Kinds of LPT nodes.
const PNODE: u32 = 0;
const NNODE: u32 = 1;
const LTAB: u32 = 2;
const LSAVE: u32 = 3;
const NOT_A_NODE: u32 = 15;

/// A node of the tree, leaf or inner; its place stands in its parent on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeNode {
    pub loaded: bool,
    pub dirty: bool,
    /// LEB of the node. 0: the node was never written, and all LEBs below it are free.
    pub lnum: u32,
    pub offs: u32,
}

/// State of a LEB of the LPT area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LtabEntry {
    pub free: u32,
    pub dirty: u32,
    /// The LEB holds only dirt, and the end of the commit unmaps it.
    pub trivial_gc: bool,
    /// The commit that is being laid out writes into this LEB.
    pub allocated: bool,
}

/// A place in the LPT area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub lnum: u32,
    pub offs: u32,
}

/// A packed part of the tree that the commit writes.
#[derive(Debug, Default)]
struct PendingWrite {
    lnum: u32,
    offs: u32,
    /// Unmap the LEB before this write, which begins it anew.
    unmap: bool,
    bytes: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Lpt {
    pub geo: LptGeometry,
    /// Properties by LEB, counted from the start of the main area.
    pub props: Vec<Lprops>,
    pub categories: Categories,
    pub stats: Stats,
    /// By how much `stats` differs from the sums over `props`, since all of these are in memory: see `audit_sums`.
    pub gap: Option<Stats>,
    pnodes: Vec<TreeNode>,
    /// Inner nodes by level; level 1 is just above the leaves and stands first.
    nnodes: Vec<Vec<TreeNode>>,
    pub ltab: Vec<LtabEntry>,
    ltab_dirty: bool,
    lsave: Vec<u32>,
    lsave_dirty: bool,
    pub nhead: Place,
    pub ltab_at: Place,
    pub lsave_at: Place,
    pub lscan_lnum: u32,
    dirty_pnodes: u32,
    pnodes_have: u32,
    /// A big-model LPT was mounted: before the first commit, make sure that the LPT area has free LEBs.
    check_free: bool,
    pending: Vec<PendingWrite>,
}

impl Lpt {
    pub fn new(geo: LptGeometry, lpt_lebs: u32, leb_bytes: u32) -> Lpt {
        let nnodes = (1..=geo.height).map(|level| {
            let below = FANOUT_SHIFT * level;
            vec![TreeNode::default(); (geo.pnode_cnt as usize).div_ceil(1 << below).max(1)]
        });
        Lpt {
            props: vec![Lprops::free(leb_bytes); (geo.pnode_cnt * FANOUT) as usize],
            categories: Categories::new((geo.pnode_cnt * FANOUT) as usize),
            pnodes: vec![TreeNode::default(); geo.pnode_cnt as usize],
            nnodes: nnodes.collect(),
            ltab: vec![LtabEntry::default(); lpt_lebs as usize],
            check_free: geo.big,
            geo,
            ..Lpt::default()
        }
    }

    pub fn set_root(&mut self, place: Place) {
        if let Some(root) = self.nnodes.last_mut().and_then(|level| level.first_mut()) {
            (root.lnum, root.offs) = (place.lnum, place.offs);
        }
    }

    pub fn root(&self) -> TreeNode {
        self.nnodes.last().and_then(|level| level.first()).copied().unwrap_or_default()
    }

    /// Whether every leaf is in memory.
    pub fn is_complete(&self) -> bool {
        self.pnodes_have >= self.geo.pnode_cnt
    }

    fn node(&mut self, level: u32, index: u32) -> &mut TreeNode {
        match level {
            0 => &mut self.pnodes[index as usize],
            _ => &mut self.nnodes[level as usize - 1][index as usize],
        }
    }

    fn has_node(&self, level: u32, index: u32) -> bool {
        let count = if level == 0 { self.pnodes.len() } else { self.nnodes[level as usize - 1].len() };
        (index as usize) < count
    }
}
