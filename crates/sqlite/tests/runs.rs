//! SQLite on simulated systems: its calls, its errors, and what happens when something comes between.

use ffslab_machine::StackTable;
use ffslab_sim::Sim;
use ffslab_sqlite::{run, Done, Locks, Made, MadeCall, SqlError, Wanted};
use ffslab_system::{OpenFlags, System};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

const SQL: &str =
    "CREATE TABLE IF NOT EXISTS t (a, b);\n-- a comment; with a semicolon\nINSERT INTO t VALUES (:i, random());\n\
                   INSERT INTO t VALUES (';', randomblob(2000)); SELECT * FROM t";

fn machine(fs: &str, blocks: u32) -> Box<dyn System> {
    let keys = format!("board = \"zero-overhead\"\nfs = \"{fs}\"\npartition_blocks = {blocks}\n");
    let (spec, _) = StackTable::parse(&keys).unwrap().machine(Path::new("")).unwrap();
    let mut system = spec.build(None).unwrap();
    system.mount(&[]).unwrap();
    system
}

fn wanted(sql: &str) -> Wanted<'_> {
    Wanted { file: "a.db", pragmas: &[], sql, repetitions_count: 1, seed: 1 }
}

type Line = (MadeCall, String, u64, u64, u64);

fn line(made: &Made) -> Line {
    (made.call, made.path.to_string(), made.offset_bytes, made.bytes, made.start_ns)
}

fn calls_of(system: &mut dyn System, wanted: &Wanted) -> (Result<Done, SqlError>, Vec<Line>) {
    let mut calls = Vec::new();
    let done = run(system, &Locks::default(), wanted, &mut |told| {
        calls.extend(told.map(|(made, _)| line(made)));
        true
    });
    (done, calls)
}

fn content(system: &mut dyn System, file: &str) -> Vec<u8> {
    let fd = system.open(file.as_bytes(), OpenFlags::READ, 0).unwrap();
    let mut bytes = vec![0; system.fstat(fd).unwrap().size_bytes as usize];
    assert_eq!(system.pread(fd, &mut bytes, 0), Ok(bytes.len()));
    system.close(fd).unwrap();
    bytes
}

#[test]
fn statements_and_rows_are_counted_and_the_file_is_a_data_base() {
    let mut system = machine("yaffs2", 64);
    let (done, calls) = calls_of(&mut *system, &Wanted { repetitions_count: 3, ..wanted(SQL) });
    assert_eq!(done, Ok(Done { statements: 12, rows: 2 + 4 + 6, full: None }));
    assert!(content(&mut *system, "a.db").starts_with(b"SQLite format 3\0"));
    // A commit syncs the journal, its directory, the data base, and deletes the journal.
    let files: Vec<(MadeCall, &str)> = calls.iter().map(|(call, path, ..)| (*call, path.as_str())).collect();
    let synced = |path| files.contains(&(MadeCall::Sync, path));
    assert!(
        synced("a.db") && synced("a.db-journal") && synced("") && files.contains(&(MadeCall::Unlink, "a.db-journal"))
    );
    assert_eq!(files.last(), Some(&(MadeCall::Close, "a.db")));
}

#[test]
fn an_error_names_its_statement_and_line() {
    let mut system = machine("yaffs2", 64);
    let sql = "CREATE TABLE t (a UNIQUE);\n\nINSERT INTO t VALUES (:i);";
    let (done, _) = calls_of(&mut *system, &wanted(&format!("{sql}\nSELEC 1")));
    let says = "statement 3 (line 4): SQLITE_ERROR: near \"SELEC\": syntax error: SELEC 1";
    assert_eq!(done.unwrap_err().to_string(), says);
    let again = "INSERT INTO t VALUES (7 - 7)";
    let (done, _) = calls_of(&mut *system, &wanted(again));
    let says = "statement 1 (line 1): SQLITE_CONSTRAINT: UNIQUE constraint failed: t.a: INSERT INTO t VALUES (7 - 7)";
    assert_eq!(done.unwrap_err().to_string(), says);
    let (done, _) = calls_of(&mut *system, &Wanted { file: "absent/a.db", ..wanted(again) });
    let says = done.unwrap_err().to_string();
    assert!(says.contains("SQLITE_CANTOPEN: unable to open database file (ENOENT: no such file"), "{says}");
}

/// Whatever SQL says, it stays on the simulated system.
#[test]
fn no_name_leads_out_of_the_system() {
    let mut system = machine("yaffs2", 64);
    let host = std::env::temp_dir().join(format!("ffslab-sqlite-{}.db", std::process::id()));
    let sql = format!("ATTACH 'file:{}?vfs=unix' AS other; CREATE TABLE other.t (a)", host.display());
    assert!(calls_of(&mut *system, &wanted(&sql)).0.is_err() && !host.exists());
    calls_of(&mut *system, &Wanted { file: ":memory:", ..wanted("CREATE TABLE t (a)") }).0.unwrap();
    assert!(content(&mut *system, ":memory:").starts_with(b"SQLite format 3\0"));
    let (done, _) = calls_of(&mut *system, &wanted("SELECT 1;\n\0SELECT 2"));
    assert_eq!(done.unwrap_err().to_string(), "statement 1 (line 2): SQLITE_ERROR: a zero byte: SQL is text");
    let pragmas = ["page_size = (".to_string()];
    let (done, _) = calls_of(&mut *system, &Wanted { pragmas: &pragmas, ..wanted("SELECT 1") });
    let says = "before the first statement: SQLITE_ERROR: near \"(\": syntax error: PRAGMA page_size = (";
    assert_eq!(done.unwrap_err().to_string(), says);
}

#[test]
fn a_full_partition_ends_a_run_and_the_data_base_is_whole() {
    let mut system = machine("yaffs2", 24);
    let ballast = system.open(b"ballast", OpenFlags::CREATE, 0o644).unwrap();
    assert_eq!(system.write(ballast, &[7; 512 << 10]), Ok(512 << 10));
    system.close(ballast).unwrap();
    let sql = "CREATE TABLE IF NOT EXISTS t (a); INSERT INTO t VALUES (randomblob(100000))";
    let (done, _) = calls_of(&mut *system, &Wanted { repetitions_count: 1000, ..wanted(sql) });
    let done = done.unwrap();
    let full = done.full.unwrap();
    assert_eq!((full.code, full.statement_number), ("SQLITE_FULL", done.statements + 1));
    assert!(full.sql.starts_with("INSERT INTO t") && done.statements > 4, "{full}");
    // Taking the transaction back needs room, too.
    system.unlink(b"ballast").unwrap();
    system.sync().unwrap();
    let (checked, _) = calls_of(&mut *system, &wanted("PRAGMA integrity_check"));
    assert_eq!(checked.unwrap().rows, 1);
}

#[test]
fn wal_without_shared_memory_is_locked_exclusively() {
    for pragmas in [vec!["journal_mode = WAL".to_string()], vec![]] {
        let mut system = machine("ubifs", 100);
        let sql = if pragmas.is_empty() { format!("PRAGMA main.journal_mode('wal'); {SQL}") } else { SQL.to_string() };
        let (done, calls) = calls_of(&mut *system, &Wanted { pragmas: &pragmas, ..wanted(&sql) });
        assert!(done.unwrap().full.is_none());
        assert!(calls.iter().any(|(call, path, ..)| *call == MadeCall::Write && path == "a.db-wal"));
        // The change of the mode itself goes through a rollback journal, as it does on Unix.
        assert!(calls.iter().all(|(_, path, ..)| path != "a.db-shm"), "{calls:?}");
    }
}

#[test]
fn a_power_cut_is_an_error_of_its_statement_and_nothing_is_called_afterwards() {
    let mut system = machine("yaffs2", 64);
    calls_of(&mut *system, &wanted(SQL)).0.unwrap();
    system.cut_power_after(4, ffslab_flash::Torn::Partial { seed: 1 }).unwrap();
    let (done, _) = calls_of(&mut *system, &Wanted { repetitions_count: 50, ..wanted(SQL) });
    let says = done.unwrap_err().to_string();
    assert!(says.contains("SQLITE_IOERR") && says.contains("the power was cut"), "{says}");
    system.crash().unwrap();
    system.mount(&[]).unwrap();
    assert_eq!(calls_of(&mut *system, &wanted("PRAGMA integrity_check")).0.unwrap().rows, 1);
}

/// A system may panic, or unwind a program that is given up, within a call: that comes out behind SQLite.
#[test]
fn a_panic_within_any_call_goes_around_sqlite() {
    let calls_count = calls_of(&mut *machine("yaffs2", 64), &wanted(SQL)).1.len();
    for fatal in 0..calls_count {
        let mut system = machine("yaffs2", 64);
        let mut seen = 0;
        let mut each = |_: Option<(&Made, &Sim)>| {
            assert!(seen != fatal, "call {fatal}");
            seen += 1;
            true
        };
        let locks = Locks::default();
        let ran = catch_unwind(AssertUnwindSafe(|| run(&mut *system, &locks, &wanted(SQL), &mut each)));
        let panic = ran.unwrap_err();
        assert_eq!(panic.downcast_ref::<String>(), Some(&format!("call {fatal}")));
        assert_eq!(seen, fatal, "no call is made after it");
    }
    let done = calls_of(&mut *machine("yaffs2", 64), &wanted(SQL)).0;
    assert_eq!(done.unwrap().statements, 4);
}

#[test]
fn whoever_looks_may_end_it_at_any_call() {
    let mut system = machine("yaffs2", 64);
    let mut left = 20;
    let ended = run(&mut *system, &Locks::default(), &wanted(SQL), &mut |_| {
        left -= 1;
        left > 0
    });
    assert_eq!((ended, left), (Err(SqlError::Interrupted), 0));
    // And while a statement computes that makes no call and has no end.
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    let ended = run(&mut *system, &Locks::default(), &wanted(endless), &mut |told| told.is_some());
    assert_eq!(ended, Err(SqlError::Interrupted));
}

/// Within a call another program may run, in the same thread or in others: neither sees anything of it.
#[test]
fn runs_within_calls_of_others_and_beside_them_are_what_they_are_alone() {
    let alone = |seed| {
        let mut system = machine("yaffs2", 64);
        let (done, calls) = calls_of(&mut *system, &Wanted { seed, repetitions_count: 5, ..wanted(SQL) });
        (done, calls, content(&mut *system, "a.db"))
    };
    let (first, second) = (alone(1), alone(2));
    assert_ne!(first.2, second.2, "random() follows the seed");
    let mut system = machine("yaffs2", 64);
    let (mut calls, mut within) = (Vec::new(), 0);
    let want = Wanted { repetitions_count: 5, ..wanted(SQL) };
    let done = run(&mut *system, &Locks::default(), &want, &mut |told| {
        let Some((made, _)) = told else { return true };
        calls.push(line(made));
        if calls.len() % 40 == 0 {
            assert!(alone(2) == second);
            within += 1;
        }
        true
    });
    assert!(within > 2 && (done, calls, content(&mut *system, "a.db")) == first);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|i| scope.spawn(move || alone(1 + i % 2))).collect();
        for (i, thread) in threads.into_iter().enumerate() {
            assert!(thread.join().unwrap() == *[&first, &second][i % 2]);
        }
    });
}

#[test]
fn two_connections_respect_each_others_locks() {
    let locks = Locks::default();
    let mut system = machine("yaffs2", 64);
    run(&mut *system, &locks, &wanted("CREATE TABLE t (a)"), &mut |_| true).unwrap();
    let mut other = machine("yaffs2", 64);
    run(&mut *other, &locks, &wanted("CREATE TABLE t (a)"), &mut |_| true).unwrap();
    let mut refused = 0;
    // Files of the same name are the same file to the locks, as they would be on one machine.
    run(&mut *system, &locks, &wanted("INSERT INTO t VALUES (1)"), &mut |told| {
        let Some((made, _)) = told else { return true };
        if made.call == MadeCall::Write && made.path == "a.db" {
            let error = run(&mut *other, &locks, &wanted("INSERT INTO t VALUES (2)"), &mut |_| true).unwrap_err();
            assert!(error.to_string().contains("SQLITE_BUSY: database is locked"), "{error}");
            refused += 1;
        }
        true
    })
    .unwrap();
    assert!(refused > 0);
    run(&mut *other, &locks, &wanted("INSERT INTO t VALUES (2)"), &mut |_| true).unwrap();
}
