//! Calls on paths.

use super::fs::{Kind, Stat, StatVfs, S_IFDIR, S_IFMT};
use super::path::{Evaluated, Flags, Location};
use super::Libio;
use crate::bdbuf::Bdbuf;
use ffslab_fs::Errno;

const FOLLOW: Flags =
    Flags { make: false, exclusive: false, follow: true, write: false, residual_delimiters: false, reject_dot: false };
/// Flags for a name that must not exist yet.
const NEW: Flags = Flags { make: true, exclusive: true, follow: false, ..FOLLOW };

impl Libio {
    /// Evaluates a path and calls a function with its location.
    fn at_path<R>(
        &mut self,
        path: &[u8],
        flags: Flags,
        f: impl FnOnce(&mut dyn super::FileSystem, &mut Bdbuf, &Evaluated) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let found = self.evaluate(path, flags)?;
        let result = self.with(found.at.mount, |fs, cache| f(fs, cache, &found));
        self.end(found.at);
        result
    }

    pub fn stat(&mut self, path: &[u8]) -> Result<Stat, Errno> {
        self.at_path(path, FOLLOW, |fs, cache, found| fs.stat(cache, found.at.node))
    }

    /// Like [`Libio::stat`], but for a symbolic link at the end of the path it describes the link itself.
    pub fn lstat(&mut self, path: &[u8]) -> Result<Stat, Errno> {
        self.at_path(path, Flags { follow: false, ..FOLLOW }, |fs, cache, found| fs.stat(cache, found.at.node))
    }

    pub fn mkdir(&mut self, path: &[u8], mode: u32) -> Result<(), Errno> {
        self.mknod(path, S_IFDIR | (mode & 0o7777))
    }

    /// Makes a node of the type in `mode`: a directory or a file.
    pub fn mknod(&mut self, path: &[u8], mode: u32) -> Result<(), Errno> {
        let directory = mode & S_IFMT == S_IFDIR;
        let flags = Flags { follow: true, residual_delimiters: directory, ..NEW };
        self.at_path(path, flags, |fs, cache, found| {
            let name = found.missing.as_deref().ok_or(Errno::Exist)?;
            fs.mknod(cache, found.at.node, name, mode & !0o022)
        })
    }

    pub fn unlink(&mut self, path: &[u8]) -> Result<(), Errno> {
        let flags = Flags { reject_dot: true, ..Flags::default() };
        let (found, parent) = self.evaluate_with_parent(path, flags, true)?;
        let result = self.remove(found.at, parent);
        self.end_with_parent(found.at, parent);
        result
    }

    pub fn rmdir(&mut self, path: &[u8]) -> Result<(), Errno> {
        let flags = Flags { reject_dot: true, ..Flags::default() };
        let (found, parent) = self.evaluate_with_parent(path, flags, true)?;
        let at = found.at;
        let stat = self.with(at.mount, |fs, cache| fs.stat(cache, at.node));
        let result = match stat.map(|stat| Kind::of_mode(stat.mode)) {
            Ok(Some(Kind::Directory)) => self.remove(at, parent),
            _ => Err(Errno::NotDir),
        };
        self.end_with_parent(at, parent);
        result
    }

    fn remove(&mut self, at: Location, parent: Location) -> Result<(), Errno> {
        if self.is_mount_root(at) {
            return Err(Errno::Busy);
        }
        self.with(at.mount, |fs, cache| fs.rmnod(cache, parent.node, at.node))
    }

    /// Renames a file. The new name must not exist: RTEMS replaces nothing.
    pub fn rename(&mut self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        let (old, parent) = self.evaluate_with_parent(old, Flags::default(), true)?;
        let result =
            self.at_new(new, old.at, |fs, cache, to, name| fs.rename(cache, parent.node, old.at.node, to.node, name));
        self.end_with_parent(old.at, parent);
        result
    }

    /// A hard link.
    pub fn link(&mut self, old: &[u8], new: &[u8]) -> Result<(), Errno> {
        let old = self.evaluate(old, FOLLOW)?;
        let result = self.at_new(new, old.at, |fs, cache, to, name| fs.link(cache, to.node, old.at.node, name));
        self.end(old.at);
        result
    }

    /// Evaluates the path of a new name, which must be in the same file system as `same`.
    fn at_new(
        &mut self,
        path: &[u8],
        same: Location,
        f: impl FnOnce(&mut dyn super::FileSystem, &mut Bdbuf, Location, &[u8]) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        self.at_path(path, NEW, |fs, cache, found| {
            if found.at.mount != same.mount {
                return Err(Errno::XDev);
            }
            f(fs, cache, found.at, found.missing.as_deref().ok_or(Errno::Exist)?)
        })
    }

    pub fn symlink(&mut self, target: &[u8], path: &[u8]) -> Result<(), Errno> {
        self.at_path(path, NEW, |fs, cache, found| {
            let name = found.missing.as_deref().ok_or(Errno::Exist)?;
            fs.symlink(cache, found.at.node, name, target)
        })
    }

    pub fn readlink(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
        self.at_path(path, Flags { follow: false, ..FOLLOW }, |fs, cache, found| {
            let stat = fs.stat(cache, found.at.node)?;
            match Kind::of_mode(stat.mode) {
                Some(Kind::Link) => fs.readlink(cache, found.at.node),
                _ => Err(Errno::Inval),
            }
        })
    }

    pub fn chmod(&mut self, path: &[u8], mode: u32) -> Result<(), Errno> {
        self.at_path(path, FOLLOW, |fs, cache, found| {
            let stat = fs.stat(cache, found.at.node)?;
            fs.chmod(cache, found.at.node, (stat.mode & S_IFMT) | (mode & 0o7777))
        })
    }

    pub fn chown(&mut self, path: &[u8], uid: u16, gid: u16) -> Result<(), Errno> {
        self.at_path(path, FOLLOW, |fs, cache, found| fs.chown(cache, found.at.node, uid, gid))
    }

    pub fn utime(&mut self, path: &[u8], atime_s: u32, mtime_s: u32) -> Result<(), Errno> {
        self.at_path(path, FOLLOW, |fs, cache, found| fs.utime(cache, found.at.node, atime_s, mtime_s))
    }

    pub fn statvfs(&mut self, path: &[u8]) -> Result<StatVfs, Errno> {
        self.at_path(path, FOLLOW, |fs, cache, _| fs.statvfs(cache))
    }

    pub fn chdir(&mut self, path: &[u8]) -> Result<(), Errno> {
        let found = self.evaluate(path, FOLLOW)?;
        if found.at.node.kind != Kind::Directory {
            self.end(found.at);
            return Err(Errno::NotDir);
        }
        self.unlock(found.at.mount);
        let before = std::mem::replace(&mut self.current, found.at);
        self.locked(before.mount, |fs, cache| fs.free_node(cache, before.node));
        Ok(())
    }
}
