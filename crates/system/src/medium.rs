//! A partition of raw NAND below a system: what it holds, what was done to it, its power.

use ffslab_flash::{Chip, ChipImage, Geometry, ImageLayout, Rules, Timing};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::Sim;
use std::ops::Range;

/// A chip with its driver, and one partition of it. It outlives mounts and power cuts.
pub struct NandMedium {
    nand: Nand,
    mtd: Mtd,
    geometry: Geometry,
    blocks: Range<u32>,
}

impl NandMedium {
    /// An erased chip with a partition of these erase blocks.
    ///
    /// Errors: a geometry that no chip has, a driver that does not fit it, a partition beyond the chip.
    pub fn new(
        sim: &Sim,
        (geometry, timing, rules): (Geometry, Timing, Rules),
        driver: Driver,
        blocks: Range<u32>,
    ) -> Result<NandMedium, String> {
        let chip = Chip::new(sim.clone(), geometry, timing, rules).map_err(|error| error.to_string())?;
        let nand = Nand::new(chip, driver).map_err(|error| error.to_string())?;
        let mtd = Mtd::new(&nand, blocks.start, blocks.end - blocks.start).map_err(|error| error.to_string())?;
        Ok(NandMedium { nand, mtd, geometry, blocks })
    }

    /// The partition as file systems and UBI use it.
    pub fn mtd(&self) -> &Mtd {
        &self.mtd
    }

    /// Of the whole chip.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The erase blocks of the chip that are the partition's.
    pub fn blocks(&self) -> Range<u32> {
        self.blocks.clone()
    }

    pub fn block_bytes(&self) -> u64 {
        u64::from(self.geometry.page_bytes) * u64::from(self.geometry.pages_per_block)
    }

    /// Size of the partition, without OOB.
    pub fn partition_bytes(&self) -> u64 {
        u64::from(self.blocks.end - self.blocks.start) * self.block_bytes()
    }

    /// The chip beside all operations: power cuts, faults, contents.
    pub fn with_chip<R>(&self, act: impl FnOnce(&mut Chip) -> R) -> R {
        self.nand.with_chip(act)
    }

    /// Power fails and comes back: the chip keeps what it holds, the driver forgets what it knew.
    pub fn restart(&self) {
        self.nand.with_chip(Chip::power_on);
        self.nand.restart();
    }

    /// The chip holds something else now: the driver forgets what it knew.
    pub fn contents_changed(&self) {
        self.nand.restart();
    }

    fn of_partition(&self, counts: &[u32]) -> Vec<u32> {
        counts[self.blocks.start as usize..self.blocks.end as usize].to_vec()
    }

    /// Erases of each block of the partition since the chip was made.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.with_chip(|chip| self.of_partition(chip.erase_counts()))
    }

    /// Those of them that only made blocks of a new partition usable.
    pub fn formatting_erases(&self) -> Vec<u32> {
        self.with_chip(|chip| self.of_partition(chip.formatting_erases()))
    }

    /// Programmed pages of each block of the partition.
    pub fn programmed_pages(&self) -> Vec<u32> {
        self.with_chip(|chip| self.blocks().map(|block| chip.programmed_pages(block)).collect())
    }

    /// A copy of what the chip holds.
    pub fn snapshot(&self) -> ChipImage {
        self.with_chip(|chip| chip.snapshot())
    }

    /// Gives the chip what another one held.
    ///
    /// Errors: a snapshot of another chip.
    pub fn restore(&self, held: &ChipImage) -> Result<(), String> {
        self.with_chip(|chip| chip.restore(held)).map_err(|error| error.to_string())?;
        self.contents_changed();
        Ok(())
    }

    /// The partition's bytes, with OOB if wanted; takes no time. With software ECC the OOB bytes hold the ECC that a
    /// kernel with it expects.
    ///
    /// Errors: there is no room for ECC bytes.
    pub fn image(&self, oob: bool) -> Result<Vec<u8>, String> {
        let hamming_ecc = oob && self.nand.driver().ecc.is_in_images(&self.geometry);
        let mut image = Vec::new();
        self.with_chip(|chip| chip.write_image(&mut image, self.blocks(), ImageLayout { oob, hamming_ecc }))
            .map_err(|error| error.to_string())?;
        Ok(image)
    }
}
