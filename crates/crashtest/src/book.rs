//! What a witness has written down of a workload's calls.

use crate::log::{Effect, Entry, Log, Node, NodeKind};
use crate::namespace::{Namespace, Place};
use ffslab_system::Fd;
use std::sync::Arc;

/// What was written down, and where the names stand.
#[derive(Default)]
pub struct Book {
    pub is_on: bool,
    /// Operations of the flash before it was opened.
    pub start_operations: u64,
    pub start_ns: u64,
    pub log: Log,
    pub namespace: Namespace,
}

impl Book {
    pub fn add(&mut self, after_operations: u64, effect: Effect) {
        self.log.entries.push(Entry { after_operations, effect });
    }

    /// A name stands for something else, or for nothing.
    pub fn named(&mut self, at: u64, place: &Place, to: Option<Node>) {
        self.namespace.name(place, to);
        self.add(at, Effect::Named { directory: place.directory, name: place.name.clone(), to });
    }

    pub fn made(&mut self, at: u64, place: &Place, kind: NodeKind) -> Node {
        let node = self.namespace.make(kind.clone());
        self.add(at, Effect::Made { node, kind });
        self.named(at, place, Some(node));
        node
    }

    pub fn size(&mut self, at: u64, node: Node, bytes: u64) {
        self.namespace.set_size(node, bytes);
        self.add(at, Effect::Size { node, bytes });
    }

    /// The program writes at `place_bytes`, or where the descriptor says.
    pub fn written(&mut self, when: When, fd: Fd, place_bytes: Option<u64>, data: &[u8]) {
        let Some(open) = self.namespace.open.get(&fd).copied() else { return };
        let end_bytes = self.namespace.size_bytes(open.node);
        let at = place_bytes.unwrap_or(if open.appends { end_bytes } else { open.position_bytes });
        let after = at + data.len() as u64;
        self.namespace.set_size(open.node, end_bytes.max(after));
        self.add(when.from_operations, Effect::Data { node: open.node, at, data: Arc::from(data) });
        if open.syncs {
            self.add(when.to_operations, Effect::Safe { node: open.node });
        }
        if let (None, Some(open)) = (place_bytes, self.namespace.open.get_mut(&fd)) {
            open.position_bytes = after;
        }
    }

    pub fn read(&mut self, fd: Fd, bytes: usize) {
        if let Some(open) = self.namespace.open.get_mut(&fd) {
            open.position_bytes += bytes as u64;
        }
    }
}

/// Operations of the flash before a call and after it.
#[derive(Clone, Copy)]
pub struct When {
    pub from_operations: u64,
    pub to_operations: u64,
}
