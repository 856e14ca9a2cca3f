//! When the background tasks wake: the signal to the garbage collection thread, the write buffer's timer.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_thread_should_wake`), `background.c` (`jffs2_garbage_collect_trigger`) and
//! `wbuf.c` (`jffs2_dirty_trigger`). What the tasks do when they run stands in `tasks.rs`.

use crate::causes;

use crate::blocks::List;
use crate::options::{WakeDuringPass, WbufTimer};
use crate::store::Store;

/// The part of the thread's state that the store needs in order to wake it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadSignal {
    pub exists: bool,
    pub pending: bool,
    pub in_pass: bool,
    /// Number of chip operations at the time when the signal was sent; `None` if it was sent during a pass.
    pub at_chip_uses: Option<u64>,
}

const SECOND_NS: u64 = 1_000_000_000;

impl Store {
    /// Obsolete bytes that garbage collection can free. Blocks that wait for an erase or are being erased are counted
    /// by `erasing_blocks` and left out here.
    pub fn collectable_bytes(&self) -> u32 {
        let totals = self.blocks.totals();
        (totals.dirty_bytes() + totals.erasing_bytes()).saturating_sub(self.erasing_blocks * self.block_bytes)
    }

    pub fn thread_should_wake(&self) -> bool {
        if !self.blocks.is_empty(List::EraseComplete) || !self.blocks.is_empty(List::ErasePending) {
            return true;
        }
        if self.blocks.totals().unchecked_bytes() != 0 {
            return true;
        }
        if self.free_blocks() + self.erasing_blocks < self.levels.gc_trigger_blocks
            && self.collectable_bytes() > self.levels.no_space_dirty_bytes
        {
            return true;
        }
        self.blocks.length(List::VeryDirty) >= self.levels.very_dirty_trigger_blocks
    }

    /// Sends the thread a signal if there is work for it (`jffs2_garbage_collect_trigger`).
    pub fn trigger_gc_thread(&mut self) {
        if !self.signal.exists || self.signal.pending || !self.thread_should_wake() {
            return;
        }
        if self.signal.in_pass {
            self.signal.pending = self.options.wake_during_pass == WakeDuringPass::Kept;
        } else {
            self.signal.pending = true;
            self.signal.at_chip_uses = Some(self.sim.chip_uses());
            self.sim.wake(&causes::GC_THREAD);
        }
    }

    /// Starts the write buffer's timer if it is not running, because data of an inode wait in the buffer.
    pub fn arm_wbuf_timer(&mut self) {
        if self.wbuf.timer_at_ns.is_some() {
            return;
        }
        let delay_ns = u64::from(self.options.wbuf_delay_ms) * 1_000_000;
        let at_ns = match self.options.wbuf_timer {
            WbufTimer::DelayedWork => self.sim.timer_after_ticks((delay_ns / self.sim.tick_ns()) as u32),
            WbufTimer::SyncSupers => {
                // `bdi_arm_supers_timer` rounds up to a whole second, and adds one to a time that is whole already
                // (`round_jiffies_up`): 5 s become 6, as flash logs of a board show.
                let period_ns = (delay_ns / SECOND_NS + 1) * SECOND_NS;
                (self.sim.now_ns() / period_ns + 1) * period_ns
            }
        };
        self.wbuf.timer_at_ns = Some(at_ns);
        if !self.worker_busy {
            self.sim.sleep_until(&causes::KWORKER, at_ns);
        }
    }

    /// Stops the timer, because everything is about to be written.
    pub fn disarm_wbuf_timer(&mut self) {
        if self.options.wbuf_timer == WbufTimer::DelayedWork && !self.worker_busy {
            self.wbuf.timer_at_ns = None;
            self.sim.block(&causes::KWORKER);
        }
    }

    /// Lets the worker sleep until its timer fires again.
    pub fn worker_rests(&mut self) {
        self.worker_busy = false;
        match self.wbuf.timer_at_ns {
            Some(at_ns) => self.sim.sleep_until(&causes::KWORKER, at_ns),
            None => self.sim.block(&causes::KWORKER),
        }
    }
}
