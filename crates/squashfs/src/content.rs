//! Pages of files: `fs/squashfs/file.c`, `file_direct.c`. A block of the image is read whole, and all pages of it that have room in the
//! page cache get their part. Kernels differ in what they make of a window of read-ahead ([`Windows`]).

use crate::files::{Files, Node};
use crate::inode::Is;
use crate::meta_index::MetaIndex;
use crate::windows::Windows;
use crate::Wrong;
use ffslab_fs::{causes, Errno, Host, Ino, PagesAhead, Result, PAGE_BYTES};
use std::ops::Range;
use std::rc::Rc;

const PAGE: u64 = PAGE_BYTES as u64;

/// A block of a file, as it was read for one of its pages: others may take theirs of it.
pub struct Taken {
    ino: Ino,
    pages: Range<u64>,
    /// `None`: it is a hole.
    bytes: Option<Rc<Vec<u8>>>,
    /// Where in `bytes` the file's block begins.
    offset: usize,
    /// How much of it is the file's.
    most: usize,
}

impl Taken {
    fn fill(&self, index: u64, page: &mut [u8]) {
        page.fill(0);
        let at = ((index - self.pages.start) * PAGE) as usize;
        let Some(bytes) = &self.bytes else { return };
        let end = (self.offset + self.most).min(bytes.len());
        let part = bytes.get(self.offset + at..end).unwrap_or_default();
        let count = part.len().min(PAGE_BYTES);
        page[..count].copy_from_slice(&part[..count]);
    }

    /// Puts its pages into the cache, but for those that are there.
    pub fn insert(self, host: &mut dyn Host) {
        let mut page = vec![0; PAGE_BYTES];
        for index in self.pages.clone() {
            self.fill(index, &mut page);
            host.insert_page(self.ino, index, &page);
        }
    }
}

/// A file as its pages are read.
struct Reading {
    node: Node,
    bytes: u64,
    block_bytes: u64,
    fragment_offset: Option<u32>,
}

impl Reading {
    fn of(files: &Files, ino: Ino) -> Result<Reading> {
        let node = files.node(ino)?.clone();
        let Is::File(file) = &node.inode.is else { return Err(Errno::IsDir) };
        let (bytes, fragment_offset) = (file.bytes, file.fragment_offset.map(|(_, offset)| offset));
        Ok(Reading { bytes, block_bytes: files.blocks.superblock.block_bytes.into(), fragment_offset, node })
    }

    fn pages_per_block(&self) -> u64 {
        self.block_bytes / PAGE
    }

    /// The block in which the file ends, or the one behind its last one.
    fn end_block(&self) -> u64 {
        self.bytes / self.block_bytes
    }

    /// How much of a block is the file's.
    fn expected(&self, block: u64) -> u64 {
        if block == self.end_block() {
            self.bytes % self.block_bytes
        } else {
            self.block_bytes
        }
    }

    /// The pages of a block that the file has.
    fn pages_of(&self, block: u64) -> Range<u64> {
        let first = block * self.pages_per_block();
        first..self.bytes.div_ceil(PAGE).min(first + self.pages_per_block())
    }

    fn is_fragment(&self, block: u64) -> bool {
        block == self.end_block() && self.node.fragment_offset.is_some()
    }
}

impl Files {
    fn fragment_of(&mut self, reading: &Reading) -> Result<(Rc<Vec<u8>>, usize)> {
        let (at, size) = reading.node.fragment_offset.unwrap_or_default();
        let bytes = self.blocks.fragment(at, size)?;
        Ok((bytes, reading.fragment_offset.unwrap_or_default() as usize))
    }

    /// `squashfs_read_folio`. Returns the block that was read for the page, whose other pages can be had, too.
    pub fn read_page(
        &mut self,
        index: &mut MetaIndex,
        ino: Ino,
        page_index: u64,
        page: &mut [u8],
    ) -> Result<Option<Taken>> {
        page.fill(0);
        let reading = Reading::of(self, ino)?;
        let pages_of_file = reading.bytes.div_ceil(PAGE);
        if page_index >= pages_of_file {
            return Ok(None);
        }
        let taken = self.take_block(index, &reading, page_index, false)?;
        taken.fill(page_index, page);
        Ok(Some(taken))
    }

    /// The block in which a page stands. `kept`: it goes through the cache of such blocks.
    fn take_block(&mut self, index: &mut MetaIndex, reading: &Reading, page_index: u64, kept: bool) -> Result<Taken> {
        let ino = reading.node.inode.number;
        let block = page_index / reading.pages_per_block();
        let expected = reading.expected(block);
        let pages = reading.pages_of(block);
        let most = expected as usize;
        if reading.is_fragment(block) {
            let (bytes, offset) = self.fragment_of(reading)?;
            let last = offset + ((page_index - pages.start) * PAGE) as usize;
            if bytes.len() < (last + PAGE_BYTES).min(offset + most) {
                let what = format!("the end of the file {ino} in a fragment that is shorter");
                return Err(self.blocks.wrong(Wrong::new(0, what)));
            }
            return Ok(Taken { ino, pages, bytes: Some(bytes), offset, most });
        }
        let (at, size) = index.place(&mut self.blocks, &reading.node, block)?;
        let bytes = match size {
            0 => None,
            _ if kept => Some(self.blocks.kept_data(at, size)?),
            _ => Some(Rc::new(self.blocks.data(at, size)?)),
        };
        if bytes.as_ref().is_some_and(|bytes| bytes.len() as u64 != expected) {
            return Err(self.blocks.wrong(Wrong::new(at, format!("a block of the file {ino} of another size"))));
        }
        Ok(Taken { ino, pages, bytes, offset: 0, most })
    }

    /// A window, or what of it was not in the page cache.
    pub fn read_ahead(&mut self, index: &mut MetaIndex, ino: Ino, window: &mut dyn PagesAhead) -> Result<()> {
        match self.blocks.windows {
            Windows::V5_8 => self.read_pages(index, ino, window),
            Windows::V6_0 | Windows::V6_12 => self.read_blocks(index, ino, window),
        }
    }

    /// One `squashfs_readpage` after the other. A page that still waits for its turn is locked, and one that had its turn is there: both
    /// keep the block of a page from being read straight into the page cache.
    fn read_pages(&mut self, index: &mut MetaIndex, ino: Ino, window: &mut dyn PagesAhead) -> Result<()> {
        let reading = Reading::of(self, ino)?;
        let run = window.pages();
        let sim = self.blocks.sim.clone();
        loop {
            let page = window.take(1);
            if page.is_empty() || page.start * PAGE >= reading.bytes {
                return Ok(());
            }
            let asks = if window.is_asked_for(&page) { &causes::READ } else { &causes::READ_AHEAD };
            let _why = sim.because(asks);
            let of_block = reading.pages_of(page.start / reading.pages_per_block());
            let beside: Vec<u64> = of_block.clone().filter(|at| !run.contains(at) && window.grab(*at)).collect();
            let kept = beside.len() as u64 + 1 < of_block.end - of_block.start;
            let taken = match self.take_block(index, &reading, page.start, kept) {
                // The page stays unread, and the next one is tried.
                Err(errno) if errno != Errno::PowerCut => continue,
                taken => taken?,
            };
            page.chain(beside).for_each(|at| window.fill(at, &mut |page| taken.fill(at, page)));
        }
    }

    /// `squashfs_readahead`: the window grows to whole blocks, as far as the pages before and behind it are not in the cache. One that ends
    /// with a block already grows by another one. A block that is a hole ends it, and so does one of which it has another block's pages.
    ///
    /// Before 6.12 it is reckoned once, for the block in which the window begins, how many bytes a block has: the last and shorter block of a
    /// file in a window that begins before it is read and thrown away, and read again for the page that is asked for. Of the end of a file
    /// in a fragment, pages beyond the fragment's own end are thrown away likewise.
    fn read_blocks(&mut self, index: &mut MetaIndex, ino: Ino, window: &mut dyn PagesAhead) -> Result<()> {
        let reading = Reading::of(self, ino)?;
        let per_block = reading.pages_per_block();
        let asked = window.pages();
        let start = asked.start / per_block * per_block;
        window.expand(start..start + ((asked.end - start) / per_block + 1) * per_block);
        // The window may have grown less than was asked for, but this stays.
        let mut expected = reading.expected(start / per_block);
        loop {
            if self.blocks.windows == Windows::V6_12 {
                expected = reading.expected(window.pages().start / per_block);
            }
            let pages = window.take(expected.div_ceil(PAGE));
            if pages.is_empty() || pages.start * PAGE >= reading.bytes {
                return Ok(());
            }
            let block = pages.start / per_block;
            if (pages.end - 1) / per_block != block {
                return Ok(());
            }
            let asks = if window.is_asked_for(&pages) { &causes::READ } else { &causes::READ_AHEAD };
            let sim = self.blocks.sim.clone();
            let _why = sim.because(asks);
            if reading.is_fragment(block) {
                self.fill_from_fragment(&reading, pages, expected, window)?;
            } else {
                let (at, size) = index.place(&mut self.blocks, &reading.node, block)?;
                if size == 0 {
                    return Ok(());
                }
                let data = match self.blocks.data(at, size) {
                    // The pages stay unread, and the next ones are tried.
                    Err(errno) if errno != Errno::PowerCut => continue,
                    data => data?,
                };
                if data.len() as u64 == expected {
                    let first = block * per_block;
                    let taken = Taken {
                        ino,
                        pages: first..pages.end,
                        bytes: Some(Rc::new(data)),
                        offset: 0,
                        most: expected as usize,
                    };
                    pages.for_each(|index| window.fill(index, &mut |page| taken.fill(index, page)));
                }
            }
        }
    }

    /// `squashfs_readahead_fragment`.
    fn fill_from_fragment(
        &mut self,
        reading: &Reading,
        pages: Range<u64>,
        expected: u64,
        window: &mut dyn PagesAhead,
    ) -> Result<()> {
        let (bytes, offset) = self.fragment_of(reading)?;
        let first = pages.start / reading.pages_per_block() * reading.pages_per_block();
        let most = expected as usize;
        let taken = Taken { ino: reading.node.inode.number, pages: first..pages.end, bytes: Some(bytes), offset, most };
        for index in pages {
            let at = ((index - first) * PAGE) as usize;
            let available = most.saturating_sub(at).min(PAGE_BYTES);
            let is_there = taken.bytes.as_ref().is_some_and(|bytes| offset + at + available <= bytes.len());
            if available > 0 && is_there {
                window.fill(index, &mut |page| taken.fill(index, page));
            }
        }
        Ok(())
    }
}
