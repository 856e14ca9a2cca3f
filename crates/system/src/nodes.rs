//! The calls by inode and name instead of by path, for a program above that walks paths itself, as the real kernel does
//! for FUSE.

use crate::{Answer, Fd, OpenFlags};
use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Stat, StatFs, TimeSpec, XattrMode};

/// Number of an inode, as the program above knows it.
pub type NodeId = u64;

/// The root directory, as FUSE numbers it.
pub const ROOT_NODE: NodeId = 1;

/// A node as it is handed out to the program above. `stat.ino` is its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeEntry {
    pub id: NodeId,
    /// Tells two inodes apart that had the same number one after the other.
    pub generation: u64,
    pub stat: Stat,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName {
    pub id: NodeId,
    pub kind: FileKind,
    pub name: Vec<u8>,
}

/// The process that makes a file, which becomes its owner where the system knows owners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    pub uid: u32,
    pub gid: u32,
}

/// What [`Nodes::change`] changes; `None` leaves one alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeChange {
    pub size_bytes: Option<u64>,
    /// The new size comes from ftruncate(2) or open(2), which set the modification time. For truncate(2) that is left
    /// to the file system.
    pub by_descriptor: bool,
    pub permissions: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub accessed: Option<NewTime>,
    pub modified: Option<NewTime>,
}

/// A time stamp to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewTime {
    /// `UTIME_NOW`
    Now,
    At(TimeSpec),
}

/// The calls of a system by node. A look-up belongs to the call for which a path was walked and costs nothing of its
/// own, as far as the system can look without a call.
///
/// Errors are those of the manual pages; a node that is gone is [`Errno::NoEnt`].
pub trait Nodes {
    // ---- names ------------------------------------------------------------------------------------------------------

    /// One step of a path walk. The node counts as handed out once more, until [`Nodes::forget`] takes it back.
    fn look_up(&mut self, directory: NodeId, name: &[u8]) -> Answer<NodeEntry>;

    /// Takes a node back that was handed out `look_ups` times.
    fn forget(&mut self, id: NodeId, look_ups: u64);

    /// A path was walked to this node and nothing followed, so the walk was a system call such as stat(2). It is charged
    /// for here.
    fn looked(&mut self, id: NodeId);

    /// Path from the root, without a leading slash, by the name by which the node was found last. For messages.
    fn path(&self, id: NodeId) -> Vec<u8>;

    /// The directory above one; the root is above itself.
    fn parent(&mut self, directory: NodeId) -> Answer<NodeId>;

    /// mkdir(2), mknod(2), symlink(2). The node counts as handed out. The owner is `caller`, not that of `node`.
    fn make(&mut self, directory: NodeId, name: &[u8], node: NewNode, caller: Caller) -> Answer<NodeEntry>;

    /// link(2). The node counts as handed out once more.
    fn link(&mut self, id: NodeId, directory: NodeId, name: &[u8]) -> Answer<NodeEntry>;

    fn unlink(&mut self, directory: NodeId, name: &[u8]) -> Answer<()>;

    fn rmdir(&mut self, directory: NodeId, name: &[u8]) -> Answer<()>;

    /// renameat2(2).
    fn rename(&mut self, old: (NodeId, &[u8]), new: (NodeId, &[u8]), flags: RenameFlags) -> Answer<()>;

    fn readlink(&mut self, id: NodeId) -> Answer<Vec<u8>>;

    // ---- attributes -------------------------------------------------------------------------------------------------

    /// The last part of stat(2); see [`Nodes::looked`].
    fn stat(&mut self, id: NodeId) -> Answer<Stat>;

    /// chmod, chown, utimens, truncate and their relatives in one call.
    fn change(&mut self, id: NodeId, change: &NodeChange) -> Answer<Stat>;

    /// `FS_IOC_GETFLAGS`: bits of [`ffslab_fs::inode_flags`].
    fn flags(&mut self, _id: NodeId) -> Answer<u32> {
        Err(Errno::NoTty.into())
    }

    /// `FS_IOC_SETFLAGS`.
    fn set_flags(&mut self, _id: NodeId, _flags: u32) -> Answer<()> {
        Err(Errno::NoTty.into())
    }

    /// Whether extended attributes of programs are stored at all.
    fn keeps_xattrs(&self) -> bool;

    fn set_xattr(&mut self, id: NodeId, name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()>;

    fn xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<Vec<u8>>;

    fn xattrs(&mut self, id: NodeId) -> Answer<Vec<Vec<u8>>>;

    fn remove_xattr(&mut self, id: NodeId, name: &[u8]) -> Answer<()>;

    // ---- open files -------------------------------------------------------------------------------------------------

    /// open(2) of an existing file or directory; `flags.create` and `flags.exclusive` are ignored.
    fn open(&mut self, id: NodeId, flags: OpenFlags) -> Answer<Fd>;

    /// open(2) with `O_CREAT`. The node counts as handed out.
    fn create(
        &mut self,
        directory: NodeId,
        name: &[u8],
        flags: OpenFlags,
        permissions: u32,
        caller: Caller,
    ) -> Answer<(Fd, NodeEntry)>;

    /// Entries of an open directory, but for "." and "..", from the first one on.
    fn entries(&mut self, directory: NodeId, fd: Fd) -> Answer<Vec<NodeName>>;

    fn read(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize>;

    /// Writes at the position that the program above states, also to a file that was opened for appending.
    fn write(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize>;

    fn fsync(&mut self, fd: Fd, data_only: bool) -> Answer<()>;

    /// Whether close(2) takes effect where a descriptor is closed ([`Nodes::flush`]), not where the last one of an open
    /// file is ([`Nodes::release`]).
    fn closes_at_flush(&self) -> bool;

    /// A descriptor is closed that others may share. The file stays open.
    fn flush(&mut self, fd: Fd) -> Answer<()>;

    /// The last descriptor of an open file is gone.
    fn release(&mut self, fd: Fd) -> Answer<()>;

    /// close(2) of a directory.
    fn close_directory(&mut self, fd: Fd) -> Answer<()>;

    // ---- the whole file system ----------------------------------------------------------------------------------------

    fn statfs(&mut self) -> Answer<StatFs>;

    fn name_bytes_max(&self) -> u32;

    /// Whether files belong to users and the program above is to check who may do what. In a system of one user every
    /// program may do everything.
    fn has_users(&self) -> bool;

    /// Whether programs may share memory that is mapped to files and written.
    fn maps_shared_writable(&self) -> bool;
}
