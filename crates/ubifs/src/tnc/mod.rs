//! The tree node cache: the index, a B+-tree whose nodes are read when they are needed and written by the commit.
//!
//! Follows `fs/ubifs/tnc.c` and `tnc_misc.c`. Nodes in memory ("znodes") live in an arena. The index on flash is never
//! changed in place: a changed znode is written elsewhere, and with it all above it.

mod commit;
mod delete;
mod gaps;
mod insert;
mod load;
mod lookup;
mod names;
mod walk;

pub(crate) use load::{entry_name, validate_entry};
pub(crate) use lookup::Position;

use crate::error::Res;
use crate::format::align8;
use crate::key::Key;
use crate::leb::Lebs;
use crate::node::NodeAt;
use crate::space::Space;
use smallvec::SmallVec;
use std::collections::BTreeSet;

pub(crate) const NO_ZNODE: u32 = u32::MAX;

/// A branch of an index node: a key, and what it leads to.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub key: Key,
    /// Where the node stands on flash; length 0: it is not on flash yet.
    pub at: NodeAt,
    /// The znode below, if it is in memory.
    pub child: u32,
    /// The entry node below, if it was read (only at level 0 and for hashed keys).
    pub leaf: Option<Box<Leaf>>,
}

/// An entry node. Boxed where it hangs, so that the many branches without one are small.
#[derive(Clone, Debug)]
pub(crate) struct Leaf(pub Box<[u8]>);

/// Branches of a node as formatted by default, and one more while it is split.
const USUAL_BRANCHES: usize = 9;

impl Branch {
    pub fn leaf(key: Key, at: NodeAt) -> Branch {
        Branch { key, at, child: NO_ZNODE, leaf: None }
    }
}

/// An index node in memory.
#[derive(Clone, Debug)]
pub(crate) struct Znode {
    pub parent: u32,
    /// Index of the parent's branch that leads here.
    pub iip: u32,
    pub level: u16,
    pub dirty: bool,
    /// The first key was changed since the last commit, so the node on flash cannot be found by the present keys.
    pub alt: bool,
    /// Branches are stored within the znode: a search then reads neighbouring memory of the host, at an address that
    /// follows from the number of the znode. With a large index, a search spends most of its time on cache misses of
    /// the host.
    pub branches: SmallVec<[Branch; USUAL_BRANCHES]>,
}

/// A commit of the index that is going on.
#[derive(Debug, Default)]
struct Layout {
    /// Changed znodes, children before parents. Those up to `rest` went into gaps, those from `rest` on go into empty
    /// space.
    znodes: Vec<u32>,
    rest: usize,
    /// LEBs for the index, and how many of them are used.
    lebs: Vec<u32>,
    used: usize,
    /// LEBs whose gaps were filled.
    gap_lebs: Vec<u32>,
    new_head: (u32, u32),
    /// The head's LEB has no room even for the first znode.
    head_is_full: bool,
    /// The packed znodes that go into empty space, and the pieces in which they are written.
    stream: Vec<u8>,
    writes: Vec<Flush>,
    writes_done: usize,
    bytes_done: usize,
}

/// A piece of the index that is written at once.
#[derive(Clone, Copy, Debug)]
struct Flush {
    lnum: u32,
    offs: u32,
    bytes: u32,
    /// How many of the bytes hold nodes. It exceeds `bytes` when the last node continues in the next piece.
    used: u32,
    /// This is the last piece that goes into the LEB.
    leb_ends: bool,
}

/// The index in memory (the "tree node cache"), and what of it the next commit writes.
#[derive(Debug)]
pub(crate) struct Index {
    pub znodes: Vec<Znode>,
    unused: Vec<u32>,
    pub root: Branch,
    /// Places of index nodes that belong to the index on flash but cannot be found by key any more.
    old_idx: BTreeSet<(u32, u32)>,
    pub dirty_cnt: i64,
    /// Bytes of all index nodes as the next commit will leave them.
    pub calc_idx_bytes: i64,
    pub ihead_lnum: u32,
    pub ihead_offs: u32,
    commit: Layout,
    /// A replay is going on: nodes to which the index leads may be gone from flash.
    pub replaying: bool,
    // Working memory.
    node_buffer: Vec<u8>,
    entry_buffer: Vec<u8>,
}

impl Index {
    pub fn new(root: NodeAt) -> Index {
        Index {
            znodes: Vec::new(),
            unused: Vec::new(),
            root: Branch::leaf(Key::default(), root),
            old_idx: BTreeSet::new(),
            dirty_cnt: 0,
            calc_idx_bytes: 0,
            ihead_lnum: 0,
            ihead_offs: 0,
            commit: Layout::default(),
            replaying: false,
            node_buffer: Vec::new(),
            entry_buffer: Vec::new(),
        }
    }

    pub fn z(&self, id: u32) -> &Znode {
        &self.znodes[id as usize]
    }

    pub fn zm(&mut self, id: u32) -> &mut Znode {
        &mut self.znodes[id as usize]
    }

    pub fn is_root_dirty(&self) -> bool {
        self.root.child != NO_ZNODE && self.z(self.root.child).dirty
    }

    /// Index nodes in memory that are as on flash.
    pub fn clean_count(&self) -> usize {
        self.znodes.len() - self.unused.len() - self.dirty_cnt as usize
    }

    fn allocate(&mut self, parent: u32, level: u16, fanout: u32) -> u32 {
        match self.unused.pop() {
            Some(id) => {
                let znode = self.zm(id);
                (znode.parent, znode.iip, znode.level) = (parent, 0, level);
                (znode.dirty, znode.alt) = (false, false);
                id
            }
            None => {
                let branches = SmallVec::with_capacity(fanout as usize + 1);
                self.znodes.push(Znode { parent, iip: 0, level, dirty: false, alt: false, branches });
                (self.znodes.len() - 1) as u32
            }
        }
    }

    pub fn release(&mut self, id: u32) {
        self.zm(id).branches.clear();
        self.unused.push(id);
    }

    /// The branch that leads to a znode.
    fn branch_to(&mut self, id: u32) -> &mut Branch {
        let (parent, iip) = (self.z(id).parent, self.z(id).iip);
        match parent {
            NO_ZNODE => &mut self.root,
            _ => &mut self.zm(parent).branches[iip as usize],
        }
    }

    /// Remembers the place of the node on flash from which a znode was read. It cannot be found by key any more, but
    /// stays in use until the commit.
    fn keep_old_place(&mut self, id: u32) {
        let at = self.branch_to(id).at;
        if at.len > 0 {
            self.old_idx.insert((at.lnum, at.offs));
        }
    }
}

impl Index {
    /// Counts an index node on flash as dirt, because it is obsolete.
    fn add_idx_dirt(&mut self, lebs: &Lebs, space: &mut Space, at: NodeAt) -> Res<()> {
        self.calc_idx_bytes -= i64::from(align8(at.len));
        space.add_dirt(lebs, at.lnum, at.len)
    }

    /// Marks a znode as dirty, so that the commit writes it anew (`dirty_cow_znode`). The znodes above it must be dirty
    /// already. Most znodes that are asked for are dirty, so this check stands where it is asked.
    #[inline]
    fn dirty_znode(&mut self, lebs: &Lebs, space: &mut Space, id: u32) -> Res<()> {
        if self.z(id).dirty {
            return Ok(());
        }
        self.dirty_clean_znode(lebs, space, id)
    }

    fn dirty_clean_znode(&mut self, lebs: &Lebs, space: &mut Space, id: u32) -> Res<()> {
        self.zm(id).dirty = true;
        self.dirty_cnt += 1;
        let at = self.branch_to(id).at;
        self.add_idx_dirt(lebs, space, at)
    }

    /// Marks a znode and all znodes above it as dirty (`dirty_cow_bottom_up`).
    fn dirty_bottom_up(&mut self, lebs: &Lebs, space: &mut Space, id: u32) -> Res<()> {
        if self.z(id).dirty {
            return Ok(());
        }
        let mut path = vec![id];
        let mut at = self.z(id).parent;
        while at != NO_ZNODE && !self.z(at).dirty {
            path.push(at);
            at = self.z(at).parent;
        }
        path.into_iter().rev().try_for_each(|id| self.dirty_znode(lebs, space, id))
    }
}
