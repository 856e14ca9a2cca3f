//! Attributes: stat(2) and its relatives, chmod, chown, utimens.

use crate::namei::LastLink;
use crate::vfs::Vfs;
use ffslab_fs::{Errno, Ino, Result, SetAttr, Stat};
use ffslab_system::Fd;

impl Vfs {
    pub(crate) fn stat_path(&mut self, path: &[u8], last_link: LastLink) -> Result<Stat> {
        let ino = self.existing_inode(path, last_link)?;
        self.parts()?.0.getattr(ino)
    }

    pub(crate) fn stat_open(&mut self, fd: Fd) -> Result<Stat> {
        let ino = self.file(fd)?.ino;
        self.parts()?.0.getattr(ino)
    }

    pub(crate) fn change_path(&mut self, path: &[u8], change: SetAttr) -> Result<()> {
        let ino = self.existing_inode(path, LastLink::Follow)?;
        self.want_write()?;
        if change == SetAttr::default() {
            return Ok(());
        }
        self.may_change(ino)?;
        let (fs, memory) = self.parts()?;
        fs.setattr(memory, ino, &change)
    }

    /// Changes attributes of what a path names itself, a symbolic link included (`notify_change`).
    pub fn change(&mut self, path: &[u8], change: &SetAttr) -> Result<()> {
        self.system_call(|vfs| {
            let ino = vfs.existing_inode(path, LastLink::Keep)?;
            vfs.change_inode(ino, change)
        })
    }

    /// The same of an open file.
    pub fn change_open(&mut self, fd: Fd, change: &SetAttr) -> Result<()> {
        self.system_call(|vfs| {
            let ino = vfs.file(fd)?.ino;
            vfs.change_inode(ino, change)
        })
    }

    fn change_inode(&mut self, ino: Ino, change: &SetAttr) -> Result<()> {
        self.want_write()?;
        self.may_change(ino)?;
        let (fs, memory) = self.parts()?;
        fs.setattr(memory, ino, change)
    }

    pub(crate) fn existing_inode(&mut self, path: &[u8], last_link: LastLink) -> Result<Ino> {
        let dentry = self.walk_existing(path, last_link)?;
        self.dentries.inode(dentry).map(|(ino, _)| ino).ok_or(Errno::NoEnt)
    }
}
