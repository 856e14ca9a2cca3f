//! What the program that does the steps computes itself, between its calls and between steps.

use super::runner::Runner;
use ffslab_workload::Step;

/// How long the program that does the steps computes: a measured case ran on a machine on which that takes time, during which
/// background tasks get on.
pub trait Pace {
    /// After a step, until it begins the next one.
    fn between_steps_ns(&self, _step: &Step) -> u64 {
        0
    }

    /// From a cut of power until the system is up again. Nothing runs meanwhile, but the clocks go on.
    fn boot_ns(&self) -> u64 {
        0
    }

    /// After each call that it times in the step: it notes how long the call took, and makes up the next one.
    fn after_call_ns(&self, _step: &Step) -> u64 {
        0
    }

    /// After a step with so many calls that it has timed, before it looks at the counters: it makes statistics of them.
    fn evaluation_ns(&self, _calls: u64) -> u64 {
        0
    }
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

    /// The program makes statistics of the calls that it has timed in a step. Returns when it has done so, if it takes time.
    pub(super) fn evaluate(&mut self, calls: u64) -> Option<u64> {
        let evaluation_ns = self.pace.map(|pace| pace.evaluation_ns(calls)).filter(|ns| *ns > 0)?;
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
