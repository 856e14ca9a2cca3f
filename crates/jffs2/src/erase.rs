//! Erasing a block: its node references are dropped, the block is erased, read back page by page, and marked as clean.
//!
//! Follows `fs/jffs2/erase.c`. An erase is a job in steps, because the kernel lets other tasks run between the pages
//! that it reads back (`cond_resched` in `jffs2_block_check_erase`).

use crate::causes;
use ffslab_fs::{Errno, Result, PAGE_BYTES};
use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, ReasonGuard};

use crate::blocks::List;
use crate::format::{encode_clean_marker, oob_clean_marker, HEADER_BYTES};
use crate::ledger::Share;
use crate::refs::{NodeState, NONE};
use crate::store::Store;

/// A block is marked bad when its erase has failed this often (`MAX_ERASE_FAILURES`).
const ERASE_FAILURES_MAX: u32 = 2;

/// A block that is to be erased, or that is being read back. Which of the two follows from the block's list; how much
/// was read back is noted in the block.
#[derive(Clone, Copy, Debug)]
pub struct EraseJob {
    block: u32,
}

/// What one step of erasing did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraseStep {
    /// A block was chosen. If tasks sleep while the chip works, this task will sleep during the erase.
    Begun,
    /// Part of the work is done, and other tasks may run before the next step.
    More,
    /// One block was completed (or given up).
    Done,
    /// Nothing waits for erasure.
    Nothing,
}

impl Store {
    /// Does the next step of `job`, or of the next block if there is no job.
    pub fn erase_step(&mut self, job: &mut Option<EraseJob>) -> Result<EraseStep> {
        if let Some(current) = job.take() {
            match self.blocks[current.block].list() {
                List::Erasing => return self.erase_chosen(current.block),
                List::EraseChecking if self.check_step(current.block)? => {
                    *job = Some(current);
                    return Ok(EraseStep::More);
                }
                // Another task that needed an erased block at once has finished this one in the meantime.
                _ => return Ok(EraseStep::Done),
            }
        }
        *job = self.take_erased();
        if job.is_some() {
            return self.erase_step(job);
        }
        let Some(block) = self.blocks.take_first(List::ErasePending) else { return Ok(EraseStep::Nothing) };
        self.forget_block(block);
        self.blocks.append(block, List::Erasing);
        *job = Some(EraseJob { block });
        Ok(EraseStep::Begun)
    }

    /// The next block that is to be read back.
    pub fn take_erased(&mut self) -> Option<EraseJob> {
        let block = self.blocks.take_first(List::EraseComplete)?;
        self.blocks.append(block, List::EraseChecking);
        self.blocks[block].checked_bytes = 0;
        Some(EraseJob { block })
    }

    fn erase_chosen(&mut self, block: u32) -> Result<EraseStep> {
        let erased = {
            let _why = self.because_of_erase(block, &causes::ERASE);
            self.mtd.erase(u64::from(block * self.block_bytes))
        };
        match erased {
            Ok(()) => {
                self.blocks.append(block, List::EraseComplete);
                self.trigger_gc_thread();
            }
            Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
            Err(_) => self.erase_failed(block)?,
        }
        Ok(EraseStep::More)
    }

    /// The reason under which an erase is counted. The blocks of a new partition are erased and marked once before
    /// their first use, which counts as formatting.
    fn because_of_erase(&self, block: u32, reason: &'static Reason) -> ReasonGuard {
        self.sim.because(if self.blocks[block].is_blank { &causes::FORMATTING } else { reason })
    }

    /// Begins to erase a block for a task that needs one now. If no block waits, the task takes over a block that
    /// another task is erasing; the kernel would wait for that task here.
    pub fn begin_erase_in_need(&mut self) -> Result<Option<EraseJob>> {
        let mut job = None;
        if self.erase_step(&mut job)? == EraseStep::Nothing {
            let begun = self.blocks.first(List::EraseChecking).or_else(|| self.blocks.first(List::Erasing));
            job = Some(EraseJob { block: begun.ok_or(Errno::NoSpc)? });
        }
        Ok(job)
    }

    /// Erases and marks one block without letting other tasks run.
    pub fn erase_one_now(&mut self) -> Result<()> {
        let mut job = self.begin_erase_in_need()?;
        while matches!(self.erase_step(&mut job)?, EraseStep::Begun | EraseStep::More) {}
        Ok(())
    }

    /// Drops the node references of a block and takes its bytes out of the totals.
    fn forget_block(&mut self, number: u32) {
        for share in [Share::Used, Share::Dirty, Share::Wasted, Share::Free] {
            self.blocks.shift_all(number, share, Share::Erasing);
        }
        debug_assert_eq!(self.blocks[number].erasing_bytes(), self.block_bytes, "block {number} holds unchecked nodes");
        let mut id = self.blocks[number].first;
        while id != NONE {
            let next = self.refs[id].next_in_block;
            self.unchain_from_inode(id);
            self.refs.release(id);
            id = next;
        }
        let b = &mut self.blocks[number];
        b.first = NONE;
        b.last = NONE;
        b.gc_node = NONE;
    }

    /// Reads back one memory page of an erased block; after the last page the block is marked as clean. Returns `false`
    /// when the job has ended.
    fn check_step(&mut self, block: u32) -> Result<bool> {
        let checked_bytes = self.blocks[block].checked_bytes;
        if checked_bytes < self.block_bytes {
            let bytes = (PAGE_BYTES as u32).min(self.block_bytes - checked_bytes) as usize;
            let at = block * self.block_bytes + checked_bytes;
            let erased = {
                let _why = self.because_of_erase(block, &causes::ERASE_CHECK);
                self.mtd.reads_erased(u64::from(at), &mut self.erase_check[..bytes])
            };
            match erased {
                Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
                Ok(true) => {}
                _ => {
                    self.erase_failed(block)?;
                    return Ok(false);
                }
            }
            self.blocks[block].checked_bytes += bytes as u32;
            return Ok(true);
        }
        let at = u64::from(block * self.block_bytes);
        let marked = {
            let _why = self.because_of_erase(block, &causes::CLEAN_MARKER);
            match self.manner.marker_in_oob {
                true => self.mtd.write_oob_free(at, &oob_clean_marker(self.endian)),
                false => self.mtd.write(at, &encode_clean_marker(self.endian)),
            }
        };
        match marked {
            Ok(()) => {}
            Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
            Err(_) => {
                self.erase_failed(block)?;
                return Ok(false);
            }
        }
        self.blocks[block].is_blank = false;
        self.blocks.shift_all(block, Share::Erasing, Share::Free);
        if !self.manner.marker_in_oob {
            self.link_node(at as u32, NodeState::Normal, HEADER_BYTES, 0);
        }
        self.blocks.append(block, List::Free);
        self.erasing_blocks -= 1;
        Ok(false)
    }

    /// Handles a failed erase: the block is tried once more, and after that it is marked bad.
    fn erase_failed(&mut self, number: u32) -> Result<()> {
        let b = &mut self.blocks[number];
        b.erase_failures += 1;
        if b.erase_failures < ERASE_FAILURES_MAX {
            self.blocks.shift_all(number, Share::Erasing, Share::Dirty);
            self.blocks.prepend(number, List::ErasePending);
            return Ok(());
        }
        // Even if the bad block mark cannot be written, the block is not used any more until the next mount.
        if let Err(MtdError::PowerCut) = self.mtd.mark_bad(u64::from(number * self.block_bytes)) {
            return Err(Errno::PowerCut);
        }
        self.blocks.shift_all(number, Share::Erasing, Share::Bad);
        self.blocks.prepend(number, List::Bad);
        self.erasing_blocks -= 1;
        Ok(())
    }
}
