//! NOR flash that a program makes of sectors which can be overwritten, so that code for NOR stands on NAND behind a translation, as Mbed OS's
//! `FlashSimBlockDevice` has it: a program of bytes clears bits of their sectors and writes those, an erase writes sectors of ones. One sector stays in the
//! program's RAM.

use crate::device::Below;
use ffslab_flash::{Torn, Traffic};
use ffslab_fs::causes;
use ffslab_mtd::{Capabilities, Corrected, Medium, MediumImage, Mtd, MtdError, RestoreError};
use ffslab_sim::Sim;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// An erase block of such NOR.
pub const NOR_BLOCK_BYTES: u32 = 4096;

const NO_SECTOR: usize = usize::MAX;

/// What NOR of so many bytes can do. It has at most `blocks_max` erase blocks.
pub fn nor_capabilities(size_bytes: u64, blocks_max: u32) -> Capabilities {
    let blocks = (size_bytes / u64::from(NOR_BLOCK_BYTES)).min(blocks_max.into()) as u32;
    Capabilities {
        blocks,
        chip_blocks: blocks,
        erase_block_bytes: NOR_BLOCK_BYTES,
        program_bytes: 1,
        partial_program_bytes: 1,
        write_buffer_bytes: 1,
        oob_bytes: 0,
        oob_free_bytes: 0,
        clears_bits_again: true,
        has_bad_blocks: false,
        torn_erase_may_keep_start: false,
        in_memory: false,
    }
}

/// NOR on these sectors, which stand on `flash` and are at most as large as [`NOR_BLOCK_BYTES`].
pub(crate) fn nor_on(below: Box<dyn Below>, flash: Mtd, blocks_max: u32) -> Mtd {
    let can = nor_capabilities(below.size_bytes(), blocks_max);
    let sector_bytes = below.program_bytes() as usize;
    let count = can.blocks as usize * (NOR_BLOCK_BYTES as usize / sector_bytes);
    let seen = RefCell::new(vec![None; count]);
    let medium: Rc<dyn Medium> =
        Rc::new(NorOnSectors { below, flash, can, sector_bytes, seen, in_ram: Cell::new(NO_SECTOR) });
    Mtd::from(medium)
}

struct NorOnSectors {
    below: Box<dyn Below>,
    flash: Mtd,
    can: Capabilities,
    sector_bytes: usize,
    /// What sectors hold, as far as it was read or written: for observers, who take no time. The program knows one of them.
    seen: RefCell<Vec<Option<Box<[u8]>>>>,
    in_ram: Cell<usize>,
}

impl NorOnSectors {
    /// Errors: bytes that are not there.
    fn check(&self, at: u64, bytes: usize) -> Result<(), MtdError> {
        let size_bytes = u64::from(self.can.blocks) * u64::from(NOR_BLOCK_BYTES);
        match at.checked_add(bytes as u64) {
            Some(end) if end <= size_bytes => Ok(()),
            _ => Err(MtdError::OutOfRange),
        }
    }

    /// The sectors of bytes: the number of each, where its part begins in it and in the bytes, and its length.
    fn parts(&self, at: u64, bytes: usize) -> impl Iterator<Item = (usize, usize, usize, usize)> {
        let sector_bytes = self.sector_bytes;
        let mut done = 0;
        std::iter::from_fn(move || {
            let place = at as usize + done;
            let (sector, inside) = (place / sector_bytes, place % sector_bytes);
            let part = (sector_bytes - inside).min(bytes - done);
            let from = done;
            done += part;
            (part > 0).then_some((sector, inside, from, part))
        })
    }

    fn place(&self, sector: usize) -> u64 {
        sector as u64 * self.sector_bytes as u64
    }

    /// Brings a sector into RAM.
    fn load(&self, sector: usize) -> Result<(), MtdError> {
        if self.in_ram.get() == sector {
            return Ok(());
        }
        let mut data = vec![0; self.sector_bytes].into_boxed_slice();
        self.in_ram.set(NO_SECTOR);
        self.below.read(self.place(sector), &mut data)?;
        self.seen.borrow_mut()[sector] = Some(data);
        self.in_ram.set(sector);
        Ok(())
    }

    fn clear_bits(
        &self,
        (sector, inside, from, part): (usize, usize, usize, usize),
        data: &[u8],
    ) -> Result<(), MtdError> {
        {
            let _why = self.sim().because(&causes::READ_MODIFY_WRITE);
            self.load(sector)?;
        }
        let mut seen = self.seen.borrow_mut();
        let Some(held) = &mut seen[sector] else { return Err(MtdError::Uncorrectable) };
        let places = held[inside..inside + part].iter_mut().zip(&data[from..from + part]);
        let changes = places.fold(false, |changes, (place, &byte)| {
            let cleared = *place & byte;
            let is_other = cleared != *place;
            *place = cleared;
            changes || is_other
        });
        if changes {
            self.below.program(self.place(sector), held)
        } else {
            Ok(())
        }
    }
}

impl Medium for NorOnSectors {
    fn sim(&self) -> &Sim {
        self.flash.sim()
    }

    fn capabilities(&self) -> Capabilities {
        self.can
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        self.check(at, data.len())?;
        for (sector, inside, from, part) in self.parts(at, data.len()) {
            self.load(sector)?;
            if let Some(held) = &self.seen.borrow()[sector] {
                data[from..from + part].copy_from_slice(&held[inside..inside + part]);
            }
        }
        Ok(Corrected::Clean)
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.check(at, data.len())?;
        self.parts(at, data.len()).try_for_each(|part| self.clear_bits(part, data))
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        self.check(at, NOR_BLOCK_BYTES as usize)?;
        let ones = [0xFF; NOR_BLOCK_BYTES as usize];
        self.below.program(at, &ones)?;
        for (sector, ..) in self.parts(at, ones.len()) {
            self.seen.borrow_mut()[sector] = Some(ones[..self.sector_bytes].into());
        }
        Ok(())
    }

    /// What nobody has read yet cannot be seen.
    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.check(at, data.len())?;
        let seen = self.seen.borrow();
        for (sector, inside, from, part) in self.parts(at, data.len()) {
            let held = seen[sector].as_ref().ok_or(MtdError::NotSupported)?;
            data[from..from + part].copy_from_slice(&held[inside..inside + part]);
        }
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        self.flash.traffic()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.flash.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.flash.is_on()
    }

    fn restart(&self) {
        self.flash.restart();
    }

    fn modifying_operations(&self) -> u64 {
        self.flash.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        self.flash.snapshot()
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        self.in_ram.set(NO_SECTOR);
        self.seen.borrow_mut().fill(None);
        self.flash.restore(held)
    }
}
