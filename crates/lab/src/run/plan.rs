//! What is to be run: a plan, and its setup.

use super::facts::StepOutcome;
use super::pace;
use super::runner::{RunError, Runner};
use crate::experiment::Program;
use crate::observed::Observed;
use crate::requests::RequestLog;
use crate::traces::Traces;
use ffslab_profiles::ProgramCosts;
use ffslab_workload::{Content, Step};

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
    pub(super) fn pass_on(&self, runner: &mut Runner, step: &Step) {
        if let Some(costs) = self.pace {
            runner.system.compute_ns(pace::between_steps_ns(costs, step));
            runner.system.read_clock_ns();
        }
    }
}
