//! Measured cases: read strictly, run, compared. How well they agree is the matter of `measured.rs`.

use ffslab_lab::LabError;
use ffslab_linux::{DirtyLimits, WriteBackKnobs, WriteBackRules};
use ffslab_mtd::nor::{MemoryNor, NorBus};
use ffslab_validate::cases::parse_case;
use ffslab_validate::stacks::stack_of;
use ffslab_validate::{check, validate, ValidateOptions};
use serde_json::json;
use std::path::{Path, PathBuf};

fn case() -> serde_json::Value {
    json!({
        "id": "made-up/R/jffs2/1", "family": "R", "variant": "plain",
        "system": {"name": "linux", "version": "6.1", "fs": "jffs2", "mount": {"compression": "none"},
            "read_ahead_KiB": 0, "ecc": "hw", "nand_wait": "busy", "hz": 100, "something_new": 1},
        "flash": {"page_B": 2048, "oob_B": 64, "pages_per_block": 64, "partition_blocks": 40, "chip_blocks": 40,
            "t_read_us": 25, "t_program_us": 200, "t_erase_us": 500, "bus_ns_per_B": 50},
        "setup": [{"step": "mount"}, {"step": "sleep", "us": 5_000_000},
            {"step": "create", "file": "t", "bytes": 65536, "request_B": 4096}, {"step": "sync"},
            {"step": "open", "file": "t", "flags": ["rdonly"]}],
        "measure": [{"step": "stat", "file": "t"}, {"step": "requests", "file": "t", "op": "read",
            "pattern": "random", "request_B": 4096, "count": 4, "range_B": 65536, "seed": 1, "gap_us": 0}],
        "expect": {"from_step": 0, "at_step": 1, "page_reads": 0, "erases": 3, "something_else": [],
            "latency_us": {"n": 4, "mean": 0.256, "elapsed": 2.304}}
    })
}

#[test]
fn steps_are_read_strictly_and_the_rest_leniently() {
    assert!(parse_case(&case().to_string()).is_ok());
    let mut wrong = case();
    wrong["setup"][3]["wait"] = json!(true);
    assert!(parse_case(&wrong.to_string()).unwrap_err().to_string().contains("unknown key `wait`"));
    let mut wrong = case();
    wrong["expect"]["at_step"] = json!(2);
    assert!(parse_case(&wrong.to_string()).unwrap_err().to_string().contains("not within the 2 measured steps"));
}

#[test]
fn a_case_of_nor_says_what_stood_in_for_it() {
    let mut nor = case();
    nor["flash"]["medium"] = json!("nor");
    nor["flash"]["oob_B"] = json!(0);
    nor["system"]["driver"] = json!("mtdram");
    let stack = stack_of(&parse_case(&nor.to_string()).unwrap()).unwrap();
    let bus = stack.partition.nor.unwrap().driver.bus;
    assert_eq!((stack.medium.name, bus), ("nor", NorBus::Memory(MemoryNor { unit_bytes: 2048 })));
    nor["system"]["driver"] = json!("m25p80");
    let text = stack_of(&parse_case(&nor.to_string()).unwrap()).unwrap_err().to_string();
    assert!(text.contains("mtdram"), "{text}");
}

#[test]
fn write_back_knobs_are_in_per_cent_or_in_bytes() {
    let knobs = |vm: serde_json::Value| {
        let mut case = case();
        case["system"]["vm"] = vm;
        stack_of(&parse_case(&case.to_string()).unwrap()).unwrap().vfs.write_back
    };
    let limits = DirtyLimits::Percent { dirty_percent: 40, background_percent: 5 };
    assert_eq!(
        knobs(json!({"dirty_writeback_ms": 1000, "dirty_expire_ms": 2000, "dirty_ratio_pct": 40,
            "dirty_background_ratio_pct": 5})),
        WriteBackKnobs { writeback_interval_ms: 1_000, expire_ms: 2_000, limits }
    );
    let limits = DirtyLimits::Bytes { dirty_bytes: 8 << 20, background_bytes: 4 << 20 };
    assert_eq!(
        knobs(json!({"dirty_writeback_ms": 5000, "dirty_B": 8 << 20, "dirty_background_B": 4 << 20})),
        WriteBackKnobs { limits, ..WriteBackKnobs::default() }
    );
}

#[test]
fn the_emulated_arm_has_the_memory_that_its_kernel_counted_less_what_is_taken() {
    let page_cache_bytes = |tree: serde_json::Value| {
        let mut case = case();
        case["system"]["ram_MiB"] = json!(53);
        case["system"]["mem_total_KiB"] = json!(54_868);
        case["system"]["tree"] = tree;
        stack_of(&parse_case(&case.to_string()).unwrap()).unwrap().vfs.page_cache_bytes
    };
    assert_eq!(
        page_cache_bytes(json!("TI PSP, built for ARM926 (icount shift=1: 2 ns an instruction)")),
        (54_868 - 5_120) << 10
    );
    assert_eq!(page_cache_bytes(json!(null)), 53 << 20);
}

#[test]
fn what_the_measuring_program_computes_comes_before_the_counters_of_its_step() {
    let report = |tree: serde_json::Value, gap_us: u64| {
        let mut case = case();
        case["system"]["tree"] = tree;
        case["measure"][1]["count"] = json!(512);
        case["measure"][1]["gap_us"] = json!(gap_us);
        let step = json!({"time_us": 1, "page_reads": 1_000_000});
        case["expect"]["after_step"] = json!([null, step]);
        case["expect"]["setup_erases_total"] = json!(7);
        check(&parse_case(&case.to_string()).unwrap(), Path::new(""), &|| true).unwrap()
    };
    let beyond_the_step_us = |tree: &str, gap_us: u64| {
        let report = report(json!(tree), gap_us);
        let time_us = report.after_step[0]["time_us"]["simulated"].as_f64().unwrap();
        let [elapsed, sum] = ["elapsed", "mean"].map(|name| report.latency_us[name].simulated);
        (time_us - elapsed, (elapsed - sum * 512.0) / 512.0)
    };
    // On the machine itself: 0.84 ms for the latencies of 512 calls, 1.06 us between two of them; twice that on the slower one.
    let (evaluation_us, between_us) = beyond_the_step_us("ARM926, 1 ns an instruction)", 0);
    assert!((750.0..900.0).contains(&evaluation_us), "{evaluation_us}");
    assert!((1.0..1.2).contains(&between_us), "{between_us}");
    let (slower_us, _) = beyond_the_step_us("ARM926, 2 ns an instruction)", 0);
    assert!((1.9..2.1).contains(&(slower_us / evaluation_us)), "{slower_us}");
    let (_, with_sleep_us) = beyond_the_step_us("ARM926, 1 ns an instruction)", 100);
    assert!((154.0..155.5).contains(&with_sleep_us), "{with_sleep_us}: the timer has 50 us of slack");
    let erases = report(json!("ARM926, 1 ns an instruction)"), 0).facts["setup_erases_total"];
    assert_eq!((erases.expected, erases.simulated), (7.0, 40.0), "the blocks of an erased partition are erased");
}

#[test]
fn ubi_puts_its_header_where_attach_said_it_is() {
    let mut case = case();
    case["system"]["fs"] = json!("ubifs");
    case["system"]["ubi"] = json!({"max_beb_per1024": 1, "vid_header_offset_B": 2048});
    let stack = stack_of(&parse_case(&case.to_string()).unwrap()).unwrap();
    assert!(format!("{:?}", stack.fs).contains("vid_header_offset_bytes: Some(2048)"), "{:?}", stack.fs);
}

#[test]
fn a_case_runs_by_the_rules_of_its_kernel() {
    let kernel = |version: &str| {
        let mut case = case();
        case["system"]["version"] = json!(version);
        stack_of(&parse_case(&case.to_string()).unwrap()).map(|stack| stack.vfs.kernel)
    };
    let old = kernel("2.6.37").unwrap();
    assert_eq!((old.write_back, old.dentries_spared_count), (WriteBackRules::V2_6, 100));
    let new = kernel("6.1.192").unwrap();
    assert!(old.write_looks_up_capability && !new.write_looks_up_capability);
    assert_eq!((new.name.as_str(), new.write_back, new.dentries_spared_count), ("6.1", WriteBackRules::V6_1, 0));
    assert_eq!(kernel("6.1.0-56-amd64").unwrap().name, "6.1", "as Debian calls it");
    assert_eq!(kernel("6.12.107+deb13-amd64").unwrap().name, "6.12");
    assert_eq!(kernel("6.10").unwrap().read_ahead, new.read_ahead, "between 6.6 and the read-ahead of 6.11");
    let unknown = kernel("7.10").unwrap_err().to_string();
    assert!(unknown.contains("7.10") && unknown.contains("known: every version from 2.6.37 to "), "{unknown}");
}

/// A file of cases that goes away with the test.
struct Cases(PathBuf);

impl Cases {
    fn new(name: &str, text: &str) -> Cases {
        let path = std::env::temp_dir().join(format!("ffslab-{}-{name}.jsonl", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Cases(path)
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_case_is_compared_and_one_that_cannot_run_does_not_stop_the_others() {
    let mut rfs = case();
    rfs["id"] = json!("made-up/R/rfs/1");
    rfs["system"]["fs"] = json!("rfs");
    let file = Cases::new("two", &format!("{rfs}\n{}\n", case()));
    let report = validate(&file.0, &ValidateOptions::default(), &|_| true).unwrap();
    let error = report.cases[0].error.as_deref().unwrap();
    assert!(error.starts_with("fs \"rfs\": Linux has none here, RTEMS has"), "{error}");
    let ran = &report.cases[1];
    assert_eq!(ran.error, None);
    // The file is cached, so its reads cost two clock readings each and nothing else; the made-up erases are missed.
    assert_eq!((ran.counters["page_reads"].simulated, ran.counters["erases"].simulated), (0.0, 0.0));
    assert_eq!(ran.latency_us["mean"].simulated, 0.256);
    assert_eq!(ran.latency_us["elapsed"].simulated, 2.304);
    let row = report.summary.rows.iter().find(|row| row.family == "R" && row.counter == "erases").unwrap();
    assert_eq!((row.n, row.exact_share, row.worst_error_percent), (1, 0.0, 100.0));
    let text = serde_json::to_value(&report).unwrap();
    assert_eq!(text["cases"][1]["counters"]["erases"], json!({"expected": 3, "simulated": 0}));
    assert_eq!(text["cases"][1]["error"], json!(null));
}

#[test]
fn wrong_files_and_patterns_are_input_errors() {
    let line = |path: &Path, only: Option<&str>| {
        let options = ValidateOptions { only: only.map(str::to_string), jobs: 1, phases: 1 };
        match validate(path, &options, &|_| true) {
            Err(LabError::Input(line)) => line,
            other => panic!("{other:?}"),
        }
    };
    assert!(line(Path::new("/nowhere/cases.jsonl"), None).contains("/nowhere/cases.jsonl: cannot be read"));
    let file = Cases::new("broken", &format!("{}\n{{\"id\":\n", case()));
    assert!(line(&file.0, None).contains(".jsonl:2: "));
    let file = Cases::new("one", &case().to_string());
    let missed = line(&file.0, Some("linux*"));
    assert!(missed.contains("no case of 1 matches \"linux*\": ids look like made-up/R/jffs2/1"), "{missed}");
    let file = Cases::new("empty", "\n");
    assert!(line(&file.0, None).contains("there is no case in it"));
}

#[test]
fn validation_can_be_interrupted() {
    let file = Cases::new("stop", &case().to_string());
    assert_eq!(validate(&file.0, &ValidateOptions::default(), &|_| false).err(), Some(LabError::Interrupted));
}

/// A run of RTEMS as its measured cases write it, with one phase too many.
#[test]
fn runs_of_rtems_are_cases_too() {
    let phases = serde_json::json!([
        {"phase": "open_create", "calls": 1}, {"phase": "seq_write_append", "calls": 8, "imfs_memfile_blocks": 87},
        {"phase": "fsync_1", "calls": 1, "bdbuf_read": 2}, {"phase": "another", "calls": 1}
    ]);
    let run = serde_json::json!({
        "fs": "imfs", "fs_block_size": 16, "sectors_per_cluster_requested": 0, "cache_bytes": 10240,
        "bdbuf_max_buffer": 1024, "bdbuf_min_buffer": 512, "disk_bytes": 16777216, "media_block": 512,
        "cap_multisector_cont": 0, "io_size": 128, "file_bytes": 1024, "app_priority": 1, "read_ahead_blocks": 0,
        "test": "io", "phases": phases
    });
    let file = Cases::new("rtems", &format!("[{run}]"));
    let report = validate(&file.0, &ValidateOptions::default(), &|_| true).unwrap();
    let exact = |i: usize| report.cases[i].counters.values().all(|pair| pair.expected == pair.simulated);
    assert_eq!([exact(0), exact(1), exact(2)], [true, true, false]);
    assert_eq!(report.cases[1].counters["imfs_memfile_blocks"].simulated, 87.0);
    assert!(report.cases[1].id.ends_with("/seq_write_append"), "{}", report.cases[1].id);
    assert!(report.cases[3].error.as_ref().unwrap().contains("another phase"));

    let only = ValidateOptions { only: Some("*/seq_write_append".into()), jobs: 1, phases: 1 };
    assert_eq!(validate(&file.0, &only, &|_| true).unwrap().cases.len(), 1);
    let none = ValidateOptions { only: Some("*/nothing".into()), jobs: 1, phases: 1 };
    let Err(LabError::Input(message)) = validate(&file.0, &none, &|_| true) else { panic!("nothing matches") };
    assert!(message.contains("ids look like rtems/imfs/io/001-"), "{message}");

    let file = Cases::new("rtems-bad", r#"[{"fs": "rfs"}]"#);
    let Err(LabError::Input(message)) = validate(&file.0, &ValidateOptions::default(), &|_| true) else {
        panic!("bad")
    };
    assert!(message.ends_with("run 1: the key `phases` is missing: a list"), "{message}");
}

/// Without the row of a task, the case says that it did nothing.
#[test]
fn a_task_that_the_case_lacks_is_reported() {
    let mut written = case();
    // Not in memory any more, so that the program reads the chip.
    let drop = json!({"step": "drop_caches"});
    written["setup"].as_array_mut().unwrap().insert(4, drop);
    written["expect"]["by_task"] = json!({"kworker": {"page_reads": 0, "erases": 0}});
    let report = check(&parse_case(&written.to_string()).unwrap(), Path::new(""), &|| true).unwrap();
    assert_eq!(report.error, None);
    let caller = &report.by_task["caller"];
    assert_eq!(caller.keys().collect::<Vec<_>>(), ["page_reads"]);
    assert_eq!(caller["page_reads"].expected, 0.0);
    assert!(caller["page_reads"].simulated > 0.0);
}

#[test]
fn each_step_of_requests_is_compared() {
    let mut written = case();
    written["measure"] = json!([written["measure"][1], written["measure"][1]]);
    written["expect"] = json!({"from_step": null, "at_step": 1, "page_reads": 0, "after_step": [
        {"page_reads": 0, "requests_done": 4, "bytes_accepted": 16_384},
        {"page_reads": 0, "requests_done": 3, "bytes_accepted": 12_288}]});
    let report = check(&parse_case(&written.to_string()).unwrap(), Path::new(""), &|| true).unwrap();
    assert_eq!(report.after_step.len(), 1, "{:?}", report.after_step);
    assert_eq!(report.after_step[0]["requests_done"], json!({"expected": 3, "simulated": 4}));
}
