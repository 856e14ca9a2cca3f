//! A medium from outside, through the public seam alone: all file systems work on it as on the one that it stands for.

use std::path::Path;
use std::sync::atomic::Ordering;

use ffslab_lab::{run_experiment, LabError, RunResult};
use ffslab_toy::medium::{self, REQUESTS};

fn experiment(fs: &str, medium: Option<&str>) -> String {
    let medium = medium.map(|name| format!("medium = \"{name}\"\n")).unwrap_or_default();
    format!(
        r#"
title = "A medium from outside"

[stack]
board = "zero-overhead"
fs = "{fs}"
partition_blocks = 64
{medium}
[[setup]]
step = "mount"

[[setup]]
step = "create"
file = "target"
bytes = "400 KiB"

[[measure]]
step = "open"
file = "target"
flags = ["rdwr"]

[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = "4 KiB"
count = 300

[[measure]]
step = "close"
file = "target"

[[measure]]
step = "crash"

[[measure]]
step = "mount"

[[measure]]
step = "save_image"
file = "chip.bin"
oob = true
"#
    )
}

fn run(text: &str) -> Result<RunResult, LabError> {
    medium::register();
    run_experiment(text, "medium.toml", Path::new("."), &|_| true)
}

#[test]
fn file_systems_work_on_a_medium_from_outside_as_on_nand() {
    for fs in ["jffs2", "yaffs2", "ubifs"] {
        let own = run(&experiment(fs, None)).unwrap();
        let before = REQUESTS.load(Ordering::Relaxed);
        let others = run(&experiment(fs, Some("counted-nand"))).unwrap();
        assert!(REQUESTS.load(Ordering::Relaxed) > before + 300, "{fs}");
        assert!(own.images == others.images && own.images.len() == 1, "{fs}");
        let summary = |result: &RunResult| {
            let mut variant = serde_json::to_value(&result.summary.variants[0]).unwrap();
            let medium = variant["stack"].as_object_mut().unwrap().remove("medium");
            (variant, medium)
        };
        let ((own, none), (others, named)) = (summary(&own), summary(&others));
        assert_eq!(own, others, "{fs}");
        assert_eq!((none, named), (None, Some("counted-nand".into())));
    }
}

#[test]
fn media_that_are_not_there_are_refused_with_those_that_are() {
    let said = |medium| run(&experiment("jffs2", Some(medium))).expect_err("refused").to_string();
    let text = said("counted-nadn");
    assert!(
        text.contains(
            "did you mean `counted-nand`? a partition of Linux stands on nand, spi-nand, nor and counted-nand"
        ),
        "{text}"
    );
    assert!(said("block-device").contains("a partition of Linux cannot stand on a block device here"));
    assert!(ffslab_machine::media::register(&medium::COUNTED_NAND).unwrap_err().to_string().contains("already"));
}
