//! Other rules for the choice of the block to collect: a bad one may make a file system slow, and must lose nothing.

use crate::{must, power_cuts, sequences, Subject};

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
