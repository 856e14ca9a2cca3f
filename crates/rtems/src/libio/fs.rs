//! What a file system offers to [`super::Libio`]: the handlers and operations of RTEMS, as one trait.
//!
//! The defaults are those of `cpukit/libfs/src/defaults`: what a file system cannot do fails with the same error.

use crate::bdbuf::{Bdbuf, DiskId};
use ffslab_fs::{Errno, Unwritten};

/// File types of `st_mode`, as newlib numbers them.
pub const S_IFMT: u32 = 0o170_000;
pub const S_IFDIR: u32 = 0o040_000;
pub const S_IFCHR: u32 = 0o020_000;
pub const S_IFBLK: u32 = 0o060_000;
pub const S_IFREG: u32 = 0o100_000;
pub const S_IFLNK: u32 = 0o120_000;
pub const S_IFIFO: u32 = 0o010_000;

/// The kind of a node. RTEMS stores it as the table of handlers of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
    Link,
    Device,
}

impl Kind {
    /// From the type bits of a mode.
    pub fn of_mode(mode: u32) -> Option<Kind> {
        match mode & S_IFMT {
            S_IFDIR => Some(Kind::Directory),
            S_IFREG => Some(Kind::File),
            S_IFLNK => Some(Kind::Link),
            S_IFCHR | S_IFBLK => Some(Kind::Device),
            _ => None,
        }
    }
}

/// A place in a file system (`rtems_filesystem_location_info_t` without the mount).
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Names the node: `node_access`.
    pub id: u32,
    /// A second number of the node, for what else the file system needs: `node_access_2`.
    pub extra_id: u32,
    pub kind: Kind,
}

/// How looking up one name ended.
pub enum Step {
    /// The location is now that of the name.
    Found,
    /// Like [`Step::Found`], but the evaluation must leave the file system's loop and enter it again for the rest of
    /// the path.
    FoundAndOut,
    NoEntry,
    /// The name is a symbolic link with this content; it must be followed.
    Link(Vec<u8>),
    /// The name is a directory on which another file system is mounted.
    Mounted(usize),
}

/// `struct stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub ino: u32,
    pub mode: u32,
    pub links: u32,
    pub uid: u16,
    pub gid: u16,
    pub size_bytes: u64,
    pub blocks: u64,
    pub block_bytes: u32,
    pub atime_s: u32,
    pub mtime_s: u32,
    pub ctime_s: u32,
}

/// `struct statvfs`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatVfs {
    pub block_bytes: u32,
    pub fragment_bytes: u32,
    pub blocks: u64,
    pub free_blocks: u64,
    pub files: u64,
    pub free_files: u64,
    pub name_max_bytes: u32,
}

/// `struct dirent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirEntry {
    pub ino: u32,
    pub name: Vec<u8>,
}

/// An open file (`rtems_libio_t`).
#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    pub node: Node,
    pub offset: u64,
    pub readable: bool,
    pub writable: bool,
    pub append: bool,
}

/// The handlers and operations of a mounted file system. All calls are made between lock and unlock of the instance.
#[allow(unused_variables)]
pub trait FileSystem {
    // ---- locks -------------------------------------------------------------------------------------------------------

    /// Whether calls take a lock of the instance.
    fn locks_calls(&self) -> bool {
        true
    }

    /// Whether seeks take the lock as well. In most file systems a seek only changes a number, without a lock.
    fn locks_seeks(&self) -> bool {
        false
    }

    // ---- life of locations -------------------------------------------------------------------------------------

    /// Called when the instance's lock is given back.
    fn unlock(&mut self, cache: &mut Bdbuf) {}

    fn root(&self) -> Node;

    /// A location is copied (`clonenod_h`).
    fn clone_node(&mut self, node: Node) {}

    /// A location is given back (`freenod_h`).
    fn free_node(&mut self, cache: &mut Bdbuf, node: Node) {}

    // ---- paths ---------------------------------------------------------------------------------------------------

    /// Called before the names of a path are looked up, from this node on.
    fn start_path(&mut self, cache: &mut Bdbuf, node: Node) -> Result<(), Errno> {
        Ok(())
    }

    /// Called after the names of a path were looked up.
    fn end_path(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        Ok(())
    }

    /// Looks one name up and moves the location there.
    fn look_up(&mut self, cache: &mut Bdbuf, at: &mut Node, name: &[u8], follow: bool) -> Result<Step, Errno>;

    fn stat(&mut self, cache: &mut Bdbuf, node: Node) -> Result<Stat, Errno>;

    // ---- names ---------------------------------------------------------------------------------------------------

    fn mknod(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], mode: u32) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    /// Removes a name. `parent` is the directory that holds the name, `node` is what the name stands for.
    fn rmnod(&mut self, cache: &mut Bdbuf, parent: Node, node: Node) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn link(&mut self, cache: &mut Bdbuf, parent: Node, target: Node, name: &[u8]) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn symlink(&mut self, cache: &mut Bdbuf, parent: Node, name: &[u8], target: &[u8]) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn readlink(&mut self, cache: &mut Bdbuf, node: Node) -> Result<Vec<u8>, Errno> {
        Err(Errno::NotSup)
    }

    fn rename(
        &mut self,
        cache: &mut Bdbuf,
        old_parent: Node,
        old: Node,
        new_parent: Node,
        name: &[u8],
    ) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn chmod(&mut self, cache: &mut Bdbuf, node: Node, mode: u32) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn chown(&mut self, cache: &mut Bdbuf, node: Node, uid: u16, gid: u16) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn utime(&mut self, cache: &mut Bdbuf, node: Node, atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn statvfs(&mut self, cache: &mut Bdbuf) -> Result<StatVfs, Errno> {
        Err(Errno::NoSys)
    }

    // ---- mounts in it --------------------------------------------------------------------------------------------

    fn mount_on(&mut self, node: Node, mount: usize) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    fn unmount_from(&mut self, mount: usize) -> Result<(), Errno> {
        Err(Errno::NotSup)
    }

    /// Ends the instance (`fsunmount_me_h`). The caller of unmount gets the error.
    fn shut_down(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        Ok(())
    }

    /// Writes out what the file system itself keeps in memory, for those that have no block cache below them.
    fn sync(&mut self, cache: &mut Bdbuf) -> Result<(), Errno> {
        Ok(())
    }

    /// Memory blocks that the files hold, tables included (IMFS).
    fn memory_blocks(&self) -> u64 {
        0
    }

    /// See [`ffslab_fs::FileSystem::unwritten`]. Blocks in the block cache are not counted here; the cache counts them itself.
    fn unwritten(&mut self) -> Unwritten {
        Unwritten::default()
    }

    /// The block device that a device node stands for.
    fn disk_of(&self, node: Node) -> Option<DiskId> {
        None
    }

    // ---- open files ----------------------------------------------------------------------------------------------

    fn open(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        Ok(())
    }

    fn close(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        Ok(())
    }

    fn read(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
        Err(Errno::NotSup)
    }

    fn write(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, data: &[u8]) -> Result<usize, Errno> {
        Err(Errno::NotSup)
    }

    /// Called before the offset changes to `to`, which is not negative (`lseek_h`). A directory can only go back to 0.
    fn seek(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, to: u64) -> Result<(), Errno> {
        if file.node.kind == Kind::Directory && to != 0 {
            return Err(Errno::Inval);
        }
        file.offset = to;
        Ok(())
    }

    fn truncate(&mut self, cache: &mut Bdbuf, file: &mut OpenFile, bytes: u64) -> Result<(), Errno> {
        match file.node.kind {
            Kind::Directory => Err(Errno::IsDir),
            _ => Err(Errno::Inval),
        }
    }

    fn fsync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        Err(Errno::Inval)
    }

    fn fdatasync(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<(), Errno> {
        self.fsync(cache, file)
    }

    /// The next entry of an open directory; `None` at its end. One `read` with room for one entry.
    fn read_dir(&mut self, cache: &mut Bdbuf, file: &mut OpenFile) -> Result<Option<DirEntry>, Errno> {
        Err(Errno::NotDir)
    }
}
