//! How the flusher carries out a piece of work: in rounds over the dirty inodes, each inode with its portion of pages
//! (`fs/fs-writeback.c`, `wb_writeback` and the functions that it calls).

use super::limits::{tick, ticks, ticks_of_ms};
use super::pages::write_pages;
use super::queues::Queue;
use super::work::{Cause, Certainty, Portion, Round, Turn, Walk, Work, NO_LIMIT};
use super::{DirtyCache, WriteBack};
use crate::config::WriteBackRules;
use ffslab_fs::causes;
use ffslab_fs::{take_turns, Errno, FileSystem, Ino, Result};

/// The least number of pages of one inode that are written before other inodes get their turn (`MIN_WRITEBACK_PAGES`: 4
/// MiB). In 2.6.37 it is the whole portion, which the inodes of a round share (`MAX_WRITEBACK_PAGES`).
const PORTION_PAGES_MIN: i64 = 1024;
/// A portion is at most this fraction of the dirty limit (`DIRTY_SCOPE`).
const PORTIONS_PER_LIMIT: u64 = 8;
impl WriteBack {
    /// Begins a round of the work. Returns `false` when the work is over (`wb_writeback`).
    fn begin_round(&mut self, work: &mut Work) -> bool {
        let now = tick(&self.sim);
        let gives_way = self.rules == WriteBackRules::V6_1
            && matches!(work.cause, Cause::Old | Cause::Background)
            && self.flusher.has_requests();
        if work.pages_left <= 0 || gives_way || work.cause == Cause::Background && !self.is_too_much_dirty() {
            return false;
        }
        let is_io_empty = self.inodes.is_empty(Queue::Io);
        match (self.rules, work.cause) {
            // All are chosen, and so also those that are too young for this piece of work: whatever looks for old inodes
            // next finds them chosen already, and writes them.
            (WriteBackRules::V2_6, cause) if cause != Cause::Old => self.inodes.begin_round(i64::MAX),
            (WriteBackRules::V6_1, Cause::Background) => work.until_tick = now as i64,
            (WriteBackRules::V6_1, Cause::Old) => {
                work.until_tick = now as i64 - ticks_of_ms(&self.sim, self.knobs.expire_ms) as i64;
            }
            _ => {}
        }
        if is_io_empty && (self.rules == WriteBackRules::V6_1 || work.cause == Cause::Old) {
            self.inodes.begin_round(work.until_tick);
        }
        let pages_left = if work.cause == Cause::Writer { work.pages_left } else { PORTION_PAGES_MIN };
        work.round = Some(Round { began_tick: now, written: 0, pages_left, portion: None });
        true
    }

    /// Called after a round: whether another round makes sense. `None`: as soon as the writer has done with its inode.
    fn goes_on(&self, round: &Round) -> Option<bool> {
        match self.rules {
            WriteBackRules::V6_1 => Some(round.written > 0),
            WriteBackRules::V2_6 if round.pages_left <= 0 => Some(round.written > 0),
            WriteBackRules::V2_6 if self.inodes.is_empty(Queue::MoreIo) => Some(false),
            WriteBackRules::V2_6 if round.written > 0 => Some(true),
            WriteBackRules::V2_6 => self.writer.inode.is_none().then_some(false),
        }
    }

    /// Called within a round: whether the limits and other work must be checked before the next inode.
    fn pauses(&self, work: &Work, round: &Round) -> bool {
        match self.rules {
            WriteBackRules::V6_1 => {
                let is_long = tick(&self.sim) > round.began_tick + ticks(&self.sim, 1) / 10;
                round.written > 0 && (is_long || work.pages_left <= 0)
            }
            WriteBackRules::V2_6 => round.pages_left <= 0 && work.certainty != Certainty::All,
        }
    }

    /// Takes the next inode of the round, if there is one.
    fn begin_portion(&mut self, work: &Work, round: &Round) -> Option<Portion> {
        let mut ino = self.next_of_round(work)?;
        while self.flusher.inode() == Some(ino) || self.writer.inode == Some(ino) {
            // Flusher or writer had to give way in the middle of this inode, to the other who now writes, too.
            self.inodes.put(ino, Queue::MoreIo);
            ino = self.next_of_round(work)?;
        }
        let is_later = |ino| self.inodes.get(ino).is_some_and(|inode| inode.dirtied_tick as i64 > work.began_tick);
        if self.rules == WriteBackRules::V2_6 && is_later(ino) {
            return None;
        }
        let pages = match self.rules {
            _ if work.certainty != Certainty::No => NO_LIMIT,
            WriteBackRules::V6_1 => self.portion_pages(work),
            WriteBackRules::V2_6 => round.pages_left,
        };
        let walk = Walk::of_file(work.certainty, work.start, work.cause != Cause::Writer, pages);
        Some(Portion { ino, pages, walk, is_written: false, is_requeued: false })
    }

    /// The inode that is written next: the one that waits longest, or the one that a policy prefers. A round of 2.6.37 ends at the
    /// first one that became dirty after the work began, so a policy does not see those.
    fn next_of_round(&mut self, work: &Work) -> Option<Ino> {
        let Some(rule) = &mut self.rule else { return self.inodes.first(Queue::Io) };
        let until_tick = if self.rules == WriteBackRules::V2_6 { work.began_tick } else { i64::MAX };
        let chosen = self.inodes.first_by(rule, Queue::Io, until_tick, &self.sim);
        if let Some(refusal) = rule.refusal() {
            self.sim.give_up(refusal);
        }
        chosen
    }

    /// How many pages of one inode are written before the next inode gets its turn (`writeback_chunk_size`).
    fn portion_pages(&mut self, work: &Work) -> i64 {
        self.bandwidth.catch_up(tick(&self.sim));
        let pages = (self.bandwidth.average_per_s() / 2).min(self.writer.limit_pages() / PORTIONS_PER_LIMIT);
        let pages = i64::try_from(pages).unwrap_or(NO_LIMIT).min(work.pages_left);
        (pages / PORTION_PAGES_MIN + 1) * PORTION_PAGES_MIN
    }

    /// 2.6.37 clears the mark that an inode has got dirty pages (`I_DIRTY_PAGES`) before it writes them
    /// (`writeback_single_inode` of `fs/fs-writeback.c`). So one that gets some meanwhile stays marked, though the same walk may have
    /// written these as well; it goes back to its queue as old as it was, and the next look for old inodes, after
    /// `dirty_writeback_centisecs`, writes whatever has become dirty since.
    fn forget_that_pages_were_dirtied(&mut self, ino: Ino) {
        if self.rules == WriteBackRules::V2_6 {
            if let Some(inode) = self.inodes.get_mut(ino) {
                inode.had_pages = false;
            }
        }
    }

    /// Puts an inode that was written into the right queue, or off the queues (`requeue_inode`).
    fn requeue(&mut self, ino: Ino, walk: &Walk) {
        let now = tick(&self.sim);
        let Some(inode) = self.inodes.get_mut(ino) else { return };
        let is_dirty = inode.is_dirty();
        if is_dirty && walk.certainty != Certainty::No && self.rules == WriteBackRules::V6_1 {
            inode.dirtied_tick = now;
        }
        if walk.pages_put_back > 0 {
            if is_dirty {
                self.inodes.redirty(ino, now)
            } else {
                self.inodes.take(ino)
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

/// Makes rounds of a piece of work until it is over (`wb_writeback`).
///
/// # Errors
/// Only a power cut. Other errors are kept with their inodes.
pub(super) fn carry_on(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, work: &mut Work) -> Result<Turn> {
    loop {
        let mut round = match work.round.take() {
            Some(round) => round,
            None if !cache.state().begin_round(work) => return Ok(Turn::Done),
            None => continue,
        };
        if let Turn::Yielded = write_round(cache, fs, work, &mut round)? {
            work.round = Some(round);
            return Ok(Turn::Yielded);
        }
        match cache.state().goes_on(&round) {
            Some(true) => {}
            Some(false) => return Ok(Turn::Done),
            None => return Ok(Turn::WaitsForWriter),
        }
    }
}

/// Writes one inode after the other, until it must be checked whether to continue (`writeback_sb_inodes`).
fn write_round(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    work: &mut Work,
    round: &mut Round,
) -> Result<Turn> {
    loop {
        let Some(mut portion) = round.portion.take().or_else(|| cache.state().begin_portion(work, round)) else {
            return Ok(Turn::Done);
        };
        if let Turn::Yielded = write_portion(cache, fs, work, round, &mut portion)? {
            round.portion = Some(portion);
            return Ok(Turn::Yielded);
        }
        if cache.state().rules == WriteBackRules::V6_1 {
            let is_clean = !cache.state().inodes.get(portion.ino).is_some_and(|inode| inode.is_dirty());
            round.written += i64::from(is_clean);
        }
        if !portion.is_requeued {
            cache.state().requeue(portion.ino, &portion.walk);
        }
        cache.state().wake_waiting_program();
        if cache.state().pauses(work, round) {
            return Ok(Turn::Done);
        }
    }
}

/// Writes the pages of an inode, as many as its portion has, and then the inode itself.
fn write_portion(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    work: &mut Work,
    round: &mut Round,
    portion: &mut Portion,
) -> Result<Turn> {
    if portion.is_written {
        return Ok(Turn::Done);
    }
    let is_of_writer = work.cause == Cause::Writer;
    if is_of_writer {
        cache.state().writer_holds(Some(portion.ino));
    }
    if !portion.walk.has_begun {
        cache.state().forget_that_pages_were_dirtied(portion.ino);
    }
    if !write_pages(cache, fs, portion.ino, &mut portion.walk)? {
        return Ok(Turn::Yielded);
    }
    write_inode(cache, fs, portion.ino)?;
    let pages = portion.pages - portion.walk.pages_left;
    work.pages_left = work.pages_left.saturating_sub(pages);
    round.written += (pages - portion.walk.pages_put_back).max(0);
    round.pages_left -= pages;
    portion.is_written = true;
    if cache.state().rules == WriteBackRules::V2_6 {
        cache.state().requeue(portion.ino, &portion.walk);
        portion.is_requeued = true;
        if is_of_writer {
            cache.state().writer_holds(None);
        }
    }
    if take_turns(fs, cache) && !is_of_writer {
        Ok(Turn::Yielded)
    } else {
        Ok(Turn::Done)
    }
}

/// Lets a writer that is over the limit write about so many pages itself (2.6.37, `writeback_inodes_wb`). Returns
/// how many were written.
pub(super) fn write_in_writer(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, pages: u64) -> Result<u64> {
    let mut work = Work::loose(Cause::Writer, pages, tick(&cache.state().sim));
    if cache.state().begin_round(&mut work) {
        if let Some(mut round) = work.round.take() {
            // A writer lets other tasks run but continues itself, so one call completes the round.
            write_round(cache, fs, &mut work, &mut round)?;
            return Ok(round.written.max(0) as u64);
        }
    }
    Ok(0)
}

/// `__writeback_single_inode`, the part after the pages. The inode itself is only written if it is dirty, not only
/// its pages.
fn write_inode(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, ino: Ino) -> Result<()> {
    let rules = cache.state().rules;
    let Some(inode) = cache.state().inodes.get_mut(ino) else { return Ok(()) };
    inode.had_pages = !inode.pages.is_empty() || (inode.had_pages && rules == WriteBackRules::V2_6);
    let why = if fs.sim().was_left(inode.changed_in) { &causes::LEFT_BY_SETUP } else { &causes::METADATA };
    if inode.dirt.take().is_none() {
        return Ok(());
    }
    let _why = fs.sim().because(why);
    match fs.write_inode(cache, ino) {
        Err(Errno::PowerCut) => Err(Errno::PowerCut),
        _ => Ok(()),
    }
}
