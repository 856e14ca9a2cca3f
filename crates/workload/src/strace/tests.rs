use super::*;
use crate::trace::read;
use std::io::Write;

fn trace(text: &str) -> Trace {
    parse(Path::new("t.strace"), text.as_bytes(), None).unwrap()
}

fn error(text: &str) -> String {
    parse(Path::new("t.strace"), text.as_bytes(), None).unwrap_err().to_string()
}

fn calls(trace: &Trace) -> Vec<Call> {
    trace.records.iter().map(|r| r.call.clone()).collect()
}

/// A trace of one process: a line per call, 1 ms apart, 100 us long.
fn one(calls: &[&str]) -> String {
    let lines = calls.iter().enumerate();
    lines.map(|(i, call)| format!("7 100.{:06} {call} <0.000100>\n", i * 1_000)).collect()
}

#[test]
fn a_plain_run_becomes_calls_with_relative_paths_times_and_results() {
    let t = trace(&one(&[
        r#"openat(AT_FDCWD, "/tmp/work/a.db", O_RDWR|O_CREAT|O_CLOEXEC, 0600) = 3"#,
        r#"pwrite64(3, "ab\"c)"..., 1024, 4096) = 1024"#,
        r#"read(3, ""..., 100) = 40"#,
        r#"fdatasync(3) = 0"#,
        r#"unlink("/tmp/work/none") = -1 ENOENT (No such file or directory)"#,
        r#"close(3) = 0"#,
    ]));
    assert_eq!(t.root, "/tmp/work");
    assert_eq!(
        calls(&t),
        [
            Call::Open { handle: 0, path: b"a.db".to_vec(), flags: OpenFlags::CREATE, permissions: 0o600 },
            Call::WriteAt { handle: 0, offset: 4096, bytes: 1024 },
            Call::Read { handle: 0, bytes: 100 },
            Call::Fsync { handle: 0, data_only: true },
            Call::Unlink { path: b"none".to_vec() },
            Call::Close { handle: 0 },
        ]
    );
    assert_eq!(t.records[4].result, Outcome::Error("ENOENT".into()));
    assert_eq!(t.records[1].at_ns, 1_000_000);
    assert_eq!(t.records[1].think_ns, 900_000);
    assert_eq!(t.records[1].duration_ns, 100_000);
    assert_eq!(t.records[5].line, 6);
    assert_eq!(t.existing, []);
}

#[test]
fn interrupted_lines_of_two_threads_are_joined() {
    let t = trace(
        "[pid    8] 100.000000 openat(AT_FDCWD, \"/w/a\", O_RDWR) = 3 <0.000010>\n\
         [pid    8] 100.001000 clone(child_stack=0x7f, flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD <unfinished ...>\n\
         [pid    9] 100.001500 pread64(3,  <unfinished ...>\n\
         [pid    8] 100.001600 <... clone resumed>) = 9 <0.000600>\n\
         [pid    8] 100.002000 close(3 <unfinished ...>\n\
         [pid    9] 100.002500 <... pread64 resumed>\"\"..., 4096, 8192) = 4096 <0.001000>\n\
         [pid    9] 100.003000 openat(AT_FDCWD, \"/w/b\", O_RDWR) = 3 <0.000010>\n\
         [pid    8] 100.003500 <... close resumed>) = 0 <0.001500>\n\
         [pid    9] 100.004000 fsync(3) = 0 <0.000010>\n\
         [pid    9] 100.005000 +++ exited with 0 +++\n\
         [pid    8] 100.006000 +++ exited with 0 +++\n",
    );
    let handles: Vec<String> = t.records.iter().map(|r| format!("{} {:?}", r.process, r.call)).collect();
    assert_eq!(handles[1], "9 ReadAt { handle: 0, offset: 8192, bytes: 4096 }", "it had begun before the close");
    assert_eq!(handles[2], "9 Close { handle: 0 }", "the file is released when the read is over");
    assert!(handles[3].starts_with("9 Open { handle: 1"), "the number is free when the close begins");
    assert_eq!(handles[4], "9 Fsync { handle: 1, data_only: false }");
    assert_eq!(handles[5], "8 Close { handle: 1 }", "the last thread's exit closes");
    assert_eq!(t.records[1].at_ns, 1_500_000);
}

#[test]
fn fork_dup_and_exec_share_and_drop_descriptions() {
    let t = trace(
        "8 100.0 openat(AT_FDCWD, \"/w/a\", O_RDWR) = 3 <0.1>\n\
         8 100.1 openat(AT_FDCWD, \"/w/b\", O_RDWR|O_CLOEXEC) = 4 <0.1>\n\
         8 100.2 dup2(3, 5) = 5 <0.1>\n\
         8 100.3 fork() = 9 <0.1>\n\
         8 100.4 close(3) = 0 <0.1>\n\
         8 100.5 close(4) = 0 <0.1>\n\
         8 100.6 close(5) = 0 <0.1>\n\
         9 100.7 write(5, \"\"..., 10) = 10 <0.1>\n\
         9 100.8 execve(\"/bin/x\", [...], 0x1 /* 3 vars */) = 0 <0.1>\n\
         9 100.9 write(3, \"\"..., 10) = 10 <0.1>\n\
         9 101.0 +++ killed by SIGKILL +++\n",
    );
    let rest = &calls(&t)[2..];
    assert_eq!(
        rest,
        [
            Call::Write { handle: 0, bytes: 10 },
            Call::Close { handle: 1 }, // close-on-exec, and the parent had closed it
            Call::Write { handle: 0, bytes: 10 },
            Call::Close { handle: 0 },
        ]
    );
}

#[test]
fn relative_paths_follow_the_current_directory() {
    let t = trace(&one(&[
        r#"mkdir("/w/e", 0755) = 0"#,
        r#"chdir("/w/d") = 0"#,
        r#"openat(AT_FDCWD, "../x/./y", O_WRONLY|O_CREAT, 0644) = 3"#,
        r#"openat(AT_FDCWD, "/w/d", O_RDONLY|O_DIRECTORY) = 4"#,
        r#"unlinkat(4, "sub", AT_REMOVEDIR) = 0"#,
        r#"renameat2(4, "p", AT_FDCWD, "q", RENAME_NOREPLACE) = 0"#,
    ]));
    let c = calls(&t);
    assert!(matches!(&c[1], Call::Open { path, .. } if path == b"x/y"));
    assert_eq!(c[3], Call::RemoveDirectory { path: b"d/sub".to_vec() });
    assert_eq!(c[4], Call::Rename { from: b"d/p".to_vec(), to: b"d/q".to_vec(), no_replace: true });
    let existing: Vec<&[u8]> = t.existing.iter().map(|e| &e.path[..]).collect();
    assert_eq!(existing, [&b"d"[..], b"d/p", b"d/sub", b"x"], "what was made is not among them");
    assert_eq!(t.existing[2].kind, ExistingKind::Directory);
}

#[test]
fn without_any_directory_the_starting_one_is_the_root() {
    let t = trace(&one(&[r#"open("sub/a", O_WRONLY|O_CREAT, 0644) = 3"#, r#"unlink("b") = 0"#]));
    assert_eq!(t.root, ".");
    assert_eq!(calls(&t)[1], Call::Unlink { path: b"b".to_vec() });
}

#[test]
fn files_that_were_there_get_the_size_that_the_trace_shows() {
    let t = trace(&one(&[
        r#"newfstatat(AT_FDCWD, "/w/s", {st_mode=S_IFREG|0644, st_size=5000, ...}, 0) = 0"#,
        r#"openat(AT_FDCWD, "/w/r", O_RDWR|O_CREAT, 0644) = 3"#,
        r#"lseek(3, 100, SEEK_SET) = 100"#,
        r#"read(3, ""..., 50) = 50"#,
        r#"pread64(3, ""..., 4096, 8192) = 1000"#,
        r#"openat(AT_FDCWD, "/w/new", O_RDWR|O_CREAT|O_TRUNC, 0644) = 4"#,
        r#"write(4, ""..., 700) = 700"#,
        r#"fstat(4, {st_mode=S_IFREG|0644, st_size=700, ...}) = 0"#,
        r#"lseek(4, 0, SEEK_END) = 700"#,
        r#"openat(AT_FDCWD, "/w/dir/deep/f", O_RDONLY) = 5"#,
    ]));
    let found: Vec<(String, ExistingKind)> =
        t.existing.iter().map(|e| (String::from_utf8_lossy(&e.path).into_owned(), e.kind.clone())).collect();
    let file = |size_bytes| ExistingKind::File { size_bytes };
    assert_eq!(
        found,
        [
            ("dir".into(), ExistingKind::Directory),
            ("dir/deep".into(), ExistingKind::Directory),
            ("dir/deep/f".into(), file(0)),
            ("r".into(), file(9192)),
            ("s".into(), file(5000)),
        ]
    );
}

#[test]
fn with_y_descriptors_from_before_the_trace_are_opened() {
    let t = trace(&one(&[
        r#"read(9</w/in.txt>, ""..., 4096) = 4096"#,
        r#"write(1</dev/pts/0<char 136:0>>, ""..., 10) = 10"#,
        r#"write(7<TCP:[10.0.0.1:22->10.0.0.2:999]>, ""..., 10) = 10"#,
        r#"read(0<pipe:[123]>, ""..., 10) = 10"#,
    ]));
    assert!(matches!(&calls(&t)[0], Call::Open { path, .. } if path == b"in.txt"));
    assert_eq!(t.records.len(), 2);
    assert_eq!(t.ignored, []);
    assert_eq!(t.existing[0].kind, ExistingKind::File { size_bytes: 4096 });
}

#[test]
fn what_cannot_be_replayed_is_counted_not_dropped() {
    let t = trace(&one(&[
        r#"openat(AT_FDCWD, "/w/a", O_RDWR|O_CREAT, 0644) = 3"#,
        r#"mmap(NULL, 8192, PROT_READ, MAP_SHARED, 3, 0) = 0x7f0000000000"#,
        r#"mmap(NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0xffffffffff000000"#,
        r#"fcntl(3, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1, l_len=1}) = 0"#,
        r#"fcntl(3, F_SETLK, {l_type=F_UNLCK, l_whence=SEEK_SET, l_start=1, l_len=1}) = 0"#,
        r#"read(8, ""..., 10) = 10"#,
        r#"rename("/w/a", "/elsewhere/a") = -1 EXDEV (Invalid cross-device link)"#,
        r#"fallocate(3, 0, 0, 100) = 0"#,
    ]));
    let listed: Vec<(&str, u64)> = t.ignored.iter().map(|(why, n)| (why.as_str(), *n)).collect();
    assert_eq!(
        listed,
        [
            ("fcntl lock", 2),
            ("fallocate", 1),
            ("mmap", 1),
            ("read on a descriptor that was open before the trace began", 1),
            ("rename or link across the root", 1),
        ]
    );
    assert_eq!(t.records.len(), 1);
    assert_eq!(t.calls_seen, 8);
}

#[test]
fn interrupted_calls_without_effect_are_left_out() {
    let t = trace(
        "8 100.0 openat(AT_FDCWD, \"/w/a\", O_RDWR) = 3 <0.1>\n\
         8 100.1 read(3, 0x7f, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <0.1>\n\
         8 100.2 --- SIGALRM {si_signo=SIGALRM, si_code=SI_KERNEL} ---\n\
         strace: Process 9 attached\n\
         8 100.3 read(3, \"\"..., 10) = 10 <0.1>\n\
         8 100.4 exit_group(0)                     = ?\n",
    );
    assert_eq!(t.records.len(), 2);
}

#[test]
fn old_and_rare_spellings_are_known() {
    let t = trace(&one(&[
        r#"creat("/w/c", 0666) = 3"#,
        r#"_llseek(3, 100, [100], SEEK_SET) = 0"#,
        r#"writev(3, [{iov_base="a"..., iov_len=5}, {iov_base=""..., iov_len=7}], 2) = 12"#,
        r#"openat2(AT_FDCWD, "/w/e", {flags=O_RDONLY|O_CREAT, mode=0600, resolve=0}, 24) = 4"#,
        r#"statx(AT_FDCWD, "/w/e", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=0, stx_mode=S_IFREG|0600, stx_size=9, ...}) = 0"#,
        r#"fchownat(AT_FDCWD, "/w/c", 0, -1, AT_SYMLINK_NOFOLLOW) = 0"#,
        r#"utimensat(3, NULL, NULL, 0) = 0"#,
        r#"fadvise64(3, 0, 0, POSIX_FADV_RANDOM) = 0"#,
        r#"unlink("/w/\320\260 \"\x41") = 0"#,
    ]));
    let c = calls(&t);
    assert_eq!(c[1], Call::Seek { handle: 0, offset: 100, whence: Whence::Set });
    assert_eq!(c[2], Call::Write { handle: 0, bytes: 12 });
    assert!(matches!(c[3], Call::Open { permissions: 0o600, flags: OpenFlags { create: true, .. }, .. }));
    let target = Target::Path { path: b"c".to_vec(), follow: false };
    assert_eq!(c[5], Call::ChangeOwner { target, uid: Some(0), gid: None });
    assert_eq!(c[6], Call::ChangeTimes { target: Target::Handle(0) });
    assert_eq!(c[7], Call::Advise { handle: 0, offset: 0, bytes: 0, advice: Advice::Random });
    assert_eq!(c[8], Call::Unlink { path: "\u{430} \"A".as_bytes().to_vec() });
}

#[test]
fn bad_files_give_one_line_with_place_and_expectation() {
    assert!(error("#!/bin/sh\n").starts_with("t.strace:1: expected lines of `strace -f -ttt -T`"));
    assert!(error("").contains("holds no system call"));
    assert!(error("7 12:30:01.5 close(3) = 0 <0.1>\n").contains("record with -ttt"));
    assert!(error("7 100.0 close(3) = 0\n").contains("record with -T"));
    let mut cut = one(&[r#"open("/w/a", O_RDWR) = 3"#, r#"pread64(3, ""..., 4096, 0) = 4096"#]);
    cut.truncate(cut.len() - 25);
    let message = error(&cut);
    assert!(message.starts_with("t.strace:2: ") && message.contains("cut off"), "{message}");
    assert!(error(&one(&["close(x) = 0"])).contains("argument 1 of `close` is `x`: expected a descriptor"));
    assert!(error(&one(&["close(3) = 0"])).contains("give the root"));
    for text in [error(&one(&["read(3) = 0"])), error("7 100.0 \u{1} <0.1>\n"), message] {
        assert!(!text.contains('\n'), "{text}");
    }
    let binary = parse(Path::new("t"), &b"7 100.0 \xff\xfe\n"[..], None).unwrap_err().to_string();
    assert!(binary.starts_with("t:1: this is no text"), "{binary}");
}

#[test]
fn a_root_that_holds_nothing_or_cannot_be_found_is_an_error() {
    let text = one(&[r#"open("/w/a", O_RDWR) = 3"#, r#"open("/v/a", O_RDWR) = 4"#]);
    let message = error(&text);
    assert!(message.contains("/w and /v, which have no common directory"), "{message}");
    let with = |root| parse(Path::new("t"), text.as_bytes(), Some(root));
    assert_eq!(with("/w/").unwrap().records.len(), 1);
    assert_eq!(with("/").unwrap().records.len(), 2);
    assert!(with("/x").unwrap_err().to_string().contains("below /x"));
    assert!(with("w").unwrap_err().to_string().contains("an absolute directory"));
}

#[test]
fn a_gzipped_trace_that_ends_early_is_reported() {
    let text = one(&[r#"open("/w/a", O_RDWR) = 3"#; 400]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    let bytes = encoder.finish().unwrap();
    let folder = std::env::temp_dir().join(format!("ffslab-strace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("t.strace.gz");
    std::fs::write(&file, &bytes).unwrap();
    assert_eq!(read(&file, None).unwrap().calls_seen, 400);
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let message = read(&file, None).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(message.contains("t.strace.gz:"), "{message}");
    let missing = read(&folder, None).unwrap_err().to_string();
    assert!(missing.contains("cannot be read"), "{missing}");
}

#[test]
fn the_recorded_examples_are_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sqlite");
    let insert = read(&examples.join("insert.strace.gz"), None).unwrap();
    assert_eq!(insert.root, "/tmp/ffslab-record");
    assert_eq!(insert.existing, [], "the data base is made by the trace itself");
    let syncs = insert.records.iter().filter(|r| matches!(r.call, Call::Fsync { .. })).count();
    assert!(syncs >= 300, "a transaction syncs journal, directory and data base: {syncs}");
    for name in ["select-sequential-200", "select-random-50", "select-random-200", "select-random-500"] {
        let select = read(&examples.join(format!("{name}.strace.gz")), None).unwrap();
        assert_eq!(select.root, insert.root);
        let file = Existing { path: b"contacts.db".to_vec(), kind: ExistingKind::File { size_bytes: 518_144 } };
        assert_eq!(select.existing, [file]);
        assert!(select.ignored.iter().all(|(why, _)| why == "fcntl lock"), "{:?}", select.ignored);
    }
}
