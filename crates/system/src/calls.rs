//! The system calls that programs make, whichever system answers them.

use crate::{Advice, Answer, Entry, FallocateFlag, Fd, MapAccess, Nodes, OpenFlags, Refusal, Whence};
use ambassador::delegatable_trait;
use ffslab_fs::{FileKind, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_sim::Sim;

/// A system with files. Paths are relative to the mount point; "/" is its root.
///
/// Errors are those of the manual pages. What a system does not have keeps its default here.
///
/// A type that passes all calls on derives that with `ambassador`, which leaves out no default.
#[delegatable_trait]
pub trait Calls {
    /// The name of the system in messages: "Linux", "RTEMS".
    fn system_name(&self) -> &'static str;

    /// Clock, counters and energy of the simulation.
    fn sim(&self) -> &Sim;

    /// The answer of a call that the system does not have.
    fn lacks(&self, what: &'static str) -> Refusal {
        Refusal::Lacks { system: self.system_name(), what }
    }

    // ---- time ---------------------------------------------------------------------------------------------------------

    /// Virtual time; looking costs nothing.
    fn now_ns(&self) -> u64 {
        self.sim().now_ns()
    }

    /// The program asks for the time, which may cost some. The instant at the end of the call.
    fn read_clock_ns(&mut self) -> u64;

    /// nanosleep(2): background tasks run meanwhile.
    fn sleep_ns(&mut self, duration_ns: u64);

    /// The program prepares a request and accounts for it, beside its calls: it takes what the board says.
    fn prepare_request(&mut self) {}

    /// The program computes: the CPU is busy with it.
    fn compute_ns(&mut self, duration_ns: u64) {
        self.sim().program_computes(duration_ns);
    }

    /// How late a sleep of a program ends, by the rules of the system's timers.
    fn timer_slack_ns(&self) -> u64 {
        0
    }

    /// Seconds since 1970 at virtual time 0. It only enters time stamps.
    fn epoch_s(&self) -> u64 {
        0
    }

    // ---- open files ---------------------------------------------------------------------------------------------------

    /// open(2). `permissions`: of a file that is created.
    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Answer<Fd>;

    fn close(&mut self, fd: Fd) -> Answer<()>;

    fn read(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize>;

    fn write(&mut self, fd: Fd, data: &[u8]) -> Answer<usize>;

    fn pread(&mut self, fd: Fd, into: &mut [u8], at: u64) -> Answer<usize>;

    /// pread(2) of bytes at which nobody looks.
    fn pread_discard(&mut self, fd: Fd, at: u64, bytes: usize) -> Answer<usize>;

    fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize>;

    /// readv(2) of one vector. The default does with it what read(2) does with a buffer.
    fn readv(&mut self, fd: Fd, into: &mut [u8]) -> Answer<usize> {
        self.read(fd, into)
    }

    /// writev(2) of one vector. The default does with it what write(2) does with a buffer.
    fn writev(&mut self, fd: Fd, data: &[u8]) -> Answer<usize> {
        self.write(fd, data)
    }

    /// lseek(2): the new position.
    fn lseek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Answer<u64>;

    fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()>;

    fn fsync(&mut self, fd: Fd) -> Answer<()>;

    fn fdatasync(&mut self, fd: Fd) -> Answer<()>;

    /// fallocate(2): what the flags say is done with the bytes from `at` on.
    fn fallocate(&mut self, _fd: Fd, _flags: &[FallocateFlag], _at: u64, _bytes: u64) -> Answer<()> {
        Err(self.lacks("fallocate"))
    }

    /// `BLKDISCARD` of ioctl(2): nobody needs the bytes of a device any more, which it may use. What a later read of them
    /// gives is up to the device.
    fn trim(&mut self, _fd: Fd, _at: u64, _bytes: u64) -> Answer<()> {
        Err(self.lacks("trim of files (only a block device takes one)"))
    }

    fn fstat(&mut self, fd: Fd) -> Answer<Stat>;

    /// What an open directory holds, in the file system's order, but for "." and "..".
    fn readdir(&mut self, fd: Fd) -> Answer<Vec<Entry>>;

    /// posix_fadvise(2).
    fn advise(&mut self, _fd: Fd, _offset: u64, _bytes: u64, _advice: Advice) -> Answer<()> {
        Err(self.lacks("page cache that could take advice"))
    }

    // ---- maps ---------------------------------------------------------------------------------------------------------

    /// mmap(2) of a part of an open file, as shared memory. `at`: a multiple of a page. An open file has one map at a time, and
    /// close(2) ends it, too.
    fn mmap(&mut self, _fd: Fd, _at: u64, _bytes: u64, _access: MapAccess) -> Answer<()> {
        Err(self.lacks("files mapped into memory"))
    }

    /// The program loads bytes at a place of the file and does nothing with them. Where a program would get SIGBUS, this is an
    /// error that says why.
    fn map_load(&mut self, _fd: Fd, _at: u64, _bytes: usize) -> Answer<()> {
        Err(self.lacks("files mapped into memory"))
    }

    /// The program stores bytes at a place of the file.
    fn map_store(&mut self, _fd: Fd, _at: u64, _data: &[u8]) -> Answer<()> {
        Err(self.lacks("files mapped into memory"))
    }

    /// msync(2) with `MS_SYNC` of a range of the file.
    fn msync(&mut self, _fd: Fd, _at: u64, _bytes: usize) -> Answer<()> {
        Err(self.lacks("files mapped into memory"))
    }

    fn munmap(&mut self, _fd: Fd) -> Answer<()> {
        Err(self.lacks("files mapped into memory"))
    }

    // ---- names --------------------------------------------------------------------------------------------------------

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Answer<()>;

    fn rmdir(&mut self, path: &[u8]) -> Answer<()>;

    fn unlink(&mut self, path: &[u8]) -> Answer<()>;

    /// rename(2).
    fn rename(&mut self, old: &[u8], new: &[u8]) -> Answer<()>;

    /// renameat2(2) with at least one flag.
    fn rename_with(&mut self, _old: &[u8], _new: &[u8], _flags: RenameFlags) -> Answer<()> {
        Err(self.lacks("flags of rename"))
    }

    fn link(&mut self, _old: &[u8], _new: &[u8]) -> Answer<()> {
        Err(self.lacks("hard links"))
    }

    /// Whether a descriptor is that of a file without a name (`O_TMPFILE`).
    fn is_unnamed(&self, _fd: Fd) -> bool {
        false
    }

    /// Gives such a file a name.
    fn link_descriptor(&mut self, _fd: Fd, _new: &[u8]) -> Answer<()> {
        Err(self.lacks("files without a name"))
    }

    fn symlink(&mut self, _target: &[u8], _path: &[u8]) -> Answer<()> {
        Err(self.lacks("symbolic links"))
    }

    fn readlink(&mut self, _path: &[u8]) -> Answer<Vec<u8>> {
        Err(self.lacks("symbolic links"))
    }

    /// mknod(2): a device file, FIFO, socket or empty file.
    fn mknod(&mut self, _path: &[u8], _kind: FileKind, _permissions: u32, _device: u32) -> Answer<()> {
        Err(self.lacks("special files"))
    }

    /// opendir(3), all entries, closedir(3).
    fn readdir_path(&mut self, path: &[u8]) -> Answer<Vec<Entry>> {
        let fd = self.open(path, OpenFlags { directory: true, ..OpenFlags::READ }, 0)?;
        let entries = self.readdir(fd);
        self.close(fd)?;
        entries
    }

    /// The calls by inode and name. `None`: the system knows files by path alone, and who walks paths itself keeps account
    /// of which inode has which path.
    fn nodes(&mut self) -> Option<&mut dyn Nodes> {
        None
    }

    // ---- attributes ---------------------------------------------------------------------------------------------------

    fn stat(&mut self, path: &[u8]) -> Answer<Stat>;

    /// As [`Calls::stat`], of a symbolic link itself.
    fn lstat(&mut self, path: &[u8]) -> Answer<Stat> {
        self.stat(path)
    }

    fn truncate(&mut self, path: &[u8], bytes: u64) -> Answer<()>;

    fn chmod(&mut self, _path: &[u8], _permissions: u32) -> Answer<()> {
        Err(self.lacks("permissions"))
    }

    fn chown(&mut self, _path: &[u8], _uid: Option<u32>, _gid: Option<u32>) -> Answer<()> {
        Err(self.lacks("owners of files"))
    }

    /// utimensat(2): times of the last access and of the last change; `None` leaves one alone.
    fn utimens(&mut self, _path: &[u8], _accessed: Option<TimeSpec>, _modified: Option<TimeSpec>) -> Answer<()> {
        Err(self.lacks("times of files that could be set"))
    }

    fn setxattr(&mut self, _path: &[u8], _name: &[u8], _value: &[u8], _mode: XattrMode) -> Answer<()> {
        Err(self.lacks("extended attributes"))
    }

    /// As [`Calls::setxattr`], of a symbolic link itself.
    fn lsetxattr(&mut self, path: &[u8], name: &[u8], value: &[u8], mode: XattrMode) -> Answer<()> {
        self.setxattr(path, name, value, mode)
    }

    fn getxattr(&mut self, _path: &[u8], _name: &[u8]) -> Answer<Vec<u8>> {
        Err(self.lacks("extended attributes"))
    }

    /// As [`Calls::getxattr`], of a symbolic link itself.
    fn lgetxattr(&mut self, path: &[u8], name: &[u8]) -> Answer<Vec<u8>> {
        self.getxattr(path, name)
    }

    fn listxattr(&mut self, _path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        Err(self.lacks("extended attributes"))
    }

    /// As [`Calls::listxattr`], of a symbolic link itself.
    fn llistxattr(&mut self, path: &[u8]) -> Answer<Vec<Vec<u8>>> {
        self.listxattr(path)
    }

    fn removexattr(&mut self, _path: &[u8], _name: &[u8]) -> Answer<()> {
        Err(self.lacks("extended attributes"))
    }

    /// As [`Calls::removexattr`], of a symbolic link itself.
    fn lremovexattr(&mut self, path: &[u8], name: &[u8]) -> Answer<()> {
        self.removexattr(path, name)
    }

    // ---- keys and values ----------------------------------------------------------------------------------------------

    /// Whether a store of keys and values stands in the place of the file system. Such a system has no files, and others have
    /// no keys.
    fn has_keys(&self) -> bool {
        false
    }

    /// Gives a key this value. It is safe when the call has returned.
    fn set_value(&mut self, _key: &[u8], _value: &[u8]) -> Answer<()> {
        Err(self.lacks("keys and values"))
    }

    /// The value of a key; ENOENT: it is not there.
    fn get_value(&mut self, _key: &[u8]) -> Answer<Vec<u8>> {
        Err(self.lacks("keys and values"))
    }

    /// Forgets a key; ENOENT: it is not there, where the store says so.
    fn delete_value(&mut self, _key: &[u8]) -> Answer<()> {
        Err(self.lacks("keys and values"))
    }

    /// All keys, sorted, and how many bytes their values have, which are read for that.
    fn list_values(&mut self) -> Answer<Vec<KeyEntry>> {
        Err(self.lacks("keys and values"))
    }

    // ---- the whole file system ----------------------------------------------------------------------------------------

    /// sync(2).
    fn sync(&mut self) -> Answer<()> {
        Err(self.lacks("sync for all files (use fsync of a file)"))
    }

    /// syncfs(2).
    fn syncfs(&mut self) -> Answer<()> {
        self.sync()
    }

    fn statfs(&mut self) -> Answer<StatFs>;

    /// statfs(2) of the mount to which a path leads, where there are several.
    fn statfs_at(&mut self, _path: &[u8]) -> Answer<StatFs> {
        self.statfs()
    }

    /// Empties all caches of what need not be written before: data, names, inodes.
    fn drop_caches(&mut self) -> Answer<()> {
        Err(self.lacks("page cache that could be dropped"))
    }

    /// Empties the cache of data alone.
    fn drop_pages(&mut self) -> Answer<()> {
        Err(self.lacks("page cache that could be dropped"))
    }
}

/// Runs `call` between two clock readings; the second result is their difference in nanoseconds. What it waited for stands
/// on the bill of the simulation then ([`Sim::bill`]).
pub fn timed<C: Calls + ?Sized, R>(calls: &mut C, call: impl FnOnce(&mut C) -> R) -> (R, u64) {
    let start_ns = calls.read_clock_ns();
    calls.sim().call_begins();
    let result = call(calls);
    (result, calls.read_clock_ns() - start_ns)
}
