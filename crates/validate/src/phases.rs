//! Ranges over phases: what simulations count that begin at different times of the tick counter.
//!
//! JFFS2 draws its victims by the tick counter modulo 128 (`fs/jffs2/gc.c`, `jffs2_find_gc_block`), and timers fire at ticks. At which tick
//! a draw comes nobody knows: a case that says how long its machine had been up says at which tick it began, but the calls up to the draw
//! last as long as they do there, their times are met to some per cent, and 128 ticks are half a second. Nor does the kernel agree with
//! itself in another boot.
//! When it does not say where its wall clock stood, nobody knows where seconds end, and with them when a file system that keeps times by
//! seconds writes an inode (UBIFS: `update_mctime` of `fs/ubifs/file.c`). So its result is one of several that are equally right, and a measured value is to lie between the least and the largest.

use crate::case::Case;
use crate::report::{CaseReport, CounterRange, Pairs, PhaseRanges};
use crate::stacks::{self, Unknown, SECOND_NS};
use ffslab_machine::stack::StackSpec;

/// Ticks after which JFFS2's draws repeat.
const PERIOD_TICKS: u64 = 128;
/// By how much later than the first simulation of a case another one begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Later {
    pub uptime_ns: u64,
    pub wall_clock_ns: u64,
}

impl Later {
    /// Lets the machine begin so much later. Each of both clocks moves by its own part.
    pub fn shift(self, stack: &mut StackSpec) {
        let wall_clock_ns = stacks::wall_clock_ns(stack) + self.wall_clock_ns;
        stack.sim.uptime_ns += self.uptime_ns;
        stacks::set_wall_clock(stack, wall_clock_ns);
    }
}

/// The simulations of a case. The first of them is the usual one.
pub(crate) fn begins(case: &Case, phases: usize) -> impl Iterator<Item = Later> {
    let unknown = Unknown::of(case);
    // What keeps seconds has ticks, too.
    let count = if unknown.tick { phases.max(1) as u64 } else { 1 };
    // Both the tick and the place in the tick move.
    let tick_ns = SECOND_NS / u64::from(case.system.tick_rate_hz.unwrap_or(100).max(1));
    let at = move |is_unknown: bool, period_ns: u64, index: u64| u64::from(is_unknown) * (period_ns * index / count);
    (0..count).map(move |index| Later {
        uptime_ns: at(unknown.tick, (PERIOD_TICKS + 1) * tick_ns, index),
        wall_clock_ns: at(unknown.wall_clock, SECOND_NS, index),
    })
}

/// One row for a case from the rows of its phases; the first is the one of the case itself.
pub(crate) fn merged(mut rows: Vec<CaseReport>) -> CaseReport {
    let others = rows.split_off(1);
    let mut report = rows.remove(0);
    if others.is_empty() || report.error.is_some() {
        return report;
    }
    if let Some(failed) = others.iter().find_map(|row| row.error.as_ref()) {
        return CaseReport { error: Some(format!("at another phase: {failed}")), counters: Pairs::new(), ..report };
    }
    let range = |(name, pair): (&String, &crate::report::Pair)| {
        let values = others.iter().filter_map(|row| row.counters.get(name)).map(|pair| pair.simulated);
        (name.clone(), CounterRange::of(values.chain([pair.simulated]), pair.expected))
    };
    let counters = report.counters.iter().map(range).collect();
    report.ranges = Some(PhaseRanges { phases: others.len() as u64 + 1, counters });
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranges::summarize;
    use crate::report::Pair;

    fn row(simulated: f64) -> CaseReport {
        let mut row = CaseReport { id: "a".into(), ..CaseReport::default() };
        row.counters.insert("erases".into(), Pair { expected: 10.0, simulated });
        row
    }

    #[test]
    fn a_range_holds_all_phases_and_says_whether_the_measured_value_is_inside() {
        let inside = merged(vec![row(12.0), row(9.0), row(11.0)]);
        let range = inside.ranges.as_ref().unwrap();
        assert_eq!((range.phases, range.counters["erases"]), (3, CounterRange { min: 9, max: 12, inside: true }));
        assert_eq!(inside.counters["erases"].simulated, 12.0);
        let outside = merged(vec![row(12.0), row(11.0)]);
        assert_eq!(
            outside.ranges.as_ref().unwrap().counters["erases"],
            CounterRange { min: 11, max: 12, inside: false }
        );
        let one = merged(vec![row(10.0)]);
        assert_eq!(one.ranges, None);
        let found = summarize(&[inside, outside, one]);
        assert_eq!((found.cases, found.cases_with_ranges), (3, 2));
        assert_eq!((found.cases_within_1_percent, found.cases_within_1_percent_or_inside), (1, 2));
        assert_eq!(summarize(&[row(10.0)]).cases_with_ranges, 0);
    }

    fn case(system: &str) -> Case {
        let system = format!(r#"{{"name": "linux", "version": "2.6.37", "hz": 128, {system}}}"#);
        let flash =
            r#"{"page_B": 2048, "oob_B": 64, "pages_per_block": 64, "partition_blocks": 64, "chip_blocks": 64}"#;
        let steps = r#""setup": [], "measure": [], "expect": {"at_step": 0}"#;
        let text = format!(r#"{{"id": "a", "family": "W", "system": {system}, "flash": {flash}, {steps}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    /// By how many ms the clocks of the simulations of a case are later than those of the first one: uptime, wall clock.
    fn begins_of(system: &str, phases: usize) -> Vec<(u64, u64)> {
        let begins = begins(&case(system), phases);
        begins.map(|later| (later.uptime_ns / 1_000_000, later.wall_clock_ns / 1_000_000)).collect()
    }

    #[test]
    fn ticks_move_and_a_wall_clock_of_which_the_case_does_not_say_where_it_stood() {
        assert_eq!(begins_of(r#""fs": "ubifs""#, 2), [(0, 0), (503, 500)]);
        assert_eq!(begins_of(r#""fs": "ubifs", "wall_clock_us": 7"#, 2), [(0, 0), (503, 0)]);
        assert_eq!(
            begins_of(r#""fs": "jffs2", "uptime_us": 7"#, 2),
            [(0, 0), (503, 0)],
            "it began there, and draws later"
        );
        assert_eq!(begins_of(r#""fs": "ubifs""#, 0), [(0, 0)]);
    }

    #[test]
    fn the_wall_clock_moves_by_itself() {
        let mut stack = stacks::stack_of(&case(r#""fs": "ubifs""#)).unwrap();
        let before = stacks::wall_clock_ns(&stack);
        Later { uptime_ns: 123, wall_clock_ns: 0 }.shift(&mut stack);
        assert_eq!(stacks::wall_clock_ns(&stack), before);
        Later { uptime_ns: 123, wall_clock_ns: 456 }.shift(&mut stack);
        assert_eq!(stacks::wall_clock_ns(&stack), before + 456);
    }

    #[test]
    fn a_phase_that_cannot_be_run_is_the_error_of_its_case() {
        let failed = CaseReport { error: Some("no room".into()), ..row(0.0) };
        assert_eq!(merged(vec![row(10.0), failed]).error.as_deref(), Some("at another phase: no room"));
    }
}
