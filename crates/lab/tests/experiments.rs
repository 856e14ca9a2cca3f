//! Experiments from end to end: text in, results or one clear line out.

use ffslab_lab::result::VariantSummary;
use ffslab_lab::{run_experiment, Experiment, LabError, RunResult};
use ffslab_machine::stack_keys::CompressionName;
use ffslab_machine::MachineError;
use std::path::Path;

const SMALL: &str = r#"
title = "Sequential reads of a small file"

[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 40

[[setup]]
step = "mount"

[[setup]]
step = "sleep"
us = "5 s"

[[setup]]
step = "create"
file = "target"
bytes = "256 KiB"

[[setup]]
step = "sync"

[[setup]]
step = "drop_caches"

[[measure]]
step = "open"
file = "target"
flags = ["rdonly"]

[[measure]]
step = "requests"
file = "target"
op = "read"
pattern = "sequential"
request_B = "4 KiB"
count = 16

[[measure]]
step = "close"
file = "target"

[axes]
read_ahead_KiB = [0, 128]
"#;

/// All experiments that come with the program.
#[test]
fn every_experiment_of_the_repository_can_be_read() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")];
    let mut found = 0;
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()) {
            // Studies, questions and plans of references are read by the Python half, and tested there.
            if file.is_dir() && !["studies", "questions", "parts"].iter().any(|name| file.ends_with(name)) {
                folders.push(file);
                continue;
            }
            // What `ffslab uflip` measures has no steps.
            if file.extension().is_none_or(|extension| extension != "toml") || folder.ends_with("uflip/devices") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            let experiment = Experiment::parse(&text, &file.display().to_string()).unwrap();
            for variant in &experiment.variants {
                match variant.stack.machine(&folder) {
                    Ok(machine) => drop(machine),
                    // What `ffslab foreign build` makes of a user's sources does not stand here.
                    Err(MachineError::Value { key, needed, .. }) if key.ends_with("library") => {
                        assert!(needed.contains("there is no such file"), "{}: {key}: {needed}", file.display());
                    }
                    Err(error) => panic!("{}: {error}", file.display()),
                }
            }
            found += 1;
        }
    }
    assert!(found > 20, "{found}");
}

/// A key that nothing looks at would be taken for one that counts.
#[test]
fn keys_of_other_file_systems_are_refused() {
    let with = |fs: &str, line: &str| SMALL.replacen("fs = \"jffs2\"", &format!("fs = \"{fs}\"\n{line}"), 1);
    let all = [
        ("compression = \"lzo\"", "jffs2 and ubifs", "yaffs2"),
        ("summary = true", "jffs2", "yaffs2 ubifs"),
        ("endian = \"big\"", "jffs2", "yaffs2 ubifs"),
        ("yaffs2_version = \"2011\"", "yaffs2", "jffs2 ubifs"),
        ("inband_tags = true", "yaffs2", "jffs2 ubifs"),
        ("bulk_read = true", "ubifs", "jffs2 yaffs2"),
        ("max_beb_per1024 = 4", "ubifs, squashfs and erofs", "jffs2 yaffs2"),
        ("wl_threshold = 128", "ubifs, squashfs and erofs", "jffs2 yaffs2"),
        ("vid_hdr_offset_B = 512", "ubifs, squashfs and erofs", "jffs2 yaffs2"),
        ("fastmap = true", "ubifs, squashfs and erofs", "jffs2 yaffs2"),
    ];
    for (line, owners, others) in all {
        let key = line.split(' ').next().unwrap();
        for fs in others.split(' ') {
            let wanted = format!("small.toml: [stack]: {key} belongs to {owners}, not to {fs}: leave it out");
            let said = input_error(with(fs, line).split("[axes]").next().unwrap());
            assert_eq!(said, wanted);
        }
    }
}

/// Where file systems are compared, a key of the stack is for those that have it, and the resolved experiment says so.
#[test]
fn a_key_is_left_to_the_file_systems_that_have_it() {
    let base = SMALL.split("[axes]").next().unwrap().replacen("fs = ", "compression = \"zlib\"\nfs = ", 1);
    let compared = format!("{base}[axes]\nfs = [\"yaffs2\", \"jffs2\"]\n");
    let compression = |result: &RunResult| {
        let of = |variant: &VariantSummary| variant.stack.linux().unwrap().compression;
        result.summary.variants.iter().map(of).collect::<Vec<_>>()
    };
    let result = run(&compared).unwrap();
    assert_eq!(compression(&result), [None, Some(CompressionName::Zlib)]);
    assert_eq!(compression(&run(&result.resolved_toml).unwrap()), compression(&result));
    let varied = format!("{compared}compression = [\"none\", \"zlib\"]\n");
    assert!(input_error(&varied).contains("compression belongs to jffs2 and ubifs, not to yaffs2"));
}

fn run(text: &str) -> Result<RunResult, LabError> {
    run_experiment(text, "small.toml", Path::new("."), &|_| true)
}

fn input_error(text: &str) -> String {
    match run(text) {
        Err(LabError::Input(line)) => {
            assert!(!line.contains('\n'), "more than one line: {line}");
            line
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the experiment ran"),
    }
}

#[test]
fn read_ahead_reads_further_than_the_program_and_makes_it_wait_longer() {
    let result = run(SMALL).unwrap();
    let [off, on] = &result.summary.variants[..] else { panic!("two variants") };
    assert_eq!((off.name.as_str(), on.name.as_str()), ("read_ahead_KiB=0", "read_ahead_KiB=128"));
    // An open, 16 reads and a close.
    assert_eq!((off.latency_us.n, on.latency_us.n), (18, 18));
    assert_eq!((off.user_read_bytes, on.user_read_bytes), (16 * 4096, 16 * 4096));
    // Windows of 4, 8, 16 and 32 pages are started in the first 16 pages; without read-ahead only 16 are read.
    let (without, with) = (off.steps[1].counts.page_reads, on.steps[1].counts.page_reads);
    assert!((32..40).contains(&without), "{without} flash pages for 16 of 4 KiB");
    assert!((90..130).contains(&with), "{with} flash pages for 44 or 60 of 4 KiB");
    assert!(on.latency_us.sum > off.latency_us.sum);
    assert!(off.by_cause.iter().all(|cause| cause.reason != "read-ahead"));
    assert!(on.by_cause.iter().any(|cause| cause.reason == "read-ahead" && cause.counts.page_reads > 40));
}

#[test]
fn totals_are_the_sums_of_their_parts() {
    let result = run(SMALL).unwrap();
    for variant in &result.summary.variants {
        let causes: u64 = variant.by_cause.iter().map(|cause| cause.counts.page_reads).sum();
        let steps: u64 = variant.steps.iter().map(|step| step.counts.page_reads).sum();
        assert_eq!((causes, steps), (variant.totals.page_reads, variant.totals.page_reads));
        let rows = (0..result.requests.variant_index.len())
            .filter(|&row| result.requests.variant_names[result.requests.variant_index[row] as usize] == variant.name);
        let sum_us: f64 = rows.map(|row| result.requests.latency_us[row]).sum();
        assert!((sum_us - variant.latency_us.sum).abs() < 1e-6 * sum_us);
    }
    let blocks = result.blocks.rows();
    assert_eq!(blocks.len(), 80);
    assert!(blocks.iter().all(|row| row.erases_total >= 1), "every block is erased after the first mount");
}

#[test]
fn the_same_experiment_gives_the_same_numbers() {
    let (first, second) = (run(SMALL).unwrap(), run(SMALL).unwrap());
    let json = |result: &RunResult| serde_json::to_string(&result.summary).unwrap();
    assert_eq!(json(&first), json(&second));
    assert_eq!(first.requests.latency_us, second.requests.latency_us);
    // ... and so does what it was resolved to.
    let resolved = run(&first.resolved_toml).unwrap();
    assert_eq!(json(&first), json(&resolved));
}

/// Page cache, ECC and kernel are the board's, so what one board gives must not be written out for both.
#[test]
fn an_axis_of_boards_is_resolved_to_the_same_experiment() {
    let axes = "[axes]\nboard = [\"omap3evm\", \"zero-overhead\"]\n";
    let text = format!("{}{axes}", &SMALL[..SMALL.find("[axes]").unwrap()]);
    let first = run(&text).unwrap();
    let again = run(&first.resolved_toml).unwrap();
    let json = |result: &RunResult| serde_json::to_string(&result.summary).unwrap();
    assert_eq!(json(&first), json(&again));
    assert!(first.resolved_toml.contains("first_block = 0"), "a default that both have: {}", first.resolved_toml);
}

#[test]
fn a_setup_that_does_not_fit_says_which_step_and_how_much_fits() {
    let text = SMALL.replace("\"256 KiB\"", "\"64 MiB\"");
    let line = input_error(&text);
    assert!(line.contains("setup step 3 (create \"target\"): ENOSPC after"), "{line}");
    assert!(line.contains("the partition holds 5.0 MiB (40 blocks)"), "{line}");
}

/// UBI is attached, and a volume made, by the first mount; UBIFS wants no read-ahead unless the experiment asks for it.
#[test]
fn an_experiment_runs_on_ubifs_when_only_fs_is_changed() {
    let text = SMALL.replace("\"jffs2\"", "\"ubifs\"").replace("partition_blocks = 40", "partition_blocks = 160");
    let result = run(&text).unwrap();
    let [off, on] = &result.summary.variants[..] else { panic!("two variants") };
    assert_eq!((off.user_read_bytes, on.user_read_bytes), (16 * 4096, 16 * 4096));
    assert!(on.latency_us.sum > off.latency_us.sum);
    let unasked = run(&text[..text.find("[axes]").unwrap()]).unwrap();
    assert_eq!(unasked.summary.variants[0].latency_us.sum, off.latency_us.sum);
}

#[test]
fn impossible_stacks_are_refused_before_anything_runs() {
    let line = input_error(&SMALL.replace("partition_blocks = 40", "partition_blocks = 40\nfirst_block = 100000"));
    assert!(line.starts_with("small.toml: variant read_ahead_KiB=0: [stack]: a partition of 40 blocks"), "{line}");
    let line = input_error(&SMALL.replace("\"jffs2\"", "\"rfs\""));
    assert!(line.contains("fs \"rfs\": Linux has none here, RTEMS has"), "{line}");
    let line = input_error(&SMALL.replace("\"zero-overhead\"", "\"omap3evn\""));
    assert!(line.contains("omap3evm"), "{line}");
    let line = input_error(&SMALL.replace("partition_blocks = 40", "partition_blocks = 40\nhz = 0"));
    assert!(line.contains("hz = 0: 1 to 10000"), "{line}");
}

#[test]
fn steps_that_cannot_work_are_named() {
    let line = input_error(&SMALL.replace("[[setup]]\nstep = \"mount\"\n", ""));
    assert!(
        line.contains("setup step 2 (create \"target\"): ENODEV: nothing is mounted: a mount step must come before"),
        "{line}"
    );
    let line = input_error(&SMALL.replacen("step = \"close\"\nfile = \"target\"", "step = \"close\"\nfile = \"x\"", 1));
    assert!(line.contains("measure step 3 (close \"x\"): \"x\" is not open (open: target)"), "{line}");
    let stat = "step = \"stat\"\nfile = \"target\"\nfails = \"ENOENT\"";
    let line = input_error(&SMALL.replacen("step = \"close\"\nfile = \"target\"", stat, 1));
    assert!(line.contains("it succeeded, but `fails` says ENOENT"), "{line}");
    let trace = "step = \"replay\"\nfile = \"missing.strace\"";
    let line = input_error(&SMALL.replacen("step = \"close\"\nfile = \"target\"", trace, 1));
    assert!(line.contains("missing.strace"), "{line}");
}

#[test]
fn a_run_can_be_interrupted() {
    let long = SMALL.replace("count = 16", "count = 100000");
    let result = run_experiment(&long, "small.toml", Path::new("."), &|share| share < 0.01);
    assert_eq!(result.err(), Some(LabError::Interrupted));
}

#[test]
fn fill_fragment_many_and_rename_do_what_they_say() {
    let text = r#"
title = "Everything else"
[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 40
[[setup]]
step = "mount"
[[setup]]
step = "create_fragmented"
file = "pieces"
bytes = "64 KiB"
[[measure]]
step = "mkdir"
dir = "many"
[[measure]]
step = "create_many"
dir = "many"
count = 20
bytes = 1000
fsync = true
[[measure]]
step = "readdir"
dir = "many"
[[measure]]
step = "stat_many"
dir = "many"
count = 20
[[measure]]
step = "read_many"
dir = "many"
count = 20
bytes = 1000
[[measure]]
step = "unlink_many"
dir = "many"
count = 20
[[measure]]
step = "stat"
file = "many/f0000"
fails = "ENOENT"
[[measure]]
step = "rename"
file = "pieces"
to = "whole"
[[measure]]
step = "truncate"
file = "whole"
bytes = 100
[[measure]]
step = "fill"
file = "rest"
[[measure]]
step = "sync"
[[measure]]
step = "crash"
[[measure]]
step = "mount"
[[measure]]
step = "stat"
file = "whole"
[[measure]]
step = "readdir"
dir = ""
[[measure]]
step = "umount"
"#;
    let result = run(text).unwrap();
    let steps = &result.summary.variants[0].steps;
    assert_eq!((steps[1].files, steps[1].latency_us.n), (Some(20), 20));
    assert_eq!((steps[3].latency_us.n, steps[4].latency_us.n, steps[5].latency_us.n), (20, 20, 20));
    let filled = steps[9].bytes_accepted.unwrap();
    assert!((1 << 20..5 << 20).contains(&filled), "{filled} B filled");
    assert_eq!(steps[15].fs_free_bytes, None, "nothing is mounted at the end");
    let ops: Vec<&str> = result.requests.op.iter().step_by(20).map(|op| op.name()).collect();
    assert_eq!(ops, ["mkdir", "create", "stat", "read", "unlink", "write", "write", "write", "sync"]);
}

#[test]
fn limits_of_dirty_pages_are_refused_where_they_have_no_meaning() {
    let refusal = |keys: &str| {
        let text = SMALL.replace("fs = \"jffs2\"", &format!("fs = \"jffs2\"\n{keys}"));
        match run(&text) {
            Err(LabError::Input(message)) => message,
            other => panic!("{keys}: {:?}", other.is_ok()),
        }
    };
    assert!(refusal("dirty_KiB = 0").contains("dirty_KiB = 0: at least 1 is needed"));
    assert!(refusal("dirty_background_KiB = 8").contains("but not dirty_KiB"));
    let message = refusal("dirty_KiB = 8\ndirty_background_KiB = 9");
    assert!(message.contains("dirty_background_KiB = 9: at most dirty_KiB = 8"), "{message}");
}

#[test]
fn a_limit_of_dirty_pages_makes_ubifs_write_in_the_run() {
    let programs = |keys: &str| {
        let text = SMALL.replace("fs = \"jffs2\"", &format!("fs = \"ubifs\"\nkernel = \"2.6.37\"\n{keys}"));
        let (head, _) = text.split_once("[[setup]]\nstep = \"create\"").unwrap();
        let write = "[[measure]]\nstep = \"create\"\nfile = \"target\"\nbytes = \"1 MiB\"\n";
        let text =
            format!("{}{write}", head.replace("partition_blocks = 40", "partition_blocks = 80\nmax_beb_per1024 = 1"));
        run(&text).unwrap().summary.variants[0].totals.page_programs
    };
    assert!(programs("") < 20, "{}", programs(""));
    let limited = programs("page_cache_KiB = 4096\ndirty_KiB = 256");
    assert!(limited > 256, "{limited}");
}
