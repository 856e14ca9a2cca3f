//! What stands between flash and a file system that overwrites sectors, as FAT does.

mod dhara;
mod direct;
mod nor;
mod page_map;
#[cfg(test)]
mod tests;
mod wear_levelling;

pub use dhara::DharaCode;
pub use nor::{nor_capabilities, NOR_BLOCK_BYTES};
pub use page_map::logical_pages as page_map_pages;
pub use wear_levelling::capacity_bytes as wear_levelling_capacity_bytes;

use crate::device::Below;
use crate::error::MountError;
use ffslab_mtd::Mtd;

/// How sectors come to lie on flash.
#[derive(Clone, Copy, Debug)]
pub enum Translation {
    /// There are none: the file system knows flash.
    Flash,
    /// Each where its number says. A write reads the erase block, erases it and programs it.
    Direct { sector_bytes: u32 },
    /// ESP-IDF's wear levelling, with sectors of an erase block.
    WearLevelling { update_rate: u32 },
    /// A user's Dhara, with sectors of a page.
    Dhara { code: DharaCode, gc_ratio: u32 },
    /// The page map of `ffslab-ftl`, with sectors of a page, of which the file system sees so many.
    PageMap { logical_pages: u32 },
}

impl Translation {
    /// The translation on a medium that is to hold a new file system. Those whose first mount makes them are opened, which empties nothing.
    ///
    /// Errors: as [`Translation::open`].
    pub fn make(self, medium: &Mtd) -> Result<Box<dyn Below>, MountError> {
        match self {
            Translation::PageMap { logical_pages } => {
                Ok(Box::new(page_map::PageMap::format(medium.clone(), logical_pages)?))
            }
            _ => self.open(medium),
        }
    }

    /// NOR flash of at most so many erase blocks of 4 KiB on the translation, which is made anew (`is_new`) or has what it finds on the medium.
    ///
    /// Errors: as [`Translation::open`].
    pub fn as_nor(self, medium: &Mtd, is_new: bool, blocks_max: u32) -> Result<Mtd, MountError> {
        let below = if is_new { self.make(medium)? } else { self.open(medium)? };
        Ok(nor::nor_on(below, medium.clone(), blocks_max))
    }

    /// The translation on a medium, with what it finds there.
    ///
    /// Errors: a medium that fails or is too small, settings that it does not take.
    pub fn open(self, medium: &Mtd) -> Result<Box<dyn Below>, MountError> {
        Ok(match self {
            Translation::Flash => Box::new(medium.clone()),
            Translation::Direct { sector_bytes } => Box::new(direct::Direct::new(medium.clone(), sector_bytes)),
            Translation::WearLevelling { update_rate } => {
                Box::new(wear_levelling::WearLevelling::open(medium.clone(), update_rate).map_err(MountError::Medium)?)
            }
            Translation::Dhara { code, gc_ratio } => Box::new(dhara::Dhara::open(code, medium.clone(), gc_ratio)?),
            Translation::PageMap { logical_pages } => {
                Box::new(page_map::PageMap::mount(medium.clone(), logical_pages)?)
            }
        })
    }
}
