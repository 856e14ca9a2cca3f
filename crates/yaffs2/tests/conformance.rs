//! YAFFS2 under the conformance kit.

use crate::subject;

use ffslab_conformance::{check_asleep, counts, full, hostile, must, policies, power_cuts, sequences, Machine};
use ffslab_flash::Geometry;
use ffslab_yaffs2::{Generation, Options};
use std::sync::Arc;
use subject::Yaffs2Subject;

/// 40 erase blocks of 128 KiB: too few for checkpoints.
const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 40 };
/// 64 erase blocks of 32 KiB: with checkpoints.
const CHECKPOINTED: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 64 };
/// 14 erase blocks of 32 KiB, of which 6 are kept: soon full.
const TIGHT: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 14 };
/// 24 erase blocks of 32 KiB: garbage collection is never far.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 24 };

fn today(geometry: Geometry) -> Yaffs2Subject {
    of(Generation::Today, geometry)
}

fn of(generation: Generation, geometry: Geometry) -> Yaffs2Subject {
    Yaffs2Subject { policy: "kernel", options: Options::of(generation), geometry }
}

fn inband(geometry: Geometry) -> Yaffs2Subject {
    Yaffs2Subject {
        policy: "kernel",
        options: Options { inband_tags: true, ..Options::of(Generation::Y2012) },
        geometry,
    }
}

#[test]
fn random_sequences_behave_like_the_model() {
    must(sequences::check(&today(USUAL), &sequences::Options::default()));
}

#[test]
fn random_sequences_of_all_generations_with_checkpoints() {
    for (generation, seed) in [(Generation::Y2010, 11), (Generation::Y2011, 12), (Generation::Y2012, 13)] {
        let options = sequences::Options { seed, ..sequences::Options::default() };
        must(sequences::check(&of(generation, CHECKPOINTED), &options));
    }
}

#[test]
fn random_sequences_with_hardly_any_page_cache() {
    let options = sequences::Options { seed: 2, machine: Machine::TINY, ..sequences::Options::default() };
    must(sequences::check(&today(CHECKPOINTED), &options));
}

#[test]
fn random_sequences_on_a_small_partition_meet_the_garbage_collector() {
    let options = sequences::Options { seed: 3, calls_max: 250, ..sequences::Options::default() };
    let report = must(sequences::check(&today(TIGHT), &options));
    assert!(report.full > 0, "no sequence filled the partition");
}

#[test]
fn random_sequences_with_inband_tags() {
    let options = sequences::Options { seed: 4, ..sequences::Options::default() };
    must(sequences::check(&inband(SMALL), &options));
}

#[test]
fn tasks_that_sleep_while_the_chip_works() {
    must(check_asleep(&today(SMALL)));
}

#[test]
fn power_cuts_lose_nothing_that_was_safe() {
    let report = must(power_cuts::check(&today(SMALL), &power_cuts::Options::default()));
    println!("{report}");
    assert!(report.cut_points() > 1000, "{report}");
}

#[test]
fn power_cuts_around_checkpoints_of_all_generations() {
    for generation in [Generation::Y2010, Generation::Y2011, Generation::Y2012, Generation::Today] {
        let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
        println!("{}", must(power_cuts::check(&of(generation, CHECKPOINTED), &options)));
    }
}

#[test]
fn power_cuts_with_inband_tags() {
    let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
    println!("{}", must(power_cuts::check(&inband(SMALL), &options)));
}

#[test]
fn damaged_images_do_no_harm() {
    let report = must(hostile::check(Arc::new(today(SMALL)), &hostile::Options::default()));
    assert!(report.writable > report.refused, "{report:?}");
}

#[test]
fn damaged_images_with_checkpoints_do_no_harm() {
    let options = hostile::Options { seed: 2, ..hostile::Options::default() };
    must(hostile::check(Arc::new(of(Generation::Y2012, CHECKPOINTED)), &options));
}

#[test]
fn a_full_partition_says_so_and_can_be_emptied() {
    must(full::check(&today(USUAL), Machine::USUAL));
    must(full::check(&of(Generation::Y2011, CHECKPOINTED), Machine::TINY));
}

#[test]
fn failing_blocks_and_pages_lose_nothing() {
    for seed in 1..=8 {
        must(full::check_faults(&today(USUAL), Machine::USUAL, seed));
    }
}

#[test]
fn requests_cost_the_same_in_large_files_and_among_many() {
    must(counts::check(&today(USUAL)));
}

#[test]
fn power_cuts_lose_nothing_under_other_policies() {
    policies::check_power_cuts(|policy| Yaffs2Subject { policy, ..today(SMALL) });
}

#[test]
fn random_sequences_under_other_policies_on_a_small_partition() {
    policies::check_sequences(|policy| Yaffs2Subject { policy, ..today(TIGHT) });
}
