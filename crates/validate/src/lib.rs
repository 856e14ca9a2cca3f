//! # validate: how far simulations are from measurements
//!
//! **Role.** Reads measured cases, runs each as the experiment that it is, and puts the expected and the simulated values side by
//! side, counter by counter ([`validate`]); sums the errors up ([`summarize`]).
//!
//! **Follows.** The format of the measured cases (steps, counters, statistics), and that of measured runs of RTEMS.
//!
//! **Leaves out.** Measuring: cases come from real systems (`ffslab reference run`, `probe`). Building what a case
//! runs on (`machine`); running its steps (`lab`).

pub mod case;
mod case_yaffs2;
pub mod cases;
mod error;
mod experiments;
mod glob;
mod harness;
mod parallel;
mod phases;
mod ranges;
mod report;
mod rtems;
pub mod stacks;
mod summary;

use case::{Case, Expect};
use cases::{read_cases, read_text};
use ffslab_lab::requests::ROWS_MAX;
use ffslab_lab::result::MeanSd;
use ffslab_lab::run::{run, Outcome, Plan, RunError};
use ffslab_lab::traces::Traces;
use ffslab_lab::{Described, LabError};
use ffslab_machine::mounts::Mounts;
use ffslab_machine::stack::Stack;
use ffslab_profiles::ProgramCosts;
use ffslab_sim::units::ns_to_us;
use ffslab_sim::OpCounts;
use ffslab_system::System;
use ffslab_workload::Step;
use parallel::{in_parallel, nothing_matches};
use phases::Later;
use report::Pairs;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{json, Map, Value};
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

pub use error::CaseError;
pub use experiments::experiments;
pub use ranges::RangeSummary;
pub use report::{BootRanges, CaseReport, CounterRange, Pair, PhaseRanges, ValidateOptions};
pub use summary::{summarize, Summary, SummaryRow};

/// What is answered.
pub const SCHEMAS: &[Described] =
    &[Described::written::<ValidationReport>("validation", "comparisons with measured cases")];

/// All comparisons, in the order of the file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ValidationReport {
    pub cases: Vec<CaseReport>,
    pub summary: Summary,
}

/// The counters that are compared.
const COUNTERS: &[&str] =
    &["page_reads", "oob_reads", "page_programs", "oob_programs", "erases", "partial_page_reads", "reprograms"];

/// Runs the cases of a file that `options` select. `progress` gets the finished share (0 to 1) and returns whether to
/// continue.
///
/// Errors: the file cannot be read or understood, no case matches the pattern, or `progress` stopped the run. A case
/// that cannot be run is reported in its row.
pub fn validate(
    path: &Path,
    options: &ValidateOptions,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<ValidationReport, LabError> {
    let text = read_text(path)?;
    let reports = if rtems::are_in(&text) {
        rtems::reports(path, &text, options, progress)?
    } else {
        reports(path, &text, options, progress)?
    };
    Ok(ValidationReport { summary: summarize(&reports), cases: reports })
}

fn reports(
    path: &Path,
    text: &str,
    options: &ValidateOptions,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<CaseReport>, LabError> {
    let mut cases = read_cases(path, text)?;
    if let Some(pattern) = &options.only {
        let (all, example) = (cases.len(), cases[0].id.clone());
        cases.retain(|case| glob::matches(pattern, &case.id));
        if cases.is_empty() {
            return Err(nothing_matches(path, pattern, all, &example));
        }
    }
    let base_dir = path.parent().unwrap_or(Path::new(""));
    let begins = |case| phases::begins(case, options.phases);
    let runs: Vec<(&Case, Later)> =
        cases.iter().flat_map(|case| begins(case).map(move |later| (case, later))).collect();
    let one = |run: &(&Case, Later), go_on: &dyn Fn() -> bool| check_later(run.0, run.1, base_dir, go_on);
    let mut rows = in_parallel(&runs, |run| weight(run.0), options, progress, one)?.into_iter();
    let of_case = |case| phases::merged(rows.by_ref().take(begins(case).count()).collect());
    Ok(cases.iter().map(of_case).collect())
}

/// Estimates the work for a case, for the progress. A mount counts as a hundred calls.
fn weight(case: &Case) -> u64 {
    100 + case.steps().map(Step::calls).sum::<u64>()
}

/// Runs one case and compares. `None`: it was interrupted. Files that its steps name are relative to `base_dir`.
pub fn check(case: &Case, base_dir: &Path, go_on: &dyn Fn() -> bool) -> Option<CaseReport> {
    check_later(case, Later::default(), base_dir, go_on)
}

/// As [`check`], on a machine whose clocks are later when the case begins.
fn check_later(case: &Case, later: Later, base_dir: &Path, go_on: &dyn Fn() -> bool) -> Option<CaseReport> {
    let mut report = CaseReport {
        id: case.id.clone(),
        family: case.family.clone(),
        fs: case.system.fs.clone(),
        ..CaseReport::default()
    };
    match catch_unwind(AssertUnwindSafe(|| simulate(case, later, base_dir, go_on))) {
        Ok(Ok(outcome)) => compare(case, &outcome, &mut report),
        Ok(Err(RunError::Step(text))) => report.error = Some(text),
        Ok(Err(RunError::Interrupted)) => return None,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            report.error = Some(format!("panic: {}", text.as_deref().unwrap_or("without a text")));
        }
    }
    Some(report)
}

fn simulate(case: &Case, later: Later, base_dir: &Path, go_on: &dyn Fn() -> bool) -> Result<Outcome, RunError> {
    let mut traces = Traces::default();
    traces.read(case.steps(), base_dir, None).map_err(|error| RunError::Step(error.to_string()))?;
    let (system, pace) = machine_of(case, later)?;
    let plan = Plan {
        setup: &case.setup,
        measure: &case.measure,
        programs: &case.programs,
        main_steps: (case.expect.from_step, case.expect.at_step),
        seed: case.seed,
        traces: &traces,
        content_position_bytes: 0,
        probe_logs: false,
        observed: None,
        film: false,
        // Cases say themselves when a new partition has been made usable: their steps sleep until then, or do not.
        settles: false,
        pace: pace.as_ref(),
        rows_max: ROWS_MAX,
    };
    run(system, &plan, &mut |_| go_on())
}

/// The machine of a case with clocks that are later, and what its program computes itself.
fn machine_of(case: &Case, later: Later) -> Result<(Box<dyn System>, Option<ProgramCosts>), RunError> {
    let wrong = |error: CaseError| RunError::Step(error.to_string());
    if case.mounts.is_empty() {
        let mut stack = stacks::stack_of(case).map_err(wrong)?;
        later.shift(&mut stack);
        return Ok((Box::new(Stack::new(&stack)?), stack.program));
    }
    let mut spec = stacks::mounts_of(case).map_err(wrong)?;
    later.shift(&mut spec.root);
    spec.others.iter_mut().for_each(|other| later.shift(&mut other.spec));
    Ok((Box::new(Mounts::new(&spec)?), spec.root.program))
}

fn compare(case: &Case, outcome: &Outcome, report: &mut CaseReport) {
    let expect = &case.expect;
    let simulated = counters(outcome.main);
    for name in COUNTERS {
        pair(&mut report.counters, name, expect.values.get(*name), simulated.get(*name).and_then(Value::as_f64));
    }
    report.boots = ranges::of_boots(case, &report.counters);
    compare_tasks(case, outcome, report);
    compare_latency(case, outcome, report);
    compare_facts(case, outcome, report);
    if let Some(blocks) = expect.values.get("erases_per_block").and_then(Value::as_array) {
        let expected: Vec<u32> = blocks.iter().filter_map(Value::as_u64).map(|erases| erases as u32).collect();
        let (expected, simulated) = (MeanSd::of(&expected), MeanSd::of(&outcome.erases_main));
        let pairs = [("mean", expected.mean, simulated.mean), ("sd", expected.sd, simulated.sd)];
        for (name, expected, simulated) in pairs {
            report.erases_per_block.insert(name.to_string(), Pair { expected, simulated });
        }
    }
    report.after_step = after_steps(expect, outcome);
}

fn compare_tasks(case: &Case, outcome: &Outcome, report: &mut CaseReport) {
    let none = Value::Object(Map::new());
    let Some(Value::Object(expected)) = case.expect.values.get("by_task") else { return };
    // A task that did nothing is left out of the case.
    let recorded = |counter: &str| expected.values().any(|task| task.get(counter).is_some());
    let mut by_name: BTreeMap<&str, OpCounts> =
        expected.keys().map(|name| (name.as_str(), OpCounts::default())).collect();
    for &(task, counts) in &outcome.main_by_task {
        // The measured cases count all kernel workers as one task, and `sync_supers` with them.
        let is_worker = task.process.starts_with("kworker/") || task.process == "sync_supers";
        let name = if is_worker { "kworker" } else { task.name };
        let sum = by_name.entry(name).or_default();
        *sum = *sum + counts;
    }
    for (name, counts) in by_name {
        let expected = expected.get(name).unwrap_or(&none);
        let simulated = counters(counts);
        let mut pairs = Pairs::new();
        for name in COUNTERS {
            let value = |values: &Value| values.get(*name).and_then(Value::as_f64).unwrap_or(0.0);
            let both = Pair {
                expected: value(expected),
                simulated: simulated.get(*name).map_or(0.0, |v| v.as_f64().unwrap_or(0.0)),
            };
            if both.expected != both.simulated && recorded(name) {
                pairs.insert(name.to_string(), both);
            }
        }
        if !pairs.is_empty() {
            report.by_task.insert(name.to_string(), pairs);
        }
    }
}

fn counters(counts: OpCounts) -> Map<String, Value> {
    match serde_json::to_value(ffslab_lab::counts::Counts::from(counts)) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn pair(pairs: &mut Pairs, name: &str, expected: Option<&Value>, simulated: Option<f64>) {
    if let (Some(expected), Some(simulated)) = (expected.and_then(Value::as_f64), simulated) {
        pairs.insert(name.to_string(), Pair { expected, simulated });
    }
}

fn compare_latency(case: &Case, outcome: &Outcome, report: &mut CaseReport) {
    let of_step = |wanted: fn(&Step) -> bool| {
        let index = case.measure.iter().position(wanted)?;
        let step = &outcome.measure[index];
        let stats = outcome.requests.step_latency_us(index, step.rows.clone());
        Some((stats, ns_to_us(step.elapsed_ns)))
    };
    let timed = of_step(|step| matches!(step, Step::Requests(_) | Step::Append(_) | Step::CreateMany(_)));
    let unlinked = of_step(|step| matches!(step, Step::UnlinkMany(_)));
    let both =
        [("latency_us", timed, &mut report.latency_us), ("latency_unlink_us", unlinked, &mut report.latency_unlink_us)];
    for (key, simulated, pairs) in both {
        let (Some(Value::Object(expected)), Some((stats, elapsed_us))) = (case.expect.values.get(key), simulated)
        else {
            continue;
        };
        let Ok(Value::Object(mut simulated)) = serde_json::to_value(stats) else { continue };
        simulated.insert("elapsed".to_string(), json!(elapsed_us));
        for (name, value) in expected {
            pair(pairs, name, Some(value), simulated.get(name).and_then(Value::as_f64));
        }
    }
}

fn compare_facts(case: &Case, outcome: &Outcome, report: &mut CaseReport) {
    let expect = &case.expect;
    let setup = case.setup.iter().zip(&outcome.setup);
    let filled = setup.clone().rfind(|(step, _)| matches!(step, Step::Fill(_)));
    let files = setup.clone().rev().find_map(|(_, done)| done.facts.files);
    let pieces = setup.rev().find_map(|(_, done)| done.facts.fragment_pieces);
    let requests = case.measure.iter().zip(&outcome.measure).find(|(step, _)| matches!(step, Step::Requests(_)));
    let simulated = [
        ("setup_erases_total", outcome.setup.last().map(|done| done.counts.erases)),
        ("fill_bytes", filled.and_then(|(_, done)| done.facts.bytes_accepted)),
        ("files", files),
        ("fragment_pieces", pieces),
        ("bytes_accepted", requests.and_then(|(_, done)| done.facts.bytes_accepted)),
        ("requests_done", requests.and_then(|(_, done)| done.facts.requests_done)),
    ];
    for (name, value) in simulated {
        pair(&mut report.facts, name, expect.values.get(name), value.map(|value| value as f64));
    }
    let time_at = |index: usize| expect.values.get("after_step")?.get(index)?.get("time_us")?.as_f64();
    let from = expect.from_step.map_or(Some(0.0), time_at);
    if let (Some(from), Some(to)) = (from, time_at(expect.at_step)) {
        let main = Pair { expected: to - from, simulated: ns_to_us(outcome.main_time_ns) };
        report.facts.insert("time_us".to_string(), main);
    }
}

/// The recorded steps after which the simulated counters differ from the measured ones.
fn after_steps(expect: &Expect, outcome: &Outcome) -> Vec<Value> {
    let recorded = expect.values.get("after_step").and_then(Value::as_array);
    let mut rows = Vec::new();
    for (index, expected) in recorded.into_iter().flatten().enumerate() {
        let (Value::Object(expected), Some(done)) = (expected, outcome.measure.get(index)) else { continue };
        let mut simulated = counters(done.counts);
        simulated.insert("time_us".to_string(), json!(ns_to_us(done.time_ns)));
        simulated.insert("fs_free_B".to_string(), json!(done.fs_free_bytes));
        // Where there are several steps with requests, each has its own.
        simulated.insert("bytes_accepted".to_string(), json!(done.facts.bytes_accepted));
        simulated.insert("requests_done".to_string(), json!(done.facts.requests_done));
        let names = COUNTERS.iter().chain(&["time_us", "fs_free_B", "bytes_accepted", "requests_done"]);
        let mut row = Map::new();
        for name in names {
            let (Some(expected), Some(simulated)) = (expected.get(*name), simulated.get(*name)) else { continue };
            if expected.as_f64() != simulated.as_f64() {
                row.insert(name.to_string(), json!({"expected": expected, "simulated": simulated}));
            }
        }
        if row.keys().any(|name| name != "time_us") {
            row.insert("step".to_string(), json!(index));
            rows.push(Value::Object(row));
        }
    }
    rows
}
