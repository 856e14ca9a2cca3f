//! The write buffer. Flash is programmed in whole pages, while nodes end anywhere in a page.
//!
//! Follows `fs/jffs2/wbuf.c`. Full pages go out as soon as they are complete, the rest waits. A flush pads the page
//! with a padding node; `fsync` avoids that by letting garbage collection fill the page (see `gc.rs`).

use crate::causes;
use ffslab_fs::{Errno, Result};
use ffslab_mtd::MtdError;
use ffslab_sim::Work;

use crate::blocks::List;
use crate::format::{encode_padding, pad, HEADER_BYTES};
use crate::ledger::Share;
use crate::refs::{NodeState, RefId, NONE};
use crate::store::{errno, Store};

/// The page that waits to be written. `offset` is [`NONE`] when it has no place on flash yet.
pub struct WriteBuffer {
    pub page: Box<[u8]>,
    pub offset: u32,
    pub bytes: u32,
    /// Inodes that have data in the buffer (written by programs, not by garbage collection).
    inodes: Vec<u32>,
    /// Everything in the buffer was left by the setup of an experiment.
    pub is_of_setup: bool,
    /// The time in ns at which the buffer is written although nobody has asked for it.
    pub timer_at_ns: Option<u64>,
}

impl WriteBuffer {
    pub fn new(page_bytes: u32) -> Self {
        WriteBuffer {
            page: vec![0xFF; page_bytes as usize].into_boxed_slice(),
            offset: NONE,
            bytes: 0,
            inodes: Vec::new(),
            is_of_setup: false,
            timer_at_ns: None,
        }
    }

    pub fn is_dirty(&self) -> bool {
        self.bytes != 0
    }

    /// Whether `ino` (0: any inode) has data in the buffer.
    pub fn holds_inode(&self, ino: u32) -> bool {
        if ino == 0 {
            !self.inodes.is_empty()
        } else {
            self.inodes.contains(&ino)
        }
    }

    /// Replaces those bytes of `data`, which were read from flash at `offset`, that the buffer holds in a newer
    /// version.
    pub fn overlay(&self, offset: u32, block_bytes: u32, data: &mut [u8]) {
        if self.bytes == 0 || self.offset == NONE || offset / block_bytes != self.offset / block_bytes {
            return;
        }
        let (start, end) = (self.offset, self.offset + self.bytes);
        let from = offset.max(start);
        let to = (offset + data.len() as u32).min(end);
        if from < to {
            data[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&self.page[(from - start) as usize..(to - start) as usize]);
        }
    }

    /// Fills the buffer with 0xFF up to byte `to`, so that the cells there stay erased. Behind its end the buffer holds
    /// old bytes.
    fn skip_to(&mut self, to: u32) {
        if let Some(skipped) = self.page.get_mut(self.bytes as usize..to as usize) {
            skipped.fill(0xFF);
        }
        self.bytes = to;
    }

    /// Appends as much of `data` as fits. Returns 0 if `data` begins with a whole page for an empty buffer, which the
    /// caller writes directly.
    fn fill(&mut self, data: &[u8]) -> usize {
        let page_bytes = self.page.len();
        if !data.is_empty() && self.bytes == 0 && data.len() >= page_bytes {
            return 0;
        }
        let bytes = data.len().min(page_bytes - self.bytes as usize);
        let at = self.bytes as usize;
        self.page[at..at + bytes].copy_from_slice(&data[..bytes]);
        self.bytes += bytes as u32;
        bytes
    }
}

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
    fn flush_page(&mut self, fill: Fill) -> Result<()> {
        if self.wbuf.bytes == 0 {
            return Ok(());
        }
        let block = self.block_of(self.wbuf.offset);
        if fill == Fill::Pad {
            self.wbuf.bytes = pad(self.wbuf.bytes);
            let at = self.wbuf.bytes as usize;
            self.wbuf.page[at..].fill(0);
            let rest = self.page_bytes - self.wbuf.bytes;
            if self.wbuf.bytes + HEADER_BYTES < self.page_bytes {
                let padding = encode_padding(self.endian, rest);
                self.wbuf.page[at..at + padding.len()].copy_from_slice(&padding);
                self.summary.add_padding(rest);
            }
        }
        self.sim.work(Work::BufferFlush, self.page_bytes as usize);
        let programmed = {
            let _of_setup = self.sim.because_of_setup_if(std::mem::take(&mut self.wbuf.is_of_setup));
            let _why = (fill == Fill::Pad).then(|| self.sim.because(&causes::PADDING));
            self.mtd.write(u64::from(self.wbuf.offset), &self.wbuf.page)
        };
        if let Err(error) = programmed {
            if error != MtdError::PowerCut {
                self.recover_wbuf()?;
            }
            return Err(errno(&error));
        }
        if fill == Fill::Pad {
            let waste = self.page_bytes - self.wbuf.bytes;
            let offset = self.wbuf.offset + self.wbuf.bytes;
            if waste > 0 {
                self.waste_space(block, offset, waste);
            }
        }
        // The buffer is empty now, so the blocks that waited for it can be erased.
        self.wbuf.offset += self.page_bytes;
        self.wbuf.bytes = 0;
        self.wbuf.inodes.clear();
        self.refile_wbuf_blocks();
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

    /// Writes the parts of one node at `to`, which is the end of the last node (`jffs2_flash_writev`). `ino` is the
    /// inode for which the node is written; 0 for garbage collection.
    pub fn flash_write(&mut self, to: u32, parts: [&[u8]; 2], ino: u32) -> Result<()> {
        if !self.manner.buffers_pages {
            return self.write_directly(to, parts);
        }
        let page = self.page_bytes;
        // The number of bytes in a page is a power of two.
        let column = to & (page - 1);
        if self.wbuf.offset == NONE {
            self.wbuf.offset = to - column;
            self.wbuf.skip_to(column);
        }
        if self.block_of(to) != self.block_of(self.wbuf.offset) {
            if self.wbuf.bytes != 0 {
                self.flush_page(Fill::Pad)?;
            }
            self.wbuf.offset = to - column;
            self.wbuf.bytes = 0;
            self.wbuf.skip_to(column);
        }
        // A page to which a measured program adds data would be written for that program in any case.
        self.wbuf.is_of_setup &= self.sim.is_for_setup();
        // The last node may have ended up to three bytes before `to`, because nodes are aligned to 4 bytes.
        if self.wbuf.bytes != column {
            self.wbuf.skip_to(if column == 0 { page } else { column });
            if self.wbuf.bytes == page {
                self.flush_page(Fill::Full)?;
            }
        }
        let mut at = to;
        for part in parts {
            at += self.write_part(at, part)?;
        }
        if self.summary.is_active() {
            self.summary.add_node(self.endian, parts, to % self.block_bytes);
        }
        if self.wbuf.bytes != 0 && ino != 0 {
            self.arm_wbuf_timer();
            if !self.wbuf.holds_inode(ino) {
                self.wbuf.inodes.push(ino);
            }
        }
        Ok(())
    }

    fn write_part(&mut self, at: u32, part: &[u8]) -> Result<u32> {
        let page = self.page_bytes as usize;
        let mut done = self.wbuf.fill(part);
        if self.wbuf.bytes == self.page_bytes {
            self.flush_page(Fill::Full)?;
        }
        let whole = (part.len() - done) & !(page - 1);
        if whole > 0 {
            let offset = at + done as u32;
            for _ in (0..whole).step_by(page) {
                self.sim.work(Work::BufferFlush, page);
            }
            if let Err(error) = self.mtd.write(u64::from(offset), &part[done..done + whole]) {
                if error != MtdError::PowerCut {
                    // The buffer is empty, so no nodes need to be moved. The block is given up, because its pages must
                    // not be programmed a second time.
                    self.retire_block(self.block_of(offset));
                }
                return Err(errno(&error));
            }
            done += whole;
            self.wbuf.offset = at + done as u32;
        }
        done += self.wbuf.fill(&part[done..]);
        if self.wbuf.bytes == self.page_bytes {
            self.flush_page(Fill::Full)?;
        }
        Ok(done as u32)
    }

    /// Ends the use of a block of which a page could not be programmed (`jffs2_block_refile`).
    fn retire_block(&mut self, number: u32) {
        if self.next_block == Some(number) {
            self.next_block = None;
        }
        if self.blocks[number].first != NONE {
            self.blocks.prepend(number, List::BadUsed);
        } else {
            self.blocks.prepend(number, List::ErasePending);
            self.erasing_blocks += 1;
            self.trigger_gc_thread();
        }
        let rest = self.blocks[number].free_bytes();
        if rest > 0 {
            self.waste_space(number, (number + 1) * self.block_bytes - rest, rest);
        }
    }

    /// Moves the nodes of a page that could not be programmed to a new block, including nodes that are only partly in
    /// the page (`jffs2_wbuf_recover`).
    fn recover_wbuf(&mut self) -> Result<()> {
        let _why = self.sim.because(&causes::RECOVERY);
        let number = self.block_of(self.wbuf.offset);
        let (bad_offset, buffered) = (self.wbuf.offset, self.wbuf.bytes);
        self.retire_block(number);

        let mut moving: Vec<RefId> = Vec::new();
        let mut id = self.blocks[number].first;
        while id != NONE {
            let node = self.refs[id];
            if !node.is_obsolete() && node.offset() + self.ref_bytes(id) > bad_offset {
                moving.push(id);
            }
            id = node.next_in_block;
        }
        let Some(&first) = moving.first() else {
            self.wbuf.bytes = 0;
            return Ok(());
        };
        let start = self.refs[first].offset();
        let last = moving[moving.len() - 1];
        let end = self.refs[last].offset() + self.ref_bytes(last);
        let mut data = vec![0u8; (end - start) as usize];
        // The part that is on flash already is read back, the rest comes from the buffer.
        let on_flash = bad_offset.saturating_sub(start).min(end - start) as usize;
        if on_flash > 0 {
            match self.mtd.read(u64::from(start), &mut data[..on_flash]) {
                Ok(_) | Err(MtdError::Uncorrectable) => {}
                Err(error) => return Err(errno(&error)),
            }
        }
        let skip = start.saturating_sub(bad_offset) as usize;
        let held = (buffered as usize).saturating_sub(skip).min(data.len() - on_flash);
        data[on_flash..on_flash + held].copy_from_slice(&self.wbuf.page[skip..skip + held]);

        self.wbuf.bytes = 0;
        self.wbuf.offset = NONE;
        self.reserve_for_gc(end - start, crate::summary::NO_SUMMARY)?;
        self.summary.disable();
        let to = self.write_offset();
        self.wbuf.offset = to - to % self.page_bytes;
        let whole = data.len() - data.len() % self.page_bytes as usize;
        if whole > 0 {
            if let Err(error) = self.mtd.write(u64::from(to), &data[..whole]) {
                let target = self.block_of(to);
                self.retire_block(target);
                return Err(errno(&error));
            }
        }
        self.wbuf.offset = to + whole as u32;
        self.wbuf.bytes = (data.len() - whole) as u32;
        self.wbuf.page[..data.len() - whole].copy_from_slice(&data[whole..]);

        // The nodes keep their distances: obsolete bytes between two of them were copied as well and count as wasted.
        let target = self.block_of(to);
        let mut at = to;
        for id in moving {
            let place = to + (self.refs[id].offset() - start);
            if place > at {
                self.waste_space(target, at, place - at);
            }
            at = place + self.move_ref(id, place);
        }
        if self.blocks[number].used_bytes() == 0 && self.blocks[number].unchecked_bytes() == 0 {
            self.blocks.append(number, List::ErasePending);
            self.erasing_blocks += 1;
            self.trigger_gc_thread();
        }
        Ok(())
    }

    /// Moves a node to `to`, the start of the free space of the block that is written to. The reference keeps its
    /// number, so inodes in memory stay valid; a new, obsolete reference takes its old place.
    fn move_ref(&mut self, id: RefId, to: u32) -> u32 {
        let bytes = self.ref_bytes(id);
        let old = self.refs[id];
        let number = self.block_of(old.offset());
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
