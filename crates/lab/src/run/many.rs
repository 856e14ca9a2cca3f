//! The steps over many small files, and replay.

use super::execute::{failed, FILE_PERMISSIONS};
use super::facts::Facts;
use super::runner::{RunError, Runner, Stop, WATCH_EVERY};
use crate::replay::{self, Replayed, Written};
use crate::requests::{Call, CallOp};
use ffslab_fs::Errno;
use ffslab_system::{timed, Answer, OpenFlags, System};
use ffslab_workload::steps::{self, path_of_many, Step, Think};
use ffslab_workload::trace::{self, Trace};
use std::sync::Arc;

type Done = Result<Facts, Stop>;

/// Flags of a file of `create_many`: O_WRONLY, O_CREAT, O_EXCL.
const CREATE_NEW: OpenFlags = OpenFlags { create: true, exclusive: true, ..OpenFlags::WRITE };

impl Runner<'_> {
    pub(super) fn create_many(&mut self, step: &steps::CreateMany) -> Done {
        let bytes = step.bytes.0;
        let request_bytes = step.request_bytes.map_or(bytes, |request| request.0).max(1);
        let mut files = 0;
        let mut written_bytes = 0;
        let file = self.log.file_index(&step.dir);
        while step.count.is_none_or(|count| files < count) {
            let path = path_of_many(&step.dir, &step.name, files);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let mut written = 0;
            let content = &mut self.content;
            let (result, latency_ns) = timed(&mut *self.system, |system| {
                let fd = system.open(path.as_bytes(), CREATE_NEW, FILE_PERMISSIONS)?;
                let mut done = Ok(());
                while written < bytes && done.is_ok() {
                    let data = content.take_of(step.content, request_bytes.min(bytes - written) as usize);
                    done = system.write(fd, data).map(|count| written += count as u64);
                }
                if step.fsync && done.is_ok() {
                    done = system.fsync(fd);
                }
                let closed = system.close(fd);
                done.and(closed)
            });
            self.record(
                files,
                Call { op: CallOp::Create, file, offset_bytes: 0, bytes: written, start_ns, latency_ns },
            );
            files += 1;
            written_bytes += written;
            match result {
                Ok(()) => {}
                Err(error) if error.errno() == Errno::NoSpc && step.until.is_some() => break,
                Err(error) => {
                    let text = format!("{} in file {path}, after {} files", error.name(), files - 1);
                    return failed(text + &self.holds(error));
                }
            }
            self.tick()?;
        }
        Ok(Facts::of_files(files, written_bytes))
    }

    pub(super) fn stat_many(&mut self, step: &steps::StatMany) -> Done {
        self.each((&step.dir, &step.name), step.count, CallOp::Stat, |system, path| system.stat(path).map(|_| 0))
    }

    pub(super) fn unlink_many(&mut self, step: &steps::UnlinkMany) -> Done {
        self.each((&step.dir, &step.name), step.count, CallOp::Unlink, |system, path| system.unlink(path).map(|()| 0))
    }

    pub(super) fn read_many(&mut self, step: &steps::ReadMany) -> Done {
        let bytes = step.bytes.0;
        let request_bytes = step.request_bytes.map_or(bytes, |request| request.0).max(1);
        let mut buffer = vec![0; request_bytes.min(bytes) as usize];
        self.each((&step.dir, &step.name), step.count, CallOp::Read, |system, path| {
            let fd = system.open(path, OpenFlags::READ, 0)?;
            let mut read = 0;
            while read < bytes {
                let request = request_bytes.min(bytes - read) as usize;
                match system.read(fd, &mut buffer[..request])? {
                    0 => break,
                    count => read += count as u64,
                }
            }
            system.close(fd)?;
            Ok(read)
        })
    }

    /// Does `call` to the files of `create_many`, in the order of creation.
    fn each(
        &mut self,
        (dir, name): (&str, &str),
        count: u64,
        op: CallOp,
        mut call: impl FnMut(&mut dyn System, &[u8]) -> Answer<u64>,
    ) -> Done {
        let file = self.log.file_index(dir);
        let mut facts = Facts::default();
        for i in 0..count {
            let path = path_of_many(dir, name, i);
            let start_ns = self.system.now_ns() - self.start.at_ns;
            let (result, latency_ns) = timed(&mut *self.system, |system| call(system, path.as_bytes()));
            let bytes = result.map_err(|error| Stop::Failed(format!("file {path}: {error}")))?;
            self.record(i, Call { op, file, offset_bytes: 0, bytes, start_ns, latency_ns });
            facts.user_read_bytes += bytes;
            self.tick()?;
        }
        Ok(facts)
    }

    /// Makes the files that the measured traces expect to find, at the end of the setup.
    pub(super) fn prepare_replays(&mut self, measure: &[Step]) -> Result<(), RunError> {
        let traces: Vec<(Arc<Trace>, Written)> = measure
            .iter()
            .flat_map(Step::each)
            .filter_map(|step| match step {
                Step::Replay(replay) => Some((self.traces.of(replay)?, Written::of(replay))),
                _ => None,
            })
            .collect();
        let wanted: Vec<(&Trace, Written)> = traces
            .iter()
            .filter(|(trace, _)| !trace.existing.is_empty())
            .map(|(trace, written)| (&**trace, *written))
            .collect();
        let Some((first, _)) = wanted.first() else {
            return Ok(());
        };
        if !self.system.is_mounted() {
            let trace = first.path.display();
            let text =
                format!("the trace {trace} expects files, and nothing is mounted at the end of the setup: mount there");
            return Err(RunError::Step(text));
        }
        replay::prepare(&mut *self.system, &wanted, &mut self.content)
            .map_err(|text| RunError::Step(format!("end of the setup: {text}")))
    }

    pub(super) fn replay(&mut self, step: &steps::Replay) -> Done {
        let Some(trace) = self.traces.of(step) else {
            return failed(format!("the trace {} has not been read", step.file));
        };
        if !self.system.is_mounted() {
            return failed("nothing is mounted: a mount step must come before".to_string());
        }
        if !self.measuring {
            replay::prepare(&mut *self.system, &[(&trace, Written::of(step))], &mut self.content)?;
        }
        let think = match step.think {
            Think::Keep => replay::Think::Keep,
            Think::None => replay::Think::None,
            Think::Arrivals => replay::Think::Arrivals,
        };
        let pace = replay::Pace { think, speed_ratio: step.speed.unwrap_or(1.0) };
        let (log, calls, watch) = (&mut self.log, &mut self.calls, &mut self.watch);
        let written = Written::of(step);
        let is_unsaid = step.content.is_none();
        let (measuring, step, start_ns) = (self.measuring, self.step, self.start.at_ns);
        let sim = self.system.sim().clone();
        let mut i = 0;
        let mut each = |done: Replayed| {
            if measuring {
                let call = Call {
                    op: op_of(&done.record.call),
                    file: log.file_index(&String::from_utf8_lossy(done.path)),
                    offset_bytes: done.offset_bytes,
                    bytes: done.bytes,
                    start_ns: done.start_ns - start_ns,
                    latency_ns: done.latency_ns,
                };
                log.push(step, i, call, &sim);
            }
            i += 1;
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        let summary = replay::replay(&mut *self.system, &trace, pace, written, &mut self.content, &mut each);
        let summary = summary?.ok_or(Stop::Interrupted)?;
        Ok(Facts {
            requests_done: Some(summary.calls),
            user_read_bytes: summary.read_bytes,
            user_written_bytes: summary.written_bytes,
            notes: summary.notes(&trace),
            where_compressed: (is_unsaid && summary.written_bytes > 0).then(|| replay::without_contents(&trace)),
            ..Facts::default()
        })
    }
}

/// Under which kind a replayed call is recorded.
fn op_of(call: &trace::Call) -> CallOp {
    match call {
        trace::Call::Read { .. } | trace::Call::ReadAt { .. } => CallOp::Read,
        trace::Call::Write { .. } | trace::Call::WriteAt { .. } => CallOp::Write,
        trace::Call::Open { .. } => CallOp::Open,
        trace::Call::Close { .. } => CallOp::Close,
        trace::Call::Fsync { .. } | trace::Call::Sync | trace::Call::SyncFs { .. } => CallOp::Sync,
        trace::Call::Stat { .. } => CallOp::Stat,
        trace::Call::Unlink { .. } => CallOp::Unlink,
        trace::Call::Truncate { .. } => CallOp::Truncate,
        trace::Call::Rename { .. } => CallOp::Rename,
        trace::Call::Link { .. } | trace::Call::Symlink { .. } => CallOp::Link,
        trace::Call::MakeDirectory { .. } => CallOp::Mkdir,
        trace::Call::RemoveDirectory { .. } => CallOp::Rmdir,
        trace::Call::ListDirectory { .. } => CallOp::Readdir,
        _ => CallOp::Other,
    }
}
