//! The medium below the store: a NAND partition, or NOR flash.
//!
//! The differences, as `fs/jffs2/os-linux.h` switches them: NAND is programmed by the page through a write buffer and
//! has out-of-band bytes for the clean marker; NOR takes any bytes at once, keeps the clean marker as the block's first
//! node, and a superseded node is marked on the medium (`jffs2_can_mark_obsolete`).

use ffslab_mtd::{is_erased, Mtd, MtdError};
use ffslab_sim::Sim;

use crate::nor::NorFlash;

pub enum Medium {
    Nand(Mtd),
    Nor(NorFlash),
}

impl Medium {
    pub fn is_nor(&self) -> bool {
        matches!(self, Medium::Nor(_))
    }

    pub fn sim(&self) -> &Sim {
        match self {
            Medium::Nand(mtd) => mtd.sim(),
            Medium::Nor(flash) => flash.sim(),
        }
    }

    pub fn blocks(&self) -> u32 {
        match self {
            Medium::Nand(mtd) => mtd.blocks(),
            Medium::Nor(flash) => flash.blocks_count(),
        }
    }

    pub fn erase_block_bytes(&self) -> u32 {
        match self {
            Medium::Nand(mtd) => mtd.erase_block_bytes(),
            Medium::Nor(flash) => flash.block_bytes(),
        }
    }

    pub fn size_bytes(&self) -> u64 {
        u64::from(self.blocks()) * u64::from(self.erase_block_bytes())
    }

    /// The unit of programming.
    pub fn page_bytes(&self) -> u32 {
        match self {
            Medium::Nand(mtd) => mtd.page_bytes(),
            Medium::Nor(_) => 1,
        }
    }

    pub fn oob_free_bytes(&self) -> u32 {
        match self {
            Medium::Nand(mtd) => mtd.oob_free_bytes(),
            Medium::Nor(_) => 0,
        }
    }

    #[inline]
    pub fn read(&self, offset: u64, data: &mut [u8]) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.read(offset, data).map(|_| ()),
            Medium::Nor(flash) => flash.read(offset, data),
        }
    }

    /// Reads and tells whether all bytes are erased. `buffer` receives the bytes if they are not.
    pub fn reads_erased(&self, offset: u64, buffer: &mut [u8]) -> Result<bool, MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.reads_erased(offset, buffer),
            Medium::Nor(flash) => flash.read(offset, buffer).map(|()| is_erased(buffer)),
        }
    }

    #[inline]
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.write(offset, data),
            Medium::Nor(flash) => flash.write(offset, data),
        }
    }

    pub fn erase(&self, offset: u64) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.erase(offset),
            Medium::Nor(flash) => flash.erase(offset),
        }
    }

    /// Reads free out-of-band bytes. NOR has none, so nothing is read there.
    pub fn read_oob_free(&self, offset: u64, data: &mut [u8]) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.read_oob_free(offset, data).map(|_| ()),
            Medium::Nor(_) => Ok(()),
        }
    }

    pub fn write_oob_free(&self, offset: u64, data: &[u8]) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.write_oob_free(offset, data),
            Medium::Nor(_) => Ok(()),
        }
    }

    pub fn is_bad(&self, offset: u64) -> bool {
        match self {
            Medium::Nand(mtd) => mtd.is_bad(offset),
            Medium::Nor(_) => false,
        }
    }

    pub fn mark_bad(&self, offset: u64) -> Result<(), MtdError> {
        match self {
            Medium::Nand(mtd) => mtd.mark_bad(offset),
            Medium::Nor(_) => Ok(()),
        }
    }
}
