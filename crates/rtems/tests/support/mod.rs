//! Measured runs and how ours compare with them.
#![allow(dead_code)]

use ffslab_rtems::phases::flash::{self, FlashSettings};
use ffslab_rtems::phases::{run, Phase, RunError, Settings};
use flate2::read::GzDecoder;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

fn folder() -> PathBuf {
    let shared = std::env::var_os("FFSLAB_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    shared.join("oracle/rtems")
}

/// The content of a measured file, if it is there.
pub fn measured(name: &str) -> Option<Value> {
    let path = folder().join(format!("{name}.json.gz"));
    let Ok(file) = std::fs::File::open(&path) else {
        println!("skipped: {} is not there", path.display());
        return None;
    };
    Some(serde_json::from_reader(GzDecoder::new(file)).unwrap())
}

/// A run that was measured.
pub struct Measured {
    pub settings: Settings,
    pub phases: Vec<(String, BTreeMap<String, i64>)>,
}

pub fn counters(phase: &Map<String, Value>) -> (String, BTreeMap<String, i64>) {
    let name = phase["phase"].as_str().unwrap().to_string();
    let counts = phase.iter().filter_map(|(key, value)| Some((key.clone(), value.as_i64()?)));
    (name, counts.filter(|(_, value)| *value != 0).collect())
}

pub fn measured_runs(file: &str) -> Option<Vec<Measured>> {
    let runs = measured(file)?;
    let read = |run: &Value| Measured {
        settings: serde_json::from_value(run.clone()).unwrap(),
        phases: run["phases"].as_array().unwrap().iter().map(|p| counters(p.as_object().unwrap())).collect(),
    };
    Some(runs.as_array().unwrap().iter().map(read).collect())
}

#[derive(Clone, Debug)]
pub struct Difference {
    pub settings: String,
    pub phase: String,
    /// Name, measured, simulated.
    pub counters: Vec<(String, i64, i64)>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}:", self.settings, self.phase)?;
        self.counters.iter().try_for_each(|(name, m, s)| write!(f, " {name} measured {m} simulated {s}"))
    }
}

#[derive(Default)]
pub struct Comparison {
    pub phases: usize,
    pub exact: usize,
    pub differences: Vec<Difference>,
}

pub fn ours(phase: &Phase) -> BTreeMap<String, i64> {
    phase.counters().filter(|(_, value)| *value != 0).map(|(name, value)| (name.to_string(), value)).collect()
}

/// Runs the case and compares phase by phase.
pub fn compare(measured: &Measured) -> Comparison {
    let s = &measured.settings;
    let settings = format!(
        "{} bs {} spc {} cache {} max {} io {} priority {} ra {} cont {}",
        s.fs,
        s.fs_block_bytes,
        s.cluster_blocks,
        s.cache_bytes,
        s.buffer_max_bytes,
        s.io_bytes,
        s.application_priority.0,
        s.read_ahead_blocks,
        s.consecutive_blocks
    );
    against(settings, run(s, false), &measured.phases)
}

/// As [`compare`], for a run of JFFS2.
pub fn compare_flash(settings: &FlashSettings, measured: &[(String, BTreeMap<String, i64>)]) -> Comparison {
    let s = settings;
    let name = format!("jffs2 block {} {} {} io {}", s.erase_block_bytes, s.compressor, s.data, s.io_bytes);
    against(name, flash::run(s), measured)
}

/// A run of JFFS2 that was measured.
pub struct MeasuredFlash {
    pub settings: FlashSettings,
    pub phases: Vec<(String, BTreeMap<String, i64>)>,
}

pub fn measured_flash_runs(file: &str) -> Option<Vec<MeasuredFlash>> {
    let runs = measured(file)?;
    let read = |run: &Value| MeasuredFlash {
        settings: serde_json::from_value(run.clone()).unwrap(),
        phases: run["phases"].as_array().unwrap().iter().map(|p| counters(p.as_object().unwrap())).collect(),
    };
    Some(runs.as_array().unwrap().iter().map(read).collect())
}

fn against(
    settings: String,
    simulated: Result<Vec<Phase>, RunError>,
    measured: &[(String, BTreeMap<String, i64>)],
) -> Comparison {
    let mut comparison = Comparison { phases: measured.len(), ..Comparison::default() };
    let simulated = match simulated {
        Ok(phases) => phases,
        Err(error) => {
            let difference = Difference { settings, phase: error.to_string(), counters: Vec::new() };
            comparison.differences.push(difference);
            return comparison;
        }
    };
    for (i, (name, expected)) in measured.iter().enumerate() {
        let (got_name, got) = simulated.get(i).map_or_else(Default::default, |p| (p.name.clone(), ours(p)));
        if got_name == *name && got == *expected {
            comparison.exact += 1;
            continue;
        }
        let mut counters = Vec::new();
        let names: std::collections::BTreeSet<_> = expected.keys().chain(got.keys()).collect();
        for key in names {
            let (m, s) = (expected.get(key).copied().unwrap_or(0), got.get(key).copied().unwrap_or(0));
            if m != s {
                counters.push((key.clone(), m, s));
            }
        }
        let phase = if got_name == *name { name.clone() } else { format!("{name} (ours: {got_name})") };
        comparison.differences.push(Difference { settings: settings.clone(), phase, counters });
    }
    comparison
}
