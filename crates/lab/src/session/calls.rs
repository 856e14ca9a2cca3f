//! The system calls of a session, each a row of the results while a step is running.

use super::Session;
use crate::requests::{Call, CallOp};
use ffslab_fs::Stat;
use ffslab_system::{timed, Answer, Entry, Fd, OpenFlags, System};

/// The most that one call moves (`MAX_RW_COUNT` of `include/linux/fs.h`).
const READ_BYTES_MAX: usize = 0x7FFF_F000;

impl Session {
    /// Makes a call and keeps a row of it while a step is running. `bytes` of its result are those that it moved.
    fn call<R>(
        &mut self,
        op: CallOp,
        file: &str,
        offset_bytes: u64,
        body: impl FnOnce(&mut dyn System) -> Answer<R>,
        bytes: impl FnOnce(&R) -> u64,
    ) -> Answer<R> {
        let system = &mut *self.runner.system;
        let Some((_, facts)) = self.measured.as_mut().and_then(|measured| measured.running.as_mut()) else {
            return body(system);
        };
        let start_ns = system.now_ns() - self.runner.start.at_ns;
        let (result, latency_ns) = timed(system, |system| body(system));
        let bytes = result.as_ref().map_or(0, bytes);
        facts.moved(op, bytes);
        let file = self.runner.log.file_index(file);
        self.runner.record(self.next_i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
        self.next_i += 1;
        result
    }

    /// Lets a program that is really run make a call: one that reads no clock, so the call takes no more time than it
    /// does alone. Otherwise as the calls below.
    pub fn observed<R, E>(
        &mut self,
        (op, file, offset_bytes): (CallOp, &str, u64),
        body: impl FnOnce(&mut dyn System) -> Result<R, E>,
        bytes: impl FnOnce(&R) -> u64,
    ) -> Result<R, E> {
        let start_ns = self.call_begins();
        let result = body(&mut *self.runner.system);
        self.call_ends((op, file, offset_bytes), start_ns, result.as_ref().map_or(0, bytes));
        result
    }

    /// A call of a program begins that is to be kept as a row; returns when. [`Session::call_ends`] must follow within the step.
    pub fn call_begins(&mut self) -> u64 {
        let sim = self.runner.system.sim();
        if self.measured.as_ref().is_some_and(|measured| measured.running.is_some()) {
            sim.call_begins();
        }
        sim.now_ns()
    }

    /// The call that began at `start_ns` has moved so many bytes. Kept while a step is running.
    pub fn call_ends(&mut self, (op, file, offset_bytes): (CallOp, &str, u64), start_ns: u64, bytes: u64) {
        let Some((_, facts)) = self.measured.as_mut().and_then(|measured| measured.running.as_mut()) else { return };
        let latency_ns = self.runner.system.now_ns() - start_ns;
        facts.moved(op, bytes);
        let start_ns = start_ns - self.runner.start.at_ns;
        let file = self.runner.log.file_index(file);
        self.runner.record(self.next_i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
        self.next_i += 1;
    }

    /// The machine is not used for a while by the program: background tasks run meanwhile, if the pause is long enough for
    /// the program to have slept.
    pub fn think_ns(&mut self, duration_ns: u64) {
        crate::replay::pause(&mut *self.runner.system, duration_ns);
    }

    fn name(&self, fd: Fd) -> String {
        self.names.get(&fd).cloned().unwrap_or_default()
    }

    /// open(2).
    pub fn open(&mut self, path: &str, flags: OpenFlags, permissions: u32) -> Answer<Fd> {
        let fd = self.call(CallOp::Open, path, 0, |system| system.open(path.as_bytes(), flags, permissions), |_| 0)?;
        self.names.insert(fd, path.trim_start_matches('/').to_string());
        Ok(fd)
    }

    /// close(2).
    pub fn close(&mut self, fd: Fd) -> Answer<()> {
        let name = self.name(fd);
        self.names.remove(&fd);
        self.call(CallOp::Close, &name, 0, |system| system.close(fd), |()| 0)
    }

    /// pread(2): up to `bytes` bytes.
    pub fn pread(&mut self, fd: Fd, bytes: usize, at: u64) -> Answer<Vec<u8>> {
        let read = |system: &mut dyn System| {
            let mut buffer = vec![0; bytes.min(READ_BYTES_MAX)];
            let count = system.pread(fd, &mut buffer, at)?;
            buffer.truncate(count);
            Ok(buffer)
        };
        self.call(CallOp::Read, &self.name(fd), at, read, |buffer| buffer.len() as u64)
    }

    /// pwrite(2).
    pub fn pwrite(&mut self, fd: Fd, data: &[u8], at: u64) -> Answer<usize> {
        self.call(CallOp::Write, &self.name(fd), at, |system| system.pwrite(fd, data, at), |&written| written as u64)
    }

    /// ftruncate(2).
    pub fn ftruncate(&mut self, fd: Fd, bytes: u64) -> Answer<()> {
        self.call(CallOp::Truncate, &self.name(fd), bytes, |system| system.ftruncate(fd, bytes), |()| 0)
    }

    /// fsync(2) or, with `data_only`, fdatasync(2).
    pub fn fsync(&mut self, fd: Fd, data_only: bool) -> Answer<()> {
        let sync = |system: &mut dyn System| if data_only { system.fdatasync(fd) } else { system.fsync(fd) };
        self.call(CallOp::Sync, &self.name(fd), 0, sync, |()| 0)
    }

    /// sync(2).
    pub fn sync(&mut self) -> Answer<()> {
        self.call(CallOp::Sync, "", 0, |system| system.sync(), |()| 0)
    }

    /// `BLKDISCARD` of ioctl(2): nobody needs these bytes of a block device any more.
    pub fn trim(&mut self, fd: Fd, at: u64, bytes: u64) -> Answer<()> {
        self.call(CallOp::Other, &self.name(fd), at, |system| system.trim(fd, at, bytes), |()| 0)
    }

    /// fstat(2).
    pub fn fstat(&mut self, fd: Fd) -> Answer<Stat> {
        self.call(CallOp::Stat, &self.name(fd), 0, |system| system.fstat(fd), |_| 0)
    }

    /// stat(2).
    pub fn stat(&mut self, path: &str) -> Answer<Stat> {
        self.call(CallOp::Stat, path, 0, |system| system.stat(path.as_bytes()), |_| 0)
    }

    /// unlink(2).
    pub fn unlink(&mut self, path: &str) -> Answer<()> {
        self.call(CallOp::Unlink, path, 0, |system| system.unlink(path.as_bytes()), |()| 0)
    }

    /// rename(2).
    pub fn rename(&mut self, from: &str, to: &str) -> Answer<()> {
        self.call(CallOp::Rename, from, 0, |system| system.rename(from.as_bytes(), to.as_bytes()), |()| 0)
    }

    /// mkdir(2).
    pub fn mkdir(&mut self, path: &str, permissions: u32) -> Answer<()> {
        self.call(CallOp::Mkdir, path, 0, |system| system.mkdir(path.as_bytes(), permissions), |()| 0)
    }

    /// opendir(3), all entries, closedir(3).
    pub fn readdir(&mut self, path: &str) -> Answer<Vec<Entry>> {
        self.call(CallOp::Readdir, path, 0, |system| system.readdir_path(path.as_bytes()), |_| 0)
    }

    /// The program computes: the CPU is busy with it, at the power of CPU work.
    pub fn compute_ns(&mut self, duration_ns: u64) {
        self.runner.system.compute_ns(duration_ns);
    }

    /// nanosleep(2).
    pub fn sleep_ns(&mut self, duration_ns: u64) {
        self.runner.system.sleep_ns(duration_ns);
    }
}
