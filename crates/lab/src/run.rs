//! Runs the steps of one variant or case on a stack and keeps what happened.

mod execute;
mod facts;
mod images;
mod jobs;
mod many;
mod mtd_loop;
mod names;
mod phase;
mod postmark;
mod states;
mod uflip;
mod xattr;

pub(crate) use facts::file_of_many;
pub use facts::Facts;
use phase::Boundary;

use crate::fio;
use crate::image::SavedImage;
use crate::probe_log::ProbeLog;
use crate::requests::RequestLog;
use crate::stack::{Stack, StackSpec};
use crate::state::State;
use crate::traces::Traces;
use ffslab_fs::BlockSpace;
use ffslab_linux::{Fd, Unwritten};
use ffslab_sim::{cause, Energy, OpCounts, Reason, Task, CAUSES};
use ffslab_workload::{Content, Step};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// What to run.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub stack: &'a StackSpec,
    pub setup: &'a [Step],
    pub measure: &'a [Step],
    /// The main phase: from the end of measured step `.0` (`None`: the start) to the end of step `.1`.
    pub main_steps: (Option<usize>, usize),
    /// Seed of the file content.
    pub seed: u64,
    /// What the `replay` steps name.
    pub traces: &'a Traces,
    /// What the partition holds at the start, instead of what `stack` says.
    pub state: Option<&'a State>,
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

/// What one step did.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Flash operations from the start of the measurement (setup steps: of the setup) to the end of the step.
    pub counts: OpCounts,
    /// Virtual time from the same instant to the end of the step.
    pub time_ns: u64,
    /// Energy above idle from the same instant to the end of the step.
    pub energy: Energy,
    /// Of `counts`, those that made a new partition usable: no cost of what programs do.
    pub formatting: OpCounts,
    /// Between the clock readings before and after the step.
    pub elapsed_ns: u64,
    /// Rows of [`Outcome::requests`]; empty for setup steps.
    pub rows: Range<usize>,
    /// statfs free blocks x block size, while mounted.
    pub fs_free_bytes: Option<u64>,
    pub facts: Facts,
}

/// Everything that a run leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub setup: Vec<StepOutcome>,
    pub measure: Vec<StepOutcome>,
    pub requests: RequestLog,
    /// Counters of the whole measurement, by who and why; causes that cost nothing are left out.
    pub by_cause: Vec<(Task, Reason, OpCounts)>,
    pub of_setup: OfSetup,
    /// Time of the whole measurement that has no cause: the program computed, nobody could run.
    pub program_ns: u64,
    pub idle_ns: u64,
    /// Main phase.
    pub main: OpCounts,
    /// The same, by who.
    pub main_by_task: Vec<(Task, OpCounts)>,
    pub main_time_ns: u64,
    /// Erases of each block of the partition in the main phase, and since the chip was made.
    pub erases_main: Vec<u32>,
    pub erases_total: Vec<u32>,
    /// Of `erases_main`, those that made blocks of a new partition usable.
    pub erases_formatting: Vec<u32>,
    /// Programmed pages of each block at the end.
    pub programmed_pages: Vec<u32>,
    /// What each block holds at the start of the measurement and at its end. Empty: nothing was mounted then.
    pub space_before: Vec<BlockSpace>,
    pub space_after: Vec<BlockSpace>,
    /// Of the `save_image` steps.
    pub images: Vec<SavedImage>,
    /// Logs that steps wrote, by name.
    pub logs: Vec<(String, String)>,
}

/// What the setup had left in memory when the measurement began.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfSetup {
    pub left: Unwritten,
    /// For writing it, of the energy of the measurement.
    pub energy: Energy,
}

impl Outcome {
    /// What writing that took, of the counters of the measurement.
    pub fn counts_of_setup(&self) -> OpCounts {
        let own = self.by_cause.iter().filter(|(_, reason, _)| *reason == Reason::LeftBySetup);
        own.fold(OpCounts::default(), |sum, (.., counts)| sum + *counts)
    }

    /// Of a session, whose main phase is all that was measured.
    pub(crate) fn of_session(
        stack: &Stack,
        start: &Instants,
        setup: Vec<StepOutcome>,
        measure: Vec<StepOutcome>,
        requests: RequestLog,
    ) -> Outcome {
        let end = Instants::of(stack);
        let last = measure.last().cloned().unwrap_or_default();
        let erases_total = stack.erase_counts();
        Outcome {
            setup,
            measure,
            requests,
            by_cause: by_cause(&start.causes, &end.causes),
            of_setup: start.of_setup(&end),
            program_ns: end.program_ns - start.program_ns,
            idle_ns: end.idle_ns - start.idle_ns,
            main: last.counts,
            main_by_task: Vec::new(),
            main_time_ns: last.time_ns,
            erases_main: increase(&erases_total, &start.erases),
            erases_total,
            erases_formatting: increase(&stack.formatting_erases(), &start.formatting_erases),
            programmed_pages: stack.programmed_pages(),
            space_before: start.space.clone(),
            space_after: end.space,
            images: Vec::new(),
            logs: Vec::new(),
        }
    }

    pub fn last(&self) -> &StepOutcome {
        self.measure.last().expect("a plan has a measured step")
    }
}

/// Reports progress: calls done so far; `false` asks to stop.
pub type Watch<'a> = dyn FnMut(u64) -> bool + 'a;

/// Runs a plan on a new stack. See [`RunError`].
pub fn run(plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    let stack = match plan.state {
        Some(state) => Stack::restored(plan.stack, &state.chip, state.at_ns),
        None => Stack::new(plan.stack),
    };
    let mut runner =
        Runner::new(stack.map_err(RunError::Step)?, plan.seed, Cow::Borrowed(plan.traces), Box::new(watch));
    runner.log = RequestLog::keeping(plan.rows_max);
    if let Some(state) = plan.state {
        runner.content = Content::at(plan.seed, state.content_position_bytes);
    }
    let mut setup = Vec::with_capacity(plan.setup.len());
    runner.begin_setup();
    for (index, step) in plan.setup.iter().enumerate() {
        setup.push(runner.step("setup", index, step)?);
    }
    runner.prepare_replays(plan.measure)?;
    runner.prepare_jobs(plan.measure)?;
    let start = runner.begin_measurement();
    let mut probe = plan.probe_logs.then(|| ProbeLog::start(&runner.stack.sim));
    let mut boundary = Boundary::of(&runner.stack, None);
    let mut measure = Vec::with_capacity(plan.measure.len());
    let mut main = None;
    for (index, step) in plan.measure.iter().enumerate() {
        if let Some(probe) = &mut probe {
            probe.mark(&runner.stack.sim, step.title());
        }
        let outcome = runner.step("measure", index, step)?;
        if plan.main_steps.0 == Some(index) {
            boundary = Boundary::of(&runner.stack, Some(&outcome));
        }
        if plan.main_steps.1 == index {
            main = Some(boundary.until(&runner.stack, &outcome));
        }
        measure.push(outcome);
    }
    let main = main
        .ok_or_else(|| RunError::Step(format!("the main phase ends with step {}, which is none", plan.main_steps.1)))?;
    let end = Instants::of(&runner.stack);
    if let Some(probe) = probe {
        runner.logs.extend(probe.end(&runner.stack.sim, plan.stack, &runner.log));
    }
    Ok(Outcome {
        setup,
        measure,
        by_cause: by_cause(&start.causes, &end.causes),
        of_setup: start.of_setup(&end),
        program_ns: end.program_ns - start.program_ns,
        idle_ns: end.idle_ns - start.idle_ns,
        main: main.counts,
        main_by_task: main.by_task,
        main_time_ns: main.time_ns,
        erases_main: main.erases,
        erases_total: runner.stack.erase_counts(),
        erases_formatting: main.formatting_erases,
        programmed_pages: runner.stack.programmed_pages(),
        space_before: start.space,
        space_after: end.space,
        requests: runner.log,
        images: runner.images,
        logs: runner.logs,
    })
}

/// Where the counters of a stack stood.
pub(crate) struct Instants {
    causes: Box<[OpCounts; CAUSES]>,
    program_ns: u64,
    idle_ns: u64,
    space: Vec<BlockSpace>,
    energy_for_setup: Energy,
    /// Of the instant at which a measurement begins.
    left_by_setup: Unwritten,
    erases: Vec<u32>,
    formatting_erases: Vec<u32>,
}

impl Instants {
    pub fn of(stack: &Stack) -> Instants {
        let sim = &stack.sim;
        Instants {
            causes: sim.all_counts(),
            program_ns: sim.program_ns(),
            idle_ns: sim.idle_ns(),
            space: stack.block_space(),
            energy_for_setup: sim.energy_for_setup(),
            left_by_setup: Unwritten::default(),
            erases: stack.erase_counts(),
            formatting_erases: stack.formatting_erases(),
        }
    }

    fn of_setup(&self, end: &Instants) -> OfSetup {
        OfSetup { left: self.left_by_setup, energy: end.energy_for_setup - self.energy_for_setup }
    }
}

/// What counters of each block have gained.
fn increase(after: &[u32], before: &[u32]) -> Vec<u32> {
    after.iter().zip(before).map(|(after, before)| after - before).collect()
}

/// What making a new partition usable has cost since the stack was made, whoever did it.
pub(crate) fn formatting(stack: &Stack) -> OpCounts {
    let counts = stack.sim.all_counts();
    let of_task = |&task: &Task| counts[cause::index(task, Reason::Formatting)];
    Task::ALL.iter().map(of_task).fold(OpCounts::default(), |sum, counts| sum + counts)
}

pub(crate) fn by_cause(before: &[OpCounts; CAUSES], after: &[OpCounts; CAUSES]) -> Vec<(Task, Reason, OpCounts)> {
    let mut rows = Vec::new();
    for &task in Task::ALL {
        for &reason in Reason::ALL {
            let index = cause::index(task, reason);
            let counts = after[index] - before[index];
            if counts != OpCounts::default() {
                rows.push((task, reason, counts));
            }
        }
    }
    rows
}

/// Calls between two looks at the progress function.
pub(crate) const WATCH_EVERY: u64 = 256;

pub(crate) struct Runner<'a> {
    pub(crate) stack: Stack,
    pub(crate) content: Content,
    /// Open files by name.
    open: BTreeMap<String, Fd>,
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
    pub(crate) fn new(stack: Stack, seed: u64, traces: Cow<'a, Traces>, watch: Box<Watch<'a>>) -> Self {
        Runner {
            stack,
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
        self.start_ns = self.stack.sim.now_ns();
        self.start_counts = self.stack.sim.total();
        self.start_formatting = formatting(&self.stack);
        self.start_energy = self.stack.sim.energy();
    }

    /// Those of measured steps from here; their calls are kept.
    pub(crate) fn begin_measurement(&mut self) -> Instants {
        self.begin_setup();
        self.measuring = true;
        let left_by_setup = self.stack.vfs.measurement_begins();
        Instants { left_by_setup, ..Instants::of(&self.stack) }
    }

    pub(crate) fn step(&mut self, phase: &str, index: usize, step: &Step) -> Result<StepOutcome, RunError> {
        let begun = self.step_begins(index);
        let facts = self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{phase} step {} ({}): {text}", index + 1, step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })?;
        Ok(self.step_ends(begun, facts))
    }

    /// Ends a state: whatever is mounted is unmounted, as a shutdown does.
    pub(crate) fn shut_down(&mut self) -> Result<(), String> {
        if self.stack.vfs.fs().is_none() {
            return Ok(());
        }
        for (_, fd) in std::mem::take(&mut self.open) {
            self.stack.vfs.close(fd).map_err(|error| error.to_string())?;
        }
        self.stack.vfs.umount().map_err(|error| error.to_string())
    }

    /// Does a step as a part of one that has begun.
    pub(crate) fn part_of_step(&mut self, step: &Step) -> Result<Facts, RunError> {
        self.execute(step).map_err(|error| match error {
            Stop::Failed(text) => RunError::Step(format!("{}: {text}", step.title())),
            Stop::Interrupted => RunError::Interrupted,
        })
    }

    /// Power is lost and comes back.
    pub(crate) fn crash(&mut self) {
        self.stack.crash();
        self.open.clear();
    }

    /// What the runner does before a step. Its answer is for [`Runner::step_ends`].
    pub(crate) fn step_begins(&mut self, index: usize) -> StepBegun {
        self.step = index as u32;
        let first_row = self.log.len();
        StepBegun { first_row, at_ns: self.step_clock_ns() }
    }

    pub(crate) fn step_ends(&mut self, begun: StepBegun, facts: Facts) -> StepOutcome {
        let after_ns = self.step_clock_ns();
        StepOutcome {
            counts: self.stack.sim.total() - self.start_counts,
            time_ns: after_ns - self.start_ns,
            energy: self.stack.sim.energy() - self.start_energy,
            formatting: formatting(&self.stack) - self.start_formatting,
            elapsed_ns: after_ns - begun.at_ns,
            rows: begun.first_row..self.log.len(),
            fs_free_bytes: self.free_bytes(),
            facts,
        }
    }

    /// The measuring program reads the clock before and after each measured step.
    fn step_clock_ns(&mut self) -> u64 {
        if self.measuring {
            self.stack.vfs.read_clock_ns()
        } else {
            self.stack.sim.now_ns()
        }
    }

    /// Free space of the mounted file system, asked without a system call so that nothing is charged.
    pub(crate) fn free_bytes(&mut self) -> Option<u64> {
        let statfs = self.stack.vfs.fs_mut()?.statfs();
        Some(statfs.blocks_free * u64::from(statfs.block_bytes))
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

/// A step that is under way.
pub(crate) struct StepBegun {
    first_row: usize,
    at_ns: u64,
}

/// Why a step ended early.
enum Stop {
    Failed(String),
    Interrupted,
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Failed(text)
    }
}
