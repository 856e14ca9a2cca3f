//! What a program with FatFs sees is what the model of the conformance kit says, on each translation that needs no other library; and what
//! power cuts leave.
//!
//! FatFs stands in no registry: FFSLAB_FATFS_LIBRARY names what `ffslab foreign build fatfs` made of a user's sources, and FFSLAB_DHARA_LIBRARY a
//! Dhara below it. Without the first nothing is tested here; `tests/foreign/test_foreign_fatfs.py` compiles a toy with its interface.

use ffslab_bare::paths::{Make, PathProgram};
use ffslab_bare::Costs;
use ffslab_conformance::on::{Kind, SPI_NAND, SPI_NOR};
use ffslab_conformance::{must, older_files, systems};
use ffslab_flash::Geometry;
use ffslab_foreign::{page_map_pages, Code, DharaCode, Setup, Translation};
use ffslab_fs::PathFileSystem;
use ffslab_mtd::Mtd;
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;
use std::path::PathBuf;

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

/// A library of the user's sources, if it is named.
fn library(variable: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from);
    if named.is_none() {
        println!("{variable} is not set");
    }
    named
}

fn code() -> Option<Code> {
    library("FFSLAB_FATFS_LIBRARY").map(|file| Code::load(&file).unwrap_or_else(|error| panic!("{error:?}")))
}

fn medium(kind: Kind, blocks: u32) -> Mtd {
    let sim = Sim::new(SimConfig::default());
    (kind.medium)(&sim, kind.with_blocks(blocks)).unwrap_or_else(|failure| panic!("{failure}"))
}

fn program_on(medium: Mtd, code: Code, translation: Translation) -> PathProgram {
    let setup = Setup { fs: "fatfs", code, settings: Vec::new(), translation };
    PathProgram::new(medium.sim().clone(), medium, Box::new(Loaded(setup)), Costs::default(), 0)
}

fn page_map(medium: &Mtd) -> Translation {
    Translation::PageMap { logical_pages: page_map_pages(medium.capabilities(), 0.3) }
}

fn behaves_like_the_model(kind: Kind, blocks: u32, translation: fn(&Mtd) -> Translation) {
    let Some(code) = code() else { return };
    let mut sum = systems::Report::default();
    for seed in 0..12 {
        let medium = medium(kind, blocks);
        let translation = translation(&medium);
        sum += must(systems::check(&mut program_on(medium, code, translation), latitude(), seed, 120));
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
    behaves_like_the_model(SPI_NAND, 400, page_map);
}

/// Cuts, and those after which the volume, or one of the files that were not touched, is lost.
fn cut_everywhere(kind: Kind, blocks: u32, of: impl Fn(&Mtd) -> Translation, step: usize) -> Option<(u32, u32)> {
    let code = code()?;
    let program = |chip: Mtd| {
        let translation = of(&chip);
        program_on(chip, code, translation)
    };
    let cuts = older_files::cut_everywhere(|| medium(kind, blocks), program, step);
    println!("{}: {cuts:?}", kind.name);
    Some((cuts.cuts, cuts.losing_cuts))
}

#[test]
fn without_a_translation_a_cut_takes_an_erase_block() {
    type Of = fn(&Mtd) -> Translation;
    let sectors: [(Kind, u32, Of); 2] = [
        (SMALL_BLOCKS, 64, |_| Translation::Direct { sector_bytes: 4096 }),
        (SPI_NAND, 32, |_| Translation::Direct { sector_bytes: 2048 }),
    ];
    for (kind, blocks, of) in sectors {
        let Some((cuts, lost)) = cut_everywhere(kind, blocks, of, 7) else { return };
        assert!(cuts > 50 && lost > 0 && lost < cuts, "{lost} of {cuts}");
    }
}

#[test]
fn the_wear_levelling_of_esp_idf_does_not_help() {
    let levelled = |_: &Mtd| Translation::WearLevelling { update_rate: 4 };
    let Some((cuts, lost)) = cut_everywhere(SMALL_BLOCKS, 64, levelled, 11) else { return };
    assert!(cuts > 50 && lost < cuts, "{lost} of {cuts}");
}

#[test]
fn on_a_page_map_no_cut_takes_older_files() {
    let Some((cuts, lost)) = cut_everywhere(SPI_NAND, 32, page_map, 1) else { return };
    assert!(cuts > 50 && lost == 0, "{lost} of {cuts}");
}

#[test]
fn on_dhara_no_cut_takes_older_files() {
    let Some(file) = library("FFSLAB_DHARA_LIBRARY") else { return };
    let code = DharaCode::load(&file).unwrap_or_else(|error| panic!("{error:?}"));
    let dhara = |_: &Mtd| Translation::Dhara { code, gc_ratio: 4 };
    let Some((cuts, lost)) = cut_everywhere(SPI_NAND, 32, dhara, 1) else { return };
    assert!(cuts > 50 && lost == 0, "{lost} of {cuts}");
}
