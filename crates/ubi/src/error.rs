//! What can go wrong.

use ffslab_mtd::MtdError;
use thiserror::Error;

/// Answers of UBI calls, with the error numbers of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UbiError {
    /// The chip has no power: nothing works until it is switched on and attached again.
    #[error("the power was cut")]
    PowerCut,
    /// `EROFS`. After an error that it cannot deal with UBI writes nothing any more; a static volume is never written
    /// piece by piece.
    #[error("the UBI device or the volume is read-only")]
    ReadOnly,
    /// `ENOSPC`. No block is free, or a block went bad and the reserve is empty.
    #[error("there is no free erase block left to write to")]
    NoSpace,
    /// `ENOSPC`. [`crate::Ubi::room`] says who has the blocks.
    #[error("there are too few LEBs for the volume: {needed_lebs} needed, {available_lebs} available")]
    NoRoom { needed_lebs: u64, available_lebs: u32 },
    /// `EBADMSG`. The buffer was filled nevertheless, with the uncorrected data.
    #[error("more bits are wrong than ECC can correct, or a check sum is wrong")]
    Uncorrectable,
    /// `EINVAL`
    #[error("the LEB number, the offset or the length is outside the volume or not aligned")]
    BadRange,
    /// `EINVAL`
    #[error("the request is not possible: {0}")]
    BadRequest(&'static str),
    /// `EBADMSG`, from [`crate::Volume::map`].
    #[error("the LEB is mapped already")]
    AlreadyMapped,
    /// `EBADF`. An update of the whole volume was begun and not finished. Only another update makes the volume usable.
    #[error("the volume's last update was interrupted")]
    UpdateInterrupted,
    /// `ENODEV`
    #[error("there is no such volume")]
    NoVolume,
    /// `EEXIST`
    #[error("there is a volume of this number or name already")]
    VolumeExists,
    /// `EIO`
    #[error("an erase block failed, and its replacements too")]
    Io,
    /// `EINVAL`. A header that was good at attach is damaged or missing now.
    #[error("a header on flash has impossible content")]
    BadHeader,
}

impl From<MtdError> for UbiError {
    fn from(error: MtdError) -> UbiError {
        match error {
            MtdError::PowerCut => UbiError::PowerCut,
            MtdError::Uncorrectable => UbiError::Uncorrectable,
            MtdError::OutOfRange | MtdError::Unaligned | MtdError::NotSupported => UbiError::BadRange,
            MtdError::ProgramFailed
            | MtdError::EraseFailed
            | MtdError::BadBlock
            | MtdError::RuleBroken
            | MtdError::Busy => UbiError::Io,
        }
    }
}

/// Why a partition cannot be attached.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AttachError {
    #[error("the volume identifier header at byte {offset} does not fit: {reason}")]
    Layout { offset: u32, reason: &'static str },
    #[error("max_beb_per1024 = {0}: at most 768 erase blocks of 1024 can be kept for bad ones")]
    BadReserve(u32),
    #[error("wl_threshold = {0}: it must be 2 to 65536 erases")]
    WearThreshold(u32),
    #[error("fastmap: {0}")]
    Fastmap(&'static str),
    #[error("erase block {peb}: {reason}")]
    Block { peb: u32, reason: &'static str },
    #[error(
        "erase block {peb} was written with the volume identifier header at byte {found}, here it is expected at {expected}"
    )]
    OtherLayout { peb: u32, found: u32, expected: u32 },
    #[error("{corrupted} erase blocks are corrupted; this is no UBI partition, or a badly damaged one")]
    Corrupted { corrupted: u32 },
    #[error("the partition is not formatted with UBI, and not empty")]
    NotUbi,
    #[error("the volume table is missing or damaged: {0}")]
    VolumeTable(&'static str),
    #[error("volume {id}: {reason}")]
    Volume { id: u32, reason: &'static str },
    #[error("not enough erase blocks for {purpose}: {needed} are needed, {available} of {pebs} are available")]
    NoSpace { purpose: &'static str, needed: u32, available: u32, pebs: u32 },
    #[error(transparent)]
    Ubi(#[from] UbiError),
}
