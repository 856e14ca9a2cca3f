//! What the runs of a variant have in common, when an experiment repeats each of them.

use crate::experiment::repetition::RUN;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A variant over all its runs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Repeated {
    /// The name without the number of the run.
    pub name: String,
    /// Axes without that of the runs.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, toml::Value>,
    /// Runs that came to their end.
    pub runs: u64,
    /// Runs that did not.
    #[serde(rename = "failed")]
    pub failed_runs: u64,
    /// The run whose time is the median, as a name in `variants`. Of an even number of runs it is the faster one of the two in
    /// the middle.
    pub typical: String,
    /// The run with the slowest call of all.
    pub worst: String,
    /// By the names of the columns of variants.parquet. A figure that a run does not have is absent.
    pub figures: BTreeMap<&'static str, Spread>,
}

/// How a figure differs between runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    pub median: f64,
    /// The interval that holds the median of all possible runs with 95 % confidence, whatever their distribution is: two of the
    /// ordered values, by the binomial distribution (Conover, Practical Nonparametric Statistics, 1999, section 3.2). Null:
    /// it takes six runs.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub least: f64,
    pub most: f64,
}

/// What is compared: names of columns of variants.parquet.
const FIGURES: &[&str] = &[
    "time_us",
    "latency_mean_us",
    "latency_p99_us",
    "latency_p99_9_us",
    "latency_max_us",
    "page_reads",
    "page_programs",
    "erases",
    "write_amplification",
    "energy_total_uJ",
];
/// Places of two of them.
const TIME: usize = 0;
const SLOWEST: usize = 4;

type Axes = BTreeMap<String, toml::Value>;

/// A run that came to its end.
#[derive(Clone, Debug)]
pub struct Ran {
    name: String,
    axes: Axes,
    /// In the order of [`FIGURES`].
    figures: Vec<Option<f64>>,
}

impl Ran {
    /// `figure`: by the name of its column what the run has.
    pub fn of(name: String, axes: Axes, figure: impl Fn(&str) -> Option<f64>) -> Ran {
        Ran::with(name, axes, figures_of(figure))
    }

    /// `figures`: those of [`figures_of`].
    pub(crate) fn with(name: String, axes: Axes, figures: Vec<Option<f64>>) -> Ran {
        Ran { name, axes, figures }
    }
}

/// What runs are compared by, of a run.
pub(crate) fn figures_of(figure: impl Fn(&str) -> Option<f64>) -> Vec<Option<f64>> {
    FIGURES.iter().map(|name| figure(name)).collect()
}

/// What runs have in common, by variants in their order. `failed`: axes of runs that came to no end, which may be of several
/// results; a variant that has no other is told there alone.
pub fn repeated(runs: &[Ran], failed: &[Axes]) -> Vec<Repeated> {
    runs.chunk_by(|one, next| without_run(&one.axes) == without_run(&next.axes))
        .map(|runs| {
            let axes = without_run(&runs[0].axes);
            let figures = FIGURES.iter().enumerate().filter_map(|(place, &name)| {
                let values: Option<Vec<f64>> = runs.iter().map(|run| run.figures[place]).collect();
                Some((name, Spread::of(values?)))
            });
            let time = |run: &Ran| run.figures[TIME].unwrap_or_default();
            let mut by_time: Vec<&Ran> = runs.iter().collect();
            by_time.sort_by(|one, other| time(one).total_cmp(&time(other)));
            let slowest = |run: &Ran| run.figures[SLOWEST].unwrap_or_default();
            // Of equals the first run is the worst, so that the choice does not depend on how a search goes.
            let worst = runs.iter().rev().max_by(|one, other| slowest(one).total_cmp(&slowest(other)));
            let failed = failed.iter().filter(|variant| without_run(variant) == axes).count();
            Repeated {
                name: name_without_run(&runs[0].name),
                runs: runs.len() as u64,
                failed_runs: failed as u64,
                typical: by_time[(runs.len() - 1) / 2].name.clone(),
                worst: worst.map_or_else(String::new, |run| run.name.clone()),
                figures: figures.collect(),
                axes,
            }
        })
        .collect()
}

fn without_run(axes: &Axes) -> Axes {
    axes.iter().filter(|(name, _)| *name != RUN).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// "fs=ubifs" of "fs=ubifs, run=3"; "base" of "run=3".
fn name_without_run(name: &str) -> String {
    name.rsplit_once(", ").map_or("base", |(variant, _)| variant).to_string()
}

impl Spread {
    /// `values` are those of at least one run.
    pub fn of(mut values: Vec<f64>) -> Spread {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        let interval = median_interval(n).map(|below| (values[below], values[n - 1 - below]));
        Spread {
            median: (values[(n - 1) / 2] + values[n / 2]) / 2.0,
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            least: values[0],
            most: values[n - 1],
        }
    }
}

/// How many of `n` ordered values lie below the interval of the median, and as many above it: the most for which the chance
/// that so few of them are below the true median, which has a binomial distribution, is at most 2.5 %. `None`: even all
/// values do not reach 95 %.
fn median_interval(n: usize) -> Option<usize> {
    // The logarithm, because the chances of a thousand runs are less than the least number.
    let (mut log_chance, mut sum, mut below) = (n as f64 * 0.5f64.ln(), 0.0, None);
    for k in 0..n {
        sum += log_chance.exp();
        if sum > 0.025 {
            break;
        }
        below = Some(k);
        log_chance += ((n - k) as f64 / (k + 1) as f64).ln();
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_of_the_median_are_those_of_published_tables() {
        // Conover's table A3 and any table of the sign test at 5 %: n, order statistic from 1.
        for (n, order) in
            [(6, 1), (8, 1), (9, 2), (10, 2), (15, 4), (20, 6), (25, 8), (30, 10), (50, 18), (100, 40), (10_000, 4_902)]
        {
            assert_eq!(median_interval(n), Some(order - 1), "{n}");
        }
        assert_eq!(median_interval(5), None);
        assert_eq!(median_interval(0), None);
    }

    #[test]
    fn a_spread_has_its_median_between_the_two_in_the_middle() {
        let spread = Spread::of(vec![4.0, 1.0, 3.0, 2.0]);
        assert_eq!(spread, Spread { median: 2.5, low: None, high: None, least: 1.0, most: 4.0 });
        let spread = Spread::of((1..=9).map(f64::from).collect());
        assert_eq!((spread.median, spread.low, spread.high), (5.0, Some(2.0), Some(8.0)));
    }
}
