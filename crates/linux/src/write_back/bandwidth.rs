//! Estimates of how fast the device writes and how fast a writer may dirty pages, from which follow the pauses of
//! writers and the size of the flusher's portions (`mm/page-writeback.c`, `struct bdi_writeback`). Rates are pages per
//! second.

use super::limits::{tick, Thresholds};
use ffslab_fs::PAGE_BYTES;
use ffslab_sim::Sim;

/// The assumed speed before anything was measured: 100 MB/s (`INIT_BW`).
const AT_START: u64 = (100 << 20) / PAGE_BYTES as u64;
/// Ratios are in 1/1024 (`RATELIMIT_CALC_SHIFT`).
const RATIO_BITS: u32 = 10;
/// A writer should not dirty fewer pages than this between two checks of the limits (`DIRTY_POLL_THRESH`).
const POLL_PAGES: u64 = 32;

pub(super) struct Bandwidth {
    hz: u64,
    /// Pages written and dirtied so far, and the same numbers at the last update.
    pub written: u64,
    pub dirtied: u64,
    written_at_update: u64,
    dirtied_at_update: u64,
    updated_tick: u64,
    /// Tick of an update that was put off when a page was written (`bw_dwork`).
    update_due_tick: Option<u64>,
    now_per_s: u64,
    average_per_s: u64,
    /// The rate at which all writers together may dirty pages (`dirty_ratelimit`), and the last estimate of the rate at
    /// which as much would be dirtied as is written.
    limit_per_s: u64,
    balanced_per_s: u64,
}

/// The current number of dirty pages and the limits with which it is compared.
#[derive(Clone, Copy)]
pub(super) struct Position {
    pub thresholds: Thresholds,
    /// Pages that are dirty now.
    pub dirty: u64,
    /// The limit, which follows the threshold slowly and is never below it (`dirty_limit`).
    pub limit: u64,
    /// The device's share of the threshold.
    pub device_threshold: u64,
}

/// The least and the longest pause of a writer, in ticks, and the number of pages after which it checks the limits
/// again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PauseBounds {
    pub least: i64,
    pub most: i64,
    pub next_look_pages: u64,
}

impl Position {
    fn set_point(&self) -> u64 {
        (self.thresholds.free_run() + self.limit) / 2
    }

    /// The speed of a writer relative to the common rate, in 1/1024 (`wb_position_ratio`): double where no writer is
    /// held up, 0 at the limit, in between along a cubic curve through the set point. It is scaled by the position of
    /// the device in its own share.
    pub fn ratio(&self, average_per_s: u64) -> u64 {
        let (dirty, limit) = (self.dirty as i64, self.limit as i64);
        if dirty >= limit {
            return 0;
        }
        let set_point = self.set_point() as i64;
        let x = ((set_point - dirty) << RATIO_BITS) / ((limit - set_point) | 1);
        let cube = (((x * x) >> RATIO_BITS) * x) >> RATIO_BITS;
        let mut ratio = (cube + (1 << RATIO_BITS)).clamp(0, 2 << RATIO_BITS);
        let threshold = self.thresholds.dirty as i64;
        let device = (self.device_threshold as i64).min(threshold).max((limit - dirty) / 8);
        let scale = (device << 16) / (threshold | 1);
        let device_set_point = (set_point * scale) >> 16;
        let span = ((threshold - device + 8 * average_per_s as i64) * scale) >> 16;
        let end = device_set_point + span;
        ratio = if dirty < end - span / 4 { ratio * (end - dirty) / ((end - device_set_point) | 1) } else { ratio / 4 };
        // A device that may run out of pages to write gets them faster.
        let reserve = device / 2;
        if dirty < reserve {
            ratio = if dirty > reserve / 8 { ratio * reserve / dirty } else { ratio * 8 };
        }
        ratio.max(0) as u64
    }
}

impl Bandwidth {
    pub fn new(sim: &Sim) -> Bandwidth {
        Bandwidth {
            hz: u64::from(sim.config().tick_rate_hz),
            written: 0,
            dirtied: 0,
            written_at_update: 0,
            dirtied_at_update: 0,
            updated_tick: tick(sim),
            update_due_tick: None,
            now_per_s: AT_START,
            average_per_s: AT_START,
            limit_per_s: AT_START,
            balanced_per_s: AT_START,
        }
    }

    pub fn average_per_s(&self) -> u64 {
        self.average_per_s
    }

    /// Time between updates: 200 ms, at least a tick.
    fn interval(&self) -> u64 {
        (self.hz / 5).max(1)
    }

    /// Counts a written page. An update follows later unless another one comes first.
    pub fn page_written(&mut self, now_tick: u64) {
        self.written += 1;
        self.update_due_tick.get_or_insert(now_tick + self.interval() + 1);
    }

    /// Called before pages of an inode are written: the time in which the device was idle is not counted.
    pub fn writing_starts(&mut self, now_tick: u64) {
        self.catch_up(now_tick);
        if now_tick - self.updated_tick > self.hz {
            self.stamp(now_tick);
        }
    }

    /// After pages of an inode were written.
    pub fn writing_ends(&mut self, now_tick: u64) {
        if self.is_due(now_tick) {
            self.update(now_tick);
        }
    }

    pub fn is_due(&self, now_tick: u64) -> bool {
        self.updated_tick + self.interval() < now_tick
    }

    /// Makes the update that was put off, if it is due.
    pub fn catch_up(&mut self, now_tick: u64) {
        if let Some(due_tick) = self.update_due_tick.filter(|&due| due <= now_tick) {
            self.update_due_tick = None;
            self.update(due_tick.max(self.updated_tick));
        }
    }

    fn stamp(&mut self, now_tick: u64) {
        self.written_at_update = self.written;
        self.dirtied_at_update = self.dirtied;
        self.updated_tick = now_tick;
    }

    /// `wb_update_write_bandwidth`: a moving average over three seconds, smoothed once more.
    fn update(&mut self, now_tick: u64) {
        let elapsed = (now_tick - self.updated_tick).max(1);
        let period = (3 * self.hz).next_power_of_two();
        let pages = (self.written - self.written_at_update) * self.hz;
        if elapsed > period {
            self.now_per_s = pages / elapsed;
            self.average_per_s = self.now_per_s;
        } else {
            let (before, average) = (self.now_per_s, self.average_per_s);
            self.now_per_s = (pages + before * (period - elapsed)) / period;
            if average > before && before >= self.now_per_s {
                self.average_per_s -= (average - before) >> 3;
            }
            if average < before && before <= self.now_per_s {
                self.average_per_s += (before - average) >> 3;
            }
        }
        self.average_per_s = self.average_per_s.max(1);
        self.stamp(now_tick);
    }

    /// Updates the estimates, including the rate at which writers may dirty pages.
    pub fn update_with_limit(&mut self, now_tick: u64, position: &Position, ratio: u64) {
        let elapsed = (now_tick - self.updated_tick).max(1);
        self.adapt_limit(elapsed, position, ratio);
        self.update(now_tick);
    }

    /// `wb_update_dirty_ratelimit`: moves the limit in small steps towards the rate at which as much is dirtied as is
    /// written, but only where this also brings the number of dirty pages nearer to its set point.
    fn adapt_limit(&mut self, elapsed: u64, position: &Position, ratio: u64) {
        let limit = self.limit_per_s;
        let dirty_rate = (self.dirtied - self.dirtied_at_update) * self.hz / elapsed;
        let task_rate = ((limit * ratio) >> RATIO_BITS) + 1;
        let balanced = (task_rate * self.average_per_s / (dirty_rate | 1)).min(self.average_per_s);
        let mut step = if position.dirty < position.set_point() {
            self.balanced_per_s.min(balanced).min(task_rate).saturating_sub(limit)
        } else {
            limit.saturating_sub(self.balanced_per_s.max(balanced).max(task_rate))
        };
        step = step.checked_shr((limit / (2 * step + 1)).min(64) as u32).unwrap_or(0).div_ceil(8);
        self.limit_per_s = if limit < balanced { limit + step } else { limit - step }.max(1);
        self.balanced_per_s = balanced;
    }

    /// The rate of a writer at this ratio, in pages per second.
    pub fn task_rate(&self, ratio: u64) -> u64 {
        (self.limit_per_s * ratio) >> RATIO_BITS
    }

    /// `wb_max_pause`, `wb_min_pause`: pauses of about 10 ms and at most 200 ms, chosen so that the flusher does not
    /// run out of pages and a writer checks the limits no more often than every 32 pages.
    pub fn pause_bounds(&self, dirty: u64, task_rate: u64) -> PauseBounds {
        let eighth = (1 + self.hz / 8).next_power_of_two();
        let most = (dirty / (1 + self.average_per_s / eighth) + 1).min((self.hz / 5).max(1));
        let second = self.hz.next_power_of_two();
        let limit = self.limit_per_s;
        let mut target = (self.hz / 100).max(1);
        let (high, low) = (self.average_per_s.max(1).ilog2(), limit.max(1).ilog2());
        target += u64::from(high.saturating_sub(low)) * (10 * self.hz) / 1024;
        target = target.min(1 + most / 2);
        let mut pages = limit * target / second;
        if pages < POLL_PAGES {
            target = most;
            pages = limit * target / second;
            if pages > POLL_PAGES {
                pages = POLL_PAGES;
                target = self.hz * POLL_PAGES / limit;
            }
        }
        if self.hz * pages / (task_rate + 1) > most {
            target = most;
            pages = task_rate * target / second;
        }
        let least = if pages >= POLL_PAGES { 1 + target / 2 } else { target };
        PauseBounds { least: least as i64, most: most as i64, next_look_pages: pages }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_sim::SimConfig;

    fn position(dirty: u64) -> Position {
        let thresholds = Thresholds { dirty: 2_048, background: 1_024 };
        Position { thresholds, dirty, limit: 2_048, device_threshold: 2_040 }
    }

    #[test]
    fn a_writer_is_faster_below_the_set_point_and_stops_at_the_limit() {
        // The set point is (1536 + 2048) / 2.
        let ratios = [1_540, 1_700, 1_792, 1_900, 2_040, 2_048].map(|dirty| position(dirty).ratio(1_500));
        assert!(ratios.windows(2).all(|pair| pair[0] > pair[1]), "{ratios:?}");
        assert!((1_000..1_040).contains(&ratios[2]), "{ratios:?}");
        assert_eq!(ratios[5], 0);
    }

    #[test]
    fn the_average_follows_what_is_written() {
        let mut bandwidth = Bandwidth::new(&Sim::new(SimConfig::default()));
        assert_eq!(bandwidth.average_per_s(), 25_600);
        // The device writes 1,500 pages a second for 30 s.
        for step in 1..=150 {
            bandwidth.written += 300;
            bandwidth.update(step * 20);
        }
        assert!((1_500..1_700).contains(&bandwidth.average_per_s()), "{}", bandwidth.average_per_s());
    }

    #[test]
    fn after_an_idle_time_the_estimate_stays() {
        let mut bandwidth = Bandwidth::new(&Sim::new(SimConfig::default()));
        bandwidth.writing_starts(1_000_000);
        bandwidth.written += 300;
        bandwidth.writing_ends(1_000_010);
        assert_eq!(bandwidth.average_per_s(), 25_600, "too early");
        bandwidth.writing_ends(1_000_021);
        assert_eq!(bandwidth.now_per_s, (300 * 100 + 25_600 * 491) / 512);
    }

    #[test]
    fn a_put_off_update_comes_after_200_ms() {
        let mut bandwidth = Bandwidth::new(&Sim::new(SimConfig::default()));
        bandwidth.page_written(5);
        bandwidth.catch_up(25);
        assert_eq!(bandwidth.updated_tick, 0);
        bandwidth.catch_up(500);
        assert_eq!((bandwidth.updated_tick, bandwidth.update_due_tick), (26, None));
    }

    #[test]
    fn the_common_rate_falls_to_what_the_device_writes() {
        let mut bandwidth = Bandwidth::new(&Sim::new(SimConfig::default()));
        for step in 1..=200 {
            bandwidth.written += 300;
            bandwidth.dirtied += 600;
            let at = position(2_030);
            let ratio = at.ratio(bandwidth.average_per_s());
            bandwidth.update_with_limit(step * 20, &at, ratio);
        }
        assert!(bandwidth.limit_per_s < 3_000, "{}", bandwidth.limit_per_s);
    }

    #[test]
    fn pauses_are_a_tick_to_200_ms_long() {
        let bandwidth = Bandwidth::new(&Sim::new(SimConfig::default()));
        let fast = bandwidth.pause_bounds(1_600, 25_600);
        assert_eq!(fast, PauseBounds { least: 1, most: 1, next_look_pages: 200 });
        let slow = bandwidth.pause_bounds(1 << 20, 10);
        assert_eq!((slow.most, slow.least, slow.next_look_pages), (20, 20, 1));
    }
}
