//! Node references: where each node stands on flash, in what state, to which inode it belongs.
//!
//! Follows `fs/jffs2/nodelist.h` (`struct jffs2_raw_node_ref`). Two chains run through the references: the physical
//! one of an erase block, and the one of an inode, newest link first. The kernel's inode chain is singly linked and
//! is searched when a block is erased; here it is doubly linked, so that no operation walks an inode's whole history.

use crate::ledger::Share;

/// Index of a reference. [`NONE`] stands for "no reference".
pub type RefId = u32;
pub const NONE: u32 = u32::MAX;

/// State of a node (the low two bits of `flash_offset` in the kernel).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NodeState {
    /// Found by the mount scan; its data CRC was not checked yet.
    Unchecked = 0,
    Obsolete = 1,
    /// Garbage collection copies it as it is.
    Pristine = 2,
    /// Possibly overlapped, or smaller than a page: garbage collection rebuilds it.
    Normal = 3,
}

impl NodeState {
    /// The share of its block to which the bytes of a node in this state belong. Obsolete bytes count as dirty until
    /// [`Share::Wasted`] is found to fit.
    #[inline]
    pub fn share(self) -> Share {
        match self {
            NodeState::Unchecked => Share::Unchecked,
            NodeState::Pristine | NodeState::Normal => Share::Used,
            NodeState::Obsolete => Share::Dirty,
        }
    }
}

/// To which part of an extended attribute a node belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XattrOwner {
    /// Name and value ([`crate::xattr_table::Datum`]).
    Datum(u32),
    /// That an inode has it ([`crate::xattr_table::Reference`]).
    Reference(u32),
}

/// A node reference, together with the fields that the kernel keeps separately while the inode is in memory (`struct
/// jffs2_full_dnode`). Both parts are needed when a node is superseded, and in a large file each access is a cache miss
/// of the host, so they share half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct NodeRef {
    offset_and_state: u32,
    /// The inode to which the node belongs; 0: none (a node of unknown kind that is only copied).
    pub owner: u32,
    pub next_in_inode: RefId,
    pub previous_in_inode: RefId,
    pub next_in_block: RefId,
    /// First byte of the file that a data node covers, and number of bytes; known while the inode is in memory.
    pub file_offset: u32,
    pub file_bytes: u32,
    /// [`NONE`] unless the inode is in memory. For a data node: how many fragments of the file come from it; with none
    /// left it is obsolete, unless it holds the attributes. For a directory entry: its slot.
    pub fragments_or_slot: u32,
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

    pub fn is_in_memory(&self) -> bool {
        self.fragments_or_slot != NONE
    }

    /// Marks a data node as in memory. No fragment comes from it yet.
    pub fn set_covered(&mut self, file_offset: u32, file_bytes: u32) {
        self.file_offset = file_offset;
        self.file_bytes = file_bytes;
        self.fragments_or_slot = 0;
    }

    /// The part of an extended attribute to which the node belongs. Such a node has no inode, and the fields for the range
    /// of a file say what it is.
    pub fn xattr_owner(&self) -> Option<XattrOwner> {
        match (self.owner, self.file_bytes) {
            (0, 1) => Some(XattrOwner::Datum(self.file_offset)),
            (0, 2) => Some(XattrOwner::Reference(self.file_offset)),
            _ => None,
        }
    }

    pub fn set_xattr_owner(&mut self, owner: Option<XattrOwner>) {
        (self.file_bytes, self.file_offset) = match owner {
            None => (0, 0),
            Some(XattrOwner::Datum(id)) => (1, id),
            Some(XattrOwner::Reference(id)) => (2, id),
        };
    }

    pub fn leave_memory(&mut self) {
        self.fragments_or_slot = NONE;
    }

    /// Notes that a fragment of the node is gone. Whether it was the last one: then the node leaves memory.
    pub fn lose_fragment(&mut self) -> bool {
        self.fragments_or_slot -= 1;
        let was_last = self.fragments_or_slot == 0;
        if was_last {
            self.leave_memory();
        }
        was_last
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
            file_offset: 0,
            file_bytes: 0,
            fragments_or_slot: NONE,
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

    /// Gives `id` a new place and state on flash, when the recovery from a failed write has moved the node.
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
