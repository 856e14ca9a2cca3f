//! What the simulated machine is, as far as time is concerned.

/// What the simulated machine is, as far as time is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimConfig {
    /// Timer ticks per second (`CONFIG_HZ`).
    pub tick_rate_hz: u32,
    /// How long the machine has been running when the simulation starts. The tick counter decides which block JFFS2
    /// collects and when timers fire. So two runs that start at different times differ a little, as on real machines.
    pub uptime_ns: u64,
    /// Whether a task holds the CPU or sleeps while the chip works.
    pub nand_wait: NandWait,
    pub scheduler_clock: SchedulerClock,
    pub timer_wheel: TimerWheel,
    pub chip_lock: ChipLock,
    pub preemption: Preemption,
    /// The clock by which run time is charged stops when a wake-up asks the running task to yield, until the next scheduling
    /// point, to save an update of it (`skip_clock_update` in `kernel/sched.c` before Linux 4.0). When the running task is in the
    /// middle of a system call that may be long, and then the task that gets the CPU is charged for that time and has to
    /// wait longer for its next turn.
    pub clock_stops_when_asked: bool,
    /// Whoever waits for the chip asks with each poll whether another task shall run (`cond_resched`, as in `omap_wait` of
    /// `drivers/mtd/nand/omap2.c`). So the flusher can be left after each page, and not only after each batch of pages, and UBI's
    /// thread between an erase and the header that it writes then. It is for file systems whose tasks need no lock that the
    /// waiting task holds; see `Driver::polls_with_resched` of `mtd` for the others.
    pub polls_with_resched: bool,
    /// What each tick takes of the time of the task that runs.
    pub tick_cost_ns: u64,
    /// What a turn in vain takes, see `contended.rs`: from one task to another and back again, for an attempt to take a lock.
    pub vain_turn_ns: u64,
    /// The driver's delays are calibrated loops (`udelay` without a timer behind it, as on ARM before Linux 3.6), which a tick makes
    /// longer, and no waits by the clock.
    pub delays_are_loops: bool,
    /// The tick is a timer among others (`CONFIG_HIGH_RES_TIMERS`). They are in the order in which their ranges end, and an interrupt
    /// fires them up to the first whose range has not begun (`__hrtimer_run_queues` of `kernel/time/hrtimer.c`). The next tick is always
    /// in front of a timer with slack, which so fires when its range ends, unless the machine is idle and has stopped its tick
    /// (`CONFIG_NO_HZ_COMMON`): see `timers.rs`.
    pub tick_is_timer: bool,
    /// A thread of the kernel waits until nobody looks at memory any more that is to be freed, and takes the CPU for a moment at ticks: see
    /// `grace_periods.rs`.
    pub grace_period_thread: bool,
}

/// What a task does while the chip is working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NandWait {
    /// It polls the ready line and holds the CPU.
    Busy,
    /// It sleeps until the ready interrupt, and other tasks run meanwhile.
    Sleep,
}

/// Where the kernel lets another task run although the running one has not asked for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preemption {
    /// At the end of system calls and where a loop takes long (`CONFIG_PREEMPT_NONE`).
    #[default]
    None,
    /// Also wherever a task might have to sleep (`CONFIG_PREEMPT_VOLUNTARY`: `might_sleep` of `include/linux/kernel.h`), so in the
    /// middle of a system call, with locks held that the other task may need. Kernels that are built so also schedule by
    /// groups (`CONFIG_FAIR_GROUP_SCHED`): a task that is picked again at once does not begin a new slice
    /// (`pick_next_task_fair` of `kernel/sched/fair.c`), so that each tick asks it anew.
    Voluntary,
}

/// How tasks that sleep while the chip works take it from each other ([`NandWait::Sleep`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChipLock {
    /// By a mutex, which is handed over to a task that has waited for too long (`kernel/locking/mutex.c`;
    /// `nand_get_device` of `drivers/mtd/nand/raw/nand_base.c` since Linux 5.0).
    #[default]
    Mutex,
    /// By a queue of waiting tasks (`nand_get_device` of `drivers/mtd/nand/nand_base.c` before). Who gives the chip back
    /// wakes them and goes on, so it has the chip again before any of them runs: nobody else gets on until it has nothing
    /// left to do.
    Queue,
}

/// When the kernel's timers fire (`kernel/time/timer.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerWheel {
    /// In the tick for which they are set (`kernel/timer.c` before Linux 4.8).
    Exact,
    /// Never early, and with a resolution that is the coarser the longer the delay (`calc_index`).
    #[default]
    Levels,
}

/// The resolution of the clock by which the scheduler charges run time (`sched_clock`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchedulerClock {
    #[default]
    Exact,
    /// The tick counter: the task that runs at a tick is charged for the whole tick. So it is on machines without a
    /// better clock (`kernel/sched/clock.c`), such as user-mode Linux.
    Tick,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            tick_rate_hz: 100,
            uptime_ns: 0,
            nand_wait: NandWait::Busy,
            scheduler_clock: SchedulerClock::Exact,
            timer_wheel: TimerWheel::Levels,
            chip_lock: ChipLock::Mutex,
            preemption: Preemption::None,
            clock_stops_when_asked: false,
            polls_with_resched: false,
            tick_cost_ns: 0,
            vain_turn_ns: 0,
            delays_are_loops: false,
            tick_is_timer: false,
            grace_period_thread: false,
        }
    }
}
