//! What each request of the kernel does to the simulated system, and the row that it leaves in the table of calls.

use crate::world::{Line, World};
use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Result, Stat, StatFs, XattrMode};
use ffslab_lab::requests::CallOp;
use ffslab_lab::session::linux_of;
use ffslab_linux::{Caller, Fd, NodeChange, NodeEntry, NodeId, OpenFlags, Vfs};
use ffslab_system::System;
use std::rc::Rc;

/// The set-user-ID and set-group-ID bits, and the bit for execution by the group: without it the set-group-ID bit has
/// another meaning.
const SET_UID: u32 = 0o4000;
const SET_GID: u32 = 0o2000;
const GROUP_RUNS: u32 = 0o010;

/// The system calls of the simulated kernel.
pub(crate) fn vfs_of(system: &mut dyn System) -> &mut Vfs {
    match linux_of(system) {
        Some(stack) => &mut stack.vfs,
        None => unreachable!("World::new refuses other systems"),
    }
}

impl World {
    pub(crate) fn vfs(&mut self) -> &mut Vfs {
        vfs_of(self.session.system_mut())
    }

    fn path(&mut self, node: NodeId) -> String {
        String::from_utf8_lossy(&self.vfs().node_path(node)).into_owned()
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
    fn powered(&self) -> Result<()> {
        match self.session.system().is_powered() {
            true => Ok(()),
            false => Err(Errno::PowerCut),
        }
    }

    /// Makes a call and records its row: the operation, the file, the offset, and how many bytes the result moved.
    fn moving<R>(
        &mut self,
        row: (CallOp, &str, u64),
        body: impl FnOnce(&mut Vfs) -> Result<R>,
        bytes: impl FnOnce(&R) -> u64,
    ) -> Result<R> {
        self.powered()?;
        let result = self.session.observed(row, |system| body(vfs_of(system)), bytes);
        // A background task may have met a power cut in the meantime. Then the program gets no result.
        self.powered().and(result)
    }

    /// Makes a call that moves no bytes, and records its row.
    fn call<R>(&mut self, op: CallOp, file: &str, body: impl FnOnce(&mut Vfs) -> Result<R>) -> Result<R> {
        self.moving((op, file, 0), body, |_| 0)
    }

    fn name(&self, fd: Fd) -> String {
        self.names.get(&fd).cloned().unwrap_or_default()
    }

    // ---- names ------------------------------------------------------------------------------------------------------

    pub fn look_up(&mut self, directory: NodeId, name: &[u8]) -> Result<NodeEntry> {
        self.powered()?;
        let entry = self.vfs().look_up_node(directory, name)?;
        self.walks.found(entry.id);
        Ok(entry)
    }

    pub fn forget(&mut self, node: NodeId, look_ups: u64) {
        self.vfs().forget_node(node, look_ups);
    }

    pub fn make(&mut self, directory: NodeId, name: &[u8], node: NewNode, caller: Caller) -> Result<NodeEntry> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Other, &path, |vfs| vfs.make_below(directory, name, node, caller))
    }

    pub fn link(&mut self, node: NodeId, directory: NodeId, name: &[u8]) -> Result<NodeEntry> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Other, &path, |vfs| vfs.link_below(node, directory, name))
    }

    pub fn unlink(&mut self, directory: NodeId, name: &[u8]) -> Result<()> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Unlink, &path, |vfs| vfs.unlink_below(directory, name))
    }

    pub fn rmdir(&mut self, directory: NodeId, name: &[u8]) -> Result<()> {
        let path = self.path_below(directory, name);
        self.call(CallOp::Other, &path, |vfs| vfs.rmdir_below(directory, name))
    }

    pub fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Result<()> {
        let path = self.path_below(old.0, old.1);
        self.call(CallOp::Other, &path, |vfs| vfs.rename_below(old, new, flags))
    }

    pub fn readlink(&mut self, node: NodeId) -> Result<Vec<u8>> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.readlink_node(node))
    }

    // ---- attributes -------------------------------------------------------------------------------------------------

    pub fn attributes(&mut self, node: NodeId) -> Result<Stat> {
        self.powered()?;
        self.vfs().stat_node(node)
    }

    pub fn change(&mut self, node: NodeId, change: &NodeChange) -> Result<Stat> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.change_node(node, change))
    }

    /// Results of statfs(2), and the longest name of the file system in bytes.
    pub fn statfs(&mut self) -> Result<(StatFs, u32)> {
        let stat = self.call(CallOp::Other, "", Vfs::statfs)?;
        let name_bytes_max = self.vfs().fs().map_or(0, |fs| fs.name_bytes_max());
        Ok((stat, name_bytes_max as u32))
    }

    pub fn set_xattr(&mut self, node: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.set_node_xattr(node, name, value, mode))
    }

    pub fn xattr(&mut self, node: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.node_xattr(node, name))
    }

    /// All names, each followed by a NUL.
    pub fn xattrs(&mut self, node: NodeId) -> Result<Vec<u8>> {
        let path = self.path(node);
        let names = self.call(CallOp::Other, &path, |vfs| vfs.node_xattrs(node))?;
        Ok(names.into_iter().flat_map(|name| name.into_iter().chain([0])).collect())
    }

    pub fn remove_xattr(&mut self, node: NodeId, name: &[u8]) -> Result<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.remove_node_xattr(node, name))
    }

    /// Flags of chattr(1).
    pub fn inode_flags(&mut self, node: NodeId) -> Result<u32> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.node_flags(node))
    }

    pub fn set_inode_flags(&mut self, node: NodeId, flags: u32) -> Result<()> {
        let path = self.path(node);
        self.call(CallOp::Other, &path, |vfs| vfs.set_node_flags(node, flags))
    }

    /// Whether the mounted file system stores extended attributes of programs at all.
    pub fn keeps_xattrs(&mut self) -> bool {
        self.vfs().fs().is_some_and(|fs| fs.keeps_xattr(b"user.a") || fs.keeps_xattr(b"trusted.a"))
    }

    pub fn maps_shared_writable(&mut self) -> bool {
        self.vfs().fs().is_none_or(|fs| fs.maps_shared_writable())
    }

    // ---- files ------------------------------------------------------------------------------------------------------

    pub fn open(&mut self, node: NodeId, flags: OpenFlags) -> Result<Fd> {
        let path = self.path(node);
        let fd = self.call(CallOp::Open, &path, |vfs| vfs.open_node(node, flags))?;
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
    ) -> Result<(Fd, NodeEntry)> {
        let path = self.path_below(directory, name);
        let open = |vfs: &mut Vfs| vfs.create_below(directory, name, flags, permissions, caller);
        let (fd, entry) = self.call(CallOp::Open, &path, open)?;
        self.names.insert(fd, path);
        Ok((fd, entry))
    }

    /// Reads into [`World::buffer`]. Returns how many bytes were read.
    pub fn read(&mut self, fd: Fd, bytes: usize, at: u64) -> Result<usize> {
        let mut buffer = std::mem::take(&mut self.buffer);
        if buffer.len() < bytes {
            buffer.resize(bytes, 0);
        }
        let name = self.name(fd);
        let read = |vfs: &mut Vfs| vfs.pread(fd, &mut buffer[..bytes], at);
        let result = self.moving((CallOp::Read, &name, at), read, |&count| count as u64);
        self.buffer = buffer;
        result
    }

    /// Writes to a file. `unprivileged`: the writing process must not keep the file's set-ID bits.
    pub fn write(&mut self, node: NodeId, fd: Fd, data: &[u8], at: u64, unprivileged: bool) -> Result<usize> {
        if unprivileged {
            self.drop_set_id_bits(node)?;
        }
        let name = self.name(fd);
        let write = |vfs: &mut Vfs| vfs.pwrite(fd, data, at);
        self.moving((CallOp::Write, &name, at), write, |&count| count as u64)
    }

    /// `file_remove_privs` of `fs/inode.c`.
    fn drop_set_id_bits(&mut self, node: NodeId) -> Result<()> {
        let permissions = self.attributes(node)?.permissions;
        let group = if permissions & GROUP_RUNS != 0 { SET_GID } else { 0 };
        let left = permissions & !(SET_UID | group);
        if left == permissions {
            return Ok(());
        }
        let change = NodeChange { permissions: Some(left), ..NodeChange::default() };
        self.vfs().change_node(node, &change).map(drop)
    }

    pub fn flush(&mut self, fd: Fd) -> Result<()> {
        let name = self.name(fd);
        self.call(CallOp::Close, &name, |vfs| vfs.flush(fd))
    }

    pub fn release(&mut self, fd: Fd) -> Result<()> {
        self.names.remove(&fd);
        self.vfs().release(fd)
    }

    pub fn fsync(&mut self, fd: Fd, data_only: bool) -> Result<()> {
        let name = self.name(fd);
        self.call(CallOp::Sync, &name, |vfs| if data_only { vfs.fdatasync(fd) } else { vfs.fsync(fd) })
    }

    // ---- directories ------------------------------------------------------------------------------------------------

    pub fn open_directory(&mut self, node: NodeId) -> Result<Fd> {
        self.open(node, OpenFlags { directory: true, ..OpenFlags::READ })
    }

    /// Entries of an open directory, beginning with "." and "..". They are read anew when a program starts at the first
    /// one.
    pub fn read_directory(&mut self, node: NodeId, fd: Fd, first: u64) -> Result<Rc<Vec<Line>>> {
        if let Some(lines) = self.directories.get(&fd).filter(|_| first > 0) {
            return Ok(lines.clone());
        }
        let (own, above) = (self.attributes(node)?.ino, self.vfs().parent_ino(node)?);
        let path = self.name(fd);
        let entries = self.call(CallOp::Other, &path, |vfs| vfs.readdir(fd));
        let entries = match entries {
            // A removed directory is empty.
            Err(Errno::NoEnt) => Vec::new(),
            other => other?,
        };
        let directory = |ino, name: &[u8]| Line { ino, kind: FileKind::Directory, name: name.to_vec() };
        let mut lines = vec![directory(own, b"."), directory(above, b"..")];
        lines.extend(entries.into_iter().map(|entry| Line { ino: entry.ino, kind: entry.kind, name: entry.name }));
        let lines = Rc::new(lines);
        self.directories.insert(fd, lines.clone());
        Ok(lines)
    }

    pub fn close_directory(&mut self, fd: Fd) -> Result<()> {
        self.directories.remove(&fd);
        let name = self.names.remove(&fd).unwrap_or_default();
        self.call(CallOp::Close, &name, |vfs| vfs.close(fd))
    }
}
