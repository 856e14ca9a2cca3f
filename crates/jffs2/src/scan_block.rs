//! The walk of the mount scan over the nodes of one block.
//!
//! Follows `fs/jffs2/scan.c` (`jffs2_scan_eraseblock`). A block is read window by window: each read begins at the first node
//! that is not in memory yet. The first window is short. The others are the rest of the block where blocks are programmed by
//! the page, because it is quicker there, and a memory page where they are not.

use ffslab_fs::{Errno, Result as FsResult, PAGE_BYTES};

use crate::flash::Flash;
use crate::format::{
    pad, Header, ACCURATE, DIRENT_BYTES, HEADER_BYTES, INODE_BYTES, TYPE_DIRENT, TYPE_INODE, TYPE_XATTR, TYPE_XREF,
};
use crate::refs::NONE;
use crate::scan_node::Scan;
use crate::summary::Collector;
use crate::MountError;

/// A block that begins with so many bytes of 0xFF looks empty (`DEFAULT_EMPTY_SCAN_SIZE`).
pub const EMPTY_SCAN_BYTES: usize = 256;

const ERASED: [u8; 4] = [0xFF; 4];

/// The part of a block that was read last. Its bytes are in the buffer of the block, at their offset in the block.
struct Window {
    /// The whole block stands in the processor's memory, so that nothing is read. What is looked at must be fetched.
    in_memory: bool,
    block_at: u32,
    block_bytes: u32,
    /// Bytes of a read.
    bytes_max: u32,
    start: u32,
    bytes: u32,
}

impl Window {
    fn read_from(&mut self, flash: &Flash, at: u32, data: &mut [u8]) -> FsResult<()> {
        if self.in_memory {
            (self.start, self.bytes) = (0, self.block_bytes);
            return Ok(());
        }
        self.start = at;
        self.bytes = self.bytes_max.min(self.block_bytes - at);
        flash.read(self.block_at + at, &mut data[at as usize..(at + self.bytes) as usize])
    }

    /// Makes sure that the bytes up to `end` are in memory. If not, a window is read that begins at `at`.
    fn need(&mut self, flash: &Flash, at: u32, end: u32, data: &mut [u8]) -> FsResult<()> {
        if self.in_memory {
            return flash.fetch(self.block_at + at, &mut data[at as usize..end as usize]);
        }
        if self.start + self.bytes < end {
            self.read_from(flash, at, data)
        } else {
            Ok(())
        }
    }
}

/// How the erased bytes behind a node end.
enum Erased {
    /// Another node follows there.
    Until(u32),
    ToTheEnd,
    /// The block holds only a clean marker, so the rest is taken as erased.
    BehindMarker,
}

/// How a walk ended.
#[derive(PartialEq, Eq)]
pub(crate) enum Walk {
    Complete,
    /// The block holds only a clean marker.
    OnlyMarker,
}

impl Scan<'_> {
    /// Walks over the nodes of a block of which the first bytes are in `data`.
    pub(crate) fn scan_nodes(
        &mut self,
        block: u32,
        data: &mut [u8],
        collector: &mut Collector,
    ) -> Result<Walk, MountError> {
        let (e, size, block_at) = (self.flash.endian, self.flash.block_bytes, block * self.flash.block_bytes);
        let bytes_max = if self.flash.manner.buffers_pages { size } else { PAGE_BYTES as u32 };
        let looked_at = (EMPTY_SCAN_BYTES as u32).min(size);
        let in_memory = self.flash.manner.looks_in_memory;
        if in_memory && self.flash.mtd.look(u64::from(block_at), data).is_err() {
            return Err(MountError::Medium(Errno::Io));
        }
        let mut window = Window { in_memory, block_at, block_bytes: size, bytes_max, start: 0, bytes: looked_at };
        let first = &data[..looked_at as usize];
        let mut at = first.chunks_exact(4).take_while(|word| *word == ERASED).count() as u32 * 4;
        self.space.scan_dirty_space(block, at);
        while at < size {
            if size - at < HEADER_BYTES {
                self.space.scan_dirty_space(block, size - at);
                break;
            }
            window.need(self.flash, at, at + HEADER_BYTES, data)?;
            let here = &data[at as usize..];
            if here[..4] == ERASED {
                match self.skip_erased(block, at, &mut window, data)? {
                    Erased::Until(end) => {
                        self.space.scan_dirty_space(block, end - at);
                        at = end;
                        continue;
                    }
                    Erased::ToTheEnd => break,
                    Erased::BehindMarker => return Ok(Walk::OnlyMarker),
                }
            }
            let Some(header) = Header::sound(e, here).filter(|header| header.total_bytes <= size - at) else {
                self.space.scan_dirty_space(block, 4);
                at += 4;
                continue;
            };
            let bytes = pad(header.total_bytes).min(size - at);
            if header.node_type & ACCURATE != 0 {
                let needed = match header.node_type {
                    TYPE_INODE => INODE_BYTES,
                    TYPE_DIRENT => header.total_bytes.max(DIRENT_BYTES),
                    TYPE_XATTR | TYPE_XREF => header.total_bytes,
                    _ => HEADER_BYTES,
                };
                window.need(self.flash, at, (at + needed).min(size), data)?;
            }
            let node = &data[at as usize..(at + bytes) as usize];
            self.take_node(block, block_at + at, &header, node, collector)?;
            at += bytes;
        }
        Ok(Walk::Complete)
    }

    /// Finds the end of the erased bytes that begin at `at`. As in the kernel, of the bytes that the first read brought
    /// only `EMPTY_SCAN_BYTES / 8` bytes, counted from the start of the window, are examined before the next read.
    fn skip_erased(&mut self, block: u32, at: u32, window: &mut Window, data: &mut [u8]) -> FsResult<Erased> {
        let mut end = at + 4;
        let mut looked_at = (EMPTY_SCAN_BYTES as u32 / 8).min(window.bytes);
        loop {
            let until = (window.start + looked_at).max(end);
            let words = data[end as usize..until as usize].chunks(4);
            let from = end;
            end = (end + words.take_while(|word| *word == ERASED).count() as u32 * 4).min(until);
            if window.in_memory {
                self.flash.fetch(window.block_at + from, &mut data[from as usize..end as usize])?;
            }
            if end < until {
                return Ok(Erased::Until(end));
            }
            if window.start == 0 && self.holds_only_marker(block) {
                return Ok(Erased::BehindMarker);
            }
            if end >= self.flash.block_bytes {
                return Ok(Erased::ToTheEnd);
            }
            window.read_from(self.flash, end, data)?;
            looked_at = window.bytes;
        }
    }

    fn holds_only_marker(&self, block: u32) -> bool {
        let b = &self.space.blocks[block];
        !self.flash.manner.marker_in_oob
            && b.used_bytes() == HEADER_BYTES
            && b.dirty_bytes() == 0
            && b.first != NONE
            && b.first == b.last
    }
}
