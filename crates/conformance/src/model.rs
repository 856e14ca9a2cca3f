//! The reference system: paths, descriptors and errors as the manual pages of Linux have them, over [`Nodes`].

mod extras;

use crate::call::{Answer, Attributes, Call, How, Outcome, SLOTS};
use crate::content::pattern;
use crate::nodes::{Change, Content, NodeId, Nodes, ROOT};
use ffslab_fs::{Errno, FileKind, RenameFlags, Result, TimeSpec};
use std::collections::BTreeSet;

/// Longest path with its final NUL.
const PATH_BYTES_MAX: usize = 4096;
const LINKS_MAX: u32 = 40;

#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    pub node: NodeId,
    pub how: How,
    position: u64,
}

/// The reference system, with the correct behaviour.
#[derive(Clone, Debug)]
pub struct Model {
    pub nodes: Nodes,
    open: [Option<OpenFile>; SLOTS],
    /// Files without a name that may get one.
    linkable: BTreeSet<NodeId>,
    name_bytes_max: usize,
    file_bytes_max: u64,
}

/// A place for a name: its directory, the name, and the inode for which it stands now.
struct Place {
    dir: NodeId,
    name: Vec<u8>,
    node: Option<NodeId>,
    /// The path ended in "/", "." or "..", or was the root.
    special: bool,
}

impl Model {
    /// An empty system, with the limits of the file system with which it is compared.
    pub fn new(name_bytes_max: usize, file_bytes_max: u64) -> Model {
        let nodes = Nodes::default();
        Model { nodes, open: [None; SLOTS], linkable: BTreeSet::new(), name_bytes_max, file_bytes_max }
    }

    /// What is open in a slot.
    pub fn open_file(&self, slot: usize) -> Option<OpenFile> {
        self.open.get(slot).copied().flatten()
    }

    /// Models a power cut: descriptors are lost, and so are files that only had descriptors.
    pub fn forget_descriptors(&mut self) {
        self.open = [None; SLOTS];
        let orphans: Vec<NodeId> =
            self.nodes.iter().filter(|(id, n)| n.links == 0 && *id != ROOT).map(|(id, _)| id).collect();
        for id in orphans {
            self.nodes.forget(id);
        }
    }

    /// Carries a call out.
    pub fn call(&mut self, call: &Call) -> Outcome {
        let done = |()| Answer::Done;
        match call {
            Call::Open { slot, path, how } => self.open(*slot, path, *how).map(done),
            Call::Close { slot } => self.close(*slot).map(done),
            Call::Read { slot, bytes } => {
                let file = self.slot(*slot)?;
                let data = self.read(file.node, file.position, *bytes)?;
                self.move_to(*slot, file.position + data.len() as u64);
                Ok(Answer::Bytes(data))
            }
            Call::Pread { slot, at, bytes } => {
                let file = self.slot(*slot)?;
                self.read(file.node, *at, *bytes).map(Answer::Bytes)
            }
            Call::Write { slot, bytes, seed } => {
                let at = self.write_position(*slot, None)?;
                self.write(*slot, at, *bytes, *seed)?;
                if *bytes > 0 {
                    self.move_to(*slot, at + *bytes as u64);
                }
                Ok(Answer::Number(*bytes as u64))
            }
            Call::Pwrite { slot, at, bytes, seed } => {
                let at = self.write_position(*slot, Some(*at))?;
                self.write(*slot, at, *bytes, *seed)?;
                Ok(Answer::Number(*bytes as u64))
            }
            Call::SeekTo { slot, at } => self.seek(*slot, 0, *at as i64),
            Call::SeekFromEnd { slot, offset } => {
                let size_bytes = self.attributes(self.slot(*slot)?.node)?.size_bytes;
                self.seek(*slot, size_bytes, *offset)
            }
            Call::Ftruncate { slot, size_bytes } => {
                let file = self.slot(*slot)?;
                if !file.how.write {
                    return Err(Errno::Inval);
                }
                self.set_size(file.node, *size_bytes).map(done)
            }
            Call::Truncate { path, size_bytes } => {
                let node = self.existing(path, true)?;
                self.nodes.file(node)?;
                self.set_size(node, *size_bytes).map(done)
            }
            Call::Fsync { slot } | Call::Fdatasync { slot } => self.slot(*slot).map(|_| Answer::Done),
            Call::FsyncDirectory { path } => {
                let node = self.existing(path, true)?;
                self.nodes.directory(node).map(|_| Answer::Done)
            }
            Call::Rename { from, to } => self.rename(from, to, RenameFlags::NONE).map(done),
            Call::RenameWith { from, to, flags } => self.rename(from, to, *flags).map(done),
            Call::OpenUnnamed { slot, path, exclusive } => self.open_unnamed(*slot, path, *exclusive).map(done),
            Call::LinkSlot { slot, to } => self.link_slot(*slot, to).map(done),
            Call::Link { from, to } => {
                let node = self.existing(from, false)?;
                let target = self.vacant(to)?;
                self.nodes.link(node, target.dir, &target.name).map(done)
            }
            Call::Symlink { target, path } => {
                self.make(path, Content::Symlink(target.clone().into_bytes()), 0o777).map(done)
            }
            Call::Readlink { path } => match &self.nodes.get(self.existing(path, false)?)?.content {
                Content::Symlink(target) => Ok(Answer::Bytes(target.clone())),
                _ => Err(Errno::Inval),
            },
            Call::Unlink { path } => {
                let place = self.walk(path, false)?;
                let node = place.node.ok_or(Errno::NoEnt)?;
                if place.special || self.nodes.directory(node).is_ok() {
                    return Err(Errno::IsDir);
                }
                self.nodes.unlink(place.dir, &place.name)?;
                self.forget_if_unused(node);
                Ok(Answer::Done)
            }
            Call::Mkdir { path, permissions } => {
                self.make(path, Content::Directory(Default::default()), *permissions).map(done)
            }
            Call::Rmdir { path } => {
                let place = self.walk(path, false)?;
                if place.special {
                    return Err(special_rmdir_error(path));
                }
                place.node.ok_or(Errno::NoEnt)?;
                let node = self.nodes.rmdir(place.dir, &place.name)?;
                self.forget_if_unused(node);
                Ok(Answer::Done)
            }
            Call::Mknod { path, kind, device } => self.make(path, Content::Special(*kind, *device), 0o644).map(done),
            Call::Readdir { path } => {
                let node = self.existing(path, true)?;
                let names = self.nodes.directory(node)?;
                let kind = |id: &NodeId| self.nodes.get(*id).map(|node| node.content.kind());
                let names = names.iter().map(|(name, id)| Ok((name.clone(), kind(id)?))).collect::<Result<_>>()?;
                Ok(Answer::Names(names))
            }
            Call::Stat { path } => self.attributes(self.existing(path, true)?).map(Answer::Attributes),
            Call::Lstat { path } => self.attributes(self.existing(path, false)?).map(Answer::Attributes),
            Call::Fstat { slot } => self.attributes(self.slot(*slot)?.node).map(Answer::Attributes),
            Call::Chmod { path, permissions } => {
                let id = self.existing(path, true)?;
                self.nodes.apply(Change::Permissions { id, permissions: *permissions });
                Ok(Answer::Done)
            }
            Call::Chown { path, uid, gid } => {
                let id = self.existing(path, true)?;
                self.nodes.apply(Change::Owner { id, uid: *uid, gid: *gid });
                Ok(Answer::Done)
            }
            Call::SetModified { path, seconds } => {
                let id = self.existing(path, true)?;
                let time = Some(TimeSpec { seconds: *seconds, nanoseconds: 0 });
                self.nodes.apply(Change::Modified { id, time });
                Ok(Answer::Done)
            }
            Call::SetXattr { path, name, bytes, seed, mode } => {
                let node = self.existing(path, false)?;
                self.set_xattr(node, name, pattern(*seed, 0, *bytes), *mode).map(done)
            }
            Call::GetXattr { path, name } => {
                let node = self.existing(path, false)?;
                self.xattr(node, name, Errno::NoData)?.map(Answer::Bytes).ok_or(Errno::NoData)
            }
            Call::ListXattr { path } => {
                let node = self.nodes.get(self.existing(path, false)?)?;
                Ok(Answer::Xattrs(node.xattrs.keys().cloned().collect()))
            }
            Call::RemoveXattr { path, name } => {
                let id = self.existing(path, false)?;
                self.xattr(id, name, Errno::Perm)?.ok_or(Errno::NoData)?;
                self.nodes.apply(Change::Xattr { id, name: name.clone().into_bytes(), value: None });
                Ok(Answer::Done)
            }
            Call::Sync | Call::DropCaches | Call::Sleep { .. } => Ok(Answer::Done),
            Call::Remount | Call::SyncAndCrash => {
                self.forget_descriptors();
                Ok(Answer::Done)
            }
        }
    }

    /// The inode for which a path stands, if there is one; symbolic links are followed.
    pub fn find(&self, path: &str) -> Option<NodeId> {
        self.existing(path, true).ok()
    }

    /// Attributes of an inode.
    pub fn attributes(&self, id: NodeId) -> Result<Attributes> {
        let node = self.nodes.get(id)?;
        let (size_bytes, device, links) = match &node.content {
            Content::File(bytes) => (bytes.len() as u64, 0, node.links),
            Content::Symlink(target) => (target.len() as u64, 0, node.links),
            Content::Directory(_) => (0, 0, 0),
            Content::Special(_, device) => (0, *device, node.links),
        };
        Ok(Attributes {
            kind: node.content.kind(),
            permissions: node.permissions,
            uid: node.uid,
            gid: node.gid,
            device,
            links,
            size_bytes,
            modified_s: node.modified.map(|time| time.seconds),
        })
    }

    /// The offset at which a write through a slot begins: `at`, or the file position, or the end of a file opened to
    /// append.
    pub fn write_position(&self, slot: usize, at: Option<u64>) -> Result<u64> {
        let file = self.slot(slot)?;
        if file.how.append {
            Ok(self.nodes.file(file.node)?.len() as u64)
        } else {
            Ok(at.unwrap_or(file.position))
        }
    }

    pub fn set_position(&mut self, slot: usize, position: u64) {
        self.move_to(slot, position);
    }

    /// Replaces a file's content by the content that was found.
    pub fn replace_content(&mut self, id: NodeId, content: Vec<u8>) {
        self.nodes.apply(Change::Size { id, size_bytes: 0 });
        self.nodes.apply(Change::Size { id, size_bytes: content.len() as u64 });
        self.nodes.apply(Change::Data { id, at: 0, data: content });
    }

    // ---- descriptors ---------------------------------------------------------------------------------------

    fn open(&mut self, slot: usize, path: &str, how: How) -> Result<()> {
        if self.open_file(slot).is_some() {
            self.close(slot)?;
        }
        let keep_link = (how.create && how.exclusive) || how.no_follow;
        let place = self.walk(path, !keep_link)?;
        if how.create && place.special {
            return Err(Errno::IsDir);
        }
        let node = match place.node {
            Some(_) if how.create && how.exclusive => return Err(Errno::Exist),
            Some(node) => {
                match self.nodes.get(node)?.content.kind() {
                    FileKind::File => {}
                    FileKind::Directory if how.write || how.create || how.truncate => return Err(Errno::IsDir),
                    FileKind::Directory => {}
                    FileKind::Symlink => return Err(Errno::Loop),
                    FileKind::Fifo => return Err(Errno::NotSup),
                    FileKind::CharDevice | FileKind::BlockDevice | FileKind::Socket => return Err(Errno::NxIo),
                }
                if how.truncate {
                    self.set_size(node, 0)?;
                }
                node
            }
            None if how.create => self.nodes.create(place.dir, &place.name, Content::File(Vec::new()), 0o644)?,
            None => return Err(Errno::NoEnt),
        };
        self.open[slot] = Some(OpenFile { node, how, position: 0 });
        Ok(())
    }

    fn close(&mut self, slot: usize) -> Result<()> {
        let file = self.slot(slot)?;
        self.open[slot] = None;
        self.forget_if_unused(file.node);
        Ok(())
    }

    fn slot(&self, slot: usize) -> Result<OpenFile> {
        self.open_file(slot).ok_or(Errno::BadF)
    }

    fn move_to(&mut self, slot: usize, position: u64) {
        if let Some(file) = &mut self.open[slot] {
            file.position = position;
        }
    }

    fn seek(&mut self, slot: usize, base: u64, offset: i64) -> Outcome {
        self.slot(slot)?;
        let position = base.checked_add_signed(offset).filter(|&p| p <= self.file_bytes_max).ok_or(Errno::Inval)?;
        self.move_to(slot, position);
        Ok(Answer::Number(position))
    }

    fn read(&self, node: NodeId, at: u64, bytes: usize) -> Result<Vec<u8>> {
        let content = self.nodes.file(node)?;
        let start = (at as usize).min(content.len());
        Ok(content[start..(start + bytes).min(content.len())].to_vec())
    }

    fn write(&mut self, slot: usize, at: u64, bytes: usize, seed: u64) -> Result<()> {
        let file = self.slot(slot)?;
        if !file.how.write {
            return Err(Errno::BadF);
        }
        self.nodes.file(file.node)?;
        if bytes == 0 {
            return Ok(());
        }
        if at + bytes as u64 > self.file_bytes_max {
            return Err(Errno::FBig);
        }
        let data = pattern(seed, at, bytes);
        self.nodes.apply(Change::Data { id: file.node, at, data });
        Ok(())
    }

    fn set_size(&mut self, id: NodeId, size_bytes: u64) -> Result<()> {
        self.nodes.file(id)?;
        if size_bytes > self.file_bytes_max {
            return Err(Errno::FBig);
        }
        self.nodes.apply(Change::Size { id, size_bytes });
        Ok(())
    }

    fn forget_if_unused(&mut self, node: NodeId) {
        if !self.open.iter().flatten().any(|file| file.node == node) {
            self.nodes.forget(node);
        }
    }

    // ---- names ---------------------------------------------------------------------------------------------

    fn make(&mut self, path: &str, content: Content, permissions: u32) -> Result<()> {
        let place = self.vacant(path)?;
        self.nodes.create(place.dir, &place.name, content, permissions).map(|_| ())
    }

    fn rename(&mut self, from: &str, to: &str, flags: RenameFlags) -> Result<()> {
        if flags.exchange && (flags.no_replace || flags.whiteout) {
            return Err(Errno::Inval);
        }
        let source = self.walk(from, false)?;
        let target = self.walk(to, false)?;
        if flags.no_replace && target.special && !source.special {
            return Err(Errno::Exist);
        }
        if source.special || target.special {
            return Err(Errno::Busy);
        }
        let node = source.node.ok_or(Errno::NoEnt)?;
        match target.node {
            Some(_) if flags.no_replace => return Err(Errno::Exist),
            None if flags.exchange => return Err(Errno::NoEnt),
            _ => {}
        }
        if (source.dir, &source.name) != (target.dir, &target.name) {
            if self.is_in(target.dir, node) {
                return Err(Errno::Inval);
            }
            if target.node.is_some_and(|target| self.is_in(source.dir, target)) {
                return Err(if flags.exchange { Errno::Inval } else { Errno::NotEmpty });
            }
        }
        let (from, to) = ((source.dir, &source.name[..]), (target.dir, &target.name[..]));
        if flags.exchange {
            return if target.node == Some(node) { Ok(()) } else { self.nodes.exchange(from, to) };
        }
        if let Some(replaced) = self.nodes.rename_and_leave(from.0, from.1, to.0, to.1, flags.whiteout)? {
            self.forget_if_unused(replaced);
        }
        Ok(())
    }

    /// Whether `node` is the directory `above`, or is somewhere below it.
    fn is_in(&self, node: NodeId, above: NodeId) -> bool {
        let below = |names: &std::collections::BTreeMap<_, NodeId>| names.values().any(|&id| self.is_in(node, id));
        node == above || self.nodes.directory(above).is_ok_and(below)
    }

    fn vacant(&self, path: &str) -> Result<Place> {
        let place = self.walk(path, false)?;
        if place.node.is_some() {
            return Err(Errno::Exist);
        }
        Ok(place)
    }

    fn existing(&self, path: &str, follow: bool) -> Result<NodeId> {
        self.walk(path, follow)?.node.ok_or(Errno::NoEnt)
    }

    /// Follows a path; symbolic links at its end only if `follow`.
    fn walk(&self, path: &str, follow: bool) -> Result<Place> {
        if path.is_empty() {
            return Err(Errno::NoEnt);
        }
        if path.len() >= PATH_BYTES_MAX {
            return Err(Errno::NameTooLong);
        }
        let mut left: Vec<Vec<u8>> = components(path.as_bytes());
        let mut way = vec![ROOT];
        let mut links = 0;
        while let Some(name) = left.pop() {
            let dir = way.last().copied().unwrap_or(ROOT);
            if name == b"." || name == b".." {
                if name.len() == 2 && way.len() > 1 {
                    way.pop();
                }
                continue;
            }
            if name.len() > self.name_bytes_max {
                return Err(Errno::NameTooLong);
            }
            let node = self.nodes.directory(dir)?.get(&name).copied();
            let is_last = left.is_empty();
            let content = node.map(|id| self.nodes.get(id)).transpose()?.map(|node| &node.content);
            match content {
                Some(Content::Symlink(target)) if !is_last || follow => {
                    links += 1;
                    if links > LINKS_MAX {
                        return Err(Errno::Loop);
                    }
                    if target.starts_with(b"/") {
                        way.truncate(1);
                    }
                    left.extend(components(target));
                }
                _ if is_last => return Ok(Place { dir, name, node, special: false }),
                Some(Content::Directory(_)) => way.extend(node),
                Some(_) => return Err(Errno::NotDir),
                None => return Err(Errno::NoEnt),
            }
        }
        Ok(Place { dir: ROOT, name: Vec::new(), node: way.last().copied(), special: true })
    }
}

/// rmdir(2) of a path that ends in ".", ".." or is the root (`fs/namei.c`, `do_rmdir`).
fn special_rmdir_error(path: &str) -> Errno {
    match components(path.as_bytes()).first().map(Vec::as_slice) {
        Some(b".") => Errno::Inval,
        Some(b"..") => Errno::NotEmpty,
        _ => Errno::Busy,
    }
}

/// The names of a path in reverse order.
fn components(path: &[u8]) -> Vec<Vec<u8>> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).rev().map(<[u8]>::to_vec).collect()
}
