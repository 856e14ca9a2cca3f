//! The flusher: the kernel worker that writes dirty inodes back (`fs/fs-writeback.c`, `wb_workfn` and the functions
//! that it calls).
//!
//! It is a state machine, because it may have to give way between two batches of pages and continues from there at its
//! next turn. How a piece of work is carried out is in [`super::rounds`].

use super::limits::{tick, ticks_of_ms, Thresholds};
use super::rounds::carry_on;
use super::work::{Cause, Request, Stage, Turn, Work};
use super::{DirtyCache, WriteBack};
use crate::config::WriteBackRules;
use ffslab_fs::causes;
use ffslab_fs::{take_turns, FileSystem, Ino};

/// Number of inodes in use in the whole system, including its pseudo file systems: some hundreds on a small system.
/// Only the order of magnitude matters.
const INODES_IN_USE: u64 = 500;

impl WriteBack {
    /// `wb_wakeup`.
    pub(super) fn wake_flusher(&mut self) {
        self.flusher.timer_ns = None;
        self.flusher.is_called = true;
        if !self.flusher.is_at_work() {
            self.sim.wake(&causes::FLUSHER);
        }
    }

    /// `wb_wakeup_delayed`: an earlier wake-up is not put off.
    pub(super) fn wake_flusher_later(&mut self) {
        if self.flusher.is_called || self.flusher.timer_ns.is_some() || self.knobs.writeback_interval_ms == 0 {
            return;
        }
        let delay_ticks = ticks_of_ms(&self.sim, self.knobs.writeback_interval_ms) as u32;
        let at_ns = self.sim.timer_after_ticks(delay_ticks);
        self.flusher.timer_ns = Some(at_ns);
        if !self.flusher.is_at_work() && !self.flusher.has_lost_cpu {
            self.sim.sleep_until(&causes::FLUSHER, at_ns);
        }
    }

    /// Asks the flusher to write until fewer pages are dirty than the background limit, unless it is at work, with
    /// whatever (2.6.37, `writeback_in_progress`).
    pub(super) fn ask_for_background(&mut self) {
        if !self.flusher.is_at_work() {
            self.queue(Request::background());
        }
    }

    /// Queues a request and wakes the flusher. Returns the number of the request.
    pub(super) fn queue(&mut self, request: Request) -> u64 {
        self.flusher.requests.push_back(request);
        self.flusher.requested += 1;
        self.wake_flusher();
        self.flusher.requested
    }

    /// `wb_start_writeback`.
    pub(super) fn start_all(&mut self) {
        if self.inodes.any_waits() && !self.flusher.start_all {
            self.flusher.start_all = true;
            self.wake_flusher();
        }
    }

    /// The kernel's estimate of the number of pages to write (`get_nr_dirty_pages`). It is generous, so a flush may
    /// write a file twice that becomes dirty again meanwhile.
    pub(super) fn pages_to_write(&self) -> u64 {
        self.inodes.dirty_pages + INODES_IN_USE
    }

    /// `wb_over_bg_thresh`: whether there are more dirty pages than the background limit, or than the device's share of
    /// it.
    pub(super) fn is_too_much_dirty(&mut self) -> bool {
        let thresholds = Thresholds::of(&self.knobs, self.memory_pages);
        if self.rules == WriteBackRules::V2_6 {
            return self.inodes.dirty_pages > thresholds.background;
        }
        let share = self.share.of(&self.sim, thresholds.background);
        let seen = if self.sums_dirty_pages { self.inodes.dirty_pages } else { self.reclaimable.read() };
        self.inodes.dirty_pages > thresholds.background || seen > share
    }

    fn next_work(&mut self) -> Option<Work> {
        let now = tick(&self.sim);
        let loose = |cause, pages| Work::loose(cause, pages, now);
        loop {
            match self.flusher.stage {
                Stage::Asleep => return None,
                Stage::Requests => match self.flusher.requests.pop_front() {
                    Some(Request { cause, certainty, start, pages }) => {
                        let is_request = true;
                        return Some(Work { certainty, start, pages_left: pages, is_request, ..loose(cause, 0) });
                    }
                    None => self.flusher.stage = Stage::StartAll,
                },
                Stage::StartAll => {
                    self.flusher.stage = Stage::Old;
                    if self.flusher.start_all {
                        return Some(loose(Cause::StartAll, self.pages_to_write()));
                    }
                }
                Stage::Old => {
                    self.flusher.stage = Stage::Background;
                    let interval = ticks_of_ms(&self.sim, self.knobs.writeback_interval_ms);
                    if interval > 0 && now >= self.flusher.last_old_tick + interval {
                        self.flusher.last_old_tick = now;
                        let until_tick = now as i64 - ticks_of_ms(&self.sim, self.knobs.expire_ms) as i64;
                        return Some(Work { until_tick, ..loose(Cause::Old, self.pages_to_write()) });
                    }
                }
                Stage::Background => {
                    self.flusher.stage = Stage::End;
                    if self.rules == WriteBackRules::V6_1 && self.is_too_much_dirty() {
                        return Some(loose(Cause::Background, u64::MAX));
                    }
                }
                Stage::End => {
                    let is_asked = self.flusher.has_requests();
                    self.flusher.stage = if is_asked { Stage::Requests } else { Stage::Asleep };
                }
            }
        }
    }

    /// The program begins or ends writing an inode itself (2.6.37, `I_SYNC`). A flusher that waits for it gets on.
    pub(super) fn writer_holds(&mut self, ino: Option<Ino>) {
        self.writer.inode = ino;
        if ino.is_none() && std::mem::take(&mut self.flusher.waits_for_writer) {
            self.sim.wake(&causes::FLUSHER);
        }
    }

    /// Wakes the program if the condition for which it waits is met.
    pub(super) fn wake_waiting_program(&mut self) {
        if self.flusher.program_waits.is_some_and(|wait| self.flusher.is_dead || self.flusher.is_over(wait)) {
            self.flusher.program_waits = None;
            self.sim.wake(&causes::CALLER);
        }
    }
}

/// The flusher's turn on the CPU.
pub fn flusher_turn(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) {
    loop {
        let WriteBack { sim, flusher, .. } = cache.state();
        if flusher.is_dead {
            return sim.block(&causes::FLUSHER);
        }
        if flusher.waits_for_writer {
            return sim.block(&causes::FLUSHER);
        }
        if flusher.stage == Stage::Asleep {
            flusher.has_lost_cpu = false;
            match flusher.timer_ns {
                Some(at_ns) if !flusher.is_called && at_ns > sim.now_ns() => {
                    return sim.sleep_until(&causes::FLUSHER, at_ns);
                }
                None if !flusher.is_called => return sim.block(&causes::FLUSHER),
                _ => {}
            }
            flusher.is_called = false;
            flusher.timer_ns = None;
            // sync(2) first starts the flushers of all file systems and then waits for one after the other. The
            // root file system comes before this one, so the flusher runs before it has the request for this file
            // system.
            flusher.stage = if flusher.start_all { Stage::StartAll } else { Stage::Requests };
        }
        let begun = flusher.work.take();
        let Some(mut work) = begun.or_else(|| cache.state().next_work()) else {
            if cache.state().inodes.any_waits() {
                cache.state().wake_flusher_later();
            }
            if ends_turn(cache, fs) {
                return;
            }
            continue;
        };
        match carry_on(cache, fs, &mut work) {
            Ok(Turn::Yielded) => {
                cache.state().flusher.work = Some(work);
                return;
            }
            Ok(Turn::WaitsForWriter) => {
                let flusher = &mut cache.state().flusher;
                (flusher.work, flusher.waits_for_writer) = (Some(work), true);
                continue;
            }
            Ok(Turn::Done) => {
                let flusher = &mut cache.state().flusher;
                flusher.done += u64::from(work.is_request);
                flusher.start_all &= work.cause != Cause::StartAll;
            }
            Err(_) => cache.state().flusher.is_dead = true,
        }
        cache.state().wake_waiting_program();
    }
}

/// A worker offers the CPU behind each piece of work (`cond_resched` in `process_one_work` of `kernel/workqueue.c`, since Linux
/// 3.11), which the program takes that has waited for it: traces of `sched_switch` on 5.10 and 6.1 show the worker preempted there. It
/// is runnable until its next turn, in which it only goes to sleep, so the slices of the others are shorter until then. Returns
/// whether the turn ends here.
fn ends_turn(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem) -> bool {
    if cache.state().rules == WriteBackRules::V2_6 {
        return false;
    }
    cache.state().flusher.has_lost_cpu = true;
    take_turns(fs, cache)
}
