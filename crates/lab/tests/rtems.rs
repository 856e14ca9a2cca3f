//! Experiments on RTEMS, from their text.

use ffslab_lab::LabError;
use ffslab_lab::RunResult;
use ffslab_lab::{run_experiment, run_experiment_with, Given, StateCache};
use std::path::Path;

fn run(stack: &str, steps: &str) -> Result<RunResult, String> {
    let text = format!("title = \"t\"\n[stack]\nsystem = \"rtems\"\n{stack}\n{steps}");
    run_experiment(&text, "x.toml", Path::new(""), &|_| true).map_err(|error| match error {
        LabError::Input(text) => text,
        other => format!("not an input error: {other}"),
    })
}

/// A small machine with a file of 64 KiB that is open as "f".
fn setup(fs: &str) -> String {
    let size = if matches!(fs, "imfs" | "mini-imfs") { "" } else { "device_KiB = 4096\n" };
    format!("fs = \"{fs}\"\n{size}")
}

const FILE: &str = "
[[setup]]
step = \"mount\"
[[setup]]
step = \"create\"
file = \"f\"
bytes = \"64 KiB\"
[[setup]]
step = \"open\"
file = \"f\"
flags = [\"rdwr\"]
";

fn step(keys: &str) -> String {
    format!("[[measure]]\n{keys}\n")
}

const READS: &str =
    "step = \"requests\"\nfile = \"f\"\nop = \"read\"\npattern = \"sequential\"\nrequest_B = 4096\ncount = 16";

#[test]
fn every_file_system_runs_the_same_steps() {
    let steps = [
        READS,
        "step = \"requests\"\nfile = \"f\"\nop = \"write\"\npattern = \"random\"\nrequest_B = 4096\ncount = 8",
        "step = \"append\"\nfile = \"f\"\nrequest_B = 1024\ncount = 4",
        "step = \"close\"\nfile = \"f\"",
        "step = \"mkdir\"\ndir = \"d\"",
        "step = \"create_many\"\ndir = \"d\"\ncount = 5\nbytes = 100",
        "step = \"readdir\"\ndir = \"d\"",
        "step = \"stat_many\"\ndir = \"d\"\ncount = 5",
        "step = \"read_many\"\ndir = \"d\"\ncount = 5\nbytes = 100",
        "step = \"unlink_many\"\ndir = \"d\"\ncount = 5",
        "step = \"truncate\"\nfile = \"f\"\nbytes = 5000",
        "step = \"sleep\"\nus = \"2 s\"",
        "step = \"unlink\"\nfile = \"f\"",
        "step = \"stat\"\nfile = \"f\"\nfails = \"ENOENT\"",
        "step = \"umount\"",
    ];
    let measured: String = steps.iter().map(|keys| step(keys)).collect();
    for fs in ["imfs", "rfs", "dosfs", "jffs2", "yaffs2"] {
        let result = run(&setup(fs), &format!("{FILE}{measured}")).unwrap_or_else(|error| panic!("{fs}: {error}"));
        let variant = &result.summary.variants[0];
        assert_eq!(variant.user_read_bytes, 16 * 4096 + 500, "{fs}");
        assert_eq!(variant.user_written_bytes, 8 * 4096 + 4 * 1024 + 500, "{fs}");
        assert!(variant.totals.cpu_us > 0.0 && variant.flash.is_none(), "{fs}");
        assert!(variant.energy_uj.is_none() && variant.steps.iter().all(|step| step.energy_uj.is_none()), "{fs}");
        assert!(variant.no_energy.is_some_and(|reason| reason.contains("RTEMS")), "{fs}");
        // Every nanosecond has a cause.
        let causes: f64 =
            variant.by_cause.iter().map(|c| c.counts.cpu_us + c.counts.driver_us + c.counts.busy_us).sum();
        let named_us = causes + variant.program_us + variant.idle_us;
        assert!((named_us - variant.time_us).abs() < 1.0, "{fs}: {named_us} of {}", variant.time_us);
        let expected = match fs {
            "rfs" | "dosfs" => "bdbuf_read",
            "imfs" => "imfs_memfile_blocks",
            "jffs2" => "flash_read_ops",
            _ => continue,
        };
        assert!(variant.counters.contains_key(expected), "{fs}: {:?}", variant.counters);
    }
}

#[test]
fn a_resolved_experiment_runs_again_with_the_same_result() {
    let first = run(&setup("rfs"), &format!("{FILE}{}", step(READS))).unwrap();
    for key in ["bdbuf_cache_KiB = 32", "device = \"ram-disk-beaglebone\"", "fs_block_B = 512"] {
        assert!(first.resolved_toml.contains(key), "{key}: {}", first.resolved_toml);
    }
    let again = run_experiment(&first.resolved_toml, "again.toml", Path::new(""), &|_| true).unwrap();
    assert_eq!(serde_json::to_string(&first.summary).unwrap(), serde_json::to_string(&again.summary).unwrap());
}

#[test]
fn a_resolved_axis_of_file_systems_leaves_each_its_own_defaults() {
    let axes = "[axes]\nfs = [\"imfs\", \"rfs\", \"dosfs\", \"jffs2\"]\n";
    let first = run(&setup("imfs"), &format!("{FILE}{}{axes}", step(READS))).unwrap();
    let again = run_experiment(&first.resolved_toml, "again.toml", Path::new(""), &|_| true).unwrap();
    assert_eq!(serde_json::to_string(&first.summary).unwrap(), serde_json::to_string(&again.summary).unwrap());
}

#[test]
fn without_a_board_code_takes_no_time() {
    let result = run(&format!("board = \"none\"\n{}", setup("imfs")), &format!("{FILE}{}", step(READS))).unwrap();
    assert_eq!(result.summary.variants[0].time_us, 0.0);
}

/// RFS writes size and tables at close only, in 2018: an fsync is not enough.
#[test]
fn quirks_decide_what_a_power_cut_leaves() {
    let steps = "
[[setup]]
step = \"mount\"
[[setup]]
step = \"open\"
file = \"f\"
flags = [\"wronly\", \"create\"]
[[setup]]
step = \"append\"
file = \"f\"
request_B = 3000
count = 1
sync = \"fsync\"
[[setup]]
step = \"crash\"
[[setup]]
step = \"mount\"
[[measure]]
step = \"open\"
file = \"f\"
flags = [\"rdonly\"]
[[measure]]
step = \"requests\"
file = \"f\"
op = \"read\"
pattern = \"sequential\"
request_B = 1000
count = 3
range_B = 3000
";
    let read = |quirks: &str| {
        let stack = format!("quirks = \"{quirks}\"\n{}", setup("rfs"));
        run(&stack, steps).unwrap().summary.variants[0].user_read_bytes
    };
    assert_eq!((read("2018"), read("fixed")), (0, 3000));
}

#[test]
fn an_image_moves_from_one_machine_to_the_next() {
    let saved = run(
        &setup("dosfs"),
        "[[measure]]\nstep = \"mount\"\n[[measure]]\nstep = \"create\"\nfile = \"f\"\nbytes = 4000\n[[measure]]\nstep = \
         \"umount\"\n[[measure]]\nstep = \"save_image\"\nfile = \"disk.img\"\n",
    )
    .unwrap();
    let folder = std::env::temp_dir().join(format!("ffslab-rtems-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let place = folder.join(&saved.images[0].0);
    std::fs::write(&place, &saved.images[0].1).unwrap();
    let stack = format!("image = \"{}\"\n{}", place.display(), setup("dosfs"));
    let again = run(&stack, "[[setup]]\nstep = \"mount\"\n[[measure]]\nstep = \"stat\"\nfile = \"f\"\n");
    assert!(again.is_ok(), "{:?}", again.err());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_does_not_apply_is_refused_by_name() {
    let mounted = "[[setup]]\nstep = \"mount\"\n";
    let rfs = setup("rfs");
    let cases: [(&str, String, &str); 12] = [
        ("fs = \"ubifs\"", step(READS), "RTEMS has jffs2, yaffs2, dosfs, rfs, imfs, mini-imfs"),
        ("fs = \"rffs\"", step(READS), "did you mean `rfs`?"),
        (
            "fs = \"imfs\"\ndevice_KiB = 100",
            step(READS),
            "device_KiB belongs to jffs2, yaffs2, dosfs and rfs, not to imfs",
        ),
        ("fs = \"rfs\"\ncompression = \"zlib\"", step(READS), "compression belongs to jffs2"),
        ("fs = \"rfs\"\nquirks = \"2019\"", step(READS), "there are: 2018, fixed"),
        ("fs = \"rfs\"\nfs_block_B = 8192", step(READS), "fs_block_B = 8192 exceeds bdbuf_buffer_max_B = 4096"),
        ("fs = \"rfs\"\ndevice = \"sd\"", step(READS), "unknown block device `sd`"),
        ("fs = \"rfs\"\nboard = \"omap3evm\"", step(READS), "unknown board with RTEMS `omap3evm`"),
        ("fs = \"rfs\"\nbdbuf_cache_KiB = 1", step(READS), "does not hold one buffer"),
        ("fs = \"rfs\"\npart = \"x\"", step(READS), "`part`"),
        (&rfs, format!("{mounted}{}", step("step = \"drop_caches\"")), "RTEMS has no page cache"),
        (&rfs, format!("{mounted}{}", step("step = \"ubi_attach\"")), "RTEMS has no UBI: leave it out"),
    ];
    for (stack, steps, expected) in cases {
        let error = run(stack, &steps).err().unwrap_or_else(|| panic!("no error with {stack} {steps}"));
        assert!(error.contains(expected) && !error.contains('\n'), "{stack}: {error}");
    }
}

/// What RTEMS gains by running the steps of every other system.
#[test]
fn states_are_made_kept_and_found_on_every_medium() {
    let dir = std::env::temp_dir().join(format!("ffslab-rtems-states-{}", std::process::id()));
    let state = "[[state]]\nstep = \"mount\"\n[[state]]\nstep = \"create\"\nfile = \"f\"\nbytes = \"64 KiB\"\n";
    let steps = format!(
        "{state}[[setup]]\nstep = \"mount\"\n[[setup]]\nstep = \"open\"\nfile = \"f\"\nflags = [\"rdonly\"]\n{}",
        step(READS)
    );
    for fs in ["rfs", "dosfs", "jffs2", "yaffs2"] {
        let text = format!("title = \"t\"\n[stack]\nsystem = \"rtems\"\n{}\n{steps}", setup(fs));
        let summary = |cache: Option<&StateCache>| {
            let given = Given { cache, ..Given::default() };
            let result = run_experiment_with(&text.as_str().into(), "x.toml", Path::new(""), given, &|_| true);
            serde_json::to_string(&result.unwrap_or_else(|error| panic!("{fs}: {error}")).summary).unwrap()
        };
        let cache = StateCache { dir: dir.join(fs), build: "test".to_string() };
        let made = summary(Some(&cache));
        assert_eq!(std::fs::read_dir(&cache.dir).unwrap().count(), 1, "{fs}: one state is kept");
        assert_eq!(summary(Some(&cache)), made, "{fs}: found or made, all is the same");
        assert_eq!(summary(None), made, "{fs}");
        assert!(made.contains(&format!("\"user_read_B\":{}", 16 * 4096)), "{fs}: {made}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
    let lost = run("fs = \"imfs\"", &steps).unwrap_err();
    assert!(lost.contains("files in memory do not outlive the machine"), "{lost}");
}

#[test]
fn probe_logs_are_those_of_raw_nand() {
    let text = format!(
        "title = \"t\"\nprobe_logs = true\n[stack]\nsystem = \"rtems\"\n{}\n{FILE}{}",
        setup("rfs"),
        step(READS)
    );
    let error = run_experiment(&text, "x.toml", Path::new(""), &|_| true).unwrap_err().to_string();
    assert!(error.contains("probe_logs") && error.contains("remove it from experiments on RTEMS"), "{error}");
}

#[test]
fn an_initial_state_is_on_the_device_before_the_measurement_begins() {
    let read = format!(
        "[[setup]]\nstep = \"open\"\nfile = \"filled\"\nflags = [\"rdonly\"]\n{}",
        step(&READS.replace("\"f\"", "\"filled\""))
    );
    for fs in ["rfs", "dosfs", "jffs2", "yaffs2"] {
        // JFFS2 of RTEMS refuses the fsync with which ageing ends.
        let aged = if fs == "jffs2" { "" } else { "aged 0.5, " };
        let initial = format!("initial = \"filled 20 %, {aged}saturated\"");
        let text = format!("title = \"t\"\n{initial}\n[stack]\nsystem = \"rtems\"\n{}\n{read}", setup(fs));
        let result = run_experiment(&text, "x.toml", Path::new(""), &|_| true);
        let summary = result.unwrap_or_else(|error| panic!("{fs}: {error}")).summary;
        let variant = &summary.variants[0];
        assert_eq!(variant.user_read_bytes, 16 * 4096, "{fs}");
        assert!(!variant.counters.contains_key("dev_write_bytes_of_setup"), "{fs}: {:?}", variant.counters);
    }
}

#[test]
fn a_format_of_its_own_takes_its_writes_out_of_the_mount() {
    let mount = "step = \"mount\"";
    let written = |steps: &[&str]| {
        let steps: String = steps.iter().map(|keys| step(keys)).collect();
        let result = run(&setup("rfs"), &steps).unwrap();
        let steps = &result.summary.variants[0].steps;
        steps.iter().map(|step| step.counters.get("bdbuf_syncdev").copied().unwrap_or(0)).collect::<Vec<_>>()
    };
    let (alone, apart) = (written(&[mount]), written(&["step = \"format\"", mount]));
    assert_eq!(apart.iter().sum::<i64>(), alone[0]);
    assert!(apart[0] > 0 && apart[1] < alone[0], "{apart:?} {alone:?}");

    let refused = |fs: &str, steps: &[&str]| {
        let steps: String = steps.iter().map(|keys| step(keys)).collect();
        run(&setup(fs), &steps).err().unwrap()
    };
    assert!(refused("rfs", &[mount, "step = \"format\""]).contains("it is mounted: umount it first"));
    assert!(refused("jffs2", &["step = \"format\""]).contains("no block device that could be formatted"));
}

#[test]
fn an_fsync_that_a_file_system_lacks_may_be_expected_to_fail() {
    let fsync = step("step = \"fsync\"\nfile = \"f\"\nfails = \"EINVAL\"");
    assert!(run(&setup("jffs2"), &format!("{FILE}{fsync}")).is_ok());
    let error = run(&setup("yaffs2"), &format!("{FILE}{fsync}")).err().unwrap();
    assert!(error.contains("it succeeded, but `fails` says EINVAL"), "{error}");
}
