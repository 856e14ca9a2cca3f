//! The driver: its kind of ECC, and the cost of each operation beyond the chip's own time.

use ffslab_flash::Geometry;
use ffslab_sim::PowerMilliwatt;
use thiserror::Error;

/// Where ECC is computed, which decides how much of a page a small read moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecc {
    /// The controller, over whole pages: a page is always read whole, and the NAND core keeps the last one
    /// (`ecc` = `hw` in the measured cases).
    Hardware,
    /// The CPU, a step at a time: a read of less than a page moves only the ECC steps that it touches (`sw`).
    Software,
}

/// The cost of an operation beyond the chip's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpCost {
    /// Time of the driver, which is added to the chip's time.
    pub overhead_ns: u64,
    /// Power above idle for the duration of the operation, chip time and overhead together.
    pub power: PowerMilliwatt,
}

/// A NAND driver. Partial reads and OOB operations have the cost of `read` and `program`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Driver {
    pub ecc: Ecc,
    /// Data bytes that one ECC code covers.
    pub ecc_step_bytes: u32,
    pub ecc_bytes_per_step: u32,
    /// Flipped bits that ECC corrects in one step.
    pub ecc_strength_bits: u32,
    pub read: OpCost,
    pub program: OpCost,
    pub erase: OpCost,
}

impl Default for Driver {
    /// Hardware ECC with the sizes of the usual 1-bit code and no cost of its own.
    fn default() -> Driver {
        Driver {
            ecc: Ecc::Hardware,
            ecc_step_bytes: 256,
            ecc_bytes_per_step: 3,
            ecc_strength_bits: 1,
            read: OpCost::default(),
            program: OpCost::default(),
            erase: OpCost::default(),
        }
    }
}

/// A driver that does not suit the chip.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DriverError {
    #[error("ecc_step_bytes = {step_bytes}: an ECC step has 256 bytes or a multiple that divides a page of {page_bytes} bytes")]
    Step { step_bytes: u32, page_bytes: u32 },
    #[error(
        "{ecc_bytes} ECC bytes and the bad block mark do not fit into an out-of-band area of {oob_bytes} bytes; \
         {ecc_bytes_max} ECC bytes would"
    )]
    Oob { ecc_bytes: u32, oob_bytes: u32, ecc_bytes_max: u32 },
    #[error(
        "software ECC is the Hamming code of 3 bytes for 256 that corrects 1 bit; \
         not {bytes_per_step} bytes for {step_bytes} that correct {strength_bits}"
    )]
    NotHamming { bytes_per_step: u32, step_bytes: u32, strength_bits: u32 },
    #[error(
        "software ECC has no layout for pages of {page_bytes} + {oob_bytes} bytes: \
         512 + 16, 2048 + 64, 2048 + 128 and 4096 + 128 have one"
    )]
    NoHammingLayout { page_bytes: u32, oob_bytes: u32 },
}

impl Driver {
    /// ECC bytes of a page.
    pub fn ecc_bytes(&self, geometry: &Geometry) -> u32 {
        geometry.page_bytes / self.ecc_step_bytes * self.ecc_bytes_per_step
    }

    /// Checks that the driver suits the chip.
    pub fn check(&self, geometry: &Geometry) -> Result<(), DriverError> {
        let Geometry { page_bytes, oob_bytes, .. } = *geometry;
        let step_bytes = self.ecc_step_bytes;
        if step_bytes == 0 || !step_bytes.is_multiple_of(256) || page_bytes % step_bytes != 0 {
            return Err(DriverError::Step { step_bytes, page_bytes });
        }
        if self.ecc == Ecc::Software {
            let (bytes_per_step, strength_bits) = (self.ecc_bytes_per_step, self.ecc_strength_bits);
            if (step_bytes, bytes_per_step, strength_bits) != (256, 3, 1) {
                return Err(DriverError::NotHamming { bytes_per_step, step_bytes, strength_bits });
            }
            if ffslab_flash::hamming::oob_place(page_bytes, oob_bytes, 0).is_none() {
                return Err(DriverError::NoHammingLayout { page_bytes, oob_bytes });
            }
        }
        // The bad block mark takes 2 bytes. On a small page 8 bytes are not free for the file system, so 6 remain here.
        let ecc_bytes_max = if page_bytes > 512 { oob_bytes - 2 } else { 6 };
        let ecc_bytes = u64::from(page_bytes / step_bytes) * u64::from(self.ecc_bytes_per_step);
        if ecc_bytes > u64::from(ecc_bytes_max) {
            let ecc_bytes = u32::try_from(ecc_bytes).unwrap_or(u32::MAX);
            return Err(DriverError::Oob { ecc_bytes, oob_bytes, ecc_bytes_max });
        }
        Ok(())
    }
}
