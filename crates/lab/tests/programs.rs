//! Several programs at once: whose turn it is, what is told of them, and what is refused.

use ffslab_lab::{run_experiment, LabError, RunResult};
use std::path::Path;

fn result(text: &str) -> Result<RunResult, LabError> {
    run_experiment(text, "p.toml", Path::new("."), &|_| true)
}

fn run(text: &str) -> RunResult {
    result(text).unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn error(text: &str) -> String {
    let said = result(text).map(drop).unwrap_err().to_string();
    assert!(!said.contains('\n'), "more than one line: {said}");
    said
}

/// Two files on flash of which nothing is in memory, on a board where only the chip and the reading of the clock take time.
const COLD: &str = r#"
title = "t"
[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 64
read_ahead_KiB = 0
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "a"
bytes = "64 KiB"
[[setup]]
step = "create"
file = "b"
bytes = "64 KiB"
[[setup]]
step = "sync"
[[setup]]
step = "sleep"
us = "60 s"
[[setup]]
step = "open"
file = "a"
flags = ["rdonly"]
[[setup]]
step = "drop_caches"
[[setup]]
step = "stat"
file = "b"
"#;

fn reads(table: &str, file: &str, count: u32, more: &str) -> String {
    format!(
        "[[{table}]]\nstep = \"requests\"\nfile = \"{file}\"\nop = \"read\"\npattern = \"listed\"\norder = [1, 3, 5, 7, 9, 11, 13]\nrequest_B = 4096\nrange_B = \"60 KiB\"\ncount = {count}\n{more}\n"
    )
}

fn program(name: &str, more: &str, steps: &str) -> String {
    format!("[[program]]\nname = \"{name}\"\n{more}\n{steps}")
}

const OPEN_B: &str = "[[program.steps]]\nstep = \"open\"\nfile = \"b\"\nflags = [\"rdonly\"]\n";

/// (program, start, latency, waited) of what moves data, in microseconds, in the order of their beginnings.
fn rows(run: &RunResult) -> Vec<(String, f64, f64, f64)> {
    let requests = &run.requests;
    let row = |i: usize| {
        let name = requests.program_names[usize::from(requests.program_index[i])].clone();
        (name, requests.start_us[i], requests.latency_us[i], requests.waited_us[i])
    };
    let moves = |i: &usize| requests.op[*i].name() != "open";
    let mut rows: Vec<_> = (0..requests.step.len()).filter(moves).map(row).collect();
    rows.sort_by(|a, b| a.1.total_cmp(&b.1));
    rows
}

const SLEEP: &str = "[[measure]]\nstep = \"sleep\"\nus = 1000\n";

/// Reckoned by hand. A request reads three pages of the chip in 391.8 us; the clock is read before and after each request
/// and each step in 0.256 us; a sleep of the whole machine ends 50 us late (the kernel's timer slack).
#[test]
fn whoever_is_ready_longest_makes_the_next_call() {
    let logger = OPEN_B.to_string() + &reads("program.steps", "b", 9, "gap_us = 500");
    let text = [COLD, SLEEP, &reads("measure", "a", 3, ""), &program("logger", "background = true", &logger)].concat();
    let run = run(&text);
    let expected = [
        // Main sleeps until 1000.256. The steps of the logger begin, and it opens its file, which is in memory.
        ("logger", 1.024, 392.056, 0.0),
        // All sleep until 893.336, and 50 us more.
        ("logger", 943.336, 392.056, 0.0),
        // Main wakes while the logger reads until 1335.648.
        ("main", 1000.768, 727.448, 335.392),
        ("main", 1728.472, 392.056, 0.0),
        // The logger wakes while main reads; main has read the clock for its next request at 2121.040.
        ("logger", 1835.648, 677.448, 285.392),
        ("main", 2120.784, 784.368, 392.312),
        // The logger would wake at 3013.352, when main has ended.
    ];
    let found = rows(&run);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (found, (program, start, latency, waited)) in found.iter().zip(expected) {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let is_so = near(found.1, start) && near(found.2, latency) && near(found.3, waited);
        assert!(found.0 == program && is_so, "{found:?} is not {program} {start} {latency} {waited}");
    }
    let variant = &run.summary.variants[0];
    assert!((variant.time_us - 2905.664).abs() < 1e-6, "{}", variant.time_us);
    let [main, logger] = &variant.programs[..] else { panic!("{:?}", variant.programs) };
    assert_eq!((main.name.as_str(), main.calls, main.rounds, main.read_bytes), ("main", 3, 1, 3 * 4096));
    // An open and the requests.
    assert_eq!((logger.name.as_str(), logger.calls, logger.rounds, logger.read_bytes), ("logger", 4, 0, 3 * 4096));
    assert_eq!((main.waited.calls, logger.waited.calls, logger.waited.max_us), (2, 2, 285.392));
    assert_eq!(main.waited.by_program[0].program, "logger");
}

/// Without a sleep everybody is ready at once, and makes a call in turn.
#[test]
fn of_programs_that_are_ready_the_one_that_ran_longest_ago_is_first() {
    let steps = OPEN_B.to_string() + &reads("program.steps", "b", 4, "");
    let text = [COLD, &reads("measure", "a", 5, ""), &program("one", "", &steps), &program("two", "", &steps)].concat();
    let run = run(&text);
    let mut rows = rows(&run);
    rows.sort_by(|a, b| (a.1 + a.2).total_cmp(&(b.1 + b.2)));
    let names: Vec<&str> = rows.iter().map(|row| row.0.as_str()).collect();
    // The others open their files first, which is a call of its own.
    let turns = ["main", "main", "one", "two", "main", "one", "two", "main", "one", "two", "main", "one", "two"];
    assert_eq!(names, turns);
    let variant = &run.summary.variants[0];
    // With the two that open.
    assert_eq!(variant.latency_us.n, 15);
    assert_eq!(variant.user_read_bytes, 13 * 4096);
    // Programs that are not in the background end by themselves, and tell of their steps.
    assert_eq!(variant.programs[2].steps.len(), 2);
    assert_eq!(variant.programs[2].steps[1].latency_us.n, 4);
}

const STACKS: &[&str] = &[
    "board = \"omap3evm\"\nkernel = \"2.6.37\"\nfs = \"jffs2\"\ncompression = \"none\"\npartition_blocks = 100",
    "board = \"omap3evm\"\nkernel = \"2.6.37\"\nfs = \"yaffs2\"\npartition_blocks = 100",
    "board = \"omap3evm\"\nkernel = \"6.1\"\nfs = \"ubifs\"\ncompression = \"none\"\npartition_blocks = 100",
    "system = \"bare\"\nboard = \"omap3evm\"\nfs = \"yaffs2\"\npartition_blocks = 100",
    "system = \"rtems\"\nboard = \"beaglebone-black\"\nfs = \"rfs\"",
];

/// JFFS2 erases the blocks of a new partition meanwhile.
const SETTLES: &str = "[[setup]]\nstep = \"sleep\"\nus = \"5 min\"\n";

/// Setup, then `main` beside `programs`.
fn on(stack: &str, main: &str, programs: &str) -> String {
    format!("title = \"t\"\n[stack]\n{stack}\n[[setup]]\nstep = \"mount\"\n{SETTLES}{main}{programs}")
}

const LOG_STEPS: &str = r#"
[[T]]
step = "open"
file = "log"
flags = ["wronly", "create"]
[[T]]
step = "append"
file = "log"
request_B = 512
count = 40
sync = "fsync"
gap_us = "10 ms"
[[T]]
step = "close"
file = "log"
"#;

fn log_steps(table: &str) -> String {
    LOG_STEPS.replace("[[T]]", &format!("[[{table}]]"))
}

/// A program beside one that only sleeps does what it does alone, to the nanosecond.
#[test]
fn beside_a_sleeper_a_program_is_as_alone() {
    let sleeps = "[[measure]]\nstep = \"sleep\"\nus = \"30 s\"\n";
    for stack in STACKS {
        let alone = run(&on(stack, &log_steps("measure"), "")).requests;
        let beside = run(&on(stack, sleeps, &program("logger", "", &log_steps("program.steps"))));
        assert_eq!(alone.latency_us, beside.requests.latency_us, "{stack}");
        let waits = &beside.requests.waited_us;
        // Only main's own clock, which it reads before it sleeps.
        assert!(waits.iter().sum::<f64>() < 10.0, "{stack}: {waits:?}");
    }
}

const BULK: &str = "[[measure]]\nstep = \"create\"\nfile = \"bulk\"\nbytes = \"4 MiB\"\nrequest_B = \"64 KiB\"\n";

/// What the whole is for: the tail of a logger's latencies while somebody else writes much, and why.
#[test]
fn a_logger_waits_for_a_bulk_writer_and_says_so() {
    for stack in STACKS {
        let logger = log_steps("program.steps");
        let alone = run(&on(stack, &log_steps("measure"), "")).summary.variants.remove(0);
        let run = run(&on(stack, BULK, &program("logger", "background = true", &logger)));
        let variant = &run.summary.variants[0];
        let [main, logger] = &variant.programs[..] else { panic!("{stack}") };
        assert!(logger.latency_us.n > 1 && logger.latency_us.p99 > alone.latency_us.p99, "{stack}: {logger:?}");
        assert!(logger.waited.calls > 0 && logger.waited.by_program[0].program == "main", "{stack}");
        assert!(main.written_bytes == 4 << 20 && variant.user_written_bytes == (4 << 20) + logger.written_bytes);
        let slow = variant.slowest.iter().find(|call| call.program.as_deref() == Some("logger")).unwrap();
        assert_eq!(slow.waited_for_programs[0].program, "main", "{stack}");
        // The parts of a latency add up to it.
        let causes: f64 = slow.waited_for.iter().map(|wait| wait.time_us).sum();
        let waits: f64 = slow.waited_for_programs.iter().map(|wait| wait.time_us).sum();
        assert!((causes + waits + slow.idle_us - slow.latency_us).abs() < 1e-3, "{stack}: {slow:?}");
        // What took longest of a row: here the other program.
        let causes = &run.requests.causes;
        let mut longest = run.requests.cause_index.iter().map(|&cause| causes[usize::from(cause)]);
        assert!(longest.any(|(_, reason)| reason == "another program"), "{stack}");
        // Every nanosecond of the machine has a cause or is idle.
        let all: f64 = variant
            .by_cause
            .iter()
            .map(|cause| cause.counts.busy_us + cause.counts.driver_us + cause.counts.cpu_us)
            .sum();
        assert!((all + variant.program_us + variant.idle_us - variant.time_us).abs() < 1e-3, "{stack}");
    }
}

/// The same bytes twice, and on any number of threads.
#[test]
fn runs_are_the_same_whoever_runs_them() {
    let axes = "[axes]\nfs = [\"jffs2\", \"ubifs\"]\n\"logger.append.request_B\" = [128, 4096]\n";
    let text = on(STACKS[0], BULK, &program("logger", "background = true", &log_steps("program.steps"))) + axes;
    let told = |run: &RunResult| {
        let rows = rows(run);
        (serde_json::to_string(&run.summary).unwrap(), rows, run.resolved_toml.clone())
    };
    let first = told(&run(&text));
    for threads in [1, 4] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| told(&run(&text))), first, "{threads} threads");
    }
    let again = run(&first.2);
    assert_eq!(told(&again).0, first.0, "the resolved experiment is the same");
    let names: Vec<&str> = again.summary.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names[1], "fs=jffs2, logger.append.request_B=4096");
}

/// Rows beyond the limit are counted, each program's by itself.
#[test]
fn calls_without_a_row_are_counted() {
    let steps = log_steps("program.steps");
    let text = on(STACKS[0], &log_steps("measure").replace("\"log\"", "\"own\""), &program("logger", "", &steps));
    let (all, few) = (run(&text), run(&format!("requests_kept = 20\n{text}")));
    assert_eq!((all.requests.step.len(), few.requests.step.len()), (84, 20));
    let programs = |run: &RunResult| {
        let of = |program: &ffslab_lab::result::ProgramSummary| {
            (program.latency_us.n, program.latency_us.mean, program.waited.sum_us, program.calls)
        };
        run.summary.variants[0].programs.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(programs(&all), programs(&few));
    let (all, few) = (&all.summary.variants[0], &few.summary.variants[0]);
    assert_eq!((all.latency_us.n, all.latency_us.max), (few.latency_us.n, few.latency_us.max));
    assert_eq!(all.programs[1].steps[1].latency_us.sum, few.programs[1].steps[1].latency_us.sum);
    assert_eq!(all.steps[1].latency_us.n, few.steps[1].latency_us.n);
}

/// Job files have processes of their own, which sleep by themselves; in the background they are ended wherever they are.
#[test]
fn job_files_and_recordings_run_as_programs() {
    let folder = std::env::temp_dir().join(format!("ffslab-programs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let job = "[j]\nrw=randwrite\nbs=4k\nsize=64k\nnumjobs=2\nthinktime=3000\nfsync=1\n";
    std::fs::write(folder.join("a.fio"), job).unwrap();
    std::fs::write(folder.join("p.cmd"), "set number 20\nset transactions 40\nset size 512 4096\nrun\nquit\n").unwrap();
    let steps = "[[program.steps]]\nstep = \"fio\"\nfile = \"a.fio\"\n";
    let mark = "[[program.steps]]\nstep = \"postmark\"\nfile = \"p.cmd\"\n";
    let programs = |more: &str| program("jobs", more, steps) + &program("mail", more, mark);
    let run = |text: &str| run_experiment(text, "p.toml", &folder, &|_| true).unwrap().summary.variants.remove(0);
    let whole = run(&on(STACKS[0], BULK, &programs("")));
    let fio = whole.programs[1].steps[0].fio.as_ref().unwrap();
    assert_eq!((fio.jobs.len(), whole.programs[1].written_bytes), (2, 128 << 10));
    assert_eq!(whole.programs[2].steps[0].postmark.len(), 1);
    let ended = run(&on(STACKS[0], BULK, &programs("background = true")));
    assert!(ended.time_us < whole.time_us && ended.programs[2].calls > 0);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_program_that_fails_is_named_and_ends_the_variant() {
    let steps = log_steps("program.steps").replace("count = 40", "count = 100000").replace("512", "\"64 KiB\"");
    let sleep = "[[measure]]\nstep = \"sleep\"\nus = \"1 h\"\n";
    let said = error(&on(STACKS[0], sleep, &program("logger", "background = true", &steps)));
    let known = "p.toml: program \"logger\" step 2 (append \"log\"): ENOSPC";
    assert!(said.starts_with(known), "{said}");
    let said = error(&on(
        STACKS[0],
        &log_steps("measure").replace("create", "sync"),
        &program("p", "", &log_steps("program.steps")),
    ));
    assert!(said.starts_with("p.toml: measure step 1 (open \"log\"): ENOENT"), "{said}");
    let idle = "[[program.steps]]\nstep = \"statfs\"\n";
    let text = on(STACKS[0], sleep, &program("p", "background = true", idle))
        .replace("omap3evm\"", "zero-overhead\"\nclock_read_ns = 0");
    let said = error(&text);
    assert!(said.contains("program \"p\": its steps take no time here"), "{said}");
}

#[test]
fn programs_that_cannot_be_are_refused_where_they_stand() {
    let of = |programs: &str| error(&on(STACKS[0], BULK, programs));
    let steps = log_steps("program.steps");
    let logger = program("logger", "", &steps);
    let said = of(&(logger.clone() + &logger));
    assert!(said.contains("program \"logger\": another program has this name"), "{said}");
    for step in ["umount", "crash", "mount", "boot"] {
        let said = of(&program("p", "", &format!("[[program.steps]]\nstep = \"{step}\"\n")));
        let known = format!("p.toml:21: program \"p\" step 1 ({step}): it concerns the whole machine");
        assert!(said.starts_with(&known), "{said}");
    }
    let said = error(&on(STACKS[0], "[[measure]]\nstep = \"umount\"\n", &logger));
    assert!(said.starts_with("p.toml:13: measure step 1 (umount): it concerns the whole machine"), "{said}");
    assert!(of(&program("main", "", &steps)).contains("name = \"main\" means something else already"));
    assert!(of(&program("a b", "", &steps)).contains("must be of letters, digits, - and _"));
    assert!(of("[[program]]\nbackground = true\n").contains("program 1: the key `name` is missing"));
    assert!(of(&program("p", "", "")).contains("program \"p\" has no steps: write them as [[program.steps]] tables"));
    assert!(
        of(&program("p", "backgruond = true", &steps)).contains("unknown key `backgruond`: did you mean `background`?")
    );
    let axis = |name: &str| of(&format!("{logger}[axes]\n\"{name}\" = [1, 2]\n"));
    assert!(axis("loger.append.count")
        .contains("axis `loger.append.count`: unknown program `loger`: did you mean `logger`?"));
    assert!(axis("logger.apend.count").contains("unknown step of program \"logger\" `apend`: did you mean `append`?"));
    let said = axis("logger.append.cuont");
    assert!(said.contains("program \"logger\" step 2 (append): unknown key `cuont`: did you mean `count`?"), "{said}");
    let said = error(&("probe_logs = true\n".to_string() + &on(STACKS[0], BULK, &logger)));
    assert!(said.contains("probe_logs: the logs tell the calls of one program"), "{said}");
}

/// The measurement ends with a large write of main, and a logger in the background waits for it: its call is still made and
/// told.
#[test]
fn a_call_that_waits_at_the_end_is_made() {
    let open = "[[measure]]\nstep = \"open\"\nfile = \"bulk\"\nflags = [\"wronly\", \"create\"]\n";
    let write = "[[measure]]\nstep = \"requests\"\nfile = \"bulk\"\nop = \"write\"\npattern = \"sequential\"\nrequest_B = \"1 MiB\"\nrange_B = \"1 MiB\"\ncount = 1\n";
    let sleep = "[[measure]]\nstep = \"sleep\"\nus = \"95 ms\"\n";
    let logger = program("logger", "background = true", &log_steps("program.steps"));
    let run = run(&on(STACKS[0], &[open, sleep, write].concat(), &logger));
    let variant = &run.summary.variants[0];
    let last = rows(&run).into_iter().rfind(|row| row.0 == "logger").unwrap();
    let write = rows(&run).into_iter().find(|row| row.0 == "main").unwrap();
    assert!(last.3 > 0.9 * write.2 && last.3 < write.2, "{last:?} is behind {write:?}");
    assert!((last.1 + last.2 - write.1 - write.2) > 100.0, "it is made after the write");
    assert!(variant.time_us >= last.1 + last.2 && variant.time_us < last.1 + last.2 + 100.0);
}

/// SQLite gives way in the middle of its own frames, where a logger of another data base gets in between.
#[test]
fn data_bases_share_the_cpu_call_by_call() {
    let sql = |table: &str, file: &str| {
        format!("[[{table}]]\nstep = \"sqlite\"\nfile = \"{file}\"\nsql = \"\"\"CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES (randomblob(2000));\"\"\"\ncount = 20\n")
    };
    let two = |background: &str| {
        on(STACKS[0], &sql("measure", "a.db"), &program("other", background, &sql("program.steps", "b.db")))
    };
    let whole = run(&two(""));
    let rows = rows(&whole);
    let turns = rows.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
    assert!(turns > rows.len() / 2, "{turns} of {}", rows.len());
    assert_eq!(whole.summary.variants[0].programs[1].steps[0].statements, Some(40));
    // Ended in the middle, its calls are refused.
    assert!(run(&two("background = true")).summary.variants[0].programs[1].calls > 10);
}
