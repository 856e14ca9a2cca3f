//! Initial states: the steps leave what they say, file systems say what their blocks hold, and a state that was kept is as
//! good as one that was made.

use ffslab_lab::session::read_step;
use ffslab_lab::{run_experiment, run_experiment_with, BlockRow, Given, LabError, RunResult, Session, StateCache};
use std::path::{Path, PathBuf};

const FILE_SYSTEMS: [&str; 3] = ["jffs2", "yaffs2", "ubifs"];
const BLOCKS: u32 = 96;

fn session(fs: &str) -> Session {
    let keys = format!("board = \"zero-overhead\"\nfs = \"{fs}\"\npartition_blocks = {BLOCKS}\n");
    let mut session = Session::new(toml::from_str(&keys).unwrap(), 1, Path::new(".")).unwrap();
    step(&mut session, r#"{"step": "mount"}"#);
    session
}

fn step(session: &mut Session, json: &str) {
    session.run_step(&read_step(json).unwrap()).unwrap_or_else(|error| panic!("{json}: {error}"));
}

/// Shares of the partition that are valid, invalid and free, after a look at each block.
fn shares(session: &Session) -> [f64; 3] {
    let stack = session.linux().unwrap();
    let (reads, now_ns) = (stack.sim.total(), stack.sim.now_ns());
    let space = stack.block_space();
    assert_eq!((reads, now_ns), (stack.sim.total(), stack.sim.now_ns()), "looking costs nothing");
    assert_eq!(space.len(), BLOCKS as usize);
    let mut sums = [0.0; 3];
    for (block, held) in space.iter().enumerate() {
        let parts = [held.valid_bytes, held.invalid_bytes, held.free_bytes];
        assert_eq!(u64::from(parts.iter().sum::<u32>()), stack.block_bytes(), "block {block}: {held:?}");
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum += f64::from(part) / stack.partition_bytes() as f64;
        }
    }
    sums
}

#[test]
fn a_new_partition_is_free_a_saturated_one_invalid() {
    for fs in FILE_SYSTEMS {
        let mut session = session(fs);
        step(&mut session, r#"{"step": "sleep", "us": 30000000}"#);
        let [_, _, free] = shares(&session);
        assert!(free > 0.9, "{fs}: {free}");
        step(&mut session, r#"{"step": "saturate"}"#);
        let [valid, invalid, free] = shares(&session);
        // UBI keeps 40 blocks for ones that go bad on a chip of 2048, UBIFS several for its index and for collecting.
        let filled = if fs == "ubifs" { 0.33 } else { 0.85 };
        assert!(invalid > filled && valid < 0.2, "{fs}: {valid} valid, {invalid} invalid, {free} free");
    }
}

#[test]
fn static_data_take_the_share_that_was_asked_for() {
    for fs in FILE_SYSTEMS {
        let mut session = session(fs);
        let [before, ..] = shares(&session);
        step(&mut session, r#"{"step": "occupy", "file": "static", "percent": 25}"#);
        step(&mut session, r#"{"step": "sync"}"#);
        let [after, ..] = shares(&session);
        assert!((0.24..0.31).contains(&(after - before)), "{fs}: {before}, {after}");
    }
}

#[test]
fn ageing_leaves_as_much_valid_data_and_wears_the_blocks() {
    for fs in FILE_SYSTEMS {
        let mut session = session(fs);
        step(&mut session, r#"{"step": "occupy", "file": "f", "percent": 20}"#);
        step(&mut session, r#"{"step": "sync"}"#);
        let ([before, ..], erased) = (shares(&session), session.system().erase_counts().iter().sum::<u32>());
        step(&mut session, r#"{"step": "age", "file": "f", "overwrites": 6, "fsync_every": 64}"#);
        let ([after, ..], erases) = (shares(&session), session.system().erase_counts().iter().sum::<u32>());
        assert!((before - after).abs() < 0.05, "{fs}: {before}, {after}");
        assert!(erases > erased + BLOCKS / 4, "{fs}: {erases} erases");
    }
}

// ---- states that are kept --------------------------------------------------------------------------------------------

const AGED: &str = r#"
title = "t"
[stack]
board = "omap3evm"
kernel = "2.6.37"
fs = "FS"
partition_blocks = 96
[[state]]
step = "mount"
[[state]]
step = "occupy"
file = "f"
percent = 20
[[state]]
step = "age"
file = "f"
overwrites = 2
seed = 3
[[setup]]
step = "mount"
[[measure]]
step = "open"
file = "f"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "f"
op = "write"
pattern = "random"
request_B = 4096
count = 50
[[measure]]
step = "fsync"
file = "f"
[axes]
read_ahead_KiB = [128, 0]
requests.count = [50, 60]
"#;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn same(a: &RunResult, b: &RunResult) {
    assert_eq!(serde_json::to_string(&a.summary).unwrap(), serde_json::to_string(&b.summary).unwrap());
    assert_eq!(a.requests.latency_us, b.requests.latency_us);
    let erases = |of: &RunResult| of.blocks.rows().iter().map(|row| row.erases_total).collect::<Vec<u32>>();
    assert_eq!(erases(a), erases(b));
}

#[test]
fn a_state_is_made_once_and_found_again_with_the_same_results() {
    for fs in FILE_SYSTEMS {
        let text = AGED.replace("FS", fs);
        let dir = folder(&format!("states-{fs}"));
        let cache = StateCache { dir: dir.clone(), build: "1".to_string() };
        let other_build = StateCache { dir: dir.clone(), build: "2".to_string() };
        let run = |cache| {
            run_experiment_with(
                &text.as_str().into(),
                "aged.toml",
                Path::new("."),
                Given { cache, ..Given::default() },
                &|_| true,
            )
            .unwrap()
        };
        let without = run(None);
        let made = run(Some(&cache));
        let files = || -> Vec<PathBuf> {
            let entries = std::fs::read_dir(&dir).unwrap();
            entries.map(|entry| entry.unwrap().path()).collect()
        };
        assert_eq!(files().len(), 1, "{fs}: four variants share a state");
        let found = run(Some(&cache));
        same(&without, &made);
        same(&without, &found);
        // The wear of the state is the chip's.
        let sum = |of: fn(&BlockRow) -> u32| without.blocks.rows().iter().map(of).sum::<u32>();
        let (main, total) = (sum(|row| row.erases_main), sum(|row| row.erases_total));
        assert!(total > main, "{fs}: {total}, {main}");
        // Another build makes another one; a damaged file counts as none.
        run(Some(&other_build));
        assert_eq!(files().len(), 2);
        for file in files() {
            std::fs::write(file, b"no state").unwrap();
        }
        same(&without, &run(Some(&cache)));
    }
}

#[test]
fn whatever_determines_a_state_tells_it_from_others() {
    let dir = folder("states-differ");
    let cache = StateCache { dir: dir.clone(), build: "1".to_string() };
    let text = AGED.replace("FS", "yaffs2");
    let differing = [
        text.clone(),
        text.replace("seed = 3", "seed = 4"),
        text.replace("title = \"t\"", "title = \"t\"\nseed = 7"),
        text.replace("partition_blocks = 96", "partition_blocks = 97"),
        text.replace("partition_blocks = 96", "partition_blocks = 96\npart = \"mt29f2g08aac\""),
        text.replace("overwrites = 2", "overwrites = 1.5"),
    ];
    for (i, text) in differing.iter().enumerate() {
        run_experiment_with(
            &text.as_str().into(),
            "aged.toml",
            Path::new("."),
            Given { cache: Some(&cache), ..Given::default() },
            &|_| true,
        )
        .unwrap();
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), i + 1, "{text}");
    }
}

#[test]
fn a_state_is_measured_from_and_wrong_ones_are_named() {
    let text = AGED.replace("FS", "jffs2");
    let result = run_experiment(&text, "aged.toml", Path::new("."), &|_| true).unwrap();
    let space = result.summary.variants[0].space_before.unwrap();
    assert!(space.valid_bytes > 96 * 131_072 / 5);
    let error = |text: &str| match run_experiment(text, "aged.toml", Path::new("."), &|_| true) {
        Err(LabError::Input(line)) => line,
        other => panic!("{:?}", other.map(|_| ())),
    };
    let replay =
        text.replace("step = \"age\"\nfile = \"f\"\noverwrites = 2\nseed = 3", "step = \"save_image\"\nfile = \"x\"");
    assert!(error(&replay).contains("state step 3 (save_image): cannot be part of a state"), "{}", error(&replay));
    let wrong = text.replace("percent = 20", "percent = 120");
    assert!(error(&wrong).contains("state step 2 (occupy \"f\"): percent is 120"), "{}", error(&wrong));
    let full = text.replace("percent = 20", "percent = 99");
    assert!(error(&full).starts_with("aged.toml: state step 2 (occupy \"f\"): ENOSPC"), "{}", error(&full));
}

/// df(1) of the coreutils rounds up; a file system that is as full as was asked for shows exactly that.
#[test]
fn a_partition_is_as_full_as_df_says() {
    for (fs, blocks) in FILE_SYSTEMS.into_iter().flat_map(|fs| [(fs, 96), (fs, 160)]) {
        for percent in [20, 90] {
            let keys = format!("board = \"zero-overhead\"\nfs = \"{fs}\"\npartition_blocks = {blocks}\n");
            let mut session = Session::new(toml::from_str(&keys).unwrap(), 1, Path::new(".")).unwrap();
            step(&mut session, r#"{"step": "mount"}"#);
            step(&mut session, r#"{"step": "sleep", "us": 30000000}"#);
            let occupy = r#"{"step": "occupy", "file": "static", "of": "df", "percent": "#;
            step(&mut session, &format!("{occupy}{percent}}}"));
            let space = session.system_mut().statfs().unwrap();
            let shown = ((space.blocks - space.blocks_free) as f64 / space.blocks as f64 * 100.0).ceil();
            assert_eq!(shown, f64::from(percent), "{fs}, {blocks} blocks: {space:?}");
        }
    }
}
