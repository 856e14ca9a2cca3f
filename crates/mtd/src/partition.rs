//! A partition of a raw NAND chip as a medium.

use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;

use ffslab_flash::{Chip, Geometry, Torn, Traffic};
use ffslab_sim::Sim;
use thiserror::Error;

use crate::driver::Driver;
use crate::error::{Corrected, MtdError, RestoreError, SaveError};
use crate::handle::Mtd;
use crate::health::{Health, Upkeep};
use crate::layout::OobLayout;
use crate::medium::{Capabilities, Medium, MediumImage};
use crate::nand::{is_erased, EccResult, Nand};
use crate::slc_mode::{SlcModeError, UsedPages};

/// A range of erase blocks of a chip; addresses are bytes from its start. Clones are cheap and share the chip.
#[derive(Clone)]
pub struct NandPartition {
    nand: Nand,
    sim: Sim,
    first_block: u32,
    blocks: u32,
    pub(crate) pages_per_block: u32,
    pub(crate) page_bytes: u32,
    page_shift: u32,
    block_shift: u32,
    pub(crate) oob_bytes: u32,
    pub(crate) oob_free_bytes: u32,
    programmed_pages: Rc<Cell<u64>>,
    /// In SLC mode: the pages that are used. `None`: all are.
    pub(crate) used_pages: Option<UsedPages>,
}

/// A partition that is not on the chip.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a partition of {blocks} blocks from block {first_block} is not on the chip, which has {chip_blocks} blocks")]
pub struct PartitionError {
    pub first_block: u32,
    pub blocks: u32,
    pub chip_blocks: u32,
}

impl NandPartition {
    /// The partition of `blocks` erase blocks (at least one) from block `first_block` of the chip.
    pub fn new(nand: &Nand, first_block: u32, blocks: u32) -> Result<NandPartition, PartitionError> {
        let core = nand.0.borrow();
        let geometry = core.chip().geometry();
        let chip_blocks = geometry.blocks;
        if blocks == 0 || first_block.checked_add(blocks).is_none_or(|end| end > chip_blocks) {
            return Err(PartitionError { first_block, blocks, chip_blocks });
        }
        Ok(NandPartition {
            nand: nand.clone(),
            sim: core.sim().clone(),
            first_block,
            blocks,
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            page_shift: geometry.page_bytes.trailing_zeros(),
            block_shift: geometry.block_bytes().trailing_zeros(),
            oob_bytes: geometry.oob_bytes,
            oob_free_bytes: core.layout.free_bytes() as u32,
            programmed_pages: Rc::default(),
            used_pages: None,
        })
    }

    /// The same erase blocks in SLC mode (`slc_mode.rs`).
    ///
    /// Errors: it is not known which pages of the chip share their cells, or what would remain is no erase block.
    pub fn in_slc_mode(self) -> Result<NandPartition, SlcModeError> {
        let chip_pages = self.geometry().pages_per_block;
        let used = UsedPages::new(self.nand.0.borrow().chip().pairing(), chip_pages)?;
        Ok(self.using(used))
    }

    fn using(self, used: UsedPages) -> NandPartition {
        let pages_per_block = used.per_block();
        let block_shift = (self.page_bytes * pages_per_block).trailing_zeros();
        NandPartition { pages_per_block, block_shift, used_pages: Some(used), ..self }
    }

    /// Another partition of the same chip, for another mount, in SLC mode if this one is.
    ///
    /// Errors: it is not on the chip.
    pub fn beside(&self, first_block: u32, blocks: u32, sim: Sim) -> Result<NandPartition, PartitionError> {
        let made = NandPartition { sim, ..NandPartition::new(&self.nand, first_block, blocks)? };
        Ok(match &self.used_pages {
            None => made,
            Some(used) => made.using(used.clone()),
        })
    }

    /// How many pages programs of this partition were asked for, with or without data in their OOB areas.
    pub fn page_programs(&self) -> u64 {
        self.programmed_pages.get()
    }

    #[inline]
    pub(crate) fn programs_pages(&self, pages: u64) {
        self.programmed_pages.set(self.programmed_pages.get() + pages);
    }

    /// The chip and driver that the partition lies on.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Sizes of the whole chip.
    pub fn geometry(&self) -> Geometry {
        self.nand.0.borrow().chip().geometry()
    }

    pub fn driver(&self) -> Driver {
        self.nand.driver()
    }

    /// Which out-of-band bytes are free.
    pub fn oob_layout(&self) -> OobLayout {
        self.nand.0.borrow().layout.clone()
    }

    /// The erase blocks of the chip that are the partition's.
    pub fn range(&self) -> Range<u32> {
        self.first_block..self.first_block + self.blocks
    }

    /// Gives access to the chip itself, as [`Nand::with_chip`] does.
    pub fn with_chip<R>(&self, act: impl FnOnce(&mut Chip) -> R) -> R {
        self.nand.with_chip(act)
    }

    pub(crate) fn erase_block_bytes(&self) -> u32 {
        self.page_bytes * self.pages_per_block
    }

    fn size_bytes(&self) -> u64 {
        u64::from(self.blocks) << self.block_shift
    }

    /// Smallest part of a page that can be programmed alone: a half of two ECC steps, a quarter of 4, 8 or 16
    /// (`nand_scan_tail`, `subpage_sft`); the whole page of other numbers, and where a second program is forbidden, as on MLC.
    fn subpage_bytes(&self) -> u32 {
        let nand = self.nand.0.borrow();
        match self.page_bytes / nand.driver.ecc.code.step_bytes.max(1) {
            _ if nand.chip().rules().partial_programs_max == 1 => self.page_bytes,
            2 => self.page_bytes / 2,
            4 | 8 | 16 => self.page_bytes / 4,
            _ => self.page_bytes,
        }
    }

    // ---- addresses -----------------------------------------------------------------------------------------

    #[inline]
    pub(crate) fn check_range(&self, at: u64, bytes: u64) -> Result<(), MtdError> {
        match at.checked_add(bytes) {
            Some(end) if end <= self.size_bytes() => Ok(()),
            _ => Err(MtdError::OutOfRange),
        }
    }

    /// Page of the chip that holds byte `at` of the partition. `at` has been checked.
    #[inline]
    pub(crate) fn page_of(&self, at: u64) -> u32 {
        self.page_of_chip((at >> self.page_shift) as u32)
    }

    /// Page of the chip that is the partition's page of this number.
    #[inline]
    fn page_of_chip(&self, page: u32) -> u32 {
        match &self.used_pages {
            None => self.first_block * self.pages_per_block + page,
            Some(used) => used.page_of_chip(self.first_block, page),
        }
    }

    /// Pages of the chip from the one that holds byte `at` on.
    #[inline]
    fn pages_from(&self, at: u64) -> impl Iterator<Item = u32> + '_ {
        ((at >> self.page_shift) as u32..).map(|page| self.page_of_chip(page))
    }

    /// Block of the chip that holds byte `at` of the partition.
    pub(crate) fn block_of(&self, at: u64) -> Result<u32, MtdError> {
        self.check_range(at, 1)?;
        Ok(self.first_block + (at >> self.block_shift) as u32)
    }

    #[inline]
    pub(crate) fn column_of(&self, at: u64) -> usize {
        (at as u32 & (self.page_bytes - 1)) as usize
    }

    pub(crate) fn check_page_with_oob(&self, at: u64, data_bytes: usize, free_bytes: usize) -> Result<(), MtdError> {
        self.check_range(at, data_bytes as u64)?;
        if self.column_of(at) != 0 || data_bytes != self.page_bytes as usize {
            return Err(MtdError::Unaligned);
        }
        if free_bytes > self.oob_free_bytes as usize {
            return Err(MtdError::OutOfRange);
        }
        Ok(())
    }

    pub(crate) fn check_oob_range(&self, at: u64, free_bytes: usize) -> Result<(), MtdError> {
        let pages = match self.oob_free_bytes {
            0 if free_bytes > 0 => return Err(MtdError::OutOfRange),
            0 => 0,
            per_page => free_bytes.div_ceil(per_page as usize) as u64,
        };
        let page_start = at - self.column_of(at) as u64;
        self.check_range(page_start, pages << self.page_shift)
    }

    fn of_partition(&self, counts: &[u32]) -> Vec<u32> {
        counts[self.first_block as usize..(self.first_block + self.blocks) as usize].to_vec()
    }
}

impl Medium for NandPartition {
    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            blocks: self.blocks,
            chip_blocks: self.geometry().blocks,
            erase_block_bytes: self.erase_block_bytes(),
            program_bytes: self.page_bytes,
            partial_program_bytes: self.subpage_bytes(),
            write_buffer_bytes: self.page_bytes,
            oob_bytes: self.oob_bytes,
            oob_free_bytes: self.oob_free_bytes,
            clears_bits_again: false,
            has_bad_blocks: true,
            torn_erase_may_keep_start: false,
            in_memory: false,
        }
    }

    fn nand(&self) -> Option<&NandPartition> {
        Some(self)
    }

    fn beside(&self, blocks: Range<u32>, sim: Sim) -> Option<Result<Mtd, PartitionError>> {
        Some(NandPartition::beside(self, blocks.start, blocks.end - blocks.start, sim).map(Mtd::from))
    }

    // ---- reading -------------------------------------------------------------------------------------------

    #[inline]
    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        self.check_range(at, data.len() as u64)?;
        let mut core = self.nand.0.borrow_mut();
        let (mut page, mut column, mut rest) = ((at >> self.page_shift) as u32, self.column_of(at), data);
        let mut result = EccResult::CLEAN;
        while !rest.is_empty() {
            let (part, after) = rest.split_at_mut(rest.len().min(self.page_bytes as usize - column));
            result = result.worse(core.read(self.page_of_chip(page), column, part)?);
            (page, column, rest) = (page + 1, 0, after);
        }
        self.sim.chip_used();
        core.report(result)
    }

    fn reads_erased(&self, at: u64, buffer: &mut [u8]) -> Result<bool, MtdError> {
        let page_bytes = self.page_bytes as usize;
        if self.column_of(at) != 0 || !buffer.len().is_multiple_of(page_bytes) {
            return self.read(at, buffer).map(|_| is_erased(buffer));
        }
        self.check_range(at, buffer.len() as u64)?;
        let mut core = self.nand.0.borrow_mut();
        let (mut result, mut erased) = (EccResult::CLEAN, true);
        for (part, page) in buffer.chunks_exact_mut(page_bytes).zip(self.pages_from(at)) {
            let (of_page, page_erased) = core.reads_erased(page, part)?;
            result = result.worse(of_page);
            erased &= page_erased;
        }
        self.sim.chip_used();
        core.report(result).map(|_| erased)
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.check_range(at, data.len() as u64)?;
        let core = self.nand.0.borrow();
        let (mut page, mut column, mut rest) = ((at >> self.page_shift) as u32, self.column_of(at), data);
        while !rest.is_empty() {
            let (part, after) = rest.split_at_mut(rest.len().min(self.page_bytes as usize - column));
            match core.chip().peek_data(self.page_of_chip(page)) {
                Some(cells) => part.copy_from_slice(&cells[column..column + part.len()]),
                None => part.fill(0xFF),
            }
            (page, column, rest) = (page + 1, 0, after);
        }
        Ok(())
    }

    fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        self.check_range(at, u64::from(self.erase_block_bytes()))?;
        let core = self.nand.0.borrow();
        let written = |page: u32| core.chip().peek_data(page).is_some();
        let pages = self.pages_from(at).zip(1..=self.pages_per_block);
        Ok(pages.filter(|&(page, _)| written(page)).last().map_or(0, |(_, number)| number))
    }

    fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.check_page_with_oob(at, data.len(), free.len())?;
        let mut core = self.nand.0.borrow_mut();
        let result = core.read_with_oob(self.page_of(at), data, free)?;
        self.sim.chip_used();
        core.report(result)
    }

    fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        self.check_oob_range(at, free.len())?;
        let mut core = self.nand.0.borrow_mut();
        for (part, page) in free.chunks_mut(self.oob_free_bytes.max(1) as usize).zip(self.pages_from(at)) {
            core.read_oob(page, part)?;
        }
        self.sim.chip_used();
        Ok(())
    }

    // ---- writing -------------------------------------------------------------------------------------------

    #[inline]
    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.check_range(at, data.len() as u64)?;
        if self.column_of(at) != 0 || !data.len().is_multiple_of(self.page_bytes as usize) {
            return Err(MtdError::Unaligned);
        }
        self.programs_pages(data.len() as u64 >> self.page_shift);
        let mut core = self.nand.0.borrow_mut();
        let first = self.page_of(at);
        core.forget(first, self.page_of(at + data.len() as u64) - first);
        for (part, page) in data.chunks_exact(self.page_bytes as usize).zip(self.pages_from(at)) {
            core.write(page, part)?;
        }
        self.sim.chip_used();
        Ok(())
    }

    /// Writes sub-pages of one page: one program of the page in which the bytes outside `data` stay as they are. The
    /// chip must allow several programs of a page.
    fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.check_range(at, data.len() as u64)?;
        let (column, subpage_bytes) = (self.column_of(at), self.subpage_bytes() as usize);
        let aligned = column % subpage_bytes == 0 && data.len().is_multiple_of(subpage_bytes);
        if !aligned || data.is_empty() || column + data.len() > self.page_bytes as usize {
            return Err(MtdError::Unaligned);
        }
        self.programs_pages(1);
        let done = self.nand.0.borrow_mut().write_partial(self.page_of(at), column, data);
        self.sim.chip_used();
        done
    }

    fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        self.check_page_with_oob(at, data.len(), free.len())?;
        self.programs_pages(1);
        let done = self.nand.0.borrow_mut().write_with_oob(self.page_of(at), data, free);
        self.sim.chip_used();
        done
    }

    fn write_oob_free(&self, at: u64, free: &[u8]) -> Result<(), MtdError> {
        self.check_oob_range(at, free.len())?;
        let mut core = self.nand.0.borrow_mut();
        for (part, page) in free.chunks(self.oob_free_bytes.max(1) as usize).zip(self.pages_from(at)) {
            core.write_oob(page, part)?;
        }
        self.sim.chip_used();
        Ok(())
    }

    // ---- blocks --------------------------------------------------------------------------------------------

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        let block = self.block_of(at)?;
        if at & u64::from(self.erase_block_bytes() - 1) != 0 {
            return Err(MtdError::Unaligned);
        }
        let done = self.nand.0.borrow_mut().erase(block);
        self.sim.chip_used();
        done
    }

    fn is_bad(&self, at: u64) -> bool {
        self.block_of(at).map_or(true, |block| self.nand.0.borrow().is_bad(block))
    }

    fn ask_bad(&self, at: u64) -> bool {
        // A chip without power says that nothing is good.
        let asked = self.block_of(at).and_then(|block| self.nand.0.borrow_mut().ask_bad(block));
        self.sim.chip_used();
        asked.unwrap_or(true)
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        let block = self.block_of(at)?;
        self.nand.0.borrow_mut().mark_bad(block)
    }
    // ---- for observers ---------------------------------------------------------------------------------------

    /// Everything that moved on the bus, out-of-band bytes included.
    fn traffic(&self) -> Traffic {
        let done = self.sim.total();
        Traffic {
            reads: done.page_reads + done.oob_reads,
            read_bytes: done.bus_out_bytes,
            programs: done.page_programs + done.oob_programs,
            write_bytes: done.bus_in_bytes,
            erases: done.erases,
        }
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.with_chip(|chip| self.of_partition(chip.erase_counts()))
    }

    fn formatting_erases(&self) -> Vec<u32> {
        self.with_chip(|chip| self.of_partition(chip.formatting_erases()))
    }

    fn health(&self) -> Option<Health> {
        self.nand.0.borrow().health()
    }

    fn note(&self, what: Upkeep) {
        self.nand.0.borrow_mut().note(what);
    }

    fn programmed_pages(&self) -> Vec<u32> {
        self.with_chip(|chip| self.range().map(|block| chip.programmed_pages(block)).collect())
    }

    // ---- power and contents ----------------------------------------------------------------------------------

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.with_chip(|chip| chip.cut_power_after(operations, torn));
    }

    fn is_on(&self) -> bool {
        self.nand.0.borrow().chip().is_on()
    }

    fn restart(&self) {
        self.with_chip(Chip::power_on);
        self.nand.restart();
    }

    fn lies(&self, time_s: f64, celsius: f64) -> bool {
        self.with_chip(|chip| chip.lies(time_s, celsius))
    }

    fn erases_left(&self) -> Vec<u32> {
        self.with_chip(|chip| self.range().map_while(|block| chip.erases_left(block)).collect())
    }

    fn wear_on(&self, more_erases: &[u32]) -> Result<(), MtdError> {
        self.with_chip(|chip| self.range().zip(more_erases).for_each(|(block, &more)| chip.wear_on(block, more)));
        Ok(())
    }

    fn amend(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.check_range(at, data.len() as u64)?;
        let column = self.column_of(at);
        if column + data.len() > self.page_bytes as usize {
            return Err(MtdError::Unaligned);
        }
        self.with_chip(|chip| chip.amend(self.page_of(at), column as u32, data));
        Ok(())
    }

    fn modifying_operations(&self) -> u64 {
        self.nand.0.borrow().chip().modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        MediumImage::Chip(Box::new(self.with_chip(|chip| chip.snapshot())))
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        let MediumImage::Chip(chip) = held else { return Err(RestoreError::NotOfChip) };
        self.with_chip(|target| target.restore(chip))?;
        self.nand.restart();
        Ok(())
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        self.saved_image(oob)
    }
}
