//! The one CPU: which task runs, which tasks wait, and when another task gets its turn.
//!
//! A background task is a state machine that runs until it sleeps or yields. Turns are *nested calls*: at a
//! scheduling point the running task asks [`crate::Sim::resched`]; the answer is to go on, to let another task run
//! (inside this call), or to return to the one that it was called from. This keeps one real thread and one real
//! stack, and still lets a background erase and a foreground write interleave as on one CPU.
//!
//! Rules, from Linux 6.1 `kernel/sched/fair.c` on one CPU, `CONFIG_PREEMPT_NONE`:
//! * Virtual run time of a task grows by run time x 1024 / weight; the runnable task with the least runs.
//! * A sleeper that wakes is placed at most half a latency period (3 ms) behind the minimum. A new task is placed a slice ahead of it
//!   (`START_DEBIT`), which is as much beside the thread that makes it. When it runs while all others sleep, the minimum
//!   follows it, so that whoever wakes next has no advantage over whoever wakes after that.
//! * At a tick the running task is asked to yield when it has used up its slice: latency period 6 ms shared by weight.
//! * A waking task asks the running one to yield when it is ahead by more than 1 ms, scaled by its weight.
//! * Of two tasks that have run for equally long, the one that has waited longer is picked (`__enqueue_entity`).
//! * Timers: see `timers.rs`.
//! * The request takes effect at the next scheduling point (system call exit, `cond_resched`, sleep).
//! * Before Linux 4.0 the clock of run times stops from a wake-up's request until then ([`SimConfig::clock_stops_when_asked`]).

use crate::entity::{weight_of, Entity, ABSENT, NICE_0_WEIGHT};
use crate::grace_periods::GracePeriods;
use crate::{ChipLock, NandWait, Preemption, SchedulerClock, SimConfig};

/// What the CPU model answers at a scheduling point: [`crate::Switch`] with the place of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Stay,
    Run(usize),
    Yield,
}

/// Place of the foreground among the tasks. Every task is known here by its place in [`crate::Causes`].
pub const FOREGROUND: usize = 0;

const LATENCY_NS: i64 = 6_000_000;
const MIN_GRANULARITY_NS: i64 = 750_000;
const WAKEUP_GRANULARITY_NS: i64 = 1_000_000;
/// Length of a turn, in uses of the chip. When waits are sleeping, tasks queue for the chip (`kernel/locking/mutex.c`).
/// A task that gives the chip back goes on and takes it again before the waiting task has the CPU; the next time the
/// chip is handed over to the waiting task. So a turn is two uses of the chip.
const USES_PER_TURN: u64 = 2;
/// Length of a nice task's turn: when it gives the chip back it wakes the waiting task, which pre-empts it at its first
/// scheduling point.
const USES_PER_NICE_TURN: u64 = 1;

pub struct Cpu {
    pub(crate) entities: Vec<Entity>,
    /// Turns, innermost last. The foreground is always at the bottom.
    turns: Vec<usize>,
    pub(crate) tick_ns: u64,
    sleeping_wait: bool,
    chip_lock: ChipLock,
    charges_ticks: bool,
    keeps_slice: bool,
    /// See [`SimConfig::tick_is_timer`].
    pub(crate) tick_is_timer: bool,
    /// Each tick takes time, whoever waits.
    ticks_cost: bool,
    pub(crate) charged_until_ns: u64,
    clock_stops_when_asked: bool,
    /// The clock stands still since a wake-up asked the running task to yield ([`SimConfig::clock_stops_when_asked`]).
    clock_stands: bool,
    /// Time for which it has stood still. The task that is picked next is charged for it.
    uncharged_ns: i64,
    run_since_pick_ns: i64,
    min_virtual_run_ns: i64,
    need_resched: bool,
    /// Number of chip uses at the time when the current turn began or was continued.
    uses_at_turn: u64,
    /// Length of the current turn in uses of the chip, if it is not the foreground's turn.
    uses_of_turn: u64,
    /// Number of uses that the foreground had made of its next turn when the background turns began.
    uses_left_over: u64,
    waiting: u32,
    pub(crate) next_timer_ns: u64,
    pub(crate) grace_periods: Option<GracePeriods>,
    slice_ends: bool, // by a thread that sleeps again at once
    /// How often a task has begun to wait.
    queued: u64,
}

impl Cpu {
    pub fn new(config: SimConfig) -> Self {
        let tick_ns = 1_000_000_000 / u64::from(config.tick_rate_hz);
        Self {
            entities: vec![Entity { exists: true, runnable: true, ..ABSENT }],
            turns: vec![FOREGROUND],
            tick_ns,
            sleeping_wait: config.nand_wait == NandWait::Sleep,
            chip_lock: config.chip_lock,
            ticks_cost: config.tick_cost_ns > 0,
            keeps_slice: config.preemption == Preemption::Voluntary,
            tick_is_timer: config.tick_is_timer,
            charges_ticks: config.scheduler_clock == SchedulerClock::Tick,
            charged_until_ns: config.uptime_ns,
            clock_stops_when_asked: config.clock_stops_when_asked && config.nand_wait == NandWait::Busy,
            clock_stands: false,
            uncharged_ns: 0,
            run_since_pick_ns: 0,
            min_virtual_run_ns: 0,
            need_resched: false,
            uses_at_turn: 0,
            uses_of_turn: USES_PER_TURN,
            uses_left_over: 0,
            waiting: 0,
            next_timer_ns: u64::MAX,
            grace_periods: config.grace_period_thread.then(|| GracePeriods::with_ticks(tick_ns)),
            slice_ends: false,
            queued: 0,
        }
    }

    #[inline]
    pub fn running(&self) -> usize {
        self.turns[self.turns.len() - 1]
    }

    #[inline]
    pub fn nobody_waits(&self) -> bool {
        self.waiting == 0
    }

    /// Whether a scheduling point before the next tick or timer changes nothing: the running task goes on, and its run
    /// time can be charged later. This is only so for the default weight, with which charging the time at once or in
    /// parts gives the same result.
    #[inline]
    pub fn surely_stays(&self) -> bool {
        !self.need_resched && !self.sleeping_wait && self.entities[self.running()].weight == NICE_0_WEIGHT
    }

    /// The next instant at which [`Cpu::catch_up`] must be called.
    pub fn attention_at_ns(&self) -> u64 {
        if self.waiting > 0 || self.ticks_cost {
            let next_tick = (self.charged_until_ns / self.tick_ns + 1) * self.tick_ns;
            self.next_timer_ns.min(next_tick)
        } else {
            self.next_timer_ns
        }
    }

    /// Charges the running task up to now, and handles timers and ticks on the way.
    pub fn catch_up(&mut self, now_ns: u64) {
        while let Some(attention) = Some(self.attention_at_ns()).filter(|&at_ns| at_ns <= now_ns) {
            self.charge(attention);
            self.fire_timers(attention);
            if attention.is_multiple_of(self.tick_ns) {
                self.tick(attention);
            }
        }
        self.charge(now_ns);
    }

    fn charge(&mut self, until_ns: u64) {
        if until_ns <= self.charged_until_ns {
            return;
        }
        let ran_ns = if self.charges_ticks {
            (until_ns / self.tick_ns - self.charged_until_ns / self.tick_ns) * self.tick_ns
        } else {
            until_ns - self.charged_until_ns
        } as i64;
        self.charged_until_ns = until_ns;
        if self.clock_stands {
            self.uncharged_ns += ran_ns
        } else {
            self.charge_running(ran_ns)
        }
    }

    fn charge_running(&mut self, ran_ns: i64) {
        let entity = &mut self.entities[self.turns[self.turns.len() - 1]];
        if entity.runnable && !self.sleeping_wait {
            entity.virtual_run_ns += ran_ns * NICE_0_WEIGHT / entity.weight;
            self.run_since_pick_ns += ran_ns;
        }
        self.update_minimum();
    }

    /// A task has been picked: a new slice begins, and a clock that stood still goes on.
    fn begin_turn(&mut self) {
        self.run_since_pick_ns = 0;
        self.let_clock_go_on();
    }

    fn let_clock_go_on(&mut self) {
        let uncharged_ns = self.start_clock();
        if uncharged_ns > 0 {
            self.charge_running(uncharged_ns);
        }
    }

    /// Returns for how long it has stood still.
    fn start_clock(&mut self) -> i64 {
        self.clock_stands = false;
        std::mem::take(&mut self.uncharged_ns)
    }

    fn update_minimum(&mut self) {
        let least = self.entities.iter().filter(|e| e.exists && e.runnable).map(|e| e.virtual_run_ns).min();
        if let Some(least) = least {
            self.min_virtual_run_ns = self.min_virtual_run_ns.max(least);
        }
    }

    pub(crate) fn count_waiting(&mut self) {
        let running = self.running();
        self.waiting = (0..self.entities.len()).filter(|&t| t != running && self.entities[t].runnable).count() as u32;
    }

    /// `check_preempt_tick`.
    fn tick(&mut self, at_ns: u64) {
        let mine = self.entities[self.running()];
        if self.waiting == 0 || !mine.runnable {
            return;
        }
        if self.grace_periods.as_mut().is_some_and(|periods| periods.wake_at(at_ns)) {
            (self.need_resched, self.slice_ends) = (true, true);
        }
        let total: i64 = self.entities.iter().filter(|e| e.runnable).map(|e| e.weight).sum();
        let slice_ns = (LATENCY_NS * mine.weight / total).clamp(MIN_GRANULARITY_NS, LATENCY_NS);
        if self.run_since_pick_ns > slice_ns {
            self.need_resched = true;
        } else if self.run_since_pick_ns >= MIN_GRANULARITY_NS {
            let least = self.least_waiting().map_or(i64::MAX, |t| self.entities[t].virtual_run_ns);
            if mine.virtual_run_ns - least > slice_ns {
                self.need_resched = true;
            }
        }
    }

    fn least_waiting(&self) -> Option<usize> {
        let running = self.running();
        (0..self.entities.len())
            .filter(|&t| t != running && self.entities[t].runnable)
            .min_by_key(|&t| self.order_of(t))
    }

    /// The place among the tasks that can run: the first one is picked. Where waits are sleeping no time is charged, so that run times
    /// are often equal and say nothing.
    fn order_of(&self, task: usize) -> (i64, u64) {
        let queued = if self.sleeping_wait { task as u64 } else { self.entities[task].queued };
        (self.entities[task].virtual_run_ns, queued)
    }

    /// The task begins to wait for the CPU, behind those that have run as long.
    fn queue(&mut self, task: usize) {
        self.queued += 1;
        self.entities[task].queued = self.queued;
    }

    pub fn spawn(&mut self, task: usize, nice: i8) {
        let virtual_run_ns = self.min_virtual_run_ns;
        if task >= self.entities.len() {
            self.entities.resize(task + 1, ABSENT);
        }
        self.entities[task] = Entity { exists: true, weight: weight_of(nice), virtual_run_ns, ..ABSENT };
    }

    /// As [`Cpu::spawn`], for a task that another one makes when it is needed.
    pub fn spawn_when_needed(&mut self, task: usize, nice: i8) {
        self.spawn(task, nice);
        self.entities[task].is_unborn = true;
    }

    /// As [`Cpu::spawn`], for a thread that is made now and woken at once, and so comes a slice later than who made it. Where waits are
    /// sleeping no time is charged, so that it would come later for ever: there it is as one that has been for long.
    pub fn spawn_new(&mut self, task: usize, nice: i8) {
        self.spawn(task, nice);
        self.entities[task].is_unborn = !self.sleeping_wait;
    }

    pub fn kill(&mut self, task: usize) {
        self.entities[task] = ABSENT;
        self.find_next_timer();
        self.count_waiting();
    }

    pub fn wake(&mut self, task: usize) {
        // The minimum follows a new task as soon as that runs (`enqueue_entity`, which calls `update_curr`), even if it has not had
        // any time here.
        let running = self.running();
        if running != task && std::mem::take(&mut self.entities[running].is_ahead) {
            self.update_minimum();
        }
        let floor = self.min_virtual_run_ns - LATENCY_NS / 2;
        let of_new = self.min_virtual_run_ns + LATENCY_NS / 2;
        let entity = &mut self.entities[task];
        if !entity.exists {
            return;
        }
        (entity.wake_at_ns, entity.wake_by_ns) = (u64::MAX, u64::MAX);
        if entity.runnable {
            return;
        }
        entity.runnable = true;
        self.queued += 1;
        entity.queued = self.queued;
        entity.is_ahead |= entity.is_unborn;
        let least = if std::mem::take(&mut entity.is_unborn) { of_new } else { floor };
        entity.virtual_run_ns = entity.virtual_run_ns.max(least);
        let woken = *entity;
        self.find_next_timer();
        self.count_waiting();
        let mine = self.entities[self.running()];
        let granularity_ns = WAKEUP_GRANULARITY_NS * NICE_0_WEIGHT / woken.weight;
        if !mine.runnable || mine.virtual_run_ns - woken.virtual_run_ns > granularity_ns {
            self.need_resched = true;
        }
        // A task that no longer runs is not asked: its scheduling point has come.
        self.clock_stands |= self.clock_stops_when_asked && mine.runnable && self.need_resched;
    }

    pub fn is_runnable(&self, task: usize) -> bool {
        self.entities[task].runnable
    }

    /// Asks the running task to yield.
    pub fn ask_to_yield(&mut self) {
        self.need_resched = true;
    }

    /// Whether the running task was asked to yield.
    pub fn is_asked_to_yield(&self) -> bool {
        self.need_resched
    }

    /// A scheduling point of the running task. `uses`: number of chip uses so far.
    pub fn resched(&mut self, uses: u64) -> Choice {
        // When waits are sleeping, tasks take turns on the chip: each gives way after it has waited for the chip.
        let turn = if self.turns.len() > 1 { self.uses_of_turn } else { USES_PER_TURN };
        let waited = self.sleeping_wait && uses - self.uses_at_turn >= turn;
        if self.waiting == 0 || !(self.need_resched || waited) {
            return Choice::Stay;
        }
        let Some(other) = self.least_waiting() else { return Choice::Stay };
        let mine = self.entities[self.running()];
        // Of two tasks with the same run time, the one that has just run comes second (`__enqueue_entity`).
        let better = self.entities[other].virtual_run_ns <= mine.virtual_run_ns;
        if mine.runnable && !better && !self.sleeping_wait {
            self.goes_on();
            return Choice::Stay;
        }
        if self.turns.contains(&other) {
            // The turn above `other` must end first. A turn in between gets the same answer at its own next scheduling
            // point.
            Choice::Yield
        } else {
            Choice::Run(other)
        }
    }

    /// The running task was asked to yield, and has had the CPU least.
    fn goes_on(&mut self) {
        self.need_resched = false;
        if self.keeps_slice && !std::mem::take(&mut self.slice_ends) {
            self.let_clock_go_on()
        } else {
            self.begin_turn()
        }
    }

    /// A scheduling point of the running task while it holds a lock that `task` needs. `true`: `task` gets the CPU, to find
    /// the lock taken. Another task that gets it here goes on at the next scheduling point at which it can.
    pub fn may_come_in_vain(&mut self, task: usize) -> bool {
        if self.waiting == 0 || !self.need_resched {
            return false;
        }
        let Some(other) = self.least_waiting() else { return false };
        if self.entities[other].virtual_run_ns > self.entities[self.running()].virtual_run_ns {
            self.goes_on();
            return false;
        }
        other == task && !self.turns.contains(&task)
    }

    /// The turn of a task that finds a lock taken: it begins here and ends with [`Cpu::switch_back`].
    pub fn come_in_vain(&mut self, task: usize) {
        self.turns.push(task);
        self.begin_turn();
    }

    /// The task that the kernel picks at this scheduling point can only run at a later one here. If the clock has stood still, that task
    /// is charged for it, as it would be, and the running one for its time from now on.
    pub fn comes_later(&mut self) {
        let uncharged_ns = self.start_clock();
        if let Some(other) = self.least_waiting() {
            let other = &mut self.entities[other];
            other.virtual_run_ns += uncharged_ns * NICE_0_WEIGHT / other.weight;
        }
    }

    /// The running task has been asked to yield and is picked again at once.
    pub fn begin_slice(&mut self) {
        if std::mem::take(&mut self.need_resched) {
            self.begin_turn();
        }
    }

    /// Begins the turn of `task`. Background tasks have a scheduling point after each page. The foreground may have
    /// used the chip for more than one turn since its last scheduling point, and then `task` may do the same.
    pub fn switch_to(&mut self, task: usize, uses: u64) {
        let uses_since = uses - self.uses_at_turn;
        let is_foreground = self.turns.len() == 1;
        let turns_missed = if is_foreground { (uses_since / USES_PER_TURN).max(1) } else { 1 };
        if is_foreground {
            self.uses_left_over = uses_since % USES_PER_TURN;
        }
        self.uses_of_turn = self.uses_of_turns(task, turns_missed);
        self.queue(self.running());
        self.turns.push(task);
        self.picked(uses);
    }

    fn uses_of_turns(&self, task: usize, turns: u64) -> u64 {
        let is_nice = self.entities[task].weight < NICE_0_WEIGHT;
        match self.chip_lock {
            _ if is_nice => turns * USES_PER_NICE_TURN,
            ChipLock::Mutex => turns * USES_PER_TURN,
            ChipLock::Queue => u64::MAX,
        }
    }

    /// Whether the running task, which has its turn while the foreground sleeps, would be the first to wake if it slept until `until_ns`.
    /// Then all is as if it had: what [`Cpu::sleep`], [`Cpu::switch_back`], [`Cpu::wake`] and [`Cpu::switch_to`] come to.
    pub fn sleeps_alone(&mut self, until_ns: u64, uses: u64) -> bool {
        let others_sleep = self.turns.len() == 2 && self.waiting == 0 && !self.clock_stands;
        if !others_sleep || self.entities.iter().any(|entity| entity.wake_at_ns <= until_ns) {
            return false;
        }
        let task = self.running();
        let floor = self.min_virtual_run_ns - LATENCY_NS / 2;
        let entity = &mut self.entities[task];
        if !entity.exists {
            return false;
        }
        entity.virtual_run_ns = entity.virtual_run_ns.max(floor);
        self.charged_until_ns = until_ns;
        self.uses_of_turn = self.uses_of_turns(task, 1);
        self.picked(uses);
        true
    }

    pub fn switch_back(&mut self, uses: u64) {
        if let Some(task) = self.turns.pop() {
            self.queue(task);
        }
        self.picked(uses);
        if self.turns.len() == 1 {
            self.uses_at_turn -= std::mem::take(&mut self.uses_left_over);
        }
        // The interrupted task does not always run next: there may be a third one with less run time.
        let mine = self.entities[self.running()];
        let least = self.least_waiting().map_or(i64::MAX, |task| self.entities[task].virtual_run_ns);
        self.need_resched = mine.runnable && least < mine.virtual_run_ns;
    }

    fn picked(&mut self, uses: u64) {
        (self.need_resched, self.slice_ends) = (false, false);
        self.begin_turn();
        self.uses_at_turn = uses;
        self.count_waiting();
    }

    /// The task to run while the foreground sleeps, or the instant of the next timer.
    pub fn pick_while_foreground_sleeps(&mut self) -> Result<usize, u64> {
        let best = (0..self.entities.len()).filter(|&t| self.entities[t].runnable).min_by_key(|&t| self.order_of(t));
        best.ok_or(self.next_timer_ns)
    }
}
