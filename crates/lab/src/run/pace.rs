//! What the program that does the steps computes itself, between its calls and between steps, and how it sleeps.

use super::runner::{Runner, Stop};
use ffslab_profiles::ProgramCosts;
use ffslab_workload::steps::Pattern;
use ffslab_workload::Step;

/// Virtual time is a `u64` of nanoseconds, which ends after 584 years; what is due a while later needs room, too.
const CLOCK_END_NS: u64 = 500 * 366 * 86_400 * 1_000_000_000;

/// After a step, until the program begins the next one.
pub(super) fn between_steps_ns(costs: &ProgramCosts, step: &Step) -> u64 {
    let beside = costs.steps_ns.iter().find(|(name, _)| *name == step.name());
    costs.between_steps_ns + beside.map_or(0, |(_, ns)| *ns)
}

/// After each call that the program times in the step: it notes how long the call took, and makes up the next one.
pub(super) fn after_call_ns(costs: &ProgramCosts, step: &Step) -> u64 {
    match step {
        Step::Requests(requests) => {
            let next_ns = match requests.pattern {
                Pattern::Sequential => costs.next_sequential_ns,
                _ => costs.next_random_ns,
            };
            next_ns + if requests.gap_us.0 > 0 { costs.sleep_ns } else { 0 }
        }
        Step::Append(_) => costs.next_append_ns,
        Step::CreateMany(_) => costs.next_file_ns,
        _ => 0,
    }
}

/// After a step with so many calls that the program has timed, before it looks at the counters: it makes statistics of them.
fn evaluation_ns(costs: &ProgramCosts, calls: u64) -> u64 {
    if calls == 0 {
        return 0;
    }
    let comparisons = (calls as f64 * (calls as f64).log2()) as u64;
    costs.evaluation_ns + costs.evaluation_call_ns * calls + costs.evaluation_comparison_ns * comparisons
}

impl Runner<'_> {
    /// The program computes for so long. It may lose the CPU at each tick, as a program can outside the kernel.
    pub(super) fn compute_between_ticks(&mut self, duration_ns: u64) {
        let tick_ns = self.system.sim().tick_ns();
        let mut left_ns = duration_ns;
        while left_ns > 0 {
            let until_tick_ns = tick_ns - self.system.now_ns() % tick_ns;
            let part_ns = left_ns.min(until_tick_ns);
            self.system.compute_ns(part_ns);
            self.system.read_clock_ns();
            left_ns -= part_ns;
        }
    }

    /// nanosleep(2) of a step.
    pub(super) fn sleep(&mut self, duration_ns: u64) -> Result<(), Stop> {
        if self.system.now_ns().saturating_add(duration_ns) > CLOCK_END_NS {
            return Err(Stop::Failed(
                "the machine would be up for more than 500 years: its clock ends then".to_string(),
            ));
        }
        self.system.sleep_ns(duration_ns);
        Ok(())
    }

    /// The program makes statistics of the calls that it has timed in a step. Returns when it has done so, if it takes time.
    pub(super) fn evaluate(&mut self, calls: u64) -> Option<u64> {
        let evaluation_ns = self.pace.map(|costs| evaluation_ns(costs, calls)).filter(|ns| *ns > 0)?;
        self.compute_between_ticks(evaluation_ns);
        Some(self.system.now_ns())
    }

    /// A timed call of the step is over.
    pub(super) fn prepare_next_call(&mut self) {
        if self.after_call_ns > 0 {
            self.compute_between_ticks(self.after_call_ns);
        }
    }
}
