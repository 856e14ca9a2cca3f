//! Guards that set, for the time of a scope, why operations happen and which task runs, and restore both at its end.

use crate::{Reason, Sim, Task};

impl Sim {
    /// Sets why the following flash operations happen, until the guard is dropped. [`Reason::LeftBySetup`] cannot be
    /// replaced until its own guard is dropped: everything that this write-back makes necessary, garbage collection
    /// included, does not belong to the measured workload.
    pub fn because(&self, reason: Reason) -> ReasonGuard {
        let before = self.0.reason.get();
        if before != Reason::LeftBySetup {
            self.0.reason.set(reason);
        }
        ReasonGuard { sim: self.clone(), before }
    }

    /// Whether the current operations happen for data that the setup left.
    #[inline]
    pub fn is_for_setup(&self) -> bool {
        self.reason() == Reason::LeftBySetup
    }

    /// Sets [`Reason::LeftBySetup`] as [`Sim::because`] does, if `it_is` so.
    pub fn because_of_setup_if(&self, it_is: bool) -> Option<ReasonGuard> {
        it_is.then(|| self.because(Reason::LeftBySetup))
    }

    /// Sets the reason as [`Sim::because`] does, unless a reason is set already.
    pub fn because_if_none(&self, reason: Reason) -> Option<ReasonGuard> {
        (self.reason() == Reason::Other).then(|| self.because(reason))
    }

    pub fn reason(&self) -> Reason {
        self.0.reason.get()
    }

    /// Lets `task` run (nested in the task that was running) until the guard is dropped. If the interrupted task was
    /// writing data left by the setup, this reason does not apply to `task`.
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
