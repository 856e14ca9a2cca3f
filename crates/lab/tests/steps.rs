//! Keys by which a step says exactly which calls it makes: their order, by which call, with what bytes, on which names.

use ffslab_lab::{run_experiment, LabError, RunResult};
use std::path::Path;

const OPEN: &str = "step = 'open'\nfile = 'f'\nflags = ['rdwr']";

/// An experiment with these steps on a file `f` of 64 KiB.
fn run(fs: &str, stack: &str, steps: &[&str]) -> Result<RunResult, LabError> {
    let mut text = format!(
        "title = 'Steps'\n[stack]\nboard = 'zero-overhead'\nfs = '{fs}'\npartition_blocks = 160\n{stack}\n\
         [[setup]]\nstep = 'mount'\n[[setup]]\nstep = 'create'\nfile = 'f'\nbytes = '64 KiB'\n"
    );
    for step in steps {
        text += &format!("[[measure]]\n{step}\n");
    }
    run_experiment(&text, "steps.toml", Path::new("."), &|_| true)
}

#[track_caller]
fn refused(steps: &[&str], says: &str) {
    match run("jffs2", "", steps) {
        Err(LabError::Input(line)) => assert!(line.contains(says), "{line}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the experiment ran"),
    }
}

fn requests(op: &str, keys: &str) -> String {
    format!("step = 'requests'\nfile = 'f'\nop = '{op}'\nrequest_B = 4096\n{keys}")
}

#[test]
fn listed_requests_are_made_in_their_order_and_again() {
    for calls in ["pread", "read"] {
        let keys = format!("pattern = 'listed'\norder = [3, 0, 9]\ncount = 5\ncalls = '{calls}'");
        let result = run("jffs2", "", &[OPEN, &requests("alternate", &keys)]).unwrap();
        // The first call opens the file.
        let places: Vec<u64> = result.requests.offset_bytes.iter().skip(1).map(|offset| offset / 4096).collect();
        assert_eq!(places, [3, 0, 9, 3, 0], "{calls}");
        let variant = &result.summary.variants[0];
        assert_eq!((variant.user_read_bytes, variant.user_written_bytes), (3 * 4096, 2 * 4096), "{calls}");
    }
    refused(
        &[OPEN, &requests("read", "pattern = 'listed'\norder = [16]\ncount = 1")],
        "order names place 16: 16 requests",
    );
    refused(&[OPEN, &requests("read", "pattern = 'listed'\ncount = 1")], "order is missing");
}

/// The second step finds the file at its end, or anywhere if it was opened to append: it has to seek.
#[test]
fn sequential_calls_of_read_go_on_where_the_file_is() {
    let read = |count: u64| {
        requests("read", &format!("pattern = 'sequential'\ncalls = 'read'\nrange_B = 65536\ncount = {count}"))
    };
    let result = run("jffs2", "", &[OPEN, &read(16), &read(2)]).unwrap();
    assert_eq!(result.summary.variants[0].user_read_bytes, 18 * 4096);
    let appending = "step = 'open'\nfile = 'f'\nflags = ['rdwr', 'append']";
    let write = requests("write", "pattern = 'sequential'\ncalls = 'read'\nrange_B = 65536\ncount = 2");
    let result = run("jffs2", "", &[appending, &write, &read(2)]).unwrap();
    // What was appended went behind the 64 KiB, and the reads begin at the start of the file.
    let variant = &result.summary.variants[0];
    assert_eq!((variant.user_written_bytes, variant.user_read_bytes), (8192, 8192));
}

#[test]
fn what_is_written_decides_how_far_it_shrinks() {
    let programs = |content: &str| {
        let write = requests("write", &format!("pattern = 'sequential'\ncount = 16\ncontent = '{content}'"));
        let result = run("jffs2", "compression = 'zlib'", &[OPEN, &write, "step = 'sync'"]).unwrap();
        result.summary.variants[0].totals.page_programs
    };
    let (random, text, zero) = (programs("random"), programs("text"), programs("zero"));
    assert!(random > 10 * text && random > 10 * zero && zero > 0, "{random} {text} {zero}");
}

#[test]
fn small_files_have_the_names_that_are_asked_for() {
    let many = |step: &str, rest: &str| format!("step = '{step}'\ndir = 'd'\nname = 'file##.txt'\ncount = 3\n{rest}");
    let steps = [
        "step = 'mkdir'\ndir = 'd'",
        &many("create_many", "bytes = 100\ncontent = 'text'"),
        "step = 'stat'\nfile = 'd/file02.txt'",
        "step = 'stat'\nfile = 'd/f0002'\nfails = 'ENOENT'",
        &many("stat_many", ""),
        &many("read_many", "bytes = 100"),
        &many("unlink_many", ""),
        "step = 'rmdir'\ndir = 'd'",
        "step = 'stat'\nfile = 'd'\nfails = 'ENOENT'",
    ];
    let variant = &run("yaffs2", "", &steps).unwrap().summary.variants[0];
    assert_eq!((variant.user_written_bytes, variant.user_read_bytes), (300, 300));
    refused(&["step = 'stat_many'\ndir = ''\nname = 'f'\ncount = 1"], "one run of #");
}

#[test]
fn a_file_without_its_name_is_cut_by_its_descriptor() {
    let cut = "step = 'truncate'\nfile = 'f'\nbytes = '8 KiB'\nby_descriptor = true";
    let read = requests("read", "pattern = 'sequential'\ncount = 16\nrange_B = 65536");
    let result = run("jffs2", "", &[OPEN, "step = 'unlink'\nfile = 'f'", cut, &read]).unwrap();
    assert_eq!(result.summary.variants[0].user_read_bytes, 8192);
    refused(&[cut], "\"f\" is not open");
    refused(&[OPEN, "step = 'unlink'\nfile = 'f'", "step = 'truncate'\nfile = 'f'\nbytes = 1"], "ENOENT");
}

#[test]
fn what_cannot_be_formatted_or_does_not_fail_says_so() {
    refused(&["step = 'format'"], "Linux has no formatter here (the first mount of an empty medium makes");
    refused(&[OPEN, "step = 'fsync'\nfile = 'f'\nfails = 'EINVAL'"], "it succeeded, but `fails` says EINVAL");
}
