//! Erasing a block: its node references are dropped, the block is erased, read back page by page, and marked as clean.
//!
//! Follows `fs/jffs2/erase.c`. An erase is a job in steps, because the kernel lets other tasks run between the pages
//! that it reads back (`cond_resched` in `jffs2_block_check_erase`).

use crate::causes;
use ffslab_fs::{Errno, Result, PAGE_BYTES};
use ffslab_mtd::{is_erased, MtdError};
use ffslab_sim::{Reason, ReasonGuard, Work};

use crate::blocks::List;
use crate::flash::Flash;
use crate::format::{encode_clean_marker, oob_clean_marker, HEADER_BYTES};
use crate::ledger::Share;
use crate::refs::{NodeState, NONE};
use crate::space::Space;

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
    /// The medium erases by itself until then, or a bit longer if others interrupt it. A background task sleeps.
    Sleeps { until_ns: u64 },
    /// The medium has erased the block, and the task is about to take the lock under which it says so (`erase_free_sem` in
    /// `jffs2_erase_succeeded`). Who runs here finds the block neither among those to erase nor among those to read back.
    Erased,
    /// Part of the work is done, and other tasks may run before the next step.
    More,
    /// One block was completed (or given up).
    Done,
    /// Nothing waits for erasure.
    Nothing,
}

/// Erases blocks. A buffer for what is read back is all that it has.
pub struct Eraser {
    /// Not the buffer of [`crate::read::Reader`]: a block may have to be erased to make room for a node that is in it.
    check: Box<[u8]>,
}

impl Eraser {
    pub fn new() -> Eraser {
        Eraser { check: Box::new([0; PAGE_BYTES]) }
    }

    /// Does the next step of `job`, or of the next block if there is no job. `may_sleep`: this task can sleep while the medium
    /// erases.
    pub fn step(
        &mut self,
        space: &mut Space,
        flash: &Flash,
        job: &mut Option<EraseJob>,
        may_sleep: bool,
    ) -> Result<EraseStep> {
        if let Some(current) = job.take() {
            match space.blocks[current.block].list() {
                List::Erasing => {
                    let step = erase_chosen(space, flash, current.block, may_sleep)?;
                    if matches!(step, EraseStep::Sleeps { .. } | EraseStep::Erased) {
                        *job = Some(current);
                    }
                    return Ok(step);
                }
                List::EraseChecking if self.check_step(space, flash, current.block)? => {
                    *job = Some(current);
                    return Ok(EraseStep::More);
                }
                // Another task that needed an erased block at once has finished this one in the meantime.
                _ => return Ok(EraseStep::Done),
            }
        }
        *job = take_erased(space);
        if job.is_some() {
            return self.step(space, flash, job, may_sleep);
        }
        let Some(block) = space.blocks.take_first(List::ErasePending) else { return Ok(EraseStep::Nothing) };
        forget_block(space, block);
        space.blocks.append(block, List::Erasing);
        *job = Some(EraseJob { block });
        Ok(EraseStep::Begun)
    }

    /// Begins to erase a block for a task that needs one now. If no block waits, the task takes over a block that
    /// another task is erasing; the kernel would wait for that task here.
    pub fn begin_in_need(&mut self, space: &mut Space, flash: &Flash) -> Result<Option<EraseJob>> {
        let mut job = None;
        if self.step(space, flash, &mut job, false)? == EraseStep::Nothing {
            let begun = space.blocks.first(List::EraseChecking).or_else(|| space.blocks.first(List::Erasing));
            job = Some(EraseJob { block: begun.ok_or(Errno::NoSpc)? });
        }
        Ok(job)
    }

    /// Erases and marks one block without letting other tasks run.
    pub fn erase_one(&mut self, space: &mut Space, flash: &Flash) -> Result<()> {
        let mut job = self.begin_in_need(space, flash)?;
        while matches!(
            self.step(space, flash, &mut job, false)?,
            EraseStep::Begun | EraseStep::Erased | EraseStep::More
        ) {}
        Ok(())
    }

    /// Erases all blocks that wait for an erase (`rtems_jffs2_initialize`).
    pub fn erase_all(&mut self, space: &mut Space, flash: &Flash) -> Result<()> {
        while !space.blocks.is_empty(List::ErasePending) || !space.blocks.is_empty(List::EraseComplete) {
            self.erase_one(space, flash)?;
        }
        Ok(())
    }

    /// Reads back one memory page of an erased block; after the last page the block is marked as clean. Returns `false`
    /// when the job has ended.
    fn check_step(&mut self, space: &mut Space, flash: &Flash, block: u32) -> Result<bool> {
        let checked_bytes = space.blocks[block].checked_bytes;
        if checked_bytes < flash.block_bytes {
            let (bytes, erased) = {
                let _why = because_of_erase(space, flash, block, &causes::ERASE_CHECK);
                self.look_whether_erased(flash, block * flash.block_bytes, checked_bytes)
            };
            match erased {
                Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
                Ok(true) => {}
                _ => {
                    erase_failed(space, flash, block)?;
                    return Ok(false);
                }
            }
            space.blocks[block].checked_bytes += bytes;
            // Nobody else runs in between where the processor looks at the whole block.
            if !flash.manner.looks_in_memory {
                return Ok(true);
            }
        }
        let at = u64::from(block * flash.block_bytes);
        let marked = {
            let _why = because_of_erase(space, flash, block, &causes::CLEAN_MARKER);
            if flash.manner.marker_in_oob {
                flash.mtd.write_oob_free(at, &oob_clean_marker(flash.endian))
            } else {
                flash.mtd.write(at, &encode_clean_marker(flash.endian))
            }
        };
        match marked {
            Ok(()) => {}
            Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
            Err(_) => {
                erase_failed(space, flash, block)?;
                return Ok(false);
            }
        }
        space.blocks[block].is_blank = false;
        space.blocks.shift_all(block, Share::Erasing, Share::Free);
        if !flash.manner.marker_in_oob {
            space.link_node(at as u32, NodeState::Normal, HEADER_BYTES, 0);
        }
        space.blocks.append(block, List::Free);
        space.erasing_blocks -= 1;
        Ok(false)
    }

    /// Looks at the next memory page of a block, or at all of it where the processor sees it. Returns how many bytes that were, and
    /// whether they are erased.
    fn look_whether_erased(
        &mut self,
        flash: &Flash,
        start: u32,
        from: u32,
    ) -> (u32, std::result::Result<bool, MtdError>) {
        let mut at = from;
        loop {
            let bytes = (PAGE_BYTES as u32).min(flash.block_bytes - at);
            let (place, buffer) = (u64::from(start + at), &mut self.check[..bytes as usize]);
            let erased = if flash.manner.looks_in_memory {
                flash.mtd.fetch(place, buffer).map(|()| is_erased(buffer))
            } else {
                flash.mtd.reads_erased(place, buffer)
            };
            flash.sim.work(Work::BlankCheck, bytes as usize);
            at += bytes;
            if !flash.manner.looks_in_memory || at == flash.block_bytes || erased != Ok(true) {
                return (at - from, erased);
            }
        }
    }
}

/// The next block that is to be read back.
pub fn take_erased(space: &mut Space) -> Option<EraseJob> {
    let block = space.blocks.take_first(List::EraseComplete)?;
    space.blocks.append(block, List::EraseChecking);
    space.blocks[block].checked_bytes = 0;
    Some(EraseJob { block })
}

/// Erases a block, or lets the medium begin, or sees whether an erase that was begun has ended.
fn erase_chosen(space: &mut Space, flash: &Flash, block: u32, may_sleep: bool) -> Result<EraseStep> {
    let at = u64::from(block * flash.block_bytes);
    let seen_at_ns = space.blocks[block].erase_seen_at_ns.take();
    let erased = {
        let _why = because_of_erase(space, flash, block, &causes::ERASE);
        if seen_at_ns.is_none() {
            flash.sim.work_of_erase();
        }
        match seen_at_ns {
            Some(seen_at_ns) => {
                Ok(Some(flash.mtd.erase_goes_on(at).map_or(seen_at_ns, |end_ns| end_ns.max(seen_at_ns))))
            }
            None if may_sleep => flash.mtd.begin_erase(at),
            None => flash.mtd.erase(at).map(|()| None),
        }
    };
    match erased {
        Ok(Some(until_ns)) if may_sleep && until_ns > flash.sim.now_ns() => {
            space.blocks[block].erase_seen_at_ns = Some(until_ns);
            return Ok(EraseStep::Sleeps { until_ns });
        }
        Ok(until_ns) => {
            flash.sim.wait_for_medium(until_ns.unwrap_or_default());
            if flash.sim.preempts_calls() && seen_at_ns.is_none() {
                space.blocks[block].erase_seen_at_ns = Some(flash.sim.now_ns());
                return Ok(EraseStep::Erased);
            }
            space.blocks.append(block, List::EraseComplete);
            space.trigger_gc_thread(flash);
        }
        Err(MtdError::PowerCut) => return Err(Errno::PowerCut),
        Err(_) => erase_failed(space, flash, block)?,
    }
    Ok(EraseStep::More)
}

/// The reason under which an erase is counted. The blocks of a new partition are erased and marked once before
/// their first use, which counts as formatting.
fn because_of_erase(space: &Space, flash: &Flash, block: u32, reason: &'static Reason) -> ReasonGuard {
    flash.sim.because(if space.blocks[block].is_blank { &causes::FORMATTING } else { reason })
}

/// Drops the node references of a block and takes its bytes out of the totals.
fn forget_block(space: &mut Space, number: u32) {
    for share in [Share::Used, Share::Dirty, Share::Wasted, Share::Free] {
        space.blocks.shift_all(number, share, Share::Erasing);
    }
    debug_assert_eq!(
        space.blocks[number].erasing_bytes(),
        space.blocks.block_bytes(),
        "block {number} holds unchecked nodes"
    );
    let mut id = space.blocks[number].first;
    while id != NONE {
        let next = space.refs[id].next_in_block;
        space.unchain(id);
        space.refs.release(id);
        id = next;
    }
    let b = &mut space.blocks[number];
    b.first = NONE;
    b.last = NONE;
    b.gc_node = NONE;
}

/// Handles a failed erase: the block is tried once more, and after that it is marked bad.
fn erase_failed(space: &mut Space, flash: &Flash, number: u32) -> Result<()> {
    let b = &mut space.blocks[number];
    b.erase_failures += 1;
    if b.erase_failures < ERASE_FAILURES_MAX {
        space.blocks.shift_all(number, Share::Erasing, Share::Dirty);
        space.blocks.prepend(number, List::ErasePending);
        return Ok(());
    }
    // Even if the bad block mark cannot be written, the block is not used any more until the next mount.
    if let Err(MtdError::PowerCut) = flash.mtd.mark_bad(u64::from(number * flash.block_bytes)) {
        return Err(Errno::PowerCut);
    }
    space.blocks.shift_all(number, Share::Erasing, Share::Bad);
    space.blocks.prepend(number, List::Bad);
    space.erasing_blocks -= 1;
    Ok(())
}
