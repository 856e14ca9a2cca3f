//! Scheduling: which task runs, the application, the swap-out task, one of its workers or the read-ahead task.
//!
//! RTEMS schedules by strict priority; among equals the one that became ready first runs, and one that is pre-empted
//! stays first. Background tasks are state machines whose steps end where the real tasks give back the cache lock, which
//! is where a more urgent task that was woken gets the CPU.

use super::buffers::DiskId;
use super::config::{BdbufConfig, BdbufError, Priority};
use super::disk::Disk;
use super::swapout::Transfer;
use super::Bdbuf;
use crate::causes;
use ffslab_sim::{Reason, Task as SimTask};
use std::collections::VecDeque;

/// The condition for which the application waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Any buffer becomes available.
    Buffer,
    /// The transfer of a buffer ends.
    Transfer,
    /// Another caller gives a buffer back.
    Access,
    SyncDone,
    /// The device is done with the application's own transfer, at this time in ns.
    Device(u64),
    /// A timer, at this time in ns.
    Time(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Swapout,
    Worker,
    ReadAhead,
}

impl Role {
    /// The task and the reason under which the work of this role is counted.
    fn cause(self) -> (&'static SimTask, &'static Reason) {
        match self {
            Role::ReadAhead => (&causes::BDBUF_READ_AHEAD, &causes::READ_AHEAD),
            Role::Swapout | Role::Worker => (&causes::BDBUF_SWAPOUT, &causes::DATA),
        }
    }
}

/// Where a background task goes on when it runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Swap-out: a new cycle, which makes the timers count down once.
    Cycle,
    /// Swap-out: look for buffers again, in the same cycle.
    Pass,
    /// Swap-out, worker: the next request of the transfer list.
    Write,
    /// The device is working on a request; when it is done the task runs and its buffers become clean.
    InFlight,
    /// Swap-out: nothing to do; about to wait.
    Idle,
    /// The task waits for its event; the swap-out task also for the end of its period.
    Receive,
}

pub(super) struct BackgroundTask {
    pub role: Role,
    pub priority: Priority,
    pub stage: Stage,
    pub ready: bool,
    ready_since: u64,
    /// An event was sent that the task has not received yet.
    pub event: bool,
    pub wake_at_ns: u64,
    pub transfer: Transfer,
}

pub(super) struct Tasks {
    pub all: Vec<BackgroundTask>,
    application: Priority,
    waiting: Option<Waiting>,
    application_ready: bool,
    application_ready_since: u64,
    arrivals: u64,
    /// A ready task is more urgent than the application.
    urgent: bool,
    next_timer_ns: u64,
    pub sync_done: bool,
    pub free_workers: VecDeque<usize>,
    pub read_ahead_queue: VecDeque<DiskId>,
}

impl Tasks {
    pub fn new(config: &BdbufConfig) -> Self {
        let mut tasks = Self {
            all: Vec::new(),
            application: config.application_priority,
            waiting: None,
            application_ready: true,
            application_ready_since: 0,
            arrivals: 0,
            urgent: false,
            next_timer_ns: u64::MAX,
            sync_done: false,
            free_workers: VecDeque::new(),
            read_ahead_queue: VecDeque::new(),
        };
        tasks.start(Role::Swapout, config.swapout_task_priority, Stage::Cycle);
        for _ in 0..config.swapout_worker_tasks_count {
            tasks.free_workers.push_back(tasks.all.len());
            tasks.start(Role::Worker, config.swapout_worker_task_priority, Stage::Receive);
        }
        if config.max_read_ahead_blocks > 0 {
            tasks.start(Role::ReadAhead, config.read_ahead_task_priority, Stage::Receive);
        }
        tasks
    }

    /// Creates a task. It is ready to run, unless it begins with [`Stage::Receive`], which means that it waits for its
    /// first event.
    fn start(&mut self, role: Role, priority: Priority, stage: Stage) {
        self.all.push(BackgroundTask {
            role,
            priority,
            stage,
            ready: false,
            ready_since: 0,
            event: false,
            wake_at_ns: u64::MAX,
            transfer: Transfer::default(),
        });
        if stage != Stage::Receive {
            self.make_ready(self.all.len() - 1);
        }
    }

    pub fn make_ready(&mut self, task: usize) {
        self.arrivals += 1;
        let this = &mut self.all[task];
        this.ready = true;
        this.ready_since = self.arrivals;
        this.wake_at_ns = u64::MAX;
        self.urgent |= this.priority < self.application;
    }

    pub fn sleep(&mut self, task: usize, until_ns: u64) {
        let this = &mut self.all[task];
        this.ready = false;
        this.wake_at_ns = until_ns;
        self.recount();
    }

    fn recount(&mut self) {
        self.urgent = self.all.iter().any(|task| task.ready && task.priority < self.application);
        let application = match self.waiting {
            Some(Waiting::Device(at_ns) | Waiting::Time(at_ns)) if !self.application_ready => at_ns,
            _ => u64::MAX,
        };
        self.next_timer_ns = self.all.iter().map(|task| task.wake_at_ns).fold(application, u64::min);
    }

    pub fn fire_timers(&mut self, now_ns: u64) {
        if now_ns < self.next_timer_ns {
            return;
        }
        if let Some(Waiting::Device(at_ns) | Waiting::Time(at_ns)) = self.waiting {
            if at_ns <= now_ns && !self.application_ready {
                self.application_is_ready();
            }
        }
        for task in 0..self.all.len() {
            if self.all[task].wake_at_ns <= now_ns {
                self.make_ready(task);
            }
        }
        self.recount();
    }

    fn application_is_ready(&mut self) {
        self.arrivals += 1;
        self.application_ready = true;
        self.application_ready_since = self.arrivals;
    }

    /// The ready background task that runs next.
    fn most_urgent(&self) -> Option<usize> {
        let ready = self.all.iter().enumerate().filter(|(_, task)| task.ready);
        ready.min_by_key(|(_, task)| (task.priority, task.ready_since)).map(|(index, _)| index)
    }

    pub fn application_waits_for_buffer(&self) -> bool {
        self.waiting == Some(Waiting::Buffer)
    }

    fn in_flight(&self) -> bool {
        self.all.iter().any(|task| matches!(task.stage, Stage::InFlight | Stage::Write))
    }
}

impl Bdbuf {
    /// Makes the application ready if it waits for `what`. No other task ever waits for these conditions.
    #[inline]
    pub(super) fn wake(&mut self, what: Waiting) {
        if self.tasks.waiting == Some(what) && !self.tasks.application_ready {
            self.tasks.application_is_ready();
        }
    }

    /// `rtems_bdbuf_wake_swapper`.
    pub(super) fn wake_swapout(&mut self) {
        self.send_event(0);
    }

    pub(super) fn send_event(&mut self, task: usize) {
        let this = &mut self.tasks.all[task];
        this.event = true;
        if this.stage == Stage::Receive && !this.ready {
            self.tasks.make_ready(task);
        }
    }

    /// Runs all ready tasks that are more urgent than the application, which has just given back the cache lock.
    #[inline]
    pub(super) fn let_others_run(&mut self) {
        if self.tasks.urgent || self.sim.now_ns() >= self.tasks.next_timer_ns {
            self.run_urgent();
        }
    }

    #[cold]
    fn run_urgent(&mut self) {
        loop {
            self.tasks.fire_timers(self.sim.now_ns());
            match self.tasks.most_urgent() {
                Some(task) if self.tasks.all[task].priority < self.tasks.application => self.run_step(task),
                _ => return,
            }
        }
    }

    /// Makes the application wait. Other tasks run until the condition is met and no ready task is more urgent than the
    /// application.
    #[cold]
    pub(super) fn wait(&mut self, what: Waiting) -> Result<(), BdbufError> {
        self.cpu.switch_away_and_back();
        self.tasks.waiting = Some(what);
        self.tasks.application_ready = false;
        self.tasks.recount();
        let result = loop {
            self.tasks.fire_timers(self.sim.now_ns());
            let task = self.tasks.most_urgent();
            if self.tasks.application_ready {
                let mine = (self.tasks.application, self.tasks.application_ready_since);
                let first = task.is_none_or(|task| {
                    let other = &self.tasks.all[task];
                    mine < (other.priority, other.ready_since)
                });
                if first {
                    break Ok(());
                }
            }
            match task {
                Some(task) => self.run_step(task),
                None => {
                    let timed = matches!(what, Waiting::Device(_) | Waiting::Time(_));
                    if !timed && self.nothing_to_write() && !self.tasks.in_flight() {
                        break Err(BdbufError::Deadlock);
                    }
                    self.pass_time(what);
                }
            }
        };
        self.tasks.waiting = None;
        self.tasks.application_ready = true;
        self.tasks.recount();
        result
    }

    /// Lets time pass up to the next timer, because no task can run. The time during which a device works is counted
    /// for the task and reason of its request.
    fn pass_time(&mut self, what: Waiting) {
        let at_ns = self.tasks.next_timer_ns;
        // Only devices with a translation layer have slices; one of them works at a time.
        let now_ns = self.sim.now_ns();
        let working = |disk: &&mut Disk| disk.slices.last().is_some_and(|last| last.until_ns > now_ns);
        let mut none = Vec::new();
        let slices = self.disks.iter_mut().find(working).map_or(&mut none, |disk| &mut disk.slices);
        let busy = self.tasks.all.iter().find(|task| task.stage == Stage::InFlight);
        match (what, busy) {
            (Waiting::Device(_), _) => self.sim.pass_beside(at_ns, slices),
            (_, Some(task)) => {
                let was_left = task.transfer.was_left;
                let (task, reason) = task.role.cause();
                let _turn = self.sim.run_as(task);
                let _of_setup = self.sim.because_left_if(was_left);
                let _why = self.sim.because(reason);
                self.sim.pass_beside(at_ns, slices);
            }
            (_, None) => {
                self.sim.foreground_sleeps_until(at_ns);
                while self.sim.idle_next() != ffslab_sim::Idle::Over {}
            }
        }
    }

    fn run_step(&mut self, task: usize) {
        let (as_task, reason) = self.tasks.all[task].role.cause();
        let sim = self.sim.clone();
        let _turn = sim.run_as(as_task);
        let _why = sim.because(reason);
        match self.tasks.all[task].role {
            Role::Swapout => self.swapout_step(task),
            Role::Worker => self.worker_step(task),
            Role::ReadAhead => self.read_ahead_step(task),
        }
        self.tasks.recount();
    }
}
