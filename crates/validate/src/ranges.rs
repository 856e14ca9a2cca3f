//! Ranges of a counter where one number would say too much: over phases of clocks that nobody recorded (simulated), and over
//! boots of one machine (measured).

use crate::case::Case;
use crate::report::{error_percent, BootRanges, CaseReport, CounterRange, Pair, Pairs};
use schemars::JsonSchema;
use serde::Serialize;

/// The counters by which a case as a whole is judged.
const JUDGED: [&str; 3] = ["page_reads", "page_programs", "erases"];
/// A counter is met when its error is at most this.
const MET_PERCENT: f64 = 1.0;

/// What several boots counted. `None`: the case was measured in one.
pub(crate) fn of_boots(case: &Case, counters: &Pairs) -> Option<BootRanges> {
    let range = |(name, pair): (&String, &Pair)| {
        let others = case.boots.iter().filter_map(|boot| boot.get(name)?.as_f64());
        (name.clone(), CounterRange::of(std::iter::once(pair.expected).chain(others), pair.simulated))
    };
    (!case.boots.is_empty())
        .then(|| BootRanges { boots: case.boots.len() as u64 + 1, counters: counters.iter().map(range).collect() })
}

/// How many cases are met in page reads, page programs and erases, as far as these were measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RangeSummary {
    /// Cases that were run and count.
    pub cases: u64,
    /// Those that were simulated at several phases, or measured in several boots.
    pub cases_with_ranges: u64,
    /// Cases with an error of at most 1 % in each of these counters, at their first phase and in their first boot.
    pub cases_within_1_percent: u64,
    /// Cases in which each of these counters has such an error or lies inside its range.
    pub cases_within_1_percent_or_inside: u64,
}

/// Whether a counter lies inside a range of its case. `None`: the case has no range of it.
pub(crate) fn inside(case: &CaseReport, counter: &str) -> Option<bool> {
    let over_phases = case.ranges.as_ref().and_then(|ranges| ranges.counters.get(counter));
    let over_boots = case.boots.as_ref().and_then(|ranges| ranges.counters.get(counter));
    over_phases.into_iter().chain(over_boots).map(|range| range.inside).reduce(|one, other| one || other)
}

pub(crate) fn summarize(cases: &[CaseReport]) -> RangeSummary {
    let mut found = RangeSummary::default();
    for case in cases.iter().filter(|case| case.error.is_none() && case.not_counted.is_none()) {
        let judged = || JUDGED.iter().filter_map(|name| Some((*name, *case.counters.get(*name)?)));
        let inside = |name: &str| inside(case, name) == Some(true);
        found.cases += 1;
        found.cases_with_ranges += u64::from(case.ranges.is_some() || case.boots.is_some());
        found.cases_within_1_percent += u64::from(judged().all(|(_, pair)| error_percent(pair) <= MET_PERCENT));
        found.cases_within_1_percent_or_inside +=
            u64::from(judged().all(|(name, pair)| error_percent(pair) <= MET_PERCENT || inside(name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(boots: &str) -> Case {
        let system = r#"{"name": "linux", "version": "6.1.0", "hz": 250, "fs": "jffs2"}"#;
        let flash =
            r#"{"page_B": 2048, "oob_B": 64, "pages_per_block": 64, "partition_blocks": 64, "chip_blocks": 64}"#;
        let steps = r#""setup": [], "measure": [], "expect": {"at_step": 0, "erases": 3}"#;
        let text =
            format!(r#"{{"id": "a", "family": "W", "system": {system}, "flash": {flash}, {steps}, "boots": {boots}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn what_boots_counted_is_a_range_around_the_first_of_them() {
        let row = |simulated: f64, boots: &str| {
            let counters = Pairs::from([("erases".to_string(), Pair { expected: 3.0, simulated })]);
            let boots = of_boots(&measured(boots), &counters);
            CaseReport { counters, boots, ..CaseReport::default() }
        };
        let met = row(4.0, r#"[{"erases": 3}, {"erases": 5}]"#);
        let ranges = met.boots.as_ref().unwrap();
        assert_eq!((ranges.boots, ranges.counters["erases"]), (3, CounterRange { min: 3, max: 5, inside: true }));
        let missed = row(6.0, r#"[{"erases": 2}]"#);
        assert_eq!(missed.boots.as_ref().unwrap().counters["erases"], CounterRange { min: 2, max: 3, inside: false });
        let one = row(4.0, "[]");
        assert_eq!(one.boots, None);
        assert_eq!(
            (inside(&met, "erases"), inside(&missed, "erases"), inside(&one, "erases")),
            (Some(true), Some(false), None)
        );
        let found = summarize(&[met, missed, one]);
        let of = (
            found.cases,
            found.cases_with_ranges,
            found.cases_within_1_percent,
            found.cases_within_1_percent_or_inside,
        );
        assert_eq!(of, (3, 2, 0, 1));
    }
}
