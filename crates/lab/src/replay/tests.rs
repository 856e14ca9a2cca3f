use super::summary::grouped;
use super::*;
use crate::Experiment;
use ffslab_machine::stack::{Stack, StackSpec};
use ffslab_workload::strace;
use std::path::Path;

fn stack() -> Stack {
    let text = "title = 'x'\n[stack]\nboard = 'zero-overhead'\nfs = 'jffs2'\npartition_blocks = 64\n\
                [[measure]]\nstep = 'mount'\n";
    let experiment = Experiment::parse(text, "x").unwrap();
    let (spec, _) = StackSpec::from_keys(experiment.variants[0].stack.linux().unwrap(), Path::new("")).unwrap();
    let mut stack = Stack::new(&spec).unwrap();
    stack.mount(&[]).unwrap();
    stack.vfs.sleep_ns(20_000_000_000);
    stack
}

/// Lines of one process, 1 s apart, 100 ms long.
fn trace(calls: &[&str]) -> Trace {
    let lines = calls.iter().enumerate();
    let text: String = lines.map(|(i, call)| format!("7 {}.000000 {call} <0.100000>\n", 100 + i)).collect();
    strace::parse(Path::new("t.strace"), text.as_bytes(), Some("/w")).unwrap()
}

fn play(stack: &mut Stack, trace: &Trace, pace: Pace) -> Summary {
    let mut content = Content::new(1);
    let written = Written::default();
    prepare(stack, &[(trace, written)], &mut content).unwrap();
    replay(stack, trace, pace, written, &mut content, &mut |_| true).unwrap().unwrap()
}

#[test]
fn calls_have_their_effect_and_results_agree() {
    let mut stack = stack();
    let trace = trace(&[
        r#"mkdir("/w/d", 0755) = 0"#,
        r#"openat(AT_FDCWD, "/w/d/a", O_RDWR|O_CREAT, 0600) = 3"#,
        r#"write(3, ""..., 5000) = 5000"#,
        r#"lseek(3, -1000, SEEK_END) = 4000"#,
        r#"read(3, ""..., 4096) = 1000"#,
        r#"pwrite64(3, ""..., 100, 9900) = 100"#,
        r#"fchmod(3, 0640) = 0"#,
        r#"rename("/w/d/a", "/w/b") = 0"#,
        r#"fstat(3, {st_mode=S_IFREG|0640, st_size=10000, ...}) = 0"#,
        r#"ftruncate(3, 7000) = 0"#,
        r#"symlink("/w/b", "/w/link") = 0"#,
        r#"openat(AT_FDCWD, "/w/link", O_RDONLY) = 4"#,
        r#"rmdir("/w/d") = 0"#,
        r#"unlink("/w/none") = -1 ENOENT (No such file or directory)"#,
    ]);
    let summary = play(&mut stack, &trace, Pace::NONE);
    assert_eq!((summary.calls, summary.different, summary.read_bytes, summary.written_bytes), (14, 0, 1000, 5100));
    let stat = stack.vfs.stat(b"link").unwrap();
    assert_eq!((stat.size_bytes, stat.permissions), (7000, 0o640));
    stack.vfs.umount().expect("a replay leaves no file open");
}

#[test]
fn files_that_the_program_found_are_made_first() {
    let mut stack = stack();
    let trace = trace(&[
        r#"openat(AT_FDCWD, "/w/deep/in/f", O_RDONLY) = 3"#,
        r#"pread64(3, ""..., 4096, 200000) = 4096"#,
        r#"readlink("/w/l", "target", 100) = 6"#,
    ]);
    assert_eq!(play(&mut stack, &trace, Pace::NONE).different, 0);
    assert_eq!(stack.vfs.stat(b"deep/in/f").unwrap().size_bytes, 204_096);
    assert_eq!(stack.vfs.readlink(b"l").unwrap(), b"target");
}

#[test]
fn what_an_earlier_trace_makes_is_left_to_it() {
    let mut stack = stack();
    let first = trace(&[r#"open("/w/f", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3"#, r#"write(3, ""..., 9) = 9"#]);
    let second = trace(&[r#"open("/w/f", O_RDONLY) = 3"#, r#"read(3, ""..., 9) = 9"#]);
    let mut content = Content::new(1);
    let written = Written::default();
    prepare(&mut stack, &[(&first, written), (&second, written)], &mut content).unwrap();
    for trace in [&first, &second] {
        let summary = replay(&mut stack, trace, Pace::NONE, written, &mut content, &mut |_| true).unwrap().unwrap();
        assert_eq!(summary.different, 0, "{:?}", summary.examples);
    }
}

#[test]
fn other_results_are_counted_and_the_first_are_named() {
    let mut stack = stack();
    stack.vfs.mkdir(b"f", 0o755).unwrap();
    let trace = trace(&[
        r#"openat(AT_FDCWD, "/w/f", O_RDWR|O_CREAT, 0600) = 3"#,
        r#"write(3, ""..., 10) = 10"#,
        r#"mkdir("/w/g", 0755) = -1 ENOSPC (No space left on device)"#,
        r#"mmap(NULL, 8192, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000000000"#,
    ]);
    let summary = play(&mut stack, &trace, Pace::NONE);
    assert_eq!((summary.calls, summary.different), (3, 3), "what is not replayed is no call");
    let notes = summary.notes(&trace);
    assert!(notes[0].starts_with("3 of 3 calls of "), "{notes:?}");
    assert!(
        notes[1].starts_with("calls of ") && notes[1].ends_with(" that are not replayed: mmap (1)"),
        "{}",
        notes[1]
    );
}

#[test]
fn think_time_is_kept_or_left_out() {
    let lines = [r#"open("/w/f", O_WRONLY|O_CREAT, 0644) = 3"#, r#"fsync(3) = 0"#, r#"close(3) = 0"#];
    let trace = trace(&lines);
    let elapsed_ns = |pace| {
        let mut stack = stack();
        let start_ns = stack.sim.now_ns();
        play(&mut stack, &trace, pace);
        stack.sim.now_ns() - start_ns
    };
    let (kept, none) = (elapsed_ns(Pace::KEPT), elapsed_ns(Pace::NONE));
    // Twice the 0.9 s between the end of a call and the start of the next.
    assert!(kept - none >= 1_799_000_000 && kept - none < 1_810_000_000, "{kept} {none}");
    // Arrivals are 1 s apart, however long the calls took; at ten times the speed 0.1 s.
    let at_speed = |speed_ratio| elapsed_ns(Pace { think: Think::Arrivals, speed_ratio });
    let (arrivals, fast) = (at_speed(1.0), at_speed(10.0));
    assert!((1_999_000_000..2_020_000_000).contains(&arrivals), "{arrivals}");
    assert!((199_000_000..220_000_000).contains(&fast), "{fast}");
}

#[test]
fn calls_that_come_too_late_are_told() {
    let trace = trace(&[
        r#"open("/w/f", O_WRONLY|O_CREAT, 0644) = 3"#,
        r#"write(3, ""..., 900000) = 900000"#,
        r#"close(3) = 0"#,
    ]);
    let summary = play(&mut stack(), &trace, Pace { think: Think::Arrivals, speed_ratio: 1e6 });
    assert!(summary.late_n > 0 && summary.latest_ns > 1_000_000, "{summary:?}");
    assert!(summary.notes(&trace)[0].contains("began later than recorded, by up to"), "{:?}", summary.notes(&trace));
}

#[test]
fn a_file_system_has_no_trim_of_a_file_and_the_replay_says_so() {
    let text = "op,path,offset_B,size_B\nwrite,a,0,4096\ntrim,a,0,4096\n";
    let trace = ffslab_workload::trace::parse(Path::new("t"), text, None).unwrap();
    let summary = play(&mut stack(), &trace, Pace::NONE);
    assert_eq!(summary.different, 1);
    assert!(summary.examples[0].starts_with("line 3: trim gave 0, here "), "{:?}", summary.examples);
}

#[test]
fn the_recorded_session_runs_on_jffs2() {
    let mut stack = stack();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sqlite");
    for name in ["insert", "select-sequential-200", "select-random-1000"] {
        let trace = ffslab_workload::trace::read(&examples.join(format!("{name}.strace.gz")), None).unwrap();
        let summary = play(&mut stack, &trace, Pace::NONE);
        assert_eq!(summary.different, 0, "{name}: {:?}", summary.examples);
    }
    assert_eq!(stack.vfs.stat(b"contacts.db").unwrap().size_bytes, 518_144);
}

#[test]
fn numbers_are_grouped() {
    assert_eq!([0, 999, 1_000, 5_120_000].map(grouped), ["0", "999", "1,000", "5,120,000"]);
}
