//! The write buffer: the page that waits. Flash is programmed in whole pages, while nodes end anywhere in a page.
//!
//! Follows `fs/jffs2/wbuf.c` (`jffs2_fill_wbuf`). When the page goes out stands in `append.rs` and `flush.rs`.

use crate::refs::NONE;
use ffslab_sim::{Phase, Sim};

/// The page that waits to be written. `offset` is [`NONE`] when it has no place on flash yet.
pub struct WriteBuffer {
    pub page: Box<[u8]>,
    pub offset: u32,
    pub bytes: u32,
    /// Inodes that have data in the buffer (written by programs, not by garbage collection).
    inodes: Vec<u32>,
    /// The latest change of what is in the buffer.
    pub changed_in: Phase,
}

impl WriteBuffer {
    pub fn new(page_bytes: u32) -> Self {
        WriteBuffer {
            page: vec![0xFF; page_bytes as usize].into_boxed_slice(),
            offset: NONE,
            bytes: 0,
            inodes: Vec::new(),
            changed_in: Phase::default(),
        }
    }

    /// Forgets the place of an empty buffer, because nodes will be written to another block.
    pub fn forget_place(&mut self) {
        if self.bytes == 0 {
            self.offset = NONE;
        }
    }

    /// Whether all that is in it was left by an earlier phase of the run.
    pub fn was_left(&self, sim: &Sim) -> bool {
        self.is_dirty() && sim.was_left(self.changed_in)
    }

    /// Notes that the buffer holds data of `ino`.
    #[inline]
    pub fn note_inode(&mut self, ino: u32) {
        if !self.inodes.contains(&ino) {
            self.inodes.push(ino);
        }
    }

    /// Empties the buffer after its page was written.
    pub fn written(&mut self) {
        self.offset += self.page.len() as u32;
        self.bytes = 0;
        self.inodes.clear();
    }

    #[inline]
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
    #[inline]
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
    #[inline]
    pub fn skip_to(&mut self, to: u32) {
        if let Some(skipped) = self.page.get_mut(self.bytes as usize..to as usize) {
            skipped.fill(0xFF);
        }
        self.bytes = to;
    }

    /// Appends as much of `data` as fits. Returns 0 if `data` begins with a whole page for an empty buffer, which the
    /// caller writes directly.
    #[inline]
    pub fn fill(&mut self, data: &[u8]) -> usize {
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
