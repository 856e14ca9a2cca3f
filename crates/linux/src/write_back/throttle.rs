//! Holding up writers, so that dirty pages do not fill the memory (`balance_dirty_pages`).

use super::bandwidth::Position;
use super::limits::{tick, Thresholds};
use super::throttle_2_6::balance_dirty_pages_2_6;
use super::writer::Patience;
use super::{check_power, pause, DirtyCache, WriteBack};
use crate::config::WriteBackRules;
use ffslab_fs::{FileSystem, Result};

/// The result of a check of the limits.
enum Verdict {
    GoOn,
    /// Pause for so many ticks. `last`: no further check is made after the pause.
    Pause {
        ticks: u32,
        last: bool,
    },
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
