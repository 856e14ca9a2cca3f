//! Wear that is levelled by differences of erases, as UBI does: in the long run all blocks go on alike.
//!
//! Once data at rest are moved whenever their blocks are too far behind, only differences of counters decide what happens. So when the
//! counters are spread as they were a whole cycle ago (as many erases for each block as the difference that makes data move), a leap
//! gives all blocks as many erases: nobody who looks at differences can tell the time after it from the time before.

use ffslab_system::Levelling;

/// How far spreads of counters may be apart, as a share of the difference from which on data move.
const SPREAD_TOLERANCE: f64 = 0.1;
/// A leap passes over at most so many cycles for the one that was seen.
const CYCLES_MAX: f64 = 20.0;

/// Counters at the start of what may become a cycle.
struct Mark {
    counted_erases: Vec<u32>,
    repetitions: u64,
    time_ns: u64,
}

/// What is known of levelled wear.
#[derive(Default)]
pub(super) struct Levelled {
    mark: Option<Mark>,
}

/// A cycle of levelled wear.
#[derive(Debug, PartialEq)]
pub(super) struct Cycle {
    /// Erases of a block, on average.
    pub erases: f64,
    pub repetitions: u64,
    pub time_ns: u64,
}

impl Levelled {
    /// Wear that was not levelled lies between: what was seen before tells nothing.
    pub fn forget(&mut self) {
        self.mark = None;
    }

    /// Tells of the counters after so many repetitions that were run, and gets the cycle that ended with them; `None`: none did, or
    /// wear is not levelled yet.
    pub fn then(&mut self, levelling: &Levelling, repetitions: u64, time_ns: u64) -> Option<Cycle> {
        let now = Mark { counted_erases: levelling.counted_erases.clone(), repetitions, time_ns };
        let Some(mark) = &self.mark else {
            self.mark = Some(now);
            return None;
        };
        let pairs = || mark.counted_erases.iter().zip(&now.counted_erases).filter(|(&then, &now)| then > 0 && now > 0);
        let grown: f64 = pairs().map(|(&then, &now)| f64::from(now.saturating_sub(then))).sum();
        let erases = grown / pairs().count().max(1) as f64;
        let step = f64::from(levelling.from_erases);
        if erases < step {
            return None;
        }
        let cycle = Cycle { erases, repetitions: repetitions - mark.repetitions, time_ns: time_ns - mark.time_ns };
        let (before, after) = (Spread::of(pairs().map(|pair| *pair.0)), Spread::of(pairs().map(|pair| *pair.1)));
        self.mark = Some(now);
        (after.whole >= step && before.is_like(&after, SPREAD_TOLERANCE * step)).then_some(cycle)
    }
}

/// How far counters are apart: all of them, and without the lowest and highest twentieth.
struct Spread {
    whole: f64,
    most: f64,
}

impl Spread {
    fn of(counts: impl Iterator<Item = u32>) -> Spread {
        let mut sorted: Vec<u32> = counts.collect();
        sorted.sort_unstable();
        let between = |cut: usize| match (sorted.get(cut), sorted.iter().rev().nth(cut)) {
            (Some(&low), Some(&high)) => f64::from(high.saturating_sub(low)),
            _ => 0.0,
        };
        Spread { whole: between(0), most: between(sorted.len() / 20) }
    }

    fn is_like(&self, other: &Spread, tolerance: f64) -> bool {
        (self.whole - other.whole).abs() <= tolerance.max(1.0) && (self.most - other.most).abs() <= tolerance.max(1.0)
    }
}

impl Cycle {
    /// Erases for each block that a leap may give: as long as no block fails, and not much further than what was seen.
    ///
    /// `left_erases`: what each block in use bears; none: for ever. `kept_erases`: those that each block is left with.
    pub fn reach(&self, left_erases: impl Iterator<Item = u32>, kept_erases: f64) -> f64 {
        let first = left_erases.min().map_or(f64::INFINITY, f64::from);
        (first - kept_erases).min(self.erases * CYCLES_MAX).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(counted_erases: &[u32]) -> Levelling {
        Levelling { from_erases: 10, counted_erases: counted_erases.to_vec() }
    }

    #[test]
    fn a_cycle_ends_when_all_blocks_had_the_difference_and_are_spread_as_before() {
        let mut levelled = Levelled::default();
        assert_eq!(levelled.then(&counted(&[10, 20, 15, 0]), 0, 0), None);
        assert_eq!(levelled.then(&counted(&[12, 26, 20, 0]), 5, 50), None);
        let cycle = levelled.then(&counted(&[22, 32, 27, 0]), 10, 100);
        assert_eq!(cycle, Some(Cycle { erases: 12.0, repetitions: 10, time_ns: 100 }));
    }

    #[test]
    fn counters_that_drift_apart_are_no_cycle() {
        let mut levelled = Levelled::default();
        levelled.then(&counted(&[10, 10, 10]), 0, 0);
        assert_eq!(levelled.then(&counted(&[10, 40, 40]), 10, 100), None);
        assert_eq!(levelled.then(&counted(&[10, 70, 70]), 20, 200), None);
    }

    #[test]
    fn a_leap_ends_before_the_first_block_fails() {
        let cycle = Cycle { erases: 12.0, repetitions: 1, time_ns: 1 };
        assert_eq!(cycle.reach([100, 70].into_iter(), 8.0), 62.0);
        assert_eq!(cycle.reach([0, 70].into_iter(), 8.0), 0.0);
        assert_eq!(cycle.reach([10_000].into_iter(), 8.0), 240.0);
    }
}
