//! Errors over many cases: how often a value is exact, and how large the error is otherwise.

use crate::ranges::{self, RangeSummary};
use crate::report::{error_percent, CaseReport, Pair};
use ffslab_lab::stats::element_at;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "ValidationSummary")]
pub struct Summary {
    pub cases: u64,
    /// Number of cases that could not be run.
    pub failed: u64,
    /// Number of cases that were run and do not count in the rows, because not all that they did is recorded.
    pub uncounted_cases: u64,
    /// How many cases are met, and how many when ranges over phases and boots are taken for what they are.
    pub ranges: RangeSummary,
    /// A row for each file system, family and counter. Family "all" stands for all families together.
    pub rows: Vec<SummaryRow>,
}

/// Errors of one counter, as absolute values in percent of the expected value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SummaryRow {
    pub fs: String,
    pub family: String,
    /// Name of a counter, or `latency_mean_us`, `erases_per_block_mean` and the like.
    pub counter: String,
    /// Number of cases that have this value.
    pub n: u64,
    /// Share of those cases (0 to 1) in which the value is exact.
    pub exact_share: f64,
    pub median_error_percent: f64,
    pub p95_error_percent: f64,
    pub worst_error_percent: f64,
    /// Share of the cases with ranges (0 to 1) that are inside theirs; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside_share: Option<f64>,
    /// The case with the worst error.
    pub worst_id: String,
    /// Largest simulated value among the cases in which 0 is expected. Such an error counts as 100 %.
    pub unexpected_max: f64,
}

#[derive(Default)]
struct Errors<'a> {
    percent: Vec<f64>,
    exact: u64,
    unexpected_max: f64,
    /// How many cases have ranges, and how many are inside theirs.
    ranges: (u64, u64),
    worst: Option<(f64, &'a str)>,
}

impl<'a> Errors<'a> {
    fn add(&mut self, id: &'a str, pair: Pair) {
        let percent = error_percent(pair);
        self.percent.push(percent);
        self.exact += u64::from(pair.expected == pair.simulated);
        if pair.expected == 0.0 {
            self.unexpected_max = self.unexpected_max.max(pair.simulated.abs());
        }
        if self.worst.is_none_or(|(worst, _)| percent > worst) {
            self.worst = Some((percent, id));
        }
    }

    fn row(mut self, fs: &str, family: &str, counter: &str) -> SummaryRow {
        self.percent.sort_by(f64::total_cmp);
        let n = self.percent.len() as u64;
        let (worst_error_percent, worst_id) = self.worst.unwrap_or((0.0, ""));
        SummaryRow {
            fs: fs.to_string(),
            family: family.to_string(),
            counter: counter.to_string(),
            n,
            exact_share: self.exact as f64 / n.max(1) as f64,
            median_error_percent: element_at(&self.percent, 0.5),
            p95_error_percent: element_at(&self.percent, 0.95),
            worst_error_percent,
            inside_share: (self.ranges.0 > 0).then(|| self.ranges.1 as f64 / self.ranges.0 as f64),
            worst_id: worst_id.to_string(),
            unexpected_max: self.unexpected_max,
        }
    }
}

/// Every compared value of a case: the position of its kind, its name in summaries, and the pair.
fn compared(case: &CaseReport) -> impl Iterator<Item = (usize, String, Pair)> + '_ {
    let groups = [
        (&case.counters, "", ""),
        (&case.latency_us, "latency_", "_us"),
        (&case.latency_unlink_us, "latency_unlink_", "_us"),
        (&case.erases_per_block, "erases_per_block_", ""),
        (&case.facts, "", ""),
    ];
    groups.into_iter().enumerate().flat_map(|(group, (pairs, before, after))| {
        pairs.iter().map(move |(name, &pair)| (group, format!("{before}{name}{after}"), pair))
    })
}

pub fn summarize(cases: &[CaseReport]) -> Summary {
    // The key puts the rows in order: file system, family ("all" is the first), kind of value, name.
    let mut errors: BTreeMap<(&str, &str, usize, String), Errors> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.not_counted.is_none()) {
        for (group, counter, pair) in compared(case) {
            for family in ["", case.family.as_str()] {
                let errors = errors.entry((&case.fs, family, group, counter.clone())).or_default();
                errors.add(&case.id, pair);
                if let Some(inside) = ranges::inside(case, &counter) {
                    errors.ranges = (errors.ranges.0 + 1, errors.ranges.1 + u64::from(inside));
                }
            }
        }
    }
    Summary {
        cases: cases.len() as u64,
        failed: cases.iter().filter(|case| case.error.is_some()).count() as u64,
        uncounted_cases: cases.iter().filter(|case| case.not_counted.is_some()).count() as u64,
        ranges: ranges::summarize(cases),
        rows: errors
            .into_iter()
            .map(|((fs, family, _, counter), errors)| {
                errors.row(fs, if family.is_empty() { "all" } else { family }, &counter)
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str, family: &str, expected: f64, simulated: f64) -> CaseReport {
        let mut case = CaseReport { id: id.into(), family: family.into(), fs: "jffs2".into(), ..Default::default() };
        case.counters.insert("erases".into(), Pair { expected, simulated });
        case
    }

    #[test]
    fn what_is_not_recorded_does_not_count() {
        let unknown = CaseReport { not_counted: Some("text".into()), ..case("b", "W", 100.0, 97.0) };
        let summary = summarize(&[case("a", "W", 100.0, 100.0), unknown]);
        assert_eq!((summary.cases, summary.uncounted_cases), (2, 1));
        assert!(summary.rows.iter().all(|row| (row.n, row.exact_share) == (1, 1.0)));
    }

    #[test]
    fn rows_hold_the_share_of_exact_cases_and_the_worst() {
        let cases = [case("a", "W", 100.0, 100.0), case("b", "W", 100.0, 97.0), case("c", "R", 0.0, 5.0)];
        let summary = summarize(&cases);
        let row = |family: &str| summary.rows.iter().find(|row| row.family == family).unwrap();
        assert_eq!((row("W").n, row("W").exact_share, row("W").worst_error_percent), (2, 0.5, 3.0));
        assert_eq!(row("W").worst_id, "b");
        assert_eq!((row("R").median_error_percent, row("R").unexpected_max), (100.0, 5.0));
        assert_eq!(summary.uncounted_cases, 0);
        assert_eq!((row("all").n, row("all").worst_id.as_str()), (3, "c"));
    }
}
