//! What is kept of a life while it goes on: some hundred points in time, however long it is.

use crate::tally::Tally;
use ffslab_sim::units::ns_to_us;
use schemars::JsonSchema;
use serde::Serialize;

/// So many points are kept at most; then each second one goes.
const POINTS_MAX: usize = 400;
/// Instants of which the erases of every block are told, at most.
const INSTANTS_MAX: usize = 100;
pub(super) const DAY_NS: f64 = 86_400e9;

/// How erases are spread over the blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ErasesSpread {
    pub mean: f64,
    pub min: u32,
    pub p5: u32,
    pub p50: u32,
    pub p95: u32,
    pub max: u32,
}

impl ErasesSpread {
    pub fn of(erases: &[u32]) -> ErasesSpread {
        let mut sorted = erases.to_vec();
        sorted.sort_unstable();
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else { return ErasesSpread::default() };
        let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
        let mean = sorted.iter().map(|&count| f64::from(count)).sum::<f64>() / sorted.len() as f64;
        ErasesSpread { mean, min, p5: at(5), p50: at(50), p95: at(95), max }
    }
}

/// Latencies of calls: of a point of those since the last one. Null: there were none, or the time was leapt over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallsOfPoint {
    pub calls: u64,
    pub mean_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub max_us: Option<f64>,
}

impl CallsOfPoint {
    pub(super) fn of(tally: &Tally) -> CallsOfPoint {
        let (calls, latency) = (tally.len(), tally.latency_us());
        let max_us = (calls > 0).then(|| ns_to_us(tally.most_ns()));
        CallsOfPoint { calls, mean_us: latency.mean, p99_us: latency.p99, max_us }
    }
}

/// How it stands at an instant of the life.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Point {
    pub days: f64,
    /// The time since the last point was leapt over, all of it or a part.
    pub leapt: bool,
    pub erases: ErasesSpread,
    pub bad_blocks: u32,
    /// Free space of the file system. Null: nothing is mounted.
    pub free_bytes: Option<u64>,
    #[serde(flatten)]
    pub latency: CallsOfPoint,
    #[serde(skip)]
    by_block: Vec<u32>,
    #[serde(skip)]
    calls: Tally,
}

impl Point {
    pub(super) fn new(
        days: f64,
        leapt: bool,
        by_block: Vec<u32>,
        bad_blocks: u32,
        free_bytes: Option<u64>,
        calls: Tally,
    ) -> Point {
        let erases = ErasesSpread::of(&by_block);
        Point { days, leapt, erases, bad_blocks, free_bytes, latency: CallsOfPoint::default(), by_block, calls }
    }

    /// The point that stands for an earlier one, too.
    fn following(mut self, earlier: &Point) -> Point {
        self.calls.merge(&earlier.calls);
        Point { leapt: self.leapt || earlier.leapt, ..self }
    }

    fn told(mut self) -> Point {
        self.latency = CallsOfPoint::of(&self.calls);
        self
    }
}

/// How the erases of each block grow.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Wear {
    /// Instants; the last one is the end.
    pub days: Vec<f64>,
    /// At each of them, the erases of each block of the partition.
    pub erases: Vec<Vec<u32>>,
}

/// The points so far. Each stands for as many of the points that were added, but for the last one.
#[derive(Debug)]
pub(super) struct Points {
    kept: Vec<Point>,
    each_of: usize,
    since_kept: usize,
}

impl Points {
    pub fn new() -> Points {
        Points { kept: Vec::new(), each_of: 1, since_kept: 0 }
    }

    pub fn add(&mut self, point: Point) {
        self.since_kept += 1;
        match self.kept.pop() {
            // The last one does not yet stand for so many.
            Some(last) if self.since_kept > 1 => self.kept.push(point.following(&last)),
            last => self.kept.extend(last.into_iter().chain([point])),
        }
        if self.since_kept < self.each_of {
            return;
        }
        self.since_kept = 0;
        if self.kept.len() >= POINTS_MAX {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let mut points = std::mem::take(&mut self.kept).into_iter();
        while let Some(first) = points.next() {
            self.kept.push(match points.next() {
                Some(second) => second.following(&first),
                None => first,
            });
        }
        self.each_of *= 2;
    }

    pub fn told(self) -> (Vec<Point>, Wear) {
        let every = self.kept.len().div_ceil(INSTANTS_MAX).max(1);
        let last = self.kept.len() - 1;
        let instants = || self.kept.iter().enumerate().filter(|(at, _)| (last - at).is_multiple_of(every));
        let wear = Wear {
            days: instants().map(|(_, point)| point.days).collect(),
            erases: instants().map(|(_, point)| point.by_block.clone()).collect(),
        };
        (self.kept.into_iter().map(Point::told).collect(), wear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_life_keeps_few_points_and_loses_no_call() {
        let mut points = Points::new();
        let added = 10_001;
        for day in 0..added {
            let tally = Tally::of(&[1_000 * (1 + u64::from(day == 7))]);
            points.add(Point::new(f64::from(day), false, vec![day], 0, None, tally));
        }
        let (told, wear) = points.told();
        assert!(wear.days.len() <= INSTANTS_MAX && wear.erases.last() == Some(&vec![added - 1]));
        assert!(told.len() <= POINTS_MAX && told.len() > POINTS_MAX / 4, "{}", told.len());
        assert_eq!(told.last().unwrap().days, f64::from(added - 1));
        assert_eq!(told.iter().map(|point| point.latency.calls).sum::<u64>(), u64::from(added));
        assert_eq!(told[0].latency.max_us, Some(2.0));
        assert!(told.is_sorted_by(|a, b| a.days < b.days));
    }

    #[test]
    fn a_spread_is_that_of_the_sorted_counts() {
        let spread = ErasesSpread::of(&(0..=100).rev().collect::<Vec<_>>());
        assert_eq!((spread.min, spread.p5, spread.p50, spread.p95, spread.max), (0, 5, 50, 95, 100));
        assert_eq!(ErasesSpread::of(&[]), ErasesSpread::default());
    }
}
