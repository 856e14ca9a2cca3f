//! What must exist before the replay so that its calls can succeed: files that the trace uses without having made them,
//! with the sizes that it shows.

use super::follow::Evidence;
use super::{Call, Existing, ExistingKind, Handle, Outcome, Record, Target, Whence};
use std::collections::BTreeMap;

type NodeId = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Unknown,
    Directory,
    File,
    Symlink(Vec<u8>),
}

struct Node {
    kind: Kind,
    existed: bool,
    /// Its name at the start of the trace.
    path: Vec<u8>,
    /// The initial size that explains everything seen so far.
    initial_bytes: u64,
    /// The least size that it has now.
    size_bytes: u64,
    /// The file was truncated, so sizes seen later tell nothing about the initial size.
    cut: bool,
}

#[derive(Default)]
struct OpenFile {
    node: Option<NodeId>,
    position: u64,
    append: bool,
}

/// Collects what must have existed, from the calls in order. Paths are relative to the root.
#[derive(Default)]
pub struct Watcher {
    nodes: Vec<Node>,
    /// The inode of each name; `None`: it is known that the name does not exist at this point of the trace.
    names: BTreeMap<Vec<u8>, Option<NodeId>>,
    files: BTreeMap<Handle, OpenFile>,
}

impl Watcher {
    pub fn watch(&mut self, record: &Record, evidence: &Evidence) {
        match &record.result {
            Outcome::Value(value) => self.success(&record.call, *value, evidence),
            Outcome::Error(error) => self.failure(&record.call, error),
        }
    }

    /// Everything that existed, parents first.
    pub fn finish(self) -> Vec<Existing> {
        let mut existing: BTreeMap<Vec<u8>, ExistingKind> = BTreeMap::new();
        for node in self.nodes.into_iter().filter(|n| n.existed && !n.path.is_empty()) {
            let kind = match node.kind {
                Kind::Directory => ExistingKind::Directory,
                Kind::Symlink(target) => ExistingKind::Symlink { target },
                Kind::File | Kind::Unknown => ExistingKind::File { size_bytes: node.initial_bytes },
            };
            existing.insert(node.path, kind);
        }
        // A plain open can be of a directory or a file. A path with other paths below it is a directory.
        let parents: Vec<Vec<u8>> = existing.keys().filter_map(|p| parent(p)).map(<[u8]>::to_vec).collect();
        for path in parents {
            existing.insert(path, ExistingKind::Directory);
        }
        existing.into_iter().map(|(path, kind)| Existing { path, kind }).collect()
    }

    fn add(&mut self, path: &[u8], kind: Kind, existed: bool) -> NodeId {
        let path = path.to_vec();
        let node = Node { kind, existed, path: path.clone(), initial_bytes: 0, size_bytes: 0, cut: false };
        self.nodes.push(node);
        self.names.insert(path, Some(self.nodes.len() - 1));
        self.nodes.len() - 1
    }

    /// Notes that all directories above `path` exist.
    fn parents_exist(&mut self, path: &[u8]) {
        let mut above = parent(path);
        while let Some(directory) = above {
            match self.names.get(directory) {
                Some(Some(id)) => self.nodes[*id].kind = Kind::Directory,
                _ => drop(self.add(directory, Kind::Directory, true)),
            }
            above = parent(directory);
        }
    }

    /// Notes that `path` was used with success: it exists, and has existed from the start unless the trace has made it.
    fn there(&mut self, path: &[u8], kind: Kind) -> NodeId {
        self.parents_exist(path);
        match self.names.get(path) {
            Some(Some(id)) => {
                let node = &mut self.nodes[*id];
                if node.kind == Kind::Unknown {
                    node.kind = kind;
                }
                *id
            }
            _ => self.add(path, kind, true),
        }
    }

    fn shows_size(&mut self, id: NodeId, bytes: u64) {
        let node = &mut self.nodes[id];
        if bytes > node.size_bytes {
            if !node.cut {
                node.initial_bytes = bytes;
                node.existed = true;
            }
            node.size_bytes = bytes;
        }
    }

    fn node_of(&self, handle: Handle) -> Option<NodeId> {
        self.files.get(&handle)?.node
    }

    fn target(&mut self, target: &Target, kind: Kind) -> Option<NodeId> {
        match target {
            Target::Path { path, .. } => Some(self.there(path, kind)),
            Target::Handle(handle) => self.node_of(*handle),
        }
    }

    fn cut(&mut self, id: NodeId, bytes: u64) {
        let node = &mut self.nodes[id];
        node.cut = true;
        node.size_bytes = bytes;
    }

    fn success(&mut self, call: &Call, value: i64, evidence: &Evidence) {
        let done = value.max(0) as u64;
        match call {
            Call::Open { handle, path, flags, .. } => {
                let kind = if flags.directory { Kind::Directory } else { Kind::Unknown };
                let made = flags.create && !matches!(self.names.get(path), Some(Some(_)));
                let id = if made {
                    self.parents_exist(path);
                    // The file may have existed. If so, a size that nobody has written will show it.
                    self.add(path, Kind::File, false)
                } else {
                    self.there(path, kind)
                };
                if flags.truncate {
                    self.cut(id, 0);
                }
                self.files.insert(*handle, OpenFile { node: Some(id), position: 0, append: flags.append });
            }
            Call::Close { handle } => drop(self.files.remove(handle)),
            Call::Read { handle, .. } => {
                let Some(file) = self.files.get_mut(handle) else { return };
                file.position = file.position.saturating_add(done);
                if let (Some(id), 1..) = (file.node, done) {
                    let end = file.position;
                    self.shows_size(id, end);
                }
            }
            Call::ReadAt { handle, offset, .. } => {
                if let (Some(id), 1..) = (self.node_of(*handle), done) {
                    self.shows_size(id, offset.saturating_add(done));
                }
            }
            Call::Write { handle, .. } => {
                let Some(file) = self.files.get_mut(handle) else { return };
                let Some(node) = file.node.map(|id| &mut self.nodes[id]) else { return };
                let start = if file.append { node.size_bytes } else { file.position };
                file.position = start.saturating_add(done);
                node.size_bytes = node.size_bytes.max(file.position);
            }
            Call::WriteAt { handle, offset, .. } => {
                if let Some(id) = self.node_of(*handle) {
                    let node = &mut self.nodes[id];
                    node.size_bytes = node.size_bytes.max(offset.saturating_add(done));
                }
            }
            Call::Seek { handle, offset, whence } => {
                let Some(file) = self.files.get_mut(handle) else { return };
                file.position = done;
                if let (Whence::End, Some(id)) = (whence, file.node) {
                    self.shows_size(id, u64::try_from(value.saturating_sub(*offset)).unwrap_or(0));
                }
            }
            Call::Truncate { target, bytes } => {
                if let Some(id) = self.target(target, Kind::File) {
                    self.cut(id, *bytes);
                }
            }
            Call::Rename { from, to, .. } => {
                let id = self.there(from, Kind::Unknown);
                self.parents_exist(to);
                self.move_contents(from, to);
                self.names.insert(from.clone(), None);
                self.names.insert(to.clone(), Some(id));
            }
            Call::Unlink { path } => {
                self.there(path, Kind::Unknown);
                self.names.insert(path.clone(), None);
            }
            Call::RemoveDirectory { path } => {
                self.there(path, Kind::Directory);
                self.names.insert(path.clone(), None);
            }
            Call::MakeDirectory { path, .. } => {
                self.parents_exist(path);
                self.add(path, Kind::Directory, false);
            }
            Call::Link { from, to } => {
                let id = self.there(from, Kind::File);
                self.parents_exist(to);
                self.names.insert(to.clone(), Some(id));
            }
            Call::Symlink { target, path } => {
                self.parents_exist(path);
                self.add(path, Kind::Symlink(target.clone()), false);
            }
            Call::ReadLink { path } => {
                let target = if let Evidence::Link { target } = evidence { target.clone() } else { b".".to_vec() };
                self.there(path, Kind::Symlink(target));
            }
            Call::Stat { target } => {
                let (kind, size_bytes) = match evidence {
                    Evidence::Stat { directory: true, .. } => (Kind::Directory, 0),
                    Evidence::Stat { directory: false, size_bytes } => (Kind::File, *size_bytes),
                    _ => (Kind::Unknown, 0),
                };
                if let Some(id) = self.target(target, kind.clone()) {
                    if kind != Kind::Unknown && self.nodes[id].kind == Kind::Unknown {
                        self.nodes[id].kind = kind;
                    }
                    self.shows_size(id, size_bytes);
                }
            }
            Call::ListDirectory { handle } => {
                if let Some(id) = self.node_of(*handle) {
                    self.nodes[id].kind = Kind::Directory;
                }
            }
            Call::ChangeMode { target, .. }
            | Call::ChangeOwner { target, .. }
            | Call::ChangeTimes { target }
            | Call::StatFs { target } => drop(self.target(target, Kind::Unknown)),
            Call::Fsync { .. } | Call::Trim { .. } | Call::Sync | Call::SyncFs { .. } | Call::Advise { .. } => {}
        }
    }

    /// Moves the names below a directory that was renamed.
    fn move_contents(&mut self, from: &[u8], to: &[u8]) {
        let prefix = [from, b"/"].concat();
        let inside: Vec<Vec<u8>> =
            self.names.range(prefix.clone()..).map(|(p, _)| p.clone()).take_while(|p| p.starts_with(&prefix)).collect();
        for path in inside {
            if let Some(node) = self.names.remove(&path) {
                self.names.insert([to, b"/", &path[prefix.len()..]].concat(), node);
            }
        }
    }

    fn failure(&mut self, call: &Call, error: &str) {
        let path = match call {
            Call::Open { path, .. }
            | Call::Stat { target: Target::Path { path, .. } }
            | Call::MakeDirectory { path, .. }
            | Call::Unlink { path }
            | Call::RemoveDirectory { path } => path,
            _ => return,
        };
        let creates = match call {
            Call::Open { flags, .. } => flags.create,
            Call::MakeDirectory { .. } => true,
            _ => false,
        };
        match error {
            // When a call fails that would create the name, a directory above it is missing instead.
            "ENOENT" if !creates && !self.names.contains_key(path) => drop(self.names.insert(path.clone(), None)),
            "EEXIST" | "ENOTEMPTY" | "EISDIR" => {
                let kind = match call {
                    Call::Open { .. } if error == "EEXIST" => Kind::Unknown,
                    _ => Kind::Directory,
                };
                self.there(path, kind);
            }
            _ => {}
        }
    }
}

/// The parent directory; `None` for a name in the root, which always exists.
fn parent(path: &[u8]) -> Option<&[u8]> {
    path.iter().rposition(|b| *b == b'/').map(|at| &path[..at])
}
