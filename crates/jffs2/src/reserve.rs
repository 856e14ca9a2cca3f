//! Space for a program's write. When free space is below the reserve, the writing task collects garbage itself.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_reserve_space`).

use crate::causes;
use ffslab_fs::{Errno, Host, Result};

use crate::format::pad;
use crate::gc::PassEnd;
use crate::room::Attempt;
use crate::Jffs2;

/// For what the space is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Write,
    /// A deletion frees space in the end, so it may use more of the reserve.
    Deletion,
}

impl Jffs2 {
    /// Reserves space for a node of at least `bytes`, collecting garbage and erasing blocks if necessary. Returns how
    /// many bytes the block has left. `NoSpc`: garbage collection cannot free enough.
    pub(crate) fn reserve(
        &mut self,
        host: &mut dyn Host,
        bytes: u32,
        purpose: Purpose,
        summary_bytes: u32,
    ) -> Result<u32> {
        let space = self.find_space(host, bytes, purpose, summary_bytes);
        if space.is_err() {
            self.release_allocation();
        }
        space
    }

    fn find_space(&mut self, host: &mut dyn Host, bytes: u32, purpose: Purpose, summary_bytes: u32) -> Result<u32> {
        loop {
            self.take_allocation(host);
            while self.below_reserve(purpose)? {
                match self.gc_pass(host, &causes::CALLER)? {
                    PassEnd::Stuck => self.finish_other_erases(host),
                    PassEnd::Done | PassEnd::Yielded => {}
                }
                self.take_turns(host);
                self.hold_allocation(host);
            }
            match self.store.try_reserve(pad(bytes), summary_bytes)? {
                Attempt::Space(space) => return Ok(space),
                Attempt::Again => {}
                Attempt::Erase => self.erase_in_need(host)?,
            }
        }
    }

    /// Whether garbage must be collected before the write.
    fn below_reserve(&self, purpose: Purpose) -> Result<bool> {
        let store = &self.store;
        let levels = &store.space.levels;
        let at_hand = store.space.free_blocks() + store.space.erasing_blocks;
        if at_hand >= levels.reserved_for_write_blocks {
            return Ok(false);
        }
        let totals = store.space.blocks.totals();
        let collectable = store.space.collectable_bytes() + totals.unchecked_bytes();
        let available = totals.free_bytes() + totals.dirty_bytes() + totals.erasing_bytes() + totals.unchecked_bytes();
        if collectable < levels.no_space_dirty_bytes
            || available / store.flash.block_bytes <= levels.reserved_for_write_blocks
        {
            if purpose == Purpose::Deletion && at_hand >= levels.reserved_for_deletion_blocks {
                return Ok(false);
            }
            return Err(Errno::NoSpc);
        }
        Ok(true)
    }

    /// Lets the other tasks finish the erases that they have begun, because nothing can be collected before that.
    fn finish_other_erases(&mut self, host: &mut dyn Host) {
        for task in [&causes::GC_THREAD, &causes::KWORKER] {
            if self.has_job(task) {
                self.give_turn(host, task);
            }
        }
    }

    /// Ends a reservation after the write: the thread is woken if there is work for it (`jffs2_complete_reservation`).
    pub(crate) fn complete_reservation(&mut self) {
        self.store.space.trigger_gc_thread(&self.store.flash);
        self.give_allocation();
    }
}
