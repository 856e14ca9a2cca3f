//! What a program with littlefs sees is what the model of the conformance kit says, on each kind of medium.

use crate::support;

use ffslab_conformance::on::{Kind, PARALLEL_NOR, SMALL_PAGES, SPI_NAND, SPI_NOR};
use ffslab_conformance::{must, systems};
use ffslab_littlefs::{FILE_BYTES_MAX, NAME_BYTES_MAX};
use support::program;

/// What littlefs promises otherwise than Linux: no times, nothing of a file that is open but through its handle.
fn latitude() -> systems::Latitude<'static> {
    systems::Latitude {
        own_entries: &[],
        name_bytes_max: NAME_BYTES_MAX as usize,
        file_bytes_max: FILE_BYTES_MAX,
        keeps_set_times: false,
        link_follows: false,
        handles_are_apart: true,
        rename_replaces_nothing: false,
    }
}

fn behaves_like_the_model(kind: Kind, blocks: u32, seeds: u64) {
    let mut sum = systems::Report::default();
    for seed in 0..seeds {
        sum += must(systems::check(&mut program(kind, blocks), latitude(), seed, 120));
    }
    println!("{}: {sum:?}", kind.name);
    assert!(sum.calls > 50 * seeds && sum.refused > 3 * seeds && sum.remounts > 2 * seeds, "{sum:?}");
    assert!(sum.lacking_calls < sum.calls / 3 && sum.refused_otherwise < sum.calls / 20, "{sum:?}");
}

#[test]
fn random_sequences_behave_like_the_model_on_spi_nor() {
    behaves_like_the_model(SPI_NOR, 400, 24);
}

#[test]
fn random_sequences_behave_like_the_model_on_spi_nand() {
    behaves_like_the_model(SPI_NAND, 400, 24);
}

#[test]
fn random_sequences_behave_like_the_model_on_other_media() {
    behaves_like_the_model(SMALL_PAGES, 600, 8);
    behaves_like_the_model(PARALLEL_NOR, 400, 8);
}
