//! Finding the newest copy of each page, and data blocks, by the records of all pages.

use ffslab_mtd::MtdError;

use super::{Hybrid, Scheme, NONE};
use crate::causes;
use crate::config::{FtlConfig, FtlError};
use crate::faults;
use crate::flash::Flash;
use crate::tag::{Found, Tag, FLAG_LOST, KIND_DATA};

impl<F: Flash> Hybrid<F> {
    pub fn mount(flash: F, config: FtlConfig, scheme: Scheme) -> Result<Hybrid<F>, FtlError> {
        let mut made = Hybrid::blank(flash, config, scheme)?;
        let begun_ns = made.flash.found_ns();
        {
            let _reason = made.flash.because(&causes::RECOVERY_SCAN);
            made.scan()?;
        }
        made.assign_blocks();
        made.statistics.mount_ns = made.flash.now_ns() - begun_ns;
        Ok(made)
    }

    fn scan(&mut self) -> Result<(), FtlError> {
        let mut best = vec![0u64; self.newest.len()];
        let full = self.shape.pages_per_block;
        for block in (0..self.shape.blocks).filter(|&block| !self.flash.is_bad(block)).collect::<Vec<_>>() {
            let mut found: Vec<(u32, Tag)> = Vec::new();
            // Data blocks can have holes, so that an erased record is not the end.
            for page in block * full..(block + 1) * full {
                if let Found::Tag(tag) = self.flash.read_tag(page)? {
                    found.push((page, tag));
                }
            }
            // Only pages that were written last can be torn.
            let mut by_age: Vec<(u32, Tag)> = found.clone();
            by_age.sort_by_key(|(_, tag)| std::cmp::Reverse(tag.sequence));
            if let Some((_, tag)) = by_age.first() {
                self.erases[block as usize] = tag.erases;
                self.sequence = self.sequence.max(tag.sequence);
            }
            for &(page, tag) in by_age.iter().take(self.overlapped_pages) {
                if !self.is_whole(page, &tag)? {
                    found.retain(|&(other, _)| other != page);
                }
            }
            for (page, tag) in found {
                let number = tag.number as usize;
                if tag.kind == KIND_DATA && best.get(number).is_some_and(|&best| best < tag.sequence) {
                    best[number] = tag.sequence;
                    self.newest[number] = page;
                }
            }
        }
        Ok(())
    }

    fn is_whole(&mut self, page: u32, tag: &Tag) -> Result<bool, FtlError> {
        match self.flash.read(page, &mut self.buffer).1 {
            _ if faults::TORN_LOG_PAGES_BELIEVED.is_seeded() => Ok(true),
            Ok(_) => Ok(crc32fast::hash(&self.buffer) == tag.data_crc || tag.flags_bits & FLAG_LOST != 0),
            Err(MtdError::Uncorrectable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Of the blocks in which all valid pages stand in their places, the one with most of them is the data block.
    fn assign_blocks(&mut self) {
        for (logical_page, &page) in self.newest.iter().enumerate() {
            if page != NONE {
                self.owner[page as usize] = logical_page as u32;
                self.valid[(page / self.shape.pages_per_block) as usize] += 1;
            }
        }
        let full = self.shape.pages_per_block;
        for block in (0..self.shape.blocks).filter(|&block| !self.flash.is_bad(block)) {
            if self.valid[block as usize] == 0 {
                self.free.insert(block, self.erases[block as usize]);
                continue;
            }
            self.written[block as usize] = full;
            let first = block * full;
            let owners =
                || (first..first + full).zip(&self.owner[first as usize..]).filter(|(_, &owner)| owner != NONE);
            let Some((_, &some)) = owners().next() else { continue };
            let logical_block = some / full;
            let is_in_order = owners().all(|(page, &owner)| owner == logical_block * full + page % full);
            let before = self.data[logical_block as usize];
            let is_better = before == NONE || self.valid[before as usize] < self.valid[block as usize];
            if !is_in_order || !is_better {
                self.leftovers.push((block, false));
                continue;
            }
            if before != NONE {
                self.leftovers.push((before, false));
            }
            self.data[logical_block as usize] = block;
        }
    }
}
