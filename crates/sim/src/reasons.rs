//! Why operations happen, for the time of a scope, and who runs: the guards that restore what was before.

use crate::{Reason, Sim, Task};

impl Sim {
    /// Says why the flash operations that follow happen, until the guard is dropped. [`Reason::LeftBySetup`] stays until the
    /// guard that brought it is dropped: whatever that write-back makes necessary, garbage collection too, is not the
    /// measured workload's.
    pub fn because(&self, reason: Reason) -> ReasonGuard {
        let before = self.0.reason.get();
        if before != Reason::LeftBySetup {
            self.0.reason.set(reason);
        }
        ReasonGuard { sim: self.clone(), before }
    }

    /// Whether what happens now happens for what the setup left.
    #[inline]
    pub fn is_for_setup(&self) -> bool {
        self.reason() == Reason::LeftBySetup
    }

    /// [`Sim::because`] of [`Reason::LeftBySetup`], if that is why.
    pub fn because_of_setup_if(&self, it_is: bool) -> Option<ReasonGuard> {
        it_is.then(|| self.because(Reason::LeftBySetup))
    }

    /// As [`Sim::because`], unless another reason was given before.
    pub fn because_if_none(&self, reason: Reason) -> Option<ReasonGuard> {
        (self.reason() == Reason::Other).then(|| self.because(reason))
    }

    pub fn reason(&self) -> Reason {
        self.0.reason.get()
    }

    /// Lets `task` run (nested in the one that ran) until the guard is dropped. What it does is its own: it does not inherit
    /// that the other one wrote what the setup had left.
    pub fn run_as(&self, task: Task) -> RunGuard {
        self.with_cpu(|cpu| cpu.switch_to(task, self.0.chip_uses.get()));
        self.0.running.set(task);
        let reason = self.0.reason.get();
        if reason == Reason::LeftBySetup {
            self.0.reason.set(Reason::Other);
        }
        RunGuard { sim: self.clone(), reason }
    }
}

/// Restores the reason that was in force before [`Sim::because`].
pub struct ReasonGuard {
    sim: Sim,
    before: Reason,
}

impl Drop for ReasonGuard {
    fn drop(&mut self) {
        self.sim.0.reason.set(self.before);
    }
}

/// Ends a turn begun by [`Sim::run_as`].
pub struct RunGuard {
    sim: Sim,
    reason: Reason,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.sim.0.reason.set(self.reason);
        let running = self.sim.with_cpu(|cpu| {
            cpu.switch_back(self.sim.0.chip_uses.get());
            cpu.running()
        });
        self.sim.0.running.set(running);
    }
}
