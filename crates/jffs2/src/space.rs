//! Space for nodes: the block being written to, and the next one.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_do_reserve_space`, `jffs2_find_nextblock`, `jffs2_close_nextblock`). What a
//! program's write may use, and when it must collect garbage first, stands in `reserve.rs`.

use ffslab_fs::{BlockSpace, Errno, Result};

use crate::blocks::List;
use crate::format::pad;
use crate::ledger::Share;
use crate::refs::{NodeState, RefId};
use crate::store::{is_dirty, Store};
use crate::summary::{FRAME_BYTES, NO_SUMMARY};

/// Outcome of one attempt to find space.
pub enum Attempt {
    /// How many bytes can be written at [`Store::write_offset`].
    Space(u32),
    /// The write buffer was flushed: the caller tries again from the start.
    Again,
    /// A block must be erased first.
    Erase,
}

impl Store {
    /// Valid, obsolete and free bytes of each block. Nodes whose check sums were not checked yet count as valid.
    pub fn block_space(&self) -> Vec<BlockSpace> {
        let all = self.block_bytes;
        let of = |block| {
            let b = &self.blocks[block];
            match b.list() {
                List::Bad => BlockSpace::default(),
                List::ErasePending | List::Erasing | List::EraseChecking => {
                    BlockSpace { invalid_bytes: all, ..BlockSpace::default() }
                }
                List::EraseComplete | List::Free => BlockSpace { free_bytes: all, ..BlockSpace::default() },
                _ => BlockSpace {
                    valid_bytes: b.used_bytes() + b.unchecked_bytes(),
                    invalid_bytes: b.dirty_bytes() + b.wasted_bytes(),
                    free_bytes: b.free_bytes(),
                },
            }
        };
        (0..self.blocks.count()).map(of).collect()
    }

    /// Space for garbage collection, which may use the reserve (`jffs2_reserve_space_gc`). Returns how many bytes the
    /// block has left, at least `bytes`.
    pub fn reserve_for_gc(&mut self, bytes: u32, summary_bytes: u32) -> Result<u32> {
        loop {
            match self.try_reserve(pad(bytes), summary_bytes)? {
                Attempt::Space(space) => return Ok(space),
                Attempt::Again => {}
                Attempt::Erase => self.erase_one_now()?,
            }
        }
    }

    /// Tries once to find `bytes` of space, at the end of the current block or at the start of a new one.
    pub fn try_reserve(&mut self, bytes: u32, mut summary_bytes: u32) -> Result<Attempt> {
        loop {
            let mut kept_for_summary = 0;
            if self.summary.is_active() && summary_bytes != NO_SUMMARY {
                if let Some(block) = self.next_block {
                    let frame = pad(self.summary.bytes().wrapping_add(summary_bytes).wrapping_add(FRAME_BYTES));
                    kept_for_summary = frame;
                    if self.summary.is_disabled() || bytes + frame > self.blocks[block].free_bytes() {
                        if self.summary.is_disabled() {
                            summary_bytes = NO_SUMMARY;
                            continue;
                        }
                        self.write_summary()?;
                        if self.summary.is_disabled() {
                            summary_bytes = NO_SUMMARY;
                            continue;
                        }
                        self.close_next_block();
                        kept_for_summary = pad(summary_bytes + self.summary.bytes() + FRAME_BYTES);
                    }
                }
            } else if let Some(block) = self.next_block {
                let rest = self.blocks[block].free_bytes();
                if bytes > rest {
                    // The end of the block stays unused. The write buffer, which belongs to this block, is flushed
                    // first.
                    if self.wbuf.is_dirty() {
                        self.flush_wbuf_padded()?;
                        continue;
                    }
                    if rest > 0 {
                        self.waste_space(block, (block + 1) * self.block_bytes - rest, rest);
                    }
                    self.close_next_block();
                }
            }
            if self.next_block.is_none() {
                if let Some(otherwise) = self.take_next_block()? {
                    return Ok(otherwise);
                }
            }
            let Some(block) = self.next_block else { return Ok(Attempt::Again) };
            self.give_up_clean_marker(block);
            return Ok(Attempt::Space(self.blocks[block].free_bytes().saturating_sub(kept_for_summary)));
        }
    }

    /// Puts the block that was written to on its list.
    pub fn close_next_block(&mut self) {
        let Some(block) = self.next_block.take() else { return };
        let b = &self.blocks[block];
        if is_dirty(b.wasted_bytes() + b.dirty_bytes()) {
            self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
            let very = self.blocks[block].dirty_bytes() >= self.block_bytes / 2;
            self.blocks.append(block, if very { List::VeryDirty } else { List::Dirty });
        } else {
            self.blocks.append(block, List::Clean);
        }
    }

    /// Takes a free block for writing. If there is none, returns how the attempt to reserve ends.
    fn take_next_block(&mut self) -> Result<Option<Attempt>> {
        if let Some(block) = self.blocks.take_first(List::Free) {
            self.next_block = Some(block);
            self.summary.reset();
            if self.wbuf.bytes == 0 {
                self.wbuf.offset = crate::refs::NONE;
            }
            return Ok(None);
        }
        if self.erasing_blocks == 0 {
            if let Some(block) = self.blocks.take_first(List::Erasable) {
                self.blocks.append(block, List::ErasePending);
                self.erasing_blocks += 1;
                self.trigger_gc_thread();
            }
        }
        if self.erasing_blocks == 0 && self.flush_makes_erasable() {
            self.flush_wbuf_padded()?;
            return Ok(Some(Attempt::Again));
        }
        if self.erasing_blocks == 0 {
            return Err(Errno::NoSpc);
        }
        Ok(Some(Attempt::Erase))
    }

    /// Whether a flush of the write buffer lets blocks be erased. Blocks wait for the buffer also while a recovery
    /// moves its content to a new block; the buffer is empty then, and a flush does not help.
    pub fn flush_makes_erasable(&self) -> bool {
        self.wbuf.is_dirty() && !self.blocks.is_empty(List::ErasablePendingWbuf)
    }

    /// Registers a node that was written at the end of the current block (`jffs2_add_physical_node_ref`).
    pub fn add_node(&mut self, offset: u32, state: NodeState, bytes: u32, ino: u32) -> Result<RefId> {
        let id = self.link_node(offset, state, bytes, ino);
        let block = self.block_of(offset);
        let b = &self.blocks[block];
        if b.free_bytes() == 0 && b.dirty_bytes() == 0 && !is_dirty(b.wasted_bytes()) && self.next_block == Some(block)
        {
            // The block is full and clean, so nothing more is written to it.
            if self.wbuf.is_dirty() {
                self.flush_wbuf_padded()?;
            }
            self.blocks.append(block, List::Clean);
            self.next_block = None;
        }
        Ok(id)
    }
}
