//! The system calls that programs make, whichever system answers them: what job files run on.

use ffslab_fs::Errno;
use ffslab_linux::{Advice, Fd, OpenFlags, Vfs, Whence};

/// A system with files. Descriptors are numbers; paths are relative to the mount point.
pub trait Calls {
    fn now_ns(&self) -> u64;

    /// The program asks for the time, which may cost some.
    fn read_clock_ns(&mut self) -> u64;

    fn sleep_ns(&mut self, duration_ns: u64);

    /// What fio computes for a request beside its calls, where a profile says so.
    fn job_computes(&mut self) {}

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<u32, Errno>;

    fn close(&mut self, fd: u32) -> Result<(), Errno>;

    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno>;

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno>;

    fn file_bytes(&mut self, path: &[u8]) -> Result<u64, Errno>;

    fn seek_to(&mut self, fd: u32, offset: u64) -> Result<(), Errno>;

    fn read(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno>;

    fn write(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno>;

    /// readv(2) of one vector.
    fn readv(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno>;

    /// writev(2) of one vector.
    fn writev(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno>;

    /// pread(2); nobody looks at the bytes.
    fn pread_discard(&mut self, fd: u32, at: u64, bytes: usize) -> Result<usize, Errno>;

    fn pwrite(&mut self, fd: u32, data: &[u8], at: u64) -> Result<usize, Errno>;

    fn ftruncate(&mut self, fd: u32, bytes: u64) -> Result<(), Errno>;

    fn fsync(&mut self, fd: u32) -> Result<(), Errno>;

    fn fdatasync(&mut self, fd: u32) -> Result<(), Errno>;

    /// posix_fadvise(2).
    fn advise(&mut self, fd: u32, offset: u64, bytes: u64, advice: Advice) -> Result<(), Errno>;
}

/// Runs `f` between two clock readings; the second result is their difference in nanoseconds.
pub fn timed<C: Calls, R>(calls: &mut C, f: impl FnOnce(&mut C) -> R) -> (R, u64) {
    let start_ns = calls.read_clock_ns();
    let result = f(calls);
    (result, calls.read_clock_ns() - start_ns)
}

impl Calls for Vfs {
    fn now_ns(&self) -> u64 {
        self.sim().now_ns()
    }

    fn read_clock_ns(&mut self) -> u64 {
        Vfs::read_clock_ns(self)
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        Vfs::sleep_ns(self, duration_ns);
    }

    fn open(&mut self, path: &[u8], flags: OpenFlags, permissions: u32) -> Result<u32, Errno> {
        Vfs::open(self, path, flags, permissions).map(|fd| fd.0)
    }

    fn close(&mut self, fd: u32) -> Result<(), Errno> {
        Vfs::close(self, Fd(fd))
    }

    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno> {
        Vfs::unlink(self, path)
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno> {
        Vfs::mkdir(self, path, permissions)
    }

    fn file_bytes(&mut self, path: &[u8]) -> Result<u64, Errno> {
        self.stat(path).map(|stat| stat.size_bytes)
    }

    fn seek_to(&mut self, fd: u32, offset: u64) -> Result<(), Errno> {
        self.lseek(Fd(fd), offset as i64, Whence::Set).map(drop)
    }

    fn read(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno> {
        Vfs::read(self, Fd(fd), into)
    }

    fn write(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno> {
        Vfs::write(self, Fd(fd), data)
    }

    // Linux does with one vector what it does with a buffer.
    fn readv(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno> {
        Vfs::read(self, Fd(fd), into)
    }

    fn writev(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno> {
        Vfs::write(self, Fd(fd), data)
    }

    fn pread_discard(&mut self, fd: u32, at: u64, bytes: usize) -> Result<usize, Errno> {
        self.read_discard(Fd(fd), at, bytes)
    }

    fn pwrite(&mut self, fd: u32, data: &[u8], at: u64) -> Result<usize, Errno> {
        Vfs::pwrite(self, Fd(fd), data, at)
    }

    fn ftruncate(&mut self, fd: u32, bytes: u64) -> Result<(), Errno> {
        Vfs::ftruncate(self, Fd(fd), bytes)
    }

    fn fsync(&mut self, fd: u32) -> Result<(), Errno> {
        Vfs::fsync(self, Fd(fd))
    }

    fn fdatasync(&mut self, fd: u32) -> Result<(), Errno> {
        Vfs::fdatasync(self, Fd(fd))
    }

    fn advise(&mut self, fd: u32, offset: u64, bytes: u64, advice: Advice) -> Result<(), Errno> {
        self.posix_fadvise(Fd(fd), offset, bytes, advice)
    }
}
