//! The clock goes on, and ticks are paid for and attended to.

use crate::Sim;

impl Sim {
    /// Advances the clock while the running task works (or, with [`crate::NandWait::Busy`], waits for the chip). The caller
    /// must count the time itself, as [`Sim::count`], [`Sim::drive`], [`Sim::compute`] and [`Sim::program_computes`]
    /// do.
    #[inline]
    pub fn advance(&self, duration_ns: u64) {
        let now = self.0.now_ns.get() + duration_ns;
        self.0.now_ns.set(now);
        if now >= self.0.attention_at_ns.get() {
            self.attend();
        }
    }

    /// [`Sim::advance`] while the running task waits by the clock (`udelay`): what a tick takes meanwhile is a part of the wait, unless
    /// [`crate::SimConfig::delays_are_loops`].
    #[inline]
    pub fn advance_by_clock(&self, duration_ns: u64) {
        let now = self.0.now_ns.get() + duration_ns;
        self.0.now_ns.set(now);
        if now >= self.0.attention_at_ns.get() {
            if !self.0.config.delays_are_loops {
                self.0.ticks_paid.set(now / self.tick_ns());
            }
            self.attend();
        }
    }

    #[cold]
    pub(crate) fn attend(&self) {
        if self.0.config.tick_cost_ns > 0 {
            self.pay_for_ticks();
        }
        let mut cpu = self.0.cpu.borrow_mut();
        cpu.catch_up(self.now_ns());
        self.0.attention_at_ns.set(cpu.attention_at_ns());
    }
}
