//! Estimates what an experiment takes before it runs: calls, memory and time. The estimate is rough. It is there so
//! that a typing error (a count of 2^63) shows before the run and not during it.

use crate::replay::grouped;
use crate::traces::Traces;
use ffslab_workload::steps::{Age, CreateFragmented, CreateMany, Fill, Occupy, Saturate};
use ffslab_workload::Step;
use std::collections::BTreeMap;

/// An experiment that makes more calls than this is refused, unless its key `calls_max` or the caller says otherwise.
pub const CALLS_MAX: u64 = 1_000_000_000;
/// From this number of calls on the estimate is shown to the user before the run.
const TOLD_FROM_CALLS: u64 = 10_000_000;
/// Time of the host that one simulated call takes. Measured: 4 KiB reads and writes on UBIFS, JFFS2 and YAFFS2 take 1
/// to 12 us of a 2.5 GHz core each.
const CALL_US: f64 = 5.0;
/// Memory of the host that one row of the request log takes, counting the log, the table and the plots.
const ROW_BYTES: u64 = 220;
/// Memory of the host for Python, its libraries and the program, before anything is simulated.
const BASE_BYTES: u64 = 200 << 20;
/// The least space of a partition that a small file takes, for a node or a header and the name.
const FILE_BYTES_LEAST: u64 = 512;
/// Mean size of the pieces that `create_fragmented` writes, which have 512, 1024, 2048 and 4096 B.
const PIECE_BYTES: u64 = 1_920;

/// Estimates how many calls `steps` make one after the other, as far as the keys of the steps and the sizes of the
/// files tell. No file is taken to be larger than `partition_bytes`.
pub fn calls<'a>(steps: impl Iterator<Item = &'a Step>, traces: &Traces, partition_bytes: u64) -> u64 {
    let mut sizes: BTreeMap<&str, u64> = BTreeMap::new();
    let share = |percent: f64| (partition_bytes as f64 * percent / 100.0) as u64;
    let mut sum = 0u64;
    for step in steps {
        let calls = match step {
            Step::Repeat(repeat) => {
                let round = calls(repeat.steps.iter(), traces, partition_bytes);
                round.saturating_mul(repeat.times.unwrap_or(1))
            }
            Step::Fill(Fill { request_bytes, .. }) | Step::Saturate(Saturate { request_bytes, .. }) => {
                partition_bytes / request_bytes.0.max(1)
            }
            Step::Occupy(Occupy { percent, request_bytes, .. }) => share(*percent) / request_bytes.0.max(1),
            Step::CreateFragmented(CreateFragmented { bytes, .. }) => bytes.0 / PIECE_BYTES,
            Step::CreateMany(CreateMany { count: None, bytes, .. }) => partition_bytes / bytes.0.max(FILE_BYTES_LEAST),
            Step::Age(Age { file, overwrites, request_bytes, .. }) => {
                let file_bytes = sizes.get(file.as_str()).map_or(partition_bytes, |bytes| *bytes.min(&partition_bytes));
                (file_bytes as f64 * overwrites / request_bytes.0.max(1) as f64).ceil() as u64
            }
            other => traces.calls(other),
        };
        match step {
            Step::Create(create) => drop(sizes.insert(&create.file, create.bytes.0)),
            Step::CreateFragmented(create) => drop(sizes.insert(&create.file, create.bytes.0)),
            Step::Truncate(truncate) => drop(sizes.insert(&truncate.file, truncate.bytes.0)),
            Step::Occupy(occupy) => drop(sizes.insert(&occupy.file, share(occupy.percent))),
            _ => {}
        }
        sum = sum.saturating_add(calls.max(1));
    }
    sum
}

/// What a run is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub variants_n: usize,
    pub calls: u64,
    /// Upper bound, not counting the recordings and images that the experiment reads.
    pub memory_bytes: u64,
    pub time_s: f64,
}

impl Estimate {
    /// Estimates a run. `variants` holds for each variant the number of its calls and the size of its partition in
    /// bytes. Each variant keeps at most `rows_max` requests, and `threads_n` variants run at once.
    pub fn of(variants: &[(u64, u64)], rows_max: usize, threads_n: usize) -> Estimate {
        let variants_n = variants.len();
        let threads = threads_n.clamp(1, variants_n.max(1));
        let calls = variants.iter().fold(0u64, |sum, (calls, _)| sum.saturating_add(*calls));
        let rows = variants.iter().map(|(calls, _)| (*calls).min(rows_max as u64)).sum::<u64>();
        let largest = variants.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let chips = largest.saturating_mul(threads as u64);
        let memory_bytes = BASE_BYTES.saturating_add(rows.saturating_mul(ROW_BYTES)).saturating_add(chips);
        Estimate { variants_n, calls, memory_bytes, time_s: calls as f64 * CALL_US / 1e6 / threads as f64 }
    }

    /// Whether the experiment is large enough that the estimate is shown before the run.
    pub fn is_large(&self) -> bool {
        self.calls >= TOLD_FROM_CALLS
    }

    /// "about 20,000,000 calls in 2 variants: roughly 50 s and at most 1.1 GiB of memory".
    pub fn text(&self) -> String {
        let calls =
            if self.calls == u64::MAX { format!("more than {}", grouped(u64::MAX)) } else { grouped(self.calls) };
        let variants = if self.variants_n > 1 {
            format!(" in {} variants", grouped(self.variants_n as u64))
        } else {
            String::new()
        };
        let memory = self.memory_bytes as f64 / (1u64 << 30) as f64;
        format!(
            "about {calls} calls{variants}: roughly {} and at most {memory:.1} GiB of memory",
            duration(self.time_s)
        )
    }

    /// Checks that the experiment makes no more than `calls_max` calls.
    ///
    /// Errors: it makes more; the line says how many and what they would take.
    pub fn check(&self, calls_max: u64) -> Result<(), String> {
        if self.calls <= calls_max {
            return Ok(());
        }
        let limit = grouped(calls_max);
        Err(format!("{}; the limit is {limit} calls: if all this is meant, write calls_max = {} at the top of the experiment, or run it with --yes", self.text(), self.calls.min(i64::MAX as u64)))
    }
}

fn duration(seconds: f64) -> String {
    let units = [("years", 365.25 * 86_400.0), ("days", 86_400.0), ("hours", 3_600.0), ("minutes", 60.0)];
    match units.into_iter().find(|(_, of)| seconds >= 2.0 * of) {
        Some((name, of)) => format!("{} {name}", grouped((seconds / of).round() as u64)),
        None => format!("{} s", grouped(seconds.ceil() as u64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(json: &[&str]) -> Vec<Step> {
        json.iter().map(|json| serde_json::from_str(json).unwrap()).collect()
    }

    #[test]
    fn every_step_that_makes_calls_is_counted() {
        let of = |json: &[&str]| calls(steps(json).iter(), &Traces::default(), 1 << 20);
        let read =
            r#"{"step": "requests", "file": "f", "op": "read", "pattern": "random", "request_B": 1, "count": 9}"#;
        assert_eq!(of(&[read]), 9);
        assert_eq!(of(&[r#"{"step": "fill", "file": "f", "request_B": "4 KiB"}"#]), 256);
        assert_eq!(of(&[r#"{"step": "create_many", "dir": "", "bytes": 1024, "until": "ENOSPC"}"#]), 1024);
        let age = r#"{"step": "age", "file": "f", "overwrites": 1000000.0, "request_B": 1}"#;
        assert_eq!(of(&[age]), (1 << 20) * 1_000_000);
        let create = r#"{"step": "create", "file": "f", "bytes": 100, "request_B": 10}"#;
        assert_eq!(of(&[create, age]), 10 + 100_000_000);
        assert_eq!(of(&[r#"{"step": "occupy", "file": "f", "percent": 50.0, "request_B": 1024}"#]), 512);
        let endless = read.replace(": 9", &format!(": {}", 1u64 << 63));
        assert_eq!(of(&[&endless, &endless, &endless]), u64::MAX);
    }

    #[test]
    fn an_estimate_is_in_words_and_has_a_limit() {
        let few = Estimate::of(&[(1_000, 1 << 20)], 100, 4);
        assert!(!few.is_large() && few.check(CALLS_MAX).is_ok());
        let many = Estimate::of(&[(1 << 40, 64 << 20), (1 << 40, 64 << 20)], 2_000_000, 2);
        assert!(many.is_large());
        let said = many.check(CALLS_MAX).unwrap_err();
        assert!(said.starts_with("about 2,199,023,255,552 calls in 2 variants: roughly 64 days and at most 1.1 GiB of memory; the limit is 1,000,000,000 calls"), "{said}");
        assert!(many.check(1 << 41).is_ok());
    }
}
