//! Runs an experiment: every variant on a stack of its own.

use crate::error::LabError;
use crate::experiment::{Experiment, Variant};
use crate::image::check_saves;
use crate::result::{BlockColumns, RequestColumns, RunResult, Summary, VariantSummary};
use crate::run::{run, Outcome, Plan, RunError};
use crate::stack::{Stack, StackSpec};
use crate::stack_keys::StackKeys;
use crate::traces::Traces;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A variant that is ready to run.
struct Ready<'a> {
    variant: &'a Variant,
    spec: StackSpec,
    /// The stack's keys with the board's values filled in.
    keys: StackKeys,
}

impl Ready<'_> {
    fn plan<'a>(&'a self, traces: &'a Traces) -> Plan<'a> {
        let variant = self.variant;
        Plan {
            stack: &self.spec,
            setup: &variant.setup,
            measure: &variant.measure,
            main_steps: (None, variant.measure.len() - 1),
            seed: variant.seed,
            traces,
        }
    }
}

/// Runs the experiment in `toml_text`. `file_name` names it in messages; relative paths in it start at `base_dir`.
/// `progress` gets the finished share (0 to 1) now and then and says whether to go on.
///
/// Variants run on all cores; the result does not depend on their number.
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong or a step cannot be done,
/// [`LabError::Interrupted`] when `progress` said so.
pub fn run_experiment(
    toml_text: &str,
    file_name: &str,
    base_dir: &Path,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<RunResult, LabError> {
    run_experiment_with_tables(toml_text, file_name, base_dir, BTreeMap::new(), progress)
}

/// As [`run_experiment`]. `tables` holds, by the name that `replay` steps give, recordings that the caller has read
/// already, as CSV: Python reads Parquet.
pub fn run_experiment_with_tables(
    toml_text: &str,
    file_name: &str,
    base_dir: &Path,
    tables: BTreeMap<String, String>,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<RunResult, LabError> {
    let experiment = Experiment::parse(toml_text, file_name)?;
    let several = experiment.variants.len() > 1;
    let place = |variant: &Variant, text: &str| {
        let which = if several { format!("variant {}: ", variant.name) } else { String::new() };
        LabError::Input(format!("{file_name}: {which}{text}"))
    };
    let mut traces = Traces::with_tables(tables);
    let mut ready = Vec::with_capacity(experiment.variants.len());
    for variant in &experiment.variants {
        let (spec, keys) = StackSpec::from_keys(&variant.stack, base_dir).map_err(|error| match error {
            LabError::Input(text) => place(variant, &format!("[stack]: {text}")),
            other => other,
        })?;
        // Wrong geometries come to light before the first variant runs.
        let stack = Stack::new(&spec).map_err(|text| place(variant, &format!("[stack]: {text}")))?;
        let steps = variant.setup.iter().chain(&variant.measure);
        traces.read(steps.clone(), base_dir).map_err(|text| place(variant, &text))?;
        check_saves(steps, stack.partition_bytes(), experiment.variants.len() as u64)
            .map_err(|text| place(variant, &text))?;
        ready.push(Ready { variant, spec, keys });
    }
    let total = ready.iter().map(|ready| ready.plan(&traces).calls()).sum::<u64>().max(1);
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let outcomes: Vec<Result<Outcome, RunError>> = ready
        .par_iter()
        .with_max_len(1)
        .map(|ready| {
            let mut counted = 0;
            run(&ready.plan(&traces), &mut |calls| {
                done.fetch_add(calls - counted, Ordering::Relaxed);
                counted = calls;
                let share = done.load(Ordering::Relaxed) as f64 / total as f64;
                if !progress(share.min(1.0)) {
                    stop.store(true, Ordering::Relaxed);
                }
                !stop.load(Ordering::Relaxed)
            })
        })
        .collect();
    let mut summaries = Vec::with_capacity(ready.len());
    let (mut requests, mut blocks) = (RequestColumns::default(), BlockColumns::default());
    let (mut images, mut logs) = (Vec::new(), Vec::new());
    for (number, (ready, outcome)) in ready.iter().zip(outcomes).enumerate() {
        let mut outcome = outcome.map_err(|error| match error {
            RunError::Step(text) => place(ready.variant, &text),
            RunError::Interrupted => LabError::Interrupted,
        })?;
        for saved in std::mem::take(&mut outcome.images) {
            let file = if several { format!("{}/{}", number + 1, saved.file) } else { saved.file };
            images.push((file, saved.image));
        }
        for (name, text) in std::mem::take(&mut outcome.logs) {
            logs.push((if several { format!("{}/{name}", number + 1) } else { name }, text));
        }
        let name = &ready.variant.name;
        requests.extend(name, &outcome.requests);
        blocks.extend(name, &outcome);
        summaries.push(VariantSummary::of(ready.variant, ready.keys.clone(), &ready.spec, &outcome));
    }
    if !progress(1.0) {
        return Err(LabError::Interrupted);
    }
    let seed = experiment.variants[0].seed;
    let resolved_toml = experiment.resolved(ready[0].keys.clone(), base_dir);
    let summary = Summary::new(&experiment.title, seed, summaries);
    Ok(RunResult { summary, requests, blocks, resolved_toml, images, logs })
}
