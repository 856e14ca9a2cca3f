//! # rawblock: block devices on raw flash that are only read
//!
//! **Role.** What a file system of block devices stands on where there is no translation layer: a UBI volume (`ubiblock`) or a partition
//! itself (`mtdblock`). It says which reads of the flash a read of the device becomes; nothing is written. What the file systems of images
//! on it have in common is here, too ([`OnlyRead`]).
//!
//! **Follows.** Linux 6.1: `drivers/mtd/ubi/block.c` and `ubi_eba_read_leb_sg` of `eba.c`; `drivers/mtd/mtdblock.c`, `mtdblock_ro.c` and
//! `mtd_blkdevs.c`; of the block layer `blk_set_default_limits` of `block/blk-settings.c` and `get_max_io_size` of `block/blk-merge.c`.
//!
//! **Leaves out.** Writing, and so the erase block that `mtdblock` keeps of what is written. The device's own page cache, which only who opens
//! the device itself reads through. The worker that does the reads of `ubiblock`: they are the caller's.

pub mod causes;
pub mod little_endian;
mod only_read;
mod wrong;

pub use only_read::{Image, MountError, OnlyRead};
pub use wrong::Wrong;

use ffslab_mtd::{Mtd, MtdError};
use ffslab_ubi::{UbiError, Volume, VolumeInfo};
use thiserror::Error;

pub const SECTOR_BYTES: u64 = 512;
/// A request of a device that says nothing has at most so many sectors (`BLK_SAFE_MAX_SECTORS`): one that is longer is cut.
const REQUEST_SECTORS_MAX: u64 = 255;
/// The memory that a request fills, of which UBI takes one piece after the other: single pages, wherever they lie.
const MEMORY_PAGE_BYTES: u64 = 4096;

/// Why a part of the device cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ReadError {
    #[error("the power was cut")]
    PowerCut,
    /// `EIO`
    #[error("the flash says: {0}")]
    Medium(MtdError),
    /// `EIO`
    #[error("UBI says: {0}")]
    Volume(UbiError),
}

/// A block device on raw flash; clones are the same device.
#[derive(Clone)]
pub struct RawBlock {
    on: On,
    size_bytes: u64,
}

#[derive(Clone)]
enum On {
    Volume { volume: Volume, leb_bytes: u64 },
    Partition(Mtd),
}

impl RawBlock {
    /// `ubiblock`: the sectors of a volume stand one behind the other in its LEBs.
    ///
    /// Errors: the volume has gone.
    pub fn on_volume(volume: Volume) -> Result<RawBlock, UbiError> {
        let VolumeInfo { used_bytes, leb_bytes, .. } = volume.info()?;
        let size_bytes = used_bytes / SECTOR_BYTES * SECTOR_BYTES;
        Ok(RawBlock { on: On::Volume { volume, leb_bytes: leb_bytes.into() }, size_bytes })
    }

    /// `mtdblock`: the sectors of a partition, bad blocks included.
    pub fn on_partition(mtd: Mtd) -> RawBlock {
        let size_bytes = mtd.size_bytes() / SECTOR_BYTES * SECTOR_BYTES;
        RawBlock { on: On::Partition(mtd), size_bytes }
    }

    /// As users call it.
    pub fn name(&self) -> &'static str {
        match self.on {
            On::Volume { .. } => "ubiblock",
            On::Partition(_) => "mtdblock",
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads whole sectors from `at_bytes` on, as one bio does.
    ///
    /// Errors: the first of the flash. What was read before is in `buffer`.
    pub fn read(&self, at_bytes: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        debug_assert!(at_bytes.is_multiple_of(SECTOR_BYTES) && (buffer.len() as u64).is_multiple_of(SECTOR_BYTES));
        debug_assert!(at_bytes + buffer.len() as u64 <= self.size_bytes);
        let request_bytes = (REQUEST_SECTORS_MAX * SECTOR_BYTES) as usize;
        let mut at_bytes = at_bytes;
        for request in buffer.chunks_mut(request_bytes) {
            self.request(at_bytes, request)?;
            at_bytes += request.len() as u64;
        }
        Ok(())
    }

    fn request(&self, at_bytes: u64, buffer: &mut [u8]) -> Result<(), ReadError> {
        let mut at_bytes = at_bytes;
        let mut left = buffer;
        while !left.is_empty() {
            let bytes = self.piece_bytes(at_bytes).min(left.len() as u64) as usize;
            let (piece, behind) = left.split_at_mut(bytes);
            match &self.on {
                On::Volume { volume, leb_bytes } => {
                    let (leb, offset) = (at_bytes / leb_bytes, at_bytes % leb_bytes);
                    volume.read(leb as u32, offset as u32, piece).map_err(of_volume)?;
                }
                // Bits that ECC corrected are no error.
                On::Partition(mtd) => mtd.read(at_bytes, piece).map(drop).map_err(of_medium)?,
            }
            at_bytes += bytes as u64;
            left = behind;
        }
        Ok(())
    }

    /// How much is read of the flash at once from there on.
    fn piece_bytes(&self, at_bytes: u64) -> u64 {
        match self.on {
            On::Volume { leb_bytes, .. } => {
                let in_page = MEMORY_PAGE_BYTES - at_bytes % MEMORY_PAGE_BYTES;
                in_page.min(leb_bytes - at_bytes % leb_bytes)
            }
            On::Partition(_) => SECTOR_BYTES,
        }
    }
}

fn of_volume(error: UbiError) -> ReadError {
    match error {
        UbiError::PowerCut => ReadError::PowerCut,
        error => ReadError::Volume(error),
    }
}

fn of_medium(error: MtdError) -> ReadError {
    match error {
        MtdError::PowerCut => ReadError::PowerCut,
        error => ReadError::Medium(error),
    }
}
