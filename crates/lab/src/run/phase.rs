//! The main phase of a run: between which two instants it lies, and what it did.

use super::outcome::{by_cause, increase, StepOutcome};
use ffslab_sim::{OpCounts, Task, CAUSES};
use ffslab_system::System;

/// State at the start of the main phase.
pub(crate) struct Boundary {
    counts: OpCounts,
    causes: Box<[OpCounts; CAUSES]>,
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
    pub by_task: Vec<(Task, OpCounts)>,
}

impl Boundary {
    pub fn of(system: &dyn System, step: Option<&StepOutcome>) -> Boundary {
        Boundary {
            counts: step.map_or_else(OpCounts::default, |step| step.counts),
            causes: system.sim().all_counts(),
            time_ns: step.map_or(0, |step| step.time_ns),
            erases: system.erase_counts(),
            formatting_erases: system.formatting_erases(),
        }
    }

    pub fn until(&self, system: &dyn System, step: &StepOutcome) -> MainPhase {
        let causes = by_cause(&self.causes, &system.sim().all_counts());
        let of_task = |wanted: Task| {
            let counts = causes.iter().filter(|(task, ..)| *task == wanted);
            counts.fold(OpCounts::default(), |sum, (.., counts)| sum + *counts)
        };
        MainPhase {
            counts: step.counts - self.counts,
            time_ns: step.time_ns - self.time_ns,
            erases: increase(&system.erase_counts(), &self.erases),
            formatting_erases: increase(&system.formatting_erases(), &self.formatting_erases),
            by_task: Task::ALL.iter().map(|&task| (task, of_task(task))).collect(),
        }
    }
}
