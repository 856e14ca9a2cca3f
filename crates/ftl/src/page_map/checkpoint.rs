//! Checkpoints: the map with the state of all blocks, in blocks of its own.
//!
//! A checkpoint holds what a scan would have found up to its sequence number. The last complete one counts; the one before is
//! erased only when the new one is complete. Each page begins with the checkpoint's sequence number, its place and the number
//! of places, and has the usual record with a CRC.

use std::collections::BTreeMap;

use ffslab_mtd::MtdError;

use super::PageMap;
use crate::blocks::State;
use crate::causes;
use crate::config::FtlError;
use crate::flash::Flash;
use crate::tag::{Found, Tag, KIND_CHECKPOINT};

const MAGIC: u32 = u32::from_le_bytes(*b"FFTL");
/// Magic, logical pages, blocks, entries of the map, sequence number.
const HEADER_BYTES: usize = 4 + 4 + 4 + 4 + 8;
/// Erases, written pages, sequence number of the first page.
const BLOCK_BYTES: usize = 4 + 4 + 8;
const PAGE_HEADER_BYTES: usize = 8 + 4 + 4;
/// How often a checkpoint is begun anew when programs fail.
const ATTEMPTS_MAX: u32 = 4;

/// What a checkpoint says.
pub(super) struct Saved {
    pub sequence: u64,
    pub logical_pages: u32,
    pub erases: Vec<u32>,
    pub written: Vec<u32>,
    pub first_sequence: Vec<u64>,
    pub map: Vec<u32>,
    /// Where it stands.
    pub blocks: Vec<u32>,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

impl<F: Flash> PageMap<F> {
    fn checkpoint_pages(&self) -> u32 {
        let bytes = HEADER_BYTES + self.shape.blocks as usize * BLOCK_BYTES + self.map.len() * 4 + 4;
        bytes.div_ceil(self.shape.page_bytes as usize - PAGE_HEADER_BYTES) as u32
    }

    pub(super) fn blocks_of_checkpoint(&self) -> u32 {
        if F::KEEPS_BYTES {
            self.checkpoint_pages().div_ceil(self.shape.pages_per_block)
        } else {
            0
        }
    }

    /// Writes the map, so that the next mount reads it and scans only what was written since.
    ///
    /// # Errors
    /// Too many blocks are bad; the power was cut.
    pub fn checkpoint(&mut self) -> Result<(), FtlError> {
        if !F::KEEPS_BYTES {
            return Ok(());
        }
        self.collect_until(self.config.gc_free_blocks + self.blocks_of_checkpoint(), None)?;
        self.write_trims()?;
        let _reason = self.flash.because(&causes::CHECKPOINT);
        self.write_checkpoint()
    }

    pub(super) fn write_checkpoint(&mut self) -> Result<(), FtlError> {
        let mut attempts = 0;
        let written = loop {
            attempts += 1;
            match self.try_checkpoint()? {
                Some(blocks) => break blocks,
                None if attempts == ATTEMPTS_MAX => return Err(self.worn_out()),
                None => {}
            }
        };
        for block in std::mem::replace(&mut self.checkpoint_blocks, written) {
            if self.erase_block(block)? {
                self.blocks.release(block, true);
            }
        }
        self.pages_since_checkpoint = 0;
        self.statistics.checkpoints_count += 1;
        Ok(())
    }

    /// `None`: a program has failed; its block is put aside and the others are free again.
    fn try_checkpoint(&mut self) -> Result<Option<Vec<u32>>, FtlError> {
        // It tells of pages that no cut may tear any more.
        self.flash.settle();
        let bytes = self.encode_checkpoint();
        let per_page = self.shape.page_bytes as usize - PAGE_HEADER_BYTES;
        let (id, pages) = (self.sequence, bytes.len().div_ceil(per_page) as u32);
        let mut blocks: Vec<u32> = Vec::new();
        let mut buffer = vec![0xFF; self.shape.page_bytes as usize];
        for (part, index) in bytes.chunks(per_page).zip(0u32..) {
            let in_block = index % self.shape.pages_per_block;
            if in_block == 0 {
                blocks.push(self.take_for_checkpoint()?);
            }
            let block = blocks[blocks.len() - 1];
            buffer.fill(0xFF);
            buffer[..8].copy_from_slice(&id.to_le_bytes());
            buffer[8..12].copy_from_slice(&index.to_le_bytes());
            buffer[12..16].copy_from_slice(&pages.to_le_bytes());
            buffer[PAGE_HEADER_BYTES..PAGE_HEADER_BYTES + part.len()].copy_from_slice(part);
            self.sequence += 1;
            let tag = Tag {
                kind: KIND_CHECKPOINT,
                flags_bits: 0,
                number: index,
                sequence: self.sequence,
                erases: self.blocks.erases[block as usize],
                data_crc: crc32fast::hash(&buffer),
            };
            self.statistics.checkpoint_pages += 1;
            match self.flash.program((block << self.block_shift) + in_block, &buffer, &tag) {
                Ok(()) => {}
                Err(MtdError::ProgramFailed) => {
                    self.statistics.failed_programs += 1;
                    self.put_aside(blocks)?;
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.flash.settle();
        Ok(Some(blocks))
    }

    fn take_for_checkpoint(&mut self) -> Result<u32, FtlError> {
        while let Some(block) = self.blocks.take(false) {
            if self.blocks.clean[block as usize] || self.erase_block(block)? {
                self.blocks.state[block as usize] = State::Checkpoint;
                return Ok(block);
            }
        }
        Err(self.worn_out())
    }

    /// The last of these blocks has failed; the others are free again, with something in them.
    fn put_aside(&mut self, mut blocks: Vec<u32>) -> Result<(), FtlError> {
        if let Some(failed) = blocks.pop() {
            self.mark_bad(failed)?;
        }
        for block in blocks {
            self.blocks.release(block, false);
        }
        Ok(())
    }

    fn encode_checkpoint(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.checkpoint_pages() as usize * self.shape.page_bytes as usize);
        for number in [MAGIC, self.config.logical_pages, self.shape.blocks, self.map.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        for block in 0..self.shape.blocks as usize {
            let state = self.blocks.state[block];
            let holds_data = matches!(state, State::Open | State::Closed | State::Emptied | State::Failing);
            let (written, first) =
                if holds_data { (self.blocks.written[block], self.blocks.first_sequence[block]) } else { (0, 0) };
            bytes.extend_from_slice(&self.blocks.erases[block].to_le_bytes());
            bytes.extend_from_slice(&written.to_le_bytes());
            bytes.extend_from_slice(&first.to_le_bytes());
        }
        for page in &self.map {
            bytes.extend_from_slice(&page.to_le_bytes());
        }
        let crc = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The last complete checkpoint among these blocks. Counts the pages read.
    pub(super) fn find_checkpoint(&mut self, blocks: &[u32], pages_read: &mut u64) -> Result<Option<Saved>, FtlError> {
        let mut pieces: BTreeMap<u64, BTreeMap<u32, (u32, Vec<u8>)>> = BTreeMap::new();
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        let mut buffer = vec![0; self.shape.page_bytes as usize];
        for &block in blocks {
            for page in 0..self.shape.pages_per_block {
                let (found, read) = self.flash.read((block << self.block_shift) + page, &mut buffer);
                *pages_read += 1;
                match read {
                    Ok(_) | Err(MtdError::Uncorrectable) => {}
                    Err(error) => return Err(error.into()),
                }
                let tag = match found {
                    Found::Tag(tag) => tag,
                    Found::Erased => break,
                    Found::Garbage => continue,
                };
                self.sequence = self.sequence.max(tag.sequence);
                self.blocks.erases[block as usize] = tag.erases;
                let is_sound = tag.kind == KIND_CHECKPOINT && crc32fast::hash(&buffer) == tag.data_crc;
                let (Some(id), Some(index), Some(count)) =
                    (u64_at(&buffer, 0), u32_at(&buffer, 8), u32_at(&buffer, 12))
                else {
                    continue;
                };
                if is_sound && read.is_ok() {
                    counts.insert(id, count);
                    pieces.entry(id).or_default().insert(index, (block, buffer[PAGE_HEADER_BYTES..].to_vec()));
                }
            }
        }
        for (id, pieces) in pieces.into_iter().rev() {
            if pieces.len() as u32 != counts[&id] {
                continue;
            }
            let mut stands_in: Vec<u32> = pieces.values().map(|&(block, _)| block).collect();
            stands_in.dedup();
            let bytes: Vec<u8> = pieces.into_values().flat_map(|(_, bytes)| bytes).collect();
            if let Some(saved) = decode(&bytes, self.shape.blocks, stands_in) {
                return Ok(Some(saved));
            }
        }
        Ok(None)
    }
}

fn decode(bytes: &[u8], blocks: u32, stands_in: Vec<u32>) -> Option<Saved> {
    let logical_pages = u32_at(bytes, 4)?;
    if u32_at(bytes, 0)? != MAGIC || u32_at(bytes, 8)? != blocks {
        return None;
    }
    let (entries, sequence) = (u32_at(bytes, 12)?, u64_at(bytes, 16)?);
    let mut saved = Saved {
        sequence,
        logical_pages,
        erases: Vec::new(),
        written: Vec::new(),
        first_sequence: Vec::new(),
        map: Vec::new(),
        blocks: stands_in,
    };
    let mut at = HEADER_BYTES;
    for _ in 0..blocks {
        saved.erases.push(u32_at(bytes, at)?);
        saved.written.push(u32_at(bytes, at + 4)?);
        saved.first_sequence.push(u64_at(bytes, at + 8)?);
        at += BLOCK_BYTES;
    }
    for _ in 0..entries {
        saved.map.push(u32_at(bytes, at)?);
        at += 4;
    }
    let crc = u32_at(bytes, at)?;
    (crc32fast::hash(&bytes[..at]) == crc).then_some(saved)
}
