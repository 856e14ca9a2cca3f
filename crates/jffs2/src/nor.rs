//! NOR flash in RAM: bits can be cleared byte by byte, and are set again block by block.
//!
//! Follows what `cpukit/libfs/src/jffs2` of RTEMS cf811a4eb2 expects of a flash driver (`rtems_jffs2_flash_control`:
//! read, write, erase; `cpukit/include/rtems/jffs2.h`). **Leaves out.** The time of the operations, wear, failures but for power cuts.

use std::cell::RefCell;
use std::rc::Rc;

use ffslab_mtd::MtdError;
use ffslab_sim::Sim;

/// Number of operations that the flash was asked for, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NorCounts {
    pub reads: u64,
    pub read_bytes: u64,
    pub programs: u64,
    pub write_bytes: u64,
    pub erases: u64,
}

impl std::ops::Sub for NorCounts {
    type Output = NorCounts;
    fn sub(self, before: NorCounts) -> NorCounts {
        NorCounts {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            programs: self.programs - before.programs,
            write_bytes: self.write_bytes - before.write_bytes,
            erases: self.erases - before.erases,
        }
    }
}

struct Chip {
    bytes: Vec<u8>,
    counts: NorCounts,
    /// How many writes and erases may still be made before the power cut.
    changes_until_cut: Option<u64>,
}

/// Value of `changes_until_cut` after the power cut.
const CUT: Option<u64> = Some(u64::MAX);

impl Chip {
    /// How many bytes of a change are made: all of them, or half of them if the power is cut during this change.
    fn change(&mut self, bytes: usize) -> Result<usize, MtdError> {
        self.still_on()?;
        match &mut self.changes_until_cut {
            Some(0) => {
                self.changes_until_cut = CUT;
                Ok(bytes / 2)
            }
            Some(left) => {
                *left -= 1;
                Ok(bytes)
            }
            None => Ok(bytes),
        }
    }

    fn still_on(&self) -> Result<(), MtdError> {
        match self.changes_until_cut == CUT {
            true => Err(MtdError::PowerCut),
            false => Ok(()),
        }
    }
}

/// One chip; clones are the same chip.
#[derive(Clone)]
pub struct NorFlash {
    sim: Sim,
    block_bytes: u32,
    blocks_count: u32,
    chip: Rc<RefCell<Chip>>,
}

impl NorFlash {
    /// An erased chip.
    pub fn new(sim: Sim, block_bytes: u32, blocks_count: u32) -> NorFlash {
        let bytes = vec![0xFF; block_bytes as usize * blocks_count as usize];
        let chip = Rc::new(RefCell::new(Chip { bytes, counts: NorCounts::default(), changes_until_cut: None }));
        NorFlash { sim, block_bytes, blocks_count, chip }
    }

    /// Lets so many further writes and erases succeed and cuts the power in the middle of the next one, until
    /// [`NorFlash::power_on`].
    pub fn cut_power_after(&self, changes_count: u64) {
        self.chip.borrow_mut().changes_until_cut = Some(changes_count);
    }

    pub fn power_on(&self) {
        self.chip.borrow_mut().changes_until_cut = None;
    }

    /// What the chip holds.
    pub fn image(&self) -> Vec<u8> {
        self.chip.borrow().bytes.clone()
    }

    /// Puts bytes on the chip that another one of the same size held.
    pub fn load(&self, image: &[u8]) {
        self.chip.borrow_mut().bytes.copy_from_slice(image);
    }

    /// Writes and erases since the chip was made.
    pub fn changes(&self) -> u64 {
        let counts = self.counts();
        counts.programs + counts.erases
    }

    pub fn counts(&self) -> NorCounts {
        self.chip.borrow().counts
    }

    pub(crate) fn sim(&self) -> &Sim {
        &self.sim
    }

    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    pub(crate) fn blocks_count(&self) -> u32 {
        self.blocks_count
    }

    pub(crate) fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let chip = &mut *self.chip.borrow_mut();
        chip.still_on()?;
        let cells = chip.bytes.get(offset as usize..offset as usize + data.len()).ok_or(MtdError::OutOfRange)?;
        data.copy_from_slice(cells);
        chip.counts.reads += 1;
        chip.counts.read_bytes += data.len() as u64;
        Ok(())
    }

    /// Clears bits. A bit that is 0 already stays 0.
    pub(crate) fn write(&self, offset: u64, data: &[u8]) -> Result<(), MtdError> {
        let chip = &mut *self.chip.borrow_mut();
        let done_bytes = chip.change(data.len())?;
        let cells = chip.bytes.get_mut(offset as usize..offset as usize + data.len()).ok_or(MtdError::OutOfRange)?;
        cells.iter_mut().zip(&data[..done_bytes]).for_each(|(cell, byte)| *cell &= byte);
        chip.counts.programs += 1;
        chip.counts.write_bytes += done_bytes as u64;
        chip.still_on()
    }

    pub(crate) fn erase(&self, offset: u64) -> Result<(), MtdError> {
        let chip = &mut *self.chip.borrow_mut();
        let done_bytes = chip.change(self.block_bytes as usize)?;
        let end = offset as usize + done_bytes;
        chip.bytes.get_mut(offset as usize..end).ok_or(MtdError::OutOfRange)?.fill(0xFF);
        chip.counts.erases += 1;
        chip.still_on()
    }
}
