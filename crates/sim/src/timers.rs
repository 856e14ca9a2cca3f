//! When tasks that sleep are woken.
//!
//! **Follows** `kernel/time/hrtimer.c`. A timer may have slack: it fires with the first interrupt in its range, which is the next tick
//! while somebody runs, else another timer, and at the range's end in any case.
//!
//! Where the tick is such a timer itself ([`crate::SimConfig::tick_is_timer`]), timers stand in the order in which their ranges end, and an interrupt
//! fires them up to the first whose range has not begun (`__hrtimer_run_queues`). While somebody runs that is the next tick, so a timer with
//! slack fires when its range ends. An idle machine has stopped its tick: it comes for the next timer that is counted in ticks
//! (a flusher's), sets itself no other time (`tick_sched_timer` of `kernel/time/tick-sched.c` with `tick_stopped`, since Linux 3.19), and
//! the timers behind it fire in the same interrupt, unless a program sleeps whose time comes before their range ends. They wake
//! their tasks before those that are counted in ticks do, which follow in the softirq: so UBIFS's thread runs before the flusher when both
//! are due, as traces of `hrtimer_expire_entry` show on 6.1.
//!
//! **Leaves out** the timers of the rest of the kernel, which also come for that tick.

use crate::cpu::Cpu;
use crate::entity::Entity;

impl Cpu {
    pub(crate) fn fire_timers(&mut self, at_ns: u64) {
        if at_ns < self.next_timer_ns {
            return;
        }
        let last_by_ns = self.fires_until(at_ns);
        self.wake_those(|entity| (at_ns + 1..last_by_ns).contains(&entity.wake_by_ns) && entity.wake_at_ns <= at_ns);
        self.wake_those(|entity| entity.wake_by_ns <= at_ns);
        self.find_next_timer();
    }

    fn wake_those(&mut self, fires: impl Fn(&Entity) -> bool) {
        for task in 0..self.entities.len() {
            if fires(&self.entities[task]) {
                self.wake(task);
            }
        }
    }

    /// Timers whose range has begun also fire if it ends before this.
    fn fires_until(&self, at_ns: u64) -> u64 {
        if !self.tick_is_timer {
            return u64::MAX;
        }
        let is_idle = !self.entities.iter().any(|entity| entity.runnable);
        let is_tick = |entity: &Entity| entity.wake_at_ns == at_ns && self.is_counted_in_ticks(entity);
        if !is_idle || !self.entities.iter().any(is_tick) {
            return 0;
        }
        let others =
            self.entities.iter().filter(|entity| entity.wake_at_ns > at_ns && !self.is_counted_in_ticks(entity));
        others.map(|entity| entity.wake_by_ns).min().unwrap_or(u64::MAX)
    }

    fn is_counted_in_ticks(&self, entity: &Entity) -> bool {
        entity.wake_at_ns == entity.wake_by_ns && entity.wake_at_ns.is_multiple_of(self.tick_ns)
    }

    pub(crate) fn find_next_timer(&mut self) {
        let waits_for_end = self.tick_is_timer || !self.entities.iter().any(|e| e.runnable);
        let fires_at = |entity: &Entity| {
            if entity.wake_at_ns == entity.wake_by_ns || waits_for_end {
                return entity.wake_by_ns;
            }
            let tick = entity.wake_at_ns.max(self.charged_until_ns).next_multiple_of(self.tick_ns);
            tick.min(entity.wake_by_ns)
        };
        self.next_timer_ns = self.entities.iter().map(fires_at).min().unwrap_or(u64::MAX);
    }

    /// Lets a task sleep. `wake`: the range of time in which its timer fires; `None`: there is no timer.
    pub fn sleep(&mut self, task: usize, wake: Option<(u64, u64)>) {
        let entity = &mut self.entities[task];
        if !entity.exists {
            // The timer of a task that does not exist would never be removed.
            return;
        }
        entity.runnable = false;
        (entity.wake_at_ns, entity.wake_by_ns) = wake.unwrap_or((u64::MAX, u64::MAX));
        self.find_next_timer();
        self.count_waiting();
    }
}
