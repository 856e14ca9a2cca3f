//! What runs steps: the system, what is open on it, and what is kept of what it does.

use super::facts::{Facts, StepOutcome};
use super::looping::Numbers;
use super::outcome::{Instants, SavedImage};
use crate::error::LabError;
use crate::film::Film;
use crate::fio;
use crate::requests::RequestLog;
use crate::traces::Traces;
use ffslab_fs::{BlockSpace, Errno};
use ffslab_machine::MachineError;
use ffslab_profiles::ProgramCosts;
use ffslab_sim::{Energy, OpCounts, FORMATTING};
use ffslab_system::{Answer, Fd, Refusal, System, SystemError};
use ffslab_workload::Content;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A step could not be done; one line that names it.
    Step(String),
    /// The progress function asked to stop.
    Interrupted,
}

impl From<RunError> for LabError {
    fn from(error: RunError) -> LabError {
        match error {
            RunError::Step(text) => LabError::Input(text),
            RunError::Interrupted => LabError::Interrupted,
        }
    }
}

/// A machine that cannot be built is found before its first step, so this names none.
impl From<MachineError> for RunError {
    fn from(error: MachineError) -> RunError {
        RunError::Step(error.to_string())
    }
}

/// Reports progress: calls done so far; `false` asks to stop.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Calls between two looks at the progress function.
pub(crate) const WATCH_EVERY: u64 = 256;

pub(crate) struct Runner<'a> {
    pub(crate) system: Box<dyn System + 'a>,
    pub(crate) content: Content,
    /// Open files by name.
    pub(super) open: BTreeMap<String, OpenFile>,
    pub(super) numbers: Numbers,
    pub(crate) log: RequestLog,
    pub(crate) images: Vec<SavedImage>,
    pub(super) logs: Vec<(String, String)>,
    /// Of the data bases of all its programs.
    pub(super) sqlite_locks: ffslab_sqlite::Locks,
    /// Of the measured `fio` steps, by their number.
    pub(crate) ready_jobs: BTreeMap<usize, fio::Ready>,
    pub(crate) measuring: bool,
    /// See [`super::Plan::settles`].
    pub(crate) settles: bool,
    pub(crate) start: Start,
    pub(crate) traces: Cow<'a, Traces>,
    pub(super) calls: u64,
    pub(super) watch: Box<Watch<'a>>,
    pub(crate) step: u32,
    /// Calls of this step that the program makes without timing them.
    pub(super) untimed_calls: u64,
    pub(crate) pace: Option<&'a ProgramCosts>,
    /// See [`super::pace::after_call_ns`], of the step that runs.
    pub(super) after_call_ns: u64,
    pub(super) film: Option<Film>,
}

/// What a runner holds between steps, but for the system: what is open, and what is kept of what it did.
pub(crate) struct Begun {
    pub(crate) content: Content,
    pub(super) open: BTreeMap<String, OpenFile>,
    numbers: Numbers,
    pub(crate) log: RequestLog,
    pub(crate) images: Vec<SavedImage>,
    pub(crate) logs: Vec<(String, String)>,
    sqlite_locks: ffslab_sqlite::Locks,
    pub(crate) ready_jobs: BTreeMap<usize, fio::Ready>,
}

/// Where a runner stands at the end of the setup.
#[derive(Clone, Copy)]
pub(crate) struct Stands {
    start: Start,
    settles: bool,
    /// Calls of the setup, from which progress is reckoned on.
    calls: u64,
    step: u32,
    untimed_calls: u64,
    after_call_ns: u64,
}

impl Stands {
    pub(crate) fn calls(&self) -> u64 {
        self.calls
    }
}

impl Begun {
    /// Of the `number`th program that begins beside this one, from 1, with jobs of its own: each writes bytes of its own. Locks
    /// are the machine's.
    pub(crate) fn beside(&self, seed: u64, number: u64, ready_jobs: BTreeMap<usize, fio::Ready>) -> Begun {
        Begun {
            content: Content::new(seed.wrapping_add(number)),
            open: BTreeMap::new(),
            numbers: self.numbers.clone(),
            log: RequestLog::default(),
            images: Vec::new(),
            logs: Vec::new(),
            sqlite_locks: self.sqlite_locks.clone(),
            ready_jobs,
        }
    }

    /// Closes the files that its steps have opened, as at the end of a program.
    pub(crate) fn close_all(&mut self, system: &mut dyn System) -> Answer<()> {
        close_each(std::mem::take(&mut self.open), system)
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(system: Box<dyn System + 'a>, seed: u64, traces: Cow<'a, Traces>, watch: Box<Watch<'a>>) -> Self {
        Runner {
            system,
            content: Content::new(seed),
            open: BTreeMap::new(),
            numbers: Numbers::default(),
            log: RequestLog::default(),
            images: Vec::new(),
            logs: Vec::new(),
            sqlite_locks: ffslab_sqlite::Locks::default(),
            ready_jobs: BTreeMap::new(),
            measuring: false,
            settles: false,
            start: Start::default(),
            traces,
            calls: 0,
            watch,
            step: 0,
            untimed_calls: 0,
            pace: None,
            after_call_ns: 0,
            film: None,
        }
    }

    /// One that goes on with measured steps, which are reckoned from `start`.
    pub(crate) fn measuring(
        system: Box<dyn System + 'a>,
        begun: Begun,
        start: Start,
        traces: Cow<'a, Traces>,
        watch: Box<Watch<'a>>,
    ) -> Self {
        let Begun { content, open, numbers, log, images, logs, sqlite_locks, ready_jobs } = begun;
        Runner {
            system,
            content,
            open,
            numbers,
            log,
            images,
            logs,
            sqlite_locks,
            ready_jobs,
            measuring: true,
            settles: false,
            start,
            traces,
            calls: 0,
            watch,
            step: 0,
            untimed_calls: 0,
            pace: None,
            after_call_ns: 0,
            film: None,
        }
    }

    /// One that goes on where another one stood at the end of its setup.
    pub(crate) fn going_on(
        system: Box<dyn System + 'a>,
        begun: Begun,
        stands: Stands,
        traces: Cow<'a, Traces>,
        watch: Box<Watch<'a>>,
    ) -> Self {
        let Stands { start, settles, calls, step, untimed_calls, after_call_ns } = stands;
        let measuring = Runner::measuring(system, begun, start, traces, watch);
        Runner { measuring: false, settles, calls, step, untimed_calls, after_call_ns, ..measuring }
    }

    /// Where it stands between two steps.
    pub(crate) fn stands(&self) -> Stands {
        let &Runner { start, settles, calls, step, untimed_calls, after_call_ns, .. } = self;
        Stands { start, settles, calls, step, untimed_calls, after_call_ns }
    }

    /// What it holds beside the system.
    pub(crate) fn into_begun(self) -> Begun {
        let Runner { content, open, numbers, log, images, logs, sqlite_locks, ready_jobs, .. } = self;
        Begun { content, open, numbers, log, images, logs, sqlite_locks, ready_jobs }
    }

    /// Closes the files that steps have opened, as at the end of a program.
    pub(crate) fn close_all(&mut self) -> Answer<()> {
        close_each(std::mem::take(&mut self.open), &mut *self.system)
    }

    /// Names of the files that steps have opened.
    pub(crate) fn open_names(&self) -> Vec<String> {
        self.open.keys().cloned().collect()
    }

    /// Closes the files that steps have opened, but for some.
    pub(crate) fn close_all_but(&mut self, names: &[String]) -> Answer<()> {
        let (keep, close) = std::mem::take(&mut self.open).into_iter().partition(|(name, _)| names.contains(name));
        self.open = keep;
        close_each(close, &mut *self.system)
    }

    /// Counters and time of setup steps are reckoned from here.
    pub(crate) fn begin_setup(&mut self) {
        self.start = Start::of(&*self.system);
    }

    /// Those of measured steps from here; their calls are kept.
    pub(crate) fn begin_measurement(&mut self) -> Instants {
        self.begin_setup();
        self.measuring = true;
        let left_by_setup = self.system.unwritten();
        self.system.sim().next_phase();
        Instants::of(&*self.system, left_by_setup)
    }

    /// Names and descriptors of the files that steps have opened.
    pub(crate) fn each_open(&self, each: &mut dyn FnMut(&str, Fd)) {
        self.open.iter().for_each(|(name, open)| each(name, open.fd));
    }

    /// Ends a state: whatever is mounted is unmounted, as a shutdown does.
    pub(crate) fn shut_down(&mut self) -> Result<(), SystemError> {
        if !self.system.is_mounted() {
            return Ok(());
        }
        self.close_all()?;
        Ok(self.system.umount()?)
    }

    /// Power is lost and comes back.
    ///
    /// Errors: the system does not start again.
    pub(crate) fn crash(&mut self) -> Result<(), SystemError> {
        self.open.clear();
        self.system.crash()?;
        match self.pace.map_or(0, |costs| costs.boot_ns) {
            0 => {}
            boot_ns => self.system.sleep_ns(boot_ns),
        }
        Ok(())
    }

    /// Power is lost, comes back, and the file system is mounted.
    ///
    /// Errors: as those of a mount.
    pub(crate) fn boot(&mut self, options: &[String]) -> Result<(), SystemError> {
        self.crash()?;
        self.system.mount(options)
    }

    /// What the runner does before a step. Its answer is for [`Runner::step_ends`].
    pub(crate) fn step_begins(&mut self, index: usize) -> StepBegun {
        self.step = index as u32;
        self.untimed_calls = 0;
        let first_row = self.log.len();
        StepBegun { first_row, at_ns: self.step_clock_ns(), counters: self.system.counters() }
    }

    pub(crate) fn step_ends(&mut self, begun: StepBegun, facts: Facts) -> StepOutcome {
        let ended_ns = self.step_clock_ns();
        let rows = begun.first_row..self.log.len();
        let after_ns = self.evaluate((rows.len() as u64).saturating_sub(self.untimed_calls)).unwrap_or(ended_ns);
        self.show_free_blocks();
        self.system.sim().step_ends();
        StepOutcome {
            elapsed_ns: ended_ns - begun.at_ns,
            rows,
            facts: Facts { counters: gained(&begun.counters, &self.system.counters()), ..facts },
            ..self.start.until(&mut *self.system, after_ns)
        }
    }

    /// Tells who watches the machine how many erase blocks hold nothing.
    #[inline]
    fn show_free_blocks(&self) {
        let is_free = |held: &&BlockSpace| held.valid_bytes == 0 && held.invalid_bytes == 0;
        let free = || self.system.block_space().iter().filter(is_free).count() as u64;
        self.system.sim().tells_free_blocks(free);
    }

    /// The measuring program reads the clock before and after each measured step.
    fn step_clock_ns(&mut self) -> u64 {
        if self.measuring {
            self.system.step_clock_ns()
        } else {
            self.system.now_ns()
        }
    }

    /// Keeps a log; what comes under a name that is there already is added to it.
    pub(super) fn keep_log(&mut self, name: &str, text: &str) {
        match self.logs.iter_mut().find(|(known, _)| known == name) {
            Some((_, before)) => before.push_str(text),
            None => self.logs.push((name.to_string(), text.to_string())),
        }
    }

    /// One call is done: looks at the progress function now and then, and whether a layer has given up.
    pub(super) fn tick(&mut self) -> Result<(), Stop> {
        self.calls += 1;
        self.show_free_blocks();
        if let Some(film) = &mut self.film {
            film.call_done(&*self.system);
        }
        if self.calls.is_multiple_of(WATCH_EVERY) && !(self.watch)(self.calls) {
            return Err(Stop::Interrupted);
        }
        match self.system.sim().given_up() {
            Some(why) => Err(Stop::Failed(why)),
            None => Ok(()),
        }
    }
}

/// Where the clock and the counters of a system stood when steps began that are reckoned from there.
#[derive(Clone, Copy, Default)]
pub(crate) struct Start {
    pub(crate) at_ns: u64,
    counts: OpCounts,
    formatting: OpCounts,
    energy: Energy,
}

impl Start {
    fn of(system: &dyn System) -> Start {
        let sim = system.sim();
        let formatting = sim.causes().of_reason(&FORMATTING);
        Start { at_ns: system.now_ns(), counts: sim.total(), formatting, energy: sim.energy() }
    }

    /// What was counted since, at a clock reading. What belongs to a step alone is left out.
    pub(crate) fn until(&self, system: &mut dyn System, now_ns: u64) -> StepOutcome {
        let sim = system.sim();
        StepOutcome {
            counts: sim.total() - self.counts,
            time_ns: now_ns - self.at_ns,
            energy: sim.energy() - self.energy,
            formatting: sim.causes().of_reason(&FORMATTING) - self.formatting,
            fs_free_bytes: system.free_bytes(),
            ..StepOutcome::default()
        }
    }
}

fn close_each(open: BTreeMap<String, OpenFile>, system: &mut dyn System) -> Answer<()> {
    open.into_values().try_for_each(|open| system.close(open.fd))
}

/// A file that a step has opened.
#[derive(Clone, Copy)]
pub(super) struct OpenFile {
    pub(super) fd: Fd,
    /// Where read(2) and write(2) go on, as far as it is known.
    pub(super) position: Option<u64>,
    /// `O_APPEND`.
    pub(super) appends: bool,
}

/// A step that is under way.
pub(crate) struct StepBegun {
    first_row: usize,
    at_ns: u64,
    counters: Vec<(&'static str, i64)>,
}

/// What a system's own counters have gained, as far as it is not 0.
pub(super) fn gained(before: &[(&'static str, i64)], now: &[(&'static str, i64)]) -> BTreeMap<&'static str, i64> {
    let gained = now.iter().zip(before).map(|((name, now), (_, before))| (*name, now - before));
    gained.filter(|(_, count)| *count != 0).collect()
}

/// Why a step ended early.
pub(super) enum Stop {
    Failed(String),
    Interrupted,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        // The only reason of a step for "no such device".
        if refusal.errno() == Errno::NoDev {
            return Stop::Failed("ENODEV: nothing is mounted: a mount step must come before".to_string());
        }
        Stop::Failed(refusal.to_string())
    }
}

impl From<SystemError> for Stop {
    fn from(error: SystemError) -> Stop {
        Stop::Failed(error.to_string())
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Failed(text)
    }
}
