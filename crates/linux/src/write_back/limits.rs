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

/// A counter of a kernel for several CPUs: what one CPU counts is seen by readers when it has come to a batch
/// (`lib/percpu_counter.c`). With a batch of 1 it is an ordinary counter.
pub(super) struct Counter {
    seen: i64,
    pending: i64,
    batch: i64,
}

impl Counter {
    pub fn new(seen: i64, batch: i64) -> Counter {
        Counter { seen, pending: 0, batch }
    }

    pub fn add(&mut self, amount: i64) {
        self.pending += amount;
        if self.pending.abs() >= self.batch {
            self.seen += std::mem::take(&mut self.pending);
        }
    }

    pub fn read(&self) -> u64 {
        self.seen.max(0).unsigned_abs()
    }

    fn sum(&self) -> i64 {
        self.seen + self.pending
    }
}

/// The share of one device in all pages that were written lately, as 6.1 counts it. A device that has not written for a
/// while has no share, so the flusher writes everything dirty as soon as it wakes. On a kernel for several CPUs neither
/// has one that writes a few pages in a period: they do not come to a batch.
pub(super) struct Share {
    /// Written pages of all devices. It begins at one, so that the share stays below the whole.
    all_events: Counter,
    events: Counter,
    /// Tick at which the period ends, and at which its timer fires.
    period_end_tick: Option<(u64, u64)>,
}

/// `PROP_BATCH` of `lib/flex_proportions.c` for one CPU, and the batch of other counters (`percpu_counter_batch`).
const PROPORTION_BATCH: i64 = 8;
/// `WB_STAT_BATCH` of `include/linux/backing-dev.h` for one CPU.
pub(super) const DEVICE_BATCH: i64 = 8;
const COUNTER_BATCH: i64 = 32;

impl Share {
    /// `smp`: the kernel is one for several CPUs, of which one is there.
    pub fn new(smp: bool) -> Share {
        let (own, all) = if smp { (PROPORTION_BATCH, COUNTER_BATCH) } else { (1, 1) };
        Share { all_events: Counter::new(1, all), events: Counter::new(0, own), period_end_tick: None }
    }

    /// Starts counting for another device. The pages that the old one wrote still count in the sum.
    pub fn new_device(&mut self) {
        self.events = Counter::new(0, self.events.batch);
    }

    /// Counts a written page.
    pub fn count(&mut self, sim: &Sim) {
        self.age(sim);
        self.events.add(1);
        self.all_events.add(1);
        if self.period_end_tick.is_none() {
            self.start_period(sim, tick(sim) + ticks(sim, PERIOD_S));
        }
    }

    /// The device's share of `pages`.
    pub fn of(&mut self, sim: &Sim, pages: u64) -> u64 {
        self.age(sim);
        let events = self.events.read();
        let all = self.all_events.read().max(events).max(1);
        (u128::from(pages) * u128::from(events) / u128::from(all)) as u64
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
            let all = self.all_events.sum();
            if all <= 1 {
                self.period_end_tick = None;
                return;
            }
            let halve = |events: i64| events.checked_shr((missed + 1) as u32).unwrap_or(0);
            self.all_events.add(halve(all) - all);
            // Few events are counted to the last (`fprop_reflect_period_percpu`).
            let own = match self.events.seen {
                few if few < self.events.batch => self.events.sum(),
                many => many,
            };
            self.events.add(halve(own) - own);
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
    fn a_device_that_writes_little_has_no_share_on_a_kernel_for_several_cpus() {
        let sim = Sim::new(SimConfig::default());
        let (mut alone, mut smp) = (Share::new(false), Share::new(true));
        for written in 1..=8 {
            alone.count(&sim);
            smp.count(&sim);
            assert_eq!(smp.of(&sim, 1_000), if written < 8 { 0 } else { 1_000 }, "{written}");
            assert_eq!(alone.of(&sim, 1_000), 1_000 * written / (written + 1));
        }
        // Of the batch half is forgotten after a period, and what remains is below a batch, yet seen: it was once.
        sim.program_computes(3_200_000_000);
        assert_eq!(smp.events.sum(), 8);
        assert_eq!((smp.of(&sim, 1_000), smp.events.sum()), (1_000, 4));
    }

    #[test]
    fn a_device_that_has_not_written_has_no_share() {
        let sim = Sim::new(SimConfig::default());
        let mut share = Share::new(false);
        assert_eq!(share.of(&sim, 1_000), 0);
        (0..99).for_each(|_| share.count(&sim));
        assert_eq!(share.of(&sim, 1_000), 990);
        share.new_device();
        assert_eq!(share.of(&sim, 1_000), 0);
    }

    #[test]
    fn what_was_written_counts_half_after_each_period() {
        let sim = Sim::new(SimConfig::default());
        let mut share = Share::new(false);
        (0..999).for_each(|_| share.count(&sim));
        sim.program_computes(3_200_000_000);
        share.of(&sim, 1);
        assert_eq!((share.events.sum(), share.all_events.sum()), (499, 500));
        sim.program_computes(9_100_000_000);
        share.of(&sim, 1);
        assert_eq!((share.events.sum(), share.all_events.sum()), (62, 62), "three periods more");
        sim.program_computes(3_600_000_000_000);
        assert_eq!(share.of(&sim, 1_000), 0);
    }
}
