//! The background thread: it writes buffers that waited long enough, and commits.
//!
//! Follows `fs/ubifs/commit.c` (`ubifs_bg_thread`) and `io.c` (`ubifs_bg_wbufs_sync`, the timers of the buffers).

use crate::causes;
use crate::commits::Commits;
use crate::core::Core;
use crate::format::{GC_HEAD, HEADS};
use crate::journal::Journal;
use crate::leb::Lebs;
use crate::space::Space;

impl Journal {
    /// Starts the timer of a head's write buffer, after which the background thread writes the buffer. The buffer of
    /// the GC head has no timer.
    pub fn start_head_timer(&mut self, lebs: &Lebs, commits: &mut Commits, head: usize) {
        if head == GC_HEAD {
            return;
        }
        let at_ns = lebs.sim.now_ns() + self.wbuf_delay_ns;
        self.heads[head].timer_at_ns = Some(at_ns);
        // When a timer is moved to a later time the thread still wakes at the earlier one and finds nothing to do.
        if commits.thread.exists && !commits.thread.needed && at_ns < commits.thread.wakes_at_ns {
            commits.thread.wakes_at_ns = at_ns;
            self.sleep_until_timer(lebs, at_ns);
        }
    }

    /// A buffer's timer fires within a range of time (`new_wbuf_timer_nolock`).
    fn sleep_until_timer(&self, lebs: &Lebs, at_ns: u64) {
        lebs.sim.sleep_between(&causes::UBIFS_THREAD, at_ns, at_ns + self.wbuf_slack_ns);
    }

    pub fn cancel_head_timer(&mut self, head: usize) {
        self.heads[head].timer_at_ns = None;
    }

    fn sync_due_heads(&mut self, lebs: &mut Lebs, space: &mut Space) {
        let _why = lebs.sim.because(&causes::PADDING);
        let now_ns = lebs.sim.now_ns();
        for head in 0..HEADS {
            if self.heads[head].timer_at_ns.is_some_and(|at_ns| at_ns <= now_ns)
                && self.sync_head(lebs, space, head).is_err()
            {
                lebs.read_only = true;
                (0..HEADS).for_each(|head| self.cancel_head_timer(head));
                return;
            }
        }
    }
}

impl Core {
    /// Runs the thread up to its next scheduling point; `false`: it sleeps.
    pub fn run_thread(&mut self) -> bool {
        // An error has made the file system read-only already, and nobody waits for a result of the thread.
        let goes_on = match self.commits.running {
            Some(_) => self.go_on_with_commit(),
            None => {
                self.commits.thread.needed = false;
                self.journal.sync_due_heads(&mut self.lebs, &mut self.space);
                self.begin_background_commit()
            }
        };
        if goes_on == Ok(true) || self.commits.thread.needed {
            return true;
        }
        let next = self.journal.heads.iter().filter_map(|head| head.timer_at_ns).min();
        self.commits.thread.wakes_at_ns = next.unwrap_or(u64::MAX);
        match next {
            Some(at_ns) => self.journal.sleep_until_timer(&self.lebs, at_ns),
            None => self.lebs.sim.block(&causes::UBIFS_THREAD),
        }
        false
    }
}
