use super::*;
use crate::experiment::Experiment;
use ffslab_machine::stack::{Stack, StackSpec};

const STACK: &str = r#"
title = "t"
[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 64
[[measure]]
step = "sync"
"#;

fn machine() -> Stack {
    let experiment = Experiment::parse(STACK, "t.toml").unwrap();
    let (spec, _) = StackSpec::from_keys(experiment.variants[0].stack.linux().unwrap(), Path::new(".")).unwrap();
    let mut stack = Stack::new(&spec).unwrap();
    stack.mount(&[]).unwrap();
    stack
}

/// The report of a job file and its requests: kind, file, offset.
fn ran(text: &str) -> (FioReport, Vec<(Kind, String, u64)>) {
    let mut stack = machine();
    let file = FioFile { file: parse(text, "x.fio", false).unwrap(), logs: BTreeMap::new() };
    let mut content = Content::new(1);
    let ready = prepare(&mut stack, &file, &mut content).unwrap();
    let mut requests = Vec::new();
    let report = run(&mut stack, ready, &mut content, &mut |request| {
        requests.push((request.kind, request.path.to_string(), request.offset_bytes));
        true
    });
    (report.unwrap(), requests)
}

#[test]
fn processes_take_turns() {
    let (report, requests) = ran("[a]\nrw=write\nbs=4k\nsize=16k\nnumjobs=2\n");
    let files: Vec<&str> = requests.iter().map(|(_, file, _)| file.as_str()).collect();
    assert_eq!(files, ["a.0.0", "a.1.0"].repeat(4));
    assert_eq!(report.jobs.len(), 2);
}

#[test]
fn a_thinking_process_lets_the_other_run() {
    let text = "[slow]\nrw=write\nbs=4k\nsize=8k\nthinktime=1s\n[quick]\nrw=write\nbs=4k\nsize=64k\n";
    let (report, requests) = ran(text);
    let last = requests.last().unwrap();
    assert_eq!((last.1.as_str(), last.2), ("slow.0.0", 4096));
    assert_eq!(requests.iter().filter(|(_, file, _)| file == "quick.0.0").count(), 16);
    assert!(report.jobs[0].runtime_ms >= 2000, "{:?}", report.jobs[0]);
    assert!(report.jobs[1].runtime_ms < 1000, "{:?}", report.jobs[1]);
}

#[test]
fn a_stonewall_waits_for_all_before_it_and_wait_for_for_one() {
    let text = "[a]\nrw=write\nbs=4k\nsize=16k\n[b]\nstonewall\nrw=write\nbs=4k\nsize=16k\n[c]\nwait_for=b\nrw=write\nbs=4k\nsize=4k\n";
    let (report, requests) = ran(text);
    let files: String = requests.iter().map(|(_, file, _)| &file[..1]).collect();
    assert_eq!(files, "aaaabbbbc");
    assert_eq!(report.jobs.iter().map(|job| job.group_index).collect::<Vec<_>>(), [0, 1, 1]);
}

#[test]
fn a_job_that_fails_is_reported_and_the_others_go_on() {
    let text = "[large]\nrw=write\nbs=64k\nsize=64m\n[small]\nrw=write\nbs=4k\nsize=4k\nstonewall\n";
    let (report, _) = ran(text);
    assert_eq!((report.jobs[0].error_number, report.jobs[0].error_name), (28, Some("ENOSPC")));
    assert_eq!(report.jobs[1].sync.requests + report.jobs[1].read.requests, 0);
}

#[test]
fn a_group_is_reported_as_one() {
    let (report, _) = ran("[a]\nrw=randread\nbs=4k\nsize=64k\nnumjobs=3\ngroup_reporting\n");
    assert_eq!(report.jobs.len(), 1);
    let read = &report.jobs[0].read;
    assert_eq!((read.requests, read.io_bytes), (48, 3 * 65536));
    assert_eq!(read.completion_ns.requests, 48);
    assert_eq!(read.completion_ns.percentiles_ns.len(), 17);
    assert_eq!(report.jobs[0].write.requests, 0);
}

#[test]
fn a_log_that_was_written_is_read_and_replayed() {
    let (report, first) = ran("[a]\nrw=randrw\nbs=4k\nsize=64k\nfsync=4\nwrite_iolog=log\n");
    let entries = iolog::parse(&report.logs[0].1).unwrap();
    let file = FioFile {
        file: parse("[again]\nread_iolog=log\nreplay_no_stall=1\n", "x.fio", false).unwrap(),
        logs: BTreeMap::from([("log".to_string(), entries)]),
    };
    let mut stack = machine();
    let mut content = Content::new(1);
    let ready = prepare(&mut stack, &file, &mut content).unwrap();
    let mut again = Vec::new();
    let report = run(&mut stack, ready, &mut content, &mut |request| {
        again.push((request.kind, request.path.to_string(), request.offset_bytes));
        true
    });
    assert_eq!(report.unwrap().jobs[0].error_number, 0);
    assert_eq!(first, again);
}
