//! How many pages may be dirty: the global limits, and the share of one device in them, which depends on how much it
//! has written lately (`mm/page-writeback.c`, `lib/flex_proportions.c`).

use crate::config::{DirtyLimits, WriteBackKnobs};
use ffslab_fs::PAGE_BYTES;
use ffslab_sim::Sim;

const PAGE: u64 = PAGE_BYTES as u64;
/// Written pages count half after so many seconds (`VM_COMPLETIONS_PERIOD_LEN`).
const PERIOD_S: u64 = 3;

/// Limits of the number of dirty pages of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thresholds {
    /// Around this number writers are held up.
    pub dirty: u64,
    /// Above this number the flusher writes.
    pub background: u64,
}

impl Thresholds {
    /// `domain_dirty_limits`; `memory_pages`: what the page cache could take.
    pub fn of(knobs: &WriteBackKnobs, memory_pages: u64) -> Thresholds {
        let share = |percent: u32| u64::from(percent) * PAGE / 100 * memory_pages / PAGE;
        let (dirty, background) = match knobs.limits {
            DirtyLimits::Percent { dirty_percent, background_percent } => {
                (share(dirty_percent), share(background_percent))
            }
            DirtyLimits::Bytes { dirty_bytes, background_bytes } => {
                (dirty_bytes.div_ceil(PAGE), background_bytes.div_ceil(PAGE))
            }
        };
        Thresholds { dirty, background: if background >= dirty { dirty / 2 } else { background } }
    }

    /// Below this number no writer is held up.
    pub fn free_run(&self) -> u64 {
        (self.dirty + self.background) / 2
    }
}

/// The share of one device in all pages that were written lately, as 6.1 counts it. A device that has not written for a
/// while has no share, so the flusher writes everything dirty as soon as it wakes.
pub(super) struct Share {
    /// Written pages of all devices. It begins at one, so that the share stays below the whole.
    all_events: u64,
    events: u64,
    /// Tick at which the period ends, and at which its timer fires.
    period_end_tick: Option<(u64, u64)>,
}

impl Share {
    pub fn new() -> Share {
        Share { all_events: 1, events: 0, period_end_tick: None }
    }

    /// Starts counting for another device. The pages that the old one wrote still count in the sum.
    pub fn new_device(&mut self) {
        self.events = 0;
    }

    /// Counts a written page.
    pub fn count(&mut self, sim: &Sim) {
        self.age(sim);
        self.events += 1;
        self.all_events += 1;
        if self.period_end_tick.is_none() {
            self.start_period(sim, tick(sim) + ticks(sim, PERIOD_S));
        }
    }

    /// The device's share of `pages`.
    pub fn of(&mut self, sim: &Sim, pages: u64) -> u64 {
        self.age(sim);
        let all = self.all_events.max(self.events).max(1);
        (u128::from(pages) * u128::from(self.events) / u128::from(all)) as u64
    }

    fn start_period(&mut self, sim: &Sim, end_tick: u64) {
        let delay_ticks = end_tick.saturating_sub(tick(sim)) as u32;
        self.period_end_tick = Some((end_tick, sim.timer_after_ticks(delay_ticks) / sim.tick_ns()));
    }

    /// Halves the counts once for each period that has passed. The kernel's timer does not wake an idle CPU
    /// (`TIMER_DEFERRABLE`), so it is enough to do this whenever the share is needed.
    fn age(&mut self, sim: &Sim) {
        while let Some((end_tick, fires_tick)) = self.period_end_tick.filter(|&(_, fires)| fires <= tick(sim)) {
            let period = ticks(sim, PERIOD_S);
            // A deferred timer runs when the CPU has other work, which is now.
            let missed = (tick(sim).max(fires_tick) - end_tick) / period;
            if self.all_events <= 1 {
                self.period_end_tick = None;
                return;
            }
            let halve = |events: u64| events.checked_shr((missed + 1) as u32).unwrap_or(0);
            self.all_events = halve(self.all_events);
            self.events = halve(self.events);
            self.start_period(sim, end_tick + (missed + 1) * period);
        }
    }
}

/// Ticks since the machine was started.
pub(super) fn tick(sim: &Sim) -> u64 {
    sim.now_ns() / sim.tick_ns()
}

/// The number of timer ticks in `seconds`.
pub(super) fn ticks(sim: &Sim, seconds: u64) -> u64 {
    seconds * u64::from(sim.config().tick_rate_hz)
}

/// The number of timer ticks in `ms` milliseconds, rounded up (`msecs_to_jiffies`).
pub(super) fn ticks_of_ms(sim: &Sim, ms: u32) -> u64 {
    (u64::from(ms) * u64::from(sim.config().tick_rate_hz)).div_ceil(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn percent(dirty_percent: u32, background_percent: u32) -> WriteBackKnobs {
        WriteBackKnobs { limits: DirtyLimits::Percent { dirty_percent, background_percent }, ..Default::default() }
    }

    #[test]
    fn limits_are_shares_of_memory_or_numbers_of_bytes() {
        // 20 % is 819 of 4096, 10 % 409.
        assert_eq!(Thresholds::of(&percent(20, 10), 10_000), Thresholds { dirty: 1_999, background: 998 });
        let limits = DirtyLimits::Bytes { dirty_bytes: 8 << 20, background_bytes: 4 << 20 };
        let knobs = WriteBackKnobs { limits, ..Default::default() };
        let bytes = Thresholds::of(&knobs, 10);
        assert_eq!((bytes, bytes.free_run()), (Thresholds { dirty: 2_048, background: 1_024 }, 1_536));
    }

    #[test]
    fn a_background_limit_above_the_dirty_limit_is_half_of_it() {
        assert_eq!(
            Thresholds::of(&percent(10, 50), 4_000).background,
            Thresholds::of(&percent(10, 50), 4_000).dirty / 2
        );
    }

    #[test]
    fn a_device_that_has_not_written_has_no_share() {
        let sim = Sim::new(SimConfig::default());
        let mut share = Share::new();
        assert_eq!(share.of(&sim, 1_000), 0);
        (0..99).for_each(|_| share.count(&sim));
        assert_eq!(share.of(&sim, 1_000), 990);
        share.new_device();
        assert_eq!(share.of(&sim, 1_000), 0);
    }

    #[test]
    fn what_was_written_counts_half_after_each_period() {
        let sim = Sim::new(SimConfig::default());
        let mut share = Share::new();
        (0..999).for_each(|_| share.count(&sim));
        sim.program_computes(3_200_000_000);
        share.of(&sim, 1);
        assert_eq!((share.events, share.all_events), (499, 500));
        sim.program_computes(9_100_000_000);
        share.of(&sim, 1);
        assert_eq!((share.events, share.all_events), (62, 62), "three periods more");
        sim.program_computes(3_600_000_000_000);
        assert_eq!(share.of(&sim, 1_000), 0);
    }
}
