//! Keys by which a step says exactly which calls it makes: their order, by which call, with what bytes, on which names.

use ffslab_lab::requests::CallOp;
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

fn looped(keys: &str, steps: &str) -> String {
    format!("step = 'repeat'\n{keys}\nsteps = [{steps}]")
}

/// The names under which calls went, each once.
fn names(result: &RunResult) -> Vec<&str> {
    result.requests.file_names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect()
}

#[test]
fn names_in_a_loop_count_and_later_loops_go_on() {
    let both = "{ step = 'create', file = 'p##', bytes = 100 }, { step = 'rename', file = 'p##', to = 'q##' }, \
                { step = 'stat', file = 'q##' }";
    // The rename draws its own number for a name that nobody has drawn; a loop in the loop has the number of its round.
    let inner = "{ step = 'repeat', times = 2, steps = [{ step = 'stat', file = 'q##' }] }";
    let result = run("jffs2", "", &[&looped("times = 2", &format!("{both}, {inner}")), &looped("times = 1", both)]);
    assert_eq!(names(&result.unwrap()), ["p00", "q00", "p01", "q01", "p02", "q02"]);
    refused(&[&looped("times = 1", "{ step = 'stat', file = 'p##' }")], "round 1, step 1 (stat \"p00\"): ENOENT");
}

#[test]
fn the_calls_of_a_loop_are_numbered_on_and_draw_other_places_each_round() {
    let one = "{ step = 'requests', file = 'f', op = 'read', pattern = 'random', request_B = 4096, count = 3 }";
    let result = run("jffs2", "", &[OPEN, &looped("times = 4", one)]).unwrap();
    let rows = &result.requests;
    assert_eq!(rows.i[1..], (0..12).collect::<Vec<u32>>());
    let round = |number: usize| &rows.offset_bytes[1 + number * 3..4 + number * 3];
    assert!((1..4).any(|number| round(number) != round(0)), "{:?}", rows.offset_bytes);
    assert_eq!(result.summary.variants[0].user_read_bytes, 12 * 4096);
}

#[test]
fn a_loop_goes_on_until_the_partition_is_as_full_as_it_says_and_deletes_the_oldest() {
    let write = "{ step = 'create', file = 'd/p####', bytes = '256 KiB' }, { step = 'sleep', us = '2 s' }";
    let fill = looped("until = 'df >= 90 %'", write);
    let delete = looped("until = 'free >= 20 %'", "{ step = 'unlink_oldest', dir = 'd', name = 'p*' }");
    let made = "step = 'mkdir'\ndir = 'd'";
    let result = run("ubifs", "", &[made, &fill, &delete]).unwrap();
    let rows = &result.requests;
    let made_files: Vec<&str> = names(&result).into_iter().filter(|name| name.starts_with("d/p")).collect();
    let deleted: Vec<&str> = (0..rows.op.len())
        .filter(|&row| rows.op[row] == CallOp::Unlink)
        .map(|row| rows.file_names[rows.file[row] as usize].as_str())
        .collect();
    assert!(deleted.len() > 3 && deleted.len() < made_files.len(), "{deleted:?} of {made_files:?}");
    assert_eq!(deleted, made_files[..deleted.len()], "what was written first goes first");
    let note = &result.summary.variants[0].notes[0];
    assert_eq!(*note, format!("repeat until df >= 90 %: {} rounds", made_files.len()));
    refused(&[made, &delete.replace("free >= 20 %", "free >= 100 %")], "0 of 1 files called p* are left in \"d\"");
}

#[test]
fn a_loop_ends_by_time_and_one_without_an_end_says_so() {
    let sleep = "{ step = 'sleep', us = '1 min' }";
    let result = run("jffs2", "", &[&looped("until = 'time >= 10 min'", sleep)]).unwrap();
    let minutes = result.summary.variants[0].time_us / 60e6;
    assert!((10.0..11.0).contains(&minutes), "{minutes}");
    let says =
        "measure step 1 (repeat until free <= 1 %): it has gone 20 rounds, and until = \"free <= 1 %\" does not hold (";
    refused(&[&looped("until = 'free <= 1 %'\nrounds_max = 20", sleep)], says);
    // A step in a loop is named with its own line.
    let wrong = "\n{ step = 'sync' },\n{ step = 'create', file = 'x' }\n";
    refused(
        &[&looped("times = 2", wrong)],
        "steps.toml:18: measure step 1 (repeat): step 2 (create): the key `bytes` is missing",
    );
}

#[test]
fn a_write_without_room_ends_a_loop_as_it_ends_requests() {
    let write = "{ step = 'requests', file = 'f', op = 'write', pattern = 'sequential', request_B = '256 KiB', \
                 range_B = '64 MiB', count = 200 }";
    let result = run("jffs2", "", &[OPEN, &looped("times = 1000", write)]).unwrap();
    assert_eq!(result.summary.variants[0].steps[1].stopped_by, Some("ENOSPC"));
}

#[test]
fn an_axis_reaches_steps_in_loops() {
    let one = "{ step = 'repeat', times = 2, steps = [{ step = 'create', file = 'p#', bytes = 10 }] }";
    let axes = "[axes]\ncreate.bytes = [100, 200]\nrepeat.times = [3]";
    let text = format!(
        "title = 'Steps'\nstack = {{ board = 'zero-overhead', fs = 'jffs2', partition_blocks = 160 }}\n\
         setup = [{{ step = 'mount' }}]\nmeasure = [{one}]\n{axes}\n"
    );
    let result = run_experiment(&text, "steps.toml", Path::new("."), &|_| true).unwrap();
    let written: Vec<u64> = result.summary.variants.iter().map(|variant| variant.user_written_bytes).collect();
    assert_eq!(written, [300, 600]);
}
