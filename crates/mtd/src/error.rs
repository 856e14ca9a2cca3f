//! Answers of MTD functions.

use ffslab_flash::FlashError;
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
            FlashError::PowerCut => MtdError::PowerCut,
        }
    }
}
