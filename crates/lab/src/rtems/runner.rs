//! Runs the steps of a variant on RTEMS and keeps what happened.

use super::machine::{below, Machine, MachineCounts};
use super::RtemsSpec;
use crate::calls::Calls;
use crate::fio;
use crate::image::SavedImage;
use crate::requests::{Call, CallOp, RequestLog};
use crate::run::{by_cause, Facts, OfSetup, Outcome, RunError, StepOutcome, Watch, WATCH_EVERY};
use crate::traces::Traces;
use ffslab_fs::Errno;
use ffslab_sim::{Energy, OpCounts};
use ffslab_workload::steps::{self, Failure, OpenFlag, Step};
use ffslab_workload::Content;
use std::collections::BTreeMap;

/// Permissions of new files and directories.
pub(super) const FILE_PERMISSIONS: u32 = 0o644;
const DIRECTORY_PERMISSIONS: u32 = 0o755;

pub(super) type Done = Result<Facts, Stop>;

/// Why a step ended early.
pub(super) enum Stop {
    Failed(String),
    Interrupted,
}

impl From<Errno> for Stop {
    fn from(error: Errno) -> Stop {
        Stop::Failed(error.to_string())
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Failed(text)
    }
}

pub(super) struct Runner<'a> {
    pub machine: Machine,
    pub content: Content,
    /// Open files by name.
    pub open: BTreeMap<String, u32>,
    pub log: RequestLog,
    images: Vec<SavedImage>,
    logs: Vec<(String, String)>,
    ready_jobs: BTreeMap<usize, fio::Ready>,
    measuring: bool,
    pub start_ns: u64,
    start_counts: OpCounts,
    traces: &'a Traces,
    calls: u64,
    watch: &'a mut Watch<'a>,
    step: u32,
}

/// Runs setup and measured steps on a new machine. See [`RunError`].
pub fn run<'a>(
    spec: &RtemsSpec,
    (setup, measure): (&[Step], &[Step]),
    (seed, rows_max): (u64, usize),
    traces: &'a Traces,
    watch: &'a mut Watch<'a>,
) -> Result<Outcome, RunError> {
    let mut runner = Runner {
        machine: Machine::new(spec).map_err(RunError::Step)?,
        content: Content::new(seed),
        open: BTreeMap::new(),
        log: RequestLog::keeping(rows_max),
        images: Vec::new(),
        logs: Vec::new(),
        ready_jobs: BTreeMap::new(),
        measuring: false,
        start_ns: 0,
        start_counts: OpCounts::default(),
        traces,
        calls: 0,
        watch,
        step: 0,
    };
    let before = |runner: &mut Runner| {
        runner.start_ns = runner.machine.sim.now_ns();
        runner.start_counts = runner.machine.sim.total();
    };
    before(&mut runner);
    let steps = |runner: &mut Runner, phase: &str, steps: &[Step]| -> Result<Vec<StepOutcome>, RunError> {
        steps.iter().enumerate().map(|(index, step)| runner.step(phase, index, step)).collect()
    };
    let setup = steps(&mut runner, "setup", setup)?;
    runner.prepare_jobs(measure)?;
    before(&mut runner);
    runner.measuring = true;
    let sim = runner.machine.sim.clone();
    let left = runner.machine.libio().measurement_begins();
    let (causes, program_ns, idle_ns) = (sim.all_counts(), sim.program_ns(), sim.idle_ns());
    let measure = steps(&mut runner, "measure", measure)?;
    let last = measure.last().cloned().unwrap_or_default();
    Ok(Outcome {
        setup,
        measure,
        requests: runner.log,
        by_cause: by_cause(&causes, &sim.all_counts()),
        of_setup: OfSetup { left, energy: Energy::default() },
        program_ns: sim.program_ns() - program_ns,
        idle_ns: sim.idle_ns() - idle_ns,
        main: last.counts,
        main_by_task: Vec::new(),
        main_time_ns: last.time_ns,
        erases_main: Vec::new(),
        erases_formatting: Vec::new(),
        erases_total: Vec::new(),
        programmed_pages: Vec::new(),
        space_before: Vec::new(),
        space_after: Vec::new(),
        images: runner.images,
        logs: runner.logs,
    })
}

impl Runner<'_> {
    fn step(&mut self, phase: &str, index: usize, step: &Step) -> Result<StepOutcome, RunError> {
        self.step = index as u32;
        let first_row = self.log.len();
        let (at_ns, counters) = (self.machine.sim.now_ns(), self.machine.counters());
        let facts = self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{phase} step {} ({}): {text}", index + 1, step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })?;
        let now_ns = self.machine.sim.now_ns();
        Ok(StepOutcome {
            counts: self.machine.sim.total() - self.start_counts,
            time_ns: now_ns - self.start_ns,
            energy: Energy::default(),
            formatting: OpCounts::default(),
            elapsed_ns: now_ns - at_ns,
            rows: first_row..self.log.len(),
            fs_free_bytes: None,
            facts: Facts { counters: MachineCounts::since(&self.machine.counters(), &counters), ..facts },
        })
    }

    fn execute(&mut self, step: &Step) -> Done {
        let facts = self.dispatch(step)?;
        self.tick()?;
        Ok(facts)
    }

    fn dispatch(&mut self, step: &Step) -> Done {
        let nothing = |()| Facts::default();
        match step {
            Step::Mount(mount) => Ok(nothing(self.machine.mount(&mount.options)?)),
            Step::Umount(_) => match self.open.keys().next() {
                Some(name) => Err(Stop::Failed(format!("EBUSY: \"{name}\" is still open: close it first"))),
                None => Ok(nothing(self.machine.umount()?)),
            },
            Step::Crash(_) => {
                self.open.clear();
                Ok(nothing(self.machine.crash()?))
            }
            Step::Sleep(step) => {
                self.machine.sleep_ns(step.time_us.ns());
                Ok(Facts::default())
            }
            Step::SaveImage(step) => self.save_image(step),
            Step::Fio(step) => self.fio(step),
            Step::Create(step) => self.create(step),
            Step::Fill(step) => self.fill(step),
            Step::Requests(step) => self.requests(step),
            Step::Uflip(step) => self.uflip(step),
            Step::Append(step) => self.append(step),
            Step::CreateMany(step) => self.create_many(step),
            Step::StatMany(step) => self.stat_many(step),
            Step::ReadMany(step) => self.read_many(step),
            Step::UnlinkMany(step) => self.unlink_many(step),
            Step::Unlink(step) => Ok(nothing(self.machine.unlink(step.file.as_bytes())?)),
            Step::Rename(step) if step.flags.is_empty() => {
                let (from, to) = (below(step.file.as_bytes()), below(step.to.as_bytes()));
                let result = self.machine.libio().rename(&from, &to);
                as_expected(result, step.fails).map(|_| Facts::default())
            }
            Step::Link(step) => {
                let (from, to) = (below(step.file.as_bytes()), below(step.to.as_bytes()));
                let result = self.machine.libio().link(&from, &to);
                as_expected(result, step.fails).map(|_| Facts::default())
            }
            Step::Truncate(step) => {
                let fd = self.machine.open(step.file.as_bytes(), ffslab_linux::OpenFlags::WRITE, 0)?;
                let cut = self.machine.ftruncate(fd, step.bytes.0);
                self.machine.close(fd)?;
                Ok(nothing(cut?))
            }
            Step::Open(step) => self.open(step),
            Step::Close(step) => {
                let fd = self.fd(&step.file)?;
                self.open.remove(&step.file);
                Ok(nothing(self.machine.close(fd)?))
            }
            Step::Fsync(step) => {
                let fd = self.fd(&step.file)?;
                Ok(nothing(self.machine.fsync(fd)?))
            }
            Step::Stat(step) => {
                let result = self.machine.stat(step.file.as_bytes());
                as_expected(result, step.fails).map(|_| Facts::default())
            }
            Step::Mkdir(step) => Ok(nothing(self.machine.mkdir(step.dir.as_bytes(), DIRECTORY_PERMISSIONS)?)),
            Step::Readdir(step) => self.readdir(step),
            other => Err(Stop::Failed(format!("RTEMS {}: leave the step out", why_not(other)))),
        }
    }

    pub(super) fn fd(&self, file: &str) -> Result<u32, Stop> {
        self.open
            .get(file)
            .copied()
            .ok_or_else(|| Stop::Failed(format!("\"{file}\" is not open: an open step must come before")))
    }

    fn open(&mut self, step: &steps::Open) -> Done {
        if self.open.contains_key(&step.file) {
            return Err(Stop::Failed("it is open already: close it first".to_string()));
        }
        let has = |flag| step.flags.contains(&flag);
        for (flag, name) in [(OpenFlag::Sync, "sync"), (OpenFlag::Direct, "direct"), (OpenFlag::Tmpfile, "tmpfile")] {
            if has(flag) {
                return Err(Stop::Failed(format!("RTEMS has no flag \"{name}\" of open: leave it out")));
            }
        }
        let flags = ffslab_linux::OpenFlags {
            read: has(OpenFlag::Rdonly) || has(OpenFlag::Rdwr),
            write: has(OpenFlag::Wronly) || has(OpenFlag::Rdwr),
            create: has(OpenFlag::Create),
            truncate: has(OpenFlag::Truncate),
            append: has(OpenFlag::Append),
            ..ffslab_linux::OpenFlags::READ
        };
        let result = self.machine.open(step.file.as_bytes(), flags, FILE_PERMISSIONS);
        if let Some(fd) = as_expected(result, step.fails)? {
            self.open.insert(step.file.clone(), fd);
        }
        Ok(Facts::default())
    }

    fn readdir(&mut self, step: &steps::Readdir) -> Done {
        let fd = self.machine.open(step.dir.as_bytes(), ffslab_linux::OpenFlags::READ, 0)?;
        while self.machine.libio().read_dir(fd as usize)?.is_some() {}
        self.machine.close(fd)?;
        Ok(Facts::default())
    }

    fn save_image(&mut self, step: &steps::SaveImage) -> Done {
        if step.oob {
            return Err(Stop::Failed("oob = true: a block device has no OOB area".to_string()));
        }
        let Some(image) = self.machine.image() else {
            return Err(Stop::Failed("there is no block device: images are those of rfs and dosfs".to_string()));
        };
        self.images.push(SavedImage { file: step.file.clone(), image });
        Ok(Facts::default())
    }

    // ---- job files ---------------------------------------------------------------------------------------------------

    /// Lays out the files of the measured jobs, at the end of the setup.
    fn prepare_jobs(&mut self, measure: &[Step]) -> Result<(), RunError> {
        for (index, step) in measure.iter().enumerate() {
            let Step::Fio(step) = step else { continue };
            let ready = self.ready(step).map_err(|text| RunError::Step(format!("end of the setup: {text}")))?;
            self.ready_jobs.insert(index, ready);
        }
        Ok(())
    }

    fn ready(&mut self, step: &steps::Fio) -> Result<fio::Ready, String> {
        let name = &step.file;
        let file = self.traces.jobs_of(step).ok_or_else(|| format!("the job file {name} has not been read"))?;
        if !self.machine.is_mounted() {
            return Err(format!("the job file {name} needs files, and nothing is mounted: mount before"));
        }
        fio::prepare(&mut self.machine, &file, &mut self.content).map_err(|text| format!("{name}: {text}"))
    }

    fn fio(&mut self, step: &steps::Fio) -> Done {
        let ready = match self.ready_jobs.remove(&(self.step as usize)) {
            Some(ready) if self.measuring => ready,
            _ => self.ready(step)?,
        };
        let mut kept = fio::Kept::new(self.measuring.then_some((&mut self.log, self.step)), self.start_ns);
        let (calls, watch) = (&mut self.calls, &mut self.watch);
        let mut each = |done: fio::Request| {
            kept.keep(&done);
            *calls += 1;
            !calls.is_multiple_of(WATCH_EVERY) || watch(*calls)
        };
        let report = match fio::run(&mut self.machine, ready, &mut self.content, &mut each) {
            Ok(report) => report,
            Err(fio::FioError::Interrupted) => return Err(Stop::Interrupted),
            Err(fio::FioError::Failed(text)) => return Err(Stop::Failed(text)),
        };
        let facts = kept.facts(&report);
        self.logs.extend(report.logs.iter().cloned());
        Ok(Facts { fio: Some(report), ..facts })
    }

    // ---- what is kept ------------------------------------------------------------------------------------------------

    /// Keeps a call of the measurement.
    pub(super) fn record(&mut self, i: u64, call: Call) {
        if self.measuring {
            self.log.push(self.step, i, call);
        }
    }

    /// One call of `op` between two clock readings, kept under this number.
    pub(super) fn timed_call(
        &mut self,
        i: u64,
        (op, file, offset_bytes): (CallOp, u32, u64),
        call: impl FnOnce(&mut Machine, &mut Content) -> Result<u64, Errno>,
    ) -> Result<u64, Errno> {
        let start_ns = self.machine.sim.now_ns() - self.start_ns;
        let content = &mut self.content;
        let (result, latency_ns) = crate::calls::timed(&mut self.machine, |machine| call(machine, content));
        let bytes = result.unwrap_or(0);
        self.record(i, Call { op, file, offset_bytes, bytes, start_ns, latency_ns });
        result
    }

    /// One call is done: looks at the progress function now and then.
    pub(super) fn tick(&mut self) -> Result<(), Stop> {
        self.calls += 1;
        if self.calls.is_multiple_of(WATCH_EVERY) && !(self.watch)(self.calls) {
            return Err(Stop::Interrupted);
        }
        Ok(())
    }
}

/// Checks a result against the error in which the step is to end. `None`: it ended so.
fn as_expected<T>(result: Result<T, Errno>, fails: Option<Failure>) -> Result<Option<T>, Stop> {
    match (result, fails) {
        (Ok(value), None) => Ok(Some(value)),
        (Err(error), None) => Err(error.into()),
        (Err(error), Some(expected)) if error.name() == expected.name() => Ok(None),
        (Err(error), Some(expected)) => Err(Stop::Failed(format!("{error}, but `fails` says {}", expected.name()))),
        (Ok(_), Some(expected)) => Err(Stop::Failed(format!("it succeeded, but `fails` says {}", expected.name()))),
    }
}

/// What is missing for a step.
fn why_not(step: &Step) -> &'static str {
    match step {
        Step::UbiAttach(_) | Step::UbiDetach(_) | Step::UbiMakeVolume(_) => "has no UBI",
        Step::DropCaches(_) | Step::Fadvise(_) | Step::ReadAhead(_) => {
            "has no page cache (bdbuf_read_ahead_blocks sets its own read-ahead)"
        }
        Step::SetXattr(_) | Step::GetXattr(_) | Step::ListXattr(_) | Step::RemoveXattr(_) => {
            "has no extended attributes"
        }
        Step::Sync(_) => "has no sync for all files: use fsync of a file",
        Step::SyncDirectories(_) => "updates directories at once",
        Step::Rename(_) => "has no flags of rename",
        Step::Saturate(_) | Step::Occupy(_) | Step::Age(_) => "has no state that is made of erase blocks: use create",
        _ => "cannot run it yet",
    }
}
