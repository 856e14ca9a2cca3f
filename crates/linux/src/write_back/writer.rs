//! The program as a writer of pages, and the limit that all writers share (`mm/page-writeback.c`).

use super::bandwidth::Position;
use super::limits::Thresholds;
use crate::config::WriteBackRules;
use ffslab_fs::Ino;

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
    pub written: u64,
    pub vain_pauses: u32,
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
    pub dirtied: u64,
    pub paused_tick: Option<i64>,
    /// The writer checks the limits again after so many pages (`nr_dirtied_pause`).
    pub look_after: u64,
    /// Pages dirtied since any check, and how many are allowed at most (`ratelimit_pages`).
    pub unlooked: u64,
    pub unlooked_max: u64,
    pub is_exceeded: bool,
    /// The inode that the program writes itself, because it is over the limit (2.6.37).
    pub inode: Option<Ino>,
    /// Follows the threshold upwards at once and downwards slowly (`dirty_limit`).
    pub limit: u64,
    pub limit_tick: u64,
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
    pub fn looks(&mut self) -> bool {
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
    pub fn runs_free(&mut self, now: i64, dirty: u64, thresholds: Thresholds) {
        self.paused_tick = Some(now);
        self.dirtied = 0;
        self.look_after = match thresholds.dirty.checked_sub(dirty) {
            Some(room @ 1..) => 1 << (room.ilog2() / 2),
            _ => 1,
        };
    }

    /// `domain_update_dirty_limit`.
    pub fn update_limit(&mut self, now_tick: u64, interval: u64, position: &Position) {
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
