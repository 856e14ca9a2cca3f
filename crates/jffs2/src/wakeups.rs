//! When the background tasks wake: the signal to the garbage collection thread, the write buffer's timer.
//!
//! Follows `fs/jffs2/background.c` (`jffs2_garbage_collect_trigger`) and `wbuf.c` (`jffs2_dirty_trigger`). Whether there is
//! work for the thread is a question to `space.rs`; what the tasks do when they run stands in `tasks.rs`.

use ffslab_fs::super_sync_after_ns;
use ffslab_sim::Sim;

use crate::causes;
use crate::options::{Options, WakeDuringPass, WbufTimer};

/// The part of the thread's state that is needed in order to wake it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSignal {
    pub exists: bool,
    pub pending: bool,
    pub in_pass: bool,
    /// The thread has found the allocation semaphore taken.
    pub is_at_lock: bool,
    /// Number of chip operations at the time when the signal was sent; `None` if it was sent during a pass.
    pub at_chip_uses: Option<u64>,
}

impl ThreadSignal {
    /// Whether a signal would change anything.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.exists && !self.pending
    }

    /// Sends the thread a signal, because there is work for it.
    pub fn send(&mut self, sim: &Sim, options: &Options) {
        if self.in_pass {
            self.pending = options.wake_during_pass == WakeDuringPass::Kept;
        } else {
            self.pending = true;
            self.at_chip_uses = Some(sim.chip_uses());
            sim.wake(&causes::GC_THREAD);
        }
    }
}

/// The write buffer's timer and the worker that it wakes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer {
    /// The time in ns at which the buffer is written although nobody has asked for it.
    at_ns: Option<u64>,
    /// The timer has fired and the worker's work is not done yet.
    pub worker_busy: bool,
}

impl Timer {
    /// Starts the timer if it is not running, because data of an inode wait in the buffer.
    pub fn arm(&mut self, sim: &Sim, options: &Options) {
        if self.at_ns.is_some() {
            return;
        }
        let delay_ns = u64::from(options.wbuf_delay_ms) * 1_000_000;
        let at_ns = match options.wbuf_timer {
            WbufTimer::DelayedWork => sim.timer_after_ticks((delay_ns / sim.tick_ns()) as u32),
            WbufTimer::SyncSupers => super_sync_after_ns(sim.now_ns(), options.wbuf_delay_ms),
        };
        self.at_ns = Some(at_ns);
        if !self.worker_busy {
            sim.sleep_until(&causes::KWORKER, at_ns);
        }
    }

    /// Stops the timer, because everything is about to be written.
    pub fn disarm(&mut self, sim: &Sim, options: &Options) {
        if options.wbuf_timer == WbufTimer::DelayedWork && !self.worker_busy {
            self.at_ns = None;
            sim.block(&causes::KWORKER);
        }
    }

    /// Notes that the timer has fired.
    pub fn fired(&mut self) {
        self.at_ns = None;
    }

    /// Lets the worker sleep until its timer fires again.
    pub fn worker_rests(&mut self, sim: &Sim) {
        self.worker_busy = false;
        match self.at_ns {
            Some(at_ns) => sim.sleep_until(&causes::KWORKER, at_ns),
            None => sim.block(&causes::KWORKER),
        }
    }
}
