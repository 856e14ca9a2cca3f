//! The dirty pages of one inode are written, in ascending order (`write_cache_pages`, `filemap_write_and_wait_range`).

use super::limits::tick;
use super::work::{Certainty, Start, Walk, BATCH_PAGES_MAX};
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
