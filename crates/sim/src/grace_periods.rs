//! Memory that is freed only when nobody can look at it any more: when the kernel's thread for that wakes.
//!
//! **Follows** `kernel/rcu/tree.c` on one CPU of a kernel for several: what was handed over (`call_rcu`) waits for a grace
//! period. The next tick wakes the thread, which begins one (`note_gp_changes`, `rcu_gp_kthread_wake`). It gives the CPU away, and by that
//! nobody looks at anything old any more, which the tick after it reports (`rcu_check_quiescent_state`): the thread ends the grace
//! period, and begins another one if more was handed over meanwhile. Traces of reference runs (5.10, 6.1) show just these two wakes after each
//! close(2) of an idle machine, and one at each tick while files are closed one after the other.
//!
//! The thread has slept for so long that it takes the CPU from anybody. It needs some 30 us and sleeps again; then whoever has had the CPU least gets it, however long its slice still was. So a
//! background thread gets on earlier beside a program that closes files.
//!
//! **Leaves out** that time, and CPUs that are idle.

/// What waits and for which tick. Ticks are handled when somebody asks, so that an idle machine need not be looked at.
#[derive(Clone, Copy, Debug)]
pub struct GracePeriods {
    tick_ns: u64,
    is_handed_over: bool,
    is_running: bool,
    /// The tick at which the thread wakes next.
    wakes_at_ns: Option<u64>,
}

impl GracePeriods {
    pub fn with_ticks(tick_ns: u64) -> GracePeriods {
        GracePeriods { tick_ns, is_handed_over: false, is_running: false, wakes_at_ns: None }
    }

    /// Something is to be freed when nobody can look at it any more.
    pub fn hand_over(&mut self, now_ns: u64) {
        self.pass_ticks(now_ns);
        self.is_handed_over = true;
        self.wakes_at_ns.get_or_insert((now_ns / self.tick_ns + 1) * self.tick_ns);
    }

    /// Whether the thread wakes at this tick.
    pub fn wake_at(&mut self, at_ns: u64) -> bool {
        self.pass_ticks(at_ns - 1);
        let wakes = self.wakes_at_ns == Some(at_ns);
        self.pass_ticks(at_ns);
        wakes
    }

    /// The thread has done its work at each tick until `now_ns`.
    fn pass_ticks(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.wakes_at_ns.filter(|&at_ns| at_ns <= now_ns) {
            self.is_running = std::mem::take(&mut self.is_handed_over);
            self.wakes_at_ns = self.is_running.then_some(at_ns + self.tick_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wakes(handed_over_ns: &[u64]) -> Vec<u64> {
        let (mut periods, mut found) = (GracePeriods::with_ticks(10), Vec::new());
        for tick in (10..200).step_by(10) {
            for &at_ns in handed_over_ns.iter().filter(|&&at_ns| (tick - 10..tick).contains(&at_ns)) {
                periods.hand_over(at_ns);
            }
            found.extend(periods.wake_at(tick).then_some(tick));
        }
        found
    }

    #[test]
    fn a_close_wakes_the_thread_at_two_ticks_and_one_in_a_grace_period_at_one_more() {
        assert_eq!(wakes(&[3]), [10, 20]);
        assert_eq!(wakes(&[3, 14]), [10, 20, 30]);
        assert_eq!(wakes(&[3, 4, 14, 25]), [10, 20, 30, 40]);
        assert_eq!(wakes(&[3, 45]), [10, 20, 50, 60]);
    }
}
