//! Replays a recorded program: the calls of a trace, one after the other, on the simulated system calls.
//!
//! Calls of several processes run in the order of the trace. A trace does not contain the data that the program wrote;
//! the replay writes what its step says they are like. Paths begin at the root of the mount.

use ffslab_fs::{Errno, TimeSpec};
use ffslab_system::{Answer, Calls, Fd, OpenFlags, Refusal};
use ffslab_workload::steps::{self, ContentName};
use ffslab_workload::trace::{Call, Handle, Outcome, Record, Target, Trace};
use ffslab_workload::Content;

mod prepare;
mod summary;

pub use prepare::prepare;
pub(crate) use summary::grouped;
use summary::{call_name, EXAMPLES_MAX};
pub use summary::{without_contents, Summary};

/// The largest piece in which the data of a call are moved. A larger call is made in several pieces.
const PIECE_BYTES_MAX: usize = 8 << 20;

/// The most bytes that one call transfers (`include/linux/fs.h`, `MAX_RW_COUNT`).
const TRANSFER_BYTES_MAX: u64 = 0x7fff_f000;

/// What the replay does with the time between two calls of the recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Think {
    /// The time passes. A pause of less than a timer tick is spent computing, which holds the CPU. A longer one is
    /// spent sleeping, so that background tasks run.
    Keep,
    /// The pauses are left out: each call follows at once.
    None,
    /// Each call comes when it came in the recording, counted from the first one, or at once if those before it took
    /// longer here.
    Arrivals,
}

/// What the bytes are like that a recording does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Written {
    pub kind: ContentName,
    /// Of a mix.
    pub random_percent: Option<u8>,
}

impl Written {
    /// What a step says of it.
    pub fn of(step: &steps::Replay) -> Written {
        Written { kind: step.content.unwrap_or_default(), random_percent: step.random_percent }
    }

    fn take(self, content: &mut Content, bytes: usize) -> &[u8] {
        content.give_mix(self.random_percent);
        content.take_of(self.kind, bytes)
    }
}

/// What the replay does with time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    pub think: Think,
    /// How many times faster than in the recording the program is: pauses, or the distances between arrivals, are divided by
    /// it.
    pub speed_ratio: f64,
}

impl Pace {
    pub const KEPT: Pace = Pace { think: Think::Keep, speed_ratio: 1.0 };
    pub const NONE: Pace = Pace { think: Think::None, speed_ratio: 1.0 };

    fn shortened_ns(self, recorded_ns: u64) -> u64 {
        // Without a change of speed no time is rounded.
        if self.speed_ratio == 1.0 {
            recorded_ns
        } else {
            (recorded_ns as f64 / self.speed_ratio) as u64
        }
    }
}

/// A call that was replayed, for a caller that keeps a log.
#[derive(Clone, Copy, Debug)]
pub struct Replayed<'a> {
    pub record: &'a Record,
    /// Name under which the file was opened, or that the call gives.
    pub path: &'a [u8],
    /// File offset of the data; 0 for calls without data.
    pub offset_bytes: u64,
    /// Bytes read or written by the replay.
    pub bytes: u64,
    /// Virtual time.
    pub start_ns: u64,
    pub latency_ns: u64,
}

/// Replays a trace. `each` is called after every call; when it returns `false`, the replay ends with `Ok(None)`.
///
/// Errors: a power cut. Every other error is compared with the recorded result, and the replay goes on.
pub fn replay(
    calls: &mut dyn Calls,
    trace: &Trace,
    pace: Pace,
    written: Written,
    content: &mut Content,
    each: &mut dyn FnMut(Replayed<'_>) -> bool,
) -> Answer<Option<Summary>> {
    let mut player =
        Player { calls, written, content, files: Vec::new(), buffer: Vec::new(), line: 0, summary: Summary::default() };
    player.files.resize_with(trace.handles as usize, || None);
    let (begin_ns, first_ns) = (player.calls.now_ns(), trace.records.first().map_or(0, |record| record.at_ns));
    for record in &trace.records {
        match pace.think {
            Think::Keep => pause(player.calls, pace.shortened_ns(record.think_ns)),
            Think::None => {}
            Think::Arrivals => {
                let due_ns = begin_ns + pace.shortened_ns(record.at_ns.saturating_sub(first_ns));
                player.arrive(due_ns, record.line);
            }
        }
        let start_ns = player.calls.now_ns();
        player.calls.sim().call_begins();
        let (done, known) = player.call(record)?;
        let latency_ns = player.calls.now_ns() - start_ns;
        player.compare(record, &done);
        let path = match record.call.path_or_handle() {
            Ok(path) => path,
            Err(handle) => player.files[handle as usize].as_ref().map_or(&b""[..], |f| &f.path),
        };
        let (offset_bytes, bytes) = (known.offset_bytes, known.bytes);
        if !each(Replayed { record, path, offset_bytes, bytes, start_ns, latency_ns }) {
            return Ok(None);
        }
        if let Call::Close { handle } = record.call {
            player.files[handle as usize] = None;
        }
    }
    // When the program ends, the files are closed that it did not close in the trace.
    for file in std::mem::take(&mut player.files).into_iter().flatten() {
        if let Some(fd) = file.fd {
            power_gone(player.calls.close(fd))?;
        }
    }
    Ok(Some(player.summary))
}

struct OpenFile {
    /// `None` when the open failed in the replay, or after the close.
    fd: Option<Fd>,
    path: Vec<u8>,
    position: u64,
}

struct Player<'a> {
    calls: &'a mut dyn Calls,
    written: Written,
    content: &'a mut Content,
    files: Vec<Option<OpenFile>>,
    buffer: Vec<u8>,
    /// Line of the call before.
    line: u64,
    summary: Summary,
}

/// How a call ended in the replay.
enum Done {
    Value(i64),
    Error(Refusal),
    /// The file is not open in the replay, because its open failed.
    NoFile,
}

/// File offset and length of the data that a call moved.
#[derive(Clone, Copy, Default)]
struct Data {
    offset_bytes: u64,
    bytes: u64,
}

/// Lets the time between two calls of a program pass. Less than a timer tick is taken for computing, more for sleep.
pub fn pause(calls: &mut dyn Calls, think_ns: u64) {
    if think_ns < calls.sim().tick_ns() {
        calls.sim().program_computes(think_ns);
    } else {
        calls.sleep_ns(think_ns.saturating_sub(calls.timer_slack_ns()));
    }
}

impl Player<'_> {
    /// Waits until a call is due. One that comes too late is counted, but for the further calls of one line, such as the
    /// flushes around a write, which came together.
    fn arrive(&mut self, due_ns: u64, line: u64) {
        let now_ns = self.calls.now_ns();
        if due_ns >= now_ns {
            pause(self.calls, due_ns - now_ns);
        } else if self.line != line {
            self.summary.late_n += 1;
            self.summary.latest_ns = self.summary.latest_ns.max(now_ns - due_ns);
        }
        self.line = line;
    }

    fn compare(&mut self, record: &Record, done: &Done) {
        self.summary.calls += 1;
        let counted = matches!(
            record.call,
            Call::Read { .. } | Call::ReadAt { .. } | Call::Write { .. } | Call::WriteAt { .. } | Call::Seek { .. }
        );
        let same = match (&record.result, done) {
            (Outcome::Value(recorded), Done::Value(value)) => !counted || recorded == value,
            (Outcome::Error(recorded), Done::Error(error)) => recorded == error.name(),
            _ => false,
        };
        if same {
            return;
        }
        self.summary.different += 1;
        if self.summary.examples.len() < EXAMPLES_MAX {
            let recorded = match &record.result {
                Outcome::Value(value) => value.to_string(),
                Outcome::Error(error) => error.clone(),
            };
            let here = match done {
                Done::Value(value) => value.to_string(),
                Done::Error(error) => error.name().to_string(),
                Done::NoFile => "no file, since its open failed".to_string(),
            };
            let name = call_name(&record.call);
            self.summary.examples.push(format!("line {}: {name} gave {recorded}, here {here}", record.line));
        }
    }

    /// Makes one call and returns how it ended.
    ///
    /// Errors: a power cut.
    fn call(&mut self, record: &Record) -> Answer<(Done, Data)> {
        let mut data = Data::default();
        let result = match &record.call {
            Call::Read { handle, bytes } => self.transfer(*handle, None, *bytes, false, &mut data),
            Call::ReadAt { handle, offset, bytes } => self.transfer(*handle, Some(*offset), *bytes, false, &mut data),
            Call::Write { handle, bytes } => self.transfer(*handle, None, *bytes, true, &mut data),
            Call::WriteAt { handle, offset, bytes } => self.transfer(*handle, Some(*offset), *bytes, true, &mut data),
            Call::Open { handle, path, flags, permissions } => {
                let opened = matches!(record.result, Outcome::Value(_));
                self.open(*handle, path, *flags, *permissions, opened).map(Some)
            }
            other => self.plain(other),
        };
        match result {
            Ok(Some(value)) => Ok((Done::Value(value), data)),
            Ok(None) => Ok((Done::NoFile, data)),
            Err(error) if error == Errno::PowerCut => Err(error),
            Err(error) => Ok((Done::Error(error), data)),
        }
    }

    fn fd(&self, handle: Handle) -> Option<Fd> {
        self.files[handle as usize].as_ref()?.fd
    }

    fn open(&mut self, handle: Handle, path: &[u8], flags: OpenFlags, permissions: u32, opened: bool) -> Answer<i64> {
        let mut result = self.calls.open(from_root(path), flags, permissions);
        if result.is_err_and(|error| error == Errno::IsDir) && !flags.create && opened {
            // The descriptor was opened before the trace began, so its flags are a guess, and it turns out to be a
            // directory.
            result = self.calls.open(from_root(path), OpenFlags { write: false, ..flags }, permissions);
        }
        let fd = result?;
        if opened {
            self.files[handle as usize] = Some(OpenFile { fd: Some(fd), path: path.to_vec(), position: 0 });
        } else {
            // In the recording this open failed, so the trace has no call that would close the descriptor.
            power_gone(self.calls.close(fd))?;
        }
        Ok(i64::from(fd.0))
    }

    fn transfer(
        &mut self,
        handle: Handle,
        offset: Option<u64>,
        bytes: u64,
        write: bool,
        data: &mut Data,
    ) -> Answer<Option<i64>> {
        let Some(OpenFile { fd: Some(fd), position, .. }) = self.files[handle as usize] else { return Ok(None) };
        let start = offset.unwrap_or(position);
        let bytes = bytes.min(TRANSFER_BYTES_MAX);
        let mut done = 0u64;
        loop {
            let count = (bytes - done).min(PIECE_BYTES_MAX as u64) as usize;
            let at = offset.map(|offset| offset.saturating_add(done));
            let moved = match (write, at) {
                (true, Some(at)) => self.calls.pwrite(fd, self.written.take(self.content, count), at),
                (true, None) => self.calls.write(fd, self.written.take(self.content, count)),
                (false, Some(at)) => self.calls.pread_discard(fd, at, count),
                (false, None) => {
                    self.buffer.resize(count.max(self.buffer.len()), 0);
                    self.calls.read(fd, &mut self.buffer[..count])
                }
            };
            let moved = match moved {
                Ok(moved) => moved,
                Err(error) if done == 0 || error == Errno::PowerCut => return Err(error),
                Err(_) => break,
            };
            done += moved as u64;
            if moved < count || done == bytes {
                break;
            }
        }
        *data = Data { offset_bytes: start, bytes: done };
        if write {
            self.summary.written_bytes += done;
        } else {
            self.summary.read_bytes += done;
        }
        if let (None, Some(file)) = (offset, &mut self.files[handle as usize]) {
            file.position = start + done;
        }
        Ok(Some(done as i64))
    }

    /// Makes a call that moves no data. `Ok(None)`: the file is not open in the replay.
    fn plain(&mut self, call: &Call) -> Answer<Option<i64>> {
        macro_rules! fd {
            ($handle:expr) => {
                match self.fd($handle) {
                    Some(fd) => fd,
                    None => return Ok(None),
                }
            };
        }
        let vfs_result = match call {
            Call::Close { handle } => {
                let fd = fd!(*handle);
                if let Some(file) = &mut self.files[*handle as usize] {
                    file.fd = None;
                }
                self.calls.close(fd)
            }
            Call::Seek { handle, offset, whence } => {
                let fd = fd!(*handle);
                let position = self.calls.lseek(fd, *offset, *whence)?;
                if let Some(file) = &mut self.files[*handle as usize] {
                    file.position = position;
                }
                return Ok(Some(position as i64));
            }
            Call::Fsync { handle, data_only } => {
                let fd = fd!(*handle);
                if *data_only {
                    self.calls.fdatasync(fd)
                } else {
                    self.calls.fsync(fd)
                }
            }
            Call::Trim { handle, offset, bytes } => {
                let fd = fd!(*handle);
                self.calls.trim(fd, *offset, *bytes)
            }
            Call::Sync => self.calls.sync(),
            Call::SyncFs { handle } => {
                fd!(*handle);
                self.calls.syncfs()
            }
            Call::Truncate { target: Target::Handle(handle), bytes } => {
                let fd = fd!(*handle);
                self.calls.ftruncate(fd, *bytes)
            }
            Call::Truncate { target: Target::Path { path, .. }, bytes } => self.calls.truncate(from_root(path), *bytes),
            Call::Rename { from, to, no_replace } => {
                if *no_replace && self.calls.lstat(from_root(to)).is_ok() {
                    return Err(Errno::Exist.into());
                }
                self.calls.rename(from_root(from), from_root(to))?;
                for file in self.files.iter_mut().flatten().filter(|file| file.path == *from) {
                    file.path.clone_from(to);
                }
                Ok(())
            }
            Call::Unlink { path } => self.calls.unlink(from_root(path)),
            Call::MakeDirectory { path, permissions } => self.calls.mkdir(from_root(path), *permissions),
            Call::RemoveDirectory { path } => self.calls.rmdir(from_root(path)),
            Call::Link { from, to } => self.calls.link(from_root(from), from_root(to)),
            Call::Symlink { target, path } => self.calls.symlink(target, from_root(path)),
            Call::ReadLink { path } => self.calls.readlink(from_root(path)).map(drop),
            Call::Stat { target: Target::Path { path, follow: true } } => self.calls.stat(from_root(path)).map(drop),
            Call::Stat { target: Target::Path { path, follow: false } } => self.calls.lstat(from_root(path)).map(drop),
            Call::Stat { target: Target::Handle(handle) } => {
                let fd = fd!(*handle);
                self.calls.fstat(fd).map(drop)
            }
            Call::ListDirectory { handle } => {
                let fd = fd!(*handle);
                self.calls.readdir(fd).map(drop)
            }
            Call::ChangeMode { target, permissions } => match self.path_of_target(target) {
                Some(path) => self.calls.chmod(from_root(&path), *permissions),
                None => return Ok(None),
            },
            Call::ChangeOwner { target, uid, gid } => match self.path_of_target(target) {
                Some(path) => self.calls.chown(from_root(&path), *uid, *gid),
                None => return Ok(None),
            },
            Call::ChangeTimes { target } => match self.path_of_target(target) {
                Some(path) => {
                    let now = self.time_of_day();
                    self.calls.utimens(from_root(&path), Some(now), Some(now))
                }
                None => return Ok(None),
            },
            Call::StatFs { .. } => self.calls.statfs().map(drop),
            Call::Advise { handle, offset, bytes, advice } => {
                let fd = fd!(*handle);
                self.calls.advise(fd, *offset, *bytes, *advice)
            }
            Call::Open { .. } | Call::Read { .. } | Call::ReadAt { .. } | Call::Write { .. } | Call::WriteAt { .. } => {
                unreachable!("handled by `call`")
            }
        };
        vfs_result.map(|()| Some(0))
    }

    /// The path for a call that changes attributes, which the replay makes by name. For an open file it is the name
    /// under which it was opened.
    fn path_of_target(&self, target: &Target) -> Option<Vec<u8>> {
        match target {
            Target::Path { path, .. } => Some(path.clone()),
            Target::Handle(handle) => {
                self.files[*handle as usize].as_ref().filter(|f| f.fd.is_some()).map(|f| f.path.clone())
            }
        }
    }

    fn time_of_day(&self) -> TimeSpec {
        let now_ns = self.calls.now_ns();
        TimeSpec {
            seconds: (self.calls.epoch_s() + now_ns / 1_000_000_000) as i64,
            nanoseconds: (now_ns % 1_000_000_000) as u32,
        }
    }
}

/// A trace names the root by an empty path, which a system call would refuse.
fn from_root(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        b"/"
    } else {
        path
    }
}

/// Ignores all errors except a power cut.
fn power_gone(result: Answer<()>) -> Answer<()> {
    match result {
        Err(error) if error == Errno::PowerCut => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
