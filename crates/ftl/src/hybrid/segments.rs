//! Open segments: what the controllers of SD cards, eMMC and USB sticks are seen to do.
//!
//! A card is divided into segments (allocation units) of some MiB. So many of them are open: each has a block of flash that it is
//! written to in order, as with replacement blocks. When one more is written, the one that was written least lately is closed, which
//! copies the rest of it. Some cards take pages in any order in some of the open segments: these then hold a log, which a full
//! merge closes. That is how Bergmann, "Optimizing Linux with cheap flash drives" (LWN, February 2011) and the README of his
//! flashbench explain what they measure; what is inside is ours, because no maker publishes it.
//!
//! Left out: segments near the beginning of a card that are better at random writes (for FAT's tables).

use super::{Hybrid, Log};
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;

impl<F: Flash> Hybrid<F> {
    /// The open segment of a logical block; the one written least lately is closed if there are too many.
    fn segment(&mut self, logical_block: u32) -> Result<Log, FtlError> {
        if let Some(log) = self.log_of(logical_block) {
            // The order of the segments is that of their last writes.
            self.logs.retain(|other| other.block != log.block);
            self.logs.push_back(log);
            return Ok(log);
        }
        while self.logs.len() as u32 >= self.log_blocks() {
            let least_lately = self.logs[0];
            self.merge(least_lately)?;
        }
        self.open_log(logical_block)
    }

    /// From now on the segment takes pages in any order; another one is closed if there are too many of these.
    fn becomes_random(&mut self, block: u32) -> Result<(), FtlError> {
        let random = |log: &&Log| log.is_random && log.block != block;
        while self.logs.iter().filter(random).count() as u32 >= self.config.random_segments_count {
            let Some(least_lately) = self.logs.iter().find(random).copied() else { break };
            self.merge(least_lately)?;
        }
        if let Some(log) = self.logs.iter_mut().find(|log| log.block == block) {
            log.is_random = true;
        }
        Ok(())
    }

    /// Pages after which a log block is merged.
    pub(super) fn full_at(&self, block: u32) -> u32 {
        let full = self.shape.pages_per_block;
        match self.config.random_log_pages {
            Some(pages) if self.logs.iter().any(|log| log.block == block && log.is_random) => pages.clamp(1, full),
            _ => full,
        }
    }

    /// The place of a page in its segment.
    pub(super) fn place_in_segment(&mut self, logical_block: u32, offset: u32) -> Result<(u32, u32), FtlError> {
        let mut log = self.segment(logical_block)?;
        if !log.is_random && offset != self.written[log.block as usize] && self.config.random_segments_count > 0 {
            self.becomes_random(log.block)?;
            log.is_random = true;
        }
        if log.is_random {
            return Ok((log.block, self.written[log.block as usize]));
        }
        if offset < self.written[log.block as usize] {
            self.merge(log)?;
            log = self.segment(logical_block)?;
        }
        self.fill_up_to(log.block, logical_block, offset, &causes::MERGE_PARTIAL)?;
        Ok((log.block, offset))
    }
}
