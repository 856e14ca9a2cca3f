//! A lock that the running task holds in the middle of a system call, and a background task that needs it.
//!
//! Only kernels whose tasks may lose the CPU there ([`Preemption::Voluntary`]) have turns in vain: the background task gets the CPU,
//! finds the lock taken and sleeps until it is given back. Giving it back wakes the task, but the other one goes on and may
//! have taken the lock again before the task has the CPU. When the task then finds it taken once more, it asks that the lock be
//! handed over to it, and the next release does so (`kernel/locking/mutex.c`, `MUTEX_FLAG_HANDOFF`).

use crate::kept::Contended;
use crate::{Preemption, Sim, Task};

/// At its second turn in vain a task asks for the lock.
const TURNS_UNTIL_HANDOVER: u8 = 2;

impl Sim {
    /// Whether tasks may lose the CPU in the middle of a system call.
    pub fn preempts_calls(&self) -> bool {
        self.0.config.preemption == Preemption::Voluntary
    }

    /// The running task has taken a lock that `contender` needs.
    pub fn takes_lock_from(&self, contender: &Task) {
        let Some(contender) = self.0.causes.borrow().place_of_task(contender, self.1) else { return };
        self.0.contended.set(Contended { is_held: true, contender, ..self.0.contended.get() });
    }

    /// Whether the running task holds it.
    pub fn holds_lock(&self) -> bool {
        self.0.contended.get().is_held
    }

    /// The running task gives it back.
    pub fn gives_lock_back(&self) {
        let mut lock = self.0.contended.get();
        if !std::mem::take(&mut lock.is_held) {
            return;
        }
        lock.is_handed_over = lock.vain_turns >= TURNS_UNTIL_HANDOVER;
        if std::mem::take(&mut lock.waits) {
            self.with_cpu(|cpu| cpu.wake(lock.contender));
        }
        self.0.contended.set(lock);
    }

    /// Whether the lock was given to the contender, so that the running task has to wait for it.
    pub fn lock_is_handed_over(&self) -> bool {
        self.0.contended.get().is_handed_over
    }

    /// The contender has the lock, or does not exist any more.
    pub fn lock_is_had(&self) {
        self.0.contended.set(Contended::default());
    }

    /// Whether the contender has come in vain since this was last asked.
    pub fn came_in_vain(&self) -> bool {
        let lock = self.0.contended.get();
        if lock.came {
            self.0.contended.set(Contended { came: false, ..lock });
        }
        lock.came
    }

    /// A scheduling point between two requests to a driver or in the middle of one: if the running task holds the lock, its
    /// contender may come.
    #[inline]
    pub fn may_sleep_in_request(&self) {
        if self.0.contended.get().is_held {
            self.let_contender_come();
        }
    }

    /// A scheduling point of the task that holds the lock.
    #[cold]
    pub(crate) fn let_contender_come(&self) {
        let lock = self.0.contended.get();
        if !self.comes_in_vain(lock.contender, self.0.config.vain_turn_ns) {
            return;
        }
        let vain_turns = lock.vain_turns.saturating_add(1);
        self.0.contended.set(Contended { waits: true, came: true, vain_turns, ..lock });
    }

    /// A scheduling point of the running task in an operation of the chip for which `contender` has to wait: if the contender is
    /// picked it finds the chip taken, and sleeps until the operation ends.
    pub fn finds_chip_taken(&self, contender: &Task) {
        let Some(contender) = self.0.causes.borrow().place_of_task(contender, self.1) else { return };
        if self.comes_in_vain(contender, 0) {
            self.with_cpu(|cpu| cpu.wake(contender));
        }
    }

    /// Whether the task is picked at a scheduling point at which it can only go to sleep again. Its turn takes `turn_ns`.
    fn comes_in_vain(&self, contender: usize, turn_ns: u64) -> bool {
        if self.0.cpu.borrow().nobody_waits() || !self.with_cpu(|cpu| cpu.may_come_in_vain(contender)) {
            return false;
        }
        self.with_cpu(|cpu| cpu.come_in_vain(contender));
        if turn_ns > 0 {
            self.compute(turn_ns);
        }
        self.with_cpu(|cpu| {
            cpu.sleep(contender, None);
            cpu.switch_back(self.0.chip_uses.get());
        });
        true
    }
}
