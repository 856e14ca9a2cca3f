//! NOR flash as a medium: any bytes are read and programmed at once, there are neither out-of-band bytes nor bad blocks. A
//! chip that a [`NorDriver`] stands above takes the commands that Linux sends; without one each request is one command.

mod memory;
mod parallel;
mod serial;

pub use memory::MemoryNor;
pub use parallel::{Commands, ParallelNor};
pub use serial::SerialNor;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use ffslab_flash::{NorFlash, NorTiming, Torn, Traffic};
use ffslab_sim::{PowerMilliwatt, Sim};

use crate::driver::OpCost;
use crate::error::{Corrected, MtdError, RestoreError};
use crate::handle::Mtd;
use crate::medium::{Capabilities, Medium, MediumImage};
use crate::partition::PartitionError;

/// What the chip is wired to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NorBus {
    Serial(SerialNor),
    Parallel(ParallelNor),
    /// To nothing: memory is there in its place.
    Memory(MemoryNor),
}

impl NorBus {
    /// The times of the chip on this bus.
    pub fn timing(&self, cells: NorTiming) -> NorTiming {
        match self {
            NorBus::Serial(serial) => serial.timing(cells),
            NorBus::Parallel(_) | NorBus::Memory(_) => cells,
        }
    }

    /// Most bytes of one program (`mtd->writebufsize`).
    fn unit_bytes(&self) -> u32 {
        match self {
            NorBus::Serial(serial) => serial.page_bytes,
            NorBus::Parallel(parallel) => parallel.unit_bytes,
            NorBus::Memory(memory) => memory.unit_bytes,
        }
    }

    fn read_head_ns(&self) -> u64 {
        match self {
            NorBus::Serial(serial) => serial.read_head_ns(),
            NorBus::Parallel(parallel) => parallel.read_head_ns(),
            NorBus::Memory(_) => 0,
        }
    }

    /// Most bytes of one command to read.
    fn read_max_bytes(&self) -> usize {
        match self {
            NorBus::Serial(serial) => serial.bus.transfer_max_bytes.max(1) as usize,
            NorBus::Parallel(_) | NorBus::Memory(_) => usize::MAX,
        }
    }

    /// Most bytes of one program that begins at `at`.
    fn program_max_bytes(&self, at: u64) -> usize {
        let unit = u64::from(self.unit_bytes());
        let to_border = (unit - at % unit) as usize;
        to_border.min(self.read_max_bytes())
    }

    fn program_head_ns(&self) -> u64 {
        match self {
            NorBus::Serial(serial) => serial.command_ns() + serial.program_head_ns(),
            NorBus::Parallel(parallel) => parallel.program_head_ns(),
            NorBus::Memory(_) => 0,
        }
    }

    fn erase_head_ns(&self) -> u64 {
        match self {
            NorBus::Serial(serial) => serial.command_ns() + serial.erase_head_ns(),
            NorBus::Parallel(parallel) => parallel.erase_head_ns(),
            NorBus::Memory(_) => 0,
        }
    }

    fn wait_ns(&self, busy_ns: u64) -> u64 {
        match self {
            NorBus::Serial(serial) => serial.wait_ns(busy_ns),
            NorBus::Parallel(parallel) => parallel.wait_ns(busy_ns),
            NorBus::Memory(_) => busy_ns,
        }
    }

    fn sees_end_at_ns(&self, sim: &Sim, began_ns: u64, busy_ns: u64) -> u64 {
        match self {
            NorBus::Serial(serial) => began_ns + serial.wait_ns(busy_ns) + serial.command_ns(),
            NorBus::Parallel(parallel) => parallel.sees_end_at_ns(sim, began_ns, busy_ns),
            NorBus::Memory(_) => began_ns + busy_ns,
        }
    }

    /// Whether the processor sees all bytes in its memory (`mtd_point`). Of the drivers for chips there only Intel's lets others
    /// look (`fixup_use_point`).
    fn in_memory(&self) -> bool {
        match self {
            NorBus::Serial(_) => false,
            NorBus::Parallel(parallel) => parallel.commands == Commands::Intel,
            NorBus::Memory(_) => true,
        }
    }

    /// Whether it is a chip, whose erases can be cut off and go on by themselves.
    fn is_chip(&self) -> bool {
        !matches!(self, NorBus::Memory(_))
    }
}

/// The driver of a NOR chip. Times beyond bus and chip, and power while an operation lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NorDriver {
    pub bus: NorBus,
    pub read: OpCost,
    pub program: OpCost,
    pub erase: OpCost,
}

/// A range of erase blocks of a NOR chip; addresses are bytes from its start. Clones are cheap and share the chip.
#[derive(Clone)]
pub struct NorPartition {
    pub(crate) chip: NorFlash,
    driver: Option<Rc<NorDriver>>,
    sim: Sim,
    blocks: Range<u32>,
    /// A program that begins in one part of a request and ends in the other.
    joint: Rc<RefCell<Vec<u8>>>,
}

impl From<NorFlash> for NorPartition {
    /// The whole chip, without a driver.
    fn from(chip: NorFlash) -> NorPartition {
        NorPartition { sim: chip.sim().clone(), blocks: 0..chip.blocks(), driver: None, joint: Rc::default(), chip }
    }
}

impl NorPartition {
    /// A chip with these times of its cells, driven so, and the partition of these erase blocks.
    ///
    /// Errors: it is not on the chip.
    pub fn of_chip(
        chip: NorFlash,
        cells: NorTiming,
        driver: NorDriver,
        blocks: Range<u32>,
    ) -> Result<NorPartition, PartitionError> {
        let chip = chip.with_timing(driver.bus.timing(cells));
        let sim = chip.sim().clone();
        let whole = NorPartition { driver: Some(Rc::new(driver)), ..NorPartition::from(chip) };
        whole.part(blocks, sim)
    }

    fn part(&self, blocks: Range<u32>, sim: Sim) -> Result<NorPartition, PartitionError> {
        let chip_blocks = self.chip.blocks();
        if blocks.is_empty() || blocks.end > chip_blocks {
            let count = blocks.end.saturating_sub(blocks.start);
            return Err(PartitionError { first_block: blocks.start, blocks: count, chip_blocks });
        }
        Ok(NorPartition { blocks, sim, ..self.clone() })
    }

    /// The chip in the hands of somebody who sends it commands past the driver.
    pub fn past_driver(&self) -> &NorFlash {
        &self.chip
    }

    fn size_bytes(&self) -> u64 {
        u64::from(self.blocks.end - self.blocks.start) * u64::from(self.chip.block_bytes())
    }

    /// The place on the chip of bytes of the partition.
    #[inline]
    fn place(&self, at: u64, bytes: usize) -> Result<u64, MtdError> {
        if at.checked_add(bytes as u64).is_none_or(|end| end > self.size_bytes()) {
            return Err(MtdError::OutOfRange);
        }
        Ok(at + u64::from(self.blocks.start) * u64::from(self.chip.block_bytes()))
    }

    /// The place of a block on the chip.
    fn block_place(&self, at: u64) -> Result<u64, MtdError> {
        let place = self.place(at, 1)?;
        if at.is_multiple_of(u64::from(self.chip.block_bytes())) {
            Ok(place)
        } else {
            Err(MtdError::Unaligned)
        }
    }

    // ---- the driver's operations -----------------------------------------------------------------------------------

    /// Gets the chip, where another task may be erasing. Whether that erase is suspended.
    #[inline]
    fn claim(&self, place: u64) -> bool {
        let Some(erasing) = self.chip.erasing() else { return false };
        if u64::from(erasing.block) != place / u64::from(self.chip.block_bytes()) && self.chip.suspend_erase() {
            return true;
        }
        self.sim.wait_for_medium(erasing.ends_at_ns);
        false
    }

    /// Gives the chip back.
    #[inline]
    fn release(&self, has_suspended: bool) {
        if has_suspended {
            self.chip.resume_erase();
        }
        self.sim.chip_used();
    }

    fn consume(&self, power: PowerMilliwatt, duration_ns: u64) {
        if power.cpu != 0.0 || power.memory != 0.0 {
            self.sim.consume(power, duration_ns);
        }
    }

    fn read_driven(&self, driver: &NorDriver, place: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let has_suspended = self.claim(place);
        let began_ns = self.sim.now_ns();
        self.sim.drive(driver.read.overhead_ns);
        let mut at = place;
        for piece in data.chunks_mut(driver.bus.read_max_bytes()) {
            self.chip.read(at, piece)?;
            self.sim.drive(driver.bus.read_head_ns());
            at += piece.len() as u64;
        }
        self.consume(driver.read.power, self.sim.now_ns() - began_ns);
        self.release(has_suspended);
        Ok(())
    }

    /// Programs the parts one after the other, as if they were one.
    fn write_driven(&self, driver: &NorDriver, place: u64, parts: [&[u8]; 2]) -> Result<(), MtdError> {
        let has_suspended = self.claim(place);
        let began_ns = self.sim.now_ns();
        self.sim.drive(driver.program.overhead_ns);
        let [mut first, mut second] = parts;
        let (mut at, mut joint) = (place, self.joint.borrow_mut());
        loop {
            let most = driver.bus.program_max_bytes(at);
            let unit: &[u8] = if first.len() >= most || second.is_empty() {
                let (unit, rest) = first.split_at(first.len().min(most));
                first = rest;
                unit
            } else {
                let (of_second, rest) = second.split_at(second.len().min(most - first.len()));
                joint.clear();
                joint.extend_from_slice(first);
                joint.extend_from_slice(of_second);
                (first, second) = (&[], rest);
                &joint
            };
            if unit.is_empty() {
                break;
            }
            let cells_ns = self.chip.timing().map_or(0, |timing| timing.program_ns(unit.len()));
            self.chip.write(at, unit)?;
            self.sim.drive(driver.bus.program_head_ns() + driver.bus.wait_ns(cells_ns) - cells_ns);
            at += unit.len() as u64;
        }
        self.consume(driver.program.power, self.sim.now_ns() - began_ns);
        self.release(has_suspended);
        Ok(())
    }

    /// Another block cannot be erased before this.
    fn wait_for_erase(&self) {
        if let Some(erasing) = self.chip.erasing() {
            self.sim.wait_for_medium(erasing.ends_at_ns);
        }
    }

    /// Sends the command to erase. Returns when the chip begins.
    fn send_erase(&self, driver: &NorDriver) -> u64 {
        self.sim.drive(driver.erase.overhead_ns + driver.bus.erase_head_ns());
        self.sim.now_ns()
    }

    fn erase_ns(&self) -> u64 {
        self.chip.timing().map_or(0, |timing| timing.erase_ns)
    }

    fn writes(&self, at: u64, parts: [&[u8]; 2]) -> Result<(), MtdError> {
        let place = self.place(at, parts[0].len() + parts[1].len())?;
        match &self.driver {
            Some(driver) => self.write_driven(driver, place, parts),
            None => {
                self.chip.write(place, parts[0])?;
                match parts[1] {
                    [] => Ok(()),
                    second => Ok(self.chip.write(place + parts[0].len() as u64, second)?),
                }
            }
        }
    }

    /// The partition's share of what is counted by block.
    fn of_partition(&self, counts: &[u32]) -> Vec<u32> {
        counts[self.blocks.start as usize..self.blocks.end as usize].to_vec()
    }
}

impl Medium for NorPartition {
    fn sim(&self) -> &Sim {
        &self.sim
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            blocks: self.blocks.end - self.blocks.start,
            chip_blocks: self.chip.blocks(),
            erase_block_bytes: self.chip.block_bytes(),
            program_bytes: 1,
            partial_program_bytes: 1,
            write_buffer_bytes: self.driver.as_ref().map_or(1, |driver| driver.bus.unit_bytes()),
            oob_bytes: 0,
            oob_free_bytes: 0,
            clears_bits_again: true,
            has_bad_blocks: false,
            torn_erase_may_keep_start: self.driver.as_ref().is_none_or(|driver| driver.bus.is_chip()),
            in_memory: self.driver.as_ref().is_some_and(|driver| driver.bus.in_memory()),
        }
    }

    fn beside(&self, blocks: Range<u32>, sim: Sim) -> Option<Result<Mtd, PartitionError>> {
        Some(self.part(blocks, sim).map(Mtd::from))
    }

    #[inline]
    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        let place = self.place(at, data.len())?;
        match &self.driver {
            Some(driver) => self.read_driven(driver, place, data)?,
            None => self.chip.read(place, data)?,
        }
        Ok(Corrected::Clean)
    }

    /// The words of the chip come over its bus one by one, and nothing is counted: no driver is called.
    fn fetch(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let place = self.place(at, data.len())?;
        if !self.driver.as_ref().is_some_and(|driver| driver.bus.in_memory()) {
            return Err(MtdError::NotSupported);
        }
        if !self.chip.is_on() {
            return Err(MtdError::PowerCut);
        }
        let has_suspended = self.claim(place);
        self.chip.peek(place, data);
        let fetch_ns = self.chip.timing().map_or(0, |timing| timing.read_ns(place, data.len()));
        self.sim.wait_for_medium(self.sim.now_ns() + fetch_ns);
        if has_suspended {
            self.chip.resume_erase();
        }
        Ok(())
    }

    #[inline]
    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.writes(at, [data, &[]])
    }

    fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.writes(at, [data, &[]])
    }

    /// Only the driver of Intel's chips gathers the parts of a request (`cfi_intelext_writev`).
    fn write_parts(&self, at: u64, parts: [&[u8]; 2]) -> Result<(), MtdError> {
        let gathers = match self.driver.as_deref() {
            Some(NorDriver { bus: NorBus::Parallel(parallel), .. }) => {
                parallel.commands == Commands::Intel && parallel.has_write_buffer
            }
            _ => false,
        };
        if gathers {
            return self.writes(at, parts);
        }
        self.write(at, parts[0])?;
        self.write(at + parts[0].len() as u64, parts[1])
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        let place = self.block_place(at)?;
        let Some(driver) = &self.driver else { return Ok(self.chip.erase(place)?) };
        self.wait_for_erase();
        let sent_ns = self.sim.now_ns();
        let began_ns = self.send_erase(driver);
        let done = self.chip.erase(place);
        let seen_at_ns = driver.bus.sees_end_at_ns(&self.sim, began_ns, self.erase_ns());
        self.sim.drive(seen_at_ns.saturating_sub(self.sim.now_ns()));
        self.consume(driver.erase.power, self.sim.now_ns() - sent_ns);
        self.sim.chip_used();
        Ok(done?)
    }

    fn begin_erase(&self, at: u64) -> Result<Option<u64>, MtdError> {
        let Some(driver) = self.driver.as_ref().filter(|driver| driver.bus.is_chip()) else {
            return self.erase(at).map(|()| None);
        };
        let place = self.block_place(at)?;
        self.wait_for_erase();
        let began_ns = self.send_erase(driver);
        self.chip.begin_erase(place)?;
        self.consume(driver.erase.power, self.erase_ns());
        self.sim.chip_used();
        Ok(Some(driver.bus.sees_end_at_ns(&self.sim, began_ns, self.erase_ns())))
    }

    fn erase_goes_on(&self, at: u64) -> Option<u64> {
        let place = self.block_place(at).ok()?;
        let block = (place / u64::from(self.chip.block_bytes())) as u32;
        self.chip.erasing().filter(|erasing| erasing.block == block).map(|erasing| erasing.ends_at_ns)
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.chip.peek(self.place(at, data.len())?, data);
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.chip.traffic()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.of_partition(&self.chip.erase_counts())
    }

    fn formatting_erases(&self) -> Vec<u32> {
        self.of_partition(&self.chip.formatting_erases())
    }

    /// Units of one program in which any byte was programmed.
    fn programmed_pages(&self) -> Vec<u32> {
        let Some(driver) = &self.driver else { return Vec::new() };
        let (block_bytes, unit_bytes) = (self.chip.block_bytes(), driver.bus.unit_bytes() as usize);
        let mut block = vec![0; block_bytes as usize];
        let count_of = |number: u32| {
            self.chip.peek(u64::from(number) * u64::from(block_bytes), &mut block);
            block.chunks(unit_bytes).filter(|unit| !crate::is_erased(unit)).count() as u32
        };
        self.blocks.clone().map(count_of).collect()
    }

    fn wear_on(&self, more_erases: &[u32]) -> Result<(), MtdError> {
        self.blocks.clone().zip(more_erases).for_each(|(block, &more)| self.chip.wear_on(block, more));
        Ok(())
    }

    fn amend(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.chip.load_at(self.place(at, data.len())?, data);
        Ok(())
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.chip.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.chip.is_on()
    }

    fn restart(&self) {
        self.chip.power_on();
    }

    fn modifying_operations(&self) -> u64 {
        self.chip.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        MediumImage::Bytes(self.chip.image())
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        match held {
            // The image of the partition alone.
            MediumImage::Bytes(bytes) if bytes.len() as u64 == self.size_bytes() => {
                self.chip.load_at(u64::from(self.blocks.start) * u64::from(self.chip.block_bytes()), bytes);
                Ok(())
            }
            MediumImage::Bytes(bytes) => Ok(self.chip.load(bytes)?),
            MediumImage::Chip(_) => Err(RestoreError::OfChip),
        }
    }
}
