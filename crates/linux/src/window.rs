//! Windows of read-ahead that the file system reads itself: `page_cache_ra_unbounded`, `read_pages` and `readahead_expand` of
//! `mm/readahead.c` of 6.1.

use crate::memory::Memory;
use crate::page_cache::Slot;
use crate::read::Reader;
use crate::read_ahead::{ReadAhead, Window};
use ffslab_fs::{Ino, PagesAhead};
use ffslab_sim::{Sim, Work};
use std::ops::Range;

impl Reader<'_> {
    /// Gives the missing pages of a window places in the cache, and each run of them to the file system. A page that is there ends a run.
    pub(crate) fn hand_over(&mut self, window: Window) {
        let Window { start, count, lookahead } = window;
        let mark = (lookahead > 0).then(|| (start + count).checked_sub(lookahead)).flatten();
        let mut run = start..start;
        while run.end < start + count {
            if self.memory.pages.find(self.ino, run.end).is_some() {
                let behind = self.read_run(run);
                run = behind + 1..behind + 1;
                continue;
            }
            self.sim.work(Work::PageFill, 0);
            let slot = self.memory.pages.insert(self.ino, run.end);
            self.memory.pages.set_unread(slot, true);
            self.memory.pages.pin(slot);
            if mark == Some(run.end) {
                self.memory.pages.mark(slot);
            }
            run.end += 1;
        }
        self.read_run(run);
    }

    /// Returns the page behind those that were in the run at last.
    fn read_run(&mut self, run: Range<u64>) -> u64 {
        if run.is_empty() {
            return run.end;
        }
        let held = run.clone().filter_map(|index| self.memory.pages.find(self.ino, index)).collect();
        let asked = self.demand_start..self.demand_end;
        let mut pages = Run { memory: self.memory, ra: self.ra, sim: self.sim, ino: self.ino, asked, left: run, held };
        self.fs.read_ahead(self.ino, &mut pages);
        pages.finish()
    }
}

/// A run of pages, which stay pinned until all of it was read.
struct Run<'a> {
    memory: &'a mut Memory,
    ra: &'a mut ReadAhead,
    sim: &'a Sim,
    ino: Ino,
    asked: Range<u64>,
    left: Range<u64>,
    held: Vec<Slot>,
}

impl Run<'_> {
    /// Gives a page a place. `false`: it has one.
    fn add(&mut self, index: u64) -> bool {
        if self.memory.pages.find(self.ino, index).is_some() {
            return false;
        }
        self.sim.work(Work::PageFill, 0);
        let slot = self.memory.pages.insert(self.ino, index);
        self.memory.pages.set_unread(slot, true);
        self.memory.pages.pin(slot);
        self.held.push(slot);
        true
    }

    fn finish(self) -> u64 {
        for &slot in &self.held {
            self.memory.pages.unpin(slot);
        }
        for index in self.left.clone() {
            if self.ra.leave_out() {
                if let Some(slot) = self.memory.pages.find(self.ino, index) {
                    self.memory.pages.remove(slot);
                }
            }
        }
        self.left.end
    }
}

impl PagesAhead for Run<'_> {
    fn pages(&self) -> Range<u64> {
        self.left.clone()
    }

    fn expand(&mut self, wanted: Range<u64>) {
        while self.left.start > wanted.start {
            if !self.add(self.left.start - 1) {
                return;
            }
            self.left.start -= 1;
        }
        while self.left.end < wanted.end {
            if !self.add(self.left.end) {
                return;
            }
            self.left.end += 1;
            self.ra.grow(1);
        }
    }

    fn take(&mut self, most: u64) -> Range<u64> {
        let taken = self.left.start..self.left.end.min(self.left.start.saturating_add(most));
        self.left.start = taken.end;
        taken
    }

    fn grab(&mut self, index: u64) -> bool {
        self.add(index) || self.memory.pages.find(self.ino, index).is_some_and(|slot| self.memory.pages.is_unread(slot))
    }

    fn fill(&mut self, index: u64, content: &mut dyn FnMut(&mut [u8])) {
        if let Some(slot) = self.memory.pages.find(self.ino, index) {
            content(self.memory.pages.data_mut(slot));
            self.memory.pages.set_unread(slot, false);
        }
    }

    fn is_asked_for(&self, pages: &Range<u64>) -> bool {
        pages.start < self.asked.end && self.asked.start < pages.end
    }
}
