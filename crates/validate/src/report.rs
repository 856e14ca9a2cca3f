//! What is asked, and what is answered.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Which cases to run, and on how many threads.
#[derive(Clone, Debug, Default)]
pub struct ValidateOptions {
    /// Runs only the cases whose id matches this pattern; see the module `glob`.
    pub only: Option<String>,
    /// Number of threads; 0: one per core.
    pub jobs: usize,
    /// At how many phases of its tick counter a case is simulated, and of its wall clock if it does not tell where that stood; 0 and 1:
    /// at one.
    pub phases: usize,
}

/// An expected and a simulated value under one name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pair {
    #[serde(serialize_with = "whole_if_whole")]
    pub expected: f64,
    #[serde(serialize_with = "whole_if_whole")]
    pub simulated: f64,
}

/// Writes 5.0 as 5, so that counters look like counters.
fn whole_if_whole<S: serde::Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

/// Error in percent of the expected value. If 0 is expected, the error is 0 or 100.
pub fn error_percent(pair: Pair) -> f64 {
    if pair.expected == pair.simulated {
        0.0
    } else if pair.expected == 0.0 {
        100.0
    } else {
        (pair.simulated - pair.expected).abs() / pair.expected.abs() * 100.0
    }
}

pub(crate) type Pairs = BTreeMap<String, Pair>;

#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CaseReport {
    pub id: String,
    pub family: String,
    pub fs: String,
    /// Main counters in the main phase of the case.
    pub counters: Pairs,
    pub latency_us: Pairs,
    pub latency_unlink_us: Pairs,
    /// Main counters by the task that issued the operations, where they differ. They help to find the cause of a
    /// difference.
    pub by_task: BTreeMap<String, Pairs>,
    /// Mean and standard deviation of the erases per block in the main phase.
    pub erases_per_block: Pairs,
    /// The counters over several phases of the clocks, if several were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranges: Option<PhaseRanges>,
    /// What the machine counted over several boots, where the case was measured in more than one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boots: Option<BootRanges>,
    /// Values that are not counters of the main phase: bytes, files, virtual time.
    pub facts: Pairs,
    /// Main counters and virtual time after each recorded step, where they differ. They help to find the cause of a
    /// difference.
    pub after_step: Vec<Value>,
    /// Why the case does not count in the summary, though it was run.
    pub not_counted: Option<String>,
    /// Why nothing could be compared.
    pub error: Option<String>,
}

/// The least and the largest value of a counter, and whether the other side's is among them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterRange {
    pub min: u64,
    pub max: u64,
    /// Whether the value of the other side (the measured one of a range of simulations, the simulated one of a range of boots) is
    /// one of these or lies between them.
    pub inside: bool,
}

impl CounterRange {
    pub(crate) fn of(values: impl IntoIterator<Item = f64>, other: f64) -> Self {
        let all = values.into_iter().fold((f64::INFINITY, 0.0_f64), |(min, max), one| (min.min(one), max.max(one)));
        CounterRange { min: all.0 as u64, max: all.1 as u64, inside: (all.0..=all.1).contains(&other) }
    }
}

/// What the same machine counted in the same steps when it was booted several times. Where nothing but the boot differs, a
/// kernel does not agree with itself, and no simulation can agree with all of them: JFFS2's thread, for one, gets the CPU
/// at a tick or at the next one, as workers of the kernel that have nothing to do with flash come before it or behind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BootRanges {
    /// Number of boots.
    pub boots: u64,
    /// Main counters in the main phase of the case, as measured.
    pub counters: BTreeMap<String, CounterRange>,
}

/// The counters of a case over simulations that begin at different phases. The first is that of the case's own row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct PhaseRanges {
    /// Number of phases that were simulated.
    pub phases: u64,
    /// Main counters in the main phase of the case.
    pub counters: BTreeMap<String, CounterRange>,
}
