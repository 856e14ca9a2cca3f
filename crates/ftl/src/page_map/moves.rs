//! Moving pages of a block with the commands that not every chip has: inside the chip, and in rows.

use std::collections::VecDeque;

use super::eviction::NONE;
use super::{PageMap, Stream};
use crate::commands::Row;
use crate::config::FtlError;
use crate::flash::Flash;
use crate::tag::FLAG_LOST;

impl<F: Flash> PageMap<F> {
    /// The host's request goes on for so many pages behind the one that is read next.
    pub(crate) fn hint_read_pages(&mut self, further_pages: u32) {
        self.further_pages = further_pages;
    }

    /// Whether the host's request goes on with what stands behind this page in its row. Where the map is not all in RAM nobody can say
    /// without reading it.
    pub(super) fn reads_on(&self, logical_page: u32, page: u32) -> bool {
        let next = self.commands.next_of_host(page, self.further_pages, self.shape.pages_per_block);
        self.cache.is_none() && next.is_some_and(|(next, behind)| self.map[(logical_page + behind) as usize] == next)
    }

    /// As [`PageMap::empty`]: what can be copied inside the chip is copied there, whichever page comes first; the rest goes through the
    /// controller in rows.
    pub(super) fn empty_by_commands(&mut self, block: u32, stream: Stream) -> Result<u32, FtlError> {
        let first = block << self.block_shift;
        let mut waiting: VecDeque<u32> = (first..first + self.shape.pages_per_block).collect();
        // Pages that were not copied inside the chip, because it had done that often enough.
        let mut refused = VecDeque::new();
        let mut moved = 0;
        while self.blocks.valid[block as usize] > 0 {
            if let Some(page) = self.take_for_copy_back(stream, &mut waiting)? {
                if self.copy_back(stream, self.owner[page as usize], page)? {
                    moved += 1
                } else {
                    refused.push_back(page)
                }
                continue;
            }
            let (from, most) = if !refused.is_empty() {
                (&mut refused, self.commands.row_pages)
            } else if self.commands.copy_backs_max_count > 0 {
                // The next place is on another die, whose pages can be copied there.
                (&mut waiting, 1)
            } else {
                (&mut waiting, self.commands.row_pages)
            };
            let mut row = std::mem::take(&mut self.row);
            row.pages.clear();
            while let Some(&page) = from.front().filter(|_| row.pages.len() < most) {
                if !self.holds_data(page) && !row.pages.is_empty() {
                    break;
                }
                from.pop_front();
                if self.owner[page as usize] != NONE {
                    row.pages.push(page);
                }
                if row.pages.len() == 1 && !self.holds_data(page) {
                    break;
                }
            }
            debug_assert!(!row.pages.is_empty(), "block {block}: valid pages are miscounted");
            let moved_now = self.move_row(stream, &mut row);
            self.row = row;
            moved += moved_now?;
        }
        self.settle_moved()?;
        Ok(moved)
    }

    /// Moves one page, inside the chip if that may be.
    pub(super) fn move_one(&mut self, stream: Stream, number: u32, page: u32) -> Result<(), FtlError> {
        let is_candidate = self.commands.copy_backs_max_count > 0 && self.holds_data(page);
        if is_candidate && self.copy_back(stream, number, page)? {
            return Ok(());
        }
        self.move_page(stream, number, page)
    }

    /// Whether a page holds one of the host's, and not a part of the map or trims, which are written anew when they move.
    fn holds_data(&self, page: u32) -> bool {
        self.owner[page as usize] < self.first_trim
    }

    /// The first page that the chip can copy to the next place of a stream.
    fn take_for_copy_back(&mut self, stream: Stream, waiting: &mut VecDeque<u32>) -> Result<Option<u32>, FtlError> {
        if self.commands.copy_backs_max_count == 0 {
            return Ok(None);
        }
        let place = self.open_place(stream)?;
        let to = self.next_page_of(place);
        let fits = |&page: &u32| self.holds_data(page) && self.flash.can_copy_back(page, to);
        let at = waiting.iter().position(fits);
        Ok(at.and_then(|at| waiting.remove(at)))
    }

    fn next_page_of(&self, place: usize) -> u32 {
        let block = self.open[place];
        (block << self.block_shift) + self.blocks.written[block as usize]
    }

    /// Copies a page inside the chip to the next place of a stream. `false`: it must go through the controller.
    fn copy_back(&mut self, stream: Stream, number: u32, page: u32) -> Result<bool, FtlError> {
        let place = self.open_place(stream)?;
        let (block, to) = (self.open[place], self.next_page_of(place));
        // The first page that is written behind a cut has a record of its own kind.
        if self.resumed.contains(&block) || !self.flash.can_copy_back(page, to) {
            return Ok(false);
        }
        let (commands, sequence, erases) = (self.commands, self.sequence + 1, self.blocks.erases[block as usize]);
        let record = &mut |found| commands.record_of_copy(found, number, sequence, erases);
        let copied = self.flash.copy_back(page, to, record);
        if copied == Ok(false) {
            return Ok(false);
        }
        self.sequence = sequence;
        if !self.was_programmed(place, number, to, copied.map(|_| ()))? {
            return Ok(false);
        }
        self.statistics.copies_back();
        self.has_changed(number);
        Ok(true)
    }

    /// Reads these pages, all of them, then programs them. Returns how many were moved.
    fn move_row(&mut self, stream: Stream, row: &mut Row) -> Result<u32, FtlError> {
        if let [page] = row.pages[..] {
            self.move_page(stream, self.owner[page as usize], page)?;
            return Ok(1);
        }
        self.commands.read_row(&self.flash, row)?;
        let mut moved = 0;
        for (page, data, is_lost) in row.read_pages() {
            let number = self.owner[page as usize];
            debug_assert_ne!(
                number, NONE,
                "writing a part of the map for one page can have moved nothing but such parts"
            );
            self.append(stream, number, data, if is_lost { FLAG_LOST } else { 0 })?;
            self.has_changed(number);
            moved += 1;
        }
        Ok(moved)
    }
}
