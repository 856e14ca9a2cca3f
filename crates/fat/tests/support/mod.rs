//! A program with FAT on a chip of the conformance kit.

use ffslab_bare::paths::{Make, PathProgram};
use ffslab_bare::Costs;
use ffslab_conformance::on::{Kind, SPI_NOR};
use ffslab_fat::{format, Config, Fat};
use ffslab_flash::Geometry;
use ffslab_foreign::{page_map_pages, Translation};
use ffslab_fs::PathFileSystem;
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;

/// NOR with erase blocks of 4 KiB, which can be sectors.
#[allow(dead_code)] // Of some of the tests, as others here.
pub const SMALL_BLOCKS: Kind = Kind { geometry: Geometry { pages_per_block: 16, ..SPI_NOR.geometry }, ..SPI_NOR };

/// FAT with this translation and configuration.
pub struct Linked(pub Translation, pub Config);

impl Make for Linked {
    fn mount(&self, medium: &Mtd, _: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        Ok(Box::new(Fat::mount(medium, self.0, &self.1).map_err(SystemError::unusable)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        format(medium, self.0, &self.1).map_err(SystemError::unusable)
    }
}

/// A chip of this kind with so many erase blocks.
pub fn medium(kind: Kind, blocks: u32) -> Mtd {
    let sim = Sim::new(SimConfig::default());
    (kind.medium)(&sim, kind.with_blocks(blocks)).unwrap_or_else(|failure| panic!("{failure}"))
}

#[allow(dead_code)]
pub fn direct(medium: &Mtd) -> Translation {
    let can = medium.capabilities();
    let sector_bytes = if can.erase_block_bytes <= 4096 { can.erase_block_bytes } else { can.program_bytes.max(512) };
    Translation::Direct { sector_bytes }
}

#[allow(dead_code)]
pub fn page_map(medium: &Mtd) -> Translation {
    Translation::PageMap { logical_pages: page_map_pages(medium.capabilities(), 0.3) }
}

#[allow(dead_code)]
pub const LEVELLED: Translation = Translation::WearLevelling { update_rate: 4 };

pub fn program_on(medium: Mtd, translation: Translation, config: Config) -> PathProgram {
    PathProgram::new(medium.sim().clone(), medium, Box::new(Linked(translation, config)), Costs::default(), 0)
}
