//! What a program with FAT sees is what the model of the conformance kit says, on each translation.

use crate::support;

use ffslab_conformance::on::{Kind, SPI_NAND};
use ffslab_conformance::{must, systems};
use ffslab_fat::{Config, FatType};
use ffslab_foreign::Translation;
use ffslab_mtd::Mtd;
use support::{direct, medium, page_map, program_on, LEVELLED, SMALL_BLOCKS};

/// What FAT promises otherwise than Linux: no times and owners, a file that is open for writing is used through its handle alone, and a rename
/// replaces nothing.
fn latitude() -> systems::Latitude<'static> {
    systems::Latitude {
        own_entries: &[],
        name_bytes_max: 255,
        file_bytes_max: u32::MAX.into(),
        keeps_set_times: false,
        link_follows: false,
        handles_are_apart: true,
        rename_replaces_nothing: true,
    }
}

fn behaves_like_the_model(
    (kind, blocks): (Kind, u32),
    translation: fn(&Mtd) -> Translation,
    config: Config,
    seeds: std::ops::Range<u64>,
) {
    let mut sum = systems::Report::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let chip = medium(kind, blocks);
        let translation = translation(&chip);
        sum += must(systems::check(&mut program_on(chip, translation, config), latitude(), seed, 120));
    }
    println!("{}: {sum:?}", kind.name);
    assert!(sum.calls > 50 * count && sum.refused > 3 * count && sum.remounts > 2 * count, "{sum:?}");
    assert!(sum.lacking_calls < sum.calls / 3 && sum.refused_otherwise < sum.calls / 20, "{sum:?}");
}

#[test]
fn random_sequences_behave_like_the_model_without_a_translation() {
    behaves_like_the_model((SMALL_BLOCKS, 3_200), direct, Config::default(), 0..12);
    behaves_like_the_model((SPI_NAND, 400), direct, Config::default(), 100..104);
}

#[test]
fn random_sequences_behave_like_the_model_on_wear_levelling() {
    let config = Config { cluster_bytes: Some(8192), tables_count: 1, cache_sectors_count: 1, ..Config::default() };
    behaves_like_the_model((SMALL_BLOCKS, 3_200), |_| LEVELLED, config, 12..24);
}

#[test]
fn random_sequences_behave_like_the_model_on_a_page_map() {
    let config = Config { epoch_s: Some(1_000_000_000), update_accessed_date: true, ..Config::default() };
    behaves_like_the_model((SPI_NAND, 400), page_map, config, 24..36);
}

#[test]
fn fat32_behaves_like_the_model() {
    // Sectors of 512 bytes make it with the smallest volume: 65,525 clusters.
    let small_sectors = |_: &Mtd| Translation::Direct { sector_bytes: 512 };
    let config = Config { cluster_bytes: Some(512), fat_type: Some(FatType::Fat32), ..Config::default() };
    behaves_like_the_model((SMALL_BLOCKS, 8_320), small_sectors, config, 36..39);
}
