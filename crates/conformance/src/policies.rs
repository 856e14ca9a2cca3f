//! Other rules than the kernel's, for the choice of the block to collect and for the page cache: a bad one may make a file system
//! slow, and must lose nothing.

use crate::{must, power_cuts, sequences, Failure, Machine, Subject};
use ffslab_linux::PagePolicies;
use ffslab_policy::{read_ahead_policies, write_back_policies, ReadAheadPolicy, WriteBackOrder};

/// Policies other than the own rule: the best, one that is wasteful, one that never looks at the gain, and a score.
pub const POLICIES: [&str; 4] = ["greedy", "random", "fifo", "invalid / (2*valid) * age"];

/// Cuts the power while each of them is at work. `under`: the file system under a policy. A failure ends the test with its text.
#[track_caller]
pub fn check_power_cuts<S: Subject>(under: impl Fn(&'static str) -> S) {
    for policy in POLICIES {
        let options = power_cuts::Options { points_max: 20, ..Default::default() };
        let report = must(power_cuts::check(&under(policy), &options));
        println!("{policy}: {report}");
        assert!(report.cut_points() > 300, "{policy}: {report}");
    }
}

/// Random sequences of calls on a partition so small that they fill it, each policy with a seed of its own.
#[track_caller]
pub fn check_sequences<S: Subject>(under: impl Fn(&'static str) -> S) {
    for (seed, policy) in (20..).zip(POLICIES) {
        let options = sequences::Options { seed, calls_max: 250, ..sequences::Options::default() };
        let report = must(sequences::check(&under(policy), &options));
        assert!(report.full > 0, "{policy}: no sequence filled the partition");
    }
}

/// A score for each decision of the page cache, beside the rules that have a name.
const ORDER_BY_SCORE: &str = "dirty_pages * idle_s - 3 * ino";
const READ_AHEAD_BY_SCORE: &str = "sequential * min(max(2 * ahead, 4), 64) * (0.3 + used)";

/// The page cache under each order of write-back: the power is cut, and random sequences run with hardly any memory.
#[track_caller]
pub fn check_write_back_orders(subject: &impl Subject) {
    let orders = write_back_policies().iter().map(|order| order.name).chain([ORDER_BY_SCORE]);
    for (seed, order) in (40..).zip(orders) {
        let write_back = must(WriteBackOrder::parse(order).map_err(Failure::of));
        let policies = PagePolicies { write_back, ..PagePolicies::default() };
        let options = power_cuts::Options {
            points_max: 20,
            machine: Machine { policies, ..Machine::USUAL },
            ..Default::default()
        };
        let report = must(power_cuts::check(subject, &options));
        println!("{order}: {report}");
        assert!(report.cut_points() > 300, "{order}: {report}");
        let machine = Machine { policies, ..Machine::TINY };
        must(sequences::check(subject, &sequences::Options { seed, machine, ..sequences::Options::default() }));
    }
}

/// Random sequences of calls under each rule of read-ahead.
#[track_caller]
pub fn check_read_ahead(subject: &impl Subject) {
    let rules = read_ahead_policies().iter().map(|rule| rule.name).chain([READ_AHEAD_BY_SCORE]);
    for (seed, rule) in (60..).zip(rules) {
        let read_ahead = must(ReadAheadPolicy::parse(rule).map_err(Failure::of));
        let machine = Machine { policies: PagePolicies { read_ahead, ..PagePolicies::default() }, ..Machine::TINY };
        must(sequences::check(subject, &sequences::Options { seed, machine, ..sequences::Options::default() }));
    }
}
