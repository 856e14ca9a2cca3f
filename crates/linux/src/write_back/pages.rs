//! The dirty pages of one inode are written, in ascending order (`write_cache_pages`, `filemap_write_and_wait_range`).

use super::limits::tick;
use super::DirtyCache;
use crate::config::WriteBackRules;
use ffslab_fs::causes;
use ffslab_fs::{take_turns, Errno, FileSystem, Ino, Result};
use ffslab_sim::NandWait;

/// Number of pages that are looked up at once. Other tasks may run after each such batch (`PAGEVEC_SIZE` in
/// `include/linux/pagevec.h`: 14 until 4.14).
fn batch_pages(rules: WriteBackRules) -> usize {
    match rules {
        WriteBackRules::V2_6 => 14,
        WriteBackRules::V6_1 => BATCH_PAGES_MAX,
    }
}

const BATCH_PAGES_MAX: usize = 15;

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
    start: Start,
    first: u64,
    last: u64,
    /// The flusher gives way to other tasks; a program only lets them run and continues.
    gives_way: bool,
    pub has_begun: bool,
    is_done: bool,
    /// At the end of the file the walk goes on with the pages before this one (`cycled`, until 4.20).
    wraps_to: Option<u64>,
    next: u64,
    /// The page at which the next walk begins.
    reached: u64,
    batch: [u64; BATCH_PAGES_MAX],
    batch_at: usize,
    batch_len: usize,
    pub pages_left: i64,
    /// Pages that the file system did not write and marked dirty again.
    pub pages_put_back: i64,
    error: Option<Errno>,
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
    fn of_range(certainty: Certainty, first: u64, last: u64) -> Walk {
        Walk { first, last, ..Walk::of_file(certainty, Start::First, false, i64::MAX) }
    }

    fn is_of_whole_file(&self) -> bool {
        self.first == 0 && self.last == u64::MAX
    }
}

/// Writes dirty pages of a range and returns the first error of doing so (`filemap_write_and_wait_range`).
pub fn write_range(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    ino: Ino,
    first: u64,
    last: u64,
) -> Result<()> {
    write_range_with(cache, fs, ino, Walk::of_range(Certainty::All, first, last))
}

/// Writes dirty pages of a range, and stops at the first error (`filemap_flush`).
pub fn start_writing_range(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    ino: Ino,
    first: u64,
    last: u64,
) -> Result<()> {
    write_range_with(cache, fs, ino, Walk::of_range(Certainty::No, first, last))
}

fn write_range_with(cache: &mut impl DirtyCache, fs: &mut dyn FileSystem, ino: Ino, mut walk: Walk) -> Result<()> {
    if cache.state().first_dirty_page(ino, 0, u64::MAX).is_none() {
        return Ok(());
    }
    write_pages(cache, fs, ino, &mut walk)?;
    walk.error.map_or(Ok(()), Err)
}

/// Continues a walk. Returns `false` when the flusher must give way before the end of the walk.
///
/// # Errors
/// Only a power cut. Other errors are kept in the walk and with the inode.
pub(super) fn write_pages(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    ino: Ino,
    walk: &mut Walk,
) -> Result<bool> {
    if !walk.has_begun {
        begin_walk(cache, ino, walk);
    }
    // When tasks sleep for the chip or offer the CPU while they poll, it is given away with each page.
    let config = fs.sim().config();
    let in_waits = config.nand_wait == NandWait::Sleep || config.polls_with_resched;
    loop {
        if walk.batch_at == walk.batch_len && !next_batch(cache, ino, walk) {
            match walk.wraps_to.take().filter(|_| !walk.is_done) {
                Some(begin) => (walk.next, walk.reached, walk.last) = (0, 0, begin - 1),
                None => break,
            }
            continue;
        }
        while walk.batch_at < walk.batch_len {
            if in_waits && take_turns(fs, cache) && walk.gives_way {
                return Ok(false);
            }
            let index = walk.batch[walk.batch_at];
            walk.batch_at += 1;
            // 6.1 ends a walk before the last page that it wrote, unless there was an error (`done_index`).
            walk.reached = index + u64::from(cache.state().rules == WriteBackRules::V2_6);
            let was_left = cache.state().was_left(ino, index);
            if cache.clean_for_writing(ino, index) {
                // The file system may replace this reason by a more precise one.
                let why = if was_left { &causes::LEFT_BY_SETUP } else { &causes::DATA };
                let _why = fs.sim().because(why);
                write_page(cache, fs, ino, index, walk)?;
            }
        }
        if take_turns(fs, cache) && walk.gives_way {
            return Ok(false);
        }
    }
    end_walk(cache, ino, walk);
    Ok(true)
}

fn begin_walk(cache: &mut impl DirtyCache, ino: Ino, walk: &mut Walk) {
    walk.has_begun = true;
    let now = tick(&cache.state().sim);
    cache.state().bandwidth.writing_starts(now);
    let rules = cache.state().rules;
    let Some(inode) = cache.state().inodes.get_mut(ino) else { return };
    walk.next = match walk.start {
        Start::First => walk.first,
        Start::WhereItStopped => inode.next_index,
    };
    walk.reached = walk.next;
    if rules == WriteBackRules::V2_6 && walk.start == Start::WhereItStopped && walk.next > 0 {
        walk.wraps_to = Some(walk.next);
    }
    if walk.certainty != Certainty::No {
        inode.to_write.extend(inode.pages.range(walk.next, walk.last));
    }
}

fn next_batch(cache: &mut impl DirtyCache, ino: Ino, walk: &mut Walk) -> bool {
    if walk.is_done || walk.next > walk.last {
        return false;
    }
    let most = batch_pages(cache.state().rules);
    let Some(inode) = cache.state().inodes.get(ino) else { return false };
    let pages = match walk.certainty {
        Certainty::No => &inode.pages,
        Certainty::DirtyNow | Certainty::All => &inode.to_write,
    };
    (walk.batch_at, walk.batch_len) = (0, 0);
    for (index, place) in pages.range(walk.next, walk.last).zip(&mut walk.batch[..most]) {
        *place = index;
        walk.batch_len += 1;
    }
    if walk.batch_len > 0 {
        walk.next = walk.batch[walk.batch_len - 1] + 1;
    }
    walk.batch_len > 0
}

fn write_page(
    cache: &mut impl DirtyCache,
    fs: &mut dyn FileSystem,
    ino: Ino,
    index: u64,
    walk: &mut Walk,
) -> Result<()> {
    let written = cache.write_page(fs, ino, index);
    if cache.is_page_dirty(ino, index) {
        walk.pages_put_back += 1;
    } else {
        page_was_written(cache);
    }
    match written {
        Err(Errno::PowerCut) => return Err(Errno::PowerCut),
        Err(error) => {
            cache.state().page_failed(ino, error);
            walk.error.get_or_insert(error);
            if walk.certainty != Certainty::All {
                walk.reached = index + 1;
                walk.stop();
                return Ok(());
            }
        }
        Ok(()) => {}
    }
    walk.pages_left = walk.pages_left.saturating_sub(1);
    if walk.pages_left <= 0 && walk.certainty != Certainty::All {
        walk.stop();
    }
    Ok(())
}

/// Counts a written page for the device's share and speed.
fn page_was_written(cache: &mut impl DirtyCache) {
    let write_back = &mut cache.state();
    match write_back.rules {
        WriteBackRules::V6_1 => write_back.share.count(&write_back.sim),
        WriteBackRules::V2_6 => write_back.written_part.count(),
    }
    write_back.bandwidth.page_written(tick(&write_back.sim));
}

fn end_walk(cache: &mut impl DirtyCache, ino: Ino, walk: &mut Walk) {
    let is_cyclic = walk.start == Start::WhereItStopped;
    if is_cyclic && !walk.is_done && cache.state().rules == WriteBackRules::V6_1 {
        walk.reached = 0;
    }
    if is_cyclic || (walk.is_of_whole_file() && walk.pages_left > 0) {
        if let Some(inode) = cache.state().inodes.get_mut(ino) {
            inode.next_index = walk.reached;
        }
    }
    let now = tick(&cache.state().sim);
    cache.state().bandwidth.writing_ends(now);
}

impl Walk {
    fn stop(&mut self) {
        self.is_done = true;
        self.batch_at = self.batch_len;
    }
}
