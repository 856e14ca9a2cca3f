//! The kit itself: a correct file system passes, and each deliberate defect is caught by the check that is there for it.

mod support;

use ffslab_conformance::{counts, full, hostile, power_cuts, sequences, Failure, Machine};
use std::sync::Arc;
use support::{Defect, DelayingSubject, ExtrasSubject, LogSubject};

fn sequences_of(defect: Defect) -> Result<sequences::Report, Failure> {
    sequences::check(&LogSubject(defect), &sequences::Options { cases: 40, ..sequences::Options::default() })
}

fn cuts_of(defect: Defect) -> Result<power_cuts::Report, Failure> {
    let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
    power_cuts::check(&LogSubject(defect), &options)
}

fn damage_of(defect: Defect) -> Result<hostile::Report, Failure> {
    let options =
        hostile::Options { images: 60, patience_s: 20, operations_max: 60_000, ..hostile::Options::default() };
    hostile::check(Arc::new(LogSubject(defect)), &options)
}

fn full_of(defect: Defect) -> Result<full::FullReport, Failure> {
    full::check(&LogSubject(defect), Machine::USUAL)
}

fn faults_of(defect: Defect) -> Result<Vec<full::FaultReport>, Failure> {
    (1..=3).map(|seed| full::check_faults(&LogSubject(defect), Machine::USUAL, seed)).collect()
}

#[track_caller]
fn caught<T: std::fmt::Debug>(result: Result<T, Failure>, says: &str) {
    match result {
        Ok(report) => panic!("the defect was not caught: {report:?}"),
        Err(failure) => {
            println!("{failure}");
            assert!(failure.to_string().contains(says), "not for the right reason ({says}): {failure}");
        }
    }
}

#[track_caller]
fn passes<T>(result: Result<T, Failure>) -> T {
    result.unwrap_or_else(|failure| panic!("{failure}"))
}

#[test]
fn a_correct_file_system_passes() {
    let report = passes(sequences_of(Defect::None));
    assert!(report.remounts > 40 && report.refused * 2 < report.calls, "{report:?}");
    let options = sequences::Options { cases: 20, machine: Machine::TINY, ..sequences::Options::default() };
    passes(sequences::check(&LogSubject(Defect::None), &options));
    let report = passes(cuts_of(Defect::None));
    assert!(report.cut_points() >= 8 * 30, "{report}");
    assert!(report.workloads.iter().all(|workload| workload.cuts_of_recovery > 0), "{report}");
    let report = passes(damage_of(Defect::None));
    assert!(report.mounted > 0 && report.writable > 0, "{report:?}");
    passes(full_of(Defect::None));
    for report in passes(faults_of(Defect::None)) {
        assert!(report.bad_blocks_at_start > 0 && report.bad_blocks_at_end > report.bad_blocks_at_start, "{report:?}");
    }
    passes(counts::check(&LogSubject(Defect::None)));
}

#[test]
fn sequences_catch_wrong_answers_and_what_a_remount_loses() {
    caught(sequences_of(Defect::TruncationIsForgotten), "size_bytes");
    caught(sequences_of(Defect::UnlinkIsForgotten), "should not be");
    caught(sequences_of(Defect::ModeIsForgotten), "permissions");
    caught(sequences_of(Defect::StaleBytesAfterTruncation), "truncate");
    caught(sequences_of(Defect::LinkCountIsWrong), "links");
    caught(sequences_of(Defect::WrongErrno), "expected ENOTEMPTY, got EEXIST");
    caught(sequences_of(Defect::FullTooEarly), "of the partition free");
    let tiny = sequences::Options { machine: Machine::TINY, ..sequences::Options::default() };
    caught(sequences::check(&LogSubject(Defect::PartialWritesZeroThePage), &tiny), "");
}

#[test]
fn power_cuts_catch_what_was_not_safe() {
    caught(cuts_of(Defect::FsyncDoesNothing), "power cut at");
    caught(cuts_of(Defect::RenameIsTwoSteps), "none of its names is there");
    caught(cuts_of(Defect::TornPagesAreBelieved), "power cut at");
    caught(cuts_of(Defect::UnlinkIsForgotten), "");
}

#[test]
fn damaged_images_catch_panics_and_loops() {
    caught(damage_of(Defect::LengthsAreBelieved), "panicked");
    caught(damage_of(Defect::MountRereadsForever), "flash operations");
    let patience = hostile::Options { images: 60, patience_s: 3, ..hostile::Options::default() };
    caught(hostile::check(Arc::new(LogSubject(Defect::MountLoopsOnDamage)), &patience), "hangs");
}

#[test]
fn full_media_and_faults_catch_silence_and_waste() {
    caught(full_of(Defect::FullIsSilent), "");
    caught(full_of(Defect::FullTooEarly), "of the partition free");
    caught(full_of(Defect::DeletionFreesNothing), "fitted");
    caught(faults_of(Defect::ProgramFailuresAreIgnored), "");
}

#[test]
fn counts_catch_growth() {
    caught(counts::check(&LogSubject(Defect::CostGrowsWithFileSize)), "random read");
    caught(counts::check(&LogSubject(Defect::CostGrowsWithFileCount)), "small file");
}

#[test]
fn extended_attributes_that_go_wrong_are_caught() {
    let options = sequences::Options { cases: 40, ..sequences::Options::default() };
    passes(sequences::check(&ExtrasSubject(Defect::None), &options));
    let many = sequences::Options { cases: 300, ..options };
    caught(sequences::check(&ExtrasSubject(Defect::XattrRemovalIsForgotten), &many), "extended attribute");
    let options =
        power_cuts::Options { points_max: 40, only: Some("extended attributes"), ..power_cuts::Options::default() };
    passes(power_cuts::check(&ExtrasSubject(Defect::None), &options));
    caught(power_cuts::check(&ExtrasSubject(Defect::XattrIsTwoSteps), &options), "is missing");
    caught(power_cuts::check(&LogSubject(Defect::None), &options), "there is no workload");
}

#[test]
fn an_exchange_of_names_that_is_two_steps_is_caught() {
    let options =
        power_cuts::Options { points_max: 60, only: Some("exchanges and whiteouts"), ..power_cuts::Options::default() };
    passes(power_cuts::check(&ExtrasSubject(Defect::None), &options));
    caught(power_cuts::check(&ExtrasSubject(Defect::ExchangeIsTwoSteps), &options), "");
}

#[test]
fn a_file_system_that_delays_writes_is_driven_too() {
    let subject = DelayingSubject(Defect::None);
    for machine in [Machine::USUAL, Machine::TINY] {
        passes(sequences::check(&subject, &sequences::Options { cases: 60, machine, ..sequences::Options::default() }));
    }
    let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
    passes(power_cuts::check(&subject, &options));
    passes(full::check(&subject, Machine::USUAL));
}

#[test]
fn write_back_that_is_forgotten_is_caught() {
    let subject = DelayingSubject(Defect::WriteBackIsForgotten);
    let options = sequences::Options { cases: 40, ..sequences::Options::default() };
    caught(sequences::check(&subject, &options), "");
    let options = power_cuts::Options { points_max: 20, ..power_cuts::Options::default() };
    caught(power_cuts::check(&subject, &options), "");
}
