//! Attributes: stat(2) and its relatives, chmod, chown, utimens.

use crate::vfs::Vfs;
use crate::walk::LastLink;
use ffslab_fs::{Errno, Ino, Result, SetAttr, Stat, TimeSpec};
use ffslab_system::Fd;

impl Vfs {
    /// stat(2): follows a symbolic link at the end.
    pub fn stat(&mut self, path: &[u8]) -> Result<Stat> {
        self.stat_path(path, LastLink::Follow)
    }

    /// lstat(2): describes a symbolic link at the end of the path itself.
    pub fn lstat(&mut self, path: &[u8]) -> Result<Stat> {
        self.stat_path(path, LastLink::FollowIfSlash)
    }

    /// fstat(2).
    pub fn fstat(&mut self, fd: Fd) -> Result<Stat> {
        self.system_call(|vfs| {
            let ino = vfs.file(fd)?.ino;
            vfs.parts()?.0.getattr(ino)
        })
    }

    /// chmod(2): `permissions` are the bits 07777.
    pub fn chmod(&mut self, path: &[u8], permissions: u32) -> Result<()> {
        let permissions = Some(permissions & 0o7777);
        self.change(path, SetAttr { permissions, ..SetAttr::default() })
    }

    /// chown(2); `None` leaves the owner or the group alone.
    pub fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Result<()> {
        self.change(path, SetAttr { uid, gid, ..SetAttr::default() })
    }

    /// utimensat(2); `None` leaves a time alone (`UTIME_OMIT`). [`Errno::Inval`] for 1,000,000,000 nanoseconds or more.
    pub fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Result<()> {
        let malformed = |time: TimeSpec| time.nanoseconds >= 1_000_000_000;
        if accessed.is_some_and(malformed) || modified.is_some_and(malformed) {
            return Err(Errno::Inval);
        }
        self.change(path, SetAttr { accessed, modified, ..SetAttr::default() })
    }

    fn stat_path(&mut self, path: &[u8], last_link: LastLink) -> Result<Stat> {
        self.system_call(|vfs| {
            let ino = vfs.existing_inode(path, last_link)?;
            vfs.parts()?.0.getattr(ino)
        })
    }

    fn change(&mut self, path: &[u8], change: SetAttr) -> Result<()> {
        self.system_call(|vfs| {
            let ino = vfs.existing_inode(path, LastLink::Follow)?;
            vfs.want_write()?;
            if change == SetAttr::default() {
                return Ok(());
            }
            vfs.may_change(ino)?;
            let (fs, memory) = vfs.parts()?;
            fs.setattr(memory, ino, &change)
        })
    }

    pub(crate) fn existing_inode(&mut self, path: &[u8], last_link: LastLink) -> Result<Ino> {
        let dentry = self.walk_existing(path, last_link)?;
        self.dentries.inode(dentry).map(|(ino, _)| ino).ok_or(Errno::NoEnt)
    }
}
