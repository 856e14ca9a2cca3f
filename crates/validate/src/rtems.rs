//! Measured runs of RTEMS: a JSON list of runs, each with its settings and its phases. Each phase is compared like a
//! case.

mod counted;
mod phases;
mod settings;
#[cfg(test)]
mod tests;

use crate::error::CaseError;
use crate::glob;
use crate::parallel::{in_parallel, nothing_matches};
use crate::report::{CaseReport, Pair, ValidateOptions};
use counted::{Counted, Ready};
use ffslab_lab::run::RunError;
use ffslab_lab::LabError;
use serde_json::{Map, Value};
use settings::{is_flash, Settings};
use std::collections::BTreeMap;
use std::path::Path;

/// A run, and what was measured in each of its phases.
struct Measured {
    fs: String,
    family: String,
    /// Comes before the name of the phase in the id of each case.
    id: String,
    settings: Result<Settings, CaseError>,
    phases: Vec<(String, BTreeMap<String, i64>)>,
}

/// Whether the text holds runs of RTEMS. These are a JSON list, while other cases are one object per line.
pub(super) fn are_in(text: &str) -> bool {
    text.trim_start().starts_with('[')
}

fn input(path: &Path, text: &str) -> LabError {
    LabError::Input(format!("{}: {text}", path.display()))
}

fn read(path: &Path, text: &str) -> Result<Vec<Measured>, LabError> {
    let runs: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| input(path, &format!("no list of runs: {error}")))?;
    let runs = runs
        .iter()
        .enumerate()
        .map(|(index, run)| measured(index, run).map_err(|error| input(path, &format!("run {}: {error}", index + 1))));
    let runs: Vec<Measured> = runs.collect::<Result<_, _>>()?;
    if runs.is_empty() {
        Err(input(path, "there is no run in it"))
    } else {
        Ok(runs)
    }
}

fn measured(index: usize, run: &Map<String, Value>) -> Result<Measured, CaseError> {
    let text = |key: &str| run.get(key).and_then(Value::as_str).map(str::to_string);
    let number = |key: &str| run.get(key).and_then(Value::as_u64).unwrap_or(0);
    let fs = text("fs").ok_or(CaseError::Missing { key: "fs", what: "the name of a file system" })?;
    let phases =
        run.get("phases").and_then(Value::as_array).ok_or(CaseError::Missing { key: "phases", what: "a list" })?;
    let mut counted = Vec::with_capacity(phases.len());
    for phase in phases {
        let phase = phase.as_object().ok_or(CaseError::PhaseIsNoObject)?;
        let name = phase.get("phase").and_then(Value::as_str).ok_or(CaseError::PhaseWithoutName)?;
        let counters = phase.iter().filter_map(|(key, value)| Some((key.clone(), value.as_i64()?)));
        counted.push((name.to_string(), counters.collect()));
    }
    let place = if is_flash(run) {
        format!(
            "block{}-{}-{}-io{}",
            number("erase_block"),
            text("compressor").unwrap_or_default(),
            text("data").unwrap_or_default(),
            number("io_size"),
        )
    } else {
        format!(
            "bs{}-spc{}-io{}-cache{}-max{}-cont{}-ra{}-prio{}",
            number("fs_block_size"),
            number("sectors_per_cluster_requested"),
            number("io_size"),
            number("cache_bytes"),
            number("bdbuf_max_buffer"),
            number("cap_multisector_cont"),
            number("read_ahead_blocks"),
            number("app_priority"),
        )
    };
    let family = text("test").unwrap_or_else(|| "io".into());
    let id = format!("rtems/{fs}/{family}/{:03}-{place}", index + 1);
    Ok(Measured { fs, family, id, settings: Settings::read(run), phases: counted })
}

/// Runs those that `options` select and compares, with one row for each phase.
///
/// Errors: as those of [`crate::validate`].
pub(super) fn reports(
    path: &Path,
    text: &str,
    options: &ValidateOptions,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<CaseReport>, LabError> {
    let mut runs = read(path, text)?;
    let chosen = |id: &str| options.only.as_ref().is_none_or(|pattern| glob::matches(pattern, id));
    let id_of = |run: &Measured, phase: &str| format!("{}/{phase}", run.id);
    let all: usize = runs.iter().map(|run| run.phases.len()).sum();
    let example = runs[0].phases.first().map_or_else(String::new, |(phase, _)| id_of(&runs[0], phase));
    runs.retain(|run| run.phases.iter().any(|(phase, _)| chosen(&id_of(run, phase))));
    if let (true, Some(pattern)) = (runs.is_empty(), &options.only) {
        return Err(nothing_matches(path, pattern, all, &example));
    }
    let weight =
        |run: &Measured| run.phases.iter().filter_map(|(_, counters)| counters.get("calls")).sum::<i64>() as u64;
    let reports = in_parallel(&runs, weight, options, progress, check)?;
    let mut reports = reports.concat();
    reports.retain(|report| chosen(&report.id));
    Ok(reports)
}

/// Does one run and compares. `None`: it was interrupted.
fn check(measured: &Measured, go_on: &dyn Fn() -> bool) -> Option<Vec<CaseReport>> {
    let ready = measured.settings.clone().and_then(|settings| Ready::of(&settings));
    let simulated = match ready {
        Ok(ready) => {
            let names = ready.names();
            match ready.run(&mut || go_on()) {
                Ok(phases) => Ok((names, phases)),
                Err(RunError::Step(error)) => Err(error),
                Err(RunError::Interrupted) => return None,
            }
        }
        Err(error) => Err(error.to_string()),
    };
    let report = |(index, (phase, expected)): (usize, &(String, BTreeMap<String, i64>))| {
        let mut report = CaseReport {
            id: format!("{}/{phase}", measured.id),
            family: measured.family.clone(),
            fs: measured.fs.clone(),
            not_counted: measured.settings.as_ref().ok().and_then(Settings::not_recorded),
            ..CaseReport::default()
        };
        match &simulated {
            Ok((names, phases)) => match phases.get(index).filter(|found| found.name == *phase) {
                Some(found) => compare(names, found, expected, &mut report),
                None => report.error = Some("the simulated run has another phase at this place".into()),
            },
            Err(error) => report.error = Some(error.clone()),
        }
        report
    };
    Some(measured.phases.iter().enumerate().map(report).collect())
}

/// Compares the counters of a phase. A counter that is missing counts as 0.
fn compare(names: &[&'static str], found: &Counted, expected: &BTreeMap<String, i64>, report: &mut CaseReport) {
    let measured = expected.keys().map(String::as_str);
    for name in names.iter().copied().chain(measured) {
        let expected = expected.get(name).copied().unwrap_or(0);
        let simulated = found.counters.get(name).copied().unwrap_or(0);
        let pair = Pair { expected: expected as f64, simulated: simulated as f64 };
        report.counters.insert(name.to_string(), pair);
    }
}
