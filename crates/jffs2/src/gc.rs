//! Garbage collection, one pass: check an inode, or erase a block, or move one node.
//!
//! Follows `fs/jffs2/gc.c`. How a node is moved stands in `gc_move.rs`.

use crate::causes;
use ffslab_fs::{Errno, Host, Result};
use ffslab_sim::Task;

use crate::blocks::List;
use crate::damage::{Damage, Flaw, Place};
use crate::erase::EraseStep;
use crate::ledger::Share;
use crate::lot::LOT_OF_CLEAN;
use crate::readinode::check_inode;
use crate::refs::{NodeState, RefId, NONE};
use crate::space::InodeState;
use crate::store::Store;
use crate::Jffs2;

/// How a pass ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassEnd {
    Done,
    /// The pass is in the middle of an erase, which the task continues at its next turn.
    Yielded,
    /// No block can be collected before an erase that another task has begun is complete.
    Stuck,
}

/// Said of a run in which another lot would have drawn another block.
const DRAWN: &str =
    "JFFS2 drew blocks to collect by the tick counter (jiffies % 128), so from another uptime the same calls cost \
                     something else: the key repeat, or --repeat 8, shows how much";
/// The lists between which the lot decides.
const DRAWN_FROM: [List; 4] = [List::Erasable, List::VeryDirty, List::Dirty, List::Clean];

impl Jffs2 {
    /// One pass on behalf of `task`.
    pub(crate) fn gc_pass(&mut self, host: &mut dyn Host, task: &'static Task) -> Result<PassEnd> {
        if !self.has_job(task) {
            self.take_allocation(host);
            self.store.flash.sim.work_of_pass(|| self.has_work_for_pass());
            if self.store.space.blocks.totals().unchecked_bytes() != 0 && self.check_next_inode()? {
                self.release_allocation();
                return Ok(PassEnd::Done);
            }
            if self.store.space.blocks.is_empty(List::EraseComplete)
                && self.store.space.blocks.is_empty(List::ErasePending)
            {
                let moved = self.move_one_node(host);
                self.give_allocation();
                return moved;
            }
            self.release_allocation();
        }
        match self.erase_with_turns(host, task)? {
            Some(EraseStep::Done) => Ok(PassEnd::Done),
            Some(_) => self.move_one_node(host),
            None => Ok(PassEnd::Yielded),
        }
    }

    /// Whether a pass that begins now finds something to check, to erase or to move.
    fn has_work_for_pass(&self) -> bool {
        const TO_COLLECT_OR_ERASE: [List; 7] = [
            List::EraseComplete,
            List::ErasePending,
            List::BadUsed,
            List::Erasable,
            List::VeryDirty,
            List::Dirty,
            List::Clean,
        ];
        let space = &self.store.space;
        space.gc_block.is_some()
            || space.blocks.totals().unchecked_bytes() != 0
            || TO_COLLECT_OR_ERASE.iter().any(|&list| !space.blocks.is_empty(list))
            || space.flush_makes_erasable(&self.store.flash)
    }

    /// Completes one erase. The allocation semaphore is free meanwhile, and other tasks get their turns between the
    /// steps. `None`: this task itself must give way.
    fn erase_with_turns(&mut self, host: &mut dyn Host, task: &'static Task) -> Result<Option<EraseStep>> {
        let mut job = self.job_of(task).and_then(Option::take);
        let may_sleep = self.may_sleep(task);
        loop {
            let step = self.store.eraser.step(&mut self.store.space, &self.store.flash, &mut job, may_sleep)?;
            match step {
                EraseStep::Sleeps { until_ns } => {
                    if let Some(kept) = self.job_of(task) {
                        *kept = job;
                    }
                    self.store.flash.sim.sleep_until(task, until_ns);
                    return Ok(None);
                }
                EraseStep::Begun => {
                    self.sleep_without_allocation(host);
                    continue;
                }
                // A task that has slept during an erase continues with the block that the chip has erased.
                EraseStep::More if job.is_none() && self.sleeps() => {
                    job = crate::erase::take_erased(&mut self.store.space)
                }
                EraseStep::Erased | EraseStep::More => {}
                EraseStep::Done | EraseStep::Nothing => return Ok(Some(step)),
            }
            if self.take_turns(host) {
                if let Some(kept) = self.job_of(task) {
                    *kept = job;
                }
                return Ok(None);
            }
        }
    }

    /// Checks the nodes of one inode that was found by the mount scan, and before the first one the extended attributes.
    /// `false`: nothing was left to check but those.
    fn check_next_inode(&mut self) -> Result<bool> {
        self.store.space.check_data(&self.store.flash)?;
        while let Some(&ino) = self.to_check.get(self.checked) {
            self.checked += 1;
            let Some(cache) = self.store.space.inode_caches.get(&ino) else { continue };
            if cache.links_or_parent == 0 {
                self.store.space.xattrs.delete_inode(ino);
                continue;
            }
            if cache.state != InodeState::Unchecked {
                continue;
            }
            check_inode(&mut self.store.space, &self.store.flash, &mut self.store.reader, ino)?;
            self.check_xattrs_of(ino)?;
            return Ok(true);
        }
        if self.store.space.blocks.totals().unchecked_bytes() == 0 {
            return Ok(false);
        }
        // Only on a damaged medium do unchecked nodes belong to no inode.
        let blocks = &self.store.space.blocks;
        let block = (0..blocks.count()).find(|&block| blocks[block].unchecked_bytes() != 0);
        let flaw = Flaw::Unowned { bytes: blocks.totals().unchecked_bytes() };
        self.store.reader.damage =
            Some(Damage { flaw, ino: None, place: block.map(|block| Place { block, offset: 0 }) });
        Err(Errno::NoSpc)
    }

    /// Chooses the block to empty by the policy, if there is one, else by the tick counter (`jffs2_find_gc_block`).
    fn choose_victim(&mut self) -> Result<Option<u32>> {
        if let Some(block) = self.victim_by_policy() {
            self.store.space.blocks.take(block);
            return Ok(Some(self.begin_to_collect(block)));
        }
        loop {
            let lot = self.lot.draw(self.store.flash.jiffies(), self.store.flash.sim.now_ns());
            let blocks = &self.store.space.blocks;
            let has = |list| !blocks.is_empty(list);
            let list = if has(List::BadUsed) && self.store.space.free_blocks() > 0 {
                List::BadUsed
            } else if lot < 50 && has(List::Erasable) {
                List::Erasable
            } else if lot < 110 && has(List::VeryDirty) {
                List::VeryDirty
            } else if lot < LOT_OF_CLEAN && has(List::Dirty) {
                List::Dirty
            } else if has(List::Clean) {
                List::Clean
            } else if has(List::Dirty) {
                List::Dirty
            } else if has(List::VeryDirty) {
                List::VeryDirty
            } else if has(List::Erasable) {
                List::Erasable
            } else if self.store.space.flush_makes_erasable(&self.store.flash) {
                self.store.flush_wbuf_padded()?;
                continue;
            } else {
                return Ok(None);
            };
            if list != List::BadUsed && DRAWN_FROM.iter().filter(|&&list| has(list)).count() > 1 {
                self.store.flash.sim.tell(DRAWN);
            }
            let Some(block) = self.store.space.blocks.take_first(list) else { return Ok(None) };
            return Ok(Some(self.begin_to_collect(block)));
        }
    }

    /// The block, which is on no list any more, is the one that is collected.
    fn begin_to_collect(&mut self, block: u32) -> u32 {
        let space = &mut self.store.space;
        space.gc_block = Some(block);
        space.blocks[block].gc_node = space.blocks[block].first;
        space.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        block
    }

    fn move_one_node(&mut self, host: &mut dyn Host) -> Result<PassEnd> {
        let _why = self.store.flash.sim.because(&causes::GC_COPY);
        let block = match self.store.space.gc_block {
            Some(block) => block,
            None => match self.choose_victim()? {
                Some(block) => block,
                None if self.store.space.erasing_blocks > 0 => return Ok(PassEnd::Stuck),
                None => return Err(Errno::Io),
            },
        };
        let mut result = Ok(());
        if self.store.space.blocks[block].used_bytes() != 0 {
            let mut id = self.store.space.blocks[block].gc_node;
            while id != NONE && self.store.space.refs[id].is_obsolete() {
                id = self.store.space.refs[id].next_in_block;
            }
            self.store.space.blocks[block].gc_node = id;
            debug_assert_ne!(id, NONE, "block {block} has bytes in use and no node");
            if id == NONE {
                return Err(Errno::Io);
            }
            let dirty_before = self.store.space.blocks[block].dirty_bytes();
            result = self.collect_node(host, block, id);
            let stuck = self.store.space.gc_block == Some(block)
                && self.store.space.blocks[block].dirty_bytes() == dirty_before
                && !self.store.space.refs[id].is_obsolete();
            if result.is_ok() && stuck {
                result = Err(Errno::NoSpc);
            }
        }
        let Store { space, flash, .. } = &mut self.store;
        if let Some(victim) = space.gc_block {
            if space.blocks[victim].used_bytes() == 0 {
                space.gc_block = None;
                space.queue_at_end(flash, victim);
            }
        }
        result.map(|()| PassEnd::Done)
    }

    fn collect_node(&mut self, host: &mut dyn Host, block: u32, id: RefId) -> Result<()> {
        let node = self.store.space.refs[id];
        let pristine = node.state() == NodeState::Pristine;
        if let Some(owner) = node.xattr_owner() {
            self.store.collect_xattr_node(id, owner)
        } else if node.owner == 0 {
            if pristine {
                self.store.copy_node(id).map(|_| ())
            } else {
                self.store.space.mark_obsolete(&self.store.flash, id);
                Ok(())
            }
        } else {
            let cache = self.store.space.inode_caches.get(&node.owner).copied();
            let Some(cache) = cache else {
                self.store.space.mark_obsolete(&self.store.flash, id);
                return Ok(());
            };
            if cache.state == InodeState::CheckedAbsent && pristine && self.store.copy_node(id)? {
                return Ok(());
            }
            if cache.links_or_parent == 0 && cache.state != InodeState::Present {
                // The inode is deleted and nobody uses it any more, so none of its nodes is needed.
                self.store.space.mark_obsolete(&self.store.flash, id);
                return Ok(());
            }
            self.take_inode(node.owner)?;
            let collected = self.collect_live(host, block, id, node.owner);
            self.release_inode(node.owner);
            collected
        }
    }
}
