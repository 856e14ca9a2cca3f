//! An interactive session: a machine whose system calls are made one by one from outside, by Python.
//!
//! It runs the steps of experiments, too, and what it did is summed up as the result of a variant, so that a program that
//! is really run (SQLite) ends in the same tables and reports as an experiment.

mod calls;

use crate::activity::Activity;
use crate::columns::{BlockColumns, RequestColumns};
use crate::counts::{CauseSummary, Counts};
use crate::error::LabError;
use crate::experiment::initial::session_settles;
use crate::observed::{Observed, Observing, StackColumns};
use crate::result::{EnergySummary, Labels, VariantSummary};
use crate::run::{Boundary, Facts, Instants, Kept, Outcome, Runner, StepBegun, StepOutcome};
use crate::slowest::SlowCall;
use crate::state::{packed, unpacked};
use crate::traces::Traces;
pub use ffslab_flash::Torn;
use ffslab_machine::spec::{MachineSpec, State, EPOCH_S};
use ffslab_machine::stack::Stack;
use ffslab_machine::StackTable;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::{Causes, FORMATTING};
use ffslab_system::{Answer, Fd, System};
use ffslab_text::toml_text::{friendlier, named};
use ffslab_timeline::StackRow;
use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A stack with nothing mounted, and the calls made on it so far.
pub struct Session {
    runner: Runner<'static>,
    spec: MachineSpec,
    keys: StackTable,
    base_dir: PathBuf,
    /// Names of open files, for the rows of calls.
    names: BTreeMap<Fd, String>,
    setup: Vec<StepOutcome>,
    measured: Option<Measured>,
    /// Until the result is asked for; then what was written down.
    pub observing: Option<Observing>,
    stacks: Option<Vec<StackRow>>,
    /// Number of the next call within its step.
    next_i: u64,
}

/// The measurement, once it has begun.
struct Measured {
    start: Instants,
    /// All that was measured is the main phase.
    boundary: Boundary,
    titles: Vec<String>,
    steps: Vec<StepOutcome>,
    running: Option<(StepBegun, Facts)>,
}

/// The result of a session as that of a variant.
#[derive(Clone, Debug)]
pub struct SessionResult {
    pub summary: VariantSummary,
    pub requests: RequestColumns,
    pub blocks: BlockColumns,
    /// `None`: nobody has asked for them.
    pub stacks: Option<StackColumns>,
}

/// What a stack has done since it was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SessionTotals {
    #[serde(flatten)]
    pub counts: Counts,
    /// Of these, those that made a new partition usable.
    pub formatting: Counts,
    /// Above idle. Null: nothing is known of it.
    #[serde(rename = "energy_uJ")]
    pub energy_uj: Option<EnergySummary>,
    pub time_us: f64,
}

/// The machine behind a system, where Linux runs on it.
pub fn linux_of(system: &mut dyn System) -> Option<&mut Stack> {
    system.as_any_mut()?.downcast_mut()
}

/// A step written as a JSON object, as in a measured case.
///
/// Errors: unknown steps and keys, values that nothing could run.
pub fn read_step(json: &str) -> Result<Step, LabError> {
    let step: Step = serde_json::from_str(json)
        .map_err(|error| LabError::Input(format!("step {json}: {}", friendlier(&error.to_string()))))?;
    step.check().map_err(|text| LabError::Input(format!("{}: {text}", step.title())))?;
    Ok(step)
}

impl Session {
    /// A stack from the keys of an experiment's `[stack]` table. `seed` is that of the file content that steps write;
    /// files that keys and steps name are found from `base_dir`.
    ///
    /// Errors: unknown keys, profiles and file systems; a partition or an image that does not fit.
    pub fn new(stack: toml::Table, seed: u64, base_dir: &Path) -> Result<Session, LabError> {
        Session::at(stack, seed, base_dir, EPOCH_S)
    }

    /// The same with a time of day at virtual time 0, in seconds since 1970. It only enters time stamps.
    pub fn at(stack: toml::Table, seed: u64, base_dir: &Path, epoch_s: u64) -> Result<Session, LabError> {
        Session::made(stack, seed, base_dir, epoch_s, None, |system| system)
    }

    /// [`Session::new`] of a machine that was switched off: `held` is what [`Session::held`] gave then.
    ///
    /// Errors: as there; bytes that are damaged, or of another machine.
    pub fn restored(stack: toml::Table, seed: u64, base_dir: &Path, held: &[u8]) -> Result<Session, LabError> {
        Session::made(stack, seed, base_dir, EPOCH_S, Some(held), |system| system)
    }

    /// What the medium holds without power, wear included, and the time. What waits in memory is not in it.
    ///
    /// Errors: a system whose medium cannot be copied.
    pub fn held(&self) -> Result<Vec<u8>, LabError> {
        let system = self.system();
        let medium = system.snapshot().map_err(|error| LabError::Input(error.to_string()))?;
        let state = State { medium, at_ns: system.now_ns(), content_position_bytes: self.runner.content.position() };
        packed(&state).map_err(|error| LabError::Input(error.to_string()))
    }

    /// [`Session::new`], whose calls go to what `wrap` makes of the machine.
    ///
    /// Errors: as there.
    pub fn wrapped(
        stack: toml::Table,
        seed: u64,
        base_dir: &Path,
        wrap: impl FnOnce(Box<dyn System>) -> Box<dyn System>,
    ) -> Result<Session, LabError> {
        Session::made(stack, seed, base_dir, EPOCH_S, None, wrap)
    }

    fn made(
        stack: toml::Table,
        seed: u64,
        base_dir: &Path,
        epoch_s: u64,
        held: Option<&[u8]>,
        wrap: impl FnOnce(Box<dyn System>) -> Box<dyn System>,
    ) -> Result<Session, LabError> {
        // Keys come from a program: a message names the key, and no line.
        let table =
            StackTable::of(stack).map_err(|error| LabError::Input(format!("stack: {}", named(&error, None))))?;
        let (mut spec, keys) = table.machine(base_dir)?;
        spec.set_epoch_s(epoch_s);
        let other = || LabError::input("what was saved is damaged, or is of another machine");
        let state = held.map(|held| unpacked(held, &spec).ok_or_else(other)).transpose()?;
        let system = wrap(spec.build(state.as_ref())?);
        let mut runner = Runner::new(system, seed, Cow::Owned(Traces::default()), Box::new(|_| true));
        runner.begin_setup();
        Ok(Session {
            runner,
            spec,
            keys,
            base_dir: base_dir.to_path_buf(),
            names: BTreeMap::new(),
            setup: Vec::new(),
            measured: None,
            observing: None,
            stacks: None,
            next_i: 0,
        })
    }

    /// The stack's keys with the board's values filled in.
    pub fn keys(&self) -> &StackTable {
        &self.keys
    }

    /// What its machine is made of, to make another one.
    pub fn machine_spec(&self) -> &MachineSpec {
        &self.spec
    }

    /// The machine, whichever system runs on it.
    pub fn system(&self) -> &dyn System {
        &*self.runner.system
    }

    pub fn system_mut(&mut self) -> &mut dyn System {
        &mut *self.runner.system
    }

    /// The machine with Linux on it; `None`: another system runs on it.
    pub fn linux(&self) -> Option<&Stack> {
        self.runner.system.as_any()?.downcast_ref()
    }

    /// See [`Session::linux`].
    pub fn linux_mut(&mut self) -> Option<&mut Stack> {
        linux_of(&mut *self.runner.system)
    }

    /// What an erased partition is at the begin, as experiments say it: "settled", or "fresh", which is what it is where nobody says
    /// so. See [`Session::mount`].
    ///
    /// Errors: another text.
    pub fn begins(&mut self, initial: &str) -> Result<(), LabError> {
        self.runner.settles = session_settles(initial).map_err(LabError::Input)?;
        Ok(())
    }

    /// Mounts. Behind the first mount, unless it is measured, time passes until the blocks of a new partition are usable, where
    /// that was asked for.
    ///
    /// Errors: it cannot be mounted.
    pub fn mount(&mut self, options: &[String]) -> Result<(), LabError> {
        self.runner.system.mount(options)?;
        self.runner.settle_mounted()?;
        self.is_settled_once_mounted();
        Ok(())
    }

    /// What waits to be erased behind a later mount is the work of whoever made it wait.
    fn is_settled_once_mounted(&mut self) {
        self.runner.settles &= !self.runner.system.is_mounted();
    }

    /// The same before a mount that is measured: an erased partition is mounted once, unmounted, and switched off and on.
    ///
    /// Errors: it cannot be unmounted, or does not start again.
    pub fn settle(&mut self, options: &[String]) -> Result<(), LabError> {
        Ok(self.runner.settle_erased(options)?)
    }

    /// Power fails and comes back: open files and whatever was in memory are gone.
    ///
    /// Errors: the system does not start again.
    pub fn crash(&mut self) -> Result<(), LabError> {
        self.names.clear();
        Ok(self.runner.crash()?)
    }

    /// The power goes away at the `operations`-th program or erase from now; see [`ffslab_flash::Chip::cut_power_after`].
    pub fn cut_power_after(&mut self, operations: u64, torn: Torn) -> Answer<()> {
        self.runner.system.cut_power_after(operations, torn)
    }

    /// Flash operations, energy and time since the stack was made.
    pub fn totals(&self) -> SessionTotals {
        let sim = self.runner.system.sim();
        let now_us = ns_to_us(sim.now_ns() - sim.config().uptime_ns);
        let formatting = sim.causes().of_reason(&FORMATTING).into();
        let energy_uj = self.spec.no_energy().is_none().then(|| sim.energy().into());
        SessionTotals { counts: sim.total().into(), formatting, energy_uj, time_us: now_us }
    }

    /// Flash operations since the stack was made, by who and why; causes that cost nothing are left out.
    pub fn causes(&self) -> Vec<CauseSummary> {
        let causes = self.runner.system.sim().causes().since(&Causes::default());
        causes.iter().map(CauseSummary::of).collect()
    }

    /// The slowest calls since the measurement began.
    pub fn slowest(&self) -> Vec<SlowCall> {
        self.runner.log.slowest_calls()
    }

    /// What the machine has done so far: work of the CPU, functions of the file system, tasks.
    pub fn activity(&self) -> Activity {
        Activity::of(self.runner.system.sim())
    }

    /// Free space of the mounted file system.
    pub fn free_bytes(&mut self) -> Option<u64> {
        self.runner.system.free_bytes()
    }

    // ---- measuring -----------------------------------------------------------------------------------------

    /// A measured step begins; the first one begins the measurement. What happens between two steps is counted with the
    /// later one. A step that is still running ends.
    pub fn begin_step(&mut self, title: &str) {
        self.end_step();
        let measured = self.measured.get_or_insert_with(|| Measured {
            start: self.runner.begin_measurement(),
            boundary: Boundary::of(&*self.runner.system, None),
            titles: Vec::new(),
            steps: Vec::new(),
            running: None,
        });
        self.next_i = 0;
        let begun = self.runner.step_begins(measured.steps.len());
        measured.titles.push(title.to_string());
        measured.running = Some((begun, Facts::default()));
        self.runner.system.sim().step_begins(|| title.to_string(), title);
    }

    /// Writes down what happens from now until the result is asked for.
    ///
    /// Errors: the file cannot be made.
    pub fn observe(&mut self, observed: &Observed) -> Result<(), LabError> {
        self.observing = Some(observed.start(self.runner.system.sim(), &[]).map_err(LabError::Input)?);
        Ok(())
    }

    /// Something that a reader of the results should know; kept with the step that is running.
    pub fn note(&mut self, text: &str) {
        if let Some((_, facts)) = self.measured.as_mut().and_then(|measured| measured.running.as_mut()) {
            facts.notes.push(text.to_string());
        }
    }

    /// The measured step that is running ends.
    pub fn end_step(&mut self) {
        if let Some(measured) = &mut self.measured {
            if let Some((begun, facts)) = measured.running.take() {
                measured.steps.push(self.runner.step_ends(begun, facts));
            }
        }
    }

    /// Runs a step of the experiments' vocabulary: a measured step of its own once the measurement has begun and no step
    /// is running, part of the running step, or else setup.
    ///
    /// Errors: what is wrong with the step, or why it cannot be done.
    pub fn run_step(&mut self, step: &Step) -> Result<Facts, LabError> {
        let traces = self.runner.traces.to_mut();
        traces.forget_changed(step, &self.base_dir);
        traces.read(std::iter::once(step), &self.base_dir, None)?;
        match &mut self.measured {
            None => {
                let outcome = self.runner.step("setup", self.setup.len(), step)?;
                self.is_settled_once_mounted();
                let facts = outcome.facts.clone();
                self.setup.push(outcome);
                Ok(facts)
            }
            Some(measured) => {
                if let Some((_, running)) = &mut measured.running {
                    let facts = self.runner.part_of_step(step)?;
                    running.user_read_bytes += facts.user_read_bytes;
                    running.user_written_bytes += facts.user_written_bytes;
                    running.notes.extend(facts.notes.iter().cloned());
                    running.where_compressed = facts.where_compressed.clone().or(running.where_compressed.take());
                    return Ok(facts);
                }
                let outcome = self.runner.step("measure", measured.steps.len(), step)?;
                let facts = outcome.facts.clone();
                measured.titles.push(step.title());
                measured.steps.push(outcome);
                Ok(facts)
            }
        }
    }

    /// What was measured so far, as a variant called `name` with what `axes` (a JSON object) chose.
    ///
    /// Errors: nothing was measured; a policy failed.
    pub fn result(&mut self, name: &str, axes_json: &str) -> Result<SessionResult, LabError> {
        let axes: BTreeMap<String, toml::Value> =
            serde_json::from_str(axes_json).map_err(|error| LabError::Input(format!("axes: {error}")))?;
        let axes: Vec<_> = axes.into_iter().collect();
        self.end_step();
        if let Some(why) = self.runner.system.sim().given_up() {
            return Err(LabError::Input(why));
        }
        let measured = self.measured.as_ref().and_then(|measured| Some((measured, measured.steps.last()?)));
        let Some((measured, last)) = measured else {
            return Err(LabError::input("nothing was measured: begin a step before the calls"));
        };
        let system = &*self.runner.system;
        if let Some(observing) = self.observing.take() {
            self.stacks = Some(observing.finish().map_err(LabError::Input)?);
        }
        let kept = Kept {
            setup: self.setup.clone(),
            measure: measured.steps.clone(),
            requests: self.runner.log.clone(),
            images: Vec::new(),
            logs: Vec::new(),
            film: None,
            programs: Vec::new(),
            end: None,
            stacks: None,
        };
        let outcome = Outcome::of(system, &measured.start, measured.boundary.until(system, last), kept);
        let labels = Labels { name, axes: &axes, steps: measured.titles.clone() };
        let summary = VariantSummary::of(labels, self.keys.clone(), &self.spec, &outcome);
        let mut blocks = BlockColumns::default();
        blocks.extend(name, &outcome);
        let requests = RequestColumns::of(name, outcome.requests);
        let stacks = self.stacks.clone().map(|rows| StackColumns::of(name, rows));
        Ok(SessionResult { summary, requests, blocks, stacks })
    }
}
