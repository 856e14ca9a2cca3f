//! The part of a device in all written pages, and of a task in all dirtied ones, as kernels before 3.6 count it
//! (`lib/proportions.c`).
//!
//! Time is counted in events, not in seconds: when half a period of events has passed, what was counted before counts half. So
//! a device that has written less than some periods has a small part, although it is the only one.

/// Events of one device or task among those of all.
pub(super) struct Proportion {
    /// log2 of the period.
    shift: u32,
    all_events: u64,
    events: u64,
    /// Half periods that had passed when `events` was last halved.
    half_periods: u64,
}

impl Proportion {
    /// `dirty_pages`: the dirty limit, from which the period follows (`mm/page-writeback.c`, `calc_period_shift`).
    pub fn new(dirty_pages: u64) -> Proportion {
        let shift = 2 + dirty_pages.saturating_sub(1).max(1).ilog2();
        Proportion { shift, all_events: 0, events: 0, half_periods: 0 }
    }

    /// Starts counting for another device or task. What the old one did still counts in the sum.
    pub fn begin_anew(&mut self) {
        self.events = 0;
        self.half_periods = 0;
    }

    fn half_period(&self) -> u64 {
        1 << (self.shift - 1)
    }

    /// Halves the count once for each half period that has passed (`prop_norm_percpu`).
    fn age(&mut self) {
        let half_periods = self.all_events / self.half_period();
        let missed = half_periods - self.half_periods;
        if missed > 0 {
            self.events = self.events.checked_shr(u32::try_from(missed).unwrap_or(u32::MAX)).unwrap_or(0);
            self.half_periods = half_periods;
        }
    }

    pub fn count(&mut self) {
        self.age();
        self.events += 1;
        self.all_events += 1;
    }

    /// The part of `pages` (`prop_fraction_percpu`).
    pub fn of(&mut self, pages: u64) -> u64 {
        self.age();
        let half_period = self.half_period();
        pages * self.events / (half_period + self.all_events % half_period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_the_only_device_grows_to_the_whole() {
        // The limit of 2,048 pages gives periods of 4,096 events.
        let mut proportion = Proportion::new(2_048);
        assert_eq!(proportion.of(1_000), 0);
        (0..1_024).for_each(|_| proportion.count());
        assert_eq!(proportion.of(1_000), 1_000 * 1_024 / 3_072);
        (0..1_024).for_each(|_| proportion.count());
        assert_eq!(proportion.of(1_000), 500, "half a period is over, so all of it counts half");
        (0..20_480).for_each(|_| proportion.count());
        assert_eq!(proportion.of(1_000), 999);
        proportion.begin_anew();
        assert_eq!(proportion.of(1_000), 0);
    }
}
