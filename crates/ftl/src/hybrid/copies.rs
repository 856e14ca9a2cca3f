//! Copies that merges and wear levelling make: one by one, in rows, or inside the chip.

use ffslab_mtd::MtdError;
use ffslab_sim::Reason;

use super::Hybrid;
use crate::causes;
use crate::commands::Row;
use crate::config::FtlError;
use crate::flash::Flash;
use crate::tag::{Found, FLAG_LOST};

impl<F: Flash> Hybrid<F> {
    /// Copies the newest copies of logical pages, in ascending order, to their places in a block. `false` as [`Hybrid::program`].
    pub(super) fn copy_all(
        &mut self,
        logical_pages: &[u32],
        block: u32,
        reason: &'static Reason,
    ) -> Result<bool, FtlError> {
        let mut rest = logical_pages;
        while let Some(&logical_page) = rest.first() {
            if self.commands.copy_backs_max_count > 0 {
                let _reason = self.flash.because(reason);
                if self.copy_back(logical_page, block, reason)? {
                    rest = &rest[1..];
                    continue;
                }
                // The program can have failed.
                if self.has_failed(block) {
                    return Ok(false);
                }
            }
            // Pages of a block are programmed in order, so that what stands behind one that was not copied inside the chip goes with it.
            let (row, after) = rest.split_at(rest.len().min(self.commands.row_pages));
            let is_copied = match *row {
                [logical_page] => self.copy(logical_page, block, reason)?,
                _ => self.copy_row(row, block, reason)?,
            };
            if !is_copied {
                return Ok(false);
            }
            rest = after;
        }
        Ok(true)
    }

    fn has_failed(&self, block: u32) -> bool {
        self.leftovers.iter().any(|&(failed, has_failed)| has_failed && failed == block)
    }

    fn count_copy(&mut self, reason: &'static Reason) {
        if std::ptr::eq(reason, &causes::LEVELLING) {
            self.statistics.other_moved_pages += 1
        } else {
            self.statistics.gc_pages += 1
        }
    }

    /// Copies the newest copy of a logical page to its place in a block. `false` as [`Hybrid::program`].
    fn copy(&mut self, logical_page: u32, block: u32, reason: &'static Reason) -> Result<bool, FtlError> {
        let _reason = self.flash.because(reason);
        let from = self.newest[logical_page as usize];
        let mut buffer = std::mem::take(&mut self.buffer);
        let (found, read) = self.flash.read(from, &mut buffer);
        let was_lost = found.is_lost();
        let copied = match read {
            Err(error) if error != MtdError::Uncorrectable => Err(error.into()),
            read => {
                let flags_bits = if was_lost || read.is_err() { FLAG_LOST } else { 0 };
                self.count_copy(reason);
                self.program(block, logical_page % self.shape.pages_per_block, logical_page, &buffer, flags_bits)
            }
        };
        self.buffer = buffer;
        copied
    }

    /// Reads these pages, all of them, then programs them.
    fn copy_row(&mut self, logical_pages: &[u32], block: u32, reason: &'static Reason) -> Result<bool, FtlError> {
        let _reason = self.flash.because(reason);
        let mut row = std::mem::take(&mut self.row);
        row.pages.clear();
        row.pages.extend(logical_pages.iter().map(|&page| self.newest[page as usize]));
        let copied = self.copy_through(logical_pages, block, &mut row, reason);
        self.row = row;
        copied
    }

    fn copy_through(
        &mut self,
        logical_pages: &[u32],
        block: u32,
        row: &mut Row,
        reason: &'static Reason,
    ) -> Result<bool, FtlError> {
        self.commands.read_row(&self.flash, row)?;
        for (&logical_page, (_, data, is_lost)) in logical_pages.iter().zip(row.read_pages()) {
            self.count_copy(reason);
            let flags_bits = if is_lost { FLAG_LOST } else { 0 };
            if !self.program(block, logical_page % self.shape.pages_per_block, logical_page, data, flags_bits)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies a page inside the chip. `false`: that may not be, or the program has failed.
    fn copy_back(&mut self, logical_page: u32, block: u32, reason: &'static Reason) -> Result<bool, FtlError> {
        let from = self.newest[logical_page as usize];
        let to = block * self.shape.pages_per_block + logical_page % self.shape.pages_per_block;
        if !self.flash.can_copy_back(from, to) {
            return Ok(false);
        }
        let (commands, sequence, erases) = (self.commands, self.sequence + 1, self.erases[block as usize]);
        let record = &mut |found| commands.record_of_copy(found, logical_page, sequence, erases);
        let copied = self.flash.copy_back(from, to, record);
        if copied == Ok(false) {
            return Ok(false);
        }
        self.sequence = sequence;
        self.count_copy(reason);
        let is_copied = self.was_programmed(logical_page, to, copied.map(|_| ()))?;
        if is_copied {
            self.statistics.copies_back();
        }
        Ok(is_copied)
    }

    /// Reads a page for the host, who goes on with what stands behind it if its request does.
    pub(super) fn read_for_host(
        &self,
        logical_page: u32,
        page: u32,
        data: &mut [u8],
    ) -> (Found, Result<bool, MtdError>) {
        if !self.config.cache_commands {
            return self.flash.read(page, data);
        }
        let next = self.commands.next_of_host(page, self.further_pages, self.shape.pages_per_block);
        let more = next.is_some_and(|(next, behind)| self.newest[(logical_page + behind) as usize] == next);
        self.flash.begin_read_in_row(page, data, more)
    }
}
