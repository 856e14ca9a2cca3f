//! The flusher: the kernel worker that writes dirty inodes back (`fs/fs-writeback.c`, `wb_workfn` and what it calls).
//!
//! A state machine: it may have to give way between two batches of pages and goes on from there at its next turn.

use super::limits::{tick, ticks, ticks_of_ms, Thresholds};
use super::pages::{Certainty, Start, Walk};
use super::queues::Queue;
use super::WriteBack;
use crate::config::WriteBackRules;
use crate::memory::Memory;
use ffslab_fs::{take_turns, Errno, FileSystem, Ino, Result};
use ffslab_sim::{Reason, Task};
use std::collections::VecDeque;

/// The least portion of pages of one inode before others get their turn (`MIN_WRITEBACK_PAGES`: 4 MiB). In 2.6.37 the
/// whole portion, which the inodes of a round share (`MAX_WRITEBACK_PAGES`).
const PORTION_PAGES_MIN: i64 = 1024;
/// The limits allow this many portions (`DIRTY_SCOPE`).
const PORTIONS_PER_LIMIT: u64 = 8;
const NO_LIMIT: i64 = i64::MAX;

/// Why the flusher writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// Somebody asked and may wait for it.
    Request,
    /// Everything is to go (`WB_start_all`).
    StartAll,
    /// What has been dirty for too long (`for_kupdate`).
    Old,
    /// There is too much (`for_background`).
    Background,
    /// A writer writes by itself (2.6.37).
    Writer,
}

/// A request from outside.
#[derive(Clone, Copy)]
pub(super) struct Request {
    certainty: Certainty,
    start: Start,
    pages: i64,
}

impl Request {
    /// All that is dirty now, for certain (`sync_inodes_sb`).
    pub fn certain() -> Request {
        Request { certainty: Certainty::All, start: Start::First, pages: NO_LIMIT }
    }

    /// About so many pages (`writeback_inodes_sb_nr`): whole inodes, until that many pages were written; in 2.6.37 one
    /// portion after the other.
    pub fn pages(rules: WriteBackRules, pages: u64) -> Request {
        let certainty = match rules {
            WriteBackRules::V6_1 => Certainty::DirtyNow,
            WriteBackRules::V2_6 => Certainty::No,
        };
        Request { certainty, start: Start::First, pages: i64::try_from(pages).unwrap_or(NO_LIMIT) }
    }

    /// What sync(2) of 2.6.37 asks for first (`wakeup_flusher_threads`).
    pub fn everything(pages: u64) -> Request {
        Request { start: Start::WhereItStopped, ..Request::pages(WriteBackRules::V2_6, pages) }
    }
}

/// A piece of work (`struct wb_writeback_work`).
struct Work {
    cause: Cause,
    certainty: Certainty,
    start: Start,
    /// Ends after so many pages.
    pages_left: i64,
    /// Inodes that became dirty later are left alone.
    until_tick: i64,
    round: Option<Round>,
}

/// A pass over the chosen inodes.
struct Round {
    began_tick: u64,
    /// Pages and, in 6.1, inodes.
    written: i64,
    /// What is left of the portion that all its inodes share (2.6.37).
    pages_left: i64,
    portion: Option<Portion>,
}

/// The inode that is being written.
struct Portion {
    ino: Ino,
    pages: i64,
    walk: Walk,
    /// All that is left is to put it where it belongs.
    is_written: bool,
}

/// What it looks for next, in this order (`wb_do_writeback`).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Asleep,
    Requests,
    StartAll,
    Old,
    Background,
    End,
}

/// What the program sleeps for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// A request, by its number.
    Request(u64),
    /// That the flusher leaves this inode.
    Inode(Ino),
}

#[derive(Default)]
pub(super) struct Flusher {
    stage: Stage,
    work: Option<Work>,
    requests: VecDeque<Request>,
    /// Requests that were ever made, and those of them that are done.
    requested: u64,
    done: u64,
    start_all: bool,
    /// A writer has found that there is too much (2.6.37).
    background_asked: bool,
    last_old_tick: u64,
    /// It has been called and does not run yet, or will run again.
    is_called: bool,
    /// It will be called at this time.
    timer_ns: Option<u64>,
    /// The program sleeps for this.
    pub program_waits: Option<WaitFor>,
    is_dead: bool,
}

enum Turn {
    Done,
    /// It must give way and goes on later.
    Yielded,
}

impl Flusher {
    pub fn new(now_tick: u64) -> Flusher {
        Flusher { last_old_tick: now_tick, ..Flusher::default() }
    }

    /// The power went away while it wrote.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub fn is_over(&self, wait: WaitFor) -> bool {
        match wait {
            WaitFor::Request(number) => self.done >= number,
            WaitFor::Inode(ino) => self.inode() != Some(ino),
        }
    }

    /// The inode it is at work on (`I_SYNC`).
    pub fn inode(&self) -> Option<Ino> {
        self.work.as_ref()?.round.as_ref()?.portion.as_ref().map(|portion| portion.ino)
    }

    pub fn is_at_work(&self) -> bool {
        self.stage != Stage::Asleep
    }

    /// Something was asked of it that it has not begun (2.6.37, `writeback_in_progress`).
    pub fn has_requests(&self) -> bool {
        self.background_asked || !self.requests.is_empty()
    }
}

impl WriteBack {
    /// `wb_wakeup`.
    pub(super) fn wake_flusher(&mut self) {
        self.flusher.timer_ns = None;
        self.flusher.is_called = true;
        if !self.flusher.is_at_work() {
            self.sim.wake(Task::Flusher);
        }
    }

    /// `wb_wakeup_delayed`: a call that is on its way already is not put off.
    pub(super) fn wake_flusher_later(&mut self) {
        if self.flusher.is_called || self.flusher.timer_ns.is_some() || self.knobs.writeback_interval_ms == 0 {
            return;
        }
        let delay_ticks = ticks_of_ms(&self.sim, self.knobs.writeback_interval_ms) as u32;
        let at_ns = self.timer_ns(delay_ticks);
        self.flusher.timer_ns = Some(at_ns);
        if !self.flusher.is_at_work() {
            self.sim.sleep_until(Task::Flusher, at_ns);
        }
    }

    /// `bdi_start_background_writeback` of 2.6.37.
    pub(super) fn ask_for_background(&mut self) {
        self.flusher.background_asked = true;
        self.wake_flusher();
    }

    /// Returns the request's number.
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

    /// An estimate of all there is to write (`get_nr_dirty_pages`).
    pub(super) fn pages_to_write(&self) -> u64 {
        self.inodes.dirty_pages + self.inodes.waiting()
    }

    /// `wb_over_bg_thresh`: more than the limit allows all together, or this device its share of it.
    fn is_too_much_dirty(&mut self) -> bool {
        let thresholds = Thresholds::of(&self.knobs, self.memory_pages);
        if self.rules == WriteBackRules::V2_6 {
            return self.inodes.dirty_pages > thresholds.background;
        }
        let share = self.share.of(&self.sim, thresholds.background);
        self.inodes.dirty_pages > share.min(thresholds.background)
    }

    fn next_work(&mut self) -> Option<Work> {
        let now = tick(&self.sim);
        let loose = |cause, pages: u64| Work {
            cause,
            certainty: Certainty::No,
            start: Start::WhereItStopped,
            pages_left: i64::try_from(pages).unwrap_or(NO_LIMIT),
            until_tick: now as i64,
            round: None,
        };
        loop {
            match self.flusher.stage {
                Stage::Asleep => return None,
                Stage::Requests => match self.flusher.requests.pop_front() {
                    Some(Request { certainty, start, pages }) => {
                        return Some(Work { certainty, start, pages_left: pages, ..loose(Cause::Request, 0) });
                    }
                    None => self.flusher.stage = Stage::StartAll,
                },
                Stage::StartAll => {
                    self.flusher.stage = Stage::Old;
                    let pages = self.pages_to_write();
                    if self.flusher.start_all && pages > 0 {
                        return Some(loose(Cause::StartAll, pages));
                    }
                    self.flusher.start_all = false;
                }
                Stage::Old => {
                    self.flusher.stage = Stage::Background;
                    let interval = ticks_of_ms(&self.sim, self.knobs.writeback_interval_ms);
                    if interval > 0 && now >= self.flusher.last_old_tick + interval {
                        self.flusher.last_old_tick = now;
                        let pages = self.pages_to_write();
                        if pages > 0 {
                            return Some(loose(Cause::Old, pages));
                        }
                    }
                }
                Stage::Background => {
                    self.flusher.stage = Stage::End;
                    let is_asked = std::mem::take(&mut self.flusher.background_asked);
                    if (is_asked || self.rules == WriteBackRules::V6_1) && self.is_too_much_dirty() {
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

    /// A round of the work begins. `false`: the work is over (`wb_writeback`).
    fn begin_round(&mut self, work: &mut Work) -> bool {
        let now = tick(&self.sim);
        let gives_way = matches!(work.cause, Cause::Old | Cause::Background) && !self.flusher.requests.is_empty();
        if work.pages_left <= 0 || gives_way || work.cause == Cause::Background && !self.is_too_much_dirty() {
            return false;
        }
        match work.cause {
            Cause::Background => work.until_tick = now as i64,
            Cause::Old => work.until_tick = now as i64 - ticks_of_ms(&self.sim, self.knobs.expire_ms) as i64,
            Cause::Request | Cause::StartAll | Cause::Writer => {}
        }
        let always = self.rules == WriteBackRules::V2_6 && work.cause != Cause::Old;
        if always || self.inodes.is_empty(Queue::Io) {
            self.inodes.begin_round(work.until_tick);
        }
        let pages_left = if work.cause == Cause::Writer { work.pages_left } else { PORTION_PAGES_MIN };
        work.round = Some(Round { began_tick: now, written: 0, pages_left, portion: None });
        true
    }

    /// After a round: whether another one makes sense.
    fn goes_on(&self, round: &Round) -> bool {
        match self.rules {
            WriteBackRules::V6_1 => round.written > 0,
            WriteBackRules::V2_6 => {
                round.pages_left <= 0 || (round.written > 0 && !self.inodes.is_empty(Queue::MoreIo))
            }
        }
    }

    /// Within a round: whether to look at the limits and for other work before the next inode.
    fn pauses(&self, work: &Work, round: &Round) -> bool {
        match self.rules {
            WriteBackRules::V6_1 => {
                let is_long = tick(&self.sim) > round.began_tick + ticks(&self.sim, 1) / 10;
                round.written > 0 && (is_long || work.pages_left <= 0)
            }
            WriteBackRules::V2_6 => round.pages_left <= 0 && work.certainty != Certainty::All,
        }
    }

    /// The next inode of the round, if there is one.
    fn begin_portion(&mut self, work: &Work, round: &Round) -> Option<Portion> {
        let mut ino = self.inodes.first(Queue::Io)?;
        while self.flusher.inode() == Some(ino) {
            // The flusher had to give way in the middle of it to the writer that is here.
            self.inodes.put(ino, Queue::MoreIo);
            ino = self.inodes.first(Queue::Io)?;
        }
        let pages = match self.rules {
            _ if work.certainty != Certainty::No => NO_LIMIT,
            WriteBackRules::V6_1 => self.portion_pages(work),
            WriteBackRules::V2_6 => round.pages_left,
        };
        let walk = Walk::of_file(work.certainty, work.start, work.cause != Cause::Writer, pages);
        Some(Portion { ino, pages, walk, is_written: false })
    }

    /// How many pages of one inode are written before the next one has its turn (`writeback_chunk_size`).
    fn portion_pages(&mut self, work: &Work) -> i64 {
        self.bandwidth.catch_up(tick(&self.sim));
        let pages = (self.bandwidth.average_per_s() / 2).min(self.writer.limit_pages() / PORTIONS_PER_LIMIT);
        let pages = i64::try_from(pages).unwrap_or(NO_LIMIT).min(work.pages_left);
        (pages / PORTION_PAGES_MIN + 1) * PORTION_PAGES_MIN
    }

    /// Wakes the program if what it waits for has happened.
    fn wake_waiting_program(&mut self) {
        if self.flusher.program_waits.is_some_and(|wait| self.flusher.is_dead || self.flusher.is_over(wait)) {
            self.flusher.program_waits = None;
            self.sim.wake(Task::Caller);
        }
    }

    /// Puts an inode that was written where it belongs (`requeue_inode`).
    fn requeue(&mut self, ino: Ino, walk: &Walk) {
        let now = tick(&self.sim);
        let Some(inode) = self.inodes.get_mut(ino) else { return };
        let is_dirty = inode.is_dirty();
        if is_dirty && walk.certainty != Certainty::No {
            inode.dirtied_tick = now;
        }
        if walk.pages_put_back > 0 {
            match is_dirty {
                true => self.inodes.redirty(ino, now),
                false => self.inodes.take(ino),
            }
        } else if !inode.pages.is_empty() && walk.pages_left <= 0 {
            self.inodes.put(ino, Queue::MoreIo);
        } else if !inode.pages.is_empty() || is_dirty {
            self.inodes.redirty(ino, now);
        } else {
            self.inodes.take(ino);
        }
    }
}

impl Memory {
    /// The flusher's turn on the CPU.
    pub fn flusher_turn(&mut self, fs: &mut dyn FileSystem) {
        loop {
            let sim = &self.write_back.sim;
            let flusher = &mut self.write_back.flusher;
            if flusher.is_dead {
                return sim.block(Task::Flusher);
            }
            if flusher.stage == Stage::Asleep {
                match flusher.timer_ns {
                    Some(at_ns) if !flusher.is_called && at_ns > sim.now_ns() => {
                        return sim.sleep_until(Task::Flusher, at_ns);
                    }
                    None if !flusher.is_called => return sim.block(Task::Flusher),
                    _ => {}
                }
                flusher.is_called = false;
                flusher.timer_ns = None;
                flusher.stage = Stage::Requests;
            }
            let begun = flusher.work.take();
            let Some(mut work) = begun.or_else(|| self.write_back.next_work()) else {
                if self.write_back.inodes.any_waits() {
                    self.write_back.wake_flusher_later();
                }
                continue;
            };
            match self.carry_on(fs, &mut work) {
                Ok(Turn::Yielded) => {
                    self.write_back.flusher.work = Some(work);
                    return;
                }
                Ok(Turn::Done) => match work.cause {
                    Cause::Request => self.write_back.flusher.done += 1,
                    Cause::StartAll => self.write_back.flusher.start_all = false,
                    Cause::Old | Cause::Background | Cause::Writer => {}
                },
                Err(_) => self.write_back.flusher.is_dead = true,
            }
            self.write_back.wake_waiting_program();
        }
    }

    /// Rounds of a piece of work until it is over (`wb_writeback`).
    ///
    /// # Errors
    /// Only that the power is gone; others are kept with their inodes.
    fn carry_on(&mut self, fs: &mut dyn FileSystem, work: &mut Work) -> Result<Turn> {
        loop {
            let mut round = match work.round.take() {
                Some(round) => round,
                None if !self.write_back.begin_round(work) => return Ok(Turn::Done),
                None => continue,
            };
            if let Turn::Yielded = self.write_round(fs, work, &mut round)? {
                work.round = Some(round);
                return Ok(Turn::Yielded);
            }
            if !self.write_back.goes_on(&round) {
                return Ok(Turn::Done);
            }
        }
    }

    /// One inode after the other, until somebody should look whether to go on (`writeback_sb_inodes`).
    fn write_round(&mut self, fs: &mut dyn FileSystem, work: &mut Work, round: &mut Round) -> Result<Turn> {
        loop {
            let Some(mut portion) = round.portion.take().or_else(|| self.write_back.begin_portion(work, round)) else {
                return Ok(Turn::Done);
            };
            if let Turn::Yielded = self.write_portion(fs, work, round, &mut portion)? {
                round.portion = Some(portion);
                return Ok(Turn::Yielded);
            }
            if self.write_back.rules == WriteBackRules::V6_1 {
                let is_clean = !self.write_back.inodes.get(portion.ino).is_some_and(|inode| inode.is_dirty());
                round.written += i64::from(is_clean);
            }
            self.write_back.requeue(portion.ino, &portion.walk);
            self.write_back.wake_waiting_program();
            if self.write_back.pauses(work, round) {
                return Ok(Turn::Done);
            }
        }
    }

    /// The pages of an inode, as many as are its portion, then the inode itself.
    fn write_portion(
        &mut self,
        fs: &mut dyn FileSystem,
        work: &mut Work,
        round: &mut Round,
        portion: &mut Portion,
    ) -> Result<Turn> {
        if portion.is_written {
            return Ok(Turn::Done);
        }
        if !self.write_pages(fs, portion.ino, &mut portion.walk)? {
            return Ok(Turn::Yielded);
        }
        self.write_inode(fs, portion.ino)?;
        let pages = portion.pages - portion.walk.pages_left;
        work.pages_left = work.pages_left.saturating_sub(pages);
        round.written += (pages - portion.walk.pages_put_back).max(0);
        round.pages_left -= pages;
        portion.is_written = true;
        match take_turns(fs, self) && work.cause != Cause::Writer {
            true => Ok(Turn::Yielded),
            false => Ok(Turn::Done),
        }
    }

    /// A writer over the limit writes about so many pages by itself (2.6.37, `writeback_inodes_wb`). Returns how many
    /// it were.
    pub(super) fn write_in_writer(&mut self, fs: &mut dyn FileSystem, pages: u64) -> Result<u64> {
        let until_tick = tick(&self.write_back.sim) as i64;
        let (certainty, start) = (Certainty::No, Start::WhereItStopped);
        let pages_left = i64::try_from(pages).unwrap_or(NO_LIMIT);
        let mut work = Work { cause: Cause::Writer, certainty, start, pages_left, until_tick, round: None };
        if self.write_back.begin_round(&mut work) {
            if let Some(mut round) = work.round.take() {
                // It lets others run but goes on itself, so this is the whole round.
                self.write_round(fs, &mut work, &mut round)?;
                return Ok(round.written.max(0) as u64);
            }
        }
        Ok(0)
    }

    /// `__writeback_single_inode`, after the pages. An inode of which only pages were dirty is not written.
    fn write_inode(&mut self, fs: &mut dyn FileSystem, ino: Ino) -> Result<()> {
        let Some(inode) = self.write_back.inodes.get_mut(ino) else { return Ok(()) };
        inode.had_pages = !inode.pages.is_empty();
        if inode.dirt.take().is_none() {
            return Ok(());
        }
        let _why = fs.sim().because(Reason::Metadata);
        match fs.write_inode(self, ino) {
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            _ => Ok(()),
        }
    }
}
