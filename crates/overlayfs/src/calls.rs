//! The system calls of programs.

use crate::marks::OWN;
use crate::{Layer, Overlay};
use ffslab_fs::{Errno, FileKind, NewNode, RenameFlags, Result, SetAttr, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_linux::namei::{check_times, node_of, symlink_to, LastLink};
use ffslab_sim::Sim;
use ffslab_system::{Advice, Answer, Calls, Entry, FallocateFlag, Fd, MapAccess, OpenFlags, Whence};

impl Overlay {
    fn answer<R>(&mut self, body: impl FnOnce(&mut Overlay) -> Result<R>) -> Answer<R> {
        Ok(self.call(body)?)
    }

    /// A call on the real file behind a descriptor.
    fn on_real<R>(
        &mut self,
        fd: Fd,
        on_directory: Errno,
        call: impl FnOnce(&mut ffslab_linux::Vfs, Fd) -> Answer<R>,
    ) -> Answer<R> {
        self.answer(|overlay| overlay.on_file(fd, on_directory, call))
    }

    /// A change of attributes is one of the upper inode; a lower one is copied up before (`ovl_setattr`).
    fn change_path(&mut self, path: &[u8], change: &SetAttr) -> Answer<()> {
        self.answer(|overlay| {
            let (path, _) = overlay.existing(path, LastLink::Follow)?;
            if *change == SetAttr::default() {
                return Ok(());
            }
            overlay.copy_up(&path)?;
            let upper = overlay.upper_path(&path);
            overlay.above(|vfs| vfs.change(&upper, change))
        })
    }

    fn stat_path(&mut self, path: &[u8], last_link: LastLink) -> Answer<Stat> {
        self.answer(|overlay| {
            let (path, node) = overlay.existing(path, last_link)?;
            overlay.stat_node(&path, &node)
        })
    }

    /// `ovl_xattr_set`
    fn set_xattr(
        &mut self,
        path: &[u8],
        last_link: LastLink,
        name: &[u8],
        value: &[u8],
        mode: XattrMode,
    ) -> Answer<()> {
        self.answer(|overlay| {
            let (path, _) = overlay.existing(path, last_link)?;
            check_own(name)?;
            overlay.copy_up(&path)?;
            let upper = overlay.upper_path(&path);
            Ok(overlay.above(|vfs| vfs.lsetxattr(&upper, name, value, mode))?)
        })
    }

    fn get_xattr(&mut self, path: &[u8], last_link: LastLink, name: &[u8]) -> Answer<Vec<u8>> {
        self.answer(|overlay| {
            check_own(name)?;
            overlay.on_real_path(path, last_link, |layer, real| layer.with(|vfs| vfs.lgetxattr(real, name)))
        })
    }

    fn list_xattrs(&mut self, path: &[u8], last_link: LastLink) -> Answer<Vec<Vec<u8>>> {
        self.answer(|overlay| {
            let list = |layer: &Layer, real: &[u8]| layer.with(|vfs| vfs.llistxattr(real));
            let mut names = overlay.on_real_path(path, last_link, list)?;
            names.retain(|name| !name.starts_with(OWN));
            Ok(names)
        })
    }

    fn remove_xattr(&mut self, path: &[u8], last_link: LastLink, name: &[u8]) -> Answer<()> {
        self.answer(|overlay| {
            check_own(name)?;
            let (path, node) = overlay.existing(path, last_link)?;
            if !node.borrow().is_upper {
                // Nothing is copied up for an attribute that is not there.
                let (layer, real) = overlay.real(&node.borrow(), &path);
                layer.with(|vfs| vfs.lgetxattr(&real, name))?;
            }
            overlay.copy_up(&path)?;
            let upper = overlay.upper_path(&path);
            Ok(overlay.above(|vfs| vfs.lremovexattr(&upper, name))?)
        })
    }

    fn on_real_path<R>(
        &mut self,
        path: &[u8],
        last_link: LastLink,
        call: impl FnOnce(&Layer, &[u8]) -> Answer<R>,
    ) -> Result<R> {
        let (path, node) = self.existing(path, last_link)?;
        let (layer, real) = self.real(&node.borrow(), &path);
        Ok(call(layer, &real)?)
    }
}

fn check_own(name: &[u8]) -> Result<()> {
    if name.starts_with(OWN) {
        Err(Errno::NotSup)
    } else {
        Ok(())
    }
}

impl Calls for Overlay {
    fn system_name(&self) -> &'static str {
        "overlayfs"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.upper.mount.vfs().read_clock_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.upper.mount.vfs().sleep_ns(duration_ns);
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.upper.mount.vfs().compute_ns(duration_ns);
    }

    fn timer_slack_ns(&self) -> u64 {
        self.upper.mount.vfs().timer_slack_ns()
    }

    fn epoch_s(&self) -> u64 {
        self.upper.mount.vfs().epoch_s()
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        self.answer(|overlay| overlay.open_path(path, flags, permissions))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|overlay| overlay.close_open(fd))
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.answer(|overlay| overlay.read_on(fd, into))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.on_real(fd, Errno::BadF, |vfs, fd| vfs.write(fd, data))
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.on_real(fd, Errno::IsDir, |vfs, fd| vfs.pread(fd, into, at))
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        self.on_real(fd, Errno::IsDir, |vfs, fd| vfs.pread_discard(fd, at, bytes))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.on_real(fd, Errno::BadF, |vfs, fd| vfs.pwrite(fd, data, at))
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        self.answer(|overlay| overlay.seek(fd, offset, whence))
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        self.on_real(fd, Errno::Inval, |vfs, fd| vfs.ftruncate(fd, bytes))
    }

    fn fallocate(&mut self, fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Answer<()> {
        self.on_real(fd, Errno::BadF, |vfs, fd| vfs.fallocate(fd, flags, at, bytes))
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|overlay| overlay.sync_open(fd, false))
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|overlay| overlay.sync_open(fd, true))
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        self.answer(|overlay| overlay.stat_open(fd))
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        self.answer(|overlay| overlay.entries_of(fd))
    }

    fn advise(&mut self, fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()> {
        self.on_real(fd, Errno::Inval, |vfs, fd| vfs.advise(fd, offset, bytes, advice))
    }

    fn mmap(&mut self, fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Answer<()> {
        self.on_real(fd, Errno::NoDev, |vfs, fd| vfs.mmap(fd, at, bytes, access))
    }

    fn map_load(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        Ok(self.on_file(fd, Errno::BadF, |vfs, fd| vfs.map_load(fd, at, bytes))?)
    }

    fn map_store(&mut self, fd: Fd, at: u64, data: &[u8]) -> Answer<()> {
        Ok(self.on_file(fd, Errno::BadF, |vfs, fd| vfs.map_store(fd, at, data))?)
    }

    fn msync(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        self.on_real(fd, Errno::BadF, |vfs, fd| vfs.msync(fd, at, bytes))
    }

    fn munmap(&mut self, fd: Fd) -> Answer<()> {
        self.on_real(fd, Errno::BadF, |vfs, fd| vfs.munmap(fd))
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let permissions = permissions & 0o7777;
        self.answer(|overlay| overlay.make_path(path, &NewNode { permissions, ..NewNode::of(FileKind::Directory) }))
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        self.answer(|overlay| overlay.rmdir_path(path))
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        self.answer(|overlay| overlay.unlink_path(path))
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.rename_with(old, new, RenameFlags::NONE)
    }

    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        self.answer(|overlay| overlay.rename_paths(old, new, flags))
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.answer(|overlay| overlay.link_paths(old, new))
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        let node = symlink_to(target)?;
        self.answer(|overlay| overlay.make_path(path, &node))
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        self.answer(|overlay| {
            let (path, node) = overlay.existing(path, LastLink::FollowIfSlash)?;
            if node.borrow().kind != FileKind::Symlink {
                return Err(Errno::Inval);
            }
            overlay.target_of(&path)
        })
    }

    fn mknod(&mut self, path: &[u8], kind: FileKind, permissions: u32, device: u32) -> Answer<()> {
        let node = node_of(kind, permissions, device)?;
        self.answer(|overlay| overlay.make_path(path, &node))
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        self.stat_path(path, LastLink::Follow)
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        self.stat_path(path, LastLink::FollowIfSlash)
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        self.answer(|overlay| {
            let (path, node) = overlay.existing(path, LastLink::Follow)?;
            match node.borrow().kind {
                FileKind::File => {}
                FileKind::Directory => return Err(Errno::IsDir),
                _ => return Err(Errno::Inval),
            }
            // All data are copied, also those that are cut off next.
            overlay.copy_up(&path)?;
            let upper = overlay.upper_path(&path);
            Ok(overlay.above(|vfs| vfs.truncate(&upper, bytes))?)
        })
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        self.change_path(path, &SetAttr { permissions: Some(permissions & 0o7777), ..SetAttr::default() })
    }

    fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()> {
        self.change_path(path, &SetAttr { uid, gid, ..SetAttr::default() })
    }

    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        check_times(accessed, modified)?;
        self.change_path(path, &SetAttr { accessed, modified, ..SetAttr::default() })
    }

    fn setxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        self.set_xattr(path, LastLink::Follow, name, value, mode)
    }

    fn lsetxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        self.set_xattr(path, LastLink::FollowIfSlash, name, value, mode)
    }

    fn getxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        self.get_xattr(path, LastLink::Follow, name)
    }

    fn lgetxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        self.get_xattr(path, LastLink::FollowIfSlash, name)
    }

    fn listxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        self.list_xattrs(path, LastLink::Follow)
    }

    fn llistxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        self.list_xattrs(path, LastLink::FollowIfSlash)
    }

    fn removexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        self.remove_xattr(path, LastLink::Follow, name)
    }

    fn lremovexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        self.remove_xattr(path, LastLink::FollowIfSlash, name)
    }

    fn sync(&mut self) -> Answer<()> {
        self.answer(|overlay| Ok(overlay.above(Calls::sync)?))
    }

    fn syncfs(&mut self) -> Answer<()> {
        self.answer(|overlay| Ok(overlay.above(Calls::syncfs)?))
    }

    /// That of the upper file system.
    fn statfs(&mut self) -> Answer<StatFs> {
        self.answer(|overlay| Ok(overlay.above(Calls::statfs)?))
    }

    /// Its own names only: data belong to the layers, whose mounts drop theirs.
    fn drop_caches(&mut self) -> Answer<()> {
        self.names.shrink();
        Ok(())
    }

    fn drop_pages(&mut self) -> Answer<()> {
        Ok(())
    }
}
