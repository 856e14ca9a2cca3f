//! A device with a controller of its own works while the clock of the machine stands, and the machine's tasks go on.

use crate::Sim;

impl Sim {
    /// Lets a device do its work by itself from `start_ns` on. Its operations are counted for the present cause and at the
    /// device's time, but their time is nobody's: what somebody then waits for the device, the caller counts. Returns what the work
    /// gives and when it ends; the clock is then where it was.
    pub fn beside_the_clock<R>(&self, start_ns: u64, work: impl FnOnce() -> R) -> (R, u64) {
        debug_assert!(!self.0.works_beside.get(), "a device works in a device");
        let clock = (self.0.now_ns.replace(start_ns), self.0.attention_at_ns.replace(u64::MAX));
        self.0.works_beside.set(true);
        let done = work();
        self.0.works_beside.set(false);
        let end_ns = self.0.now_ns.replace(clock.0);
        self.0.attention_at_ns.set(clock.1);
        (done, end_ns)
    }

    /// The part of a time that the present cause is charged for.
    #[inline]
    pub(crate) fn charged(&self, duration_ns: u64) -> u64 {
        match self.0.works_beside.get() {
            true => 0,
            false => duration_ns,
        }
    }
}
