//! Statistics as the measured cases define them.

use ffslab_sim::units::ns_to_us;
use schemars::JsonSchema;
use serde::Serialize;

/// Latencies in microseconds. Percentile p is element floor(n * p / 100) of the sorted list; of less than a thousand calls
/// that of 99.9 is the slowest one. Without a call only `n` and `sum` have values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LatencyUs {
    pub n: u64,
    pub mean: Option<f64>,
    pub sd: Option<f64>,
    pub min: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
    pub max: Option<f64>,
    pub sum: f64,
}

impl LatencyUs {
    pub fn of(latency_ns: &[u64]) -> LatencyUs {
        if latency_ns.is_empty() {
            return LatencyUs::default();
        }
        let mut sorted = latency_ns.to_vec();
        sorted.sort_unstable();
        let n = sorted.len();
        let sum_ns: u64 = sorted.iter().sum();
        let (mean_ns, sd_ns) = mean_sd(sorted.iter().map(|&ns| ns as f64));
        let at_permille = |p: usize| Some(ns_to_us(sorted[n * p / 1000]));
        LatencyUs {
            n: n as u64,
            mean: Some(mean_ns / 1e3),
            sd: Some(sd_ns / 1e3),
            min: Some(ns_to_us(sorted[0])),
            p50: at_permille(500),
            p90: at_permille(900),
            p99: at_permille(990),
            p99_9: at_permille(999),
            max: Some(ns_to_us(sorted[n - 1])),
            sum: ns_to_us(sum_ns),
        }
    }
}

/// Mean and standard deviation of the whole population; both are 0 if there are no values.
pub fn mean_sd(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    if n == 0.0 {
        return (0.0, 0.0);
    }
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|value| (value - mean) * (value - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// Element floor(n * share) of a sorted list.
pub fn element_at(sorted: &[f64], share: f64) -> f64 {
    let index = (sorted.len() as f64 * share) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_elements_of_the_sorted_list() {
        let latency_ns: Vec<u64> = (1..=200).rev().map(|us| us * 1_000).collect();
        let stats = LatencyUs::of(&latency_ns);
        assert_eq!((stats.n, stats.min, stats.max), (200, Some(1.0), Some(200.0)));
        // Element 100 (from 0) of 1, 2 ... 200.
        assert_eq!((stats.p50, stats.p90, stats.p99), (Some(101.0), Some(181.0), Some(199.0)));
        assert_eq!(stats.p99_9, Some(200.0));
        assert_eq!((stats.mean, stats.sum), (Some(100.5), 20_100.0));
        assert!((stats.sd.unwrap() - 57.734_305).abs() < 1e-5);
    }

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(LatencyUs::of(&[]), LatencyUs::default());
        assert_eq!(mean_sd(std::iter::empty()), (0.0, 0.0));
    }
}
