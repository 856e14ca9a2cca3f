//! The stream of bytes that a checkpoint is, and its pages on flash.
//!
//! Follows `yaffs_checkptrw.c`. Since May 2012 each page begins with 16 bytes: version, number of the page, sum and
//! exclusive or of all bytes so far. Its tags hold the number of the page as chunk, a sequence number of their own, and as object the block
//! in which the next page should be looked for.

use ffslab_fs::{Errno, Result};

use crate::blocks::BlockState;
use crate::chunks::{Chunks, SEQUENCE_CHECKPOINT};
use crate::damage::{Flaw, Place};
use crate::options::Generation;
use crate::tags::{EccResult, Tags};

const PAGE_HEADER_BYTES: usize = 16;

/// Sums over the bytes of the stream.
#[derive(Clone, Copy, Default)]
struct Sums {
    sum: u32,
    xor: u32,
}

impl Sums {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.sum = self.sum.wrapping_add(u32::from(byte));
            self.xor ^= u32::from(byte);
        }
    }

    fn check_sum(self) -> u32 {
        self.sum << 8 | self.xor & 0xFF
    }

    /// What a page begins with; nothing in old sources.
    fn page_header(self, generation: Generation, page: u32) -> Vec<u8> {
        if generation < Generation::Y2012 {
            return Vec::new();
        }
        let mut header = vec![0; PAGE_HEADER_BYTES];
        for (i, value) in [version(generation), page, self.sum, self.xor].into_iter().enumerate() {
            header[i * 4..i * 4 + 4].copy_from_slice(&value.to_le_bytes());
        }
        header
    }
}

/// Why a checkpoint cannot be read, or written.
pub enum Broken {
    /// There is no checkpoint, or no room to write one.
    Absent,
    /// It contradicts itself.
    Flaw(Flaw),
    Medium(Errno),
}

impl From<Errno> for Broken {
    fn from(error: Errno) -> Broken {
        Broken::Medium(error)
    }
}

pub type StreamResult<T> = std::result::Result<T, Broken>;

/// Version of the format (`YAFFS_CHECKPOINT_VERSION`). The sources of December 2011 already had 5, and large files.
pub fn version(generation: Generation) -> u32 {
    match generation {
        Generation::Y2010 | Generation::Y2011 => 4,
        Generation::Y2012 => 7,
        Generation::Today => 8,
    }
}

/// A checkpoint that is being written.
pub struct Writer {
    buffer: Box<[u8]>,
    filled: usize,
    sums: Sums,
    page: u32,
    block: Option<u32>,
    page_in_block: u32,
    next_block: Option<u32>,
}

/// A checkpoint that is being read.
pub struct Reader {
    buffer: Box<[u8]>,
    at: usize,
    sums: Sums,
    page: u32,
    block: Option<u32>,
    page_in_block: u32,
    next_block: u32,
    blocks_max: u32,
    pub blocks: Vec<u32>,
    /// Which page was read last.
    pub place: Option<Place>,
}

impl Chunks {
    /// Begins a checkpoint. `None`: there is no room for one.
    pub fn open_checkpoint_for_writing(&mut self) -> Result<Option<Writer>> {
        if self.blocks.erased_blocks() <= self.options.reserved_blocks as i32 {
            return Ok(None);
        }
        self.erase_checkpoint()?;
        let mut writer = Writer {
            buffer: self.buffer(),
            filled: 0,
            sums: Sums::default(),
            page: 0,
            block: None,
            page_in_block: 0,
            next_block: Some(self.blocks.first()),
        };
        self.begin_page(&mut writer);
        Ok(Some(writer))
    }

    fn begin_page(&self, writer: &mut Writer) {
        writer.buffer.fill(0);
        let header = writer.sums.page_header(self.options.generation, writer.page);
        writer.buffer[..header.len()].copy_from_slice(&header);
        writer.filled = header.len();
    }

    pub fn write_stream(&mut self, writer: &mut Writer, mut bytes: &[u8]) -> StreamResult<()> {
        while !bytes.is_empty() {
            let count = bytes.len().min(writer.buffer.len() - writer.filled);
            let (part, rest) = bytes.split_at(count);
            writer.buffer[writer.filled..writer.filled + count].copy_from_slice(part);
            writer.sums.add(part);
            writer.filled += count;
            bytes = rest;
            if writer.filled == writer.buffer.len() {
                self.flush_page(writer)?;
            }
        }
        Ok(())
    }

    /// Writes the sum over everything so far.
    pub fn write_check_sum(&mut self, writer: &mut Writer) -> StreamResult<()> {
        let sum = writer.sums.check_sum();
        self.write_stream(writer, &sum.to_le_bytes())
    }

    fn flush_page(&mut self, writer: &mut Writer) -> StreamResult<()> {
        if writer.block.is_none() {
            writer.block = self.next_erased_block(writer.next_block);
            writer.next_block = writer.block.map(|block| block + 1);
            writer.page_in_block = 0;
        }
        let block = writer.block.ok_or(Broken::Absent)?;
        if writer.page_in_block == 0 {
            self.blocks.info_mut(block).state = BlockState::Checkpoint;
            self.checkpoint.blocks += 1;
        }
        let hint = writer.next_block.unwrap_or(u32::MAX);
        let tags = Tags { sequence: SEQUENCE_CHECKPOINT, ..Tags::of_data(hint, writer.page + 1, self.data_bytes) };
        let chunk = (block - 1) * self.blocks.chunks_per_block + writer.page_in_block;
        // Whether the write succeeded is not looked at here, as in the original: a mount finds the damage by the check
        // sum.
        self.medium.write(chunk, &writer.buffer, &tags)?;
        writer.page += 1;
        writer.page_in_block += 1;
        if writer.page_in_block >= self.blocks.chunks_per_block {
            writer.block = None;
        }
        self.begin_page(writer);
        Ok(())
    }

    fn next_erased_block(&self, from: Option<u32>) -> Option<u32> {
        if self.blocks.erased_blocks() <= self.options.reserved_blocks as i32 {
            return None;
        }
        (from?..=self.blocks.last()).find(|&block| self.blocks.info(block).state == BlockState::Empty)
    }

    /// Writes the last page and accounts for the blocks. The sources of 2012 write it even if it holds only its header.
    pub fn close_written(&mut self, mut writer: Writer) -> StreamResult<()> {
        let least_bytes = if self.options.generation == Generation::Today { PAGE_HEADER_BYTES } else { 0 };
        let flushed = if writer.filled > least_bytes { self.flush_page(&mut writer) } else { Ok(()) };
        self.release(writer.buffer);
        self.account_for_checkpoint();
        flushed
    }

    fn account_for_checkpoint(&mut self) {
        self.blocks.became_checkpoint(self.checkpoint.blocks);
    }

    // ---- reading -------------------------------------------------------------------------------------------

    pub fn open_checkpoint_for_reading(&mut self) -> Reader {
        self.checkpoint.blocks = 0;
        Reader {
            buffer: self.buffer(),
            at: self.data_bytes as usize,
            sums: Sums::default(),
            page: 0,
            block: None,
            page_in_block: 0,
            next_block: self.blocks.first(),
            // One block in 16 is far more than a checkpoint needs.
            blocks_max: (self.blocks.last() - self.blocks.first()) / 16 + 2,
            blocks: Vec::new(),
            place: None,
        }
    }

    pub fn read_stream(&mut self, reader: &mut Reader, mut bytes: &mut [u8]) -> StreamResult<()> {
        while !bytes.is_empty() {
            if reader.at == reader.buffer.len() {
                self.fetch_page(reader)?;
            }
            let count = bytes.len().min(reader.buffer.len() - reader.at);
            let (part, rest) = std::mem::take(&mut bytes).split_at_mut(count);
            part.copy_from_slice(&reader.buffer[reader.at..reader.at + count]);
            reader.sums.add(part);
            reader.at += count;
            bytes = rest;
        }
        Ok(())
    }

    pub fn read_words<const N: usize>(&mut self, reader: &mut Reader) -> StreamResult<[u32; N]> {
        let mut words = [0; N];
        for word in &mut words {
            let mut bytes = [0; 4];
            self.read_stream(reader, &mut bytes)?;
            *word = u32::from_le_bytes(bytes);
        }
        Ok(words)
    }

    /// Compares the sum over everything so far with the one that comes next.
    pub fn read_check_sum(&mut self, reader: &mut Reader) -> StreamResult<()> {
        let expected = reader.sums.check_sum();
        let [found] = self.read_words(reader)?;
        if found == expected {
            Ok(())
        } else {
            Err(Broken::Flaw(Flaw::CheckpointSum { found: expected, expected: found }))
        }
    }

    fn fetch_page(&mut self, reader: &mut Reader) -> StreamResult<()> {
        if reader.block.is_none() {
            reader.block = self.find_checkpoint_block(reader)?;
            reader.page_in_block = 0;
        }
        let Some(block) = reader.block else {
            let page = reader.page;
            return Err(if page == 0 { Broken::Absent } else { Broken::Flaw(Flaw::CheckpointEnds { page }) });
        };
        reader.place = Some(Place { block: block - 1, page: reader.page_in_block });
        let chunk = (block - 1) * self.blocks.chunks_per_block + reader.page_in_block;
        let tags = self.medium.read(chunk, &mut reader.buffer)?;
        let header = reader.sums.page_header(self.options.generation, reader.page);
        if tags.chunk != reader.page + 1
            || tags.ecc == EccResult::Unfixed
            || tags.sequence != SEQUENCE_CHECKPOINT
            || !reader.buffer.starts_with(&header)
        {
            return Err(Broken::Flaw(Flaw::CheckpointPage { page: reader.page }));
        }
        reader.at = header.len();
        reader.page += 1;
        reader.page_in_block += 1;
        if reader.page_in_block >= self.blocks.chunks_per_block {
            reader.block = None;
        }
        Ok(())
    }

    /// Finds the next block with checkpoint pages, beginning with the block that the last page named. Since May 2012 a
    /// bad block does not count, for which the driver is asked.
    fn find_checkpoint_block(&mut self, reader: &mut Reader) -> StreamResult<Option<u32>> {
        if self.checkpoint.blocks >= reader.blocks_max {
            return Ok(None);
        }
        for block in reader.next_block.max(self.blocks.first())..=self.blocks.last() {
            let tags = self.medium.read_tags((block - 1) * self.blocks.chunks_per_block)?;
            if tags.sequence != SEQUENCE_CHECKPOINT || !tags.is_used {
                continue;
            }
            if self.options.generation >= Generation::Y2012 && self.query_block(block)?.0 == BlockState::Dead {
                continue;
            }
            reader.next_block = tags.object;
            reader.blocks.push(block);
            self.checkpoint.blocks += 1;
            return Ok(Some(block));
        }
        Ok(None)
    }

    /// Accounts for the blocks that a checkpoint was read from.
    pub fn close_read(&mut self, reader: Reader) {
        self.release(reader.buffer);
        for block in reader.blocks {
            let info = self.blocks.info_mut(block);
            if info.state == BlockState::Empty {
                info.state = BlockState::Checkpoint;
            }
        }
        self.account_for_checkpoint();
    }
}
