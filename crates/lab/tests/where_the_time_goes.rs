//! A run must be able to say where its time went. Every nanosecond is counted where it is spent, by cause, as the
//! program's computing or as idle time; these tests compare the sum with the clock, which counts by itself. A layer that
//! moves the clock without saying why breaks them.

use ffslab_lab::result::{Summary, VariantSummary};
use ffslab_lab::run_experiment;
use std::path::{Path, PathBuf};

fn experiment(name: &str) -> (String, PathBuf) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name);
    (std::fs::read_to_string(&file).unwrap(), file.parent().unwrap().to_path_buf())
}

fn summary(text: &str, base_dir: &Path) -> Summary {
    run_experiment(text, "test.toml", base_dir, &|_| true).unwrap().summary
}

fn flash_us(variant: &VariantSummary) -> f64 {
    variant.by_cause.iter().map(|cause| cause.counts.busy_us + cause.counts.driver_us).sum()
}

fn cpu_us(variant: &VariantSummary) -> f64 {
    variant.by_cause.iter().map(|cause| cause.counts.cpu_us).sum()
}

/// Microseconds are nanoseconds / 1000 in floating point; a nanosecond too much or too little is found.
fn assert_accounted_for(variant: &VariantSummary) {
    let sum_us = flash_us(variant) + cpu_us(variant) + variant.program_us + variant.idle_us;
    let clock_us = variant.time_us;
    assert!((sum_us - clock_us).abs() < 0.000_5, "{}: {sum_us} us counted, {clock_us} us passed", variant.name);
}

#[test]
fn the_causes_of_a_saturated_partition_add_up_to_the_elapsed_time() {
    let (text, base_dir) = experiment("saturated/random-writes.toml");
    // A costly clock stands for CPU time, a pause for idle time.
    let text = text.replace("fs = \"jffs2\"", "fs = \"jffs2\"\nclock_read_ns = 256").replace("5120", "2560")
        + "[[measure]]\nstep = \"sleep\"\nus = \"20 s\"\n[axes]\nnand_wait = [\"busy\", \"sleep\"]\n";
    for variant in &summary(&text, &base_dir).variants {
        assert_accounted_for(variant);
        assert!(variant.time_us > 20e6 && variant.idle_us > 10e6 && variant.idle_us < 20e6, "{}", variant.idle_us);
        // Two readings for each write and for each step, and the file system's own work.
        assert!(cpu_us(variant) > 0.256 * 2.0 * (2560.0 + 6.0), "{}", cpu_us(variant));
        assert_eq!(variant.program_us, 0.0);
        let reasons: Vec<&str> = variant.by_cause.iter().map(|cause| cause.reason).collect();
        for reason in
            ["user data", "read-modify-write", "padding", "gc copy", "erase", "erase read-back", "clean marker"]
        {
            assert!(reasons.contains(&reason), "no cause \"{reason}\" in {reasons:?}");
        }
        let unexplained = variant.by_cause.iter().filter(|cause| cause.reason == "other");
        assert!(unexplained.into_iter().all(|cause| cause.counts.busy_us == 0.0), "flash operations without a reason");
    }
}

#[test]
fn the_thinking_of_a_replayed_program_is_its_own_time() {
    let (text, base_dir) = experiment("first-run/sqlite.toml");
    let kept = text.rsplit_once("think = \"none\"").map(|(before, after)| format!("{before}think = \"keep\"{after}"));
    let (fast, kept) = (summary(&text, &base_dir), summary(&kept.unwrap(), &base_dir));
    for (fast, kept) in fast.variants.iter().zip(&kept.variants) {
        assert_accounted_for(fast);
        assert_accounted_for(kept);
        assert_eq!(fast.program_us + fast.idle_us, 0.0);
        assert!(kept.program_us + kept.idle_us > 1_000.0, "the recorded program computes for some time");
        // JFFS2's thread erases while the program thinks, what otherwise the program waits for.
        if !fast.name.contains("jffs2") {
            assert_eq!(flash_us(fast), flash_us(kept), "thinking changes no flash operation");
        }
    }
}

#[test]
fn what_was_resolved_runs_from_any_folder() {
    let (text, base_dir) = experiment("first-run/sqlite.toml");
    let first = run_experiment(&text, "test.toml", &base_dir, &|_| true).unwrap();
    let again = summary(&first.resolved_toml, &std::env::temp_dir());
    let json = |summary: &Summary| serde_json::to_string(summary).unwrap();
    assert!(json(&first.summary) == json(&again), "the summaries differ");
}

/// A program that is measured writes down what a step did; after the last one nobody waits for that.
#[test]
fn what_the_program_does_after_the_last_step_is_not_in_the_measurement() {
    let text = "title = \"umount\"\n[stack]\nsystem = \"linux\"\nboard = \"qemu-debian-amd64\"\nfs = \"ubifs\"\n\
                partition_blocks = 400\n[[setup]]\nstep = \"mount\"\n[[measure]]\nstep = \"sync\"\n\
                [[measure]]\nstep = \"umount\"\n";
    let summary = summary(text, Path::new(""));
    assert_accounted_for(&summary.variants[0]);
    assert_eq!(summary.variants[0].program_us, 113.6, "between two steps, once");
}
