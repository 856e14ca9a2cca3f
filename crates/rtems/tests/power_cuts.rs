//! What DOSFS and RFS promise when the power goes away, and that they promise no more. The whole table, with the verdict
//! of fsck.fat: `cargo bench -p ffslab-rtems --bench power_cuts`.

#[path = "support/power_cuts.rs"]
mod cuts;

use crate::system;
use cuts::{cut, writes_count, Outcomes, Promise, Table};
use ffslab_rtems::Quirks;
use system::Fs;

fn few_cuts(fs: Fs) -> Table {
    let quirks = Quirks::Rtems2018;
    let all = writes_count(fs, quirks);
    let table = cut(fs, quirks, (1..=all).step_by(7), |_| {});
    assert_eq!(table.not_mountable, 0);
    table
}

fn of(table: &Table, promise: Promise) -> Outcomes {
    table.outcomes.get(&promise).copied().unwrap_or_default()
}

fn is_kept(outcomes: Outcomes) -> bool {
    outcomes.whole > 0 && Outcomes { whole: 0, ..outcomes } == Outcomes::default()
}

#[test]
fn dosfs_keeps_what_was_synced() {
    let table = few_cuts(Fs::Dosfs(0));
    assert!(is_kept(of(&table, Promise::Synced)), "{:?}", table.outcomes);
    assert!(is_kept(of(&table, Promise::ClosedThenSynced)), "{:?}", table.outcomes);
    assert!(!is_kept(of(&table, Promise::Written)), "written is not durable");
}

/// fsync writes neither size nor map of an open file: it is synced only after it was closed once.
#[test]
fn rfs_keeps_what_was_closed_and_then_synced() {
    let table = few_cuts(Fs::Rfs(1024));
    assert!(is_kept(of(&table, Promise::ClosedThenSynced)), "{:?}", table.outcomes);
    assert!(!is_kept(of(&table, Promise::Synced)), "{:?}", table.outcomes);
}
