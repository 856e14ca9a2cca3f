//! The inodes of the reference file system: names, links, sizes and bytes.

use ffslab_fs::{Errno, FileKind, Result, TimeSpec};
use std::collections::{BTreeMap, BTreeSet};

/// Identity of an inode of the reference. Never used twice, unlike inode numbers.
pub type NodeId = u32;

pub const ROOT: NodeId = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    File(Vec<u8>),
    Directory(BTreeMap<Vec<u8>, NodeId>),
    Symlink(Vec<u8>),
    /// A device, pipe or socket, with its device number.
    Special(FileKind, u32),
}

impl Content {
    pub fn kind(&self) -> FileKind {
        match self {
            Content::File(_) => FileKind::File,
            Content::Directory(_) => FileKind::Directory,
            Content::Symlink(_) => FileKind::Symlink,
            Content::Special(kind, _) => *kind,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub content: Content,
    pub permissions: u32,
    pub uid: u32,
    pub gid: u32,
    /// A time that a program has set and that no later write has changed; `None`: a time that the kit does not follow.
    pub modified: Option<TimeSpec>,
    /// Number of names.
    pub links: u32,
    pub xattrs: Xattrs,
}

/// Extended attributes: name to value.
pub type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// One elementary change. A list of them is the whole history of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    New {
        id: NodeId,
        content: Content,
        permissions: u32,
    },
    /// The name stands for `to` from now on, or for nothing.
    Name {
        dir: NodeId,
        name: Vec<u8>,
        to: Option<NodeId>,
    },
    Data {
        id: NodeId,
        at: u64,
        data: Vec<u8>,
    },
    Size {
        id: NodeId,
        size_bytes: u64,
    },
    Owner {
        id: NodeId,
        uid: u32,
        gid: u32,
    },
    Permissions {
        id: NodeId,
        permissions: u32,
    },
    Modified {
        id: NodeId,
        time: Option<TimeSpec>,
    },
    /// The extended attribute has this value from now on, or does not exist any more.
    Xattr {
        id: NodeId,
        name: Vec<u8>,
        value: Option<Vec<u8>>,
    },
    /// The inode is deleted, because nothing refers to it any more.
    Gone {
        id: NodeId,
    },
}

/// All inodes. Every change is made with [`Nodes::apply`] and is recorded until [`Nodes::take_changes`].
#[derive(Clone, Debug)]
pub struct Nodes {
    all: BTreeMap<NodeId, Node>,
    next: NodeId,
    changes: Vec<Change>,
    /// Every name and value that an extended attribute of any inode ever had.
    xattrs_ever: BTreeSet<(Vec<u8>, Vec<u8>)>,
}

impl Default for Nodes {
    fn default() -> Self {
        let root = Node {
            content: Content::Directory(BTreeMap::new()),
            permissions: 0o755,
            uid: 0,
            gid: 0,
            modified: None,
            links: 1,
            xattrs: Xattrs::new(),
        };
        Nodes { all: BTreeMap::from([(ROOT, root)]), next: ROOT + 1, changes: Vec::new(), xattrs_ever: BTreeSet::new() }
    }
}

impl Nodes {
    /// Whether an extended attribute of any inode ever had this value.
    pub fn xattr_was_set(&self, name: &[u8], value: &[u8]) -> bool {
        self.xattrs_ever.contains(&(name.to_vec(), value.to_vec()))
    }

    /// Takes over what others know of earlier values of extended attributes.
    pub fn remember_xattrs_of(&mut self, others: &Nodes) {
        self.xattrs_ever.extend(others.xattrs_ever.iter().cloned());
    }

    /// `NoEnt` when there is no such inode.
    pub fn get(&self, id: NodeId) -> Result<&Node> {
        self.all.get(&id).ok_or(Errno::NoEnt)
    }

    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.all.iter().map(|(&id, node)| (id, node))
    }

    /// The bytes of a plain file; `IsDir` or `Inval` for anything else.
    pub fn file(&self, id: NodeId) -> Result<&[u8]> {
        match &self.get(id)?.content {
            Content::File(bytes) => Ok(bytes),
            Content::Directory(_) => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    /// The names in a directory; `NotDir` for anything else.
    pub fn directory(&self, id: NodeId) -> Result<&BTreeMap<Vec<u8>, NodeId>> {
        match &self.get(id)?.content {
            Content::Directory(names) => Ok(names),
            _ => Err(Errno::NotDir),
        }
    }

    pub fn lookup(&self, dir: NodeId, name: &[u8]) -> Result<NodeId> {
        self.directory(dir)?.get(name).copied().ok_or(Errno::NoEnt)
    }

    /// Makes an inode and its first name.
    pub fn create(&mut self, dir: NodeId, name: &[u8], content: Content, permissions: u32) -> Result<NodeId> {
        if self.directory(dir)?.contains_key(name) {
            return Err(Errno::Exist);
        }
        let id = self.next;
        self.apply(Change::New { id, content, permissions });
        self.apply(Change::Name { dir, name: name.to_vec(), to: Some(id) });
        Ok(id)
    }

    /// A further name.
    pub fn link(&mut self, id: NodeId, dir: NodeId, name: &[u8]) -> Result<()> {
        if self.directory(dir)?.contains_key(name) {
            return Err(Errno::Exist);
        }
        if self.directory(id).is_ok() {
            return Err(Errno::Perm);
        }
        self.apply(Change::Name { dir, name: name.to_vec(), to: Some(id) });
        Ok(())
    }

    /// Removes the name of anything except a directory. The inode remains until [`Nodes::forget`].
    pub fn unlink(&mut self, dir: NodeId, name: &[u8]) -> Result<NodeId> {
        let id = self.lookup(dir, name)?;
        if self.directory(id).is_ok() {
            return Err(Errno::IsDir);
        }
        self.apply(Change::Name { dir, name: name.to_vec(), to: None });
        Ok(id)
    }

    pub fn rmdir(&mut self, dir: NodeId, name: &[u8]) -> Result<NodeId> {
        let id = self.lookup(dir, name)?;
        if !self.directory(id)?.is_empty() {
            return Err(Errno::NotEmpty);
        }
        self.apply(Change::Name { dir, name: name.to_vec(), to: None });
        Ok(id)
    }

    /// An inode without a name.
    pub fn create_unnamed(&mut self, content: Content, permissions: u32) -> NodeId {
        let id = self.next;
        self.apply(Change::New { id, content, permissions });
        id
    }

    /// Moves a name. Returns the inode for which the new name stood before, if that was a different one.
    pub fn rename(&mut self, dir: NodeId, name: &[u8], to: NodeId, new_name: &[u8]) -> Result<Option<NodeId>> {
        self.rename_and_leave(dir, name, to, new_name, false)
    }

    /// Moves a name as [`Nodes::rename`] does. With `whiteout` the old name stands for a whiteout afterwards.
    pub fn rename_and_leave(
        &mut self,
        dir: NodeId,
        name: &[u8],
        to: NodeId,
        new_name: &[u8],
        whiteout: bool,
    ) -> Result<Option<NodeId>> {
        let id = self.lookup(dir, name)?;
        let is_directory = self.directory(id).is_ok();
        let replaced = self.directory(to)?.get(new_name).copied();
        if replaced == Some(id) {
            return Ok(None);
        }
        if let Some(other) = replaced {
            match (is_directory, self.directory(other)) {
                (true, Err(_)) => return Err(Errno::NotDir),
                (false, Ok(_)) => return Err(Errno::IsDir),
                (true, Ok(names)) if !names.is_empty() => return Err(Errno::NotEmpty),
                _ => {}
            }
        }
        self.apply(Change::Name { dir: to, name: new_name.to_vec(), to: Some(id) });
        let left = whiteout.then(|| self.create_unnamed(Content::Special(FileKind::CharDevice, 0), 0));
        self.apply(Change::Name { dir, name: name.to_vec(), to: left });
        Ok(replaced)
    }

    /// Exchanges the inodes for which two names stand.
    pub fn exchange(&mut self, one: (NodeId, &[u8]), other: (NodeId, &[u8])) -> Result<()> {
        let (first, second) = (self.lookup(one.0, one.1)?, self.lookup(other.0, other.1)?);
        self.apply(Change::Name { dir: other.0, name: other.1.to_vec(), to: Some(first) });
        self.apply(Change::Name { dir: one.0, name: one.1.to_vec(), to: Some(second) });
        Ok(())
    }

    /// Removes an inode without a name.
    pub fn forget(&mut self, id: NodeId) {
        if self.all.get(&id).is_some_and(|node| node.links == 0) {
            self.apply(Change::Gone { id });
        }
    }

    /// Makes a change. A change of an unknown inode has no effect.
    pub fn apply(&mut self, change: Change) {
        match &change {
            Change::New { id, content, permissions } => {
                let (content, permissions) = (content.clone(), *permissions);
                let xattrs = Xattrs::new();
                self.all.insert(*id, Node { content, permissions, uid: 0, gid: 0, modified: None, links: 0, xattrs });
                self.next = self.next.max(id.saturating_add(1));
            }
            Change::Name { dir, name, to } => self.set_name(*dir, name, *to),
            Change::Data { id, at, data } => self.with_file(*id, |bytes| {
                let end = *at as usize + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*at as usize..end].copy_from_slice(data);
            }),
            Change::Size { id, size_bytes } => self.with_file(*id, |bytes| bytes.resize(*size_bytes as usize, 0)),
            Change::Owner { id, uid, gid } => self.with(*id, |node| (node.uid, node.gid) = (*uid, *gid)),
            Change::Permissions { id, permissions } => self.with(*id, |node| node.permissions = *permissions),
            Change::Modified { id, time } => self.with(*id, |node| node.modified = *time),
            Change::Xattr { id, name, value: Some(value) } => {
                self.xattrs_ever.insert((name.clone(), value.clone()));
                self.with(*id, |node| {
                    node.xattrs.insert(name.clone(), value.clone());
                })
            }
            Change::Xattr { id, name, value: None } => self.with(*id, |node| {
                node.xattrs.remove(name);
            }),
            Change::Gone { id } => {
                self.all.remove(id);
            }
        }
        self.changes.push(change);
    }

    /// The changes since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn with(&mut self, id: NodeId, f: impl FnOnce(&mut Node)) {
        if let Some(node) = self.all.get_mut(&id) {
            f(node);
        }
    }

    fn with_file(&mut self, id: NodeId, f: impl FnOnce(&mut Vec<u8>)) {
        self.with(id, |node| {
            if let Content::File(bytes) = &mut node.content {
                f(bytes);
                node.modified = None;
            }
        });
    }

    fn set_name(&mut self, dir: NodeId, name: &[u8], to: Option<NodeId>) {
        let mut before = None;
        self.with(dir, |node| {
            if let Content::Directory(names) = &mut node.content {
                before = match to {
                    Some(id) => names.insert(name.to_vec(), id),
                    None => names.remove(name),
                };
                node.modified = None;
            }
        });
        if let Some(id) = before {
            self.with(id, |node| node.links = node.links.saturating_sub(1));
        }
        if let Some(id) = to {
            self.with(id, |node| node.links += 1);
        }
    }
}
