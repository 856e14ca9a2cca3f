//! UBIFS on UBI under the conformance kit.

use crate::subject;

use ffslab_conformance::mutate::{self, Mutation};
use ffslab_conformance::{
    check_asleep, counts, full, hostile, must, policies, power_cuts, sequences, Machine, Subject,
};
use ffslab_flash::Geometry;
use ffslab_ubifs::{Compression, Options};
use std::sync::Arc;
use subject::{structures, UbifsSubject, WithFastmap, BAD_RESERVE};

/// 64 erase blocks of 128 KiB.
const USUAL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 64 };
/// 48 erase blocks of 32 KiB, of which hardly half hold data: soon full.
const SMALL: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 48 };

/// 28 erase blocks of 32 KiB: hardly more than UBIFS accepts.
const TIGHT: Geometry = Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 16, blocks: 28 };

fn plain(geometry: Geometry) -> UbifsSubject {
    UbifsSubject { policy: "kernel", options: Options::default(), geometry, bad_reserve: BAD_RESERVE }
}

fn compressed(geometry: Geometry) -> UbifsSubject {
    let options = Options { compression: Compression::Lzo, ..Options::default() };
    UbifsSubject { policy: "kernel", options, geometry, bad_reserve: BAD_RESERVE }
}

#[test]
fn random_sequences_behave_like_the_model() {
    must(sequences::check(&plain(USUAL), &sequences::Options::default()));
}

#[test]
fn random_sequences_with_hardly_any_page_cache() {
    let options = sequences::Options { seed: 2, machine: Machine::TINY, ..sequences::Options::default() };
    must(sequences::check(&plain(USUAL), &options));
}

#[test]
fn random_sequences_on_a_small_partition_meet_the_garbage_collector() {
    let options = sequences::Options { seed: 3, calls_max: 250, ..sequences::Options::default() };
    let report = must(sequences::check(&plain(TIGHT), &options));
    assert!(report.full > 0, "no sequence filled the partition");
}

#[test]
fn random_sequences_with_compression() {
    let options = sequences::Options { seed: 4, ..sequences::Options::default() };
    must(sequences::check(&compressed(SMALL), &options));
}

#[test]
fn tasks_that_sleep_while_the_chip_works() {
    must(check_asleep(&plain(SMALL)));
}

#[test]
fn power_cuts_lose_nothing_that_was_safe() {
    let report = must(power_cuts::check(&plain(SMALL), &power_cuts::Options::default()));
    println!("{report}");
    assert!(report.cut_points() > 1000, "{report}");
}

#[test]
fn power_cuts_with_compression() {
    let options = power_cuts::Options { points_max: 25, ..power_cuts::Options::default() };
    println!("{}", must(power_cuts::check(&compressed(SMALL), &options)));
}

/// The fastmap may be older than what it describes after each of them.
#[test]
fn power_cuts_with_fastmap_lose_nothing_that_was_safe() {
    let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
    let subject = WithFastmap(plain(Geometry { blocks: 72, ..SMALL }));
    println!("{}", must(power_cuts::check(&subject, &options)));
}

#[test]
fn damaged_images_do_no_harm() {
    let report = must(hostile::check(Arc::new(plain(SMALL)), &hostile::Options::default()));
    assert!(report.writable > 0, "{report:?}");
}

/// A page of entries was copied over another one: the entry that the index led to had a smaller key than the one before
/// it, so reading the directory began anew and never ended.
#[test]
fn a_directory_whose_entries_lead_back_comes_to_an_end() {
    let subject = plain(Geometry { blocks: 32, ..SMALL });
    for mut image in hostile::base_images(&subject).unwrap() {
        mutate::apply(&mut image, subject.geometry, &Mutation::CopyPage { from: 226, to: 229 });
        subject.reseal(&mut image);
        must(hostile::use_image(&subject, &image, 100_000));
    }
}

/// The kit relies on it: what it makes right after damage must be all that there is, and right.
#[test]
fn resealing_a_sound_image_changes_nothing() {
    for image in hostile::base_images(&plain(SMALL)).unwrap() {
        let mut resealed = image.clone();
        plain(SMALL).reseal(&mut resealed);
        assert!(resealed == image);
        let data = structures::data_areas(&image, SMALL);
        let count = structures::structures(&data, SMALL).len();
        assert!(count > 300, "{count} structures");
    }
}

#[test]
fn a_full_partition_says_so_and_can_be_emptied() {
    must(full::check(&plain(USUAL), Machine::USUAL));
    must(full::check(&plain(SMALL), Machine::TINY));
}

#[test]
fn requests_cost_the_same_in_large_files_and_among_many() {
    must(counts::check(&plain(USUAL)));
}

#[test]
fn power_cuts_lose_nothing_under_other_policies() {
    policies::check_power_cuts(|policy| UbifsSubject { policy, ..plain(SMALL) });
}

#[test]
fn random_sequences_under_other_policies_on_a_small_partition() {
    policies::check_sequences(|policy| UbifsSubject { policy, ..plain(TIGHT) });
}

#[test]
fn power_cuts_and_sequences_under_other_orders_of_write_back() {
    policies::check_write_back_orders(&plain(SMALL));
}

#[test]
fn random_sequences_under_other_read_ahead() {
    policies::check_read_ahead(&compressed(SMALL));
}
