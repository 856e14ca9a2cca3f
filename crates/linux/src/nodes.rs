//! The calls by inode and name instead of by path: for a program above that walks paths itself, as the real kernel does
//! for FUSE. Such a program asks for one name after the other. Only the call for which the path was walked costs a
//! system call, so a look-up costs none (`fuse_lookup` stands in the place of `lookup_slow`).
//!
//! A [`NodeId`] is an inode number. A file system may use the number of a deleted inode again while the program above
//! still remembers the old inode, so a generation tells the two apart. Being remembered does not keep an inode alive:
//! the inode of an unlinked file is deleted with its last descriptor, as if nobody had looked it up.

use crate::dentries::{DentryId, ROOT};
use crate::node_table::Node;
use crate::vfs::Vfs;
use crate::walk::Found;
use crate::xattr::Target;
use ffslab_fs::{Errno, FileKind, Host, Ino, NewNode, RenameFlags, Result, SetAttr, Stat, XattrMode};
use ffslab_system::{Caller, Fd, NewTime, NodeChange, NodeEntry, NodeId, OpenFlags};

/// The set-group-ID bit.
const SET_GID: u32 = 0o2000;

impl Vfs {
    /// Charges for a system call that only looked names up, such as a stat(2) that found nothing.
    pub fn charge_call(&mut self) {
        // The body cannot fail.
        let _ok = self.system_call(|_| Ok(()));
    }

    /// One step of a path walk. The node counts as handed out once more, until [`Vfs::forget_node`] takes it back.
    pub fn look_up_node(&mut self, directory: NodeId, name: &[u8]) -> Result<NodeEntry> {
        let found = self.below(directory, name)?;
        self.handed_out(found.dentry)
    }

    /// Takes a node back that was handed out `look_ups` times.
    pub fn forget_node(&mut self, id: NodeId, look_ups: u64) {
        self.nodes.forget(id, look_ups);
    }

    /// fstat(2), or the last part of stat(2), without the cost of a system call.
    pub fn stat_node(&mut self, id: NodeId) -> Result<Stat> {
        let ino = self.nodes.get(id)?.ino;
        self.parts()?.0.getattr(ino)
    }

    /// chmod, chown, utimens, truncate and their relatives in one call.
    pub fn change_node(&mut self, id: NodeId, change: &NodeChange) -> Result<Stat> {
        self.system_call(|vfs| {
            let (ino, kind) = vfs.nodes.get(id).map(|node| (node.ino, node.kind))?;
            vfs.want_write()?;
            if let Some(size_bytes) = change.size_bytes {
                if change.by_descriptor {
                    vfs.may_cut(ino)?
                } else {
                    vfs.may_truncate(ino)?
                }
                match kind {
                    FileKind::File => vfs.set_size(ino, size_bytes, change.by_descriptor)?,
                    FileKind::Directory => return Err(Errno::IsDir),
                    _ => return Err(Errno::Inval),
                }
            }
            vfs.may_change_node(ino, change)?;
            let (fs, memory) = vfs.parts()?;
            let time = |time: Option<NewTime>| match time? {
                NewTime::Now => Some(memory.now()),
                NewTime::At(time) => Some(time),
            };
            let rest = SetAttr {
                size_bytes: None,
                permissions: change.permissions.map(|bits| bits & 0o7777),
                uid: change.uid,
                gid: change.gid,
                accessed: time(change.accessed),
                modified: time(change.modified),
            };
            if rest != SetAttr::default() {
                fs.setattr(memory, ino, &rest)?;
            }
            fs.getattr(ino)
        })
    }

    /// readlink(2).
    pub fn readlink_node(&mut self, id: NodeId) -> Result<Vec<u8>> {
        self.system_call(|vfs| match vfs.nodes.get(id)? {
            Node { ino, kind: FileKind::Symlink, .. } => {
                let ino = *ino;
                vfs.parts()?.0.readlink(ino)
            }
            _ => Err(Errno::Inval),
        })
    }

    /// open(2) of an existing file. `flags.create` and `flags.exclusive` are ignored. Each write goes to the position
    /// that it states, even with `flags.append`.
    pub fn open_node(&mut self, id: NodeId, flags: OpenFlags) -> Result<Fd> {
        self.system_call(|vfs| {
            let (ino, kind, dentry) = vfs.nodes.get(id).map(|node| (node.ino, node.kind, node.dentry))?;
            // A file whose last name was removed can still be opened through /proc while a descriptor holds it.
            let held = || vfs.files.iter().flatten().find(|file| file.ino == ino).map(|file| file.dentry);
            let dentry =
                if vfs.dentries.inode(dentry) == Some((ino, kind)) { dentry } else { held().ok_or(Errno::NoEnt)? };
            let flags = OpenFlags { create: false, exclusive: false, ..flags };
            let found = Found { dentry, special: false, trailing_slash: false };
            let (fd, _) = vfs.open_found(found, flags, &NewNode::of(FileKind::File))?;
            vfs.leave_appending(fd)?;
            Ok(fd)
        })
    }

    /// open(2) with `O_CREAT`. The node counts as handed out.
    pub fn create_below(
        &mut self,
        directory: NodeId,
        name: &[u8],
        flags: OpenFlags,
        permissions: u32,
        caller: Caller,
    ) -> Result<(Fd, NodeEntry)> {
        self.system_call(|vfs| {
            let found = vfs.below(directory, name)?;
            let node = NewNode { permissions: permissions & 0o7777, ..NewNode::of(FileKind::File) };
            let node = vfs.owned(directory, node, caller)?;
            let (fd, _) = vfs.open_found(found, OpenFlags { create: true, ..flags }, &node)?;
            vfs.leave_appending(fd)?;
            Ok((fd, vfs.handed_out(found.dentry)?))
        })
    }

    /// mkdir(2), mknod(2), symlink(2). The node counts as handed out. The owner comes from `caller`, not from `node`.
    pub fn make_below(&mut self, directory: NodeId, name: &[u8], node: NewNode, caller: Caller) -> Result<NodeEntry> {
        self.system_call(|vfs| {
            let found = vfs.below(directory, name)?;
            let dentry = vfs.new_name(found, node.kind == FileKind::Directory)?;
            let node = vfs.owned(directory, node, caller)?;
            vfs.make_node(dentry, &node)?;
            vfs.handed_out(dentry)
        })
    }

    /// link(2). The node counts as handed out once more.
    pub fn link_below(&mut self, id: NodeId, directory: NodeId, name: &[u8]) -> Result<NodeEntry> {
        self.system_call(|vfs| {
            let inode = vfs.nodes.get(id).map(|node| (node.ino, node.kind))?;
            let found = vfs.below(directory, name)?;
            let target = vfs.new_name(found, false)?;
            vfs.link_inode(inode, target)?;
            vfs.handed_out(target)
        })
    }

    /// unlink(2).
    pub fn unlink_below(&mut self, directory: NodeId, name: &[u8]) -> Result<()> {
        self.system_call(|vfs| {
            let found = vfs.below(directory, name)?;
            vfs.unlink_found(found)
        })
    }

    /// rmdir(2).
    pub fn rmdir_below(&mut self, directory: NodeId, name: &[u8]) -> Result<()> {
        self.system_call(|vfs| {
            let found = vfs.below(directory, name)?;
            vfs.rmdir_found(found.dentry)
        })
    }

    /// renameat2(2).
    pub fn rename_below(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Result<()> {
        self.system_call(|vfs| {
            if flags.exchange && (flags.no_replace || flags.whiteout) {
                return Err(Errno::Inval);
            }
            let source = vfs.below(old.0, old.1)?;
            let target = vfs.below(new.0, new.1)?;
            vfs.rename_found(source, target, flags)
        })
    }

    /// fsetxattr(2).
    pub fn set_node_xattr(&mut self, id: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        let ino = self.nodes.get(id)?.ino;
        self.set_attribute(Target::Inode(ino), name, value, mode)
    }

    /// fgetxattr(2) with a buffer that is large enough.
    pub fn node_xattr(&mut self, id: NodeId, name: &[u8]) -> Result<Vec<u8>> {
        let ino = self.nodes.get(id)?.ino;
        self.attribute(Target::Inode(ino), name)
    }

    /// flistxattr(2) with a buffer that is large enough.
    pub fn node_xattrs(&mut self, id: NodeId) -> Result<Vec<Vec<u8>>> {
        let ino = self.nodes.get(id)?.ino;
        self.attributes(Target::Inode(ino))
    }

    /// fremovexattr(2).
    pub fn remove_node_xattr(&mut self, id: NodeId, name: &[u8]) -> Result<()> {
        let ino = self.nodes.get(id)?.ino;
        self.remove_attribute(Target::Inode(ino), name)
    }

    /// Path of a node from the root, without a leading slash, by the name by which it was found last. For messages: a
    /// file that has lost its name still has a path here.
    pub fn node_path(&self, id: NodeId) -> Vec<u8> {
        let Ok(node) = self.nodes.get(id) else { return Vec::new() };
        let mut names = Vec::new();
        let mut at = node.dentry;
        while at != ROOT {
            names.push(self.dentries.name(at));
            at = self.dentries.parent(at);
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Inode number of the parent of a directory; the root is its own parent.
    pub fn parent_ino(&self, directory: NodeId) -> Result<Ino> {
        let parent = self.dentries.parent(self.nodes.get(directory)?.dentry);
        self.dentries.inode(parent).map(|(ino, _)| ino).ok_or(Errno::NoEnt)
    }

    // ---- how --------------------------------------------------------------------------------------------------------

    /// Leaves appending to the program above, which knows the size and states the position of each write: pages of
    /// mapped memory are written through the same descriptors. Whether the file may be opened for appending was checked
    /// before.
    fn leave_appending(&mut self, fd: Fd) -> Result<()> {
        self.file_mut(fd)?.flags.append = false;
        Ok(())
    }

    /// Finds the entry of a name in a directory. The directory must have an entry itself: in a removed directory
    /// nothing can be found or made.
    fn below(&mut self, directory: NodeId, name: &[u8]) -> Result<Found> {
        let node = self.nodes.get(directory)?;
        let parent = node.dentry;
        if node.kind != FileKind::Directory {
            return Err(Errno::NotDir);
        }
        if self.dentries.inode(parent) != Some((node.ino, node.kind)) || !self.dentries.is_hashed(parent) {
            return Err(Errno::NoEnt);
        }
        let dentry = self.look_up(parent, name)?;
        Ok(Found { dentry, special: false, trailing_slash: false })
    }

    fn handed_out(&mut self, dentry: DentryId) -> Result<NodeEntry> {
        let inode = self.dentries.inode(dentry).ok_or(Errno::NoEnt)?;
        let stat = self.parts()?.0.getattr(inode.0)?;
        let generation = self.nodes.hand_out(inode, dentry);
        Ok(NodeEntry { id: NodeId::from(inode.0), generation, stat })
    }

    /// Sets the owner of a new file, and what it inherits from a directory with the set-group-ID bit
    /// (`inode_init_owner` of `fs/inode.c`).
    fn owned<'a>(&mut self, directory: NodeId, node: NewNode<'a>, caller: Caller) -> Result<NewNode<'a>> {
        let above = self.stat_node(directory)?;
        let inherits = above.permissions & SET_GID != 0;
        let bit = if inherits && node.kind == FileKind::Directory { SET_GID } else { 0 };
        let gid = if inherits { above.gid } else { caller.gid };
        Ok(NewNode { permissions: node.permissions | bit, uid: caller.uid, gid, ..node })
    }
}
