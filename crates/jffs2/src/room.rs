//! Room for nodes: where the next one goes, and what must happen first.
//!
//! Follows `fs/jffs2/nodemgmt.c` (`jffs2_do_reserve_space`, `jffs2_reserve_space_gc`, `jffs2_add_physical_node_ref`). What a
//! program's write may use, and when it must collect garbage first, stands in `reserve.rs`.

use ffslab_fs::Result;

use crate::allocate::Next;
use crate::blocks::List;
use crate::format::pad;
use crate::refs::{NodeState, RefId};
use crate::space::is_dirty;
use crate::store::Store;
use crate::summary::{FRAME_BYTES, NO_SUMMARY};

/// Outcome of one attempt to find space.
pub enum Attempt {
    /// How many bytes can be written at [`crate::space::Space::write_offset`].
    Space(u32),
    /// The write buffer was flushed: the caller tries again from the start.
    Again,
    /// A block must be erased first.
    Erase,
}

impl Store {
    /// Space for garbage collection, which may use the reserve (`jffs2_reserve_space_gc`). Returns how many bytes the
    /// block has left, at least `bytes`.
    pub fn reserve_for_gc(&mut self, bytes: u32, summary_bytes: u32) -> Result<u32> {
        loop {
            match self.try_reserve(pad(bytes), summary_bytes)? {
                Attempt::Space(space) => return Ok(space),
                Attempt::Again => {}
                Attempt::Erase => self.eraser.erase_one(&mut self.space, &self.flash)?,
            }
        }
    }

    /// Tries once to find `bytes` of space, at the end of the current block or at the start of a new one.
    pub fn try_reserve(&mut self, bytes: u32, mut summary_bytes: u32) -> Result<Attempt> {
        loop {
            let mut kept_for_summary = 0;
            if self.space.summary.is_active() && summary_bytes != NO_SUMMARY {
                if let Some(block) = self.space.next_block {
                    let summary = &self.space.summary;
                    let frame = pad(summary.bytes().wrapping_add(summary_bytes).wrapping_add(FRAME_BYTES));
                    kept_for_summary = frame;
                    if summary.is_disabled() || bytes + frame > self.space.blocks[block].free_bytes() {
                        if summary.is_disabled() {
                            summary_bytes = NO_SUMMARY;
                            continue;
                        }
                        self.write_summary()?;
                        if self.space.summary.is_disabled() {
                            summary_bytes = NO_SUMMARY;
                            continue;
                        }
                        self.space.close_next_block();
                        kept_for_summary = pad(summary_bytes + self.space.summary.bytes() + FRAME_BYTES);
                    }
                }
            } else if let Some(block) = self.space.next_block {
                if bytes > self.space.blocks[block].free_bytes() {
                    // The end of the block stays unused. The write buffer, which belongs to this block, is flushed
                    // first.
                    if self.flash.wbuf.is_dirty() {
                        self.flush_wbuf_padded()?;
                        continue;
                    }
                    self.space.waste_rest_of_block(block);
                }
            }
            if self.space.next_block.is_none() {
                match self.space.take_next_block(&self.flash)? {
                    Next::Taken => self.flash.wbuf.forget_place(),
                    Next::Flush => {
                        self.flush_wbuf_padded()?;
                        return Ok(Attempt::Again);
                    }
                    Next::Erase => return Ok(Attempt::Erase),
                }
            }
            let Some(block) = self.space.next_block else { return Ok(Attempt::Again) };
            self.space.give_up_clean_marker(&self.flash, block);
            return Ok(Attempt::Space(self.space.blocks[block].free_bytes().saturating_sub(kept_for_summary)));
        }
    }

    /// Registers a node that was written at the end of the current block (`jffs2_add_physical_node_ref`).
    pub fn add_node(&mut self, offset: u32, state: NodeState, bytes: u32, ino: u32) -> Result<RefId> {
        let space = &mut self.space;
        let id = space.link_node(offset, state, bytes, ino);
        let block = space.blocks.of(offset);
        let b = &space.blocks[block];
        if b.free_bytes() == 0 && b.dirty_bytes() == 0 && !is_dirty(b.wasted_bytes()) && space.next_block == Some(block)
        {
            // The block is full and clean, so nothing more is written to it.
            if self.flash.wbuf.is_dirty() {
                self.flush_wbuf_padded()?;
            }
            self.space.blocks.append(block, List::Clean);
            self.space.next_block = None;
        }
        Ok(id)
    }
}
