//! System calls on several mounts: each goes to the mount to which its path or its descriptor leads.

use super::member::{lead, Member};
use super::Mounts;
use crate::stack::Stack;
use ffslab_fs::{Errno, FileKind, RenameFlags, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_sim::Sim;
use ffslab_system::{Advice, Answer, Calls, Entry, FallocateFlag, Fd, MapAccess, OpenFlags, Refusal, Whence};
use std::cell::RefMut;

impl Mounts {
    pub(super) fn root(&self) -> RefMut<'_, Stack> {
        self.member(0)
    }

    /// No call is made on a mount in the middle of another one: background tasks give way before.
    pub(super) fn member(&self, number: usize) -> RefMut<'_, Stack> {
        self.members[number].stack.borrow_mut()
    }

    /// The mount to which a path leads, the one that is mounted deepest, and the path there. An overlay covers what is at its
    /// place.
    pub(super) fn lead<'p>(&self, path: &'p [u8]) -> (usize, &'p [u8]) {
        let overlays = self.overlays.iter().map(|overlay| &overlay.directory[..]);
        lead(self.members.iter().map(Member::directory).chain(overlays), path)
    }

    /// The mount of a file system whose room a path takes; an overlay's is that of its upper layer.
    pub(super) fn with_room_at(&self, path: &[u8]) -> usize {
        let (number, _) = self.lead(path);
        number.checked_sub(self.members.len()).map_or(number, |overlay| self.overlays[overlay].upper)
    }

    /// A call on a mount: one of a file system, or an overlay.
    fn on<R>(&self, number: usize, call: impl FnOnce(&mut dyn Calls) -> R) -> R {
        match number.checked_sub(self.members.len()) {
            None => call(&mut *self.member(number)),
            Some(overlay) => call(&mut *self.overlays[overlay].overlay.borrow_mut()),
        }
    }

    fn on_path<R>(&self, path: &[u8], call: impl FnOnce(&mut dyn Calls, &[u8]) -> R) -> R {
        let (number, path) = self.lead(path);
        self.on(number, |mount| call(mount, path))
    }

    /// Both paths must lead to one mount (`EXDEV`).
    fn on_paths(
        &self,
        old: &[u8],
        new: &[u8],
        call: impl FnOnce(&mut dyn Calls, &[u8], &[u8]) -> Answer<()>,
    ) -> Answer<()> {
        let ((from, old), (to, new)) = (self.lead(old), self.lead(new));
        if from == to {
            self.on(from, |mount| call(mount, old, new))
        } else {
            Err(Errno::XDev.into())
        }
    }

    fn file(&self, fd: Fd) -> Answer<(usize, Fd)> {
        self.files.get(fd.0 as usize).copied().flatten().ok_or_else(|| Errno::BadF.into())
    }

    fn on_file<R>(&self, fd: Fd, call: impl FnOnce(&mut dyn Calls, Fd) -> Answer<R>) -> Answer<R> {
        let (number, fd) = self.file(fd)?;
        self.on(number, |mount| call(mount, fd))
    }

    fn reads(&mut self, fd: Fd, call: impl FnOnce(&mut dyn Calls, Fd) -> Answer<usize>) -> Answer<usize> {
        let (number, fd) = self.file(fd)?;
        let bytes = self.on(number, |mount| call(mount, fd))?;
        self.done_mut(number).read_bytes += bytes as u64;
        Ok(bytes)
    }

    fn writes(&mut self, fd: Fd, call: impl FnOnce(&mut dyn Calls, Fd) -> Answer<usize>) -> Answer<usize> {
        let (number, fd) = self.file(fd)?;
        let bytes = self.on(number, |mount| call(mount, fd))?;
        self.done_mut(number).written_bytes += bytes as u64;
        Ok(bytes)
    }

    /// On all mounts, in the order in which they are mounted. The first error is the answer.
    fn on_all(&mut self, mut call: impl FnMut(&mut Stack) -> Answer<()>) -> Answer<()> {
        (0..self.members.len()).try_for_each(|number| call(&mut self.member(number)))
    }
}

/// Calls with a descriptor.
macro_rules! by_file {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(fn $name(&mut self, fd: Fd $(, $argument: $type)*) -> Answer<$value> {
            self.on_file(fd, |mount, fd| mount.$name(fd $(, $argument)*))
        })+
    };
}

/// Calls with a path.
macro_rules! by_path {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $value:ty;)+) => {
        $(fn $name(&mut self, path: &[u8] $(, $argument: $type)*) -> Answer<$value> {
            self.on_path(path, |mount, path| mount.$name(path $(, $argument)*))
        })+
    };
}

impl Calls for Mounts {
    fn system_name(&self) -> &'static str {
        "Linux with several mounts"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.root().read_clock_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.root().sleep_ns(duration_ns);
    }

    fn prepare_request(&mut self) {
        self.root().prepare_request();
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.root().compute_ns(duration_ns);
    }

    fn timer_slack_ns(&self) -> u64 {
        self.root().timer_slack_ns()
    }

    fn epoch_s(&self) -> u64 {
        self.root().epoch_s()
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        let (number, path) = self.lead(path);
        let opened = self.on(number, |mount| mount.open(path, flags, permissions))?;
        let free = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
        if free == self.files.len() {
            self.files.push(None);
        }
        self.files[free] = Some((number, opened));
        Ok(Fd(free as u32))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        let closed = self.on_file(fd, |mount, fd| mount.close(fd));
        if let Some(file) = self.files.get_mut(fd.0 as usize) {
            *file = None;
        }
        closed
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.reads(fd, |mount, fd| mount.read(fd, into))
    }

    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.reads(fd, |mount, fd| mount.readv(fd, into))
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.reads(fd, |mount, fd| mount.pread(fd, into, at))
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        self.reads(fd, |mount, fd| mount.pread_discard(fd, at, bytes))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.writes(fd, |mount, fd| mount.write(fd, data))
    }

    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.writes(fd, |mount, fd| mount.writev(fd, data))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.writes(fd, |mount, fd| mount.pwrite(fd, data, at))
    }

    fn map_load(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        self.reads(fd, |mount, fd| mount.map_load(fd, at, bytes).map(|()| bytes)).map(drop)
    }

    fn map_store(&mut self, fd: Fd, at: u64, data: &[u8]) -> Answer<()> {
        self.writes(fd, |mount, fd| mount.map_store(fd, at, data).map(|()| data.len())).map(drop)
    }

    fn is_unnamed(&self, fd: Fd) -> bool {
        self.on_file(fd, |mount, fd| Ok(mount.is_unnamed(fd))).unwrap_or(false)
    }

    fn link_descriptor(&mut self, fd: Fd, new: &[u8]) -> Answer<()> {
        let (of, fd) = self.file(fd)?;
        let (to, new) = self.lead(new);
        if of == to {
            self.on(of, |mount| mount.link_descriptor(fd, new))
        } else {
            Err(Errno::XDev.into())
        }
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.on_paths(old, new, |mount, old, new| mount.rename(old, new))
    }

    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        self.on_paths(old, new, |mount, old, new| mount.rename_with(old, new, flags))
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.on_paths(old, new, |mount, old, new| mount.link(old, new))
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        self.on_path(path, |mount, path| mount.symlink(target, path))
    }

    by_file! {
        fn lseek(offset: i64, whence: Whence) -> u64;
        fn ftruncate(bytes: u64) -> ();
        fn fallocate(flags: &[FallocateFlag], at: u64, bytes: u64) -> ();
        fn fsync() -> ();
        fn fdatasync() -> ();
        fn fstat() -> Stat;
        fn readdir() -> Vec<Entry>;
        fn advise(offset: u64, bytes: u64, advice: Advice) -> ();
        fn mmap(at: u64, bytes: u64, access: MapAccess) -> ();
        fn msync(at: u64, bytes: usize) -> ();
        fn munmap() -> ();
    }

    by_path! {
        fn mkdir(permissions: u32) -> ();
        fn rmdir() -> ();
        fn unlink() -> ();
        fn readlink() -> Vec<u8>;
        fn mknod(kind: FileKind, permissions: u32, device: u32) -> ();
        fn readdir_path() -> Vec<Entry>;
        fn stat() -> Stat;
        fn lstat() -> Stat;
        fn truncate(bytes: u64) -> ();
        fn chmod(permissions: u32) -> ();
        fn chown(uid: Option<u32>, gid: Option<u32>) -> ();
        fn utimens(accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> ();
        fn setxattr(name: &[u8], value: &[u8], mode: XattrMode) -> ();
        fn lsetxattr(name: &[u8], value: &[u8], mode: XattrMode) -> ();
        fn getxattr(name: &[u8]) -> Vec<u8>;
        fn lgetxattr(name: &[u8]) -> Vec<u8>;
        fn listxattr() -> Vec<Vec<u8>>;
        fn llistxattr() -> Vec<Vec<u8>>;
        fn removexattr(name: &[u8]) -> ();
        fn lremovexattr(name: &[u8]) -> ();
        fn statfs_at() -> StatFs;
    }

    /// sync(2) is about all mounts.
    fn sync(&mut self) -> Answer<()> {
        self.on_all(|mount| mount.sync())
    }

    /// syncfs(2) of what programs see as the root.
    fn syncfs(&mut self) -> Answer<()> {
        self.on_path(b"/", |mount, _| mount.syncfs())
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        self.on_path(b"/", |mount, _| mount.statfs())
    }

    /// The names of overlays hold those of their layers.
    fn drop_caches(&mut self) -> Answer<()> {
        self.overlays.iter().try_for_each(|laid| laid.overlay.borrow_mut().drop_caches())?;
        self.on_all(|mount| mount.drop_caches())
    }

    fn drop_pages(&mut self) -> Answer<()> {
        self.on_all(|mount| mount.drop_pages())
    }

    fn lacks(&self, what: &'static str) -> Refusal {
        Refusal::Lacks { system: self.system_name(), what }
    }
}
