//! The traits of `embedded-storage`, as stores of keys and values use them.

use crate::{Chip, ChipError, MtdError};
use embedded_storage::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

/// A chip whose sizes are known when a program is compiled: units of a read and of a program, and the erase block, in bytes.
pub struct NorPort<const READ: usize, const WRITE: usize, const ERASE: usize>(Chip);

/// What a driver says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortError(pub MtdError);

impl NorFlashError for PortError {
    fn kind(&self) -> NorFlashErrorKind {
        match self.0 {
            MtdError::OutOfRange => NorFlashErrorKind::OutOfBounds,
            MtdError::Unaligned => NorFlashErrorKind::NotAligned,
            _ => NorFlashErrorKind::Other,
        }
    }
}

impl<const READ: usize, const WRITE: usize, const ERASE: usize> NorPort<READ, WRITE, ERASE> {
    /// Errors: the chip has another erase block, or does not program such units.
    pub fn new(chip: Chip) -> Result<Self, ChipError> {
        let can = chip.capabilities();
        let (block, unit) = (can.erase_block_bytes as usize, can.program_bytes as usize);
        let fits = ERASE > 0
            && ERASE.is_multiple_of(block)
            && WRITE > 0
            && WRITE.is_multiple_of(unit)
            && READ > 0
            && ERASE.is_multiple_of(READ);
        if fits && ERASE.is_multiple_of(WRITE) && chip.size_bytes().is_multiple_of(ERASE as u64) {
            Ok(NorPort(chip))
        } else {
            Err(ChipError::Input(format!(
                "units of {READ}, {WRITE} and {ERASE} bytes: the chip programs {unit} and erases {block} bytes; \
                 multiples of these that divide each other are needed"
            )))
        }
    }

    pub fn chip(&mut self) -> &mut Chip {
        &mut self.0
    }

    pub fn into_chip(self) -> Chip {
        self.0
    }

    fn check(&self, at: u32, bytes: usize, unit: usize) -> Result<(), PortError> {
        if !(at as usize).is_multiple_of(unit) || !bytes.is_multiple_of(unit) {
            return Err(PortError(MtdError::Unaligned));
        }
        if u64::from(at) + bytes as u64 <= self.0.size_bytes() {
            Ok(())
        } else {
            Err(PortError(MtdError::OutOfRange))
        }
    }
}

impl<const READ: usize, const WRITE: usize, const ERASE: usize> ErrorType for NorPort<READ, WRITE, ERASE> {
    type Error = PortError;
}

impl<const READ: usize, const WRITE: usize, const ERASE: usize> ReadNorFlash for NorPort<READ, WRITE, ERASE> {
    const READ_SIZE: usize = READ;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), PortError> {
        self.check(offset, bytes.len(), READ)?;
        self.0.read(offset.into(), bytes).map(drop).map_err(PortError)
    }

    fn capacity(&self) -> usize {
        self.0.size_bytes() as usize
    }
}

impl<const READ: usize, const WRITE: usize, const ERASE: usize> NorFlash for NorPort<READ, WRITE, ERASE> {
    const WRITE_SIZE: usize = WRITE;
    const ERASE_SIZE: usize = ERASE;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), PortError> {
        self.check(from, to.saturating_sub(from) as usize, ERASE)?;
        let block = self.0.capabilities().erase_block_bytes;
        (from..to).step_by(block as usize).try_for_each(|at| self.0.erase(at.into())).map_err(PortError)
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), PortError> {
        self.check(offset, bytes.len(), WRITE)?;
        self.0.program(offset.into(), bytes).map_err(PortError)
    }
}

/// A second write clears further bits. On flash that programs a unit once it is refused ([`MtdError::RuleBroken`]).
impl<const READ: usize, const WRITE: usize, const ERASE: usize> MultiwriteNorFlash for NorPort<READ, WRITE, ERASE> {}
