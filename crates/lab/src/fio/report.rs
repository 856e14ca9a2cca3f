//! What the jobs did, in the shape of fio's own JSON, with its names and units.

use super::running::{Kind, Running};
use crate::tally::{Latencies, Tally};
use ffslab_fs::Errno;
use ffslab_workload::fio::{random, Job};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// All jobs of a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FioReport {
    pub jobs: Vec<JobReport>,
    /// Names the random number generators that drew the requests.
    pub generator: &'static str,
    /// Options that were left out when a file was read leniently, and other notes for the reader.
    pub warnings: Vec<String>,
    /// File name and content of each I/O log.
    #[serde(skip)]
    pub logs: Vec<(String, String)>,
}

/// One process, or all processes of a group (`group_reporting`).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JobReport {
    #[serde(rename = "jobname")]
    pub name: String,
    #[serde(rename = "groupid")]
    pub group_index: u32,
    /// Number of the error that ended the job; 0 means none.
    #[serde(rename = "error")]
    pub error_number: u32,
    /// Unix name of that error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_name: Option<&'static str>,
    /// Whole seconds, rounded up.
    #[serde(rename = "elapsed")]
    pub elapsed_s: u64,
    #[serde(rename = "job options")]
    pub options: BTreeMap<String, String>,
    pub read: DirectionReport,
    pub write: DirectionReport,
    pub sync: SyncReport,
    /// Sum over all processes.
    #[serde(rename = "job_runtime")]
    pub runtime_ms: u64,
    /// Time from the start of the first job to the start of this one.
    pub start_ns: u64,
}

/// Reads or writes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DirectionReport {
    pub io_bytes: u64,
    #[serde(rename = "io_kbytes")]
    pub io_kib: u64,
    #[serde(rename = "bw_bytes")]
    pub bandwidth_bytes_per_s: u64,
    #[serde(rename = "bw")]
    pub bandwidth_kib_per_s: u64,
    #[serde(rename = "iops")]
    pub requests_per_s: f64,
    /// Time of the process that took longest.
    #[serde(rename = "runtime")]
    pub runtime_ms: u64,
    #[serde(rename = "total_ios")]
    pub requests: u64,
    #[serde(rename = "slat_ns")]
    pub submission_ns: Latency,
    #[serde(rename = "clat_ns")]
    pub completion_ns: Latency,
    #[serde(rename = "lat_ns")]
    pub latency_ns: Latency,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SyncReport {
    #[serde(rename = "total_ios")]
    pub requests: u64,
    #[serde(rename = "lat_ns")]
    pub latency_ns: Latency,
}

/// Nanoseconds. Percentiles are the smallest value that so many percent of the values do not exceed; of very many requests
/// within [`crate::tally::RELATIVE_ERROR`] of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    #[serde(rename = "min")]
    pub min_ns: u64,
    #[serde(rename = "max")]
    pub max_ns: u64,
    #[serde(rename = "mean")]
    pub mean_ns: f64,
    #[serde(rename = "stddev")]
    pub deviation_ns: f64,
    #[serde(rename = "N")]
    pub requests: u64,
    /// Each percentage, in fio's notation, with the latency in nanoseconds.
    #[serde(rename = "percentile", skip_serializing_if = "Vec::is_empty", serialize_with = "as_object")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub percentiles_ns: Vec<(String, u64)>,
}

/// Serializes pairs as an object whose keys keep their order.
fn as_object<S: Serializer>(pairs: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// The default of fio's `percentile_list`.
const PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

impl Latency {
    /// Latencies of several processes together. When there are too many requests to keep each of them, the percentiles
    /// come from a [`Tally`].
    fn of_all(parts: &[&Latencies], with_percentiles: bool) -> Latency {
        match parts.iter().map(|part| part.each_ns()).collect::<Option<Vec<_>>>() {
            Some(each) => Latency::of(&each.concat(), with_percentiles),
            None => {
                let mut tally = Tally::default();
                parts.iter().for_each(|part| tally.merge(&part.tally()));
                Latency::of_tally(&tally, with_percentiles)
            }
        }
    }

    fn of_tally(tally: &Tally, with_percentiles: bool) -> Latency {
        let n = tally.len() as f64;
        let position = |percent: f64| ((percent / 100.0 * n).ceil() as u64).clamp(1, tally.len()) - 1;
        let found = tally.elements_ns(&PERCENTILES.map(position));
        let named = |(percent, ns): (&f64, u64)| (format!("{percent:.6}"), ns);
        Latency {
            min_ns: tally.least_ns(),
            max_ns: tally.most_ns(),
            mean_ns: tally.mean_ns(),
            deviation_ns: tally.deviation_ns() * (n / (n - 1.0)).sqrt(),
            requests: tally.len(),
            percentiles_ns: if with_percentiles {
                PERCENTILES.iter().zip(found).map(named).collect()
            } else {
                Vec::new()
            },
        }
    }

    fn of(values: &[u64], with_percentiles: bool) -> Latency {
        let n = values.len();
        if n == 0 {
            return Latency::default();
        }
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (mean_ns, population_ns) = crate::stats::mean_sd(sorted.iter().map(|&ns| ns as f64));
        let deviation_ns = if n > 1 { population_ns * (n as f64 / (n - 1) as f64).sqrt() } else { 0.0 };
        let at = |percent: f64| sorted[((percent / 100.0 * n as f64).ceil() as usize).clamp(1, n) - 1];
        let percentiles_ns = if with_percentiles {
            PERCENTILES.iter().map(|&percent| (format!("{percent:.6}"), at(percent))).collect()
        } else {
            Vec::new()
        };
        Latency { min_ns: sorted[0], max_ns: sorted[n - 1], mean_ns, deviation_ns, requests: n as u64, percentiles_ns }
    }
}

pub(super) fn report(jobs: &[Job], warnings: Vec<String>, running: Vec<Running>, genesis_ns: u64) -> FioReport {
    let mut warnings = warnings;
    for job in jobs.iter().filter(|job| job.access.random && job.read_log.is_none()) {
        if job.seed.is_some() && job.repeat {
            warnings.push(format!(
                "job [{}]: as in fio 3.33, randseed does not change random offsets unless randrepeat=0",
                job.section
            ));
        }
    }
    let mut members: Vec<Vec<&Running>> = Vec::new();
    for process in &running {
        let grouped = jobs[process.job_index].group_reporting;
        match members.last_mut() {
            Some(last) if grouped && last[0].group == process.group && jobs[last[0].job_index].group_reporting => {
                last.push(process);
            }
            _ => members.push(vec![process]),
        }
    }
    let reports = members.iter().map(|members| job_report(jobs, members, genesis_ns)).collect();
    let logs = running.iter().filter_map(|process| process.log.as_ref());
    let logs = logs.map(|log| (log.name.clone(), log.text.clone())).collect();
    FioReport { jobs: reports, generator: random::GENERATOR, warnings, logs }
}

fn job_report(jobs: &[Job], members: &[&Running], genesis_ns: u64) -> JobReport {
    let job = &jobs[members[0].job_index];
    let runtime_ns = |process: &&Running| process.measured.ended_ns - process.start_ns;
    let longest_ns = members.iter().map(runtime_ns).max().unwrap_or(0);
    let values = |kind: Kind| -> Vec<&Latencies> {
        members.iter().map(|process| &process.measured.latencies[kind as usize]).collect()
    };
    let direction = |kind: Kind| {
        let latencies = values(kind);
        let io_bytes: u64 = members.iter().map(|process| process.measured.bytes[kind as usize]).sum();
        let completion_ns = Latency::of_all(&latencies, true);
        let requests = completion_ns.requests;
        if requests == 0 {
            return DirectionReport::default();
        }
        // The bandwidth is computed with the longest of the processes that moved data in this direction.
        let moved = members.iter().filter(|process| !process.measured.latencies[kind as usize].is_empty());
        let longest_ns = moved.map(runtime_ns).max().unwrap_or(0);
        let per_s = |amount: f64| if longest_ns == 0 { 0.0 } else { amount * 1e9 / longest_ns as f64 };
        let bandwidth_bytes_per_s = per_s(io_bytes as f64) as u64;
        DirectionReport {
            io_bytes,
            io_kib: io_bytes >> 10,
            bandwidth_bytes_per_s,
            bandwidth_kib_per_s: bandwidth_bytes_per_s >> 10,
            requests_per_s: per_s(requests as f64),
            runtime_ms: longest_ns / 1_000_000,
            requests,
            submission_ns: Latency::default(),
            latency_ns: Latency { percentiles_ns: Vec::new(), ..completion_ns.clone() },
            completion_ns,
        }
    };
    let sync_ns = Latency::of_all(&values(Kind::Sync), true);
    let error = members.iter().find_map(|process| process.measured.error);
    JobReport {
        name: job.report_name().to_string(),
        group_index: members[0].group,
        error_number: error.map_or(0, Errno::number),
        error_name: error.map(Errno::name),
        elapsed_s: longest_ns.div_ceil(1_000_000_000),
        options: job.options.iter().cloned().collect(),
        read: direction(Kind::Read),
        write: direction(Kind::Write),
        sync: SyncReport { requests: sync_ns.requests, latency_ns: sync_ns },
        runtime_ms: members.iter().map(runtime_ns).sum::<u64>() / 1_000_000,
        start_ns: members[0].start_ns.saturating_sub(genesis_ns),
    }
}
