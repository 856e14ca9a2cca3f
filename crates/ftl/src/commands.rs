//! Commands that not every chip has, as layers use them: pages of a row through the cache registers, and copies inside the chip.
//!
//! **Rows.** Programs one after the other go into a cache program by themselves, below the layer. So that merges and collections have rows, too,
//! they read so many pages, in a cache read where they stand in a row, before they program them.
//!
//! **Copy-back.** The record of a page changes when it moves: its sequence number, the erases of its block. So the record moves out of
//! the chip's register and, changed, in again; the data stay there. What the data held wrong nobody has corrected, so the record counts how
//! often the page was copied so since ECC has seen it last. After so many times as the settings allow it goes through the controller.
//! Sources for both: data sheet of Samsung K9K2G08U0M, "Copy-Back Program" ("accumulated copy-back operations could also
//! accumulate bit errors", data input for a part of the page is allowed); a limit of copies in a row is the rule of
//! rCopyback ("Revitalizing Copybacks in Modern SSDs: Why and How").

use crate::config::{FtlConfig, FtlError};
use crate::flash::{Flash, Shape};
use crate::tag::{Found, Tag, FLAG_LOST, KIND_DATA};
use ffslab_mtd::MtdError;

/// What a layer uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Commands {
    /// How many pages behind a page the next one of its row stands. `None`: no cache commands.
    stride_pages: Option<u32>,
    /// Pages that are read before they are programmed.
    pub row_pages: usize,
    /// Copies inside the chip in a row; 0: none.
    pub copy_backs_max_count: u32,
}

/// Pages that move in a row. Its room stays from one row to the next.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Where they stand, at most as many as [`Commands::row_pages`].
    pub pages: Vec<u32>,
    data: Vec<Box<[u8]>>,
    lost: Vec<bool>,
}

impl Row {
    /// Of each page that was read what it held, and whether that is lost.
    pub fn read_pages(&self) -> impl Iterator<Item = (u32, &[u8], bool)> {
        let read = self.pages.iter().zip(&self.data).zip(&self.lost);
        read.map(|((&page, data), &is_lost)| (page, &data[..], is_lost))
    }
}

impl Commands {
    /// Errors: the medium does not have what the settings want.
    pub fn of<F: Flash>(flash: &F, config: &FtlConfig) -> Result<Commands, FtlError> {
        let missing = |key, what| Err(FtlError::NoCommand { key, what });
        let stride_pages = if config.cache_commands && F::KEEPS_BYTES { flash.use_cache_commands() } else { None };
        if config.cache_commands && F::KEEPS_BYTES && stride_pages.is_none() {
            return missing("cache_commands", "cache program or cache read");
        }
        let copy_backs_max_count = if F::KEEPS_BYTES { config.copy_backs_max_count } else { 0 };
        if copy_backs_max_count > 0 && !flash.can_copy_back(0, 0) {
            return missing("copy_back", "copy-back");
        }
        let row_pages = if stride_pages.is_some() { config.copy_row_pages.max(1) as usize } else { 1 };
        Ok(Commands { stride_pages, row_pages, copy_backs_max_count })
    }

    /// Whether merges and collections move pages otherwise than one by one through the controller.
    pub fn move_pages(&self) -> bool {
        self.row_pages > 1 || self.copy_backs_max_count > 0
    }

    /// Programs that can be under way at a time, for a layer that waits for each unless rows do not.
    pub fn programs_at_a_time<F: Flash>(&self, flash: &F) -> usize {
        self.stride_pages.map_or(1, |_| flash.overlap_programs() as usize)
    }

    /// The page that goes on the row of a page, if that is in the same block.
    pub fn next_in_row(&self, page: u32, pages_per_block: u32) -> Option<u32> {
        let next = page + self.stride_pages?;
        (next / pages_per_block == page / pages_per_block).then_some(next)
    }

    /// The host reads this page, and so many logical pages after it. What goes on the row, and behind how many of them it must stand.
    pub fn next_of_host(&self, page: u32, further_pages: u32, pages_per_block: u32) -> Option<(u32, u32)> {
        let stride_pages = self.stride_pages.filter(|&stride| stride <= further_pages)?;
        Some((self.next_in_row(page, pages_per_block)?, stride_pages))
    }

    /// Reads the pages of a row into its buffers, all of them before anything is programmed.
    ///
    /// Errors: what the medium cannot do, but for bits that ECC cannot correct.
    pub fn read_row<F: Flash>(&self, flash: &F, row: &mut Row) -> Result<(), MtdError> {
        let Shape { page_bytes, pages_per_block, .. } = flash.shape();
        row.data.resize_with(self.row_pages, || vec![0; page_bytes as usize].into_boxed_slice());
        row.lost.clear();
        for (&page, data) in row.pages.iter().zip(&mut row.data) {
            let more = self.next_in_row(page, pages_per_block).is_some_and(|next| row.pages.contains(&next));
            let (found, read) = flash.begin_read_in_row(page, data, more);
            match read {
                Err(error) if error != MtdError::Uncorrectable => return Err(error),
                read => row.lost.push(found.is_lost() || read.is_err()),
            }
        }
        flash.settle_reads();
        Ok(())
    }

    /// The record of the copy of a logical page; `None`: what was found is not its record, or the page was copied often enough.
    pub fn record_of_copy(&self, found: Found, number: u32, sequence: u64, erases: u32) -> Option<Tag> {
        let Found::Tag(tag) = found else { return None };
        let copy_backs = tag.copy_backs() + 1;
        let may = tag.kind == KIND_DATA && tag.number == number && copy_backs <= self.copy_backs_max_count;
        may.then(|| Tag { sequence, erases, ..tag.with_flags(tag.flags_bits & FLAG_LOST, copy_backs) })
    }
}
