//! Background work: the garbage collection thread and the write buffer's timer.
//!
//! Follows `fs/jffs2/background.c` (thread) and `wbuf.c` (`jffs2_flush_wbuf_gc`, `delayed_wbuf_sync`). Each task is a
//! state machine that runs until it sleeps or must give way.

use crate::causes;
use crate::faults;
use ffslab_fs::{Errno, Host, Result};
use ffslab_sim::{NandWait, Switch, Task};

use crate::background::ThreadState;
use crate::erase::{EraseJob, EraseStep};
use crate::gc::PassEnd;
use crate::space::InodeState;
use crate::Jffs2;

/// Pause before each pass unless a signal is pending.
const THROTTLE_MS: u64 = 50;

/// How many holders of the allocation semaphore come before the thread. When tasks sleep while the chip works, a task
/// sleeps with the semaphore held, and the thread runs and queues for it. The release wakes the thread, but the task
/// runs on and may take the semaphore again before the thread has the CPU. If the thread then finds it taken once more,
/// the next release hands it over to the thread (`kernel/locking/mutex.c`).
const HOLDS_AHEAD: u8 = 2;

impl Jffs2 {
    pub(crate) fn start_tasks(&mut self) {
        let sim = &self.store.flash.sim;
        sim.lock_is_had();
        sim.spawn(&causes::GC_THREAD);
        sim.spawn(&causes::KWORKER);
        self.store.space.signal.exists = true;
        sim.wake(&causes::GC_THREAD);
    }

    /// Ends the thread for an orderly unmount or a remount: whoever stops it waits until the erase in which it is has been
    /// completed (`jffs2_stop_garbage_collect_thread`).
    pub(crate) fn finish_tasks(&mut self, host: &mut dyn Host) {
        self.store.space.signal.pending = false;
        self.background.is_ending = true;
        while self.has_job(&causes::GC_THREAD) {
            self.give_turn(host, &causes::GC_THREAD);
        }
        self.finish_worker(host);
        self.background.is_ending = false;
        self.stop_tasks();
    }

    pub(crate) fn stop_tasks(&mut self) {
        self.store.space.signal.exists = false;
        self.store.flash.sim.lock_is_had();
        self.store.flash.sim.kill(&causes::GC_THREAD);
        self.store.flash.sim.kill(&causes::KWORKER);
    }

    /// Where a background task keeps the erasure that it was in the middle of.
    pub(crate) fn job_of(&mut self, task: &Task) -> Option<&mut Option<EraseJob>> {
        if task == &causes::GC_THREAD {
            Some(&mut self.background.thread_job)
        } else if task == &causes::KWORKER {
            Some(&mut self.background.worker_job)
        } else {
            None
        }
    }

    /// Whether the task is in the middle of an erasure.
    pub(crate) fn has_job(&mut self, task: &Task) -> bool {
        self.job_of(task).is_some_and(|job| job.is_some())
    }

    /// Called when the running task is about to take the allocation semaphore: the thread, if it is due, takes it
    /// first.
    pub(crate) fn take_allocation(&mut self, host: &mut dyn Host) {
        if self.may_be_waited_for() {
            self.let_thread_run(host);
            self.background.chip_uses = self.store.flash.sim.chip_uses();
        }
        self.hold_allocation(host);
    }

    /// On a kernel whose tasks may lose the CPU in the middle of a call: the running task takes the allocation semaphore, unless
    /// it was handed over to the thread. Just before it is a scheduling point (`might_sleep` in `mutex_lock`), at which the
    /// thread finds it free.
    pub(crate) fn hold_allocation(&mut self, host: &mut dyn Host) {
        let sim = self.store.flash.sim.clone();
        if !sim.preempts_calls() || sim.running() == &causes::GC_THREAD {
            return;
        }
        self.take_turns(host);
        if sim.lock_is_handed_over() && self.background.thread != ThreadState::InPass {
            self.give_turn(host, &causes::GC_THREAD);
        }
        if self.background.thread != ThreadState::InPass {
            sim.takes_lock_from(&causes::GC_THREAD);
        }
    }

    /// Whether the thread, if it gets the CPU while the running task reads an inode whose nodes were not checked, comes to that
    /// inode: then it waits for the end of the reading, and its pass is over (`INO_STATE_READING` in `fs/jffs2/gc.c`).
    pub(crate) fn thread_may_meet_reading(&self, ino: u32) -> bool {
        let sim = &self.store.flash.sim;
        let is_unchecked =
            || self.store.space.inode_caches.get(&ino).is_some_and(|cache| cache.state == InodeState::Unchecked);
        let meets = sim.preempts_calls()
            && sim.running() != &causes::GC_THREAD
            && !sim.holds_lock()
            && self.background.thread != ThreadState::InPass
            && is_unchecked();
        if meets {
            sim.takes_lock_from(&causes::GC_THREAD);
        }
        meets
    }

    /// See [`Jffs2::thread_may_meet_reading`]. The thread is woken, and goes to sleep again before its next pass.
    pub(crate) fn reading_has_ended(&mut self) {
        let sim = self.store.flash.sim.clone();
        let has_come = sim.came_in_vain();
        sim.lock_is_had();
        if has_come {
            self.store.space.signal.pending = false;
            self.store.space.signal.in_pass = false;
            if self.store.space.thread_should_wake() {
                self.pause_thread()
            } else {
                self.background.thread = ThreadState::Signalled
            }
        }
    }

    /// The thread's sleep before a pass.
    fn pause_thread(&mut self) {
        let sim = &self.store.flash.sim;
        let ticks = (THROTTLE_MS * 1_000_000).div_ceil(sim.tick_ns()) as u32;
        self.background.thread = ThreadState::Throttled;
        sim.sleep_until(&causes::GC_THREAD, sim.timer_after_ticks(ticks));
    }

    /// With a signal pending the thread does not sleep, but it has asked for another task if that has had the CPU less.
    fn gives_way_instead_of_pause(&mut self, host: &mut dyn Host) -> bool {
        let sim = &self.store.flash.sim;
        if !sim.preempts_calls() {
            return false;
        }
        sim.gives_others_a_chance();
        self.take_turns(host)
    }

    /// The running task gives the allocation semaphore back.
    pub(crate) fn release_allocation(&mut self) {
        self.store.space.notice_vain_turn(&self.store.flash);
        self.store.flash.sim.gives_lock_back();
    }

    /// Called when the running task gives the allocation semaphore back.
    pub(crate) fn give_allocation(&mut self) {
        if self.may_be_waited_for() {
            let uses = self.store.flash.sim.chip_uses();
            if uses > self.background.chip_uses {
                self.background.holds_ahead = self.background.holds_ahead.saturating_sub(1);
            }
            self.background.chip_uses = uses;
        }
        self.release_allocation();
    }

    /// Whether the thread may be waiting for the running task. When tasks wait busily for the chip no other task runs
    /// before the semaphore is free again, so this is never the case.
    fn may_be_waited_for(&self) -> bool {
        self.sleeps() && self.store.flash.sim.running() != &causes::GC_THREAD
    }

    /// Whether this task may sleep while the medium erases: one of the background, if nobody waits for its end.
    pub(crate) fn may_sleep(&self, task: &Task) -> bool {
        task != &causes::CALLER && !self.background.is_ending
    }

    /// Whether tasks sleep while the chip works.
    pub(crate) fn sleeps(&self) -> bool {
        self.store.flash.sim.config().nand_wait == NandWait::Sleep
    }

    /// Called when the running task sleeps without holding the allocation semaphore: the thread gets its turn.
    pub(crate) fn sleep_without_allocation(&mut self, host: &mut dyn Host) {
        if self.may_be_waited_for() {
            self.background.holds_ahead = 0;
            self.let_thread_run(host);
        }
    }

    /// Erases one block for a writer that holds the semaphore. Erases that the thread has begun continue meanwhile.
    pub(crate) fn erase_in_need(&mut self, host: &mut dyn Host) -> Result<()> {
        self.background.allocation_is_held = true;
        let erased = self.erase_beside_others(host);
        self.background.allocation_is_held = false;
        if self.background.thread == ThreadState::Waiting {
            self.store.flash.sim.wake(&causes::GC_THREAD);
        }
        if std::mem::take(&mut self.background.worker_waits) {
            self.store.flash.sim.wake(&causes::KWORKER);
        }
        erased
    }

    fn erase_beside_others(&mut self, host: &mut dyn Host) -> Result<()> {
        let mut job = self.store.eraser.begin_in_need(&mut self.store.space, &self.store.flash)?;
        loop {
            match self.store.eraser.step(&mut self.store.space, &self.store.flash, &mut job, false)? {
                EraseStep::Begun | EraseStep::Sleeps { .. } => {}
                EraseStep::Erased | EraseStep::More => drop(self.take_turns(host)),
                EraseStep::Done | EraseStep::Nothing => return Ok(()),
            }
        }
    }

    fn let_thread_run(&mut self, host: &mut dyn Host) {
        if self.store.flash.sim.is_runnable(&causes::GC_THREAD) && self.background.thread != ThreadState::InPass {
            self.give_turn(host, &causes::GC_THREAD);
        }
    }

    /// Lets a background task run until it sleeps or must give way to another one.
    pub(crate) fn give_turn(&mut self, host: &mut dyn Host, task: &'static Task) {
        let _turn = self.store.flash.sim.run_as(task);
        self.run_background(host, task);
    }

    /// A scheduling point. Returns `true` when the running task must give way to the task that it has interrupted.
    pub(crate) fn take_turns(&mut self, host: &mut dyn Host) -> bool {
        loop {
            match self.store.flash.sim.resched() {
                Switch::Stay => return false,
                Switch::Yield => return true,
                Switch::Run(task) => self.give_turn(host, task),
            }
        }
    }

    pub(crate) fn run_background(&mut self, host: &mut dyn Host, task: &'static Task) {
        if task == &causes::GC_THREAD {
            self.run_gc_thread(host);
        } else if task == &causes::KWORKER {
            self.run_worker(host);
        } else if task == &ffslab_fs::causes::FLUSHER {
            host.run_flusher(self);
        } else {
            self.store.flash.sim.block(task);
        }
    }

    fn run_gc_thread(&mut self, host: &mut dyn Host) {
        let sim = self.store.flash.sim.clone();
        if std::mem::take(&mut self.store.space.signal.is_at_lock) {
            self.background.thread = ThreadState::Waiting;
        }
        loop {
            match self.background.thread {
                ThreadState::Top => {
                    self.store.space.signal.in_pass = false;
                    if !self.store.space.thread_should_wake() && !self.store.space.signal.pending {
                        self.background.thread = ThreadState::Signalled;
                        return sim.block(&causes::GC_THREAD);
                    }
                    self.background.thread = ThreadState::Signalled;
                }
                ThreadState::Signalled => {
                    // With a signal pending the pause ends at once.
                    if !self.store.space.signal.pending {
                        return self.pause_thread();
                    }
                    self.background.thread = ThreadState::Throttled;
                    if self.gives_way_instead_of_pause(host) {
                        return;
                    }
                }
                ThreadState::Throttled => {
                    self.store.space.signal.pending = false;
                    self.store.space.signal.in_pass = true;
                    self.background.thread = ThreadState::Waiting;
                    // If the task that sent the signal has used the chip since then, it has slept with the semaphore
                    // held, and the thread is in the queue already.
                    let woken_at = self.store.space.signal.at_chip_uses.take();
                    let has_queued = woken_at.is_some_and(|uses| sim.chip_uses() > uses);
                    self.background.holds_ahead = HOLDS_AHEAD - u8::from(has_queued);
                    self.background.chip_uses = sim.chip_uses();
                }
                ThreadState::Waiting => {
                    if self.background.allocation_is_held {
                        return sim.block(&causes::GC_THREAD);
                    }
                    // If the chip was used since the last release, its user has slept without the semaphore, so the
                    // semaphore is free.
                    let is_taken = self.background.holds_ahead > 0 && self.background.chip_uses == sim.chip_uses();
                    if self.sleeps() && is_taken && sim.is_runnable(&causes::CALLER) {
                        // The thread looks again as soon as time has passed.
                        return sim.sleep_until(&causes::GC_THREAD, sim.now_ns() + 1);
                    }
                    self.background.thread = ThreadState::InPass;
                    sim.lock_is_had();
                }
                ThreadState::InPass => match self.gc_pass(host, &causes::GC_THREAD) {
                    Ok(PassEnd::Yielded) => return,
                    Ok(PassEnd::Done | PassEnd::Stuck) | Err(Errno::Io) => self.background.thread = ThreadState::Top,
                    Err(_) => self.background.thread = ThreadState::Dead,
                },
                ThreadState::Dead => {
                    self.store.space.signal.exists = false;
                    return sim.block(&causes::GC_THREAD);
                }
            }
        }
    }

    /// Flushes the write buffer after its timer has fired.
    fn run_worker(&mut self, host: &mut dyn Host) {
        if self.background.allocation_is_held && self.background.worker_job.is_none() {
            self.background.worker_waits = true;
            return self.store.flash.sim.block(&causes::KWORKER);
        }
        if !self.store.timer.worker_busy {
            self.store.timer.fired();
            if !self.store.flash.wbuf.is_dirty() || !self.store.flash.wbuf.holds_inode(0) {
                return self.store.timer.worker_rests(&self.store.flash.sim);
            }
            self.store.timer.worker_busy = true;
            self.background.flushing_at = self.store.flash.wbuf.offset;
        }
        match self.fill_and_flush(host, &causes::KWORKER, self.background.flushing_at) {
            Ok(false) => {}
            Ok(true) | Err(_) => self.store.timer.worker_rests(&self.store.flash.sim),
        }
    }

    /// Writes the page of the write buffer that is at `began_at` to flash, without wasting the rest of the page:
    /// garbage collection fills it up (`jffs2_flush_wbuf_gc`). Returns `false` when the task must give way before that
    /// is done.
    fn fill_and_flush(&mut self, host: &mut dyn Host, task: &'static Task, began_at: u32) -> Result<bool> {
        let _of_setup = self.store.flash.sim.because_left_if(self.store.flash.wbuf.was_left(&self.store.flash.sim));
        if self.store.space.blocks.totals().unchecked_bytes() != 0 && !self.has_job(task) {
            // Garbage collection only checks nodes at this stage and would not fill the page, so the page is padded.
            self.store.flush_wbuf_padded()?;
            return Ok(true);
        }
        // A pass that was interrupted goes on to its end, even if another task has written the page in the meantime.
        while self.has_job(task) || self.store.flash.wbuf.is_dirty() && self.store.flash.wbuf.offset == began_at {
            match self.gc_pass(host, task) {
                // The semaphore is taken to see whether the page has gone out. If the thread came first and wrote it, that was
                // the last pass.
                Ok(PassEnd::Done) => {
                    self.hold_allocation(host);
                    self.release_allocation();
                }
                Ok(PassEnd::Yielded) => return Ok(false),
                Err(Errno::PowerCut) => return Err(Errno::PowerCut),
                Ok(PassEnd::Stuck) | Err(_) => {
                    self.store.flush_wbuf_padded()?;
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Lets the worker end the flush that it has begun: both hold the superblock's lock for it (`lock_super` in
    /// `jffs2_write_super` of 2.6.37).
    pub(crate) fn finish_worker(&mut self, host: &mut dyn Host) {
        let is_ending = std::mem::replace(&mut self.background.is_ending, true);
        while self.store.timer.worker_busy {
            self.give_turn(host, &causes::KWORKER);
        }
        self.background.is_ending = is_ending;
    }

    /// Writes everything that the write buffer holds for an inode (0: any inode) to flash (`jffs2_fsync`).
    pub(crate) fn flush_inode(&mut self, host: &mut dyn Host, ino: u32) -> Result<()> {
        self.take_allocation(host);
        self.release_allocation();
        let wbuf = &self.store.flash.wbuf;
        if !wbuf.is_dirty() || !wbuf.holds_inode(ino) || faults::SYNC_LEAVES_BUFFER.is_seeded() {
            return Ok(());
        }
        let _why = self.store.flash.sim.because(&causes::SYNC);
        let began_at = self.store.flash.wbuf.offset;
        self.fill_and_flush(host, &causes::CALLER, began_at).map(|_| ())
    }
}

#[cfg(test)]
impl Jffs2 {
    /// The thread's next turn begins a pass.
    pub(crate) fn thread_has_paused(&mut self) {
        self.background.thread = ThreadState::Throttled;
    }

    /// Leaves the worker where an interruption would: it flushes the page at `began_at` and has erased a block that it has
    /// not read back yet.
    pub(crate) fn begin_interrupted_erase(&mut self, began_at: u32) {
        let store = &mut self.store;
        let mut job = None;
        store.eraser.step(&mut store.space, &store.flash, &mut job, false).unwrap();
        store.eraser.step(&mut store.space, &store.flash, &mut job, false).unwrap();
        self.background.worker_job = crate::erase::take_erased(&mut store.space);
        self.background.flushing_at = began_at;
    }
}
