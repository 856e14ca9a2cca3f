//! Linux as a system: its calls, and what may be asked beside them.

use super::Stack;
use ffslab_fs::{BlockSpace, FileSystem, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_images::recognise::arranged::Said;
use ffslab_images::Wanted;
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{Advice, Answer, Calls, Fd, Nodes, OpenFlags, System, Whence};
use ffslab_workload::steps;

impl Calls for Stack {
    fn system_name(&self) -> &'static str {
        "Linux"
    }

    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.vfs.read_clock_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.vfs.sleep_ns(duration_ns);
    }

    fn timer_slack_ns(&self) -> u64 {
        self.vfs.config().kernel.timer_slack_ns
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.sim.program_computes(duration_ns);
        self.sim.consume(self.vfs.config().costs.cpu_power, duration_ns);
    }

    fn epoch_s(&self) -> u64 {
        self.vfs.config().epoch_s
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        Ok(self.vfs.open(path, flags, permissions)?)
    }

    fn close(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.vfs.close(fd)?)
    }

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        Ok(self.vfs.read(fd, into)?)
    }

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        Ok(self.vfs.write(fd, data)?)
    }

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize> {
        Ok(self.vfs.pread(fd, into, at)?)
    }

    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize> {
        Ok(self.vfs.read_discard(fd, at, bytes)?)
    }

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        Ok(self.vfs.pwrite(fd, data, at)?)
    }

    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64> {
        Ok(self.vfs.lseek(fd, offset, whence)?)
    }

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        Ok(self.vfs.ftruncate(fd, bytes)?)
    }

    fn fsync(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.vfs.fsync(fd)?)
    }

    fn fdatasync(&mut self, fd: Fd) -> Answer<()> {
        Ok(self.vfs.fdatasync(fd)?)
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        Ok(self.vfs.fstat(fd)?)
    }

    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Vec<u8>>> {
        Ok(self.vfs.readdir(fd)?.into_iter().map(|entry| entry.name).collect())
    }

    fn readdir_path(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Ok(self.vfs.readdir_path(path)?.into_iter().map(|entry| entry.name).collect())
    }

    fn advise(&mut self, fd: Fd, offset: u64, bytes: u64, advice: Advice) -> Answer<()> {
        Ok(self.vfs.posix_fadvise(fd, offset, bytes, advice)?)
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        Ok(self.vfs.mkdir(path, permissions)?)
    }

    fn rmdir(&mut self, path: &[u8]) -> Answer<()> {
        Ok(self.vfs.rmdir(path)?)
    }

    fn unlink(&mut self, path: &[u8]) -> Answer<()> {
        Ok(self.vfs.unlink(path)?)
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        Ok(self.vfs.rename(old, new)?)
    }

    fn rename_with(&mut self, old: &[u8], new: &[u8], flags: RenameFlags) -> Answer<()> {
        Ok(self.vfs.rename_with(old, new, flags)?)
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Answer<()> {
        Ok(self.vfs.link(old, new)?)
    }

    fn is_unnamed(&self, fd: Fd) -> bool {
        self.vfs.is_unnamed(fd)
    }

    fn link_descriptor(&mut self, fd: Fd, new: &[u8]) -> Answer<()> {
        Ok(self.vfs.link_descriptor(fd, new)?)
    }

    fn symlink(&mut self, target: &[u8], path: &[u8]) -> Answer<()> {
        Ok(self.vfs.symlink(target, path)?)
    }

    fn readlink(&mut self, path: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.vfs.readlink(path)?)
    }

    fn stat(&mut self, path: &[u8]) -> Answer<Stat> {
        Ok(self.vfs.stat(path)?)
    }

    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        Ok(self.vfs.lstat(path)?)
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()> {
        Ok(self.vfs.truncate(path, bytes)?)
    }

    fn chmod(&mut self, path: &[u8], permissions: u32) -> Answer<()> {
        Ok(self.vfs.chmod(path, permissions)?)
    }

    fn chown(&mut self, path: &[u8], uid: Option<u32>, gid: Option<u32>) -> Answer<()> {
        Ok(self.vfs.chown(path, uid, gid)?)
    }

    fn utimens(&mut self, path: &[u8], accessed: Option<TimeSpec>, modified: Option<TimeSpec>) -> Answer<()> {
        Ok(self.vfs.utimens(path, accessed, modified)?)
    }

    fn setxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        Ok(self.vfs.setxattr(path, name, value, mode)?)
    }

    fn getxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        Ok(self.vfs.getxattr(path, name)?)
    }

    fn listxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Ok(self.vfs.listxattr(path)?)
    }

    fn removexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        Ok(self.vfs.removexattr(path, name)?)
    }

    fn sync(&mut self) -> Answer<()> {
        Ok(self.vfs.sync()?)
    }

    fn syncfs(&mut self) -> Answer<()> {
        Ok(self.vfs.syncfs()?)
    }

    fn statfs(&mut self) -> Answer<StatFs> {
        Ok(self.vfs.statfs()?)
    }
}

impl System for Stack {
    fn mount(&mut self, options: &[String]) -> Result<(), String> {
        Stack::mount(self, options)
    }

    fn umount(&mut self) -> Answer<()> {
        Ok(self.vfs.umount()?)
    }

    fn is_mounted(&self) -> bool {
        self.vfs.fs().is_some()
    }

    fn crash(&mut self) -> Result<(), String> {
        Stack::crash(self);
        Ok(())
    }

    fn nodes(&mut self) -> Option<&mut dyn Nodes> {
        Some(&mut self.vfs)
    }

    fn ubi_attach(&mut self) -> Result<(), String> {
        Stack::ubi_attach(self)
    }

    fn ubi_detach(&mut self) -> Result<(), String> {
        Stack::ubi_detach(self)
    }

    fn ubi_make_volume(&mut self) -> Result<(), String> {
        Stack::ubi_make_volume(self)
    }

    fn drop_caches(&mut self) -> Answer<()> {
        self.vfs.drop_caches();
        Ok(())
    }

    fn drop_pages(&mut self) -> Answer<()> {
        self.vfs.drop_pages();
        Ok(())
    }

    fn set_read_ahead_bytes(&mut self, bytes: u32) -> Answer<()> {
        self.vfs.set_read_ahead_bytes(bytes);
        Ok(())
    }

    fn sync_directories(&mut self) -> Answer<()> {
        Ok(self.vfs.sync_directories()?)
    }

    fn measurement_begins(&mut self) -> Unwritten {
        self.vfs.measurement_begins()
    }

    fn free_bytes(&mut self) -> Option<u64> {
        let statfs = self.vfs.fs_mut()?.statfs();
        Some(statfs.blocks_free * u64::from(statfs.block_bytes))
    }

    fn file_bytes_max(&self) -> u64 {
        self.vfs.fs().map_or(0, FileSystem::file_bytes_max)
    }

    fn medium_bytes(&self) -> u64 {
        self.partition_bytes()
    }

    fn mtd(&self) -> Option<&Mtd> {
        Some(&self.medium)
    }

    fn block_space(&self) -> Vec<BlockSpace> {
        Stack::block_space(self)
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, String> {
        self.medium.image(oob)
    }

    fn load(&mut self, step: &steps::Load, image: &[u8]) -> Result<(), String> {
        let said = Said {
            oob: step.oob,
            autoplace: step.autoplace,
            wanted: Wanted {
                mtdparts: step.mtdparts.clone(),
                offset_bytes: step.offset_bytes,
                size_bytes: step.size_bytes,
                partition: step.partition.clone(),
                ..Wanted::default()
            },
        };
        self.load_found(step.image.as_ref(), &said, image)
    }

    fn snapshot(&self) -> Result<MediumImage, String> {
        Ok(self.medium.snapshot())
    }
}
