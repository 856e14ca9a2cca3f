//! Answers of MTD functions, and why a medium cannot be made, filled or saved.

use crate::driver::DriverError;
use crate::partition::PartitionError;
use crate::slc_mode::SlcModeError;
use ffslab_flash::{FlashError, GeometryError, GeometryMismatch, ImageError, PairingError};
use thiserror::Error;

/// How many bit flips a successful read had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrected {
    /// No bit flips, or too few to be reported.
    Clean,
    /// ECC corrected this many flips in one of its steps, and the block should be rewritten soon (`-EUCLEAN`):
    /// at least three quarters of what it can correct (`nand_scan_tail`, `bitflip_threshold`).
    BitFlips(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MtdError {
    #[error("the request reaches beyond the end of the partition")]
    OutOfRange,
    #[error("the request does not begin and end where the operation demands: at a page, sub-page or erase block")]
    Unaligned,
    #[error("a page program failed")]
    ProgramFailed,
    #[error("a block erase failed")]
    EraseFailed,
    /// The buffer was filled nevertheless, with the uncorrected data (`-EBADMSG`).
    #[error("more bits are wrong than ECC can correct")]
    Uncorrectable,
    #[error("the erase block is bad")]
    BadBlock,
    #[error("the chip forbids the program: too many programs of one page since its erase, or pages out of order")]
    RuleBroken,
    /// (`-EOPNOTSUPP`)
    #[error("the medium cannot do that")]
    NotSupported,
    /// A driver waits for the end of an erase, so that nobody gets this.
    #[error("the chip is erasing")]
    Busy,
    #[error("the power was cut")]
    PowerCut,
}

impl From<FlashError> for MtdError {
    fn from(error: FlashError) -> MtdError {
        match error {
            FlashError::OutOfRange { .. } => MtdError::OutOfRange,
            FlashError::BufferSize { .. } | FlashError::Column { .. } => MtdError::Unaligned,
            FlashError::TooManyPrograms { .. } | FlashError::OutOfOrder { .. } => MtdError::RuleBroken,
            FlashError::ProgramFailed { .. } => MtdError::ProgramFailed,
            FlashError::EraseFailed { .. } => MtdError::EraseFailed,
            FlashError::Erasing { .. } => MtdError::Busy,
            FlashError::PowerCut => MtdError::PowerCut,
        }
    }
}

/// Why a medium cannot be made; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MediumError {
    /// The part is none, so that nobody has said how it is driven.
    #[error("medium = \"nor\": the part is no NOR")]
    NoNor,
    /// No chip has such sizes.
    #[error(transparent)]
    Geometry(#[from] GeometryError),
    #[error(transparent)]
    Driver(#[from] DriverError),
    #[error(transparent)]
    Partition(#[from] PartitionError),
    #[error(transparent)]
    SlcMode(#[from] SlcModeError),
    /// The word lines of another block size.
    #[error(transparent)]
    Pairing(#[from] PairingError),
    /// Times that no chip has.
    #[error("{0}")]
    Times(String),
    #[error("medium = \"spi-nand\": the part is no SPI NAND")]
    NoSpiNand,
    /// Blocks or pages that the chip does not have shall be faulty.
    #[error("faults: {0}")]
    Faults(FlashError),
}

/// Why a medium cannot be given what another one held; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RestoreError {
    #[error("the state is not of a chip")]
    NotOfChip,
    #[error("the state is of a NAND chip, the medium is none")]
    OfChip,
    #[error(transparent)]
    OtherChip(#[from] GeometryMismatch),
    /// Bytes of another medium than this one.
    #[error(transparent)]
    OtherSize(#[from] FlashError),
}

/// Why the bytes of a medium cannot be saved; one line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SaveError {
    #[error("oob = true: the medium has no OOB area")]
    NoOob,
    /// What a chip says, such as that there is no room for the code of ECC.
    #[error(transparent)]
    Chip(#[from] ImageError),
    #[error(transparent)]
    Medium(#[from] MtdError),
}
