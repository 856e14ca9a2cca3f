//! What the steps over files do, call by call.

use super::runner::{Done, Runner, Stop, FILE_PERMISSIONS};
use crate::calls::Calls;
use crate::requests::CallOp;
use crate::run::{file_of_many, Facts};
use ffslab_fs::Errno;
use ffslab_linux::OpenFlags;
use ffslab_workload::prng::SplitMix64;
use ffslab_workload::steps::{self, AppendSync, Pattern, RequestOp};

/// Flags of `create`: O_WRONLY, O_CREAT, O_TRUNC.
const CREATE: OpenFlags = OpenFlags { create: true, truncate: true, ..OpenFlags::WRITE };
/// Flags of a file of `create_many`: O_WRONLY, O_CREAT, O_EXCL.
const CREATE_NEW: OpenFlags = OpenFlags { create: true, exclusive: true, ..OpenFlags::WRITE };
/// No file of these systems becomes larger.
const FILE_BYTES_MAX: u64 = u32::MAX as u64;

impl Runner<'_> {
    pub(super) fn create(&mut self, step: &steps::Create) -> Done {
        let fd = self.machine.open(step.file.as_bytes(), CREATE, FILE_PERMISSIONS)?;
        let (written, error) = self.write_on(fd, step.request_bytes.0, step.bytes.0)?;
        self.machine.close(fd)?;
        match (error, step.fails) {
            (None, None) => {}
            (Some(error), Some(expected)) if error.name() == expected.name() => {}
            (Some(error), _) => {
                let wanted = step.bytes.0;
                return Err(Stop::Failed(format!("{error} after {written} of {wanted} B: enlarge device_KiB")));
            }
            (None, Some(expected)) => {
                return Err(Stop::Failed(format!("it succeeded, but `fails` says {}", expected.name())));
            }
        }
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    pub(super) fn fill(&mut self, step: &steps::Fill) -> Done {
        let fd = self.machine.open(step.file.as_bytes(), CREATE, FILE_PERMISSIONS)?;
        let (written, error) = self.write_on(fd, step.request_bytes.0, FILE_BYTES_MAX)?;
        self.machine.close(fd)?;
        match error {
            Some(Errno::NoSpc) => {}
            Some(error) => return Err(Stop::Failed(format!("{error} after {written} B"))),
            None => return Err(Stop::Failed(format!("the file has {written} B, and space is left"))),
        }
        Ok(Facts { bytes_accepted: Some(written), user_written_bytes: written, ..Facts::default() })
    }

    /// Writes from the file's start on until `end` or an error.
    fn write_on(&mut self, fd: u32, request_bytes: u64, end: u64) -> Result<(u64, Option<Errno>), Stop> {
        let mut at = 0;
        while at < end {
            match self.machine.write(fd, self.content.take(request_bytes.min(end - at) as usize)) {
                Ok(written) => at += written as u64,
                Err(error) => return Ok((at, Some(error))),
            }
            self.tick()?;
        }
        Ok((at, None))
    }

    pub(super) fn requests(&mut self, step: &steps::Requests) -> Done {
        let fd = self.fd(&step.file)?;
        let request_bytes = step.request_bytes.0;
        let range_bytes = match step.range_bytes {
            Some(range) => range.0,
            None => self.machine.fstat_bytes(fd)?,
        };
        let slots = range_bytes / request_bytes;
        if slots == 0 {
            return Err(Stop::Failed(format!(
                "the file has {range_bytes} B: not one request of {request_bytes} B fits, write range_B"
            )));
        }
        let mut prng = SplitMix64::new(step.seed);
        let places = (0..step.count).map(|i| match step.pattern {
            Pattern::Sequential => i % slots,
            Pattern::Random => prng.below(slots),
        });
        let places: Vec<u64> = places.map(|slot| slot * request_bytes).collect();
        let moves = places.into_iter().map(|at| Move { op: step.op, at, is_kept: true, pause_ns: step.gap_us.ns() });
        self.moves(&step.file, fd, request_bytes, moves)
    }

    pub(super) fn uflip(&mut self, step: &steps::Uflip) -> Done {
        let fd = self.fd(&step.file)?;
        let file_bytes = self.machine.fstat_bytes(fd)?;
        let moves = step.calls(file_bytes)?.map(|io| Move {
            op: io.op,
            at: io.offset_bytes,
            is_kept: !io.ignored,
            pause_ns: if io.pauses { step.pause_us.ns() } else { 0 },
        });
        self.moves(&step.file, fd, step.io_size_bytes.0, moves)
    }

    /// preads and pwrites on an open file until one fails.
    fn moves(&mut self, name: &str, fd: u32, request_bytes: u64, moves: impl Iterator<Item = Move>) -> Done {
        let file = self.log.file_index(name);
        let mut facts = Facts::default();
        let mut done = 0;
        for (i, Move { op, at, is_kept, pause_ns }) in moves.enumerate() {
            let count = request_bytes as usize;
            let call = |machine: &mut super::Machine, content: &mut ffslab_workload::Content| {
                let moved = match op {
                    RequestOp::Read => machine.pread_discard(fd, at, count),
                    RequestOp::Write => machine.pwrite(fd, content.take(count), at),
                };
                moved.map(|bytes| bytes as u64)
            };
            let kind = if op == RequestOp::Read { CallOp::Read } else { CallOp::Write };
            let result = match is_kept {
                true => self.timed_call(i as u64, (kind, file, at), call),
                false => call(&mut self.machine, &mut self.content),
            };
            let bytes = result.unwrap_or(0);
            match op {
                RequestOp::Read => facts.user_read_bytes += bytes,
                RequestOp::Write => facts.user_written_bytes += bytes,
            }
            if let Err(error) = result {
                facts.stopped_by = Some(error.name());
                break;
            }
            done += 1;
            if pause_ns > 0 {
                self.machine.sleep_ns(pause_ns);
            }
            self.tick()?;
        }
        facts.requests_done = Some(done);
        facts.bytes_accepted = Some(facts.user_read_bytes + facts.user_written_bytes);
        Ok(facts)
    }

    pub(super) fn append(&mut self, step: &steps::Append) -> Done {
        let fd = self.fd(&step.file)?;
        if step.sync == AppendSync::Sync {
            return Err(Stop::Failed("RTEMS has no sync for all files: use fsync or fdatasync".to_string()));
        }
        let bytes = step.request_bytes.0;
        let file = self.log.file_index(&step.file);
        let mut at = self.machine.fstat_bytes(fd)?;
        for i in 0..step.count {
            let written = self.timed_call(i, (CallOp::Append, file, at), |machine, content| {
                let written = machine.pwrite(fd, content.take(bytes as usize), at)?;
                match step.sync {
                    AppendSync::Fsync => machine.fsync(fd)?,
                    AppendSync::Fdatasync => machine.fdatasync(fd)?,
                    AppendSync::Sync | AppendSync::None => {}
                }
                Ok(written as u64)
            });
            at += written.map_err(|error| Stop::Failed(format!("{error} after {i} of {} appends", step.count)))?;
            self.tick()?;
        }
        let accepted = bytes * step.count;
        let requests_done = Some(step.count);
        Ok(Facts { bytes_accepted: Some(accepted), requests_done, user_written_bytes: accepted, ..Facts::default() })
    }

    pub(super) fn create_many(&mut self, step: &steps::CreateMany) -> Done {
        let bytes = step.bytes.0;
        let request_bytes = step.request_bytes.map_or(bytes, |request| request.0).max(1);
        let file = self.log.file_index(&step.dir);
        let (mut files, mut written_bytes) = (0, 0);
        while step.count.is_none_or(|count| files < count) {
            let path = file_of_many(&step.dir, files);
            let result = self.timed_call(files, (CallOp::Create, file, 0), |machine, content| {
                let fd = machine.open(path.as_bytes(), CREATE_NEW, FILE_PERMISSIONS)?;
                let mut written = 0;
                let mut outcome = Ok(());
                while written < bytes && outcome.is_ok() {
                    let data = content.take(request_bytes.min(bytes - written) as usize);
                    outcome = machine.write(fd, data).map(|count| written += count as u64);
                }
                if step.fsync && outcome.is_ok() {
                    outcome = machine.fsync(fd);
                }
                let closed = machine.close(fd);
                outcome.and(closed).map(|()| written)
            });
            files += 1;
            match result {
                Ok(written) => written_bytes += written,
                Err(Errno::NoSpc) if step.until.is_some() => break,
                Err(error) => {
                    let done = files - 1;
                    return Err(Stop::Failed(format!(
                        "{error} in file {path}, after {done} files: enlarge device_KiB"
                    )));
                }
            }
            self.tick()?;
        }
        Ok(Facts::of_files(files, written_bytes))
    }

    pub(super) fn stat_many(&mut self, step: &steps::StatMany) -> Done {
        self.each(&step.dir, step.count, CallOp::Stat, |machine, path| machine.stat(path).map(|_| 0))
    }

    pub(super) fn unlink_many(&mut self, step: &steps::UnlinkMany) -> Done {
        self.each(&step.dir, step.count, CallOp::Unlink, |machine, path| machine.unlink(path).map(|()| 0))
    }

    pub(super) fn read_many(&mut self, step: &steps::ReadMany) -> Done {
        let bytes = step.bytes.0;
        let request_bytes = step.request_bytes.map_or(bytes, |request| request.0).max(1);
        let mut buffer = vec![0; request_bytes.min(bytes) as usize];
        self.each(&step.dir, step.count, CallOp::Read, move |machine, path| {
            let fd = machine.open(path, OpenFlags::READ, 0)?;
            let mut read = 0;
            while read < bytes {
                let request = request_bytes.min(bytes - read) as usize;
                match machine.read(fd, &mut buffer[..request])? {
                    0 => break,
                    count => read += count as u64,
                }
            }
            machine.close(fd)?;
            Ok(read)
        })
    }

    /// Does `call` to the files of `create_many`, in the order of creation.
    fn each(
        &mut self,
        dir: &str,
        count: u64,
        op: CallOp,
        mut call: impl FnMut(&mut super::Machine, &[u8]) -> Result<u64, Errno>,
    ) -> Done {
        let file = self.log.file_index(dir);
        let mut facts = Facts::default();
        for i in 0..count {
            let path = file_of_many(dir, i);
            let result = self.timed_call(i, (op, file, 0), |machine, _| call(machine, path.as_bytes()));
            facts.user_read_bytes += result.map_err(|error| Stop::Failed(format!("file {path}: {error}")))?;
            self.tick()?;
        }
        Ok(facts)
    }
}

/// One pread or pwrite.
struct Move {
    op: RequestOp,
    at: u64,
    is_kept: bool,
    pause_ns: u64,
}
