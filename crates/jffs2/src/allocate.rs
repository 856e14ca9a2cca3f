//! The block that is written to, and the next one.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_find_nextblock`, `jffs2_close_nextblock`).

use ffslab_fs::{Errno, Result};

use crate::blocks::List;
use crate::flash::Flash;
use crate::ledger::Share;
use crate::space::{is_dirty, Space};

/// What must happen before the next block can be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing: a free block was taken.
    Taken,
    /// The write buffer must be flushed, because blocks wait for it.
    Flush,
    /// A block must be erased first.
    Erase,
}

impl Space {
    /// Puts the block that was written to on its list.
    pub fn close_next_block(&mut self) {
        let Some(block) = self.next_block.take() else { return };
        let b = &self.blocks[block];
        if is_dirty(b.wasted_bytes() + b.dirty_bytes()) {
            self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
            let very = self.blocks[block].dirty_bytes() >= self.blocks.block_bytes() / 2;
            self.blocks.append(block, if very { List::VeryDirty } else { List::Dirty });
        } else {
            self.blocks.append(block, List::Clean);
        }
    }

    /// Gives up the end of the block that is written to, because the next node does not fit, and closes the block.
    pub fn waste_rest_of_block(&mut self, block: u32) {
        let rest = self.blocks[block].free_bytes();
        if rest > 0 {
            self.waste_space(block, self.blocks.free_from(block), rest);
        }
        self.close_next_block();
    }

    /// Takes a free block for writing, or says what must happen before there is one.
    pub fn take_next_block(&mut self, flash: &Flash) -> Result<Next> {
        if let Some(block) = self.blocks.take_first(List::Free) {
            self.next_block = Some(block);
            self.blocks.opens(block);
            self.summary.reset();
            return Ok(Next::Taken);
        }
        if self.erasing_blocks == 0 {
            if let Some(block) = self.blocks.take_first(List::Erasable) {
                self.queue_at_end(flash, block);
            }
        }
        match self.erasing_blocks {
            0 if self.flush_makes_erasable(flash) => Ok(Next::Flush),
            0 => Err(Errno::NoSpc),
            _ => Ok(Next::Erase),
        }
    }

    /// Whether a flush of the write buffer lets blocks be erased. Blocks wait for the buffer also while a recovery
    /// moves its content to a new block; the buffer is empty then, and a flush does not help.
    pub fn flush_makes_erasable(&self, flash: &Flash) -> bool {
        flash.wbuf.is_dirty() && !self.blocks.is_empty(List::ErasablePendingWbuf)
    }

    /// Ends the use of a block of which a page could not be programmed (`jffs2_block_refile`).
    pub fn retire_block(&mut self, flash: &Flash, number: u32) {
        if self.next_block == Some(number) {
            self.next_block = None;
        }
        if self.blocks[number].first != crate::refs::NONE {
            self.blocks.prepend(number, List::BadUsed);
        } else {
            self.blocks.prepend(number, List::ErasePending);
            self.erasing_blocks += 1;
            self.trigger_gc_thread(flash);
        }
        let rest = self.blocks[number].free_bytes();
        if rest > 0 {
            self.waste_space(number, self.blocks.free_from(number), rest);
        }
    }
}
