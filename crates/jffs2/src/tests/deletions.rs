//! A deletion entry hides an older entry for its name. It must stay while that one is on flash, and go when it is gone.

use ffslab_fs::FileSystem;

use super::{audit, content, Bench};
use crate::Options;

/// Entries of the root directory in memory that stand for deletions.
fn deletions(bench: &mut Bench) -> usize {
    bench.fs.load(1).unwrap();
    bench.fs.inodes[&1].dirents.iter().filter(|(_, d)| d.ino == 0).count()
}

/// Overwrites one file until every block has been erased, its entries with it.
fn wear(bench: &mut Bench, ino: u32, rounds: usize) {
    for round in 0..rounds {
        bench.write(ino, (round % 8 * 4096) as u64, &content(round, 4096)).unwrap();
    }
    bench.sleep_ms(30_000);
}

#[test]
fn deletion_entries_go_when_nothing_is_left_to_delete() {
    let mut bench = Bench::new(12, Options::default());
    let keep = bench.create("keep").unwrap();
    for i in 0..40 {
        bench.create(&format!("gone {i}")).unwrap();
    }
    for i in 0..40 {
        bench.unlink(&format!("gone {i}")).unwrap();
    }
    assert_eq!(deletions(&mut bench), 40);
    wear(&mut bench, keep, 1500);
    audit(&bench.fs.store);
    assert_eq!(deletions(&mut bench), 0);
    assert_eq!(bench.fs.lookup(1, b"keep"), Ok(keep));
}

/// Were an entry dropped too early, its name would be back after a mount.
#[test]
fn names_that_were_deleted_never_come_back() {
    let mut bench = Bench::new(12, Options::default());
    let keep = bench.create("keep").unwrap();
    for round in 0..30 {
        for i in 0..6 {
            bench.create(&format!("gone {i}")).unwrap();
        }
        wear(&mut bench, keep, 20 + 7 * round);
        for i in 0..6 {
            bench.unlink(&format!("gone {i}")).unwrap();
        }
        wear(&mut bench, keep, 30);
        bench.fs.sync(&mut bench.host).unwrap();
        bench.remount(round % 2 == 0);
        let mut names = Vec::new();
        bench.fs.readdir(1, &mut |entry| names.push(entry.name.to_vec())).unwrap();
        assert_eq!(names, [b"keep"], "round {round}");
        bench.sleep_ms(5_000);
        audit(&bench.fs.store);
    }
}
