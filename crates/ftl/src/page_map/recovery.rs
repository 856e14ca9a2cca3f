//! Finding the map again: the last checkpoint, and the records of all pages that were programmed since.
//!
//! A block is as the checkpoint knows it if its first page has the sequence number that stands there; then only the pages
//! behind those that it knows are looked at. In each block that is looked at, the last page with a record is read whole: a cut
//! program can leave a record and damaged data. Where several dies work, the cut can have hit so many of the last pages, and
//! pages between them can be erased. A block that was not written to its end is written on; the first page then says so in its record, and
//! pages before it are looked at as those at the end of a block are. Nothing is erased or programmed here, so that a cut during a mount costs nothing.

use std::collections::VecDeque;

use ffslab_mtd::MtdError;

use super::checkpoint::Saved;
use super::eviction::NONE;
use super::{PageMap, Stream};
use crate::blocks::State;
use crate::causes;
use crate::config::{FtlConfig, FtlError};
use crate::flash::Flash;
use crate::tag::{Found, Tag, FLAG_LOST, FLAG_RESUMED, KIND_CHECKPOINT, KIND_DATA, KIND_MAP, KIND_TRIM};

/// What a mount found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    pub used_checkpoint: bool,
    /// Out-of-band areas that were read.
    pub records_read: u64,
    /// Pages that were read whole.
    pub pages_read: u64,
    /// Blocks that were not as a checkpoint knew them.
    pub scanned_blocks: u32,
    /// Pages with a damaged record or damaged data.
    pub torn_pages: u32,
}

/// What the scan knows so far.
struct Scan {
    /// Sequence number of what each entry of the map points to.
    best: Vec<u64>,
    /// Blocks as the checkpoint knows them.
    unchanged: Vec<bool>,
    knows_erases: Vec<bool>,
    /// Blocks that were not written to their end: the last sequence number in each, the block, and the kind of its pages.
    begun: Vec<(u64, u32, u8)>,
    found: Recovered,
}

impl<F: Flash> PageMap<F> {
    /// Finds a device again.
    ///
    /// # Errors
    /// The medium holds a device of another size; errors of the medium.
    pub fn mount(flash: F, config: FtlConfig) -> Result<(PageMap<F>, Recovered), FtlError> {
        let mut ftl = PageMap::blank(flash, config)?;
        let begun_ns = ftl.flash.found_ns();
        let found = {
            let _reason = ftl.flash.because(&causes::RECOVERY_SCAN);
            ftl.recover()?
        };
        ftl.statistics.mount_ns = ftl.flash.now_ns() - begun_ns;
        Ok((ftl, found))
    }

    fn recover(&mut self) -> Result<Recovered, FtlError> {
        let blocks = self.shape.blocks;
        let mut scan = Scan {
            best: vec![0; self.map.len()],
            unchanged: vec![false; blocks as usize],
            knows_erases: vec![false; blocks as usize],
            begun: Vec::new(),
            found: Recovered::default(),
        };
        let mut first_records = vec![Found::Erased; blocks as usize];
        let mut with_checkpoints = Vec::new();
        for block in (0..blocks).filter(|&block| !self.flash.is_bad(block)) {
            let found = self.flash.read_tag(block << self.block_shift)?;
            scan.found.records_read += 1;
            first_records[block as usize] = found;
            if matches!(found, Found::Tag(Tag { kind: KIND_CHECKPOINT, .. })) {
                with_checkpoints.push(block);
            }
        }
        let saved = self.find_checkpoint(&with_checkpoints, &mut scan.found.pages_read)?;
        if let Some(saved) = &saved {
            self.begin_with(saved, &mut scan)?;
        }
        for block in 0..blocks {
            if !self.flash.is_bad(block) && !with_checkpoints.contains(&block) {
                self.scan_block(block, first_records[block as usize], saved.as_ref(), &mut scan)?;
            }
        }
        self.drop_what_was_erased(saved.as_ref(), &scan);
        self.apply_trims(saved.as_ref(), &mut scan)?;
        self.rebuild(saved.map(|saved| saved.blocks).unwrap_or_default(), &mut scan)?;
        self.compare_translations()?;
        Ok(scan.found)
    }

    fn begin_with(&mut self, saved: &Saved, scan: &mut Scan) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages;
        if saved.logical_pages != logical_pages || saved.map.len() != self.map.len() {
            return Err(FtlError::OtherSize { logical_pages, found: saved.logical_pages });
        }
        scan.found.used_checkpoint = true;
        self.map.clone_from(&saved.map);
        scan.best.fill(saved.sequence);
        self.sequence = self.sequence.max(saved.sequence);
        for (block, &erases) in saved.erases.iter().enumerate() {
            self.blocks.erases[block] = self.blocks.erases[block].max(erases);
            scan.knows_erases[block] = true;
        }
        Ok(())
    }

    fn scan_block(&mut self, block: u32, first: Found, saved: Option<&Saved>, scan: &mut Scan) -> Result<(), FtlError> {
        let (index, first_page) = (block as usize, block << self.block_shift);
        let mut start = 0;
        if let Found::Tag(tag) = first {
            self.blocks.first_sequence[index] = tag.sequence;
            if let Some(saved) = saved.filter(|saved| saved.first_sequence[index] == tag.sequence) {
                scan.unchanged[index] = true;
                start = saved.written[index];
            }
        }
        if !scan.unchanged[index] {
            scan.found.scanned_blocks += 1;
        }
        let mut written = start;
        // The last pages with a record, of which the cut can have torn any.
        let mut pending = VecDeque::with_capacity(self.overlapped_pages as usize);
        for page in start..self.shape.pages_per_block {
            let found = if page == 0 { first } else { self.read_record(first_page + page, scan)? };
            match found {
                Found::Erased if page + 1 - written >= self.overlapped_pages => break,
                Found::Erased => continue,
                Found::Garbage => scan.found.torn_pages += 1,
                Found::Tag(tag) => {
                    if tag.flags_bits & FLAG_RESUMED != 0 {
                        self.apply_whole(&mut pending, scan)?;
                    }
                    pending.push_back((first_page + page, tag));
                    if pending.len() > self.overlapped_pages as usize {
                        pending.pop_front().into_iter().for_each(|(page, tag)| self.apply(page, &tag, scan));
                    }
                }
            }
            written = page + 1;
        }
        self.blocks.written[index] = written;
        let Some(&(_, Tag { kind, erases, sequence, .. })) = pending.back() else { return Ok(()) };
        self.blocks.erases[index] = self.blocks.erases[index].max(erases);
        scan.knows_erases[index] = true;
        self.sequence = self.sequence.max(sequence);
        self.apply_whole(&mut pending, scan)?;
        if written < self.shape.pages_per_block {
            scan.begun.push((sequence, block, kind));
        }
        Ok(())
    }

    /// Of pages that a cut can have torn, those count that are whole.
    fn apply_whole(&mut self, pages: &mut VecDeque<(u32, Tag)>, scan: &mut Scan) -> Result<(), FtlError> {
        for (page, tag) in pages.drain(..) {
            if self.is_whole(page, &tag, scan)? {
                self.apply(page, &tag, scan);
            } else {
                scan.found.torn_pages += 1;
            }
        }
        Ok(())
    }

    fn read_record(&self, page: u32, scan: &mut Scan) -> Result<Found, FtlError> {
        scan.found.records_read += 1;
        Ok(self.flash.read_tag(page)?)
    }

    /// Whether the data of a page are those that its record tells of.
    fn is_whole(&mut self, page: u32, tag: &Tag, scan: &mut Scan) -> Result<bool, FtlError> {
        scan.found.pages_read += 1;
        let (_, read) = self.flash.read(page, &mut self.buffer);
        match read {
            Ok(_) => Ok(crc32fast::hash(&self.buffer) == tag.data_crc || tag.flags_bits & FLAG_LOST != 0),
            Err(MtdError::Uncorrectable) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn apply(&mut self, page: u32, tag: &Tag, scan: &mut Scan) {
        self.sequence = self.sequence.max(tag.sequence);
        let logical_pages = self.config.logical_pages;
        let number = match tag.kind {
            KIND_DATA if tag.number < logical_pages => tag.number as usize,
            KIND_TRIM if tag.number < self.first_translation - self.first_trim => {
                (self.first_trim + tag.number) as usize
            }
            KIND_MAP => self.first_translation as usize + tag.number as usize,
            _ => return,
        };
        if let Some(best) = scan.best.get_mut(number).filter(|best| **best < tag.sequence) {
            *best = tag.sequence;
            self.map[number] = page;
        }
    }

    /// What the checkpoint found in a block that was erased since has a later copy, or was trimmed.
    fn drop_what_was_erased(&mut self, saved: Option<&Saved>, scan: &Scan) {
        let Some(saved) = saved else { return };
        for (page, &best) in self.map.iter_mut().zip(&scan.best) {
            let from_checkpoint = best == saved.sequence && *page != NONE;
            if from_checkpoint && !scan.unchanged[(*page >> self.block_shift) as usize] {
                *page = NONE;
            }
        }
    }

    /// A logical page was trimmed if its bit is set in a page that was written after its last copy.
    fn apply_trims(&mut self, saved: Option<&Saved>, scan: &mut Scan) -> Result<(), FtlError> {
        let logical_pages = self.config.logical_pages as usize;
        let bits = self.shape.page_bytes as usize * 8;
        for number in logical_pages..self.first_translation as usize {
            let (page, sequence) = (self.map[number], scan.best[number]);
            if page == NONE || saved.is_some_and(|saved| saved.sequence >= sequence) {
                continue;
            }
            scan.found.pages_read += 1;
            match self.flash.read(page, &mut self.buffer).1 {
                Ok(_) => {}
                // Trims are lost, no data are.
                Err(MtdError::Uncorrectable) => continue,
                Err(error) => return Err(error.into()),
            }
            let first = (number - logical_pages) * bits;
            for logical in first..logical_pages.min(first + bits) {
                let bit = logical - first;
                let is_trimmed = self.buffer[bit / 8] >> (bit % 8) & 1 == 1;
                if is_trimmed && scan.best[logical] < sequence {
                    self.map[logical] = NONE;
                }
            }
        }
        Ok(())
    }

    /// Makes the tables of RAM from the map.
    fn rebuild(&mut self, checkpoint_blocks: Vec<u32>, scan: &mut Scan) -> Result<(), FtlError> {
        for (number, &page) in self.map.iter().enumerate() {
            if page != NONE {
                debug_assert_eq!(self.owner[page as usize], NONE, "page {page} is mapped twice");
                self.owner[page as usize] = number as u32;
                self.blocks.valid[(page >> self.block_shift) as usize] += 1;
            }
        }
        self.guess_erases(scan);
        let good = (0..self.shape.blocks).filter(|&block| !self.flash.is_bad(block));
        let mut in_order: Vec<u32> = good.collect();
        in_order.sort_by_key(|&block| self.blocks.first_sequence[block as usize]);
        self.go_on_in_blocks(scan)?;
        for block in in_order {
            if checkpoint_blocks.contains(&block) {
                self.blocks.state[block as usize] = State::Checkpoint;
            } else if self.open.contains(&block) {
                self.blocks.state[block as usize] = State::Open;
            } else if self.blocks.valid[block as usize] > 0 {
                self.blocks.close(block, self.blocks.first_sequence[block as usize].min(self.sequence));
            } else {
                self.blocks.release(block, false);
            }
        }
        self.checkpoint_blocks = checkpoint_blocks;
        Ok(())
    }

    /// The blocks that were written last are written on behind what a cut has torn, if the next pages are erased to the last bit. Otherwise
    /// a device whose power fails again and again while it collects would have a block less each time.
    fn go_on_in_blocks(&mut self, scan: &mut Scan) -> Result<(), FtlError> {
        scan.begun.sort_unstable_by(|one, other| other.cmp(one));
        for &(_, block, kind) in &scan.begun {
            let streams = match kind {
                KIND_MAP => [Stream::Translation; 2],
                _ => [Stream::Host, Stream::Collected],
            };
            let place = streams.map(|stream| self.place_of(stream)).into_iter().find(|&place| self.open[place] == NONE);
            if let Some(place) = place.filter(|_| self.cache.is_some() || kind != KIND_MAP) {
                if self.ends_erased(block)? {
                    self.open[place] = block;
                    self.resumed.push(block);
                }
            }
        }
        Ok(())
    }

    /// Whether the pages behind the last one that was written are erased, as far as a cut can have hit them.
    fn ends_erased(&mut self, block: u32) -> Result<bool, FtlError> {
        let written = self.blocks.written[block as usize];
        let end = self.shape.pages_per_block.min(written + self.overlapped_pages);
        for page in written..end {
            let (found, read) = self.flash.read((block << self.block_shift) + page, &mut self.buffer);
            match read {
                Err(MtdError::Uncorrectable) => return Ok(false),
                Err(error) => return Err(error.into()),
                Ok(_) if found != Found::Erased || !ffslab_mtd::is_erased(&self.buffer) => return Ok(false),
                Ok(_) => {}
            }
        }
        Ok(true)
    }

    /// Blocks without a record have the mean of the others.
    fn guess_erases(&mut self, scan: &Scan) {
        let known = || scan.knows_erases.iter().zip(&self.blocks.erases).filter(|(known, _)| **known);
        let (sum, count) = known().fold((0, 0), |(sum, count), (_, &erases)| (sum + u64::from(erases), count + 1));
        let mean = (sum / count.max(1)) as u32;
        for (erases, _) in self.blocks.erases.iter_mut().zip(&scan.knows_erases).filter(|(_, known)| !**known) {
            *erases = (*erases).max(mean);
        }
    }
}
