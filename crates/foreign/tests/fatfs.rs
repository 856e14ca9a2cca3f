//! What a program with FatFs sees is what the model of the conformance kit says, on each translation that needs no other library.
//!
//! FatFs stands in no registry: FFSLAB_FATFS_LIBRARY names what `ffslab foreign build fatfs` made of a user's sources. Without it nothing is
//! tested here; `tests/test_foreign_fatfs.py` compiles a toy with its interface.

use ffslab_bare::paths::{Make, PathProgram};
use ffslab_bare::Costs;
use ffslab_conformance::on::{Kind, SPI_NAND, SPI_NOR};
use ffslab_conformance::{must, systems};
use ffslab_flash::Geometry;
use ffslab_foreign::{page_map_pages, Code, Setup, Translation};
use ffslab_fs::PathFileSystem;
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;
use std::path::Path;

/// NOR with erase blocks of 4 KiB, which can be sectors.
const SMALL_BLOCKS: Kind = Kind { geometry: Geometry { pages_per_block: 16, ..SPI_NOR.geometry }, ..SPI_NOR };

struct Loaded(Setup);

impl Make for Loaded {
    fn mount(&self, medium: &Mtd, _: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        Ok(Box::new(self.0.mount(medium).map_err(SystemError::unusable)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        self.0.format(medium).map_err(SystemError::unusable)
    }
}

/// What FAT promises otherwise than Linux.
fn latitude() -> systems::Latitude<'static> {
    systems::Latitude {
        own_entries: &[],
        name_bytes_max: 255,
        file_bytes_max: i32::MAX as u64,
        keeps_set_times: false,
        link_follows: false,
        handles_are_apart: true,
        rename_replaces_nothing: true,
    }
}

fn behaves_like_the_model(kind: Kind, blocks: u32, translation: fn(&Mtd) -> Translation) {
    let Some(library) = std::env::var_os("FFSLAB_FATFS_LIBRARY") else {
        println!("FFSLAB_FATFS_LIBRARY is not set");
        return;
    };
    let code = Code::load(Path::new(&library)).unwrap_or_else(|error| panic!("{error:?}"));
    let mut sum = systems::Report::default();
    for seed in 0..12 {
        let sim = Sim::new(SimConfig::default());
        let medium = (kind.medium)(&sim, kind.with_blocks(blocks)).unwrap_or_else(|failure| panic!("{failure}"));
        let setup = Setup { fs: "fatfs", code, settings: Vec::new(), translation: translation(&medium) };
        let mut program = PathProgram::new(sim, medium, Box::new(Loaded(setup)), Costs::default(), 0);
        sum += must(systems::check(&mut program, latitude(), seed, 120));
    }
    println!("{}: {sum:?}", kind.name);
    assert!(sum.calls > 600 && sum.refused > 36 && sum.remounts > 24, "{sum:?}");
}

#[test]
fn random_sequences_behave_like_the_model_without_a_translation() {
    behaves_like_the_model(SMALL_BLOCKS, 3_200, |_| Translation::Direct { sector_bytes: 4096 });
}

#[test]
fn random_sequences_behave_like_the_model_on_wear_levelling() {
    behaves_like_the_model(SMALL_BLOCKS, 3_200, |_| Translation::WearLevelling { update_rate: 4 });
}

#[test]
fn random_sequences_behave_like_the_model_on_a_page_map() {
    let page_map = |medium: &Mtd| Translation::PageMap { logical_pages: page_map_pages(medium.capabilities(), 0.3) };
    behaves_like_the_model(SPI_NAND, 400, page_map);
}
