//! The main phase of a run: between which two instants it lies, and what it did.

use super::facts::StepOutcome;
use ffslab_sim::{Causes, OpCounts, Task};
use ffslab_system::System;

/// State at the start of the main phase.
pub(crate) struct Boundary {
    counts: OpCounts,
    causes: Causes,
    time_ns: u64,
    erases: Vec<u32>,
    formatting_erases: Vec<u32>,
}

/// What the main phase did.
pub(crate) struct MainPhase {
    pub counts: OpCounts,
    pub time_ns: u64,
    pub erases: Vec<u32>,
    pub formatting_erases: Vec<u32>,
    pub by_task: Vec<(&'static Task, OpCounts)>,
}

impl Boundary {
    pub fn of(system: &dyn System, step: Option<&StepOutcome>) -> Boundary {
        Boundary {
            counts: step.map_or_else(OpCounts::default, |step| step.counts),
            causes: system.sim().causes(),
            time_ns: step.map_or(0, |step| step.time_ns),
            erases: system.erase_counts(),
            formatting_erases: system.formatting_erases(),
        }
    }

    pub fn until(&self, system: &dyn System, step: &StepOutcome) -> MainPhase {
        let causes = system.sim().causes();
        let of_task = |task: &'static Task| (task, causes.of_task(task) - self.causes.of_task(task));
        MainPhase {
            counts: step.counts - self.counts,
            time_ns: step.time_ns - self.time_ns,
            erases: increase(&system.erase_counts(), &self.erases),
            formatting_erases: increase(&system.formatting_erases(), &self.formatting_erases),
            by_task: causes.tasks().map(of_task).collect(),
        }
    }
}

/// What counters of each block have gained.
pub(super) fn increase(after: &[u32], before: &[u32]) -> Vec<u32> {
    after.iter().zip(before).map(|(after, before)| after - before).collect()
}
