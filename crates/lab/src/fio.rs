//! Runs the jobs of a fio file on the simulated system calls.
//!
//! There is one CPU, and a call is not interrupted by another process: **of the processes that could run, the one that
//! has been ready longest makes its next call** (`turns.rs`; a process is ready again when its call has returned, or when its think
//! time is over). When none is ready, the machine sleeps until the first one is, and background tasks run.
//!
//! As in fio, files are laid out before the first job starts, and this is not part of what is measured.

use crate::turns::{self, Turns};
use ffslab_fs::Errno;
use ffslab_system::{timed, Answer, Calls, Fd, OpenFlags, Refusal, Whence};
use ffslab_text::input::{read_text, InputKind};
use ffslab_text::words::io_reason;
use ffslab_workload::fio::iolog::LogError;
use ffslab_workload::fio::job::{Engine, OpenSync};
use ffslab_workload::fio::{iolog, parse, Action, Job, JobError, JobFile, JobFileError, Process, Replayer};
use ffslab_workload::Content;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

mod layout;
mod report;
mod running;

use layout::{advise, lay_out, make_directories, FILE_PERMISSIONS, PIECE_BYTES_MAX};
pub use report::FioReport;
pub use running::Kind;
use running::{Log, Measured, Running, State};

/// A job file, or a log that it replays, that cannot be used. One line with file, line, option and what is wrong.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FioFileError {
    #[error("{}: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error(transparent)]
    Jobs(#[from] JobFileError),
    #[error("{}:{line}: {why}", path.display())]
    Log { path: PathBuf, line: u64, why: LogError },
}

/// Jobs whose files cannot be laid out. One line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("job [{job}]: {why}")]
pub struct PrepareError {
    pub job: String,
    pub why: LayOutError,
}

/// What is wrong with a job or one of its files.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayOutError {
    #[error(transparent)]
    Job(#[from] JobError),
    #[error("{file}: {refusal}")]
    Directory { file: String, refusal: Refusal },
    #[error("{file} cannot be laid out: {refusal}")]
    File { file: String, refusal: Refusal },
}

/// A job file and the logs that it replays.
#[derive(Clone, Debug)]
pub struct FioFile {
    pub file: JobFile,
    logs: BTreeMap<String, Vec<iolog::Entry>>,
}

impl FioFile {
    /// Reads a job file. The logs that it names are looked for in the same folder.
    ///
    /// Errors: one line with file, line, option and what is wrong.
    pub fn read(path: &Path, lenient: bool) -> Result<FioFile, FioFileError> {
        let unreadable = |path: &Path, error: &io::Error| FioFileError::Unreadable {
            path: path.to_path_buf(),
            why: io_reason(error),
        };
        let text = read_text(path, InputKind::Jobs).map_err(|error| unreadable(path, &error))?;
        let file = parse(&text, &path.display().to_string(), lenient)?;
        let mut logs = BTreeMap::new();
        for name in file.jobs.iter().filter_map(|job| job.read_log.as_ref()) {
            let place = path.parent().unwrap_or(Path::new("")).join(name);
            let text = read_text(&place, InputKind::Trace).map_err(|error| unreadable(&place, &error))?;
            let entries =
                iolog::parse(&text).map_err(|(line, why)| FioFileError::Log { path: place.clone(), line, why })?;
            logs.insert(name.clone(), entries);
        }
        Ok(FioFile { file, logs })
    }

    /// How many requests the jobs make, as far as their sizes tell. The progress bar weights the step by it.
    pub fn calls(&self) -> u64 {
        let of_job = |job: &Job| {
            let bytes = if job.io_size_bytes > 0 { job.io_size_bytes } else { job.size_bytes };
            (bytes / job.least_request_bytes().max(1)).saturating_mul(job.loops_n).saturating_mul(job.processes_n)
        };
        self.file.jobs.iter().map(of_job).fold(0, u64::saturating_add).max(1)
    }

    fn log_of(&self, job: &Job) -> Option<Replayer> {
        let entries = self.logs.get(job.read_log.as_ref()?)?;
        Some(Replayer::new(entries.clone(), job.no_stall, job.invalidate))
    }
}

/// A request or sync that was made, for a caller that keeps a log.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    pub kind: Kind,
    pub path: &'a str,
    pub offset_bytes: u64,
    pub bytes: u64,
    /// Virtual time.
    pub start_ns: u64,
    pub latency_ns: u64,
}

/// Why the jobs could not be run to their ends.
#[derive(Clone, Debug)]
pub enum FioError {
    /// One line: which job, what is wrong.
    Failed(String),
    Interrupted,
}

/// Processes whose files are laid out and that have not started yet.
pub struct Ready {
    jobs: Vec<Job>,
    warnings: Vec<String>,
    running: Vec<Running>,
}

impl Ready {
    /// Whether all jobs sync their files after the layout. `create_fsync=0` leaves them unsynced.
    pub fn syncs_files(&self) -> bool {
        self.jobs.iter().all(|job| job.create_fsync)
    }
}

/// Makes the processes of all jobs and lays out their files.
///
/// Errors: the job and what is wrong.
pub fn prepare(calls: &mut dyn Calls, file: &FioFile, content: &mut Content) -> Result<Ready, PrepareError> {
    let mut running: Vec<Running> = Vec::new();
    let processes_n = file.file.jobs.iter().map(|job| job.processes_n).sum::<u64>() as usize;
    let mut group = 0;
    for (job_index, job) in file.file.jobs.iter().enumerate() {
        if (job.stonewall || job.new_group) && job_index > 0 {
            group += 1;
        }
        // fio numbers the clones of a process downwards (`init.c`, add_job).
        for subjob in std::iter::once(0).chain((1..job.processes_n).rev()) {
            let mut process = Process::new(job.clone(), subjob, running.len() as u64 + 1, file.log_of(job));
            let failed = |why: LayOutError| PrepareError { job: job.section.clone(), why };
            let mut present = Vec::with_capacity(process.file_names.len());
            for name in &process.file_names {
                make_directories(calls, name)
                    .map_err(|refusal| failed(LayOutError::Directory { file: name.clone(), refusal }))?;
                present.push(calls.stat(name.as_bytes()).ok().map(|stat| stat.size_bytes));
            }
            for layout in process.set_up(&present).map_err(|why| failed(why.into()))? {
                let name = &process.file_names[layout.file];
                lay_out(calls, name, &layout, job, content)
                    .map_err(|refusal| failed(LayOutError::File { file: name.clone(), refusal }))?;
            }
            let log = job.write_log.as_ref().map(|name| Log::new(name, subjob, job.processes_n, &process.file_names));
            running.push(Running {
                job_index,
                group,
                state: State::Waiting,
                start_ns: 0,
                descriptors: vec![None; process.file_names.len()],
                positions: vec![u64::MAX; process.file_names.len()],
                measured: Measured::of_one(processes_n),
                log,
                process,
            });
        }
    }
    Ok(Ready { jobs: file.file.jobs.clone(), warnings: file.file.warnings.clone(), running })
}

/// Runs processes that are ready. `each` is called for every request; when it returns `false`, all processes end.
///
/// Errors: [`FioError::Failed`] only for a power cut, [`FioError::Interrupted`] when `each` said so. A job that fails
/// is noted in the report.
pub fn run(
    calls: &mut dyn Calls,
    ready: Ready,
    content: &mut Content,
    each: &mut dyn FnMut(Request<'_>) -> bool,
) -> Result<FioReport, FioError> {
    let Ready { jobs, warnings, running } = ready;
    let genesis_ns = calls.now_ns();
    let mut machine = Machine { calls, content, running, genesis_ns, turns: Turns::default(), buffer: Vec::new() };
    loop {
        machine.start_jobs(&jobs);
        let next = turns::next(machine.running.iter().map(|running| match running.state {
            State::Active(ready) => Some(ready),
            _ => None,
        }));
        let starts_ns = machine.next_start_ns(&jobs);
        let now_ns = machine.calls.now_ns();
        let wake_ns = match (next, starts_ns) {
            (Some((ready, _)), Some(starts_ns)) => ready.at_ns.min(starts_ns),
            (Some((ready, _)), None) => ready.at_ns,
            (None, Some(starts_ns)) => starts_ns,
            (None, None) => break,
        };
        if wake_ns > now_ns {
            machine.calls.sleep_ns(wake_ns - now_ns);
            continue;
        }
        let Some((_, i)) = next else { continue };
        machine.turn(i, each)?;
    }
    Ok(report::report(&jobs, warnings, machine.running, genesis_ns))
}

struct Machine<'a> {
    calls: &'a mut dyn Calls,
    content: &'a mut Content,
    running: Vec<Running>,
    genesis_ns: u64,
    turns: Turns,
    buffer: Vec<u8>,
}

impl Machine<'_> {
    fn start_delay_is_over(&self, job: &Job) -> bool {
        self.calls.now_ns() >= self.genesis_ns + job.start_delay_us * 1_000
    }

    /// Starts the processes that may start now (`run_threads` of fio's `backend.c`). A process starts after its delay;
    /// with `stonewall` only when no other process is running, and with `wait_for` only when all processes of that job
    /// have ended.
    fn start_jobs(&mut self, jobs: &[Job]) {
        let now_ns = self.calls.now_ns();
        for i in 0..self.running.len() {
            if self.running[i].state != State::Waiting {
                continue;
            }
            let (job_index, subjob) = (self.running[i].job_index, self.running[i].process.subjob_index);
            let job = &jobs[job_index];
            if !self.start_delay_is_over(job) {
                continue;
            }
            let active = |running: &Running| matches!(running.state, State::Active(_));
            if job.stonewall && subjob == 0 && self.running.iter().any(active) {
                break;
            }
            if let Some(wanted) = &job.wait_for {
                let of_wanted = |running: &&Running| jobs[running.job_index].report_name() == wanted;
                if self.running[..i].iter().filter(of_wanted).any(|running| running.state != State::Ended) {
                    continue;
                }
            }
            let ready = self.turns.ready(now_ns);
            let running = &mut self.running[i];
            (running.state, running.start_ns) = (State::Active(ready), now_ns);
        }
    }

    /// The time at which the next waiting process has its start delay behind it, if that is in the future.
    fn next_start_ns(&self, jobs: &[Job]) -> Option<u64> {
        let waiting = self.running.iter().filter(|running| running.state == State::Waiting);
        let starts = waiting.map(|running| self.genesis_ns + jobs[running.job_index].start_delay_us * 1_000);
        starts.filter(|&start_ns| start_ns > self.calls.now_ns()).min()
    }

    /// Lets process `i` make its next call.
    fn turn(&mut self, i: usize, each: &mut dyn FnMut(Request<'_>) -> bool) -> Result<(), FioError> {
        let elapsed_ns = self.calls.now_ns() - self.running[i].start_ns;
        let Some(action) = self.running[i].process.next_action(elapsed_ns) else {
            self.running[i].state = State::Ended;
            self.running[i].measured.ended_ns = self.calls.now_ns();
            return Ok(());
        };
        let mut pause_until_ns = 0;
        let done = match action {
            Action::Think { ns } => {
                pause_until_ns = self.calls.now_ns() + ns;
                Ok(true)
            }
            Action::WaitUntil { ns } => {
                pause_until_ns = self.running[i].start_ns.saturating_add(ns);
                Ok(true)
            }
            Action::Transfer { file, write, offset, bytes } => self.transfer(i, file, write, offset, bytes, each),
            Action::Sync { file, data_only } => self.sync(i, file, data_only, each),
            other => self.plain(i, other).map(|()| true),
        };
        match done {
            Ok(true) => {}
            Ok(false) => return Err(FioError::Interrupted),
            Err(error) if error == Errno::PowerCut => return Err(FioError::Failed(Errno::PowerCut.to_string())),
            Err(error) => {
                self.running[i].measured.error = Some(error.errno());
                self.running[i].process.fail();
            }
        }
        let ready_ns = self.calls.now_ns().max(pause_until_ns);
        self.running[i].state = State::Active(self.turns.ready(ready_ns));
        Ok(())
    }

    fn descriptor(&self, i: usize, file: usize) -> Answer<Fd> {
        self.running[i].descriptors[file].ok_or(Errno::BadF.into())
    }

    fn log(&mut self, i: usize, file: usize, what: &str, range: Option<(u64, u64)>) {
        let running = &mut self.running[i];
        let elapsed_ns = self.calls.now_ns() - running.start_ns;
        if let Some(log) = &mut running.log {
            log.line(elapsed_ns, &running.process.file_names[file], what, range);
        }
    }

    fn transfer(
        &mut self,
        i: usize,
        file: usize,
        write: bool,
        offset: u64,
        bytes: u64,
        each: &mut dyn FnMut(Request<'_>) -> bool,
    ) -> Answer<bool> {
        let fd = self.descriptor(i, file)?;
        self.log(i, file, if write { "write" } else { "read" }, Some((offset, bytes)));
        let engine = self.running[i].process.job().engine;
        let seeks = match engine {
            Engine::Psync => false,
            Engine::Sync => self.running[i].positions[file] != offset,
            Engine::Vsync => true,
        };
        if seeks {
            let offset = i64::try_from(offset).map_err(|_| Errno::Inval)?;
            self.calls.lseek(fd, offset, Whence::Set)?;
        }
        self.calls.prepare_request();
        let (content, buffer) = (&mut *self.content, &mut self.buffer);
        let start_ns = self.calls.now_ns();
        let (moved, latency_ns) = timed(self.calls, |calls| {
            let mut done = 0;
            while done < bytes {
                let count = (bytes - done).min(PIECE_BYTES_MAX) as usize;
                let moved = match (write, engine) {
                    (true, Engine::Psync) => calls.pwrite(fd, content.take(count), offset + done)?,
                    (true, Engine::Vsync) => calls.writev(fd, content.take(count))?,
                    (true, Engine::Sync) => calls.write(fd, content.take(count))?,
                    (false, Engine::Psync) => calls.pread_discard(fd, offset + done, count)?,
                    (false, _) => {
                        buffer.resize(count.max(buffer.len()), 0);
                        match engine {
                            Engine::Vsync => calls.readv(fd, &mut buffer[..count])?,
                            _ => calls.read(fd, &mut buffer[..count])?,
                        }
                    }
                };
                if moved == 0 {
                    // fio ends such a request with EIO ("full resid").
                    return Err(Refusal::Failed(Errno::Io));
                }
                done += moved as u64;
            }
            Ok(done)
        });
        let moved = moved?;
        let running = &mut self.running[i];
        running.positions[file] = offset + moved;
        running.process.transferred(write, moved);
        let kind = if write { Kind::Write } else { Kind::Read };
        running.measured.add(kind, moved, latency_ns);
        let path = &running.process.file_names[file];
        Ok(each(Request { kind, path, offset_bytes: offset, bytes: moved, start_ns, latency_ns }))
    }

    fn sync(
        &mut self,
        i: usize,
        file: usize,
        data_only: bool,
        each: &mut dyn FnMut(Request<'_>) -> bool,
    ) -> Answer<bool> {
        let fd = self.descriptor(i, file)?;
        self.log(i, file, if data_only { "datasync" } else { "sync" }, Some((0, 0)));
        let start_ns = self.calls.now_ns();
        let (done, latency_ns) =
            timed(self.calls, |calls| if data_only { calls.fdatasync(fd) } else { calls.fsync(fd) });
        done?;
        let running = &mut self.running[i];
        running.process.synced();
        running.measured.add(Kind::Sync, 0, latency_ns);
        let path = &running.process.file_names[file];
        Ok(each(Request { kind: Kind::Sync, path, offset_bytes: 0, bytes: 0, start_ns, latency_ns }))
    }

    /// Makes a call that does not appear in fio's statistics.
    fn plain(&mut self, i: usize, action: Action) -> Answer<()> {
        match action {
            Action::Open { file } => {
                let job = self.running[i].process.job();
                let (reads, writes) = (job.access.read, job.access.write);
                let flags = OpenFlags {
                    read: true,
                    write: writes,
                    create: writes,
                    sync: job.open_sync == OpenSync::Sync,
                    dsync: job.open_sync == OpenSync::DataSync,
                    ..OpenFlags::default()
                };
                debug_assert!(reads || writes);
                let name = self.running[i].process.file_names[file].clone();
                let fd = self.calls.open(name.as_bytes(), flags, FILE_PERMISSIONS)?;
                self.running[i].descriptors[file] = Some(fd);
                self.running[i].positions[file] = u64::MAX;
                self.log(i, file, "open", None);
                Ok(())
            }
            Action::Close { file } => {
                self.log(i, file, "close", None);
                match self.running[i].descriptors[file].take() {
                    Some(fd) => self.calls.close(fd),
                    None => Ok(()),
                }
            }
            Action::Unlink { file } => {
                match self.calls.unlink(self.running[i].process.file_names[file].as_bytes()) {
                    // Another process of the job has already deleted the file.
                    Err(error) if error == Errno::NoEnt => Ok(()),
                    other => other,
                }
            }
            Action::Advise { file, advice, offset, bytes } => {
                let fd = self.descriptor(i, file)?;
                advise(self.calls, fd, (offset, bytes), advice)
            }
            Action::Transfer { .. } | Action::Sync { .. } | Action::Think { .. } | Action::WaitUntil { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
