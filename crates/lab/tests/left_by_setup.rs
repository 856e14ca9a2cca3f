//! What the setup leaves in memory is not the measured workload's: initial states leave nothing, and what setup steps leave
//! is told and counted apart.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::{run_experiment, RunResult};
use std::path::Path;

const FILE_SYSTEMS: [&str; 3] = ["jffs2", "yaffs2", "ubifs"];

fn run(text: &str) -> RunResult {
    run_experiment(text, "left.toml", Path::new("."), &|_| true).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn only(text: &str) -> VariantSummary {
    run(text).summary.variants.remove(0)
}

/// A file is written in the background of pauses, 0.2 MiB.
const APPENDS: &str = r#"
[[measure]]
step = "open"
file = "log"
flags = ["wronly", "create", "append"]
[[measure]]
step = "requests"
file = "log"
op = "write"
pattern = "sequential"
request_B = 512
count = 400
range_B = "1 MiB"
gap_us = "100 ms"
[[measure]]
step = "close"
file = "log"
[[measure]]
step = "sync"
"#;

fn head(fs: &str, more: &str) -> String {
    format!("title = \"t\"\n{more}\n[stack]\nboard = \"omap3evm\"\nfs = \"{fs}\"\npartition_blocks = 160\n")
}

fn setup(steps: &[&str]) -> String {
    steps.iter().map(|step| format!("[[setup]]\n{step}\n")).collect()
}

fn programs_of_setup(variant: &VariantSummary) -> u64 {
    let own = variant.by_cause.iter().filter(|cause| cause.reason == "left by the setup");
    own.map(|cause| cause.counts.page_programs).sum()
}

/// Each word of the key `initial`, on each file system.
#[test]
fn initial_states_leave_nothing_to_be_written() {
    for fs in FILE_SYSTEMS {
        for state in [
            "saturated",
            "filled 30 %",
            "dirty 2 MiB",
            "filled 20 %, aged 0.5",
            "fragmented 1 MiB",
            "filled 20 %, saturated",
        ] {
            let measured = "[[measure]]\nstep = \"sleep\"\nus = \"60 s\"\n[[measure]]\nstep = \"sync\"\n";
            let variant = only(&(head(fs, &format!("initial = \"{state}\"")) + measured));
            assert!(variant.of_setup.is_none(), "{fs}, {state}: {:?}", variant.of_setup);
            assert_eq!(programs_of_setup(&variant), 0, "{fs}, {state}");
        }
    }
}

/// Pages of a commit of UBIFS. On 2.6.37 each sync runs one, though nothing is dirty, and moves those that follow it.
const COMMIT_PAGES: f64 = 4.0;

fn nearly_the_same(some: f64, others: f64) -> bool {
    (some - others).abs() < 0.02 * others + COMMIT_PAGES
}

/// A `sync` step after the state finds nothing to do.
#[test]
fn a_sync_after_an_initial_state_changes_nothing() {
    for fs in FILE_SYSTEMS {
        let head = head(fs, "initial = \"filled 30 %\"");
        let (plain, synced) = (only(&(head.clone() + APPENDS)), only(&(head + &setup(&["step = \"sync\""]) + APPENDS)));
        let (plain, synced) = (plain.totals.page_programs as f64, synced.totals.page_programs as f64);
        assert!(nearly_the_same(plain, synced), "{fs}: {plain} page programs, {synced} with a sync");
    }
}

/// The same workload after the same setup, left as it is and synced.
#[test]
fn what_the_setup_left_is_told_and_counted_apart() {
    let state =
        ["step = \"mount\"", "step = \"sleep\"\nus = \"60 s\"", "step = \"occupy\"\nfile = \"f\"\npercent = 30"];
    let variant = |fs: &str, more: &[&str]| only(&(head(fs, "") + &setup(&[&state[..], more].concat()) + APPENDS));
    let (left, settled) = (variant("ubifs", &[]), variant("ubifs", &["step = \"sync\""]));
    let told = left.of_setup.expect("the setup left dirty pages");
    assert!(told.pages > 1_000 && told.inodes > 0, "{told:?}");
    assert!(settled.of_setup.is_none());
    let written = programs_of_setup(&left);
    assert_eq!(told.totals.page_programs, written);
    assert!(written > 2_000 && told.energy_uj.is_some_and(|energy| energy.total > 0.0), "{written}");
    // What remains is what the workload needs by itself, but for pages that hold something of both.
    let own = left.totals.page_programs - written;
    let alone = settled.totals.page_programs;
    assert!(nearly_the_same(own as f64, alone as f64), "{own} and {alone} page programs");
    let (own, alone) = (left.write_amplification.unwrap(), settled.write_amplification.unwrap());
    assert!((own / alone - 1.0).abs() < 0.05, "write amplification {own} and {alone}");
}

/// Every nanosecond has its cause, with the cause of its own, too.
#[test]
fn the_times_add_up() {
    for fs in FILE_SYSTEMS {
        let create = "step = \"create\"\nfile = \"f\"\nbytes = \"3 MiB\"";
        let variant = only(&(head(fs, "") + &setup(&["step = \"mount\"", create]) + APPENDS));
        let caused: f64 =
            variant.by_cause.iter().map(|c| c.counts.busy_us + c.counts.driver_us + c.counts.cpu_us).sum();
        let sum = caused + variant.program_us + variant.idle_us;
        assert!((sum - variant.time_us).abs() < 1e-3 * variant.time_us.sqrt(), "{fs}: {sum} of {}", variant.time_us);
        assert_eq!(programs_of_setup(&variant) > 0, variant.of_setup.is_some_and(|left| left.totals.page_programs > 0));
    }
}

/// Overwritten before it was written for the first time, a page is the measurement's.
#[test]
fn what_is_changed_again_is_the_measurements() {
    let steps = ["step = \"mount\"", "step = \"create\"\nfile = \"f\"\nbytes = \"2 MiB\""];
    let rewrite = r#"
[[measure]]
step = "open"
file = "f"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "f"
op = "write"
pattern = "sequential"
request_B = "4 KiB"
count = COUNT
[[measure]]
step = "fsync"
file = "f"
[[measure]]
step = "sync"
"#;
    let programs = |count: u64| {
        let text = head("ubifs", "") + &setup(&steps) + &rewrite.replace("COUNT", &count.to_string());
        let variant = only(&text);
        assert_eq!(variant.of_setup.unwrap().pages, 512);
        programs_of_setup(&variant)
    };
    let (none, half, all) = (programs(1), programs(256), programs(512));
    assert!(none > 1_000 && half * 2 > none - 60 && half * 2 < none + 60, "{none}, {half}");
    assert!(all < 4, "{all}");
}

/// The files that a recording expects to find are on flash when the replay begins. JFFS2's thread first erases the blocks
/// of the new partition; while it still does, it may also collect, behind the last sync, what was just written.
#[test]
fn what_a_replay_needs_is_settled() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("left-replay");
    std::fs::create_dir_all(&dir).unwrap();
    let trace = "1 1.000000 openat(AT_FDCWD, \"/w/a\", O_RDWR) = 3 <0.0001>\n\
                 1 1.100000 pread64(3, \"x\"..., 4096, 2097152) = 4096 <0.0001>\n\
                 1 1.200000 close(3) = 0 <0.0001>\n";
    std::fs::write(dir.join("a.strace"), trace).unwrap();
    let replay = "[[measure]]\nstep = \"replay\"\nfile = \"a.strace\"\nthink = \"none\"\n";
    for fs in FILE_SYSTEMS {
        let text = head(fs, "")
            + &setup(&["step = \"mount\"", "step = \"sleep\"\nus = \"60 s\""])
            + replay
            + "[[measure]]\nstep = \"sync\"\n";
        let variant = run_experiment(&text, "r.toml", &dir, &|_| true).unwrap().summary.variants.remove(0);
        assert!(variant.of_setup.is_none(), "{fs}: {:?}", variant.of_setup);
        assert!(variant.totals.page_programs < 12, "{fs}: {} page programs", variant.totals.page_programs);
    }
}

/// RTEMS: modified buffers of the block cache.
#[test]
fn the_block_cache_of_rtems_tells_what_was_left() {
    let text = r#"
title = "t"
[stack]
system = "rtems"
board = "beaglebone-black"
fs = "rfs"
device_KiB = 8192
bdbuf_cache_KiB = 256
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "f"
bytes = "64 KiB"
[[measure]]
step = "sleep"
us = "10 s"
"#;
    let variant = only(text);
    let left = variant.of_setup.expect("modified buffers");
    let written = variant.counters.get("dev_write_bytes_of_setup").copied().unwrap_or(0);
    assert!(left.buffered_bytes > 32 << 10 && written > 0, "{left:?}, {written}");
    assert_eq!(Some(&written), variant.counters.get("dev_write_bytes"), "nothing else is written");
}
