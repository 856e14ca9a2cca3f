//! NOR flash as a medium: any bytes are read and programmed at once, there are neither out-of-band bytes nor bad blocks.

use ffslab_flash::{NorFlash, Torn, Traffic};
use ffslab_sim::Sim;

use crate::error::{Corrected, MtdError, RestoreError};
use crate::medium::{Capabilities, Medium, MediumImage};

impl Medium for NorFlash {
    fn sim(&self) -> &Sim {
        NorFlash::sim(self)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            blocks: self.blocks(),
            chip_blocks: self.blocks(),
            erase_block_bytes: self.block_bytes(),
            program_bytes: 1,
            partial_program_bytes: 1,
            oob_bytes: 0,
            oob_free_bytes: 0,
            clears_bits_again: true,
            has_bad_blocks: false,
        }
    }

    #[inline]
    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        NorFlash::read(self, at, data)?;
        Ok(Corrected::Clean)
    }

    #[inline]
    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        Ok(NorFlash::write(self, at, data)?)
    }

    fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        Ok(NorFlash::write(self, at, data)?)
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        if !at.is_multiple_of(u64::from(self.block_bytes())) {
            return Err(MtdError::Unaligned);
        }
        Ok(NorFlash::erase(self, at)?)
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        let size_bytes = u64::from(self.blocks()) * u64::from(self.block_bytes());
        if at.checked_add(data.len() as u64).is_none_or(|end| end > size_bytes) {
            return Err(MtdError::OutOfRange);
        }
        self.peek(at, data);
        Ok(())
    }

    fn traffic(&self) -> Traffic {
        NorFlash::traffic(self)
    }

    fn erase_counts(&self) -> Vec<u32> {
        NorFlash::erase_counts(self)
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        NorFlash::cut_power_after(self, operations, torn);
    }

    fn is_on(&self) -> bool {
        NorFlash::is_on(self)
    }

    fn restart(&self) {
        self.power_on();
    }

    fn modifying_operations(&self) -> u64 {
        NorFlash::modifying_operations(self)
    }

    fn snapshot(&self) -> MediumImage {
        MediumImage::Bytes(NorFlash::image(self))
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        match held {
            MediumImage::Bytes(bytes) => Ok(self.load(bytes)?),
            MediumImage::Chip(_) => Err(RestoreError::OfChip),
        }
    }
}
