//! The background thread: it writes buffers that waited long enough, and commits.
//!
//! Follows `fs/ubifs/commit.c` (`ubifs_bg_thread`) and `io.c` (`ubifs_bg_wbufs_sync`, the timers of the buffers).

use crate::causes;
use crate::core::Core;
use crate::format::{GC_HEAD, HEADS};

/// The state of the background thread that the file system needs in order to wake it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Thread {
    pub exists: bool,
    /// The thread was asked to work.
    needed: bool,
    /// When a timer wakes the thread; `u64::MAX`: no timer runs.
    wakes_at_ns: u64,
}

impl Core {
    pub fn start_thread(&mut self) {
        self.lebs.sim.spawn(&causes::UBIFS_THREAD);
        self.thread = Thread { exists: true, needed: false, wakes_at_ns: u64::MAX };
    }

    pub fn stop_thread(&mut self) {
        if std::mem::take(&mut self.thread.exists) {
            self.lebs.sim.kill(&causes::UBIFS_THREAD);
        }
    }

    pub fn wake_thread(&mut self) {
        if self.thread.exists && !std::mem::replace(&mut self.thread.needed, true) {
            self.lebs.sim.wake(&causes::UBIFS_THREAD);
        }
    }

    /// Starts the timer of a head's write buffer, after which the background thread writes the buffer. The buffer of
    /// the GC head has no timer.
    pub fn start_head_timer(&mut self, head: usize) {
        if head == GC_HEAD {
            return;
        }
        let at_ns = self.lebs.sim.now_ns() + self.wbuf_delay_ns;
        self.heads[head].timer_at_ns = Some(at_ns);
        // When a timer is moved to a later time the thread still wakes at the earlier one and finds nothing to do.
        if self.thread.exists && !self.thread.needed && at_ns < self.thread.wakes_at_ns {
            self.thread.wakes_at_ns = at_ns;
            self.sleep_until_timer(at_ns);
        }
    }

    /// A buffer's timer may fire a tenth of its time late (`new_wbuf_timer_nolock`).
    fn sleep_until_timer(&self, at_ns: u64) {
        self.lebs.sim.sleep_between(&causes::UBIFS_THREAD, at_ns, at_ns + self.wbuf_delay_ns / 10);
    }

    pub fn cancel_head_timer(&mut self, head: usize) {
        self.heads[head].timer_at_ns = None;
    }

    /// Runs the thread up to its next scheduling point; `false`: it sleeps.
    pub fn run_thread(&mut self) -> bool {
        // An error has made the file system read-only already, and nobody waits for a result of the thread.
        let goes_on = match self.commit {
            Some(_) => self.go_on_with_commit(),
            None => {
                self.thread.needed = false;
                self.sync_due_heads();
                self.begin_background_commit()
            }
        };
        if goes_on == Ok(true) || self.thread.needed {
            return true;
        }
        let next = self.heads.iter().filter_map(|head| head.timer_at_ns).min();
        self.thread.wakes_at_ns = next.unwrap_or(u64::MAX);
        match next {
            Some(at_ns) => self.sleep_until_timer(at_ns),
            None => self.lebs.sim.block(&causes::UBIFS_THREAD),
        }
        false
    }

    fn sync_due_heads(&mut self) {
        let _why = self.lebs.sim.because(&causes::PADDING);
        let now_ns = self.lebs.sim.now_ns();
        for head in 0..HEADS {
            if self.heads[head].timer_at_ns.is_some_and(|at_ns| at_ns <= now_ns) && self.sync_head(head).is_err() {
                self.lebs.read_only = true;
                (0..HEADS).for_each(|head| self.cancel_head_timer(head));
                return;
            }
        }
    }
}
