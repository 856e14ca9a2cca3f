//! On-demand read-ahead: which pages are read when a page is missing, or when a marked page is touched.
//!
//! Source: `mm/readahead.c` of the kernels that [`ReadAheadRules`] names: 2.6.37, 5.10, 6.1, 6.12.
//! The window is `start .. start + size`; its last `async_size` pages are what the program need not wait for. The
//! first of these carries a mark, and touching it reads the next window. Nothing is read here: the functions say what
//! to read, [`crate::read`] does it. All numbers are pages and page indices unless named otherwise.

use crate::config::{Kernel, ReadAheadRules};
use ffslab_fs::PAGE_BYTES;
use ffslab_policy::{ReadAheadRule, ReadAheadStream, ReadDemand};

/// 2 MiB: forced read-ahead is done in pieces of this many pages.
pub(crate) const FORCED_CHUNK_PAGES: u64 = (2 << 20) / PAGE_BYTES as u64;

/// Read-ahead state of an open file (`struct file_ra_state`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadAhead {
    start: u64,
    size: u64,
    async_size: u64,
    /// Largest window; 0 switches read-ahead off.
    pub ra_pages: u64,
    /// Byte position of the previous read, -1 at open. The exact definition differs between the kernels.
    pub prev_pos: i64,
    /// `POSIX_FADV_RANDOM` was given.
    pub random: bool,
    /// Page faults that missed the cache, less those that hit it.
    pub mmap_miss: u32,
    /// The page that the program read last, by a call or a page fault.
    pub last_page: Option<u64>,
    /// What a policy that decides in the kernel's place remembers.
    stream: ReadAheadStream,
}

/// From so many misses on, page faults read no other pages than the one that they need (`mm/filemap.c`).
const MMAP_LOTSAMISS: u32 = 100;

/// Pages to read: `count` pages from `start` on. If `lookahead` is not 0, the mark is set on the page at which the last
/// `lookahead` pages of the window begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub start: u64,
    pub count: u64,
    pub lookahead: u64,
}

/// The request of a read, and the limit that the memory sets.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    /// Index of the page that is missing or carries the mark.
    pub index: u64,
    /// Number of pages from `index` to the end of the program's request.
    pub count: u64,
    /// The page is cached and carried the mark.
    pub marked: bool,
    /// Half of the free and inactive memory, which bounds windows in 2.6 (`max_sane_readahead`).
    pub sane_pages: u64,
}

impl ReadAhead {
    pub fn new(ra_pages: u64) -> Self {
        Self {
            start: 0,
            size: 0,
            async_size: 0,
            ra_pages,
            prev_pos: -1,
            random: false,
            mmap_miss: 0,
            last_page: None,
            stream: ReadAheadStream::default(),
        }
    }

    /// Lets a policy decide what to read. Its mark stands so many pages before the end of the window.
    pub fn by_policy(&mut self, rule: &mut ReadAheadRule, request: Request) -> Window {
        let Request { index, count, marked, .. } = request;
        let demand = ReadDemand { page: index, count, is_marked: marked, previous_page: self.last_page };
        let window = rule.window(&mut self.stream, demand, PAGE_BYTES as u64);
        let lookahead = window.mark_page.map_or(0, |mark| window.first_page + window.count - mark);
        Window { start: window.first_page, count: window.count, lookahead }
    }

    /// Decides what to read and moves the state on. `cached` tells whether a page of the file is in the page cache. The
    /// device is a flash: its optimal request size (`io_pages`) is 0 and never widens a window.
    pub fn on_demand(&mut self, kernel: &Kernel, request: Request, cached: impl Fn(u64) -> bool) -> Option<Window> {
        let Request { index, count, marked, sane_pages } = request;
        let rules = kernel.read_ahead;
        let max = match rules {
            ReadAheadRules::V2_6 => self.ra_pages.min(sane_pages),
            _ => self.ra_pages,
        };
        // Since 6.11 a page that is missing does not follow the window by its place, but by the previous read or by cached
        // pages (`page_cache_sync_ra`); only the mark does (`page_cache_async_ra`).
        let follows = match rules {
            ReadAheadRules::V6_11 => marked && index == self.mark(),
            _ => index == self.mark() || index == self.start + self.size,
        };
        if index == 0 {
            self.begin(rules, index, count, max);
        } else if follows {
            self.start += self.size;
            let next = next_size(self.size, max);
            self.size = if rules >= ReadAheadRules::V6_1 { next.max(self.size) } else { next };
            self.async_size = self.size;
        } else if marked {
            // Another stream has left this mark. The number of cached pages up to the next hole tells the size of its
            // window.
            let hole = next_hole(rules, index + 1, max, &cached);
            if hole - index > max {
                return None;
            }
            self.start = hole;
            self.size = next_size(hole - index + count, max);
            self.async_size = self.size;
        } else if count > max || self.is_sequential(kernel, index) {
            self.begin(rules, index, count, max);
        } else if !self.continue_history(rules, index, count, max, &cached) {
            return Some(Window { start: index, count, lookahead: 0 });
        }
        if rules < ReadAheadRules::V6_11 {
            self.merge_own_mark(rules, index, max);
        }
        Some(Window { start: self.start, count: self.size, lookahead: self.async_size })
    }

    /// A page fault misses the cache: which pages around it are read (`do_sync_mmap_readahead`). `pages`: the largest window
    /// that the memory allows.
    pub fn around(&mut self, rules: ReadAheadRules, index: u64, pages: u64) -> Option<Window> {
        let most = match rules {
            ReadAheadRules::V2_6 => u32::MAX - 1,
            _ => MMAP_LOTSAMISS * 10 - 1,
        };
        self.mmap_miss += u32::from(self.mmap_miss <= most);
        if self.mmap_miss > MMAP_LOTSAMISS || pages == 0 {
            return None;
        }
        self.start = index.saturating_sub(pages / 2);
        self.size = pages;
        self.async_size = if rules == ReadAheadRules::V2_6 { 0 } else { pages / 4 };
        Some(Window { start: self.start, count: self.size, lookahead: self.async_size })
    }

    /// Page faults found so many pages in the cache.
    pub fn mmap_hits(&mut self, pages: u32) {
        self.mmap_miss = self.mmap_miss.saturating_sub(pages);
    }

    /// A file system has added pages to the end of the window (`readahead_expand`).
    pub fn grow(&mut self, pages: u64) {
        self.size += pages;
        self.async_size += pages;
    }

    /// It has left a page of it out (`read_pages`). Returns whether the page leaves the cache again.
    pub fn leave_out(&mut self) -> bool {
        self.size = self.size.saturating_sub(1);
        let leaves = self.async_size >= 1;
        self.async_size -= u64::from(leaves);
        leaves
    }

    /// Position of the mark in the current window. A window is never smaller than the part behind its mark.
    fn mark(&self) -> u64 {
        self.start + self.size - self.async_size
    }

    /// Starts a stream at `index`.
    fn begin(&mut self, rules: ReadAheadRules, index: u64, count: u64, max: u64) {
        self.start = index;
        self.size = initial_size(count, max);
        self.async_size = match self.size {
            size if size > count => size - count,
            size if rules >= ReadAheadRules::V6_11 => size / 2,
            size => size,
        };
    }

    fn is_sequential(&self, kernel: &Kernel, index: u64) -> bool {
        if kernel.sequential_miss_bug {
            (index as i64).wrapping_sub(self.prev_pos >> 12) <= 1
        } else {
            index.wrapping_sub((self.prev_pos as u64) >> 12) <= 1
        }
    }

    /// `try_context_readahead`: cached pages directly before `index` show that a sequential stream has come here.
    fn continue_history(
        &mut self,
        rules: ReadAheadRules,
        index: u64,
        count: u64,
        max: u64,
        cached: &impl Fn(u64) -> bool,
    ) -> bool {
        let mut history = history_pages(rules, index, max, cached);
        let least = match rules {
            ReadAheadRules::V2_6 => 1,
            _ => count + 1,
        };
        if history < least {
            return false;
        }
        if history >= index {
            // The stream began at the start of the file, so probably the whole file will be read.
            history *= 2;
        }
        self.start = index;
        match rules {
            ReadAheadRules::V2_6 => {
                self.size = initial_size(history + count, max);
                self.async_size = self.size;
            }
            _ => {
                self.size = (history + count).min(max);
                self.async_size = 1;
            }
        }
        true
    }

    /// If this read would at once touch the mark that it sets, the next window is read together with this one.
    fn merge_own_mark(&mut self, rules: ReadAheadRules, index: u64, max: u64) {
        if index != self.start || self.size != self.async_size {
            return;
        }
        let next = next_size(self.size, max);
        if rules == ReadAheadRules::V2_6 || self.size + next <= max {
            self.async_size = next;
            self.size += next;
        } else {
            self.size = max;
            self.async_size = max / 2;
        }
    }
}

/// `get_init_ra_size`: first window of a stream.
fn initial_size(count: u64, max: u64) -> u64 {
    let size = count.next_power_of_two();
    if size <= max / 32 {
        size * 4
    } else if size <= max / 4 {
        size * 2
    } else {
        max
    }
}

/// `get_next_ra_size`: the size of the window that follows one of `size` pages.
fn next_size(size: u64, max: u64) -> u64 {
    if size < max / 16 {
        size * 4
    } else {
        (size * 2).min(max)
    }
}

/// The first page from `from` on that is not cached, among `max` pages. When all of them are cached, 2.6
/// (`radix_tree_next_hole`) and 6.12 return the page behind them, the kernels between (`page_cache_next_miss`) the last of
/// them.
fn next_hole(rules: ReadAheadRules, from: u64, max: u64, cached: &impl Fn(u64) -> bool) -> u64 {
    (from..from + max).find(|&index| !cached(index)).unwrap_or(match rules {
        ReadAheadRules::V2_6 | ReadAheadRules::V6_11 => from + max,
        ReadAheadRules::V5_10 | ReadAheadRules::V6_1 => from + max.max(1) - 1,
    })
}

/// How many pages directly before `index` are cached, looking at no more than `max`. When all of them are cached,
/// kernels with `page_cache_prev_miss` (since 4.20) return one less.
fn history_pages(rules: ReadAheadRules, index: u64, max: u64, cached: &impl Fn(u64) -> bool) -> u64 {
    let first = index.saturating_sub(max);
    match (first..index).rev().find(|&before| !cached(before)) {
        Some(hole) => index - 1 - hole,
        None if index < max || rules == ReadAheadRules::V2_6 => index - first,
        None => max.max(1) - 1,
    }
}

#[cfg(test)]
mod tests;
