//! A device with a controller of its own works while the clock of the machine stands, and the machine's tasks go on.

use crate::{Sim, Slice};

impl Sim {
    /// Lets a device do its work by itself from `start_ns` on. Its operations are counted for the present cause and at the
    /// device's time, but their time is nobody's: who waits for the device passes it ([`Sim::pass_beside`]). `slices` gets what the
    /// device did when, behind what it holds. Returns what the work gives and when it ends; the clock is then where it was.
    pub fn beside_the_clock<R>(&self, start_ns: u64, slices: &mut Vec<Slice>, work: impl FnOnce() -> R) -> (R, u64) {
        debug_assert!(!self.0.works_beside.get(), "a device works in a device");
        let clock = (self.0.now_ns.replace(start_ns), self.0.attention_at_ns.replace(u64::MAX));
        self.0.slices.replace(std::mem::take(slices));
        self.0.works_beside.set(true);
        let done = work();
        self.0.works_beside.set(false);
        *slices = self.0.slices.take();
        let end_ns = self.0.now_ns.replace(clock.0);
        self.0.attention_at_ns.set(clock.1);
        (done, end_ns)
    }

    /// The time that the present cause is charged for: nothing while a device works beside the clock, which notes it.
    #[inline]
    pub(crate) fn charged(&self, duration_ns: u64) -> u64 {
        if self.0.works_beside.get() {
            self.note_slice(duration_ns);
            return 0;
        }
        duration_ns
    }

    #[cold]
    fn note_slice(&self, duration_ns: u64) {
        let reason = self.reason();
        let mut slices = self.0.slices.borrow_mut();
        // The clock of the device goes on only after the time was charged.
        let until_ns = self.now_ns() + duration_ns;
        match slices.last_mut() {
            Some(last) if last.is_medium && last.reason == reason => last.until_ns = until_ns,
            _ => slices.push(Slice { until_ns, reason, is_medium: true }),
        }
    }

    /// Waits for a device until `until_ns`: each part of the time is the medium's, or the driver's, for what the device does then. What
    /// lies behind the last slice is the driver's for the present cause. Slices that are over are removed.
    pub fn pass_beside(&self, until_ns: u64, slices: &mut Vec<Slice>) {
        let over = slices.partition_point(|slice| slice.until_ns <= self.now_ns());
        let mut used = over;
        for slice in &slices[over..] {
            let end_ns = slice.until_ns.min(until_ns);
            let _why = self.because(slice.reason);
            if slice.is_medium {
                self.wait_for_medium(end_ns)
            } else {
                self.drive(end_ns.saturating_sub(self.now_ns()))
            }
            used += usize::from(slice.until_ns <= until_ns);
        }
        slices.drain(..used);
        if until_ns > self.now_ns() {
            self.drive(until_ns - self.now_ns());
        }
    }
}
