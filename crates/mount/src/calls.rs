//! What each request of the kernel does to the simulated system, and the row that it leaves in the table of calls.

use crate::paths::with_nodes;
use crate::world::{Line, World};
use ffslab_fs::{Errno, FileKind, Ino, NewNode, RenameFlags, Stat, StatFs, XattrMode};
use ffslab_lab::requests::CallOp;
use ffslab_system::{Answer, Caller, Fd, NodeChange, NodeEntry, NodeId, Nodes, OpenFlags};
use std::rc::Rc;

/// The set-user-ID and set-group-ID bits, and the bit for execution by the group: without it the set-group-ID bit has
/// another meaning.
const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const GROUP_RUNS: u32 = 0o010;

impl World {
    /// The calls of the simulated system by node; see [`World::call`] for those of a program.
    pub(crate) fn nodes<R>(&mut self, body: impl FnOnce(&mut dyn Nodes) -> R) -> R {
        with_nodes(self.session.system_mut(), &mut self.paths, body)
    }

    fn path(&mut self, node: NodeId) -> String {
        self.nodes(|nodes| String::from_utf8_lossy(&nodes.path(node)).into_owned())
    }

    fn path_below(&mut self, directory: NodeId, name: &[u8]) -> String {
        let above = self.path(directory);
        let name = String::from_utf8_lossy(name);
        if above.is_empty() {
            name.into_owned()
        } else {
            format!("{above}/{name}")
        }
    }

    /// Fails when the board has no power: then it does nothing any more, not even calls that need no flash operation.
    fn powered(&self) -> Answer<()> {
        if self.session.system().is_powered() {
            Ok(())
        } else {
            Err(Errno::PowerCut.into())
        }
    }

    /// Makes a call and records its row: the operation, the file, the offset, and how many bytes the result moved.
    fn moving<R>(
        &mut self,
        row: (CallOp, &str, u64),
        body: impl FnOnce(&mut dyn Nodes) -> Answer<R>,
        bytes: impl FnOnce(&R) -> u64,
    ) -> Answer<R> {
        self.powered()?;
        let paths = &mut self.paths;
        let result = self.session.observed(row, |system| with_nodes(system, paths, body), bytes);
        self.paths.call_ends();
        if let Err(refusal) = &result {
            self.explain(*refusal);
        }
        // A background task may have met a power cut in the meantime. Then the program gets no result.
        self.powered().and(result)
    }

    /// Makes a call that moves no bytes, and records its row.
    fn call<R>(&mut self, op: CallOp, file: &str, body: impl FnOnce(&mut dyn Nodes) -> Answer<R>) -> Answer<R> {
        self.moving((op, file, 0), body, |_| 0)
    }

    fn name(&self, fd: Fd) -> String {
        self.names.get(&fd).cloned().unwrap_or_default()
    }

    // ---- names ------------------------------------------------------------------------------------------------------

    pub fn look_up(&mut self, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        self.powered()?;
        let entry = self.nodes(|nodes| nodes.look_up(directory, name))?;
        self.walks.found(entry.id);
        Ok(entry)
    }

    pub fn forget(&mut self, node: NodeId, look_ups: u64) {
        self.nodes(|nodes| nodes.forget(node, look_ups));
    }

    pub fn make(&mut self, directory: NodeId, name: &[u8], node: NewNode, caller: Caller) -> Answer<NodeEntry> {
        let path = self.path_below(directory, name);
        let op = if node.kind == FileKind::Directory { CallOp::Mkdir } else { CallOp::Other };
        self.call(op, &path, |nodes| nodes.make(directory, name, node, caller))
    }

    pub fn link(&mut self, node: NodeId, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Link, &path, |nodes| nodes.link(node, directory, name))
    }

    pub fn unlink(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Unlink, &path, |nodes| nodes.unlink(directory, name))
    }

    pub fn rmdir(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Rmdir, &path, |nodes| nodes.rmdir(directory, name))
    }

    pub fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Answer<()> {
        let path = self.path_below(old.0, old.1);
        self.call(CallOp::Rename, &path, |nodes| nodes.rename(old, new, flags))
    }

    pub fn readlink(&mut self, node: NodeId) -> Answer<Vec<u8>> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.readlink(node))
    }

    // ---- attributes -------------------------------------------------------------------------------------------------

    pub fn attributes(&mut self, node: NodeId) -> Answer<Stat> {
        self.powered()?;
        self.nodes(|nodes| nodes.stat(node))
    }

    pub fn change(&mut self, node: NodeId, change: &NodeChange) -> Answer<Stat> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.change(node, change))
    }

    /// Results of statfs(2), and the longest name of the file system in bytes.
    pub fn statfs(&mut self) -> Answer<(StatFs, u32)> {
        let stat = self.call(CallOp::Other, "", |nodes| nodes.statfs())?;
        Ok((stat, self.nodes(|nodes| nodes.name_bytes_max())))
    }

    pub fn set_xattr(&mut self, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.set_xattr(node, name, value, mode))
    }

    pub fn xattr(&mut self, node: NodeId, name: &[u8]) -> Answer<Vec<u8>> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.xattr(node, name))
    }

    /// All names, each followed by a NUL.
    pub fn xattrs(&mut self, node: NodeId) -> Answer<Vec<u8>> {
        let path = self.path(node);
        let names = self.call(CallOp::Other, &path, |nodes| nodes.xattrs(node))?;
        Ok(names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect())
    }

    pub fn remove_xattr(&mut self, node: NodeId, name: &[u8]) -> Answer<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.remove_xattr(node, name))
    }

    /// Flags of chattr(1).
    pub fn inode_flags(&mut self, node: NodeId) -> Answer<u32> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.flags(node))
    }

    pub fn set_inode_flags(&mut self, node: NodeId, flags: u32) -> Answer<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |nodes| nodes.set_flags(node, flags))
    }

    /// Whether the mounted file system stores extended attributes of programs at all.
    pub fn keeps_xattrs(&mut self) -> bool {
        self.nodes(|nodes| nodes.keeps_xattrs())
    }

    pub fn maps_shared_writable(&mut self) -> bool {
        self.nodes(|nodes| nodes.maps_shared_writable())
    }

    pub fn has_users(&mut self) -> bool {
        self.nodes(|nodes| nodes.has_users())
    }

    // ---- files ------------------------------------------------------------------------------------------------------

    pub fn open(&mut self, node: NodeId, flags: OpenFlags) -> Answer<Fd> {
        let path = self.path(node);
        let fd = self.call(CallOp::Open, &path, |nodes| nodes.open(node, flags))?;
        self.names.insert(fd, path);
        Ok(fd)
    }

    pub fn create(
        &mut self,
        directory: NodeId,
        name: &[u8],
        flags: OpenFlags,
        permissions: u32,
        caller: Caller,
    ) -> Answer<(Fd, NodeEntry)> {
        let path = self.path_below(directory, name);
        let open = |nodes: &mut dyn Nodes| nodes.create(directory, name, flags, permissions, caller);
        let (fd, entry) = self.call(CallOp::Open, &path, open)?;
        self.names.insert(fd, path);
        Ok((fd, entry))
    }

    /// Reads into [`World::buffer`]. Returns how many bytes were read.
    pub fn read(&mut self, fd: Fd, bytes: usize, at: u64) -> Answer<usize> {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        let name = self.name(fd);
        let read = |nodes: &mut dyn Nodes| nodes.read(fd, &mut buffer[..bytes], at);
        let result = self.moving((CallOp::Read, &name, at), read, |&count| count as u64);
        self.buffer = buffer;
        result
    }

    /// Writes to a file. `unprivileged`: the writing process must not keep the file's set-ID bits.
    pub fn write(&mut self, node: NodeId, fd: Fd, data: &[u8], at: u64, unprivileged: bool) -> Answer<usize> {
        if unprivileged {
            self.drop_set_id_bits(node)?;
        }
        let name = self.name(fd);
        let write = |nodes: &mut dyn Nodes| nodes.write(fd, data, at);
        self.moving((CallOp::Write, &name, at), write, |&count| count as u64)
    }

    /// `file_remove_privs` of `fs/inode.c`.
    fn drop_set_id_bits(&mut self, node: NodeId) -> Answer<()> {
        let permissions = self.attributes(node)?.permissions;
        let group = if permissions & GROUP_RUNS != 0 { SET_GID } else { 0 };
        let left = permissions & !(SET_UID | group);
        if left == permissions {
            return Ok(());
        }
        let change = NodeChange { permissions: Some(left), ..NodeChange::default() };
        self.nodes(|nodes| nodes.change(node, &change)).map(drop)
    }

    pub fn flush(&mut self, fd: Fd) -> Answer<()> {
        if self.nodes(|nodes| nodes.closes_at_flush()) {
            self.close_row(fd, |nodes| nodes.flush(fd))
        } else {
            self.nodes(|nodes| nodes.flush(fd))
        }
    }

    pub fn release(&mut self, fd: Fd) -> Answer<()> {
        let released = if self.nodes(|nodes| nodes.closes_at_flush()) {
            self.nodes(|nodes| nodes.release(fd))
        } else {
            self.close_row(fd, |nodes| nodes.release(fd))
        };
        self.names.remove(&fd);
        released
    }

    fn close_row(&mut self, fd: Fd, close: impl FnOnce(&mut dyn Nodes) -> Answer<()>) -> Answer<()> {
        let name = self.name(fd);
        self.call(CallOp::Close, &name, close)
    }

    pub fn fsync(&mut self, fd: Fd, data_only: bool) -> Answer<()> {
        let name = self.name(fd);
        self.call(CallOp::Sync, &name, |nodes| nodes.fsync(fd, data_only))
    }

    // ---- directories ------------------------------------------------------------------------------------------------

    pub fn open_directory(&mut self, node: NodeId) -> Answer<Fd> {
        self.open(node, OpenFlags { directory: true, ..OpenFlags::READ })
    }

    /// Entries of an open directory, beginning with "." and "..". They are read anew when a program starts at the first
    /// one.
    pub fn read_directory(&mut self, node: NodeId, fd: Fd, first: u64) -> Answer<Rc<Vec<Line>>> {
        if let Some(lines) = self.directories.get(&fd).filter(|_| first > 0) {
            return Ok(lines.clone());
        }
        let own = self.attributes(node)?.ino;
        let above = self.nodes(|nodes| nodes.parent(node))? as Ino;
        let path = self.name(fd);
        let entries = match self.call(CallOp::Readdir, &path, |nodes| nodes.entries(node, fd)) {
            // A removed directory is empty.
            Err(refusal) if refusal == Errno::NoEnt => Vec::new(),
            other => other?,
        };
        let directory = |ino, name: &[u8]| Line { ino, kind: FileKind::Directory, name: name.to_vec() };
        let mut lines = vec![directory(own, b"."), directory(above, b"..")];
        lines.extend(entries.into_iter().map(|of| Line { ino: of.id as Ino, kind: of.kind, name: of.name }));
        let lines = Rc::new(lines);
        self.directories.insert(fd, lines.clone());
        Ok(lines)
    }

    pub fn close_directory(&mut self, fd: Fd) -> Answer<()> {
        self.directories.remove(&fd);
        let closed = self.close_row(fd, |nodes| nodes.close_directory(fd));
        self.names.remove(&fd);
        closed
    }
}
