//! Node references: where each node stands on flash, in what state, to which inode it belongs.
//!
//! Follows `fs/jffs2/nodelist.h` (`struct jffs2_raw_node_ref`). Two chains run through the references: the physical
//! one of an erase block, and the one of an inode, newest link first. The kernel's inode chain is singly linked and
//! is searched when a block is erased; here it is doubly linked, so that no operation walks an inode's whole history.

/// Index of a reference. [`NONE`] stands for "no reference".
pub type RefId = u32;
pub const NONE: u32 = u32::MAX;

/// State of a node (the low two bits of `flash_offset` in the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NodeState {
    /// Found by the mount scan; its data CRC was not looked at yet.
    Unchecked = 0,
    Obsolete = 1,
    /// Garbage collection copies it as it is.
    Pristine = 2,
    /// Perhaps overlapped or smaller than a page: garbage collection rebuilds it.
    Normal = 3,
}

#[derive(Clone, Copy, Debug)]
pub struct NodeRef {
    offset_and_state: u32,
    /// Inode the node belongs to; 0: none (unknown node that is only copied).
    pub owner: u32,
    pub next_in_inode: RefId,
    pub previous_in_inode: RefId,
    pub next_in_block: RefId,
    /// Index of the full data node while the inode is in memory, else [`NONE`].
    pub dnode: u32,
}

impl NodeRef {
    pub fn offset(&self) -> u32 {
        self.offset_and_state & !3
    }

    pub fn state(&self) -> NodeState {
        match self.offset_and_state & 3 {
            0 => NodeState::Unchecked,
            1 => NodeState::Obsolete,
            2 => NodeState::Pristine,
            _ => NodeState::Normal,
        }
    }

    pub fn is_obsolete(&self) -> bool {
        self.offset_and_state & 3 == NodeState::Obsolete as u32
    }

    pub fn set_state(&mut self, state: NodeState) {
        self.offset_and_state = self.offset() | state as u32;
    }
}

/// All references, with a free list.
#[derive(Default)]
pub struct NodeRefs {
    refs: Vec<NodeRef>,
    free: Vec<RefId>,
}

impl NodeRefs {
    pub fn allocate(&mut self, offset: u32, state: NodeState) -> RefId {
        let node = NodeRef {
            offset_and_state: offset | state as u32,
            owner: 0,
            next_in_inode: NONE,
            previous_in_inode: NONE,
            next_in_block: NONE,
            dnode: NONE,
        };
        match self.free.pop() {
            Some(id) => {
                self.refs[id as usize] = node;
                id
            }
            None => {
                self.refs.push(node);
                self.refs.len() as u32 - 1
            }
        }
    }

    pub fn release(&mut self, id: RefId) {
        self.free.push(id);
    }

    /// Gives `id` a new place and state on flash (recovery of a failed write moves a node).
    pub fn relocate(&mut self, id: RefId, offset: u32, state: NodeState) {
        let node = &mut self.refs[id as usize];
        node.offset_and_state = offset | state as u32;
        node.next_in_block = NONE;
    }
}

impl std::ops::Index<RefId> for NodeRefs {
    type Output = NodeRef;
    #[inline]
    fn index(&self, id: RefId) -> &NodeRef {
        &self.refs[id as usize]
    }
}

impl std::ops::IndexMut<RefId> for NodeRefs {
    #[inline]
    fn index_mut(&mut self, id: RefId) -> &mut NodeRef {
        &mut self.refs[id as usize]
    }
}

/// A data node whose inode is in memory (`struct jffs2_full_dnode`).
#[derive(Clone, Copy, Debug)]
pub struct Dnode {
    pub node: RefId,
    /// First byte of the file that the node covers, and how many.
    pub offset: u32,
    pub bytes: u32,
    /// Fragments of the file that still come from this node. At zero the node is obsolete.
    pub fragments: u32,
}

pub type DnodeId = u32;

#[derive(Default)]
pub struct Dnodes {
    dnodes: Vec<Dnode>,
    free: Vec<DnodeId>,
}

impl Dnodes {
    pub fn allocate(&mut self, dnode: Dnode) -> DnodeId {
        match self.free.pop() {
            Some(id) => {
                self.dnodes[id as usize] = dnode;
                id
            }
            None => {
                self.dnodes.push(dnode);
                self.dnodes.len() as u32 - 1
            }
        }
    }

    pub fn release(&mut self, id: DnodeId) {
        self.free.push(id);
    }
}

impl std::ops::Index<DnodeId> for Dnodes {
    type Output = Dnode;
    #[inline]
    fn index(&self, id: DnodeId) -> &Dnode {
        &self.dnodes[id as usize]
    }
}

impl std::ops::IndexMut<DnodeId> for Dnodes {
    #[inline]
    fn index_mut(&mut self, id: DnodeId) -> &mut Dnode {
        &mut self.dnodes[id as usize]
    }
}
