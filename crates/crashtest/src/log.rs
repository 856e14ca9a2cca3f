//! What a workload did to its files, and when: at how many operations of the flash.

use std::sync::Arc;

/// A file, directory or link by a number of its own; that of the root is 0.
pub type Node = u64;

pub const ROOT: Node = 0;

/// What a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    File,
    Directory,
    Symlink(Arc<[u8]>),
    Other,
}

/// A change of files, or a promise about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    Made {
        node: Node,
        kind: NodeKind,
    },
    /// A name stands for a node, or for none.
    Named {
        directory: Node,
        name: Arc<[u8]>,
        to: Option<Node>,
    },
    Data {
        node: Node,
        at: u64,
        data: Arc<[u8]>,
    },
    Size {
        node: Node,
        bytes: u64,
    },
    /// Content of a file, or names of a directory, are safe: fsync(2).
    Safe {
        node: Node,
    },
    AllSafe,
    /// The application has told somebody that something is done.
    Told(Arc<str>),
}

/// An effect, and after how many operations of the flash it may be seen, or holds.
#[derive(Clone, Debug)]
pub struct Entry {
    pub after_operations: u64,
    pub effect: Effect,
}

/// A call of the workload, for people.
#[derive(Clone, Debug)]
pub struct NoteOfCall {
    pub text: String,
    /// Operations of the flash before it began, and before it ended.
    pub from_operations: u64,
    pub to_operations: u64,
    pub at_ns: u64,
}

/// All that a workload did.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub entries: Vec<Entry>,
    pub calls: Vec<NoteOfCall>,
}

impl Log {
    /// Number of entries that have happened when the `operation`-th operation (from 1) is under way.
    pub fn until(&self, operation: u64) -> usize {
        self.entries.partition_point(|entry| entry.after_operations < operation)
    }
}
