//! What is asked of the flusher, and how far it has come: requests, pieces of work, rounds over inodes, walks over pages
//! (`struct wb_writeback_work` of `fs/fs-writeback.c`).

use crate::config::WriteBackRules;
use ffslab_fs::{Errno, Ino};
use std::collections::VecDeque;

pub(super) const BATCH_PAGES_MAX: usize = 15;

/// Which pages a walk must write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// As many dirty pages as the portion allows; the first error ends the walk.
    No,
    /// All pages that are dirty when the walk begins; the first error ends the walk (`tagged_writepages`).
    DirtyNow,
    /// All pages that are dirty when the walk begins, in spite of errors (`WB_SYNC_ALL`).
    All,
}

/// Where a walk begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// At the first page.
    First,
    /// At the page where the last walk ended (`range_cyclic`). The walk returns to the pages before it only on 2.6.37.
    WhereItStopped,
}

/// A walk over dirty pages. It can be interrupted after a batch and continued later.
pub(super) struct Walk {
    pub certainty: Certainty,
    pub start: Start,
    pub first: u64,
    pub last: u64,
    /// The flusher gives way to other tasks; a program only lets them run and continues.
    pub gives_way: bool,
    pub has_begun: bool,
    pub is_done: bool,
    /// At the end of the file the walk goes on with the pages before this one (`cycled`, until 4.20).
    pub wraps_to: Option<u64>,
    pub next: u64,
    /// The page at which the next walk begins.
    pub reached: u64,
    pub batch: [u64; BATCH_PAGES_MAX],
    pub batch_at: usize,
    pub batch_len: usize,
    pub pages_left: i64,
    /// Pages that the file system did not write and marked dirty again.
    pub pages_put_back: i64,
    pub error: Option<Errno>,
}

impl Walk {
    /// A walk over a whole file. It writes at most `pages` pages, unless `certainty` demands more.
    pub fn of_file(certainty: Certainty, start: Start, gives_way: bool, pages: i64) -> Walk {
        Walk {
            certainty,
            start,
            first: 0,
            last: u64::MAX,
            gives_way,
            has_begun: false,
            is_done: false,
            wraps_to: None,
            next: 0,
            reached: 0,
            batch: [0; BATCH_PAGES_MAX],
            batch_at: 0,
            batch_len: 0,
            pages_left: pages,
            pages_put_back: 0,
            error: None,
        }
    }

    /// A walk over a range of pages, made by the running program.
    pub fn of_range(certainty: Certainty, first: u64, last: u64) -> Walk {
        Walk { first, last, ..Walk::of_file(certainty, Start::First, false, i64::MAX) }
    }

    pub fn is_of_whole_file(&self) -> bool {
        self.first == 0 && self.last == u64::MAX
    }

    pub fn stop(&mut self) {
        self.is_done = true;
        self.batch_at = self.batch_len;
    }
}

pub(super) const NO_LIMIT: i64 = i64::MAX;

/// Why the flusher writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// A task asked for it, and may be waiting for it.
    Request,
    /// Everything is to be written (`WB_start_all`).
    StartAll,
    /// Pages have been dirty for too long (`for_kupdate`).
    Old,
    /// There are too many dirty pages (`for_background`).
    Background,
    /// A writer writes itself (2.6.37).
    Writer,
}

/// A piece of work (`struct wb_writeback_work`).
pub(super) struct Work {
    pub cause: Cause,
    pub certainty: Certainty,
    pub start: Start,
    /// The work ends after so many pages.
    pub pages_left: i64,
    /// Inodes that became dirty later are not chosen. In 6.1 this moves from round to round.
    pub until_tick: i64,
    /// When it began (`wb_start`). In 2.6.37 a round ends at an inode that became dirty later.
    pub began_tick: i64,
    /// A task has asked for it, and may be waiting for it.
    pub is_request: bool,
    pub round: Option<Round>,
}

/// One pass over the inodes that were chosen.
pub(super) struct Round {
    pub began_tick: u64,
    /// Number of written pages and, in 6.1, of inodes that became clean.
    pub written: i64,
    /// Rest of the portion that all inodes of the round share (2.6.37).
    pub pages_left: i64,
    pub portion: Option<Portion>,
}

/// The inode that is being written, and its portion of pages.
pub(super) struct Portion {
    pub ino: Ino,
    pub pages: i64,
    pub walk: Walk,
    /// The inode is written and only has to be put into the right queue.
    pub is_written: bool,
    /// It was put there, too: 2.6.37 does that before it gives way.
    pub is_requeued: bool,
}

pub(super) enum Turn {
    Done,
    /// The flusher must give way, and continues at its next turn.
    Yielded,
    /// The flusher has nothing to do until the writer has done with the inode that it writes itself (2.6.37).
    WaitsForWriter,
}

impl Work {
    /// Work that begins where the last walk ended and may leave pages unwritten.
    pub fn loose(cause: Cause, pages: u64, now_tick: u64) -> Work {
        Work {
            cause,
            certainty: Certainty::No,
            start: Start::WhereItStopped,
            pages_left: i64::try_from(pages).unwrap_or(NO_LIMIT),
            until_tick: now_tick as i64,
            began_tick: now_tick as i64,
            is_request: false,
            round: None,
        }
    }

    /// The inode that is being written.
    pub fn inode(&self) -> Option<Ino> {
        self.round.as_ref()?.portion.as_ref().filter(|portion| !portion.is_requeued).map(|portion| portion.ino)
    }
}

/// A request that a task has made to the flusher.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub cause: Cause,
    pub certainty: Certainty,
    pub start: Start,
    pub pages: i64,
}

impl Request {
    /// A request to write everything that is dirty now, without exception (`sync_inodes_sb`).
    pub fn certain() -> Request {
        Request { cause: Cause::Request, certainty: Certainty::All, start: Start::First, pages: NO_LIMIT }
    }

    /// A request to write about so many pages (`writeback_inodes_sb_nr`). 6.1 writes whole inodes until so many pages
    /// were written; 2.6.37 writes one portion after the other.
    pub fn pages(rules: WriteBackRules, pages: u64) -> Request {
        let certainty = match rules {
            WriteBackRules::V6_1 => Certainty::DirtyNow,
            WriteBackRules::V2_6 => Certainty::No,
        };
        let pages = i64::try_from(pages).unwrap_or(NO_LIMIT);
        Request { cause: Cause::Request, certainty, start: Start::First, pages }
    }

    /// The request with which sync(2) of 2.6.37 begins (`wakeup_flusher_threads`).
    pub fn everything(pages: u64) -> Request {
        Request { start: Start::WhereItStopped, ..Request::pages(WriteBackRules::V2_6, pages) }
    }

    /// The request of a writer that has found too many dirty pages (`bdi_start_background_writeback` of 2.6.37).
    pub fn background() -> Request {
        Request { cause: Cause::Background, ..Request::everything(u64::MAX) }
    }
}

/// The kind of work that the flusher looks for next, in this order (`wb_do_writeback`).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Asleep,
    Requests,
    StartAll,
    Old,
    Background,
    End,
}

/// The condition for which the program sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitFor {
    /// A request is done, given by its number.
    Request(u64),
    /// The flusher is not working on this inode any more.
    Inode(Ino),
}

/// What the flusher does, and what was asked of it.
#[derive(Default)]
pub(super) struct Flusher {
    pub stage: Stage,
    pub work: Option<Work>,
    pub requests: VecDeque<Request>,
    /// Number of requests made so far, and number of those that are done.
    pub requested: u64,
    pub done: u64,
    pub start_all: bool,
    pub last_old_tick: u64,
    /// The flusher was woken and does not run yet, or must run once more.
    pub is_called: bool,
    /// The flusher has nothing left to do, and has lost the CPU before it could sleep.
    pub has_lost_cpu: bool,
    /// The time at which the flusher is woken.
    pub timer_ns: Option<u64>,
    /// The condition for which the program sleeps, if it does.
    pub program_waits: Option<WaitFor>,
    /// The flusher sleeps until the writer has done with the inode that it writes itself (2.6.37).
    pub waits_for_writer: bool,
    pub is_dead: bool,
}

impl Flusher {
    pub fn new(now_tick: u64) -> Flusher {
        Flusher { last_old_tick: now_tick, ..Flusher::default() }
    }

    /// The power went away while the flusher was writing.
    pub fn is_dead(&self) -> bool {
        self.is_dead
    }

    pub fn is_over(&self, wait: WaitFor) -> bool {
        match wait {
            WaitFor::Request(number) => self.done >= number,
            WaitFor::Inode(ino) => self.inode() != Some(ino),
        }
    }

    /// The inode on which the flusher is working (`I_SYNC`).
    pub fn inode(&self) -> Option<Ino> {
        self.work.as_ref()?.inode()
    }

    pub fn is_at_work(&self) -> bool {
        self.stage != Stage::Asleep
    }

    /// Whether there are requests that the flusher has not begun.
    pub fn has_requests(&self) -> bool {
        !self.requests.is_empty()
    }
}
