//! [`Vfs`] as the seam by which a mount asks for nodes.

use crate::vfs::Vfs;
use ffslab_fs::{FileSystem, NewNode, RenameFlags, Stat, StatFs, XattrMode};
use ffslab_system::{Answer, Caller, Calls, Fd, NodeChange, NodeEntry, NodeId, NodeName, Nodes, OpenFlags};

impl Nodes for Vfs {
    fn look_up(&mut self, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        Ok(self.look_up_node(directory, name)?)
    }

    fn forget(&mut self, id: NodeId, look_ups: u64) {
        self.forget_node(id, look_ups);
    }

    fn looked(&mut self, _id: NodeId) {
        self.charge_call();
    }

    fn path(&self, id: NodeId) -> Vec<u8> {
        self.node_path(id)
    }

    fn parent(&mut self, directory: NodeId) -> Answer<NodeId> {
        Ok(NodeId::from(self.parent_ino(directory)?))
    }

    fn make(&mut self, directory: NodeId, name: &[u8], node: NewNode, caller: Caller) -> Answer<NodeEntry> {
        Ok(self.make_below(directory, name, node, caller)?)
    }

    fn link(&mut self, id: NodeId, directory: NodeId, name: &[u8]) -> Answer<NodeEntry> {
        Ok(self.link_below(id, directory, name)?)
    }

    fn unlink(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        Ok(self.unlink_below(directory, name)?)
    }

    fn rmdir(&mut self, directory: NodeId, name: &[u8]) -> Answer<()> {
        Ok(self.rmdir_below(directory, name)?)
    }

    fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Answer<()> {
        Ok(self.rename_below(old, new, flags)?)
    }

    fn readlink(&mut self, id: NodeId) -> Answer<Vec<u8>> {
        Ok(self.readlink_node(id)?)
    }

    fn stat(&mut self, id: NodeId) -> Answer<Stat> {
        Ok(self.stat_node(id)?)
    }

    fn change(&mut self, id: NodeId, change: &NodeChange) -> Answer<Stat> {
        Ok(self.change_node(id, change)?)
    }

    fn flags(&mut self, id: NodeId) -> Answer<u32> {
        Ok(self.node_flags(id)?)
    }

    fn set_flags(&mut self, id: NodeId, flags: u32) -> Answer<()> {
        Ok(self.set_node_flags(id, flags)?)
    }

    fn keeps_xattrs(&self) -> bool {
        self.fs().is_some_and(|fs| fs.keeps_xattr(b"user.a") || fs.keeps_xattr(b"trusted.a"))
    }

    fn set_xattr(&mut self, id: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        Ok(self.set_node_xattr(id, name, value, mode)?)
    }

    fn xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.node_xattr(id, name)?)
    }

    fn xattrs(&mut self, id: NodeId) -> Answer<Vec<Vec<u8>>> {
        Ok(self.node_xattrs(id)?)
    }

    fn remove_xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<()> {
        Ok(self.remove_node_xattr(id, name)?)
    }

    fn open(&mut self, id: NodeId, flags: OpenFlags) -> Answer<Fd> {
        Ok(self.open_node(id, flags)?)
    }

    fn create(
        &mut self,
        directory: NodeId,
        name: &[u8],
        flags: OpenFlags,
        permissions: u32,
        caller: Caller,
    ) -> Answer<(Fd, NodeEntry)> {
        Ok(self.create_below(directory, name, flags, permissions, caller)?)
    }

    fn entries(&mut self, _directory: NodeId, fd: Fd) -> Answer<Vec<NodeName>> {
        Ok(self.system_call(|vfs| {
            let mut names = Vec::new();
            vfs.entries_of(fd, &mut |entry| {
                names.push(NodeName { id: entry.ino.into(), kind: entry.kind, name: entry.name.to_vec() });
            })?;
            Ok(names)
        })?)
    }

    fn read(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        Calls::pread(self, fd, into, at)
    }

    fn write(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        Calls::pwrite(self, fd, data, at)
    }

    fn fsync(&mut self, fd: Fd, data_only: bool) -> Answer<()> {
        if data_only {
            Calls::fdatasync(self, fd)
        } else {
            Calls::fsync(self, fd)
        }
    }

    fn closes_at_flush(&self) -> bool {
        true
    }

    fn flush(&mut self, fd: Fd) -> Answer<()> {
        Ok(Vfs::flush(self, fd)?)
    }

    fn release(&mut self, fd: Fd) -> Answer<()> {
        Ok(Vfs::release(self, fd)?)
    }

    fn close_directory(&mut self, fd: Fd) -> Answer<()> {
        Calls::close(self, fd)
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        Calls::statfs(self)
    }

    fn name_bytes_max(&self) -> u32 {
        self.fs().map_or(0, FileSystem::name_bytes_max) as u32
    }

    fn has_users(&self) -> bool {
        true
    }

    fn maps_shared_writable(&self) -> bool {
        self.fs().is_none_or(FileSystem::maps_shared_writable)
    }
}
