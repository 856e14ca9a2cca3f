//! Holding up writers, so that dirty pages do not fill the memory (`balance_dirty_pages`).

use super::bandwidth::Position;
use super::limits::{tick, Thresholds};
use super::throttle_2_6::balance_dirty_pages_2_6;
use super::{check_power, pause, DirtyCache, WriteBack};
use crate::config::WriteBackRules;
use ffslab_fs::{FileSystem, Ino, Result};

/// Number of pages after which a new writer checks the limits for the first time (`INIT_TASK`, 128 KiB).
const FIRST_LOOK_PAGES: u64 = 32;
/// Number of pages between two checks while the limit is exceeded (32 KiB).
pub(super) const EXCEEDED_LOOK_PAGES: u64 = 8;

/// After so many pauses in a row without a written page the writer is not held up any more. The kernel would wait on,
/// but there the program can be killed.
const VAIN_PAUSES_MAX: u32 = 100;

/// Counts pauses in which nothing was written, because a file system that has given up writing must not hold the
/// program up for ever.
pub(super) struct Patience {
    written: u64,
    vain_pauses: u32,
}

impl Patience {
    pub fn new(written: u64) -> Patience {
        Patience { written, vain_pauses: 0 }
    }

    /// Called after a pause; `written`: pages written so far. Returns whether the writer should not wait any longer.
    pub fn is_lost(&mut self, written: u64) -> bool {
        let is_vain = std::mem::replace(&mut self.written, written) == written;
        self.vain_pauses = if is_vain { self.vain_pauses + 1 } else { 0 };
        self.vain_pauses >= VAIN_PAUSES_MAX
    }
}

/// The state of the program as a writer, and the limit that all writers share.
pub(super) struct Writer {
    /// Pages dirtied since the last check or pause (`nr_dirtied`), and the tick from which on they count.
    dirtied: u64,
    paused_tick: Option<i64>,
    /// The writer checks the limits again after so many pages (`nr_dirtied_pause`).
    look_after: u64,
    /// Pages dirtied since any check, and how many are allowed at most (`ratelimit_pages`).
    pub unlooked: u64,
    pub unlooked_max: u64,
    pub is_exceeded: bool,
    /// The inode that the program writes itself, because it is over the limit (2.6.37).
    pub inode: Option<Ino>,
    /// Follows the threshold upwards at once and downwards slowly (`dirty_limit`).
    limit: u64,
    limit_tick: u64,
}

/// The result of a check of the limits.
enum Verdict {
    GoOn,
    /// Pause for so many ticks. `last`: no further check is made after the pause.
    Pause {
        ticks: u32,
        last: bool,
    },
}

impl Writer {
    pub fn new(rules: WriteBackRules, thresholds: Thresholds, memory_pages: u64) -> Writer {
        let unlooked_max = match rules {
            WriteBackRules::V6_1 => (thresholds.dirty / 32).max(16),
            WriteBackRules::V2_6 => (memory_pages / 32).clamp(16, 1024),
        };
        Writer {
            dirtied: 0,
            paused_tick: None,
            look_after: FIRST_LOOK_PAGES,
            unlooked: 0,
            unlooked_max,
            is_exceeded: false,
            inode: None,
            limit: thresholds.dirty,
            limit_tick: 0,
        }
    }

    pub fn limit_pages(&self) -> u64 {
        self.limit
    }

    pub fn page_dirtied(&mut self) {
        self.dirtied += 1;
        self.unlooked += 1;
    }

    /// Whether the writer must check the limits now (`balance_dirty_pages_ratelimited`).
    fn looks(&mut self) -> bool {
        let mut after = self.look_after;
        if self.is_exceeded {
            after = after.min(EXCEEDED_LOOK_PAGES);
        }
        if self.dirtied >= after {
            self.unlooked = 0;
            return true;
        }
        let looks = self.unlooked >= self.unlooked_max;
        if looks {
            self.unlooked = 0;
        }
        looks
    }

    /// `dirty_poll_interval`: the more room there is, the less often the writer checks.
    fn runs_free(&mut self, now: i64, dirty: u64, thresholds: Thresholds) {
        self.paused_tick = Some(now);
        self.dirtied = 0;
        self.look_after = match thresholds.dirty.checked_sub(dirty) {
            Some(room @ 1..) => 1 << (room.ilog2() / 2),
            _ => 1,
        };
    }

    /// `domain_update_dirty_limit`.
    fn update_limit(&mut self, now_tick: u64, interval: u64, position: &Position) {
        if now_tick < self.limit_tick + interval {
            return;
        }
        self.limit_tick = now_tick;
        let threshold = position.thresholds.dirty;
        if self.limit < threshold {
            self.limit = threshold;
        } else {
            self.limit -= self.limit.saturating_sub(threshold.max(position.dirty)) / 32;
        }
    }
}

impl WriteBack {
    /// Checks the limits once. `dirtied`: pages for which the writer has not paused yet.
    fn judge(&mut self, dirtied: u64) -> Verdict {
        let now_tick = tick(&self.sim);
        let mut now = now_tick as i64;
        let hz = i64::from(self.sim.config().tick_rate_hz);
        let thresholds = Thresholds::of(&self.knobs, self.memory_pages);
        let dirty = self.inodes.dirty_pages;
        let is_free = dirty <= thresholds.free_run();
        if (dirty > thresholds.background || !is_free) && !self.flusher.is_at_work() {
            self.wake_flusher();
        }
        if is_free {
            self.writer.runs_free(now, dirty, thresholds);
            return Verdict::GoOn;
        }
        self.bandwidth.catch_up(now_tick);
        let device_threshold = self.share.of(&self.sim, thresholds.dirty);
        self.writer.is_exceeded = dirty > device_threshold && dirty > thresholds.dirty;
        let limit = self.writer.limit.max(thresholds.dirty);
        let position = Position { thresholds, dirty, limit, device_threshold };
        let ratio = position.ratio(self.bandwidth.average_per_s());
        if self.bandwidth.is_due(now_tick) {
            self.writer.update_limit(now_tick, (hz as u64 / 5).max(1), &position);
            self.bandwidth.update_with_limit(now_tick, &position, ratio);
        }
        let rate = self.bandwidth.task_rate(ratio);
        let bounds = self.bandwidth.pause_bounds(dirty, rate);
        let writer = &mut self.writer;
        let mut pause = bounds.most;
        if rate > 0 {
            let period = hz * dirtied as i64 / rate as i64;
            pause = period - writer.paused_tick.map_or(0, |paused| now - paused);
            if pause < bounds.least {
                // A pause this short is skipped and added to a later one, unless the writer has been slow by itself.
                if pause < -hz {
                    writer.paused_tick = Some(now);
                    writer.dirtied = 0;
                } else if period > 0 {
                    writer.paused_tick = Some(writer.paused_tick.unwrap_or(0) + period);
                    writer.dirtied = 0;
                } else if writer.look_after <= dirtied {
                    writer.look_after += dirtied;
                }
                return Verdict::GoOn;
            }
            if pause > bounds.most {
                now += (pause - bounds.most).min(bounds.most);
                pause = bounds.most;
            }
        }
        writer.paused_tick = Some(now + pause);
        writer.dirtied = 0;
        writer.look_after = bounds.next_look_pages;
        Verdict::Pause { ticks: pause as u32, last: rate > 0 || dirty <= 1 }
    }
}

/// Called after each page of a write: holds the writer up when too many pages are dirty.
///
/// # Errors
/// The power went away while the writer was held up.
pub fn balance_dirty_pages(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> Result<()> {
    if cache.state().rules == WriteBackRules::V2_6 {
        return balance_dirty_pages_2_6(cache, fs);
    }
    if !cache.state().writer.looks() {
        return Ok(());
    }
    let dirtied = cache.state().writer.dirtied;
    let mut patience = Patience::new(cache.state().bandwidth.written);
    while let Verdict::Pause { ticks, last } = cache.state().judge(dirtied) {
        pause(cache, fs, ticks);
        check_power(cache)?;
        if last || patience.is_lost(cache.state().bandwidth.written) {
            break;
        }
    }
    Ok(())
}
