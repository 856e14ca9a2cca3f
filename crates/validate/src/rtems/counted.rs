//! A measured run, done: its phases as steps on RTEMS, each counted by itself.

use super::phases::{mount, phases, Phase, ENTRIES};
use super::settings::Settings;
use crate::error::CaseError;
use ffslab_lab::run::{run, Facts, Plan, RunError};
use ffslab_lab::traces::Traces;
use ffslab_machine::file_systems::on_rtems::RtemsFs;
use ffslab_machine::rtems::Machine;
use ffslab_system::System;
use ffslab_workload::Step;
use std::collections::BTreeMap;

/// What a phase did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    pub name: String,
    /// By the names of the measured cases; what is 0 may be missing.
    pub counters: BTreeMap<&'static str, i64>,
}

/// A counter of experiments that the measured cases do not have.
const OF_EXPERIMENTS: &str = "dev_write_bytes_of_setup";
/// Entries for a directory itself and the one above it, which file systems in memory do not have.
const DOTS: u64 = 2;

/// A run that is ready to be done.
pub struct Ready {
    pub phases: Vec<Phase>,
    machine: Machine,
    in_memory: bool,
}

impl Ready {
    /// Errors: settings that RTEMS could not have, a program that is not known.
    pub fn of(settings: &Settings) -> Result<Ready, CaseError> {
        let spec = settings.spec()?;
        let in_memory = matches!(spec.fs, RtemsFs::Memory(_));
        let phases = phases(settings, in_memory)?;
        Ok(Ready { phases, machine: Machine::new(&spec)?, in_memory })
    }

    /// All counters that are compared.
    pub fn names(&self) -> Vec<&'static str> {
        let of_system = self.machine.counters().into_iter().map(|(name, _)| name);
        of_system.filter(|name| *name != OF_EXPERIMENTS).chain(["calls"]).collect()
    }

    /// Does all phases.
    pub fn run(self, watch: &mut dyn FnMut() -> bool) -> Result<Vec<Counted>, RunError> {
        let setup = if self.in_memory { vec![mount()] } else { Vec::new() };
        let steps: Vec<Step> = self.phases.iter().flat_map(|phase| phase.steps.clone()).collect();
        let plan = Plan {
            setup: &setup,
            measure: &steps,
            programs: &[],
            main_steps: (None, steps.len() - 1),
            seed: 1,
            traces: &Traces::default(),
            content_position_bytes: 0,
            probe_logs: false,
            observed: None,
            film: false,
            settles: false,
            pace: None,
            rows_max: 0,
        };
        let outcome = run(Box::new(self.machine), &plan, &mut |_| watch())?;
        let mut facts = outcome.measure.iter().map(|done| &done.facts);
        let mut counted = |phase: &Phase| {
            let of_phase: Vec<&Facts> = facts.by_ref().take(phase.steps.len()).collect();
            count(phase, &of_phase, self.in_memory).map_err(|error| RunError::Step(error.to_string()))
        };
        self.phases.iter().map(&mut counted).collect()
    }
}

/// Sums up what the steps of a phase did.
///
/// Errors: a step ended before its last request.
pub fn count(phase: &Phase, facts: &[&Facts], in_memory: bool) -> Result<Counted, CaseError> {
    let mut counted = Counted { name: phase.name.clone(), ..Counted::default() };
    for (index, (step, done)) in phase.steps.iter().zip(facts).enumerate() {
        if let Some(error) = done.stopped_by {
            return Err(CaseError::Stopped { phase: phase.name.clone(), error });
        }
        for (name, count) in done.counters.iter().filter(|(name, _)| **name != OF_EXPERIMENTS) {
            *counted.counters.entry(name).or_default() += count;
        }
        if index >= phase.uncounted_steps {
            // An open, transfer and close of a small file counts as one call, and seeks do not count.
            *counted.counters.entry("calls").or_default() += step.calls() as i64;
        }
        if let Some(entries) = done.entries {
            let entries = entries + if in_memory { 0 } else { DOTS };
            counted.name = counted.name.replace(ENTRIES, &entries.to_string());
        }
    }
    Ok(counted)
}
