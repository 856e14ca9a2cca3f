//! A partition of an SPI NAND chip as a medium. Addresses, looks, counts, power and contents are those of a partition of raw NAND
//! ([`NandPartition`]); the operations are the serial driver's.

use super::core::Serial;
use super::Wiring;
use crate::driver::{Driver, DriverError};
use crate::error::{Corrected, MediumError, MtdError, RestoreError, SaveError};
use crate::handle::Mtd;
use crate::health::{Health, Upkeep};
use crate::medium::{Capabilities, Medium, MediumImage};
use crate::nand::{EccResult, Nand};
use crate::partition::{NandPartition, PartitionError};
use ffslab_flash::{Chip, Torn, Traffic};
use ffslab_sim::Sim;
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

/// A range of erase blocks of an SPI NAND chip. Clones are cheap and share the chip.
#[derive(Clone)]
pub struct SpiNand {
    part: NandPartition,
    serial: Rc<RefCell<Serial>>,
}

impl SpiNand {
    /// A chip whose times are those of `wiring` ([`Wiring::timing`]), with its driver, and the partition of these erase blocks.
    /// `driver` says what operations take beyond the chip and the bus, and their power; its ECC is the chip's.
    ///
    /// Errors: sizes or a strength that do not suit layout and encoding, a partition that is not on the chip.
    pub fn of_chip(chip: Chip, wiring: Wiring, driver: Driver, blocks: Range<u32>) -> Result<Mtd, MediumError> {
        let geometry = chip.geometry();
        if !driver.ecc.engine.is_on_die {
            return Err(DriverError::NotOnDie { engine: driver.ecc.engine.title }.into());
        }
        let (strength_bits, most_bits) = (wiring.strength_bits, wiring.encoding.strength_max_bits());
        if !(1..=most_bits).contains(&strength_bits) {
            return Err(DriverError::Strength { strength_bits, most_bits }.into());
        }
        let (dies, blocks_of_chip) = (wiring.dies, geometry.blocks);
        if dies == 0 || !blocks_of_chip.is_multiple_of(dies) {
            return Err(DriverError::Dies { dies, blocks: blocks_of_chip }.into());
        }
        let (page_bytes, oob_bytes) = (geometry.page_bytes, geometry.oob_bytes);
        let layout = wiring.layout.of(&geometry).filter(|_| page_bytes >= 2048);
        let layout = layout.ok_or(DriverError::NoOnDieLayout { page_bytes, oob_bytes })?;
        let driver = Driver { ecc: wiring.ecc(), ..driver };
        let nand = Nand::with_layout(chip, driver, layout);
        let serial = Rc::new(RefCell::new(Serial::new(&nand.0.borrow(), wiring)));
        let part = NandPartition::new(&nand, blocks.start, blocks.end - blocks.start)?;
        Ok(SpiNand { part, serial }.into_mtd())
    }

    fn into_mtd(self) -> Mtd {
        let medium: Rc<dyn Medium> = Rc::new(self);
        medium.into()
    }

    /// How the chip is driven.
    pub fn wiring(&self) -> Wiring {
        self.serial.borrow().wiring().clone()
    }

    fn page_bytes(&self) -> usize {
        self.part.page_bytes as usize
    }
}

impl Medium for SpiNand {
    fn sim(&self) -> &Sim {
        self.part.sim()
    }

    /// No part of a page can be programmed alone: the chip's ECC covers more, and `writesize` is all that the core knows.
    fn capabilities(&self) -> Capabilities {
        let can = self.part.capabilities();
        Capabilities { partial_program_bytes: can.program_bytes, ..can }
    }

    fn nand(&self) -> Option<&NandPartition> {
        Some(&self.part)
    }

    fn beside(&self, blocks: Range<u32>, sim: Sim) -> Option<Result<Mtd, PartitionError>> {
        let part = self.part.beside(blocks.start, blocks.end - blocks.start, sim);
        Some(part.map(|part| SpiNand { part, serial: self.serial.clone() }.into_mtd()))
    }

    // ---- operations ------------------------------------------------------------------------------------------------

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        self.part.check_range(at, data.len() as u64)?;
        let (mut core, mut serial) = (self.part.nand().0.borrow_mut(), self.serial.borrow_mut());
        let (mut page, mut column) = (self.part.page_of(at), self.part.column_of(at));
        let pages = (column + data.len()).div_ceil(self.page_bytes()) as u32;
        let is_in_block = page % self.part.pages_per_block + pages <= self.part.pages_per_block;
        let mut result = EccResult::CLEAN;
        if is_in_block && serial.reads_on(pages) {
            result = serial.read_continuously(&mut core, page, column, data)?;
        } else {
            let mut rest = data;
            while !rest.is_empty() {
                let (part, after) = rest.split_at_mut(rest.len().min(self.page_bytes() - column));
                result = result.worse(serial.read(&mut core, page, column, part)?);
                (page, column, rest) = (page + 1, 0, after);
            }
        }
        core.sim.chip_used();
        core.report(result)
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.part.check_range(at, data.len() as u64)?;
        if self.part.column_of(at) != 0 || !data.len().is_multiple_of(self.page_bytes()) {
            return Err(MtdError::Unaligned);
        }
        self.part.programs_pages((data.len() / self.page_bytes()) as u64);
        let (mut core, mut serial) = (self.part.nand().0.borrow_mut(), self.serial.borrow_mut());
        let mut pages = data.chunks_exact(self.page_bytes()).zip(self.part.page_of(at)..);
        let done = pages.try_for_each(|(data, page)| serial.write(&mut core, page, data, None));
        core.sim.chip_used();
        done
    }

    fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        if data.len() != self.page_bytes() {
            return Err(MtdError::Unaligned);
        }
        self.write(at, data)
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        let block = self.part.block_of(at)?;
        if at & u64::from(self.part.erase_block_bytes() - 1) != 0 {
            return Err(MtdError::Unaligned);
        }
        let mut core = self.part.nand().0.borrow_mut();
        let done = self.serial.borrow_mut().erase(&mut core, block);
        core.sim.chip_used();
        done
    }

    // ---- out-of-band bytes -----------------------------------------------------------------------------------------

    fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.part.check_page_with_oob(at, data.len(), free.len())?;
        let mut core = self.part.nand().0.borrow_mut();
        let result = self.serial.borrow_mut().read_with_oob(&mut core, self.part.page_of(at), data, free)?;
        core.sim.chip_used();
        core.report(result)
    }

    fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        self.part.check_page_with_oob(at, data.len(), free.len())?;
        self.part.programs_pages(1);
        let mut core = self.part.nand().0.borrow_mut();
        let done = self.serial.borrow_mut().write(&mut core, self.part.page_of(at), data, Some(free));
        core.sim.chip_used();
        done
    }

    fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        self.part.check_oob_range(at, free.len())?;
        let (mut core, mut serial) = (self.part.nand().0.borrow_mut(), self.serial.borrow_mut());
        let mut result = EccResult::CLEAN;
        for (part, page) in free.chunks_mut(self.part.oob_free_bytes.max(1) as usize).zip(self.part.page_of(at)..) {
            result = result.worse(serial.read_oob(&mut core, page, part)?);
        }
        core.sim.chip_used();
        core.report(result).map(|_| ())
    }

    fn write_oob_free(&self, at: u64, free: &[u8]) -> Result<(), MtdError> {
        self.part.check_oob_range(at, free.len())?;
        let (mut core, mut serial) = (self.part.nand().0.borrow_mut(), self.serial.borrow_mut());
        for (part, page) in free.chunks(self.part.oob_free_bytes.max(1) as usize).zip(self.part.page_of(at)..) {
            serial.write_oob(&mut core, page, part)?;
        }
        core.sim.chip_used();
        Ok(())
    }

    fn free_mark_bytes(&self) -> u32 {
        self.serial.borrow().free_mark_bytes(&self.part.nand().0.borrow())
    }

    // ---- bad blocks ------------------------------------------------------------------------------------------------

    fn is_bad(&self, at: u64) -> bool {
        let core = self.part.nand().0.borrow();
        self.part.block_of(at).map_or(true, |block| self.serial.borrow().is_bad(&core, block))
    }

    fn ask_bad(&self, at: u64) -> bool {
        let mut core = self.part.nand().0.borrow_mut();
        // A chip without power says that nothing is good.
        let asked = self.part.block_of(at).and_then(|block| self.serial.borrow_mut().ask_bad(&mut core, block));
        core.sim.chip_used();
        asked.unwrap_or(true)
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        let block = self.part.block_of(at)?;
        let mut core = self.part.nand().0.borrow_mut();
        let done = self.serial.borrow_mut().mark_bad(&mut core, block);
        core.sim.chip_used();
        done
    }

    // ---- for observers, power, contents ----------------------------------------------------------------------------

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.part.look(at, data)
    }

    fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        self.part.look_at_written_pages(at)
    }

    fn traffic(&self) -> Traffic {
        self.part.traffic()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.part.erase_counts()
    }

    fn formatting_erases(&self) -> Vec<u32> {
        self.part.formatting_erases()
    }

    fn health(&self) -> Option<Health> {
        self.part.health()
    }

    fn note(&self, what: Upkeep) {
        self.part.note(what);
    }

    fn lies(&self, time_s: f64, celsius: f64) -> bool {
        self.part.lies(time_s, celsius)
    }

    fn erases_left(&self) -> Vec<u32> {
        self.part.erases_left()
    }

    fn wear_on(&self, more_erases: &[u32]) -> Result<(), MtdError> {
        self.part.wear_on(more_erases)
    }

    fn amend(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.part.amend(at, data)
    }

    fn programmed_pages(&self) -> Vec<u32> {
        self.part.programmed_pages()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.part.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.part.is_on()
    }

    fn restart(&self) {
        self.part.restart();
        self.serial.borrow_mut().restart(&self.part.nand().0.borrow());
    }

    fn modifying_operations(&self) -> u64 {
        self.part.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        self.part.snapshot()
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        self.part.restore(held)?;
        self.serial.borrow_mut().restart(&self.part.nand().0.borrow());
        Ok(())
    }

    fn rewire(&self, wiring: &Wiring) -> bool {
        self.serial.borrow_mut().rewire(&mut self.part.nand().0.borrow_mut(), wiring);
        true
    }

    fn image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        self.part.image(oob)
    }
}
