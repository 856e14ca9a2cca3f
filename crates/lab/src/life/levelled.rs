//! Wear that is levelled by differences of erases, as UBI does: in the long run all blocks go on alike.
//!
//! Once data at rest are moved whenever their blocks are too far behind, only differences of counters decide what happens. So when the
//! counters are spread as they were a whole cycle ago (as many erases for each block as the difference that makes data move), a leap
//! gives all blocks as many erases: nobody who looks at differences can tell the time after it from the time before.

use ffslab_system::Levelling;

/// How far spreads of counters may be apart, as a share of the difference from which on data move.
const SPREAD_TOLERANCE: f64 = 0.1;
/// Leaps pass over at most so many cycles for the last one that was seen whole.
const CYCLES_MAX: f64 = 20.0;
/// A leap may follow another one without a whole cycle between them if blocks were erased so often since, and as often a repetition as
/// in the cycle, but for this share.
const ERASES_BETWEEN: f64 = 16.0;
const RATE_TOLERANCE: f64 = 0.1;

/// Counters at the start of what may become a cycle.
pub(super) struct Mark {
    counted_erases: Vec<u32>,
    repetitions: u64,
    time_ns: u64,
}

/// What is known of levelled wear.
#[derive(Default)]
pub(super) struct Levelled {
    mark: Option<Mark>,
    /// The last cycle that was seen, and for how many erases of each block it speaks.
    seen: Option<(Cycle, f64)>,
    /// Where the last leap ended.
    landed: Option<Mark>,
}

/// A cycle of levelled wear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cycle {
    /// Erases of a block, on average.
    pub erases: f64,
    pub repetitions: u64,
    pub time_ns: u64,
}

impl Levelled {
    /// Tells of the counters after so many repetitions, and gets the cycle that a leap may repeat and for how many erases of each
    /// block; `None`: none has ended yet, or wear is not levelled yet. A cycle may hold leaps that ended wherever data became due
    /// ([`super::law`]): they keep the differences.
    pub fn then(&mut self, levelling: &Levelling, repetitions: u64, time_ns: u64) -> Option<(Cycle, f64)> {
        let now = Mark::new(levelling, repetitions, time_ns);
        let Some(mark) = &self.mark else {
            self.mark = Some(now);
            return None;
        };
        let since = mark.until(&now);
        let step = f64::from(levelling.from_erases);
        if since.erases >= step {
            let pairs = || mark.pairs(&now);
            let (before, after) = (Spread::of(pairs().map(|pair| pair.0)), Spread::of(pairs().map(|pair| pair.1)));
            let is_cycle = after.whole >= step && before.is_like(&after, SPREAD_TOLERANCE * step);
            self.seen = is_cycle.then_some((since, since.erases * CYCLES_MAX));
            (self.mark, self.landed) = (Some(now), None);
        } else if let Some(landed) = &self.landed {
            let since = landed.until(&now);
            let goes_on = self.seen.is_some_and(|(cycle, _)| since.is_like(&cycle));
            if since.erases < ERASES_BETWEEN || !goes_on {
                return None;
            }
        }
        self.seen
    }

    /// Each block got as many erases by a leap, which ended with these counters: they are as far apart as before.
    pub fn leapt(&mut self, leap: Cycle, landed: Mark) {
        if let Some((_, left)) = &mut self.seen {
            *left -= leap.erases;
        }
        if let Some(mark) = &mut self.mark {
            let in_use = mark.counted_erases.iter_mut().filter(|count| **count > 0);
            in_use.for_each(|count| *count += leap.erases as u32);
            mark.repetitions += leap.repetitions;
            mark.time_ns += leap.time_ns;
        }
        self.landed = Some(landed);
    }
}

impl Mark {
    pub fn new(levelling: &Levelling, repetitions: u64, time_ns: u64) -> Mark {
        Mark { counted_erases: levelling.counted_erases.clone(), repetitions, time_ns }
    }

    /// The counters of the blocks that are in use at both times.
    fn pairs<'a>(&'a self, later: &'a Mark) -> impl Iterator<Item = (u32, u32)> + 'a {
        let pairs = self.counted_erases.iter().copied().zip(later.counted_erases.iter().copied());
        pairs.filter(|&(then, now)| then > 0 && now > 0)
    }

    fn until(&self, later: &Mark) -> Cycle {
        let grown: f64 = self.pairs(later).map(|(then, now)| f64::from(now.saturating_sub(then))).sum();
        let erases = grown / self.pairs(later).count().max(1) as f64;
        Cycle { erases, repetitions: later.repetitions - self.repetitions, time_ns: later.time_ns - self.time_ns }
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
    /// Erases for each block that a leap may give without that a block fails.
    ///
    /// `left_erases`: what each block in use bears; none: for ever. `kept_erases`: those that each block is left with.
    pub fn reach(&self, left_erases: impl Iterator<Item = u32>, kept_erases: f64) -> f64 {
        let first = left_erases.min().map_or(f64::INFINITY, f64::from);
        (first - kept_erases).max(0.0)
    }

    /// Whether blocks were erased as often a repetition.
    fn is_like(&self, whole: &Cycle) -> bool {
        let rate = |cycle: &Cycle| cycle.erases / cycle.repetitions.max(1) as f64;
        (rate(self) / rate(whole) - 1.0).abs() <= RATE_TOLERANCE
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
        let whole = Cycle { erases: 12.0, repetitions: 10, time_ns: 100 };
        assert_eq!(cycle, Some((whole, 240.0)));
    }

    #[test]
    fn a_leap_follows_another_if_wear_goes_on_as_it_was() {
        let begun = || {
            let mut levelled = Levelled::default();
            let step = |counts: &[u32]| Levelling { from_erases: 100, counted_erases: counts.to_vec() };
            levelled.then(&step(&[100, 250]), 0, 0);
            assert!(levelled.then(&step(&[200, 350]), 100, 100).is_some());
            let leap = Cycle { erases: 1_000.0, repetitions: 1_000, time_ns: 1_000 };
            levelled.leapt(leap, Mark::new(&step(&[1_200, 1_350]), 1_100, 1_100));
            (levelled, step)
        };
        let (mut as_before, step) = begun();
        assert_eq!(as_before.then(&step(&[1_210, 1_360]), 1_110, 1_110), None, "too soon");
        let again = as_before.then(&step(&[1_220, 1_370]), 1_120, 1_120);
        assert_eq!(again.map(|(_, left)| left), Some(1_000.0));
        let (mut faster, step) = begun();
        assert_eq!(faster.then(&step(&[1_240, 1_390]), 1_120, 1_120), None);
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
        assert_eq!(cycle.reach([10_000].into_iter(), 8.0), 9_992.0);
    }
}
