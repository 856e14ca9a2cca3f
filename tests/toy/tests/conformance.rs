//! The toy under the conformance kit.

use ffslab_conformance::{check_asleep, counts, full, hostile, must, power_cuts, sequences, Machine, Subject};
use ffslab_flash::Geometry;
use ffslab_fs::FileSystem;
use ffslab_mtd::Mtd;
use ffslab_toy::Toy;
use std::sync::Arc;

struct ToySubject {
    blocks: u32,
}

impl Subject for ToySubject {
    fn name(&self) -> &str {
        "toy"
    }

    /// Erase blocks of 32 KiB: the halves change often.
    fn geometry(&self) -> Geometry {
        Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: self.blocks }
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        Toy::mount(mtd, false).map(|toy| Box::new(toy) as Box<dyn FileSystem>)
    }

    /// A torn first record looks like foreign data.
    fn may_refuse_unfinished_format(&self) -> bool {
        true
    }
}

const USUAL: ToySubject = ToySubject { blocks: 160 };
const SMALL: ToySubject = ToySubject { blocks: 64 };

#[test]
fn random_sequences_behave_like_the_model() {
    must(sequences::check(&USUAL, &sequences::Options::default()));
}

#[test]
fn random_sequences_on_a_small_partition() {
    let options = sequences::Options { seed: 2, machine: Machine::TINY, ..sequences::Options::default() };
    must(sequences::check(&SMALL, &options));
}

#[test]
fn tasks_that_sleep_while_the_chip_works() {
    must(check_asleep(&USUAL));
}

#[test]
fn power_cuts_lose_nothing_that_was_safe() {
    let options = power_cuts::Options { points_max: 12, ..power_cuts::Options::default() };
    let report = must(power_cuts::check(&USUAL, &options));
    assert!(report.cut_points() > 200, "{report}");
}

#[test]
fn damaged_images_do_no_harm() {
    must(hostile::check(Arc::new(SMALL), &hostile::Options::default()));
}

#[test]
fn a_full_partition_says_so_and_can_be_emptied() {
    must(full::check(&USUAL, Machine::USUAL));
}

#[test]
fn failing_blocks_and_pages_lose_nothing() {
    must(full::check_faults(&USUAL, Machine::USUAL, 1));
}

#[test]
fn requests_cost_the_same_in_large_files_and_among_many() {
    must(counts::check(&ToySubject { blocks: 400 }));
}
