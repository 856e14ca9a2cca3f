//! The bytes of a node reach the write buffer, or flash.
//!
//! Follows `fs/jffs2/wbuf.c` (`jffs2_flash_writev`) and `summary.c` (`jffs2_sum_write_sumnode`). Full pages go out as soon as
//! they are complete, the rest waits.

use ffslab_fs::{Errno, Result};
use ffslab_mtd::MtdError;
use ffslab_sim::Work;

use crate::causes;
use crate::flash::errno;
use crate::flush::Fill;
use crate::format::HEADER_BYTES;
use crate::refs::{NodeState, NONE};
use crate::store::Store;

impl Store {
    /// Writes the parts of one node at `to`, which is the end of the last node (`jffs2_flash_writev`). `ino` is the
    /// inode for which the node is written; 0 for garbage collection.
    pub fn flash_write(&mut self, to: u32, parts: [&[u8]; 2], ino: u32) -> Result<()> {
        let flash = &mut self.flash;
        if !flash.manner.buffers_pages {
            let Store { flash, space, .. } = self;
            if space.summary.is_active() {
                space.summary.note_node(flash.endian, parts, to % flash.block_bytes);
            }
            return flash.write_directly(to, parts);
        }
        let page = flash.page_bytes;
        // The number of bytes in a page is a power of two.
        let column = to & (page - 1);
        if flash.wbuf.offset == NONE {
            flash.wbuf.offset = to - column;
            flash.wbuf.skip_to(column);
        }
        if self.space.blocks.of(to) != self.space.blocks.of(flash.wbuf.offset) {
            if flash.wbuf.bytes != 0 {
                self.flush_page(Fill::Pad)?;
            }
            let wbuf = &mut self.flash.wbuf;
            wbuf.offset = to - column;
            wbuf.bytes = 0;
            wbuf.skip_to(column);
        }
        let flash = &mut self.flash;
        // A page to which a measured program adds data would be written for that program in any case.
        flash.wbuf.changed_in = flash.wbuf.changed_in.max(flash.sim.phase_of_change());
        // The last node may have ended up to three bytes before `to`, because nodes are aligned to 4 bytes.
        if flash.wbuf.bytes != column {
            flash.wbuf.skip_to(if column == 0 { page } else { column });
            if flash.wbuf.bytes == page {
                self.flush_page(Fill::Full)?;
            }
        }
        let mut at = to;
        for part in parts {
            at += self.write_part(at, part)?;
        }
        let Store { flash, space, timer, .. } = self;
        if space.summary.is_active() {
            space.summary.note_node(flash.endian, parts, to % flash.block_bytes);
        }
        if flash.wbuf.bytes != 0 && ino != 0 {
            timer.arm(&flash.sim, &flash.options);
            flash.wbuf.note_inode(ino);
        }
        Ok(())
    }

    fn write_part(&mut self, at: u32, part: &[u8]) -> Result<u32> {
        let page = self.flash.page_bytes as usize;
        let mut done = self.flash.wbuf.fill(part);
        if self.flash.wbuf.bytes == self.flash.page_bytes {
            self.flush_page(Fill::Full)?;
        }
        let whole = (part.len() - done) & !(page - 1);
        if whole > 0 {
            let flash = &mut self.flash;
            let offset = at + done as u32;
            for _ in (0..whole).step_by(page) {
                flash.sim.work(Work::BufferFlush, page);
            }
            if let Err(error) = flash.mtd.write(u64::from(offset), &part[done..done + whole]) {
                if error != MtdError::PowerCut {
                    // The buffer is empty, so no nodes need to be moved. The block is given up, because its pages must
                    // not be programmed a second time.
                    self.space.retire_block(flash, self.space.blocks.of(offset));
                }
                return Err(errno(&error));
            }
            done += whole;
            flash.wbuf.offset = at + done as u32;
        }
        done += self.flash.wbuf.fill(&part[done..]);
        if self.flash.wbuf.bytes == self.flash.page_bytes {
            self.flush_page(Fill::Full)?;
        }
        Ok(done as u32)
    }

    /// Writes the summary of the current block, padded to the end of the block (`jffs2_sum_write_sumnode`).
    pub fn write_summary(&mut self) -> Result<()> {
        let Store { flash, space, .. } = self;
        let Some(block) = space.next_block else { return Ok(()) };
        let free = space.blocks[block].free_bytes();
        let offset = space.blocks.free_from(block);
        let marker_bytes = if flash.manner.marker_in_oob { 0 } else { HEADER_BYTES };
        let at = offset % flash.block_bytes;
        let Some((head, body)) = space.summary.encode(flash.endian, at, free, marker_bytes) else {
            space.summary.disable();
            return Ok(());
        };
        flash.sim.work_of_summary();
        let written = {
            let _why = flash.sim.because(&causes::SUMMARY);
            self.flash_write(offset, [&head, &body], 0)
        };
        match written {
            Ok(()) => {
                self.space.summary.reset();
                self.space.link_node(offset, NodeState::Normal, free, 0);
                Ok(())
            }
            Err(Errno::PowerCut) => Err(Errno::PowerCut),
            // This is not fatal: without a summary the next mount scans the block.
            Err(_) => {
                self.space.summary.disable();
                Ok(())
            }
        }
    }
}
