//! What a run leaves: its steps, counters by cause, wear, and where they are measured from.

use super::facts::StepOutcome;
use super::phase::{increase, MainPhase};
use crate::requests::{RequestLog, Waiting};
use crate::stats::LatencyUs;
use crate::table::Columns;
use ffslab_fs::{BlockSpace, Unwritten};
use ffslab_sim::{CauseCounts, Causes, Energy, OpCounts, Task, LEFT_BY_SETUP};
use ffslab_system::{MountDone, System};
use ffslab_timeline::StackRow;
use std::collections::BTreeMap;

/// One of several programs.
#[derive(Clone, Debug)]
pub struct OfProgram {
    pub name: String,
    pub background: bool,
    /// How often it did all of its steps.
    pub rounds: u64,
    /// From the start of the measurement to its end.
    pub time_ns: u64,
    /// System calls.
    pub calls: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub latency: LatencyUs,
    pub waiting: Waiting,
    /// Those that it did, if it is not in the background. The main program's are the measured steps.
    pub steps: Vec<StepOutcome>,
    pub titles: Vec<String>,
    /// What [`RequestLog::step_latency_us`] is to be asked for the first one.
    pub first_step: usize,
}

/// Everything that a run leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub setup: Vec<StepOutcome>,
    pub measure: Vec<StepOutcome>,
    pub requests: RequestLog,
    /// Counters of the whole measurement, by who and why; causes that cost nothing are left out.
    pub by_cause: Vec<CauseCounts>,
    pub of_setup: OfSetup,
    /// Time of the whole measurement that has no cause: the program computed, nobody could run.
    pub program_ns: u64,
    pub idle_ns: u64,
    /// See [`ffslab_sim::Sim::tell`]; of the setup, too.
    pub told: Vec<&'static str>,
    /// Main phase.
    pub main: OpCounts,
    /// The same, by who.
    pub main_by_task: Vec<(&'static Task, OpCounts)>,
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
    /// What happened to each erase block. `None`: nobody has asked for it.
    pub film: Option<Columns>,
    /// The main one first. Empty: the measured steps ran alone.
    pub programs: Vec<OfProgram>,
    /// What was done on each of several mounts in the measurement; empty: there is one.
    pub mounts: Vec<MountDone>,
    /// Of flame graphs. `None`: nobody has asked for them.
    pub stacks: Option<Vec<StackRow>>,
    /// When the last of several programs had ended.
    end: Option<StepOutcome>,
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
        let own = self.by_cause.iter().filter(|cause| cause.reason == &LEFT_BY_SETUP);
        own.fold(OpCounts::default(), |sum, cause| sum + cause.counts)
    }

    /// Of what `start` began, on the system on which it ran. All that is known of an outcome is put together here.
    pub(crate) fn of(system: &dyn System, start: &Instants, main: MainPhase, kept: Kept) -> Outcome {
        let sim = system.sim();
        let energy = sim.energy_for_setup() - start.energy_for_setup;
        Outcome {
            setup: kept.setup,
            measure: kept.measure,
            requests: kept.requests,
            by_cause: sim.causes().since(&start.causes),
            of_setup: OfSetup { left: start.left_by_setup, energy },
            program_ns: sim.program_ns() - start.program_ns,
            idle_ns: sim.idle_ns() - start.idle_ns,
            told: sim.told(),
            main: main.counts,
            main_by_task: main.by_task,
            main_time_ns: main.time_ns,
            erases_main: main.erases,
            erases_total: system.erase_counts(),
            erases_formatting: main.formatting_erases,
            programmed_pages: system.programmed_pages(),
            space_before: start.space.clone(),
            space_after: system.block_space(),
            images: kept.images,
            logs: kept.logs,
            film: kept.film,
            programs: kept.programs,
            mounts: gained_on_mounts(system.mounts_done(), &start.mounts),
            stacks: kept.stacks,
            end: kept.end,
        }
    }

    /// What was counted until the end of the measurement.
    pub fn last(&self) -> &StepOutcome {
        self.end.as_ref().or(self.measure.last()).expect("a plan has a measured step")
    }

    /// Bytes that programs read and wrote.
    pub fn user_bytes(&self) -> (u64, u64) {
        let sum = |of: fn(&StepOutcome) -> u64| self.measure.iter().map(of).sum::<u64>();
        if self.programs.is_empty() {
            return (sum(|step| step.facts.user_read_bytes), sum(|step| step.facts.user_written_bytes));
        }
        // Also those of steps that came to no end.
        (
            self.programs.iter().map(|program| program.read_bytes).sum(),
            self.programs.iter().map(|program| program.written_bytes).sum(),
        )
    }

    /// What the system's own counters have gained.
    pub fn counters(&self) -> BTreeMap<&'static str, i64> {
        let mut sums = BTreeMap::new();
        // Steps of several programs overlap.
        let steps = self.end.as_ref().map_or(&self.measure[..], std::slice::from_ref);
        for (name, count) in steps.iter().flat_map(|step| &step.facts.counters) {
            *sums.entry(*name).or_default() += count;
        }
        sums
    }
}

/// What runners have kept of their steps.
#[derive(Default)]
pub(crate) struct Kept {
    pub setup: Vec<StepOutcome>,
    pub measure: Vec<StepOutcome>,
    pub requests: RequestLog,
    pub images: Vec<SavedImage>,
    pub logs: Vec<(String, String)>,
    pub film: Option<Columns>,
    pub programs: Vec<OfProgram>,
    pub end: Option<StepOutcome>,
    /// `None`: nothing was written down.
    pub stacks: Option<Vec<StackRow>>,
}

/// Where the counters of a system stood when a measurement began.
pub(crate) struct Instants {
    causes: Causes,
    program_ns: u64,
    idle_ns: u64,
    space: Vec<BlockSpace>,
    energy_for_setup: Energy,
    left_by_setup: Unwritten,
    mounts: Vec<MountDone>,
}

/// What was done since `before`.
fn gained_on_mounts(mut mounts: Vec<MountDone>, before: &[MountDone]) -> Vec<MountDone> {
    for (mount, before) in mounts.iter_mut().zip(before) {
        mount.read_bytes -= before.read_bytes;
        mount.written_bytes -= before.written_bytes;
        mount.page_programs = mount.page_programs.zip(before.page_programs).map(|(now, before)| now - before);
        mount.erases = increase(&mount.erases, &before.erases);
    }
    mounts
}

impl Instants {
    pub fn of(system: &dyn System, left_by_setup: Unwritten) -> Instants {
        let sim = system.sim();
        Instants {
            causes: sim.causes(),
            program_ns: sim.program_ns(),
            idle_ns: sim.idle_ns(),
            space: system.block_space(),
            energy_for_setup: sim.energy_for_setup(),
            left_by_setup,
            mounts: system.mounts_done(),
        }
    }
}

/// What a `save_image` step took from the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedImage {
    /// Name of the file, as the step gives it.
    pub file: String,
    pub image: Vec<u8>,
}
