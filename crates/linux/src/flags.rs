//! Flags of inodes, as chattr(1) sets them, and what they forbid.
//!
//! Follows `fs/namei.c` (`may_open`, `may_create`, `may_delete`, `vfs_link`), `fs/open.c` and `fs/attr.c`
//! (`vfs_truncate`, `do_sys_ftruncate`, `may_setattr`), `fs/xattr.c` (`xattr_permission`) and `fs/ioctl.c` of Linux 6.1.
//! They bind root, too: everything runs as root here.

use crate::vfs::Vfs;
use ffslab_fs::inode_flags::{APPEND, IMMUTABLE};
use ffslab_fs::{Errno, FileKind, Ino, Result};
use ffslab_system::{Fd, NewTime, NodeChange, NodeId, OpenFlags};

impl Vfs {
    /// `FS_IOC_GETFLAGS` of an open file or directory: bits of [`ffslab_fs::inode_flags`]. [`Errno::NoTty`]: the file
    /// system has none.
    pub fn inode_flags(&mut self, fd: Fd) -> Result<u32> {
        let (ino, kind) = self.file(fd).map(|file| (file.ino, file.kind))?;
        self.flags_by_ioctl(ino, kind)
    }

    /// `FS_IOC_SETFLAGS` of an open file or directory. [`Errno::NotSup`]: the file system does not know one of them.
    pub fn set_inode_flags(&mut self, fd: Fd, flags: u32) -> Result<()> {
        let (ino, kind) = self.file(fd).map(|file| (file.ino, file.kind))?;
        self.set_flags_by_ioctl(ino, kind, flags)
    }

    /// [`Vfs::inode_flags`] of a node.
    pub fn node_flags(&mut self, id: NodeId) -> Result<u32> {
        let (ino, kind) = self.nodes.inode(id)?;
        self.flags_by_ioctl(ino, kind)
    }

    /// [`Vfs::set_inode_flags`] of a node.
    pub fn set_node_flags(&mut self, id: NodeId, flags: u32) -> Result<()> {
        let (ino, kind) = self.nodes.inode(id)?;
        self.set_flags_by_ioctl(ino, kind, flags)
    }

    fn flags_by_ioctl(&mut self, ino: Ino, kind: FileKind) -> Result<u32> {
        self.system_call(|vfs| {
            check_kind(kind)?;
            vfs.parts()?.0.inode_flags(ino)
        })
    }

    fn set_flags_by_ioctl(&mut self, ino: Ino, kind: FileKind, flags: u32) -> Result<()> {
        self.system_call(|vfs| {
            vfs.want_write()?;
            check_kind(kind)?;
            let (fs, memory) = vfs.parts()?;
            fs.set_inode_flags(memory, ino, flags)
        })
    }

    // ---- what they forbid --------------------------------------------------------------------------------------------

    /// Fails with [`Errno::Perm`] if the inode has one of the flags.
    fn refuse(&mut self, ino: Ino, flags: u32) -> Result<()> {
        match self.parts()?.0.inode_flags(ino) {
            Ok(bits) if bits & flags != 0 => Err(Errno::Perm),
            Ok(_) | Err(Errno::NoTty) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A file that may only grow can only be opened for appending, and cannot be truncated.
    pub(crate) fn may_open(&mut self, ino: Ino, flags: OpenFlags) -> Result<()> {
        if !(flags.write || flags.truncate) {
            return Ok(());
        }
        let appends = flags.append && !flags.truncate;
        self.refuse(ino, if appends { IMMUTABLE } else { IMMUTABLE | APPEND })
    }

    /// Whether a name may be made in the directory.
    pub(crate) fn may_create(&mut self, directory: Ino) -> Result<()> {
        self.refuse(directory, IMMUTABLE)
    }

    /// Whether the name of `victim` may be removed from the directory.
    pub(crate) fn may_delete(&mut self, directory: Ino, victim: Ino) -> Result<()> {
        self.refuse(directory, IMMUTABLE | APPEND)?;
        self.refuse(victim, IMMUTABLE | APPEND)
    }

    /// Whether the inode may get a further name.
    pub(crate) fn may_link(&mut self, ino: Ino) -> Result<()> {
        self.refuse(ino, IMMUTABLE | APPEND)
    }

    /// Whether ftruncate(2) may change the size. The descriptor may have been opened for writing before the flags were
    /// set.
    pub(crate) fn may_cut(&mut self, ino: Ino) -> Result<()> {
        self.refuse(ino, APPEND)
    }

    /// Whether fallocate(2) may be asked for. Where a file may only grow, space may still be reserved.
    pub(crate) fn may_fallocate(&mut self, ino: Ino, changes: bool) -> Result<()> {
        self.refuse(ino, if changes { IMMUTABLE | APPEND } else { IMMUTABLE })
    }

    /// Whether truncate(2) may change the size.
    pub(crate) fn may_truncate(&mut self, ino: Ino) -> Result<()> {
        self.refuse(ino, IMMUTABLE | APPEND)
    }

    /// Whether permissions, owner, given times and extended attributes may be changed.
    pub(crate) fn may_change(&mut self, ino: Ino) -> Result<()> {
        self.refuse(ino, IMMUTABLE | APPEND)
    }

    /// Whether a program above may make a change. Where a file may only grow, times may still be set to the current
    /// time.
    pub(crate) fn may_change_node(&mut self, ino: Ino, change: &NodeChange) -> Result<()> {
        let given = |time| matches!(time, Some(NewTime::At(_)));
        let touches = change.accessed.is_some() || change.modified.is_some();
        if change.permissions.is_some()
            || change.uid.is_some()
            || change.gid.is_some()
            || given(change.accessed)
            || given(change.modified)
        {
            self.may_change(ino)
        } else if touches {
            self.refuse(ino, IMMUTABLE)
        } else {
            Ok(())
        }
    }
}

/// Special files have no such flags (`d_is_special` in `fs/ubifs/ioctl.c`), and symbolic links cannot be opened.
fn check_kind(kind: FileKind) -> Result<()> {
    match kind {
        FileKind::File | FileKind::Directory => Ok(()),
        _ => Err(Errno::NoTty),
    }
}
