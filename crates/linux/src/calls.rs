//! The system calls: what each is charged, and which part of the crate carries it out.

use crate::namei::{check_times, node_of, symlink_to, LastLink};
use crate::read::Target as ReadTarget;
use crate::vfs::Vfs;
use crate::write_back;
use crate::xattr::Target;
use ffslab_fs::{FileKind, NewNode, RenameFlags, Result, SetAttr, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_sim::{Idle, Sim};
use ffslab_system::{Advice, Answer, Calls, Entry, FallocateFlag, Fd, MapAccess, Nodes, OpenFlags, Whence};

impl Vfs {
    /// A system call as its program sees it.
    fn answer<R>(&mut self, body: impl FnOnce(&mut Vfs) -> Result<R>) -> Answer<R> {
        Ok(self.system_call(body)?)
    }

    fn follow(path: &[u8]) -> Target<'_> {
        Target::Path(path, LastLink::Follow)
    }

    fn keep(path: &[u8]) -> Target<'_> {
        Target::Path(path, LastLink::FollowIfSlash)
    }
}

impl Calls for Vfs {
    fn system_name(&self) -> &'static str {
        "Linux"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    /// This takes [`crate::VfsCosts::clock_read_ns`], and the result is the time at its end. On machines without a vDSO
    /// clock it is a system call, so it ends in a scheduling point.
    fn read_clock_ns(&mut self) -> u64 {
        self.spend(self.config.costs.clock_read_ns);
        let now_ns = self.sim.now_ns();
        self.schedule();
        now_ns
    }

    /// It ends [`crate::Kernel::timer_slack_ns`] too late, or even later when a task holds the CPU.
    fn sleep_ns(&mut self, duration_ns: u64) {
        self.spend(self.config.costs.call_ns);
        let slack_ns = self.config.kernel.timer_slack_ns;
        let until_ns = self.sim.now_ns().saturating_add(duration_ns).saturating_add(slack_ns);
        self.sim.foreground_sleeps_until(until_ns);
        while let Idle::Run(task) = self.sim.idle_next() {
            self.give_turn(task);
        }
        self.schedule();
    }

    fn timer_slack_ns(&self) -> u64 {
        self.config.kernel.timer_slack_ns
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.sim.program_computes(duration_ns);
        self.sim.consume(self.config.costs.cpu_power, duration_ns);
    }

    fn epoch_s(&self) -> u64 {
        self.config.epoch_s
    }

    /// # Errors
    /// `Errno::NotSup`: the file system knows no files without names, or the file is a FIFO, which nobody else could
    /// open. `Errno::NxIo`: the file is a device file, for which there is no device here, or a socket.
    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        self.answer(|vfs| vfs.open_path(path, flags, permissions))
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|vfs| vfs.close_open(fd))
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.answer(|vfs| vfs.read_on(fd, into))
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.answer(|vfs| vfs.write_on(fd, data))
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        self.answer(|vfs| vfs.read_file(fd, at, ReadTarget::Buffer(into)))
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        self.answer(|vfs| vfs.read_file(fd, at, ReadTarget::Discard(bytes)))
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.answer(|vfs| vfs.write_at(fd, data, at))
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        self.answer(|vfs| vfs.seek(fd, offset, whence))
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        self.answer(|vfs| vfs.truncate_open(fd, bytes))
    }

    fn fallocate(&mut self, fd: Fd, flags: &[FallocateFlag], at: u64, bytes: u64) -> Answer<()> {
        self.answer(|vfs| vfs.fallocate(fd, flags, at, bytes))
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|vfs| vfs.sync_open(fd, false))
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|vfs| vfs.sync_open(fd, true))
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        self.answer(|vfs| vfs.stat_open(fd))
    }

    /// One system call whatever the number of entries.
    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>> {
        self.answer(|vfs| {
            let mut entries = Vec::new();
            vfs.entries_of(fd, &mut |entry| {
                entries.push(Entry { ino: entry.ino, name: entry.name.to_vec(), kind: Some(entry.kind) });
            })?;
            Ok(entries)
        })
    }

    fn advise(&mut self, fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()> {
        self.answer(|vfs| vfs.take_advice(fd, offset, bytes, advice))
    }

    fn mmap(&mut self, fd: Fd, at: u64, bytes: u64, access: MapAccess) -> Answer<()> {
        self.answer(|vfs| vfs.map_file(fd, at, bytes, access))
    }

    fn map_load(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        Ok(self.load_mapped(fd, at, bytes)?)
    }

    fn map_store(&mut self, fd: Fd, at: u64, data: &[u8]) -> Answer<()> {
        Ok(self.store_mapped(fd, at, data)?)
    }

    fn msync(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<()> {
        self.answer(|vfs| vfs.sync_map(fd, at, bytes))
    }

    fn munmap(&mut self, fd: Fd) -> Answer<()> {
        self.answer(|vfs| vfs.unmap(fd))
    }

    /// `permissions`: 07777, no umask.
    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let permissions = permissions & 0o7777;
        self.answer(|vfs| vfs.make_path(path, &NewNode { permissions, ..NewNode::of(FileKind::Directory) }))
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        self.answer(|vfs| vfs.rmdir_path(path))
    }

    /// An open file lives on without a name until its last descriptor is closed.
    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        self.answer(|vfs| vfs.unlink_path(path))
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.rename_with(old, new, RenameFlags::NONE)
    }

    /// `Errno::Inval`: the file system does not know one of the flags.
    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        self.answer(|vfs| vfs.rename_path(old, new, flags))
    }

    /// A symbolic link at the end of `old` is not followed.
    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        self.answer(|vfs| vfs.link_path(old, new))
    }

    /// Even if it has got a name since.
    fn is_unnamed(&self, fd: Fd) -> bool {
        self.file(fd).is_ok_and(|file| file.flags.unnamed)
    }

    /// linkat(2) with `AT_EMPTY_PATH`. `Errno::NoEnt`: the file once had a name that was removed, or was opened with
    /// `exclusive`.
    fn link_descriptor(&mut self, fd: Fd, new: &[u8]) -> Answer<()> {
        self.answer(|vfs| vfs.link_open(fd, new))
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        let node = symlink_to(target)?;
        self.answer(|vfs| vfs.make_path(path, &node))
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        self.answer(|vfs| vfs.readlink_path(path))
    }

    /// `Errno::Perm` for directories, `Errno::Inval` for symbolic links.
    fn mknod(&mut self, path: &[u8], kind: FileKind, permissions: u32, device: u32) -> Answer<()> {
        let node = node_of(kind, permissions, device)?;
        self.answer(|vfs| vfs.make_path(path, &node))
    }

    fn nodes(&mut self) -> Option<&mut dyn Nodes> {
        Some(self)
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        self.answer(|vfs| vfs.stat_path(path, LastLink::Follow))
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        self.answer(|vfs| vfs.stat_path(path, LastLink::FollowIfSlash))
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        self.answer(|vfs| vfs.truncate_path(path, bytes))
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        let permissions = Some(permissions & 0o7777);
        self.answer(|vfs| vfs.change_path(path, SetAttr { permissions, ..SetAttr::default() }))
    }

    fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()> {
        self.answer(|vfs| vfs.change_path(path, SetAttr { uid, gid, ..SetAttr::default() }))
    }

    /// `Errno::Inval` for 1,000,000,000 nanoseconds or more.
    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        check_times(accessed, modified)?;
        self.answer(|vfs| vfs.change_path(path, SetAttr { accessed, modified, ..SetAttr::default() }))
    }

    /// `Errno::NotSup`: the file system does not keep attributes of this namespace.
    fn setxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        Ok(self.set_attribute(Vfs::follow(path), name, value, mode)?)
    }

    fn lsetxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        Ok(self.set_attribute(Vfs::keep(path), name, value, mode)?)
    }

    fn getxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.attribute(Vfs::follow(path), name)?)
    }

    fn lgetxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.attribute(Vfs::keep(path), name)?)
    }

    fn listxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Ok(self.attributes(Vfs::follow(path))?)
    }

    fn llistxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Ok(self.attributes(Vfs::keep(path))?)
    }

    fn removexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        Ok(self.remove_attribute(Vfs::follow(path), name)?)
    }

    fn lremovexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        Ok(self.remove_attribute(Vfs::keep(path), name)?)
    }

    /// Nothing to do when nothing is mounted.
    fn sync(&mut self) -> Answer<()> {
        self.answer(|vfs| vfs.sync_with(write_back::sync_everything))
    }

    fn syncfs(&mut self) -> Answer<()> {
        self.answer(|vfs| vfs.sync_with(write_back::sync_file_system))
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        self.answer(|vfs| Ok(vfs.parts()?.0.statfs()))
    }

    /// `echo 3 > /proc/sys/vm/drop_caches`: drops clean pages (dirty pages and their inodes stay), then names, then
    /// inodes that no open file needs, as far as the kernel's rule goes (`fs/drop_caches.c`, [`crate::ShrinkRules`]).
    fn drop_caches(&mut self) -> Answer<()> {
        self.spend(self.config.costs.call_ns);
        self.drop_clean_pages();
        self.spend_interruptible(self.config.costs.drop_caches_ns);
        self.shrink_caches();
        self.sim.frees_later();
        self.schedule();
        Ok(())
    }

    /// `echo 1 > /proc/sys/vm/drop_caches`: drops clean pages only.
    fn drop_pages(&mut self) -> Answer<()> {
        self.spend(self.config.costs.call_ns);
        self.drop_clean_pages();
        self.sim.frees_later();
        self.schedule();
        Ok(())
    }
}
