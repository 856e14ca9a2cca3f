//! The page map of `ffslab-ftl` between sectors and NAND: a sector is a page, and stands wherever there was room for it.
//!
//! Each write is on flash when it returns. What is written keeps the cause of its writer; what the map does for itself has its own.

use crate::device::Below;
use crate::error::MountError;
use ffslab_ftl::flash::OnMedium;
use ffslab_ftl::{FtlConfig, FtlError};
use ffslab_mtd::{Capabilities, Mtd, MtdError};
use ffslab_sim::Sim;
use std::cell::RefCell;

/// Pages that a file system sees of a medium of which this share is kept for the layer.
pub fn logical_pages(medium: &Capabilities, spare_share: f64) -> u32 {
    let pages = medium.blocks * (medium.erase_block_bytes / medium.program_bytes);
    (f64::from(pages) * (1.0 - spare_share)) as u32
}

pub(crate) struct PageMap {
    flash: Mtd,
    map: RefCell<ffslab_ftl::PageMap<OnMedium>>,
    pages: u32,
}

/// What the layer says, in the words of media.
fn of_medium(error: &FtlError) -> MtdError {
    match error {
        FtlError::Medium(error) => *error,
        FtlError::Uncorrectable { .. } => MtdError::Uncorrectable,
        FtlError::OutOfRange { .. } => MtdError::OutOfRange,
        // No block is left to write to.
        _ => MtdError::ProgramFailed,
    }
}

fn refused(flash: &Mtd, error: FtlError) -> MountError {
    match error {
        FtlError::Medium(error) => MountError::Medium(error),
        FtlError::Size { logical_pages, logical_pages_max } => {
            let pages = f64::from(flash.blocks() * flash.pages_per_block());
            let least = ((1.0 - f64::from(logical_pages_max) / pages) * 1000.0).ceil() / 1000.0;
            MountError::Translation(format!(
                "the page map needs blocks of its own, so that {logical_pages} pages for FAT are too many: spare = {least} at least"
            ))
        }
        error => MountError::Translation(error.to_string()),
    }
}

/// What the layer stands on.
fn below(flash: &Mtd) -> Result<OnMedium, MountError> {
    let medium = OnMedium::new(flash.clone()).map_err(|error| refused(flash, error))?;
    Ok(medium.keeping_reasons_of_host())
}

impl PageMap {
    /// An empty one.
    ///
    /// Errors: a medium that it does not work on, more pages than there is room for.
    pub fn format(flash: Mtd, pages: u32) -> Result<PageMap, MountError> {
        let below = below(&flash)?;
        let map = ffslab_ftl::PageMap::format(below, FtlConfig::new(pages)).map_err(|error| refused(&flash, error))?;
        Ok(PageMap { flash, map: RefCell::new(map), pages })
    }

    /// The one that the flash holds.
    ///
    /// Errors: there is none of this size.
    pub fn mount(flash: Mtd, pages: u32) -> Result<PageMap, MountError> {
        let below = below(&flash)?;
        let (map, _) =
            ffslab_ftl::PageMap::mount(below, FtlConfig::new(pages)).map_err(|error| refused(&flash, error))?;
        Ok(PageMap { flash, map: RefCell::new(map), pages })
    }

    fn page_bytes(&self) -> usize {
        self.flash.page_bytes() as usize
    }

    /// The pages of a request. It consists of whole ones.
    fn numbers(&self, at: u64, bytes: usize) -> Result<std::ops::Range<u32>, MtdError> {
        let page_bytes = self.page_bytes() as u64;
        let (first, end) = (at / page_bytes, (at + bytes as u64) / page_bytes);
        if end <= u64::from(self.pages) {
            Ok(first as u32..end as u32)
        } else {
            Err(MtdError::OutOfRange)
        }
    }

    fn each(
        &self,
        numbers: std::ops::Range<u32>,
        mut body: impl FnMut(&mut ffslab_ftl::PageMap<OnMedium>, u32) -> Result<(), FtlError>,
    ) -> Result<(), MtdError> {
        let mut map = self.map.borrow_mut();
        numbers.into_iter().try_for_each(|number| body(&mut map, number)).map_err(|error| of_medium(&error))
    }
}

impl Below for PageMap {
    fn sim(&self) -> &Sim {
        self.flash.sim()
    }

    fn size_bytes(&self) -> u64 {
        u64::from(self.pages) * self.page_bytes() as u64
    }

    fn erase_block_bytes(&self) -> u32 {
        self.flash.page_bytes()
    }

    fn program_bytes(&self) -> u32 {
        self.flash.page_bytes()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        let numbers = self.numbers(at, into.len())?;
        let mut parts = into.chunks_exact_mut(self.page_bytes());
        self.each(numbers, |map, number| parts.next().map_or(Ok(()), |part| map.read(number, part)))?;
        self.flash.settle_reads();
        Ok(())
    }

    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let numbers = self.numbers(at, data.len())?;
        let mut parts = data.chunks_exact(self.page_bytes());
        self.each(numbers, |map, number| parts.next().map_or(Ok(()), |part| map.write(number, part, false)))
    }

    fn erase(&self, at: u64, bytes: u32) -> Result<(), MtdError> {
        self.each(self.numbers(at, bytes as usize)?, |map, number| map.trim(number))
    }

    fn sync(&self) -> Result<(), MtdError> {
        self.map.borrow_mut().flush().map_err(|error| of_medium(&error))
    }
}
