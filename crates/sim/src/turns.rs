//! Scheduling points: who gets the CPU next, and which mount that is.
//!
//! Several mounts may share a machine; each has background tasks of its own. A [`Sim`] handle belongs to a mount, and the tasks
//! that it makes known are that mount's. Who runs them the machine says once for each mount ([`Sim::mounts_run_by`]). At a
//! scheduling point of one mount the CPU may choose a task of another; then it runs inside
//! that scheduling point. If the other mount is in the middle of something itself, further down on the stack of turns, the turns
//! above it end first, as with [`crate::Switch::Yield`].

use crate::cause::Placed;
use crate::{cpu, GivesTurn, Mount, Sim, Spent, Task};
use std::rc::Rc;

/// What became of a task that the CPU has chosen.
pub(crate) enum Elsewhere {
    Ran,
    IsBusy,
    /// It belongs to the mount that asks.
    IsHere(&'static Task),
}

impl Sim {
    /// The running task hands memory over that is freed when nobody can look at it any more (`call_rcu`).
    pub fn frees_later(&self) {
        if self.config().grace_period_thread {
            let now_ns = self.now_ns();
            self.with_cpu(|cpu| {
                if let Some(periods) = &mut cpu.grace_periods {
                    periods.hand_over(now_ns);
                }
            });
        }
    }

    /// A scheduling point of the running task: decides whether another task gets the CPU now. See [`Switch`]. Tasks of other
    /// mounts have run when it returns.
    #[inline]
    pub fn resched(&self) -> Switch {
        if self.stays() {
            return Switch::Stay;
        }
        loop {
            match self.with_cpu(|cpu| cpu.resched(self.0.chip_uses.get())) {
                cpu::Choice::Stay => return Switch::Stay,
                cpu::Choice::Yield => return Switch::Yield,
                cpu::Choice::Run(place) => match self.give_turn_elsewhere(place) {
                    Elsewhere::Ran => {}
                    Elsewhere::IsBusy => return Switch::Yield,
                    Elsewhere::IsHere(task) => return Switch::Run(task),
                },
            }
        }
    }

    /// [`Sim::resched`] in the middle of a driver that several mounts share: no task of another mount may run here.
    pub fn resched_in_driver(&self) -> Switch {
        if self.stays() {
            return Switch::Stay;
        }
        match self.with_cpu(|cpu| cpu.resched(self.0.chip_uses.get())) {
            cpu::Choice::Stay => Switch::Stay,
            cpu::Choice::Yield => Switch::Yield,
            cpu::Choice::Run(place) => self.task_here(place).map_or(Switch::Yield, Switch::Run),
        }
    }

    /// What [`Sim::resched_in_driver`] has answered cannot be done there: the task gets its turn at a later scheduling point.
    pub fn comes_later(&self) {
        self.with_cpu(cpu::Cpu::comes_later);
    }

    /// At the next scheduling point the task that has had the CPU least goes on: a worker that is not simulated was woken, had the CPU
    /// for a moment and sleeps again, or the running task has asked for another one.
    pub fn gives_others_a_chance(&self) {
        self.with_cpu(cpu::Cpu::ask_to_yield);
    }

    /// Whether it is certain without a closer look that the running task goes on.
    #[inline]
    fn stays(&self) -> bool {
        let cpu = self.0.cpu.borrow();
        cpu.nobody_waits() || (self.now_ns() < self.0.attention_at_ns.get() && cpu.surely_stays())
    }

    /// What happens next while the foreground sleeps. When no task can run, the clock advances to the next timer. Tasks of
    /// other mounts have run when it returns.
    pub fn idle_next(&self) -> Idle {
        loop {
            let choice = self.with_cpu(|cpu| cpu.pick_while_foreground_sleeps());
            match choice {
                Ok(cpu::FOREGROUND) => return Idle::Over,
                Ok(place) => {
                    self.0.idle_reason.set(self.0.reason.get());
                    match self.give_turn_elsewhere(place) {
                        Elsewhere::Ran => {}
                        Elsewhere::IsBusy => unreachable!("the program sleeps in a call of another mount"),
                        Elsewhere::IsHere(task) => return Idle::Run(task),
                    }
                }
                Err(at_ns) => {
                    debug_assert!(at_ns != u64::MAX, "the foreground sleeps without a timer");
                    self.idle_until(at_ns.max(self.now_ns()));
                    self.attend();
                }
            }
        }
    }

    fn idle_until(&self, at_ns: u64) {
        self.0.idle_ns.set(self.idle_ns() + at_ns - self.now_ns());
        self.show_time(Spent::Idle, at_ns - self.now_ns());
        self.0.now_ns.set(at_ns);
        // An idle CPU has no ticks.
        self.0.ticks_paid.set(at_ns / self.tick_ns());
    }

    /// Whether the running background task would be the first to wake if it slept until `at_ns`, as nobody else can run or has a timer by
    /// then. Then it has slept when this returns, and its next turn has begun; which is cheaper than [`Sim::sleep_until`] for a
    /// thread that looks every few seconds of an idle year whether there is something to do.
    pub fn slept_alone_until(&self, at_ns: u64) -> bool {
        if !self.with_cpu(|cpu| cpu.sleeps_alone(at_ns, self.0.chip_uses.get())) {
            return false;
        }
        // The idle time is that of the program which sleeps.
        let task = self.0.running.replace(self.task_at(cpu::FOREGROUND));
        let reason = self.0.reason.replace(self.0.idle_reason.get());
        self.idle_until(at_ns);
        self.0.running.set(task);
        self.0.reason.set(reason);
        true
    }

    /// As [`Sim::spawn`], for a task that a thread of the kernel makes when it is woken for the first time.
    pub fn spawn_when_needed(&self, task: &'static Task) {
        let place = self.0.causes.borrow_mut().add_task(task, self.1);
        self.with_cpu(|cpu| cpu.spawn_when_needed(place, task.nice));
    }

    /// As [`Sim::spawn`], for a thread that is made now and woken at once.
    pub fn spawn_new(&self, task: &'static Task) {
        let place = self.0.causes.borrow_mut().add_task(task, self.1);
        self.with_cpu(|cpu| cpu.spawn_new(place, task.nice));
    }

    // ---- mounts --------------------------------------------------------------------------------------------

    /// The handle of another mount on the same machine.
    pub fn of_mount(&self, mount: Mount) -> Sim {
        Sim(Rc::clone(&self.0), mount)
    }

    /// Says who runs the background tasks of each mount.
    pub fn mounts_run_by(&self, mounts: Vec<GivesTurn>) {
        *self.0.mounts.borrow_mut() = mounts;
    }

    /// The task with this place, if it belongs to this mount.
    pub(crate) fn task_here(&self, place: usize) -> Option<&'static Task> {
        let (task, mount) = self.0.causes.borrow().task_at(place);
        (mount == self.1).then_some(task)
    }

    pub(crate) fn give_turn_elsewhere(&self, place: usize) -> Elsewhere {
        let (task, mount) = self.0.causes.borrow().task_at(place);
        if mount == self.1 {
            return Elsewhere::IsHere(task);
        }
        let gives_turn = self.0.mounts.borrow().get(usize::from(mount.0)).cloned();
        debug_assert!(gives_turn.is_some(), "nobody runs the tasks of {mount:?}");
        if gives_turn.is_some_and(|gives_turn| gives_turn(task)) {
            Elsewhere::Ran
        } else {
            Elsewhere::IsBusy
        }
    }

    /// The task with this place, whichever mount it belongs to.
    pub(crate) fn task_at(&self, place: usize) -> Placed<Task> {
        Placed { what: self.0.causes.borrow().task_at(place).0, place }
    }
}

/// Answer of [`Sim::resched`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// The running task goes on.
    Stay,
    /// Run this task first, inside [`Sim::run_as`], then ask again.
    Run(&'static Task),
    /// The running task must return, so that the task below it on the stack of turns can go on.
    Yield,
}

/// Answer of [`Sim::idle_next`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// The foreground's sleep is over and it has the CPU.
    Over,
    /// This background task has the CPU.
    Run(&'static Task),
}
