//! The main phase of a run: between which two instants it lies, and what it did.

use super::{by_cause, increase, StepOutcome};
use crate::stack::Stack;
use ffslab_sim::{OpCounts, Task, CAUSES};

/// State at the start of the main phase.
pub(super) struct Boundary {
    counts: OpCounts,
    causes: Box<[OpCounts; CAUSES]>,
    time_ns: u64,
    erases: Vec<u32>,
    formatting_erases: Vec<u32>,
}

/// What the main phase did.
pub(super) struct MainPhase {
    pub counts: OpCounts,
    pub time_ns: u64,
    pub erases: Vec<u32>,
    pub formatting_erases: Vec<u32>,
    pub by_task: Vec<(Task, OpCounts)>,
}

impl Boundary {
    pub fn of(stack: &Stack, step: Option<&StepOutcome>) -> Boundary {
        Boundary {
            counts: step.map_or_else(OpCounts::default, |step| step.counts),
            causes: stack.sim.all_counts(),
            time_ns: step.map_or(0, |step| step.time_ns),
            erases: stack.erase_counts(),
            formatting_erases: stack.formatting_erases(),
        }
    }

    pub fn until(&self, stack: &Stack, step: &StepOutcome) -> MainPhase {
        let causes = by_cause(&self.causes, &stack.sim.all_counts());
        let of_task = |wanted: Task| {
            let counts = causes.iter().filter(|(task, ..)| *task == wanted);
            counts.fold(OpCounts::default(), |sum, (.., counts)| sum + *counts)
        };
        MainPhase {
            counts: step.counts - self.counts,
            time_ns: step.time_ns - self.time_ns,
            erases: increase(&stack.erase_counts(), &self.erases),
            formatting_erases: increase(&stack.formatting_erases(), &self.formatting_erases),
            by_task: Task::ALL.iter().map(|&task| (task, of_task(task))).collect(),
        }
    }
}
