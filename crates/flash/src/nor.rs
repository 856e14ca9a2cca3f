//! NOR flash: bits can be cleared byte by byte, and are set again block by block.
//!
//! Follows what `cpukit/libfs/src/jffs2` of RTEMS cf811a4eb2 expects of a flash driver (`rtems_jffs2_flash_control`:
//! read, write, erase; `cpukit/include/rtems/jffs2.h`). **Leaves out.** Failures but for power cuts; counts by cause.

use std::cell::RefCell;
use std::rc::Rc;

use ffslab_sim::Sim;

use crate::error::FlashError;
use crate::power::{Power, Torn};
use crate::traffic::Traffic;

/// Times of the operations, as data sheets give them for the cells; the driver's share included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NorTiming {
    pub read_ps_per_byte: u64,
    pub program_ps_per_byte: u64,
    /// One block.
    pub erase_ns: u64,
}

struct Cells {
    bytes: Vec<u8>,
    traffic: Traffic,
    erase_counts: Vec<u32>,
    power: Power,
}

impl Cells {
    fn check(&self, offset: u64, bytes: usize) -> Result<std::ops::Range<usize>, FlashError> {
        if !self.power.on {
            return Err(FlashError::PowerCut);
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match start.checked_add(bytes) {
            Some(end) if end <= self.bytes.len() => Ok(start..end),
            _ => {
                let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
                let (number, count) = (narrow(offset), narrow(self.bytes.len() as u64));
                Err(FlashError::OutOfRange { unit: "byte", number, count })
            }
        }
    }

    /// How many bytes of a change of `bytes` bytes are made: all of them unless the power is cut meanwhile. Of one that was
    /// under way then, the first half is.
    fn begin_change(&mut self, bytes: usize) -> usize {
        match self.power.begin() {
            None | Some(Torn::Complete) => bytes,
            Some(Torn::Nothing) => 0,
            Some(Torn::Partial { .. }) => bytes / 2,
        }
    }

    fn still_on(&self) -> Result<(), FlashError> {
        self.power.on.then_some(()).ok_or(FlashError::PowerCut)
    }
}

/// One chip; clones are the same chip.
#[derive(Clone)]
pub struct NorFlash {
    sim: Sim,
    block_bytes: u32,
    blocks: u32,
    timing: NorTiming,
    cells: Rc<RefCell<Cells>>,
}

impl NorFlash {
    /// An erased chip.
    pub fn new(sim: Sim, block_bytes: u32, blocks: u32) -> NorFlash {
        let cells = Cells {
            bytes: vec![0xFF; block_bytes as usize * blocks as usize],
            traffic: Traffic::default(),
            erase_counts: vec![0; blocks as usize],
            power: Power::new(),
        };
        NorFlash { sim, block_bytes, blocks, timing: NorTiming::default(), cells: Rc::new(RefCell::new(cells)) }
    }

    /// The same chip, whose operations take time from now on; those of a new one take none, and who calls them is charged
    /// for copying.
    pub fn with_timing(self, timing: NorTiming) -> NorFlash {
        NorFlash { timing, ..self }
    }

    #[inline]
    fn spend(&self, duration_ns: u64) {
        if duration_ns != 0 {
            self.sim.drive(duration_ns);
        }
    }

    /// Cuts the power during the `operations`-th program or erase from now on, as [`crate::Chip::cut_power_after`] does.
    pub fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.cells.borrow_mut().power.cut_after(operations, torn);
    }

    /// Switches the chip on, and cancels a cut that has not happened yet.
    pub fn power_on(&self) {
        self.cells.borrow_mut().power.switch_on();
    }

    pub fn is_on(&self) -> bool {
        self.cells.borrow().power.on
    }

    /// Programs and erases since the chip was made.
    pub fn modifying_operations(&self) -> u64 {
        self.cells.borrow().power.modifying_operations
    }

    /// What the chip holds.
    pub fn image(&self) -> Vec<u8> {
        self.cells.borrow().bytes.clone()
    }

    /// Puts bytes on the chip, as a programmer does: nothing wears.
    ///
    /// Errors: an image of another size.
    pub fn load(&self, image: &[u8]) -> Result<(), FlashError> {
        let cells = &mut *self.cells.borrow_mut();
        if image.len() != cells.bytes.len() {
            let wanted_bytes = u32::try_from(cells.bytes.len()).unwrap_or(u32::MAX);
            return Err(FlashError::BufferSize { bytes: image.len(), wanted_bytes });
        }
        cells.bytes.copy_from_slice(image);
        Ok(())
    }

    pub fn traffic(&self) -> Traffic {
        self.cells.borrow().traffic
    }

    /// Erases of each block since the chip was made.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.cells.borrow().erase_counts.clone()
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    #[inline]
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), FlashError> {
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, data.len())?;
        data.copy_from_slice(&cells.bytes[range]);
        cells.traffic.reads += 1;
        cells.traffic.read_bytes += data.len() as u64;
        self.spend(self.timing.read_ps_per_byte * data.len() as u64 / 1000);
        Ok(())
    }

    /// Clears bits. A bit that is 0 already stays 0.
    #[inline]
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), FlashError> {
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, data.len())?;
        let done_bytes = cells.begin_change(data.len());
        cells.bytes[range].iter_mut().zip(&data[..done_bytes]).for_each(|(cell, byte)| *cell &= byte);
        cells.traffic.programs += 1;
        cells.traffic.write_bytes += done_bytes as u64;
        self.spend(self.timing.program_ps_per_byte * done_bytes as u64 / 1000);
        cells.still_on()
    }

    /// Sets all bits of the block that begins at `offset`.
    pub fn erase(&self, offset: u64) -> Result<(), FlashError> {
        let cells = &mut *self.cells.borrow_mut();
        let range = cells.check(offset, self.block_bytes as usize)?;
        let done_bytes = cells.begin_change(range.len());
        cells.bytes[range.start..range.start + done_bytes].fill(0xFF);
        cells.traffic.erases += 1;
        self.spend(self.timing.erase_ns);
        cells.erase_counts[range.start / self.block_bytes as usize] += 1;
        cells.still_on()
    }

    /// The bytes in the cells, for an observer: no operation.
    pub fn peek(&self, offset: u64, data: &mut [u8]) {
        let cells = self.cells.borrow();
        data.copy_from_slice(&cells.bytes[offset as usize..offset as usize + data.len()]);
    }
}
