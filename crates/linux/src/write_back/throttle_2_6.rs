//! How Linux 2.6.37 holds writers up (`mm/page-writeback.c`, `balance_dirty_pages` before 3.2): over the limit a writer
//! first writes pages itself, then pauses, each time twice as long.

use super::limits::{ticks, Thresholds};
use super::throttle::{Patience, EXCEEDED_LOOK_PAGES};
use super::WriteBack;
use crate::memory::Memory;
use ffslab_fs::{FileSystem, Result};

impl WriteBack {
    /// Whether a writer checks the limits now. If so, returns how many pages it has to write if they are exceeded: one
    /// and a half times as many as it has dirtied.
    fn duty_pages(&mut self) -> Option<u64> {
        let writer = &mut self.writer;
        let after = if writer.is_exceeded { EXCEEDED_LOOK_PAGES } else { writer.unlooked_max };
        if writer.unlooked < after {
            return None;
        }
        let dirtied = writer.unlooked.max(writer.unlooked_max);
        writer.unlooked = 0;
        Some(dirtied + dirtied / 2)
    }

    /// The limit for a writer that is the only heavy one on the only device (`task_dirty_limit`): seven eighths of the
    /// device's share.
    fn writer_limit(&mut self, thresholds: Thresholds) -> u64 {
        let share = self.share.of(&self.sim, thresholds.dirty);
        share - share / 8
    }
}

impl Memory {
    /// # Errors
    /// The power went away while the writer was held up.
    pub(super) fn balance_dirty_pages_2_6(&mut self, fs: &mut dyn FileSystem) -> Result<()> {
        let Some(duty_pages) = self.write_back.duty_pages() else { return Ok(()) };
        let thresholds = Thresholds::of(&self.write_back.knobs, self.write_back.memory_pages);
        let pause_ticks_max = (ticks(&self.write_back.sim, 1) / 10).max(1) as u32;
        let mut pause_ticks = 1;
        let mut written = 0;
        let mut patience = Patience::new(self.write_back.bandwidth.written);
        loop {
            let dirty = self.write_back.inodes.dirty_pages;
            if dirty <= thresholds.free_run() {
                self.write_back.writer.is_exceeded = false;
                break;
            }
            let limit = self.write_back.writer_limit(thresholds);
            self.write_back.writer.is_exceeded = dirty > limit || dirty > thresholds.dirty;
            if !self.write_back.writer.is_exceeded {
                break;
            }
            if dirty > limit {
                written += self.write_in_writer(fs, duty_pages)?;
                if written >= duty_pages {
                    break;
                }
            }
            self.pause(fs, pause_ticks);
            self.check_power()?;
            if patience.is_lost(self.write_back.bandwidth.written) {
                break;
            }
            pause_ticks = (2 * pause_ticks).min(pause_ticks_max);
        }
        let write_back = &mut self.write_back;
        if write_back.inodes.dirty_pages > thresholds.background && !write_back.flusher.has_requests() {
            write_back.ask_for_background();
        }
        Ok(())
    }
}
