//! Latencies of more calls than can be kept one by one, as a histogram of limited size.

use crate::stats::LatencyUs;
use ffslab_sim::units::ns_to_us;
use hdrhistogram::Histogram;
use std::sync::OnceLock;

/// Number of decimal digits to which the histogram distinguishes latencies.
const DIGITS: u8 = 3;
/// Limit for the relative error of a percentile of a [`Tally`], compared with that of all single values. It is the
/// relative width of a bucket.
pub const RELATIVE_ERROR: f64 = 1e-3;

/// So many latencies are kept one by one, before they become a histogram: most calls of a life are counted by the few
/// of a repetition, and a histogram has more places than those.
const FEW: usize = 512;

/// Histogram of latencies. Number, sum, mean, standard deviation, minimum and maximum are exact; percentiles are within
/// [`RELATIVE_ERROR`]. It takes 0.2 MiB for latencies up to a minute, however many they are.
#[derive(Clone, Debug)]
pub struct Tally {
    few_ns: Vec<u64>,
    /// All of them, once they are more than [`FEW`].
    histogram: Option<Box<Histogram<u64>>>,
    sum_ns: u128,
    squares_sum: u128,
    least_ns: u64,
    most_ns: u64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { few_ns: Vec::new(), histogram: None, sum_ns: 0, squares_sum: 0, least_ns: u64::MAX, most_ns: 0 }
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("a valid number of digits")
}

/// Says which latencies are told alike.
fn buckets() -> &'static Histogram<u64> {
    static BUCKETS: OnceLock<Histogram<u64>> = OnceLock::new();
    BUCKETS.get_or_init(empty)
}

fn record(histogram: &mut Histogram<u64>, latency_ns: u64) {
    histogram.record(latency_ns).expect("it grows by itself");
}

impl Tally {
    pub fn of(latencies_ns: &[u64]) -> Tally {
        let mut tally = Tally::default();
        latencies_ns.iter().for_each(|&ns| tally.add(ns));
        tally
    }

    pub fn add(&mut self, latency_ns: u64) {
        self.place(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        self.squares_sum = self.squares_sum.saturating_add(u128::from(latency_ns).pow(2));
        self.least_ns = self.least_ns.min(latency_ns);
        self.most_ns = self.most_ns.max(latency_ns);
    }

    fn place(&mut self, latency_ns: u64) {
        match &mut self.histogram {
            Some(histogram) => record(histogram, latency_ns),
            None if self.few_ns.len() < FEW => self.few_ns.push(latency_ns),
            None => record(self.many(), latency_ns),
        }
    }

    /// The histogram, which is made now if there is none.
    fn many(&mut self) -> &mut Histogram<u64> {
        let histogram = self.histogram.get_or_insert_with(|| Box::new(empty()));
        self.few_ns.drain(..).for_each(|ns| record(histogram, ns));
        histogram
    }

    pub fn merge(&mut self, other: &Tally) {
        match &other.histogram {
            Some(histogram) => self.many().add(&**histogram).expect("it grows by itself"),
            None => other.few_ns.iter().for_each(|&ns| self.place(ns)),
        }
        self.sum_ns += other.sum_ns;
        self.squares_sum = self.squares_sum.saturating_add(other.squares_sum);
        self.least_ns = self.least_ns.min(other.least_ns);
        self.most_ns = self.most_ns.max(other.most_ns);
    }

    pub fn len(&self) -> u64 {
        self.histogram.as_ref().map_or(self.few_ns.len() as u64, |histogram| histogram.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn least_ns(&self) -> u64 {
        self.least_ns
    }

    pub fn most_ns(&self) -> u64 {
        self.most_ns
    }

    pub fn mean_ns(&self) -> f64 {
        self.sum_ns as f64 / self.len() as f64
    }

    /// Standard deviation of the whole population.
    pub fn deviation_ns(&self) -> f64 {
        let n = u128::from(self.len());
        // Computed in integers if they are large enough, because the difference of the two numbers is small compared
        // with them.
        let squared = match (n.checked_mul(self.squares_sum), self.sum_ns.checked_mul(self.sum_ns)) {
            (Some(all), Some(sum)) => all.saturating_sub(sum) as f64 / (n as f64).powi(2),
            _ => self.squares_sum as f64 / n as f64 - self.mean_ns().powi(2),
        };
        squared.max(0.0).sqrt()
    }

    /// The elements at these positions of the sorted list, which count from 0. `positions` must be in ascending order.
    pub fn elements_ns(&self, positions: &[u64]) -> Vec<u64> {
        let mut found = Vec::with_capacity(positions.len());
        let middle_ns = |ns: u64| buckets().median_equivalent(ns).clamp(self.least_ns, self.most_ns);
        if let Some(histogram) = &self.histogram {
            let mut passed = 0;
            for bucket in histogram.iter_recorded() {
                passed += bucket.count_at_value();
                while positions.get(found.len()).is_some_and(|&position| position < passed) {
                    found.push(middle_ns(bucket.value_iterated_to()));
                }
            }
        } else {
            let mut sorted_ns = self.few_ns.clone();
            sorted_ns.sort_unstable();
            found.extend(
                positions.iter().map_while(|&position| sorted_ns.get(position as usize)).map(|&ns| middle_ns(ns)),
            );
        }
        found.resize(positions.len(), self.most_ns);
        found
    }

    /// Statistics as those of [`LatencyUs::of`].
    pub fn latency_us(&self) -> LatencyUs {
        if self.is_empty() {
            return LatencyUs::default();
        }
        let n = u128::from(self.len());
        let found = self.elements_ns(&[500, 900, 990, 999].map(|p| (n * p / 1000) as u64));
        LatencyUs {
            n: self.len(),
            mean: Some(self.mean_ns() / 1e3),
            sd: Some(self.deviation_ns() / 1e3),
            min: Some(ns_to_us(self.least_ns)),
            p50: Some(ns_to_us(found[0])),
            p90: Some(ns_to_us(found[1])),
            p99: Some(ns_to_us(found[2])),
            p99_9: Some(ns_to_us(found[3])),
            max: Some(ns_to_us(self.most_ns)),
            sum: self.sum_ns as f64 / 1e3,
        }
    }

    /// The quantiles that divide the calls into `parts` equal parts, with the minimum before them and the maximum after
    /// them.
    pub fn quantiles_us(&self, parts: u64) -> Vec<f64> {
        let n = self.len();
        if n == 0 {
            return Vec::new();
        }
        let at = |part: u64| (u128::from(n - 1) * u128::from(part) / u128::from(parts)) as u64;
        let positions: Vec<u64> = (0..=parts).map(at).collect();
        self.elements_ns(&positions).into_iter().map(ns_to_us).collect()
    }
}

/// Single latencies, which become a [`Tally`] when they are too many.
#[derive(Clone, Debug)]
pub struct Latencies {
    each_ns: Vec<u64>,
    kept_max: usize,
    tally: Option<Box<Tally>>,
}

impl Latencies {
    /// Keeps single latencies as long as there are no more than `kept_max`.
    pub fn keeping(kept_max: usize) -> Latencies {
        Latencies { each_ns: Vec::new(), kept_max, tally: None }
    }

    pub fn add(&mut self, latency_ns: u64) {
        match &mut self.tally {
            Some(tally) => tally.add(latency_ns),
            None if self.each_ns.len() < self.kept_max => self.each_ns.push(latency_ns),
            None => {
                let mut tally = Tally::of(&std::mem::take(&mut self.each_ns));
                tally.add(latency_ns);
                self.tally = Some(Box::new(tally));
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.each_ns.is_empty() && self.tally.is_none()
    }

    /// All latencies in the order in which they were added. `None`: they are only counted.
    pub fn each_ns(&self) -> Option<&[u64]> {
        self.tally.is_none().then_some(&self.each_ns)
    }

    pub fn tally(&self) -> Tally {
        match &self.tally {
            Some(tally) => (**tally).clone(),
            None => Tally::of(&self.each_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ffslab_workload::prng::SplitMix64;

    /// Latencies as they are: most near a microsecond, some up to seconds.
    fn latencies() -> Vec<u64> {
        let mut prng = SplitMix64::new(7);
        (0..200_000).map(|_| 900 + prng.below(200) + (prng.below(1 << 40) >> prng.below(40))).collect()
    }

    #[test]
    fn a_tally_says_what_single_values_say() {
        let all = latencies();
        let (exact, tally) = (LatencyUs::of(&all), Tally::of(&all).latency_us());
        assert_eq!((exact.n, exact.min, exact.max, exact.sum), (tally.n, tally.min, tally.max, tally.sum));
        let near = |a: Option<f64>, b: Option<f64>, error: f64| (a.unwrap() / b.unwrap() - 1.0).abs() <= error;
        assert!(near(tally.mean, exact.mean, 1e-12) && near(tally.sd, exact.sd, 1e-9), "{exact:?} {tally:?}");
        for (found, wanted) in
            [(tally.p50, exact.p50), (tally.p90, exact.p90), (tally.p99, exact.p99), (tally.p99_9, exact.p99_9)]
        {
            assert!(near(found, wanted, RELATIVE_ERROR), "{found:?} {wanted:?}");
        }
    }

    #[test]
    fn every_percentile_is_within_the_stated_error() {
        let mut all = latencies();
        let tally = Tally::of(&all);
        all.sort_unstable();
        let positions: Vec<u64> = (0..10_000).map(|part| part * all.len() as u64 / 10_000).collect();
        for (found, position) in tally.elements_ns(&positions).into_iter().zip(positions) {
            let wanted = all[position as usize];
            assert!(found.abs_diff(wanted) as f64 <= RELATIVE_ERROR * wanted as f64, "{found} {wanted}");
        }
    }

    #[test]
    fn tallies_add_up() {
        let all = latencies();
        let (a, b) = all.split_at(70_000);
        let mut sum = Tally::of(a);
        sum.merge(&Tally::of(b));
        assert_eq!(sum.latency_us(), Tally::of(&all).latency_us());
        // By a few at a time, which is how a life counts.
        let mut sum = Tally::default();
        all.chunks(7).for_each(|few| sum.merge(&Tally::of(few)));
        assert_eq!(sum.latency_us(), Tally::of(&all).latency_us());
    }

    #[test]
    fn single_values_become_a_tally_when_they_are_too_many() {
        let mut few = Latencies::keeping(3);
        [5, 1, 3].into_iter().for_each(|ns| few.add(ns));
        assert_eq!(few.each_ns(), Some(&[5, 1, 3][..]));
        few.add(2);
        assert_eq!((few.each_ns(), few.tally().latency_us()), (None, LatencyUs::of(&[5, 1, 3, 2])));
    }
}
