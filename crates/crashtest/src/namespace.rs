//! Which node a path and a descriptor stand for, as the calls of a workload have left it.

use crate::log::{Node, NodeKind, ROOT};
use crate::tree::{FileOrSo, Tree};
use ffslab_system::Fd;
use std::collections::HashMap;
use std::sync::Arc;

/// Links that a path may lead through.
const LINKS_MAX: usize = 40;

/// An open file.
#[derive(Clone, Copy, Debug)]
pub struct OpenNode {
    pub node: Node,
    /// Where read(2) and write(2) go on.
    pub position_bytes: u64,
    pub appends: bool,
    /// Each write is synced before it returns.
    pub syncs: bool,
}

/// Names and descriptors.
pub struct Namespace {
    next: Node,
    names: HashMap<(Node, Arc<[u8]>), Node>,
    kinds: HashMap<Node, NodeKind>,
    sizes_bytes: HashMap<Node, u64>,
    pub open: HashMap<Fd, OpenNode>,
}

/// Where a path leads: the directory and the name in it, and what it stands for.
pub struct Place {
    pub directory: Node,
    pub name: Arc<[u8]>,
    pub node: Option<Node>,
}

impl Default for Namespace {
    fn default() -> Namespace {
        let kinds = HashMap::from([(ROOT, NodeKind::Directory)]);
        Namespace { next: ROOT + 1, names: HashMap::new(), kinds, sizes_bytes: HashMap::new(), open: HashMap::new() }
    }
}

impl Namespace {
    /// The names of a tree, each called with its node in an order in which directories come before what is in them.
    pub fn of(tree: &Tree, each: &mut dyn FnMut(Place, NodeKind, &FileOrSo)) -> Namespace {
        let mut namespace = Namespace::default();
        for (path, seen) in tree {
            let kind = match seen {
                FileOrSo::Directory => NodeKind::Directory,
                FileOrSo::File(_) | FileOrSo::Unreadable(_) => NodeKind::File,
                FileOrSo::Symlink(target) => NodeKind::Symlink(Arc::from(target.as_slice())),
                FileOrSo::Other => NodeKind::Other,
            };
            let Some(mut place) = namespace.place(path, false) else { continue };
            let node = namespace.make(kind.clone());
            if let FileOrSo::File(content) = seen {
                namespace.set_size(node, content.len() as u64);
            }
            namespace.name(&place, Some(node));
            place.node = Some(node);
            each(place, kind, seen);
        }
        namespace
    }

    pub fn make(&mut self, kind: NodeKind) -> Node {
        let node = self.next;
        self.next += 1;
        self.kinds.insert(node, kind);
        node
    }

    pub fn name(&mut self, place: &Place, to: Option<Node>) {
        let key = (place.directory, place.name.clone());
        match to {
            Some(node) => drop(self.names.insert(key, node)),
            None => drop(self.names.remove(&key)),
        }
    }

    pub fn size_bytes(&self, node: Node) -> u64 {
        self.sizes_bytes.get(&node).copied().unwrap_or(0)
    }

    pub fn set_size(&mut self, node: Node, bytes: u64) {
        self.sizes_bytes.insert(node, bytes);
    }

    /// Where a path leads. A link at its end is followed only if `follow` says so. `None`: there is no such directory.
    pub fn place(&self, path: &[u8], follow: bool) -> Option<Place> {
        self.walk(path, follow, LINKS_MAX, ROOT)
    }

    fn walk(&self, path: &[u8], follow: bool, links: usize, from: Node) -> Option<Place> {
        let mut at = if path.first() == Some(&b'/') { ROOT } else { from };
        let parts: Vec<&[u8]> =
            path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
        let Some((last, before)) = parts.split_last() else {
            return Some(Place { directory: ROOT, name: Arc::from(&b""[..]), node: Some(at) });
        };
        for part in before {
            at = self.step(at, part, links)?;
        }
        let name: Arc<[u8]> = Arc::from(*last);
        let node = self.names.get(&(at, name.clone())).copied();
        if let (true, Some(NodeKind::Symlink(target))) = (follow, node.and_then(|node| self.kinds.get(&node))) {
            return self.walk(target, true, links.checked_sub(1)?, at);
        }
        Some(Place { directory: at, name, node })
    }

    fn step(&self, at: Node, part: &[u8], links: usize) -> Option<Node> {
        let node = *self.names.get(&(at, Arc::from(part)))?;
        match self.kinds.get(&node) {
            Some(NodeKind::Symlink(target)) => self.walk(target, true, links.checked_sub(1)?, at)?.node,
            _ => Some(node),
        }
    }
}
