//! The medium that a file system holds: any [`Medium`], without a virtual call for those of this crate.

use std::ops::Range;
use std::rc::Rc;

use ffslab_flash::{Chip, NorFlash, Torn, Traffic};
use ffslab_sim::Sim;

use crate::driver::Driver;
use crate::error::{Corrected, MediumError, MtdError, RestoreError, SaveError};
use crate::health::{Health, Upkeep};
use crate::medium::{Capabilities, Medium, MediumImage};
use crate::nand::Nand;
use crate::nor::NorPartition;
use crate::partition::{NandPartition, PartitionError};
use crate::spi_nand::Wiring;

/// A partition of a medium; clones are cheap and share it. What each function does stands at [`Medium`].
#[derive(Clone)]
pub struct Mtd {
    device: Device,
    can: Capabilities,
    sim: Sim,
}

/// The media of this crate are called directly, because simulated operations are many and short. Any other one costs a
/// virtual call per operation.
#[derive(Clone)]
enum Device {
    Nand(NandPartition),
    Nor(NorPartition),
    Other(Rc<dyn Medium>),
}

/// Calls the medium, whichever it is.
macro_rules! on {
    ($mtd:expr, $medium:ident => $call:expr) => {
        match &$mtd.device {
            Device::Nand($medium) => $call,
            Device::Nor($medium) => $call,
            Device::Other(other) => {
                let $medium = &**other;
                $call
            }
        }
    };
}

impl From<NandPartition> for Mtd {
    fn from(nand: NandPartition) -> Mtd {
        let (can, sim) = (nand.capabilities(), nand.sim().clone());
        Mtd { device: Device::Nand(nand), can, sim }
    }
}

impl From<NorPartition> for Mtd {
    fn from(nor: NorPartition) -> Mtd {
        let (can, sim) = (nor.capabilities(), nor.sim().clone());
        Mtd { device: Device::Nor(nor), can, sim }
    }
}

impl From<NorFlash> for Mtd {
    fn from(chip: NorFlash) -> Mtd {
        NorPartition::from(chip).into()
    }
}

impl From<Rc<dyn Medium>> for Mtd {
    fn from(medium: Rc<dyn Medium>) -> Mtd {
        let (can, sim) = (medium.capabilities(), medium.sim().clone());
        Mtd { device: Device::Other(medium), can, sim }
    }
}

impl Mtd {
    /// The partition of `blocks` erase blocks (at least one) from block `first_block` of a NAND chip.
    pub fn new(nand: &Nand, first_block: u32, blocks: u32) -> Result<Mtd, PartitionError> {
        NandPartition::new(nand, first_block, blocks).map(Mtd::from)
    }

    /// A NAND chip with its driver, and the partition of these erase blocks of it.
    ///
    /// Errors: a driver that does not suit the chip, a partition that is not on it.
    pub fn of_chip(chip: Chip, driver: Driver, blocks: Range<u32>) -> Result<Mtd, MediumError> {
        let nand = Nand::new(chip, driver)?;
        Ok(Mtd::new(&nand, blocks.start, blocks.end - blocks.start)?)
    }

    /// Another partition of the same medium, for another mount.
    ///
    /// Errors: it is not on the medium. `None`: the medium cannot be divided.
    pub fn beside(&self, blocks: Range<u32>, sim: Sim) -> Option<Result<Mtd, PartitionError>> {
        on!(self, medium => Medium::beside(medium, blocks, sim))
    }

    /// The same partition in the hands of another mount.
    pub fn for_mount(&self, sim: Sim) -> Mtd {
        Mtd { sim, ..self.clone() }
    }

    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// A NOR chip with its driver. `None`: it is none, or one of another crate.
    pub fn nor(&self) -> Option<&NorPartition> {
        match &self.device {
            Device::Nor(nor) => Some(nor),
            Device::Nand(_) | Device::Other(_) => None,
        }
    }

    /// The NAND chip with its driver, for what only NAND has: faults, marks, out-of-band areas of images. `None`: it is
    /// none.
    pub fn nand(&self) -> Option<&NandPartition> {
        on!(self, medium => Medium::nand(medium))
    }

    // ---- what it can do -------------------------------------------------------------------------------------------

    pub fn capabilities(&self) -> &Capabilities {
        &self.can
    }

    /// Erase blocks of the partition.
    pub fn blocks(&self) -> u32 {
        self.can.blocks
    }

    /// Smallest unit of a program, which is called a page.
    pub fn page_bytes(&self) -> u32 {
        self.can.program_bytes
    }

    pub fn pages_per_block(&self) -> u32 {
        self.can.erase_block_bytes / self.can.program_bytes
    }

    pub fn erase_block_bytes(&self) -> u32 {
        self.can.erase_block_bytes
    }

    pub fn size_bytes(&self) -> u64 {
        u64::from(self.can.blocks) * u64::from(self.can.erase_block_bytes)
    }

    pub fn oob_free_bytes(&self) -> u32 {
        self.can.oob_free_bytes
    }

    /// As [`Medium::free_mark_bytes`].
    pub fn free_mark_bytes(&self) -> u32 {
        on!(self, medium => Medium::free_mark_bytes(medium))
    }

    // ---- operations -----------------------------------------------------------------------------------------------

    #[inline]
    pub fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        on!(self, medium => Medium::read(medium, at, data))
    }

    pub fn fetch(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::fetch(medium, at, data))
    }

    #[inline]
    pub fn reads_erased(&self, at: u64, buffer: &mut [u8]) -> Result<bool, MtdError> {
        on!(self, medium => Medium::reads_erased(medium, at, buffer))
    }

    #[inline]
    pub fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::write(medium, at, data))
    }

    #[inline]
    pub fn write_partial(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::write_partial(medium, at, data))
    }

    /// Parts that are empty are no writes.
    #[inline]
    pub fn write_parts(&self, at: u64, parts: [&[u8]; 2]) -> Result<(), MtdError> {
        match parts {
            [one, []] | [[], one] => self.write(at, one),
            _ => on!(self, medium => Medium::write_parts(medium, at, parts)),
        }
    }

    #[inline]
    pub fn erase(&self, at: u64) -> Result<(), MtdError> {
        on!(self, medium => Medium::erase(medium, at))
    }

    pub fn begin_erase(&self, at: u64) -> Result<Option<u64>, MtdError> {
        on!(self, medium => Medium::begin_erase(medium, at))
    }

    pub fn erase_goes_on(&self, at: u64) -> Option<u64> {
        on!(self, medium => Medium::erase_goes_on(medium, at))
    }

    pub fn overlap_programs(&self) -> u32 {
        on!(self, medium => Medium::overlap_programs(medium))
    }

    pub fn settle(&self) {
        on!(self, medium => Medium::settle(medium));
    }

    pub fn begin_read(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        on!(self, medium => Medium::begin_read(medium, at, data, free))
    }

    pub fn settle_reads(&self) {
        on!(self, medium => Medium::settle_reads(medium));
    }

    pub fn use_cache_commands(&self) -> Option<u32> {
        on!(self, medium => Medium::use_cache_commands(medium))
    }

    pub fn begin_read_in_row(
        &self,
        at: u64,
        data: &mut [u8],
        free: &mut [u8],
        more: bool,
    ) -> Result<Corrected, MtdError> {
        on!(self, medium => Medium::begin_read_in_row(medium, at, data, free, more))
    }

    pub fn can_copy_back(&self, from: u64, to: u64) -> bool {
        on!(self, medium => Medium::can_copy_back(medium, from, to))
    }

    pub fn copy_back(
        &self,
        from: u64,
        to: u64,
        free: &mut [u8],
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<bool, MtdError> {
        on!(self, medium => Medium::copy_back(medium, from, to, free, change))
    }

    #[inline]
    pub fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        on!(self, medium => Medium::read_page_with_oob(medium, at, data, free))
    }

    #[inline]
    pub fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::write_page_with_oob(medium, at, data, free))
    }

    #[inline]
    pub fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::read_oob_free(medium, at, free))
    }

    #[inline]
    pub fn write_oob_free(&self, at: u64, free: &[u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::write_oob_free(medium, at, free))
    }

    #[inline]
    pub fn is_bad(&self, at: u64) -> bool {
        on!(self, medium => Medium::is_bad(medium, at))
    }

    /// [`Mtd::is_bad`] as a file system asks it, which may need a flash operation.
    pub fn ask_bad(&self, at: u64) -> bool {
        on!(self, medium => Medium::ask_bad(medium, at))
    }

    pub fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        on!(self, medium => Medium::mark_bad(medium, at))
    }

    // ---- beside all operations --------------------------------------------------------------------------------------

    pub fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::look(medium, at, data))
    }

    pub fn look_at_written_pages(&self, at: u64) -> Result<u32, MtdError> {
        on!(self, medium => Medium::look_at_written_pages(medium, at))
    }

    pub fn erase_counts(&self) -> Vec<u32> {
        on!(self, medium => Medium::erase_counts(medium))
    }

    pub fn traffic(&self) -> Traffic {
        on!(self, medium => Medium::traffic(medium))
    }

    pub fn formatting_erases(&self) -> Vec<u32> {
        on!(self, medium => Medium::formatting_erases(medium))
    }

    pub fn health(&self) -> Option<Health> {
        on!(self, medium => Medium::health(medium))
    }

    pub fn note(&self, what: Upkeep) {
        on!(self, medium => Medium::note(medium, what));
    }

    pub fn lies(&self, time_s: f64, celsius: f64) -> bool {
        on!(self, medium => Medium::lies(medium, time_s, celsius))
    }

    pub fn erases_left(&self) -> Vec<u32> {
        on!(self, medium => Medium::erases_left(medium))
    }

    pub fn wear_on(&self, more_erases: &[u32]) -> Result<(), MtdError> {
        on!(self, medium => Medium::wear_on(medium, more_erases))
    }

    pub fn amend(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        on!(self, medium => Medium::amend(medium, at, data))
    }

    pub fn programmed_pages(&self) -> Vec<u32> {
        on!(self, medium => Medium::programmed_pages(medium))
    }

    pub fn cut_power_after(&self, operations: u64, torn: Torn) {
        on!(self, medium => Medium::cut_power_after(medium, operations, torn));
    }

    pub fn is_on(&self) -> bool {
        on!(self, medium => Medium::is_on(medium))
    }

    pub fn restart(&self) {
        on!(self, medium => Medium::restart(medium));
    }

    pub fn modifying_operations(&self) -> u64 {
        on!(self, medium => Medium::modifying_operations(medium))
    }

    pub fn snapshot(&self) -> MediumImage {
        on!(self, medium => Medium::snapshot(medium))
    }

    pub fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        on!(self, medium => Medium::restore(medium, held))
    }

    pub fn rewire(&self, wiring: &Wiring) -> bool {
        on!(self, medium => Medium::rewire(medium, wiring))
    }

    pub fn image(&self, oob: bool) -> Result<Vec<u8>, SaveError> {
        on!(self, medium => Medium::image(medium, oob))
    }
}
