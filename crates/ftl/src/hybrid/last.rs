//! LAST: log blocks for sequences and for single pages, told apart by the length of the request.
//!
//! Lee, Shin, Kim and Kim, "LAST: Locality-Aware Sector Translation for NAND Flash Memory-Based Storage Systems", SIGOPS Operating
//! Systems Review 42(6), 2008. A request of many pages goes to the sequential log buffer, whose blocks belong to one logical block
//! each, so that they become data blocks by switch or partial merges. Pages of short requests go to the random log buffer, whose
//! blocks take pages of all logical blocks. It has a hot partition, for pages that are written again while an earlier copy
//! of them is still young in the buffer, and a cold one: so blocks of the hot partition soon hold nothing that counts, and such
//! dead blocks are erased without a merge. If there is none, the full block whose pages belong to the fewest
//! logical blocks is merged, first of the cold partition and of what has aged in the hot one.
//!
//! Ours, because only the rules and no numbers of the paper were at hand: the limit between short and long requests
//! ([`crate::FtlConfig::sequential_request_pages`]), a quarter of the log blocks for sequences, and what is young: as many page
//! writes as the random log buffer has pages. A sequence that begins within a block begins its log block with a copy of what
//! stands before it. The shares of the partitions follow from what is written and reclaimed.

use std::collections::VecDeque;

use super::{Hybrid, NONE};
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;

/// Log blocks at least: one for a sequence, one that each partition writes.
pub(super) const LOG_BLOCKS_MIN: u32 = 3;

/// A block of the random log buffer.
#[derive(Clone, Copy)]
pub(super) struct RandomLog {
    pub block: u32,
    /// Page writes of the random log buffer before the block was opened.
    opened_at: u64,
}

/// The random log buffer.
#[derive(Default)]
pub(super) struct RandomBuffer {
    /// The blocks of the cold and of the hot partition, in the order in which they were opened; the last one is being written.
    partitions: [VecDeque<RandomLog>; 2],
    /// Pages written to the buffer.
    page_writes: u64,
}

impl RandomBuffer {
    pub fn logs(&self) -> impl Iterator<Item = RandomLog> + '_ {
        self.partitions.iter().flatten().copied()
    }

    pub fn forget(&mut self, block: u32) {
        self.partitions.iter_mut().for_each(|logs| logs.retain(|log| log.block != block));
    }

    fn blocks(&self) -> u32 {
        self.partitions.iter().map(VecDeque::len).sum::<usize>() as u32
    }
}

impl<F: Flash> Hybrid<F> {
    fn sequential_log_blocks(&self) -> u32 {
        (self.log_blocks() / 4).max(1)
    }

    fn random_log_blocks(&self) -> u32 {
        self.log_blocks() - self.sequential_log_blocks()
    }

    /// The place of a page of a request of [`Hybrid::request_pages`].
    pub(super) fn place_in_last(&mut self, logical_block: u32, offset: u32) -> Result<(u32, u32), FtlError> {
        if self.request_pages >= self.config.sequential_request_pages {
            let limit = self.sequential_log_blocks();
            return self.place_in_order(logical_block, offset, limit, &causes::MERGE_PARTIAL);
        }
        let logical_page = logical_block * self.shape.pages_per_block + offset;
        let partition = usize::from(self.is_hot(logical_page));
        let block = self.open_random_log(partition)?;
        self.random.page_writes += 1;
        Ok((block, self.written[block as usize]))
    }

    /// Whether the newest copy of a page stands in a random log block that was opened a short time ago.
    fn is_hot(&self, logical_page: u32) -> bool {
        let page = self.newest[logical_page as usize];
        page != NONE && {
            let block = self.block_of(page);
            self.random.logs().any(|log| log.block == block && !self.is_aged(log))
        }
    }

    fn is_aged(&self, log: RandomLog) -> bool {
        let young_writes = u64::from(self.random_log_blocks() * self.shape.pages_per_block);
        self.random.page_writes - log.opened_at > young_writes
    }

    fn is_full(&self, block: u32) -> bool {
        self.written[block as usize] == self.shape.pages_per_block
    }

    /// The block that a partition writes; another one is opened if it is full.
    fn open_random_log(&mut self, partition: usize) -> Result<u32, FtlError> {
        loop {
            let last = self.random.partitions[partition].back().copied();
            if let Some(log) = last.filter(|log| !self.is_full(log.block)) {
                return Ok(log.block);
            }
            if self.random.blocks() < self.random_log_blocks() {
                break;
            }
            self.reclaim_random_log()?;
        }
        let log = RandomLog { block: self.take()?, opened_at: self.random.page_writes };
        self.random.partitions[partition].push_back(log);
        Ok(log.block)
    }

    /// Makes one full random log block fewer.
    fn reclaim_random_log(&mut self) -> Result<(), FtlError> {
        let full: Vec<RandomLog> = self.random.logs().filter(|log| self.is_full(log.block)).collect();
        if let Some(dead) = full.iter().find(|log| self.valid[log.block as usize] == 0) {
            self.statistics.collected_blocks += 1;
            return self.free_random_log(dead.block);
        }
        let is_cold = |log: &&RandomLog| {
            self.is_aged(**log) || self.random.partitions[0].iter().any(|cold| cold.block == log.block)
        };
        let cheapest = |logs: Vec<&RandomLog>| {
            logs.into_iter().map(|log| log.block).min_by_key(|&block| self.logical_blocks_in(block))
        };
        let of_cold = cheapest(full.iter().filter(is_cold).collect());
        let Some(victim) = of_cold.or_else(|| cheapest(full.iter().collect())) else {
            debug_assert!(false, "all random log blocks are being written");
            return Err(self.worn_out());
        };
        self.merge_all_of(victim)?;
        // The last merge has freed it; unless a program has failed meanwhile.
        let is_there = self.random.logs().any(|log| log.block == victim);
        if is_there {
            self.free_random_log(victim)
        } else {
            Ok(())
        }
    }

    fn free_random_log(&mut self, block: u32) -> Result<(), FtlError> {
        self.random.forget(block);
        let _reason = self.flash.because(&causes::FTL_ERASE);
        self.release(block)
    }

    /// How many logical blocks a block holds valid pages of: so many full merges empty it.
    fn logical_blocks_in(&self, block: u32) -> usize {
        let pages = block * self.shape.pages_per_block..(block + 1) * self.shape.pages_per_block;
        let owners = pages.map(|page| self.owner[page as usize]).filter(|&owner| owner != NONE);
        let mut logical_blocks: Vec<u32> = owners.map(|owner| self.logical_block_of(owner)).collect();
        logical_blocks.sort_unstable();
        logical_blocks.dedup();
        logical_blocks.len()
    }
}
