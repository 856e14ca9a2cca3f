//! Runs the steps of one variant or case on a system and keeps what happened.

mod attributes;
mod execute;
mod facts;
mod images;
mod jobs;
mod many;
mod mtd_loop;
mod names;
mod outcome;
mod phase;
mod postmark;
mod states;
mod transfers;
mod uflip;
mod xattr;

pub use facts::Facts;
pub(crate) use images::check_saves;
pub use images::SavedImage;
pub(crate) use outcome::{Instants, Kept};
pub use outcome::{OfSetup, Outcome, StepOutcome};
pub(crate) use phase::Boundary;

use crate::fio;
use crate::probe_log::ProbeLog;
use crate::requests::RequestLog;
use crate::traces::Traces;
use ffslab_sim::{Energy, OpCounts, FORMATTING};
use ffslab_system::{Fd, Refusal, System};
use ffslab_workload::{Content, Step};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What to run on a system.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub setup: &'a [Step],
    pub measure: &'a [Step],
    /// The main phase: from the end of measured step `.0` (`None`: the start) to the end of step `.1`.
    pub main_steps: (Option<usize>, usize),
    /// Seed of the file content.
    pub seed: u64,
    /// What the `replay` steps name.
    pub traces: &'a Traces,
    /// How far the content that steps write had come in the initial state of the system.
    pub content_position_bytes: usize,
    /// Whether the logs of the probe kit are kept.
    pub probe_logs: bool,
    /// Rows of requests that are kept, see [`RequestLog::keeping`].
    pub rows_max: usize,
}

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// A step could not be done; one line that names it.
    Step(String),
    /// The progress function asked to stop.
    Interrupted,
}

/// Reports progress: calls done so far; `false` asks to stop.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Runs a plan on a system on which nothing is mounted. See [`RunError`].
pub fn run(system: Box<dyn System>, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    let mut runner = Runner::new(system, plan.seed, Cow::Borrowed(plan.traces), Box::new(watch));
    runner.log = RequestLog::keeping(plan.rows_max);
    runner.content = Content::at(plan.seed, plan.content_position_bytes);
    let mut setup = Vec::with_capacity(plan.setup.len());
    runner.begin_setup();
    for (index, step) in plan.setup.iter().enumerate() {
        setup.push(runner.step("setup", index, step)?);
    }
    runner.prepare(plan.measure)?;
    let start = runner.begin_measurement();
    let mut probe = match plan.probe_logs {
        true => Some(ProbeLog::start(&*runner.system).map_err(RunError::Step)?),
        false => None,
    };
    let mut boundary = Boundary::of(&*runner.system, None);
    let mut measure = Vec::with_capacity(plan.measure.len());
    let mut main = None;
    for (index, step) in plan.measure.iter().enumerate() {
        if let Some(probe) = &mut probe {
            probe.mark(runner.system.sim(), step.title());
        }
        let outcome = runner.step("measure", index, step)?;
        if plan.main_steps.0 == Some(index) {
            boundary = Boundary::of(&*runner.system, Some(&outcome));
        }
        if plan.main_steps.1 == index {
            main = Some(boundary.until(&*runner.system, &outcome));
        }
        measure.push(outcome);
    }
    let main = main
        .ok_or_else(|| RunError::Step(format!("the main phase ends with step {}, which is none", plan.main_steps.1)))?;
    if let Some(probe) = probe {
        runner.logs.extend(probe.end(runner.system.sim(), &runner.log));
    }
    let Runner { system, log: requests, images, logs, .. } = runner;
    Ok(Outcome::of(&*system, &start, main, Kept { setup, measure, requests, images, logs }))
}

/// Calls between two looks at the progress function.
pub(crate) const WATCH_EVERY: u64 = 256;

pub(crate) struct Runner<'a> {
    pub(crate) system: Box<dyn System>,
    pub(crate) content: Content,
    /// Open files by name.
    open: BTreeMap<String, OpenFile>,
    pub(crate) log: RequestLog,
    pub(crate) images: Vec<SavedImage>,
    logs: Vec<(String, String)>,
    /// Of the measured `fio` steps, by their number.
    ready_jobs: BTreeMap<usize, fio::Ready>,
    pub(crate) measuring: bool,
    pub(crate) start_ns: u64,
    start_counts: OpCounts,
    start_formatting: OpCounts,
    start_energy: Energy,
    pub(crate) traces: Cow<'a, Traces>,
    calls: u64,
    watch: Box<Watch<'a>>,
    pub(crate) step: u32,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(system: Box<dyn System>, seed: u64, traces: Cow<'a, Traces>, watch: Box<Watch<'a>>) -> Self {
        Runner {
            system,
            content: Content::new(seed),
            open: BTreeMap::new(),
            log: RequestLog::default(),
            images: Vec::new(),
            logs: Vec::new(),
            ready_jobs: BTreeMap::new(),
            measuring: false,
            start_ns: 0,
            start_counts: OpCounts::default(),
            start_formatting: OpCounts::default(),
            start_energy: Energy::default(),
            traces,
            calls: 0,
            watch,
            step: 0,
        }
    }

    /// Counters and time of setup steps are reckoned from here.
    pub(crate) fn begin_setup(&mut self) {
        self.start_ns = self.system.now_ns();
        self.start_counts = self.system.sim().total();
        self.start_formatting = self.system.sim().causes().of_reason(&FORMATTING);
        self.start_energy = self.system.sim().energy();
    }

    /// Those of measured steps from here; their calls are kept.
    pub(crate) fn begin_measurement(&mut self) -> Instants {
        self.begin_setup();
        self.measuring = true;
        let left_by_setup = self.system.measurement_begins();
        Instants::of(&*self.system, left_by_setup)
    }

    pub(crate) fn step(&mut self, phase: &str, index: usize, step: &Step) -> Result<StepOutcome, RunError> {
        let begun = self.step_begins(index);
        let facts = self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{phase} step {} ({}): {text}", index + 1, step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })?;
        Ok(self.step_ends(begun, facts))
    }

    /// Lays out what the measured steps need to find, at the end of the setup.
    pub(crate) fn prepare(&mut self, measure: &[Step]) -> Result<(), RunError> {
        self.prepare_replays(measure)?;
        self.prepare_jobs(measure)
    }

    /// Names and descriptors of the files that steps have opened.
    pub(crate) fn each_open(&self, each: &mut dyn FnMut(&str, Fd)) {
        self.open.iter().for_each(|(name, open)| each(name, open.fd));
    }

    /// Ends a state: whatever is mounted is unmounted, as a shutdown does.
    pub(crate) fn shut_down(&mut self) -> Result<(), String> {
        if !self.system.is_mounted() {
            return Ok(());
        }
        for (_, open) in std::mem::take(&mut self.open) {
            self.system.close(open.fd)?;
        }
        Ok(self.system.umount()?)
    }

    /// Does a step as a part of one that has begun.
    pub(crate) fn part_of_step(&mut self, step: &Step) -> Result<Facts, RunError> {
        self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{}: {text}", step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })
    }

    /// Power is lost and comes back.
    ///
    /// Errors: the system does not start again.
    pub(crate) fn crash(&mut self) -> Result<(), String> {
        self.open.clear();
        self.system.crash()
    }

    /// What the runner does before a step. Its answer is for [`Runner::step_ends`].
    pub(crate) fn step_begins(&mut self, index: usize) -> StepBegun {
        self.step = index as u32;
        let first_row = self.log.len();
        StepBegun { first_row, at_ns: self.step_clock_ns(), counters: self.system.counters() }
    }

    pub(crate) fn step_ends(&mut self, begun: StepBegun, facts: Facts) -> StepOutcome {
        let after_ns = self.step_clock_ns();
        StepOutcome {
            counts: self.system.sim().total() - self.start_counts,
            time_ns: after_ns - self.start_ns,
            energy: self.system.sim().energy() - self.start_energy,
            formatting: self.system.sim().causes().of_reason(&FORMATTING) - self.start_formatting,
            elapsed_ns: after_ns - begun.at_ns,
            rows: begun.first_row..self.log.len(),
            fs_free_bytes: self.system.free_bytes(),
            facts: Facts { counters: begun.counted(&self.system.counters()), ..facts },
        }
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
    fn keep_log(&mut self, name: &str, text: &str) {
        match self.logs.iter_mut().find(|(known, _)| known == name) {
            Some((_, before)) => before.push_str(text),
            None => self.logs.push((name.to_string(), text.to_string())),
        }
    }

    /// One call is done: looks at the progress function now and then.
    fn tick(&mut self) -> Result<(), Stop> {
        self.calls += 1;
        if self.calls.is_multiple_of(WATCH_EVERY) && !(self.watch)(self.calls) {
            return Err(Stop::Interrupted);
        }
        Ok(())
    }
}

/// A file that a step has opened.
#[derive(Clone, Copy)]
struct OpenFile {
    fd: Fd,
    /// Where read(2) and write(2) go on, as far as it is known.
    position: Option<u64>,
    /// `O_APPEND`.
    appends: bool,
}

/// A step that is under way.
pub(crate) struct StepBegun {
    first_row: usize,
    at_ns: u64,
    counters: Vec<(&'static str, i64)>,
}

impl StepBegun {
    /// What the system's own counters have gained since, as far as it is not 0.
    fn counted(&self, now: &[(&'static str, i64)]) -> BTreeMap<&'static str, i64> {
        let gained = now.iter().zip(&self.counters).map(|((name, now), (_, before))| (*name, now - before));
        gained.filter(|(_, count)| *count != 0).collect()
    }
}

/// Why a step ended early.
enum Stop {
    Failed(String),
    Interrupted,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Failed(refusal.to_string())
    }
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Failed(text)
    }
}
