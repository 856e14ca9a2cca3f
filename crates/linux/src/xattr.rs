//! Extended attributes (`fs/xattr.c` of Linux 6.1), each call by path, by path without following a symbolic link at its
//! end, and by descriptor. Everything runs as root, so `trusted.` attributes are open to all.

use crate::vfs::Vfs;
use crate::walk::LastLink;
use ffslab_fs::{Errno, FileKind, Ino, Result, XattrMode};
use ffslab_system::Fd;

/// `XATTR_NAME_MAX`.
const NAME_BYTES_MAX: usize = 255;
/// `XATTR_SIZE_MAX`.
const VALUE_BYTES_MAX: usize = 64 << 10;
/// The namespaces of attribute names. Each file system supports some of them.
const NAMESPACES: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];

/// How a call names an inode.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a> {
    Path(&'a [u8], LastLink),
    Descriptor(Fd),
    Inode(Ino),
}

fn path(path: &[u8]) -> Target<'_> {
    Target::Path(path, LastLink::Follow)
}

fn link(path: &[u8]) -> Target<'_> {
    Target::Path(path, LastLink::FollowIfSlash)
}

impl Vfs {
    /// setxattr(2): `name` is the full one, as "user.comment".
    ///
    /// # Errors
    /// Those of the manual page; [`Errno::NotSup`]: the file system does not keep attributes of this namespace.
    pub fn setxattr(&mut self, file: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.set_attribute(path(file), name, value, mode)
    }

    /// lsetxattr(2).
    pub fn lsetxattr(&mut self, file: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.set_attribute(link(file), name, value, mode)
    }

    /// fsetxattr(2).
    pub fn fsetxattr(&mut self, fd: Fd, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.set_attribute(Target::Descriptor(fd), name, value, mode)
    }

    /// getxattr(2) with a buffer that is large enough: the whole value.
    pub fn getxattr(&mut self, file: &[u8], name: &[u8]) -> Result<Vec<u8>> {
        self.attribute(path(file), name)
    }

    /// lgetxattr(2).
    pub fn lgetxattr(&mut self, file: &[u8], name: &[u8]) -> Result<Vec<u8>> {
        self.attribute(link(file), name)
    }

    /// fgetxattr(2).
    pub fn fgetxattr(&mut self, fd: Fd, name: &[u8]) -> Result<Vec<u8>> {
        self.attribute(Target::Descriptor(fd), name)
    }

    /// listxattr(2) with a buffer that is large enough: full names, in the file system's order.
    pub fn listxattr(&mut self, file: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.attributes(path(file))
    }

    /// llistxattr(2).
    pub fn llistxattr(&mut self, file: &[u8]) -> Result<Vec<Vec<u8>>> {
        self.attributes(link(file))
    }

    /// flistxattr(2).
    pub fn flistxattr(&mut self, fd: Fd) -> Result<Vec<Vec<u8>>> {
        self.attributes(Target::Descriptor(fd))
    }

    /// removexattr(2).
    pub fn removexattr(&mut self, file: &[u8], name: &[u8]) -> Result<()> {
        self.remove_attribute(path(file), name)
    }

    /// lremovexattr(2).
    pub fn lremovexattr(&mut self, file: &[u8], name: &[u8]) -> Result<()> {
        self.remove_attribute(link(file), name)
    }

    /// fremovexattr(2).
    pub fn fremovexattr(&mut self, fd: Fd, name: &[u8]) -> Result<()> {
        self.remove_attribute(Target::Descriptor(fd), name)
    }

    pub(crate) fn set_attribute(
        &mut self,
        target: Target<'_>,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Result<()> {
        self.system_call(|vfs| {
            let ino = vfs.target(target)?;
            vfs.want_write()?;
            check_name_bytes(name)?;
            if value.len() > VALUE_BYTES_MAX {
                return Err(Errno::TooBig);
            }
            vfs.check_attribute(ino, name, Errno::Perm)?;
            vfs.may_change(ino)?;
            let (fs, memory) = vfs.parts()?;
            fs.setxattr(memory, ino, name, value, mode)
        })
    }

    pub(crate) fn attribute(&mut self, target: Target<'_>, name: &[u8]) -> Result<Vec<u8>> {
        self.system_call(|vfs| {
            let ino = vfs.target(target)?;
            check_name_bytes(name)?;
            vfs.check_attribute(ino, name, Errno::NoData)?;
            vfs.parts()?.0.getxattr(ino, name)
        })
    }

    pub(crate) fn attributes(&mut self, target: Target<'_>) -> Result<Vec<Vec<u8>>> {
        self.system_call(|vfs| {
            let ino = vfs.target(target)?;
            vfs.parts()?.0.listxattr(ino)
        })
    }

    pub(crate) fn remove_attribute(&mut self, target: Target<'_>, name: &[u8]) -> Result<()> {
        self.system_call(|vfs| {
            let ino = vfs.target(target)?;
            vfs.want_write()?;
            check_name_bytes(name)?;
            vfs.check_attribute(ino, name, Errno::Perm)?;
            vfs.may_change(ino)?;
            let (fs, memory) = vfs.parts()?;
            fs.removexattr(memory, ino, name)
        })
    }

    fn target(&mut self, target: Target<'_>) -> Result<Ino> {
        match target {
            Target::Path(path, last_link) => self.existing_inode(path, last_link),
            Target::Descriptor(fd) => Ok(self.file(fd)?.ino),
            Target::Inode(ino) => Ok(ino),
        }
    }

    /// Whether this inode may have an attribute of this name (`xattr_permission`, `xattr_resolve_name`). `unfit`: the
    /// error for a namespace that only files and directories may use.
    fn check_attribute(&mut self, ino: Ino, name: &[u8], unfit: Errno) -> Result<()> {
        let (fs, _) = self.parts()?;
        if name.starts_with(b"user.") && !matches!(fs.getattr(ino)?.kind, FileKind::File | FileKind::Directory) {
            return Err(unfit);
        }
        match NAMESPACES.contains(&name) {
            _ if !fs.keeps_xattr(name) => Err(Errno::NotSup),
            true => Err(Errno::Inval),
            false => Ok(()),
        }
    }
}

fn check_name_bytes(name: &[u8]) -> Result<()> {
    match name.len() {
        1..=NAME_BYTES_MAX if !name.contains(&0) => Ok(()),
        _ => Err(Errno::Range),
    }
}
