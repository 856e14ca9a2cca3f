//! The mount scan of NOR flash. A block is read by the memory page; each read begins at the first node that is not in
//! memory yet.
//!
//! Follows `fs/jffs2/scan.c` (`jffs2_scan_eraseblock`, no summaries, clean marker in the block).

use ffslab_fs::{Result as FsResult, PAGE_BYTES};
use ffslab_mtd::is_erased;

use crate::format::{pad, ACCURATE};
use crate::format::{Header, DIRENT_BYTES, HEADER_BYTES, INODE_BYTES, TYPE_DIRENT, TYPE_INODE};
use crate::ledger::Share;
use crate::refs::NONE;
use crate::scan::{BlockState, Findings, EMPTY_SCAN_BYTES};
use crate::store::Store;
use crate::summary::Collector;
use crate::MountError;

const ERASED: [u8; 4] = [0xFF; 4];

/// The part of a block that was read last. Its bytes are in the buffer of the block, at their offset in the block.
struct Window {
    block_at: u32,
    block_bytes: u32,
    start: u32,
    bytes: u32,
}

impl Window {
    fn read_from(&mut self, store: &mut Store, at: u32, data: &mut [u8]) -> FsResult<()> {
        self.start = at;
        self.bytes = (PAGE_BYTES as u32).min(self.block_bytes - at);
        store.flash_read(self.block_at + at, &mut data[at as usize..(at + self.bytes) as usize])
    }

    /// Makes sure that the bytes up to `end` are in memory. If not, one memory page from `at` on is read.
    fn need(&mut self, store: &mut Store, at: u32, end: u32, data: &mut [u8]) -> FsResult<()> {
        match self.start + self.bytes < end {
            true => self.read_from(store, at, data),
            false => Ok(()),
        }
    }
}

impl Store {
    pub(crate) fn scan_nor_block(
        &mut self,
        block: u32,
        data: &mut [u8],
        findings: &mut Findings,
        collector: &mut Collector,
    ) -> Result<BlockState, MountError> {
        let (size, block_at) = (self.block_bytes, block * self.block_bytes);
        let looked_at = EMPTY_SCAN_BYTES.min(size as usize);
        self.flash_read(block_at, &mut data[..looked_at])?;
        if is_erased(&data[..looked_at]) {
            return Ok(BlockState::AllErased);
        }
        let mut window = Window { block_at, block_bytes: size, start: 0, bytes: looked_at as u32 };
        let mut at = data.chunks_exact(4).take_while(|word| *word == ERASED).count() as u32 * 4;
        at = at.min(looked_at as u32);
        self.scan_dirty_space(block, at);
        let e = self.endian;
        while at < size {
            if size - at < HEADER_BYTES {
                self.scan_dirty_space(block, size - at);
                break;
            }
            window.need(self, at, at + HEADER_BYTES, data)?;
            let here = &data[at as usize..];
            if here[..4] == ERASED {
                match self.skip_erased(block, at, &mut window, data)? {
                    Erased::Until(end) => {
                        self.scan_dirty_space(block, end - at);
                        at = end;
                        continue;
                    }
                    Erased::ToTheEnd => break,
                    Erased::BehindMarker => return Ok(BlockState::CleanMarker),
                }
            }
            let Some(header) = Header::sound(e, here).filter(|header| header.total_bytes <= size - at) else {
                self.scan_dirty_space(block, 4);
                at += 4;
                continue;
            };
            let bytes = pad(header.total_bytes).min(size - at);
            if header.node_type & ACCURATE != 0 {
                let needed = match header.node_type {
                    TYPE_INODE => INODE_BYTES,
                    TYPE_DIRENT => header.total_bytes.max(DIRENT_BYTES),
                    _ => HEADER_BYTES,
                };
                window.need(self, at, (at + needed).min(size), data)?;
            }
            let node = &data[at as usize..(at + bytes) as usize];
            self.scan_node(block, block_at + at, &header, node, findings, collector)?;
            at += bytes;
        }
        self.blocks.shift_all(block, Share::Wasted, Share::Dirty);
        Ok(self.classify(block))
    }

    /// Finds the end of the erased bytes that begin at `at`. As in the kernel, of the bytes that the first read brought
    /// only `EMPTY_SCAN_BYTES / 8` bytes, counted from the start of the window, are examined before the next read.
    fn skip_erased(&mut self, block: u32, at: u32, window: &mut Window, data: &mut [u8]) -> FsResult<Erased> {
        let mut end = at + 4;
        let mut looked_at = (EMPTY_SCAN_BYTES as u32 / 8).min(window.bytes);
        loop {
            while end < window.start + looked_at {
                if data[end as usize..end as usize + 4] != ERASED {
                    return Ok(Erased::Until(end));
                }
                end += 4;
            }
            let b = &self.blocks[block];
            if window.start == 0
                && b.used_bytes() == HEADER_BYTES
                && b.dirty_bytes() == 0
                && b.first != NONE
                && b.first == b.last
            {
                return Ok(Erased::BehindMarker);
            }
            if end >= self.block_bytes {
                return Ok(Erased::ToTheEnd);
            }
            window.read_from(self, end, data)?;
            looked_at = window.bytes;
        }
    }
}

enum Erased {
    Until(u32),
    ToTheEnd,
    /// The block holds only a clean marker, so the rest is taken as erased.
    BehindMarker,
}
