//! The page that waits goes out. If it cannot be programmed, the nodes in it move to another block.
//!
//! Follows `fs/jffs2/wbuf.c` (`__jffs2_flush_wbuf`, `jffs2_wbuf_recover`). A flush pads the page with a padding node;
//! `fsync` avoids that by letting garbage collection fill the page (see `tasks.rs`).

use ffslab_fs::{Errno, Result};
use ffslab_mtd::MtdError;
use ffslab_sim::Work;

use crate::allocate::Next;
use crate::causes;
use crate::flash::errno;
use crate::format::{encode_padding, pad, HEADER_BYTES};
use crate::ledger::Share;
use crate::refs::{NodeState, RefId, NONE};
use crate::space::Space;
use crate::store::Store;

/// How the rest of the page is filled when it is flushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The page is full already.
    Full,
    /// A padding node fills it.
    Pad,
}

impl Store {
    /// Writes the page that waits. If the program operation fails, the nodes in the page are moved to another block.
    /// The error is returned nevertheless, and the caller then tries once more with the content that the recovery left
    /// in the buffer.
    pub fn flush_page(&mut self, fill: Fill) -> Result<()> {
        let Store { flash, space, .. } = self;
        if flash.wbuf.bytes == 0 {
            return Ok(());
        }
        let block = space.blocks.of(flash.wbuf.offset);
        if fill == Fill::Pad {
            flash.wbuf.bytes = pad(flash.wbuf.bytes);
            let at = flash.wbuf.bytes as usize;
            flash.wbuf.page[at..].fill(0);
            let rest = flash.page_bytes - flash.wbuf.bytes;
            if flash.wbuf.bytes + HEADER_BYTES < flash.page_bytes {
                let padding = encode_padding(flash.endian, rest);
                flash.wbuf.page[at..at + padding.len()].copy_from_slice(&padding);
                space.summary.add_padding(rest);
            }
        }
        flash.sim.work(Work::BufferFlush, flash.page_bytes as usize);
        let programmed = {
            let _of_setup = flash.sim.because_left(std::mem::replace(&mut flash.wbuf.changed_in, flash.sim.phase()));
            let _why = (fill == Fill::Pad).then(|| flash.sim.because(&causes::PADDING));
            flash.mtd.write(u64::from(flash.wbuf.offset), &flash.wbuf.page)
        };
        if let Err(error) = programmed {
            if error != MtdError::PowerCut {
                self.recover_wbuf()?;
            }
            return Err(errno(&error));
        }
        if fill == Fill::Pad {
            let waste = flash.page_bytes - flash.wbuf.bytes;
            if waste > 0 {
                space.waste_space(block, flash.wbuf.offset + flash.wbuf.bytes, waste);
            }
        }
        // The buffer is empty now, so the blocks that waited for it can be erased.
        flash.wbuf.written();
        space.refile_wbuf_blocks(flash);
        Ok(())
    }

    /// Pads and writes the page that waits (`jffs2_flush_wbuf_pad`).
    pub fn flush_wbuf_padded(&mut self) -> Result<()> {
        match self.flush_page(Fill::Pad) {
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            // The recovery may have put the nodes into the buffer for another block, so the flush is tried once more.
            Err(_) => self.flush_page(Fill::Pad),
            Ok(()) => Ok(()),
        }
    }

    /// Moves the nodes of a page that could not be programmed to a new block, including nodes that are only partly in
    /// the page (`jffs2_wbuf_recover`).
    fn recover_wbuf(&mut self) -> Result<()> {
        let _why = self.flash.sim.because(&causes::RECOVERY);
        let Store { flash, space, .. } = self;
        let number = space.blocks.of(flash.wbuf.offset);
        space.retire_block(flash, number);
        let moving = space.nodes_behind(number, flash.wbuf.offset);
        let (Some(&first), Some(&last)) = (moving.first(), moving.last()) else {
            flash.wbuf.bytes = 0;
            return Ok(());
        };
        let start = space.refs[first].offset();
        let end = space.refs[last].offset() + space.ref_bytes(last);
        let data = self.buffered_bytes(start, end)?;

        let flash = &mut self.flash;
        flash.wbuf.bytes = 0;
        flash.wbuf.offset = NONE;
        self.reserve_unbuffered(end - start)?;
        let Store { flash, space, .. } = self;
        space.summary.disable();
        let to = space.write_offset();
        flash.wbuf.offset = to - to % flash.page_bytes;
        let whole = data.len() - data.len() % flash.page_bytes as usize;
        if whole > 0 {
            if let Err(error) = flash.mtd.write(u64::from(to), &data[..whole]) {
                let target = space.blocks.of(to);
                space.retire_block(flash, target);
                return Err(errno(&error));
            }
        }
        flash.wbuf.offset = to + whole as u32;
        flash.wbuf.bytes = (data.len() - whole) as u32;
        flash.wbuf.page[..data.len() - whole].copy_from_slice(&data[whole..]);

        // The nodes keep their distances: obsolete bytes between two of them were copied as well and count as wasted.
        let target = space.blocks.of(to);
        let mut at = to;
        for id in moving {
            let place = to + (space.refs[id].offset() - start);
            if place > at {
                space.waste_space(target, at, place - at);
            }
            at = place + space.move_ref(id, place);
        }
        if space.blocks[number].used_bytes() == 0 && space.blocks[number].unchecked_bytes() == 0 {
            space.queue_at_end(flash, number);
        }
        Ok(())
    }

    /// Bytes `start .. end` of the block to which the write buffer belongs. The part that is on flash already is read
    /// back, the rest comes from the buffer.
    fn buffered_bytes(&self, start: u32, end: u32) -> Result<Vec<u8>> {
        let flash = &self.flash;
        let (bad_offset, buffered) = (flash.wbuf.offset, flash.wbuf.bytes);
        let mut data = vec![0u8; (end - start) as usize];
        let on_flash = bad_offset.saturating_sub(start).min(end - start) as usize;
        if on_flash > 0 {
            match flash.mtd.read(u64::from(start), &mut data[..on_flash]) {
                Ok(_) | Err(MtdError::Uncorrectable) => {}
                Err(error) => return Err(errno(&error)),
            }
        }
        let skip = start.saturating_sub(bad_offset) as usize;
        let held = (buffered as usize).saturating_sub(skip).min(data.len() - on_flash);
        data[on_flash..on_flash + held].copy_from_slice(&flash.wbuf.page[skip..skip + held]);
        Ok(data)
    }

    /// Makes room for `bytes` bytes while the write buffer is empty, so that nothing has to be flushed for it. Nodes that
    /// move from a page that could not be programmed get no entries in a summary.
    fn reserve_unbuffered(&mut self, bytes: u32) -> Result<()> {
        let Store { flash, space, eraser, .. } = self;
        debug_assert!(!flash.wbuf.is_dirty());
        loop {
            if let Some(block) = space.next_block {
                if pad(bytes) <= space.blocks[block].free_bytes() {
                    return Ok(());
                }
                space.waste_rest_of_block(block);
            }
            match space.take_next_block(flash)? {
                Next::Taken => return Ok(()),
                Next::Erase => eraser.erase_one(space, flash)?,
                Next::Flush => return Err(Errno::NoSpc),
            }
        }
    }
}

impl Space {
    /// The nodes of a block that are needed and end behind `offset`.
    fn nodes_behind(&self, number: u32, offset: u32) -> Vec<RefId> {
        let mut found = Vec::new();
        let mut id = self.blocks[number].first;
        while id != NONE {
            let node = self.refs[id];
            if !node.is_obsolete() && node.offset() + self.ref_bytes(id) > offset {
                found.push(id);
            }
            id = node.next_in_block;
        }
        found
    }

    /// Moves a node to `to`, the start of the free space of the block that is written to. The reference keeps its
    /// number, so inodes in memory stay valid; a new, obsolete reference takes its old place.
    fn move_ref(&mut self, id: RefId, to: u32) -> u32 {
        let bytes = self.ref_bytes(id);
        let old = self.refs[id];
        let number = self.blocks.of(old.offset());
        let stand_in = self.refs.allocate(old.offset(), NodeState::Obsolete);
        self.refs[stand_in].next_in_block = old.next_in_block;
        if self.blocks[number].first == id {
            self.blocks[number].first = stand_in;
        } else {
            let mut before = self.blocks[number].first;
            while self.refs[before].next_in_block != id {
                before = self.refs[before].next_in_block;
            }
            self.refs[before].next_in_block = stand_in;
        }
        if self.blocks[number].last == id {
            self.blocks[number].last = stand_in;
        }
        self.blocks.shift(number, Share::Used, Share::Dirty, bytes);
        let owner = old.owner;
        self.unchain_from_inode(id);
        self.refs.relocate(id, to, old.state());
        self.link_existing(id, bytes, owner);
        bytes
    }
}
