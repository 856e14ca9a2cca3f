//! How Linux 2.6.37 holds writers up (`mm/page-writeback.c`, `balance_dirty_pages` before 3.2): over the limit a writer
//! first writes pages itself, then pauses, each time twice as long.

use super::limits::{ticks, Thresholds};
use super::rounds::write_in_writer;
use super::writer::{Patience, EXCEEDED_LOOK_PAGES};
use super::{check_power, pause, DirtyCache, WriteBack};
use ffslab_fs::{FileSystem, Result};

impl WriteBack {
    /// Called after each page that is written to, be it dirty already or not: whether the writer checks the limits now. If
    /// so, returns how many pages it has to write if they are exceeded: one and a half times as many as it has written to
    /// (`balance_dirty_pages_ratelimited_nr`, `sync_writeback_pages`).
    fn duty_pages(&mut self) -> Option<u64> {
        let writer = &mut self.writer;
        writer.unlooked += 1;
        let after = if writer.is_exceeded { EXCEEDED_LOOK_PAGES } else { writer.unlooked_max };
        if writer.unlooked < after {
            return None;
        }
        let dirtied = writer.unlooked.max(writer.unlooked_max);
        writer.unlooked = 0;
        Some(dirtied + dirtied / 2)
    }

    /// The limit for a writer: the device's part of the limit, less up to an eighth of it, according to the writer's part in
    /// all pages that were dirtied (`bdi_dirty_limit`, `task_dirty_limit`).
    fn writer_limit(&mut self, thresholds: Thresholds) -> u64 {
        let share = self.written_part.of(thresholds.dirty);
        share - self.dirtied_part.of(share / 8)
    }
}

/// # Errors
/// The power went away while the writer was held up.
pub(super) fn balance_dirty_pages_2_6(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> Result<()> {
    let Some(duty_pages) = cache.state().duty_pages() else { return Ok(()) };
    let state = cache.state();
    let thresholds = Thresholds::of(&state.knobs, state.memory_pages);
    let pause_ticks_max = (ticks(&cache.state().sim, 1) / 10).max(1) as u32;
    let mut pause_ticks = 1;
    let mut written = 0;
    let mut was_exceeded = false;
    let mut patience = Patience::new(cache.state().bandwidth.written);
    let mut dirty;
    loop {
        dirty = cache.state().inodes.dirty_pages;
        if dirty <= thresholds.free_run() {
            break;
        }
        let limit = cache.state().writer_limit(thresholds);
        was_exceeded = dirty > limit || dirty > thresholds.dirty;
        if !was_exceeded {
            break;
        }
        cache.state().writer.is_exceeded = true;
        if dirty > limit {
            written += write_in_writer(cache, fs, duty_pages)?;
            if written >= duty_pages {
                break;
            }
        }
        pause(cache, fs, pause_ticks);
        check_power(cache)?;
        if patience.is_lost(cache.state().bandwidth.written) {
            break;
        }
        pause_ticks = (2 * pause_ticks).min(pause_ticks_max);
    }
    // A writer that has paused and now finds few dirty pages soon looks again: what it found first still counts. What it
    // has written itself is not subtracted.
    let write_back = &mut cache.state();
    write_back.writer.is_exceeded &= was_exceeded;
    if dirty > thresholds.background {
        write_back.ask_for_background();
    }
    Ok(())
}
