//! Extended attributes (`fs/xattr.c` of Linux 6.1), each call by path, by path without following a symbolic link at its
//! end, and by descriptor. Everything runs as root, so `trusted.` attributes are open to all.

use crate::namei::LastLink;
use crate::vfs::Vfs;
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

impl Vfs {
    /// fsetxattr(2).
    pub fn fsetxattr(&mut self, fd: Fd, name: &[u8], value: &[u8], mode: XattrMode) -> Result<()> {
        self.set_attribute(Target::Descriptor(fd), name, value, mode)
    }

    /// fgetxattr(2).
    pub fn fgetxattr(&mut self, fd: Fd, name: &[u8]) -> Result<Vec<u8>> {
        self.attribute(Target::Descriptor(fd), name)
    }

    /// flistxattr(2).
    pub fn flistxattr(&mut self, fd: Fd) -> Result<Vec<Vec<u8>>> {
        self.attributes(Target::Descriptor(fd))
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
        if !fs.keeps_xattr(name) {
            return Err(Errno::NotSup);
        }
        if NAMESPACES.contains(&name) {
            return Err(Errno::Inval);
        }
        Ok(())
    }
}

fn check_name_bytes(name: &[u8]) -> Result<()> {
    match name.len() {
        1..=NAME_BYTES_MAX if !name.contains(&0) => Ok(()),
        _ => Err(Errno::Range),
    }
}
