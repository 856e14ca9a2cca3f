//! What an operation on the chip can answer.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FlashError {
    #[error("{unit} {number} is outside the chip, which has {count} {unit}s")]
    OutOfRange { unit: &'static str, number: u32, count: u32 },
    #[error("a buffer of {bytes} bytes was given where the chip moves {wanted_bytes} bytes")]
    BufferSize { bytes: usize, wanted_bytes: u32 },
    #[error("bytes {column} to {end} are not inside a page of {page_bytes} bytes")]
    Column { column: u32, end: u64, page_bytes: u32 },
    #[error("page {page} was already programmed {programs} times since its erase, and the chip allows no more")]
    TooManyPrograms { page: u32, programs: u32 },
    #[error("page {page} cannot be programmed after page {last} of the same block: this chip wants ascending order")]
    OutOfOrder { page: u32, last: u32 },
    #[error("the program of page {page} failed")]
    ProgramFailed { page: u32 },
    #[error("the erase of block {block} failed")]
    EraseFailed { block: u32 },
    #[error("block {block} is being erased: the chip answers with its status alone")]
    Erasing { block: u32 },
    #[error("the power was cut")]
    PowerCut,
}
