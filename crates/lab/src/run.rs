//! Runs the steps of one variant or case on a system and keeps what happened.

mod attributes;
mod booting;
mod calls;
mod execute;
mod facts;
mod images;
mod jobs;
mod jobs_kept;
mod key_value;
mod looping;
mod many;
mod map;
mod mtd_loop;
mod names;
mod outcome;
mod pace;
mod phase;
mod postmark;
mod runner;
mod settling;
mod sqlite;
mod states;
mod together;
mod transfers;
mod uflip;
mod xattr;

pub use facts::{Facts, StepOutcome};
pub(crate) use images::check_saves;
pub(crate) use outcome::{Instants, Kept};
pub use outcome::{OfProgram, OfSetup, Outcome, SavedImage};
pub(crate) use phase::Boundary;
pub(crate) use runner::{Begun, Runner, Start, StepBegun, WATCH_EVERY};
pub use runner::{RunError, Watch};

use crate::experiment::Program;
use crate::film::Film;
use crate::observed::{Observed, Observing};
use crate::probe_log::ProbeLog;
use crate::requests::RequestLog;
use crate::traces::Traces;
use ffslab_profiles::ProgramCosts;
use ffslab_system::System;
use ffslab_workload::{Content, Step};
use std::borrow::Cow;

/// What to run on a system.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    pub setup: &'a [Step],
    pub measure: &'a [Step],
    /// What runs beside the measured steps.
    pub programs: &'a [Program],
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
    /// Whether what happens to each erase block is kept.
    pub film: bool,
    /// Whether the erase blocks of a new partition are made usable before the measurement: that is done once in the life of a
    /// device, and no cost of a workload.
    pub settles: bool,
    /// Rows of requests that are kept, see [`RequestLog::keeping`].
    pub rows_max: usize,
    /// What is written down of the measured steps.
    pub observed: Option<&'a Observed>,
    /// What the program that does the steps computes itself. `None`: it takes no time.
    pub pace: Option<&'a ProgramCosts>,
}

/// Runs a plan on a system on which nothing is mounted. See [`RunError`].
pub fn run(system: Box<dyn System>, plan: &Plan, watch: &mut Watch) -> Result<Outcome, RunError> {
    if !plan.programs.is_empty() {
        return together::run(system, plan, watch);
    }
    let mut runner = Runner::new(system, plan.seed, Cow::Borrowed(plan.traces), Box::new(watch));
    runner.pace = plan.pace;
    let setup = plan.set_up(&mut runner)?;
    runner.prepare(plan.measure)?;
    let start = runner.begin_measurement();
    let observing = plan.observed.map(|observed| observed.start(runner.system.sim(), &[]));
    let observing = observing.transpose().map_err(RunError::Step)?;
    let mut probe =
        if plan.probe_logs { Some(ProbeLog::start(&*runner.system).map_err(RunError::Step)?) } else { None };
    if plan.film {
        runner.film = Some(Film::start(&*runner.system).map_err(RunError::Step)?);
    }
    let mut boundary = Boundary::of(&*runner.system, None);
    let mut measure = Vec::with_capacity(plan.measure.len());
    let mut main = None;
    for (index, step) in plan.measure.iter().enumerate() {
        if let Some(probe) = &mut probe {
            probe.mark(runner.system.sim(), step.title());
        }
        let outcome = runner.step("measure", index, step)?;
        // The measurement ends with its last step.
        if index + 1 < plan.measure.len() {
            plan.pass_on(&mut runner, step);
        }
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
    let film = runner.film.take().map(|film| film.end(&*runner.system));
    let Runner { system, log: requests, images, logs, .. } = runner;
    let stacks = observing.map(Observing::finish).transpose().map_err(RunError::Step)?;
    let kept = Kept { setup, measure, requests, images, logs, programs: Vec::new(), end: None, film, stacks };
    Ok(Outcome::of(&*system, &start, main, kept))
}

impl Plan<'_> {
    /// Runs the setup.
    pub(crate) fn set_up(&self, runner: &mut Runner) -> Result<Vec<StepOutcome>, RunError> {
        runner.log = RequestLog::keeping(self.rows_max);
        runner.content = Content::at(self.seed, self.content_position_bytes);
        runner.settles = self.settles;
        runner.begin_setup();
        let steps = self.setup.iter().enumerate();
        let mut done = |(index, step)| {
            let outcome = runner.step("setup", index, step)?;
            self.pass_on(runner, step);
            Ok::<StepOutcome, RunError>(outcome)
        };
        let setup = steps.map(&mut done).collect::<Result<_, _>>()?;
        runner.settle_before(self.measure)?;
        Ok(setup)
    }

    /// The program writes down what a step did and reads the next one.
    fn pass_on(&self, runner: &mut Runner, step: &Step) {
        if let Some(costs) = self.pace {
            runner.system.compute_ns(pace::between_steps_ns(costs, step));
            runner.system.read_clock_ns();
        }
    }
}
