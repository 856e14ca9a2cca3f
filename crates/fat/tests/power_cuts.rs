//! The power goes away at each program and erase of a workload: what a translation leaves of FAT.
//!
//! FAT promises nothing there, so that these are no promises but what was found, and the rows of docs/fat.md.

use crate::support;

use ffslab_conformance::older_files;
use ffslab_conformance::on::{Kind, SPI_NAND};
use ffslab_fat::Config;
use ffslab_foreign::Translation;
use ffslab_mtd::Mtd;
use support::{direct, medium, page_map, program_on, LEVELLED, SMALL_BLOCKS};

/// Cuts, and those after which the volume, or one of the old files, is lost.
fn cut_everywhere((kind, blocks): (Kind, u32), of: fn(&Mtd) -> Translation, step: usize) -> (u32, u32) {
    let program = |chip: Mtd| {
        let translation = of(&chip);
        program_on(chip, translation, Config::default())
    };
    let cuts = older_files::cut_everywhere(|| medium(kind, blocks), program, step);
    println!("{}: {cuts:?}", kind.name);
    (cuts.cuts, cuts.losing_cuts)
}

#[test]
fn without_a_translation_a_cut_takes_an_erase_block() {
    let (cuts, lost) = cut_everywhere((SMALL_BLOCKS, 64), direct, 7);
    assert!(cuts > 50 && lost > 0 && lost < cuts, "{lost} of {cuts}");
    let (cuts, lost) = cut_everywhere((SPI_NAND, 32), direct, 7);
    assert!(cuts > 50 && lost > 0 && lost < cuts, "{lost} of {cuts}");
}

#[test]
fn the_wear_levelling_of_esp_idf_does_not_help() {
    let (cuts, lost) = cut_everywhere((SMALL_BLOCKS, 64), |_| LEVELLED, 11);
    assert!(cuts > 50 && lost < cuts, "{lost} of {cuts}");
}

/// Sectors are written as a whole, and beside the one that is written nothing is touched.
#[test]
fn on_a_page_map_no_cut_takes_older_files() {
    let (cuts, lost) = cut_everywhere((SPI_NAND, 32), page_map, 1);
    assert!(cuts > 50 && lost == 0, "{lost} of {cuts}");
}
