//! # sim: the one clock, and everything that is counted on it
//!
//! **Role.** Owns virtual time (`u64` nanoseconds), the model of the one CPU (who runs, who waits, when a background task gets
//! its turn), the energy meter per rail, and the counters of flash operations by cause. Every layer holds a cheap clone of the
//! [`Sim`] handle; nothing below knows what stands above.
//!
//! **Follows.** Linux 6.1: `kernel/sched/fair.c` without kernel pre-emption (see [`cpu`]), ticks and timers of `kernel/time/timer.c`.
//!
//! **Leaves out.** More than one CPU, real-time classes, cgroups, CPU frequency, interrupts other than the tick.

pub mod arena;
mod beside;
mod bill;
pub mod cause;
mod clock;
mod config;
mod contended;
pub mod cpu;
mod ending;
pub mod energy;
mod entity;
mod grace_periods;
mod kept;
mod observer;
mod phase;
mod reasons;
mod red_black;
mod seeded;
mod showing;
mod timers;
mod told;
mod turns;
pub mod units;
pub mod work;
mod working;

pub use arena::Arena;
pub use cause::{CauseCounts, Causes, Kind, Mount, Op, OpCounts, OpEvent, Purpose, Reason, Task};
pub use cause::{CALLER, FORMATTING, LEFT_BY_SETUP, OTHER, OTHER_PROGRAM};
pub use config::{ChipLock, NandWait, Preemption, SchedulerClock, SimConfig, TimerWheel};
pub use energy::{Energy, PowerMilliwatt, Rail};
pub use kept::{Bill, GivesTurn, Slice};
pub use observer::{CallDone, EventSink, MediumUnits, Observer, Span, Spent};
pub use phase::Phase;
pub use reasons::{ReasonGuard, RunGuard};
pub use red_black::RedBlackTree;
pub use seeded::Fault;
pub use turns::{Idle, Switch};
pub use work::{CopiedNode, CpuCosts, Function, FunctionTime, MountingCosts, Work, WorkCost, WorkDone};

use cause::{Placed, UNSTATED};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Lets values of a type be equal when their names are, and print as their names: for entries of tables, whose field
/// `name` tells them apart.
#[macro_export]
macro_rules! known_by_name {
    ($entry:ty) => {
        impl PartialEq for $entry {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $entry {}

        impl std::fmt::Debug for $entry {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name)
            }
        }
    };
}

struct State {
    now_ns: Cell<u64>,
    config: SimConfig,
    cpu: RefCell<cpu::Cpu>,
    /// The running task. It is a copy of what the CPU model knows, kept here because every counted operation needs it.
    running: Cell<Placed<Task>>,
    /// Earliest time at which the CPU model has something to do. `advance` only compares the clock with it.
    attention_at_ns: Cell<u64>,
    reason: Cell<Placed<Reason>>,
    phase: Cell<Phase>,
    /// That of the program which slept when a background task got its turn last.
    idle_reason: Cell<Placed<Reason>>,
    causes: RefCell<Causes>,
    /// Behind a pointer, so that what every operation touches stays together.
    waits: Box<RefCell<kept::Waits>>,
    /// Time that belongs to no cause: the program computed by itself, or no task could run.
    program_ns: Cell<u64>,
    idle_ns: Cell<u64>,
    energy: Cell<Energy>,
    /// The part of `energy` that was used because of [`LEFT_BY_SETUP`].
    energy_for_setup: Cell<Energy>,
    /// `None`: work is free.
    cpu_costs: Option<CpuCosts>,
    /// How many hundredths of its price code takes now, see [`Sim::code_takes`].
    code_percent: Cell<u64>,
    work_done: RefCell<[WorkDone; work::WORKS]>,
    /// See [`Work::fills_caches`].
    cold: Cell<bool>,
    functions: [Cell<FunctionTime>; Function::ALL.len()],
    told: RefCell<told::Told>,
    watchers: observer::Watchers,
    operations: Cell<u64>,
    /// How often tasks have had exclusive use of the chip.
    chip_uses: Cell<u64>,
    /// Value of `operations` when the chip was last given back.
    operations_of_uses: Cell<u64>,
    /// Who runs the background tasks of each mount, where there are several.
    mounts: RefCell<Vec<GivesTurn>>,
    contended: Cell<kept::Contended>,
    /// See [`Sim::beside_the_clock`].
    works_beside: Cell<bool>,
    slices: RefCell<Vec<Slice>>,
    /// Up to which tick their cost was charged.
    ticks_paid: Cell<u64>,
    /// See [`Sim::give_up`].
    given_up: RefCell<Option<String>>,
}

/// Handle to the simulation state, in the hands of one mount. Clones share the state; it is not `Send`: one simulation lives
/// in one thread.
#[derive(Clone)]
pub struct Sim(Rc<State>, Mount);

impl Sim {
    /// A machine on which work takes no time.
    pub fn new(config: SimConfig) -> Self {
        Self::with_costs(config, &CpuCosts::FREE)
    }

    pub fn with_costs(config: SimConfig, cpu_costs: &CpuCosts) -> Self {
        let cpu = cpu::Cpu::new(config);
        let state = State {
            now_ns: Cell::new(config.uptime_ns),
            config,
            attention_at_ns: Cell::new(cpu.attention_at_ns()),
            cpu: RefCell::new(cpu),
            running: Cell::new(Placed { what: &CALLER, place: 0 }),
            reason: Cell::new(UNSTATED),
            phase: Cell::default(),
            idle_reason: Cell::new(UNSTATED),
            causes: RefCell::new(Causes::new()),
            waits: Box::default(),
            program_ns: Cell::new(0),
            idle_ns: Cell::new(0),
            energy: Cell::new(Energy::default()),
            energy_for_setup: Cell::new(Energy::default()),
            cpu_costs: (!cpu_costs.is_free()).then_some(*cpu_costs),
            code_percent: Cell::new(100),
            work_done: RefCell::new([WorkDone::default(); work::WORKS]),
            cold: Cell::new(false),
            functions: Default::default(),
            told: RefCell::default(),
            watchers: observer::Watchers::default(),
            operations: Cell::new(0),
            chip_uses: Cell::new(0),
            operations_of_uses: Cell::new(0),
            mounts: RefCell::default(),
            contended: Cell::default(),
            works_beside: Cell::new(false),
            slices: RefCell::default(),
            ticks_paid: Cell::new(config.uptime_ns * u64::from(config.tick_rate_hz) / 1_000_000_000),
            given_up: RefCell::new(None),
        };
        Self(Rc::new(state), Mount::default())
    }

    pub fn config(&self) -> SimConfig {
        self.0.config
    }

    /// Time since the machine was started: [`SimConfig::uptime_ns`] at the beginning.
    pub fn now_ns(&self) -> u64 {
        self.0.now_ns.get()
    }

    /// The tick counter (`jiffies`), 32 bits wide as on the papers' board. Linux starts it 300 s before its overflow
    /// (`include/linux/jiffies.h`, `INITIAL_JIFFIES`).
    pub fn jiffies(&self) -> u32 {
        self.first_jiffy().wrapping_add((self.now_ns() / self.tick_ns()) as u32)
    }

    fn first_jiffy(&self) -> u32 {
        (300 * self.0.config.tick_rate_hz).wrapping_neg()
    }

    pub fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.0.config.tick_rate_hz)
    }

    // ---- causes and counters -------------------------------------------------------------------------------

    /// Makes the reasons of a layer known. Those that are known already keep their places.
    pub fn register(&self, reasons: &[&'static Reason]) {
        self.0.causes.borrow_mut().add_reasons(reasons);
    }

    /// The counters of the present cause.
    #[inline]
    fn with_counts(&self, f: impl FnOnce(&mut OpCounts)) {
        let (task, reason) = (self.0.running.get().place, self.0.reason.get().place);
        f(self.0.causes.borrow_mut().at(task, reason));
    }

    /// Adds one flash operation to the counters of the current cause, and passes it to the sink.
    #[inline]
    pub fn count(&self, op: Op, address: u32, bus_out_bytes: u32, bus_in_bytes: u32, busy_ns: u64) {
        self.0.operations.set(self.0.operations.get() + 1);
        let charged_ns = self.charged(busy_ns);
        self.with_counts(|counts| counts.add(op, bus_out_bytes, bus_in_bytes, charged_ns));
        if self.0.watchers.are_there() {
            self.show_operation(op, address, self.now_ns(), busy_ns, !self.0.works_beside.get());
        }
    }

    /// Adds an operation that a medium has only been told to do, for the current cause. It begins at `at_ns` and keeps its
    /// units busy for `busy_ns`, while the clock stands still and others may go on. What somebody then waits for it is
    /// counted by [`Sim::wait_for_medium`].
    #[inline]
    pub fn count_queued(&self, op: Op, address: u32, bus_out_bytes: u32, bus_in_bytes: u32, at_ns: u64, busy_ns: u64) {
        self.0.operations.set(self.0.operations.get() + 1);
        self.with_counts(|counts| counts.add(op, bus_out_bytes, bus_in_bytes, 0));
        if self.0.watchers.are_there() {
            self.show_operation(op, address, at_ns, busy_ns, false);
        }
    }

    /// Advances the clock to `until_ns`, if that is not over, and counts the time as the medium's for the current cause.
    #[inline]
    pub fn wait_for_medium(&self, until_ns: u64) {
        let waited_ns = until_ns.saturating_sub(self.now_ns());
        if waited_ns > 0 {
            self.with_counts(|counts| counts.busy_ns += self.charged(waited_ns));
            self.show_time(Spent::Medium, waited_ns);
            self.advance(waited_ns);
        }
    }

    /// Notes that the running task gives the chip back after having had it exclusively. With [`NandWait::Sleep`] other
    /// tasks may have waited for it. One request to the driver is one use, however many pages it moves, unless it
    /// needed no flash operation.
    #[inline]
    pub fn chip_used(&self) {
        let operations = self.0.operations.get();
        if self.0.operations_of_uses.replace(operations) != operations {
            self.0.chip_uses.set(self.0.chip_uses.get() + 1);
            self.may_sleep_in_request();
        }
    }

    /// Advances the clock by the time that the NAND driver takes, and counts it for the current cause.
    #[inline]
    pub fn drive(&self, duration_ns: u64) {
        self.with_counts(|counts| counts.driver_ns += self.charged(duration_ns));
        self.show_time(Spent::Driver, duration_ns);
        self.advance(duration_ns);
    }

    /// The same while the driver waits by the clock ([`Sim::advance_by_clock`]).
    #[inline]
    pub fn drive_by_clock(&self, duration_ns: u64) {
        self.with_counts(|counts| counts.driver_ns += self.charged(duration_ns));
        self.show_time(Spent::Driver, duration_ns);
        self.advance_by_clock(duration_ns);
    }

    /// Advances the clock by the time that the program computes between its system calls, and counts it.
    pub fn program_computes(&self, duration_ns: u64) {
        self.0.program_ns.set(self.program_ns() + duration_ns);
        self.show_time(Spent::Program, duration_ns);
        self.advance(duration_ns);
    }

    /// How long the program has computed between its system calls.
    pub fn program_ns(&self) -> u64 {
        self.0.program_ns.get()
    }

    /// How long no task could run. Together with [`Sim::program_ns`] and the times of all causes, this accounts for
    /// every nanosecond since the start.
    pub fn idle_ns(&self) -> u64 {
        self.0.idle_ns.get()
    }

    /// Counters of one cause.
    pub fn counts(&self, task: &Task, reason: &Reason) -> OpCounts {
        self.0.causes.borrow().of(task, reason)
    }

    /// All causes as they are now.
    pub fn causes(&self) -> Causes {
        self.0.causes.borrow().clone()
    }

    /// Sum over all causes.
    pub fn total(&self) -> OpCounts {
        self.0.causes.borrow().total()
    }

    // ---- energy --------------------------------------------------------------------------------------------

    /// Charges `power` for `duration_ns` to its rails (above idle).
    #[inline]
    pub fn consume(&self, power: PowerMilliwatt, duration_ns: u64) {
        let mut energy = self.0.energy.get();
        energy.add(power, duration_ns);
        self.0.energy.set(energy);
        self.show_energy(power, duration_ns);
        if self.is_for_setup() {
            let mut energy = self.0.energy_for_setup.get();
            energy.add(power, duration_ns);
            self.0.energy_for_setup.set(energy);
        }
    }

    pub fn energy(&self) -> Energy {
        self.0.energy.get()
    }

    // ---- the CPU -------------------------------------------------------------------------------------------

    #[inline]
    pub fn running(&self) -> &'static Task {
        self.0.running.get().what
    }

    pub(crate) fn with_cpu<R>(&self, f: impl FnOnce(&mut cpu::Cpu) -> R) -> R {
        let mut cpu = self.0.cpu.borrow_mut();
        cpu.catch_up(self.now_ns());
        let result = f(&mut cpu);
        self.0.attention_at_ns.set(cpu.attention_at_ns());
        result
    }

    /// Makes a background task known, asleep. Of tasks that are equally urgent the one that was made known first comes
    /// first.
    pub fn spawn(&self, task: &'static Task) {
        let place = self.0.causes.borrow_mut().add_task(task, self.1);
        self.with_cpu(|cpu| cpu.spawn(place, task.nice));
    }

    /// What `f` does with a task; nothing if nobody has made it known.
    fn with_task(&self, task: &Task, f: impl FnOnce(&mut cpu::Cpu, usize)) {
        let place = self.0.causes.borrow().place_of_task(task, self.1);
        if let Some(place) = place {
            self.with_cpu(|cpu| f(cpu, place));
        }
    }

    /// Removes a background task and its timers.
    pub fn kill(&self, task: &Task) {
        self.with_task(task, cpu::Cpu::kill);
    }

    /// Lets `task` sleep until another task wakes it.
    pub fn block(&self, task: &Task) {
        self.with_task(task, |cpu, task| cpu.sleep(task, None));
    }

    /// Lets `task` sleep until `at_ns`, or until another task wakes it.
    pub fn sleep_until(&self, task: &Task, at_ns: u64) {
        self.with_task(task, |cpu, task| cpu.sleep(task, Some((at_ns, at_ns))));
    }

    /// Lets `task` sleep until an interrupt between `at_ns` and `by_ns`, at the latest until `by_ns`
    /// (`hrtimer_start_range_ns`), or until another task wakes it.
    pub fn sleep_between(&self, task: &Task, at_ns: u64, by_ns: u64) {
        self.with_task(task, |cpu, task| cpu.sleep(task, Some((at_ns, by_ns))));
    }

    /// The time at which a timer fires that is started now for `delay_ticks`. See [`TimerWheel`].
    pub fn timer_after_ticks(&self, delay_ticks: u32) -> u64 {
        self.timer_from(self.now_ns(), delay_ticks)
    }

    /// The same for a timer that is started at `start_ns`.
    pub fn timer_from(&self, start_ns: u64, delay_ticks: u32) -> u64 {
        let expires = start_ns / self.tick_ns() + u64::from(delay_ticks);
        if self.0.config.timer_wheel == TimerWheel::Exact {
            return expires * self.tick_ns();
        }
        let level = match delay_ticks {
            0..=62 => 0,
            63..=503 => 1,
            504..=4031 => 2,
            4032..=32255 => 3,
            _ => 4,
        };
        let shift = 3 * level;
        // The kernel rounds its counter, which does not begin with 0.
        let begins_at = u64::from(self.first_jiffy());
        ((begins_at + expires + (1 << shift)) >> shift << shift).saturating_sub(begins_at) * self.tick_ns()
    }

    /// Makes `task` runnable.
    pub fn wake(&self, task: &Task) {
        if self.is_observed() && !self.is_runnable(task) {
            self.show(|observer, sim| observer.wakes(task, sim.now_ns()));
        }
        self.with_task(task, cpu::Cpu::wake);
    }

    /// A scheduling point of the running task inside an operation over which it holds a lock that the other tasks need:
    /// whoever gets the CPU finds the lock taken and sleeps again until it is free. So nobody gets on, but the running
    /// task begins a new slice: a task of low priority then waits for a tick that falls outside of operations.
    #[inline]
    pub fn gives_way_to_nobody(&self) {
        if !self.0.cpu.borrow().nobody_waits() {
            self.with_cpu(cpu::Cpu::begin_slice);
        }
    }

    /// How often tasks have used the chip so far.
    pub fn chip_uses(&self) -> u64 {
        self.0.chip_uses.get()
    }

    /// Whether `task` could run if it had the CPU.
    pub fn is_runnable(&self, task: &Task) -> bool {
        let mut is_runnable = false;
        self.with_task(task, |cpu, task| is_runnable = cpu.is_runnable(task));
        is_runnable
    }

    /// Whether the running task goes on at the end of a system call. With [`NandWait::Sleep`] a task gives the CPU away
    /// only when it waits for the chip, unless another task was found to be more urgent.
    pub fn keeps_cpu(&self) -> bool {
        self.0.config.nand_wait == NandWait::Sleep && !self.with_cpu(|cpu| cpu.is_asked_to_yield())
    }

    /// Lets the foreground sleep until `at_ns`. Call [`Sim::idle_next`] until it returns [`Idle::Over`].
    pub fn foreground_sleeps_until(&self, at_ns: u64) {
        self.with_cpu(|cpu| cpu.sleep(cpu::FOREGROUND, Some((at_ns, at_ns))));
    }
}
