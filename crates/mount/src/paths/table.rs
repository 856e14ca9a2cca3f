//! Which inode has which path, for a system that knows files by path alone.
//!
//! A node is a number that this mount gives out and never gives twice. Names are kept as a tree, so that a rename moves all
//! that lies below without a look at it. Whatever changes names comes through the mount, so a name that was seen is there
//! until the mount takes it away; it costs the system no look-up any more.

use ffslab_fs::{FileKind, Ino, Stat};
use ffslab_system::{Fd, NodeId, ROOT_NODE};
use std::collections::BTreeMap;

/// A file that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub node: NodeId,
    pub writes: bool,
    /// Opened for appending: the system itself finds the end of the file.
    pub appends: bool,
    /// Where the system's descriptor stands.
    pub position: u64,
    /// Entries of this directory were read already.
    pub was_listed: bool,
}

/// What is known of a node.
#[derive(Debug)]
pub(super) struct Node {
    /// The system's own number, by which a second name of the same file is recognised.
    ino: Ino,
    /// What the system said last; the number in it is the node's.
    pub stat: Stat,
    /// Whether nothing has changed since.
    pub is_fresh: bool,
    /// Directory and name; none: the file was unlinked and lives as long as it is open.
    pub names: Vec<(NodeId, Vec<u8>)>,
    /// Of a directory: the names in it that were seen.
    children: BTreeMap<Vec<u8>, NodeId>,
    look_ups: u64,
}

/// The nodes of a mount.
#[derive(Debug, Default)]
pub(super) struct Table {
    nodes: BTreeMap<NodeId, Node>,
    /// Nodes with a name, by the system's number.
    by_ino: BTreeMap<Ino, NodeId>,
    opened: BTreeMap<Fd, Opened>,
    last: NodeId,
}

impl Table {
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(&id)
    }

    pub fn child(&self, directory: NodeId, name: &[u8]) -> Option<NodeId> {
        self.nodes.get(&directory)?.children.get(name).copied()
    }

    /// The path of a node by its last name, relative to the root. `None`: it has no name.
    pub fn path(&self, id: NodeId) -> Option<Vec<u8>> {
        if id == ROOT_NODE {
            return Some(b"/".to_vec());
        }
        let mut names: Vec<&[u8]> = Vec::new();
        let mut at = id;
        while at != ROOT_NODE {
            let (above, name) = self.nodes.get(&at)?.names.last()?;
            names.push(name);
            at = *above;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }

    /// The path of a name in a directory. `None`: the directory has none any more.
    pub fn path_below(&self, directory: NodeId, name: &[u8]) -> Option<Vec<u8>> {
        match directory {
            ROOT_NODE => Some(name.to_vec()),
            _ => Some([&self.path(directory)?, name].join(&b'/')),
        }
    }

    /// Takes what the system says of the root, which is there from the start.
    pub fn adopt_root(&mut self, stat: &Stat) {
        self.last = self.last.max(ROOT_NODE);
        self.take(ROOT_NODE, stat, None);
    }

    /// Takes what the system says of a name, and gives its node: the one that it had, that of another name of the same
    /// file, or a new one.
    pub fn adopt(&mut self, directory: NodeId, name: &[u8], stat: &Stat) -> NodeId {
        let is_same = |node: &Node| node.ino == stat.ino && node.stat.kind == stat.kind;
        let named = self.child(directory, name);
        if let Some(id) = named {
            if self.nodes.get(&id).is_some_and(is_same) {
                self.take(id, stat, None);
                return id;
            }
            self.remove_name(directory, name);
        }
        let other = self.by_ino.get(&stat.ino).copied().filter(|id| self.nodes.get(id).is_some_and(is_same));
        let id = other.unwrap_or_else(|| {
            self.last += 1;
            self.last
        });
        self.take(id, stat, Some((directory, name)));
        id
    }

    fn take(&mut self, id: NodeId, stat: &Stat, name: Option<(NodeId, &[u8])>) {
        let known = self.nodes.entry(id).or_insert_with(|| Node {
            ino: stat.ino,
            stat: *stat,
            is_fresh: true,
            names: Vec::new(),
            children: BTreeMap::new(),
            look_ups: 0,
        });
        if known.ino != stat.ino {
            self.by_ino.remove(&known.ino);
            known.ino = stat.ino;
        }
        // A mount gives out far fewer numbers than there are.
        known.stat = Stat { ino: id as Ino, ..*stat };
        known.is_fresh = true;
        if let Some((directory, name)) = name {
            known.names.push((directory, name.to_vec()));
            if let Some(above) = self.nodes.get_mut(&directory) {
                above.children.insert(name.to_vec(), id);
            }
        }
        if id == ROOT_NODE || !self.nodes[&id].names.is_empty() {
            self.by_ino.insert(stat.ino, id);
        }
    }

    /// Takes fresh attributes of a node.
    pub fn refresh(&mut self, id: NodeId, stat: &Stat) {
        self.take(id, stat, None);
    }

    /// Something about a node changed: its attributes are to be asked for again.
    pub fn changed(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.is_fresh = false;
        }
    }

    /// A name is gone. Gives the node that had it.
    pub fn remove_name(&mut self, directory: NodeId, name: &[u8]) -> Option<NodeId> {
        let id = self.nodes.get_mut(&directory)?.children.remove(name)?;
        let node = self.nodes.get_mut(&id)?;
        node.names.retain(|(above, known)| *above != directory || known != name);
        node.is_fresh = false;
        if node.names.is_empty() {
            let ino = node.ino;
            if self.by_ino.get(&ino) == Some(&id) {
                self.by_ino.remove(&ino);
            }
        }
        self.drop_unused(id);
        Some(id)
    }

    /// What had the old name has the new one.
    pub fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8])) {
        self.remove_name(new.0, new.1);
        let Some(id) = self.nodes.get_mut(&old.0).and_then(|above| above.children.remove(old.1)) else { return };
        if let Some(node) = self.nodes.get_mut(&id) {
            node.names.retain(|(above, known)| *above != old.0 || known != old.1);
            node.names.push((new.0, new.1.to_vec()));
            node.is_fresh = false;
        }
        if let Some(above) = self.nodes.get_mut(&new.0) {
            above.children.insert(new.1.to_vec(), id);
        }
    }

    /// Directory and kind of what a directory lists under a name, where it is known.
    pub fn kind(&self, id: NodeId) -> Option<FileKind> {
        self.nodes.get(&id).map(|node| node.stat.kind)
    }

    // ---- users --------------------------------------------------------------------------------------------------------

    pub fn handed_out(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.look_ups += 1;
        }
    }

    pub fn forget(&mut self, id: NodeId, look_ups: u64) {
        if let Some(node) = self.nodes.get_mut(&id) {
            node.look_ups = node.look_ups.saturating_sub(look_ups);
        }
        self.drop_unused(id);
    }

    /// Nodes with a name are kept, so that the name needs no second look-up.
    fn drop_unused(&mut self, id: NodeId) {
        let is_open = || self.opened.values().any(|opened| opened.node == id);
        let is_unused =
            |node: &Node| id != ROOT_NODE && node.names.is_empty() && node.look_ups == 0 && node.children.is_empty();
        if self.nodes.get(&id).is_some_and(is_unused) && !is_open() {
            self.nodes.remove(&id);
        }
    }

    pub fn open(&mut self, fd: Fd, opened: Opened) {
        self.opened.insert(fd, opened);
    }

    pub fn opened(&mut self, fd: Fd) -> Option<&mut Opened> {
        self.opened.get_mut(&fd)
    }

    pub fn close(&mut self, fd: Fd) {
        if let Some(opened) = self.opened.remove(&fd) {
            self.changed(opened.node);
            self.drop_unused(opened.node);
        }
    }

    /// A descriptor of a node that is open, one that may write if that is needed.
    pub fn descriptor_of(&self, id: NodeId, writes: bool) -> Option<Fd> {
        self.opened.iter().find(|(_, opened)| opened.node == id && (opened.writes || !writes)).map(|(fd, _)| *fd)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_fs::TimeSpec;

    fn stat(ino: Ino, kind: FileKind) -> Stat {
        let time = TimeSpec { seconds: 0, nanoseconds: 0 };
        Stat {
            ino,
            kind,
            permissions: 0o644,
            links: 1,
            uid: 0,
            gid: 0,
            device: 0,
            size_bytes: 0,
            blocks: 0,
            accessed: time,
            modified: time,
            changed: time,
        }
    }

    fn table() -> Table {
        let mut table = Table::default();
        table.adopt_root(&stat(70, FileKind::Directory));
        table
    }

    #[test]
    fn a_renamed_directory_takes_along_what_is_in_it() {
        let mut table = table();
        let directory = table.adopt(ROOT_NODE, b"d", &stat(71, FileKind::Directory));
        let file = table.adopt(directory, b"f", &stat(72, FileKind::File));
        assert_eq!(table.path(file).as_deref(), Some(&b"d/f"[..]));
        table.rename((ROOT_NODE, b"d"), (ROOT_NODE, b"e"));
        assert_eq!(table.path(file).as_deref(), Some(&b"e/f"[..]));
        assert_eq!(table.child(ROOT_NODE, b"d"), None);
        assert_eq!(table.adopt(directory, b"f", &stat(72, FileKind::File)), file);
    }

    #[test]
    fn an_unlinked_file_stays_as_long_as_it_is_open_and_its_number_is_not_that_of_the_next() {
        let mut table = table();
        let old = table.adopt(ROOT_NODE, b"f", &stat(72, FileKind::File));
        let opened = Opened { node: old, writes: true, appends: false, position: 0, was_listed: false };
        table.open(Fd(3), opened);
        table.remove_name(ROOT_NODE, b"f");
        assert_eq!((table.path(old), table.descriptor_of(old, true)), (None, Some(Fd(3))));
        let new = table.adopt(ROOT_NODE, b"f", &stat(72, FileKind::File));
        assert_ne!(old, new);
        table.close(Fd(3));
        assert!(table.node(old).is_none() && table.node(new).is_some());
    }

    #[test]
    fn two_names_of_a_file_are_one_node() {
        let mut table = table();
        let one = table.adopt(ROOT_NODE, b"one", &stat(72, FileKind::File));
        assert_eq!(table.adopt(ROOT_NODE, b"two", &stat(72, FileKind::File)), one);
        table.remove_name(ROOT_NODE, b"two");
        assert_eq!(table.path(one).as_deref(), Some(&b"one"[..]));
        assert_eq!(table.adopt(ROOT_NODE, b"three", &stat(72, FileKind::File)), one);
    }

    #[test]
    fn what_was_renamed_over_has_no_name_any_more() {
        let mut table = table();
        let new = table.adopt(ROOT_NODE, b"new", &stat(72, FileKind::File));
        let old = table.adopt(ROOT_NODE, b"old", &stat(73, FileKind::File));
        table.handed_out(old);
        table.rename((ROOT_NODE, b"new"), (ROOT_NODE, b"old"));
        assert_eq!((table.child(ROOT_NODE, b"old"), table.path(old)), (Some(new), None));
        table.forget(old, 1);
        assert!(table.node(old).is_none());
    }
}
