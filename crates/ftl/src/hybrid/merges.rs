//! Log blocks, and how they become data blocks again.

use ffslab_sim::Reason;

use super::{Hybrid, Log, NONE};
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;
use ffslab_policy::{FreePool, Wears};

impl<F: Flash> Hybrid<F> {
    // ---- places in log blocks -------------------------------------------------------------------------------------

    pub(super) fn open_log(&mut self, logical_block: u32) -> Result<Log, FtlError> {
        let log = Log::new(self.take()?, logical_block);
        self.logs.push_back(log);
        Ok(log)
    }

    pub(super) fn log_of(&self, logical_block: u32) -> Option<Log> {
        self.logs.iter().copied().find(|log| log.logical_block == logical_block)
    }

    /// The log block of a logical block; the oldest of others is merged if there are `limit` of them.
    fn own_log(&mut self, logical_block: u32, limit: u32) -> Result<Log, FtlError> {
        if let Some(log) = self.log_of(logical_block) {
            return Ok(log);
        }
        while self.logs.len() as u32 >= limit {
            let oldest = self.logs[0];
            self.merge(oldest)?;
        }
        self.open_log(logical_block)
    }

    /// A block map: the page keeps its place, and what lies between is copied for this reason.
    pub(super) fn place_in_order(
        &mut self,
        logical_block: u32,
        offset: u32,
        limit: u32,
        reason: &'static Reason,
    ) -> Result<(u32, u32), FtlError> {
        if let Some(log) = self.log_of(logical_block).filter(|log| offset < self.written[log.block as usize]) {
            self.merge(log)?;
        }
        let log = self.own_log(logical_block, limit)?;
        self.fill_up_to(log.block, logical_block, offset, reason)?;
        Ok((log.block, offset))
    }

    /// Copies to a log block what lies between its end and a page that is written next.
    pub(super) fn fill_up_to(
        &mut self,
        block: u32,
        logical_block: u32,
        offset: u32,
        reason: &'static Reason,
    ) -> Result<(), FtlError> {
        let first = logical_block * self.shape.pages_per_block;
        let between = first + self.written[block as usize]..first + offset;
        let pages: Vec<u32> = between.filter(|&page| !self.is_nowhere(page)).collect();
        self.copy_all(&pages, block, reason).map(drop)
    }

    /// BAST: the next page of the logical block's own log block.
    pub(super) fn place_in_own_log(&mut self, logical_block: u32) -> Result<(u32, u32), FtlError> {
        let log = self.own_log(logical_block, self.log_blocks())?;
        Ok((log.block, self.written[log.block as usize]))
    }

    /// FAST: the log block of the sequence, or the next page of the others.
    pub(super) fn place_in_shared_log(&mut self, logical_block: u32, offset: u32) -> Result<(u32, u32), FtlError> {
        if offset == 0 {
            if let Some(log) = self.sequential {
                self.merge(log)?;
            }
            let log = Log::new(self.take()?, logical_block);
            self.sequential = Some(log);
            return Ok((log.block, 0));
        }
        let continued = |log: &Log| log.logical_block == logical_block && self.written[log.block as usize] == offset;
        if let Some(log) = self.sequential.filter(continued) {
            return Ok((log.block, offset));
        }
        let full = self.shape.pages_per_block;
        let last = self.logs.back().copied().filter(|log| self.written[log.block as usize] < full);
        let log = match last {
            Some(log) => log,
            None => {
                while self.logs.len() as u32 + 1 >= self.log_blocks() {
                    self.reclaim_oldest()?;
                }
                self.open_log(NONE)?
            }
        };
        Ok((log.block, self.written[log.block as usize]))
    }

    /// A log block that is full in its order becomes the data block; another full one of BAST waits no longer either.
    pub(super) fn close_if_full(&mut self, block: u32) -> Result<(), FtlError> {
        if self.written[block as usize] < self.full_at(block) {
            return Ok(());
        }
        let own = self.logs.iter().chain(&self.sequential).copied();
        match own.into_iter().find(|log| log.block == block && log.logical_block != NONE) {
            Some(log) => self.merge(log),
            None => Ok(()),
        }
    }

    // ---- merges ---------------------------------------------------------------------------------------------------

    pub(super) fn forget_log(&mut self, block: u32) {
        self.random.forget(block);
        self.logs.retain(|log| log.block != block);
        if self.sequential.is_some_and(|log| log.block == block) {
            self.sequential = None;
        }
    }

    /// Merges a log block of one logical block with its data block, in the cheapest way.
    pub(super) fn merge(&mut self, log: Log) -> Result<(), FtlError> {
        let Log { block, logical_block, .. } = log;
        let (first_page, first) = (block * self.shape.pages_per_block, logical_block * self.shape.pages_per_block);
        let written = self.written[block as usize];
        // Holes are pages that the data block does not have either.
        let in_place = |offset: u32| {
            let owner = self.owner[(first_page + offset) as usize];
            owner == first + offset || owner == NONE && self.is_nowhere(first + offset)
        };
        if !(0..written).all(in_place) {
            return self.merge_fully(logical_block);
        }
        let last = self.config.logical_pages.min(first + self.shape.pages_per_block);
        let rest: Vec<u32> = (first + written..last).filter(|&page| !self.is_nowhere(page)).collect();
        let reason = if rest.is_empty() { &causes::MERGE_SWITCH } else { &causes::MERGE_PARTIAL };
        if rest.is_empty() {
            self.statistics.switch_merges_count += 1
        } else {
            self.statistics.partial_merges_count += 1
        }
        if !self.copy_all(&rest, block, reason)? {
            // The block has failed and is a leftover now.
            return Ok(());
        }
        self.forget_log(block);
        self.becomes_data(block, logical_block, reason)
    }

    fn is_nowhere(&self, logical_page: u32) -> bool {
        self.newest.get(logical_page as usize).is_none_or(|&page| page == NONE)
    }

    /// The block is the data block from now on, and the one before it is free.
    fn becomes_data(&mut self, block: u32, logical_block: u32, reason: &'static Reason) -> Result<(), FtlError> {
        let before = std::mem::replace(&mut self.data[logical_block as usize], block);
        if before != NONE {
            let _reason = self.flash.because(reason);
            self.release(before)?;
        }
        Ok(())
    }

    /// Copies the newest pages of a logical block to a free block, and frees what is empty then.
    pub(super) fn merge_fully(&mut self, logical_block: u32) -> Result<(), FtlError> {
        self.statistics.full_merges_count += 1;
        self.gather(logical_block, FreePool::take, &causes::MERGE_FULL)
    }

    /// Static wear levelling: the data block that the rule names is gathered in the most worn free block, and what it was is worn
    /// from now on.
    pub(super) fn level_wear(&mut self) -> Result<(), FtlError> {
        if !self.leveller.is_due() {
            return Ok(());
        }
        let (data, is_bad) = (&self.data, &self.is_bad);
        let mut wears: Vec<Wears> =
            is_bad.iter().map(|&is_bad| if is_bad { Wears::NoLonger } else { Wears::Now }).collect();
        for &block in data.iter().filter(|&&block| block != NONE) {
            wears[block as usize] = Wears::Closed;
        }
        let Some(chosen) = self.leveller.choose(&self.erases, |block| wears[block as usize]) else { return Ok(()) };
        match self.data.iter().position(|&block| block == chosen) {
            Some(logical_block) => self.gather(logical_block as u32, FreePool::take_most_worn, &causes::LEVELLING),
            None => Ok(()),
        }
    }

    fn gather(
        &mut self,
        logical_block: u32,
        choose: fn(&mut FreePool) -> Option<u32>,
        reason: &'static Reason,
    ) -> Result<(), FtlError> {
        let first = logical_block * self.shape.pages_per_block;
        let last = self.config.logical_pages.min(first + self.shape.pages_per_block);
        let pages: Vec<u32> = (first..last).filter(|&page| !self.is_nowhere(page)).collect();
        loop {
            let block = self.take_by(choose)?;
            if self.copy_all(&pages, block, reason)? {
                self.becomes_data(block, logical_block, reason)?;
                break;
            }
        }
        let own = self.logs.iter().chain(&self.sequential).map(|log| log.block);
        let own: Vec<u32> = own.chain(self.random.logs().map(|log| log.block)).collect();
        let is_full = |block: u32| self.written[block as usize] == self.shape.pages_per_block;
        let owned_by = |block: u32| {
            let logs = self.logs.iter().chain(&self.sequential);
            logs.into_iter().any(|log| log.block == block && log.logical_block == logical_block)
        };
        let empty = own.into_iter().filter(|&block| self.valid[block as usize] == 0);
        let to_free: Vec<u32> = empty.filter(|&block| is_full(block) || owned_by(block)).collect();
        for block in to_free {
            self.forget_log(block);
            let _reason = self.flash.because(reason);
            self.release(block)?;
        }
        Ok(())
    }

    /// FAST: every logical block with pages in the oldest log block is merged.
    fn reclaim_oldest(&mut self) -> Result<(), FtlError> {
        let Some(oldest) = self.logs.front().copied() else { return Ok(()) };
        self.merge_all_of(oldest.block)?;
        // The last merge has freed it, if it was full; a program can have failed meanwhile.
        if self.logs.iter().any(|log| log.block == oldest.block) {
            self.forget_log(oldest.block);
            let _reason = self.flash.because(&causes::MERGE_FULL);
            self.release(oldest.block)?;
        }
        Ok(())
    }

    pub(super) fn merge_all_of(&mut self, block: u32) -> Result<(), FtlError> {
        let first = block * self.shape.pages_per_block;
        for page in first..first + self.shape.pages_per_block {
            let owner = self.owner[page as usize];
            if owner != NONE {
                self.merge_fully(self.logical_block_of(owner))?;
            }
        }
        Ok(())
    }

    /// Merges what was left by a mount or by failed programs.
    pub(super) fn settle(&mut self) -> Result<(), FtlError> {
        while let Some((block, has_failed)) = self.leftovers.pop() {
            self.merge_all_of(block)?;
            if has_failed {
                self.mark_bad(block)?;
            } else {
                let _reason = self.flash.because(&causes::FTL_ERASE);
                self.release(block)?;
            }
        }
        Ok(())
    }
}
