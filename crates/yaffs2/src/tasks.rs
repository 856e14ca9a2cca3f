//! The background thread of the Linux port: headers of changed directories, and garbage collection when there is time.
//!
//! Old kernels also write a changed super block from time to time, which here means everything that is dirty.
//!
//! Follows `yaffs_bg_thread_fn`, `yaffs_bg_gc_urgency` and `yaffs_write_super` of `yaffs_vfs_multi.c`.

use crate::causes;
use ffslab_fs::{super_sync_after_ns, Host, Result};

use crate::device::Device;
use crate::options::Background;
use crate::Yaffs2;

/// When the thread has to do each of its two jobs next.
#[derive(Clone, Copy, Debug, Default)]
pub struct Schedule {
    directory_update_at_ns: u64,
    collect_at_ns: u64,
}

impl Device {
    /// How much of the free space is in blocks that also hold data in use: 0 (little) to 2 (most).
    pub fn gc_urgency(&self) -> usize {
        let per_block = self.chunks.blocks.chunks_per_block as i32;
        let (erased, free) = (self.chunks.blocks.erased_blocks() * per_block, self.chunks.blocks.free_chunks());
        if free - erased < per_block * 2 || erased > free / 2 {
            0
        } else if erased > free / 4 {
            1
        } else {
            2
        }
    }
}

impl Yaffs2 {
    pub(crate) fn start_threads(&mut self) {
        let sim = &self.device.chunks.sim;
        if let Some(interval_ms) = self.device.chunks.options.super_sync_interval_ms {
            sim.spawn(&causes::SYNC_SUPERS);
            sim.sleep_until(&causes::SYNC_SUPERS, super_sync_after_ns(sim.now_ns(), interval_ms));
        }
        if let Some(background) = self.device.chunks.options.background {
            let now_ns = background.now_ns(sim);
            self.schedule = Schedule { directory_update_at_ns: now_ns, collect_at_ns: now_ns };
            sim.spawn(&causes::YAFFS_THREAD);
            sim.wake(&causes::YAFFS_THREAD);
        }
    }

    pub(crate) fn stop_threads(&mut self) {
        let (sim, options) = (&self.device.chunks.sim, &self.device.chunks.options);
        if options.background.is_some() {
            sim.kill(&causes::YAFFS_THREAD);
        }
        if options.super_sync_interval_ms.is_some() {
            sim.kill(&causes::SYNC_SUPERS);
        }
    }

    /// One turn of the kernel's thread `sync_supers`. It never asks for a checkpoint (`yaffs_auto_checkpoint` is 1).
    pub(crate) fn run_super_sync(&mut self) {
        let Some(interval_ms) = self.device.chunks.options.super_sync_interval_ms else { return };
        let sim = self.device.chunks.sim.clone();
        // The timer is armed when it fires, before the thread runs.
        sim.sleep_until(&causes::SYNC_SUPERS, super_sync_after_ns(sim.now_ns(), interval_ms));
        if self.device.chunks.super_is_dirty {
            // Without power nothing can be written; the next call reports the power loss.
            let _powered = self.device.flush_everything(false);
        }
    }

    /// One turn of the thread, and those that follow while nobody else does anything. The time of day is set for the first one.
    pub(crate) fn run_thread(&mut self, host: &dyn Host) {
        let Some(background) = self.device.chunks.options.background else { return };
        let sim = self.device.chunks.sim.clone();
        loop {
            // Without power the thread can do nothing; the next call reports the power loss.
            let next_ns = self.thread_turn(&background).unwrap_or(u64::MAX / 2).max(sim.now_ns() + 1);
            if !sim.slept_alone_until(next_ns) {
                return sim.sleep_until(&causes::YAFFS_THREAD, next_ns);
            }
            self.set_clock(host);
        }
    }

    /// Returns when the next turn is due.
    fn thread_turn(&mut self, background: &Background) -> Result<u64> {
        let late_ns = background.timer_late_ns;
        let now_ns = background.now_ns(&self.device.chunks.sim);
        let schedule = &mut self.schedule;
        if now_ns >= schedule.directory_update_at_ns + late_ns {
            self.device.update_dirty_directories()?;
            schedule.directory_update_at_ns = now_ns + background.directory_update_ns;
        }
        if now_ns >= schedule.collect_at_ns + late_ns {
            if self.device.chunks.checkpoint.is_valid {
                schedule.collect_at_ns = schedule.directory_update_at_ns;
            } else {
                let urgency = self.device.gc_urgency();
                self.device.check_gc(true)?;
                schedule.collect_at_ns = now_ns + background.collect_ns[urgency];
            }
        }
        let due_ns = schedule.directory_update_at_ns.min(schedule.collect_at_ns);
        Ok(if due_ns < now_ns { now_ns + background.directory_update_ns } else { due_ns } + late_ns)
    }
}
