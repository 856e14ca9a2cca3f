//! Guards that set, for the time of a scope, why operations happen and which task runs, and restore both at its end.

use crate::cause::{Placed, UNSTATED};
use crate::phase::Phase;
use crate::{Energy, Reason, Sim, Task, LEFT_BY_SETUP, OTHER};

impl Sim {
    /// Sets why the following flash operations happen, until the guard is dropped. [`LEFT_BY_SETUP`] cannot be replaced
    /// until its own guard is dropped: everything that this write-back makes necessary, garbage collection included, does
    /// not belong to the measured workload. A reason that no layer has registered counts as [`OTHER`].
    pub fn because(&self, reason: &'static Reason) -> ReasonGuard {
        let before = self.0.reason.get();
        if before.what != &LEFT_BY_SETUP {
            let place = self.0.causes.borrow().place_of_reason(reason);
            debug_assert!(place.is_some(), "nobody has registered the reason \"{reason:?}\"");
            self.0.reason.set(place.map_or(UNSTATED, |place| Placed { what: reason, place }));
        }
        ReasonGuard { sim: self.clone(), before }
    }

    /// Whether the current operations happen for data that the setup left.
    #[inline]
    pub fn is_for_setup(&self) -> bool {
        self.reason() == &LEFT_BY_SETUP
    }

    /// The next phase begins. What waits in memory was left by the one before. Takes no time.
    pub fn next_phase(&self) {
        self.0.phase.set(self.phase().next());
    }

    #[inline]
    pub fn phase(&self) -> Phase {
        self.0.phase.get()
    }

    /// The phase to which a change belongs that is made now. What is changed because the setup's data are written belongs to the
    /// setup, too.
    #[inline]
    pub fn phase_of_change(&self) -> Phase {
        if self.is_for_setup() {
            Phase::default()
        } else {
            self.phase()
        }
    }

    /// Whether what was changed in that phase was left by it, because another one is running.
    #[inline]
    pub fn was_left(&self, changed_in: Phase) -> bool {
        changed_in < self.phase()
    }

    /// For the time of its writing: sets [`LEFT_BY_SETUP`] as [`Sim::because`] does, if it was left.
    pub fn because_left(&self, changed_in: Phase) -> Option<ReasonGuard> {
        self.because_left_if(self.was_left(changed_in))
    }

    /// As [`Sim::because_left`], where it is known.
    pub fn because_left_if(&self, it_was: bool) -> Option<ReasonGuard> {
        it_was.then(|| self.because(&LEFT_BY_SETUP))
    }

    /// The part of [`Sim::energy`] that was used to write data left by the setup.
    pub fn energy_for_setup(&self) -> Energy {
        self.0.energy_for_setup.get()
    }

    /// Sets the reason as [`Sim::because`] does, unless a reason is set already.
    pub fn because_if_none(&self, reason: &'static Reason) -> Option<ReasonGuard> {
        (self.reason() == &OTHER).then(|| self.because(reason))
    }

    pub fn reason(&self) -> &'static Reason {
        self.0.reason.get().what
    }

    /// Lets `task` run (nested in the task that was running) until the guard is dropped. If the interrupted task was
    /// writing data left by the setup, this reason does not apply to `task`.
    pub fn run_as(&self, task: &'static Task) -> RunGuard {
        let place = self.0.causes.borrow().place_of_task(task, self.1);
        debug_assert!(place.is_some(), "nobody has spawned the task \"{task:?}\"");
        let task = place.map_or(self.0.running.get(), |place| Placed { what: task, place });
        self.with_cpu(|cpu| cpu.switch_to(task.place, self.0.chip_uses.get()));
        self.0.running.set(task);
        let reason = self.0.reason.get();
        if self.is_for_setup() {
            self.0.reason.set(UNSTATED);
        }
        RunGuard { sim: self.clone(), reason }
    }
}

/// Restores the reason that was in force before [`Sim::because`].
pub struct ReasonGuard {
    sim: Sim,
    before: Placed<Reason>,
}

impl Drop for ReasonGuard {
    fn drop(&mut self) {
        self.sim.0.reason.set(self.before);
    }
}

/// Ends a turn begun by [`Sim::run_as`].
pub struct RunGuard {
    sim: Sim,
    reason: Placed<Reason>,
}

impl Drop for RunGuard {
    fn drop(&mut self) {
        self.sim.0.reason.set(self.reason);
        let running = self.sim.with_cpu(|cpu| {
            cpu.switch_back(self.sim.0.chip_uses.get());
            cpu.running()
        });
        self.sim.0.running.set(self.sim.task_at(running));
    }
}
