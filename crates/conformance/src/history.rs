//! Which states may be found after a power cut: for each file and name, all states since it was last durable ("safe").

use crate::call::{Call, Outcome};
use crate::file_history::{FileHistory, Pending};
use crate::model::Model;
use crate::nodes::{Change, Content, NodeId, Nodes, Xattrs, ROOT};
use crate::tree::{show, Entry, Tree};
use crate::{Failure, Subject};
use ffslab_fs::FileKind;
use std::collections::{BTreeMap, BTreeSet};

/// An inode for which a name may stand, also if the model has forgotten it.
#[derive(Clone, Debug)]
struct Seen {
    kind: FileKind,
    target: Vec<u8>,
    /// Permission bits that it has had since they were last durable.
    permissions: Vec<u32>,
    /// The highest number of names that it had at the end of a call since then.
    links_max: u32,
    file: FileHistory,
    /// The values of each extended attribute since then. The current one is last.
    xattrs: XattrValues,
}

/// The values of each extended attribute; `None`: the inode did not have it.
type XattrValues = BTreeMap<Vec<u8>, Vec<Option<Vec<u8>>>>;

/// For each directory's path: name and path of each entry.
type Children<'t> = BTreeMap<&'t [u8], Vec<(&'t [u8], &'t [u8])>>;

/// A directory's path and a name in it.
type Name<'t> = (&'t [u8], &'t [u8]);

/// Inodes of the model, each with the paths that may stand for it.
type Found<'t> = BTreeMap<NodeId, BTreeSet<&'t [u8]>>;

/// States after a power cut that a file system may leave by design, although the contract does not allow them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latitude {
    /// An interrupted rename may leave both names.
    pub both_names: bool,
    /// Zeros, and data that were cut off, may be replaced by older data.
    pub older_data: bool,
    /// Extended attributes may be missing or have earlier values.
    pub older_xattrs: bool,
}

impl Latitude {
    pub fn of(subject: &dyn Subject) -> Latitude {
        Latitude {
            both_names: subject.rename_may_leave_both_names(),
            older_data: subject.older_data_may_return(),
            older_xattrs: subject.older_xattrs_may_return(),
        }
    }
}

/// What was found on the medium.
struct Medium<'t> {
    tree: &'t Tree,
    children: Children<'t>,
    latitude: Latitude,
}

/// The model, together with what of it is durable.
///
/// The contract is that of fsync(2): data are durable when fsync of the file, or sync, has succeeded; a name is durable
/// when fsync of its directory, or sync, has. Anything else may be there or not, independently for each name and each
/// byte, with two exceptions: a replaced name stands for the old or the new file, and an inode that had a durable name,
/// and has had some name ever since, is found under one of its names.
#[derive(Clone, Debug)]
pub struct History {
    pub model: Model,
    /// What each name has stood for since it was last durable. The current inode is last.
    names: BTreeMap<(NodeId, Vec<u8>), Vec<Option<NodeId>>>,
    seen: BTreeMap<NodeId, Seen>,
    /// Inodes that must be found under some name.
    must_exist: BTreeSet<NodeId>,
}

impl History {
    /// The history of a medium that begins with the content `tree`.
    pub fn of_tree(tree: &Tree, limits: (usize, u64)) -> History {
        let mut model = Model::new(limits.0, limits.1);
        let mut ids: BTreeMap<&[u8], NodeId> = BTreeMap::from([(&b"/"[..], ROOT)]);
        // A directory comes before its entries, but the first path of an inode need not come first.
        for (path, entry) in &tree.0 {
            if path == b"/" {
                continue;
            }
            let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            let directory: &[u8] = if slash == 0 { b"/" } else { &path[..slash] };
            let (Some(&dir), name) = (ids.get(directory), &path[slash + 1..]) else { continue };
            let next = ids.len() as NodeId + ROOT;
            let id = *ids.entry(&entry.first_path).or_insert_with(|| add_inode(&mut model, next, entry));
            model.nodes.apply(Change::Name { dir, name: name.to_vec(), to: Some(id) });
        }
        if let Some(root) = tree.0.get(&b"/"[..]) {
            model.nodes.apply(Change::Permissions { id: ROOT, permissions: root.attributes.permissions });
            add_xattrs(&mut model, ROOT, root);
        }
        let mut history = History { model, names: BTreeMap::new(), seen: BTreeMap::new(), must_exist: BTreeSet::new() };
        history.record();
        history.everything_is_safe();
        history
    }

    /// The history of the same medium after a power cut, of which `tree` was found.
    pub fn continued(&self, tree: &Tree, limits: (usize, u64)) -> History {
        let mut history = History::of_tree(tree, limits);
        history.model.nodes.remember_xattrs_of(&self.model.nodes);
        history
    }

    /// Notes that a call has begun: from now on its effects may be found.
    pub fn begin(&mut self, call: &Call) -> Outcome {
        let outcome = self.model.call(call);
        self.record();
        outcome
    }

    /// Notes that the last call has succeeded.
    pub fn succeeded(&mut self, call: &Call) {
        match call {
            Call::Sync | Call::Remount | Call::SyncAndCrash => self.everything_is_safe(),
            Call::Fsync { slot } | Call::Fdatasync { slot } => self.slot_is_safe(*slot),
            Call::Write { slot, .. } | Call::Pwrite { slot, .. }
                if self.model.open_file(*slot).is_some_and(|file| file.how.sync) =>
            {
                self.slot_is_safe(*slot);
            }
            Call::FsyncDirectory { path } => {
                if let Some(dir) = self.model.find(path) {
                    self.names_are_safe(dir);
                }
            }
            _ => {}
        }
    }

    /// Whether nothing must survive yet.
    pub fn nothing_is_safe(&self) -> bool {
        self.must_exist.is_empty()
    }

    fn slot_is_safe(&mut self, slot: usize) {
        let Some(file) = self.model.open_file(slot) else { return };
        self.content_is_safe(file.node);
        if self.model.nodes.directory(file.node).is_ok() {
            self.names_are_safe(file.node);
        }
    }

    fn everything_is_safe(&mut self) {
        let ids: Vec<NodeId> = self.model.nodes.iter().map(|(id, _)| id).collect();
        self.seen.retain(|id, _| ids.contains(id));
        self.names.retain(|_, values| values.last().is_some_and(Option::is_some));
        for id in ids {
            self.content_is_safe(id);
            self.names_are_safe(id);
        }
        // Names are visited in the order of inodes and not of depth, so this is done when every directory is durable.
        self.must_exist =
            self.model.nodes.iter().filter(|(id, node)| node.links > 0 && *id != ROOT).map(|(id, _)| id).collect();
    }

    fn content_is_safe(&mut self, id: NodeId) {
        let (Ok(node), Some(seen)) = (self.model.nodes.get(id), self.seen.get_mut(&id)) else { return };
        seen.permissions = vec![node.permissions];
        seen.links_max = node.links;
        seen.xattrs = node.xattrs.iter().map(|(name, value)| (name.clone(), vec![Some(value.clone())])).collect();
        if let Content::File(bytes) = &node.content {
            if !seen.file.pending.is_empty() {
                seen.file.safe.clone_from(bytes);
                seen.file.pending.clear();
            }
            (seen.file.size_min, seen.file.size_max) = (bytes.len(), bytes.len());
        }
    }

    fn names_are_safe(&mut self, dir: NodeId) {
        let directory_is_safe = dir == ROOT || self.must_exist.contains(&dir);
        for (_, values) in self.names.range_mut((dir, Vec::new())..(dir + 1, Vec::new())) {
            values.drain(..values.len() - 1);
            if directory_is_safe {
                self.must_exist.extend(values[0]);
            }
        }
        self.names.retain(|(of, _), values| *of != dir || values[0].is_some());
    }

    /// Records the changes that the model has made.
    fn record(&mut self) {
        for change in self.model.nodes.take_changes() {
            match change {
                Change::New { id, content, permissions } => {
                    let kind = content.kind();
                    let (target, safe) = match content {
                        Content::Symlink(target) => (target, Vec::new()),
                        Content::File(bytes) => (Vec::new(), bytes),
                        _ => (Vec::new(), Vec::new()),
                    };
                    let size = safe.len();
                    let file = FileHistory { safe, pending: Vec::new(), size_min: size, size_max: size };
                    let seen = Seen {
                        kind,
                        target,
                        permissions: vec![permissions],
                        links_max: 0,
                        file,
                        xattrs: BTreeMap::new(),
                    };
                    self.seen.insert(id, seen);
                }
                Change::Name { dir, name, to } => {
                    let values = self.names.entry((dir, name)).or_insert_with(|| vec![None]);
                    let before = values.last().copied().flatten();
                    values.push(to);
                    // The model has carried out the whole call, so after a rename the old name is gone already.
                    if let Some((node, seen)) =
                        to.and_then(|id| Some((self.model.nodes.get(id).ok()?, self.seen.get_mut(&id)?)))
                    {
                        seen.links_max = seen.links_max.max(node.links);
                    }
                    if let Some(id) = before {
                        if self.model.nodes.get(id).map_or(0, |node| node.links) == 0 {
                            self.must_exist.remove(&id);
                        }
                    }
                }
                Change::Data { id, at, data } => {
                    if let Some(seen) = self.seen.get_mut(&id) {
                        seen.file.size_max = seen.file.size_max.max(at as usize + data.len());
                        seen.file.pending.push(Pending::Data { at: at as usize, data });
                    }
                }
                Change::Size { id, size_bytes } => {
                    if let Some(seen) = self.seen.get_mut(&id) {
                        let size = size_bytes as usize;
                        seen.file.size_min = seen.file.size_min.min(size);
                        seen.file.size_max = seen.file.size_max.max(size);
                        seen.file.pending.push(Pending::Size(size));
                    }
                }
                Change::Permissions { id, permissions } => {
                    if let Some(seen) = self.seen.get_mut(&id) {
                        seen.permissions.push(permissions);
                    }
                }
                Change::Xattr { id, name, value } => {
                    if let Some(seen) = self.seen.get_mut(&id) {
                        seen.xattrs.entry(name).or_insert_with(|| vec![None]).push(value);
                    }
                }
                Change::Owner { .. } | Change::Modified { .. } | Change::Gone { .. } => {}
            }
        }
    }

    // ---- judging -------------------------------------------------------------------------------------------

    /// Checks whether `tree` may be found after a power cut at this point.
    ///
    /// # Errors
    /// What is missing, was never written, or is wrong.
    pub fn explains(&self, tree: &Tree, latitude: Latitude) -> Result<(), Failure> {
        let mut children = Children::new();
        // A directory under two names shows its entries twice, but each entry is only one name.
        let mut names_of: BTreeMap<&[u8], BTreeSet<Name>> = BTreeMap::new();
        for (path, entry) in &tree.0 {
            if path != b"/" {
                let slash = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                let (directory, name): (&[u8], &[u8]) =
                    (if slash == 0 { b"/" } else { &path[..slash] }, &path[slash + 1..]);
                children.entry(directory).or_default().push((name, path));
                let directory = tree.0.get(directory).map_or(directory, |entry| &entry.first_path);
                names_of.entry(&entry.first_path).or_default().insert((directory, name));
            }
        }
        let mut found = BTreeMap::new();
        self.directory(ROOT, b"/", &Medium { tree, children, latitude }, &mut found)?;
        for (path, names) in &names_of {
            let attributes = &tree.0[*path].attributes;
            let count = names.len() as u32;
            if attributes.kind != FileKind::Directory && attributes.links != count {
                let links = attributes.links;
                return Err(Failure::new(format!("\"{}\" has {count} names but link count {links}", show(path))));
            }
            let links_max = |id: &NodeId| self.seen.get(id).map_or(0, |seen| seen.links_max);
            let candidates = found.iter().filter(|(_, paths)| paths.contains(*path));
            let links_max = candidates.map(|(id, _)| links_max(id)).max().unwrap_or(0);
            if count > links_max + u32::from(latitude.both_names) {
                return Err(Failure::new(format!(
                    "\"{}\" has {count} names, but never had more than {links_max}",
                    show(path)
                )));
            }
        }
        match self.must_exist.iter().find(|id| !found.contains_key(*id)) {
            Some(id) => Err(Failure::new(format!("{} is lost: none of its names is there", self.name_of(*id)))),
            None => Ok(()),
        }
    }

    fn directory<'t>(
        &self,
        dir: NodeId,
        path: &[u8],
        medium: &Medium<'t>,
        found: &mut Found<'t>,
    ) -> Result<(), Failure> {
        let there = medium.children.get(path).map_or(&[][..], Vec::as_slice);
        for ((_, name), values) in self.names.range((dir, Vec::new())..(dir + 1, Vec::new())) {
            if !values.contains(&None) && !there.iter().any(|(other, _)| other == name) {
                return Err(Failure::new(format!("\"{}\" is missing in \"{}\"", show(name), show(path))));
            }
        }
        for (name, child) in there {
            let Some(values) = self.names.get(&(dir, name.to_vec())) else {
                return Err(Failure::new(format!("\"{}\" was never made, or is long gone", show(child))));
            };
            let mut reason = None;
            let mut fits = false;
            for &id in values.iter().flatten() {
                match self.inode(id, child, medium, found) {
                    Ok(()) => {
                        found.entry(id).or_default().insert(child);
                        fits = true;
                    }
                    Err(failure) => reason = Some(failure),
                }
            }
            if !fits {
                return Err(
                    reason.unwrap_or_else(|| Failure::new(format!("\"{}\" should not be there any more", show(child))))
                );
            }
        }
        Ok(())
    }

    fn inode<'t>(&self, id: NodeId, path: &'t [u8], medium: &Medium<'t>, found: &mut Found<'t>) -> Result<(), Failure> {
        let wrong = |text: String| Err(Failure::new(format!("\"{}\": {text}", show(path))));
        let (Some(seen), Some(entry)) = (self.seen.get(&id), medium.tree.0.get(path)) else {
            return wrong("unknown inode".to_string());
        };
        let Entry { attributes, content, .. } = entry;
        if attributes.kind != seen.kind {
            return wrong(format!("is a {:?}, was a {:?}", attributes.kind, seen.kind));
        }
        if !seen.permissions.contains(&attributes.permissions) {
            return wrong(format!("permissions {:o}, before {:o}", attributes.permissions, seen.permissions[0]));
        }
        let explained = if medium.latitude.older_xattrs {
            explains_older_xattrs(&self.model.nodes, &entry.xattrs)
        } else {
            explains_xattrs(&seen.xattrs, &entry.xattrs)
        };
        if let Err(text) = explained {
            return wrong(text);
        }
        match seen.kind {
            FileKind::Directory => self.directory(id, path, medium, found),
            FileKind::Symlink if *content != seen.target => wrong(format!("points to \"{}\"", show(content))),
            FileKind::File => seen.file.explains(content, medium.latitude.older_data).or_else(wrong),
            _ => Ok(()),
        }
    }

    fn name_of(&self, id: NodeId) -> String {
        let name = self.names.iter().find(|(_, values)| values.contains(&Some(id)));
        name.map_or_else(|| format!("inode {id}"), |((_, name), _)| format!("\"{}\"", show(name)))
    }
}

/// Checks that each extended attribute has a value that somebody has set.
fn explains_older_xattrs(nodes: &Nodes, found: &Xattrs) -> Result<(), String> {
    match found.iter().find(|(name, value)| !nodes.xattr_was_set(name, value)) {
        Some((name, _)) => Err(format!("extended attribute \"{}\" has a value that nobody ever set", show(name))),
        None => Ok(()),
    }
}

/// Checks that each extended attribute has one of its values since it was last durable, unchanged.
fn explains_xattrs(known: &XattrValues, found: &Xattrs) -> Result<(), String> {
    for (name, value) in found {
        let values = known.get(name).map_or(&[][..], Vec::as_slice);
        if !values.iter().flatten().any(|known| known == value) {
            return Err(format!("extended attribute \"{}\" has a value that nobody set", show(name)));
        }
    }
    match known.iter().find(|(name, values)| !values.contains(&None) && !found.contains_key(*name)) {
        Some((name, _)) => Err(format!("extended attribute \"{}\" is missing", show(name))),
        None => Ok(()),
    }
}

fn add_inode(model: &mut Model, id: NodeId, entry: &Entry) -> NodeId {
    let attributes = &entry.attributes;
    let content = match attributes.kind {
        FileKind::File => Content::File(entry.content.clone()),
        FileKind::Directory => Content::Directory(BTreeMap::new()),
        FileKind::Symlink => Content::Symlink(entry.content.clone()),
        kind => Content::Special(kind, attributes.device),
    };
    model.nodes.apply(Change::New { id, content, permissions: attributes.permissions });
    model.nodes.apply(Change::Owner { id, uid: attributes.uid, gid: attributes.gid });
    add_xattrs(model, id, entry);
    id
}

fn add_xattrs(model: &mut Model, id: NodeId, entry: &Entry) {
    for (name, value) in &entry.xattrs {
        model.nodes.apply(Change::Xattr { id, name: name.clone(), value: Some(value.clone()) });
    }
}
