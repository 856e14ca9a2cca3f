//! The inodes that were handed out to a program that walks paths itself.

use crate::dentries::{DentryId, ROOT};
use ffslab_fs::{Errno, FileKind, Ino, Result};
use ffslab_system::NodeId;
use rustc_hash::FxHashMap;

pub struct Node {
    pub(crate) ino: Ino,
    pub(crate) kind: FileKind,
    /// The entry by which the node was found last. It is checked before use, because the name may have been removed.
    pub(crate) dentry: DentryId,
    /// How often the number was handed out and not taken back, in all generations.
    pub(crate) look_ups: u64,
    /// The inode was deleted.
    pub(crate) gone: bool,
    pub(crate) generation: u64,
}

/// The inodes that were handed out.
#[derive(Default)]
pub(crate) struct Nodes {
    known: FxHashMap<NodeId, Node>,
    root: NodeId,
}

impl Nodes {
    pub fn new(root: Ino) -> Nodes {
        let mut nodes = Nodes { known: FxHashMap::default(), root: NodeId::from(root) };
        nodes.hand_out((root, FileKind::Directory), ROOT);
        nodes
    }

    /// Counts that a node is handed out once more. Returns its generation.
    pub fn hand_out(&mut self, (ino, kind): (Ino, FileKind), dentry: DentryId) -> u64 {
        let new = Node { ino, kind, dentry, look_ups: 0, gone: false, generation: 0 };
        let node = self.known.entry(NodeId::from(ino)).or_insert(new);
        node.look_ups += 1;
        node.dentry = dentry;
        if node.gone {
            node.gone = false;
            node.kind = kind;
            node.generation += 1;
        }
        node.generation
    }

    pub fn forget(&mut self, id: NodeId, look_ups: u64) {
        let Some(node) = self.known.get_mut(&id).filter(|_| id != self.root) else { return };
        node.look_ups = node.look_ups.saturating_sub(look_ups);
        if node.look_ups == 0 {
            self.known.remove(&id);
        }
    }

    /// Marks the node of a deleted inode. The file system may use the number again for another inode.
    pub fn gone(&mut self, ino: Ino) {
        if let Some(node) = self.known.get_mut(&NodeId::from(ino)) {
            node.gone = true;
        }
    }

    /// The inode of a node.
    pub fn inode(&self, id: NodeId) -> Result<(Ino, FileKind)> {
        self.get(id).map(|node| (node.ino, node.kind))
    }

    pub fn get(&self, id: NodeId) -> Result<&Node> {
        self.known.get(&id).filter(|node| !node.gone).ok_or(Errno::NoEnt)
    }
}
