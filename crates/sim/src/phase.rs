//! Phases of a run: what waits in memory knows in which one it came there, and whether that one is over.

use crate::reasons::ReasonGuard;
use crate::{Sim, LEFT_BY_SETUP};

/// A part of a run, such as the setup of an experiment or its measured steps. A later one is greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase(u32);

impl Sim {
    /// The next phase begins. What waits in memory was left by the one before. Takes no time.
    pub fn next_phase(&self) {
        self.0.phase.set(Phase(self.phase().0 + 1));
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
}
