//! Runs an experiment: every variant on a stack of its own.

use crate::columns::{BlockColumns, RequestColumns};
use crate::data::{Change, Written};
use crate::error::LabError;
use crate::estimate::{self, Estimate, CALLS_MAX};
use crate::experiment::{Experiment, Variant};
use crate::film::FILM;
use crate::observed::{Observe, Observed, Parts, StackColumns};
use crate::pieces::{Piece, Told, VariantText};
use crate::probe_log::has_nand;
use crate::ready::{Ready, States};
use crate::repeats::{repeated, Ran};
use crate::requests::rows_of_a_variant;
use crate::result::{RunResult, SharedSetups, Summary};
use crate::run::{check_saves, run, Plan, RunError};
use crate::shared::{self, Quiet, ToShare};
use crate::state::{check_steps, Recipe, StateCache};
use crate::threads::{on_threads, threads_of};
use crate::traces::{ReadParquet, Traces};
use ffslab_machine::spec::MachineSpec;
use ffslab_machine::{MachineError, StackTable};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The initial states that the variants need. Each state is there once, in the order in which the variants use them
/// first.
#[derive(Default)]
pub(crate) struct Recipes<'a> {
    keys: Vec<String>,
    recipes: Vec<Recipe<'a>>,
}

impl<'a> Recipes<'a> {
    /// Adds the initial state of a variant and returns its number. `None`: the variant starts from an erased partition.
    fn add(&mut self, variant: &'a Variant, spec: &MachineSpec, build: &str) -> Result<Option<usize>, String> {
        if variant.state.is_empty() {
            return Ok(None);
        }
        check_steps(&variant.state)?;
        let recipe = Recipe::new(spec, variant);
        let key = recipe.key(build)?;
        let known = self.keys.iter().position(|known| *known == key);
        Ok(Some(known.unwrap_or_else(|| {
            self.keys.push(key);
            self.recipes.push(recipe);
            self.keys.len() - 1
        })))
    }

    /// Takes each state that is `wanted` from the cache, or makes it and puts it there.
    pub(crate) fn states(
        &self,
        wanted: &BTreeSet<usize>,
        cache: Option<&StateCache>,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<States, RunError> {
        let one = |&number: &usize| {
            let (key, recipe) = (&self.keys[number], &self.recipes[number]);
            if let Some(state) = cache.and_then(|cache| cache.find(key, recipe)) {
                return Ok((number, state));
            }
            let state = recipe.make(&mut |_| go_on())?;
            if let Some(cache) = cache {
                cache.keep(key, &state);
            }
            Ok((number, state))
        };
        let wanted: Vec<&usize> = wanted.iter().collect();
        wanted.into_par_iter().with_max_len(1).map(one).collect()
    }
}

/// An experiment that has been checked as far as possible before its first variant runs.
pub(crate) struct Checked<'a> {
    pub(crate) ready: Vec<Ready<'a>>,
    /// Positions of those that are to run: nobody knows their results yet.
    pub(crate) to_run: Vec<usize>,
    pub(crate) recipes: Recipes<'a>,
    pub(crate) traces: Traces,
    /// The number of requests for which each variant keeps a row.
    rows_max: usize,
    estimate: Estimate,
}

/// Estimates what all variants take, with the making of their initial states.
fn estimate(ready: &[&Ready], recipes: &Recipes, traces: &Traces, rows_max: usize, threads: usize) -> Estimate {
    let makers: BTreeMap<usize, u64> =
        ready.iter().rev().filter_map(|ready| Some((ready.state?, ready.spec.medium_bytes()))).collect();
    let states = makers.iter().map(|(&number, &partition_bytes)| {
        estimate::calls(recipes.recipes[number].steps.iter(), traces, partition_bytes)
    });
    let mut variants: Vec<(u64, u64)> =
        ready.iter().map(|ready| (ready.calls(traces), ready.spec.medium_bytes())).collect();
    if let Some(first) = variants.first_mut() {
        first.0 = states.fold(first.0, u64::saturating_add);
    }
    Estimate::of(&variants, rows_max, threads)
}

/// Turns an error of a variant into a message with the name of the file and, if there are several variants, the name of
/// the variant.
pub(crate) fn placed(file_name: &str, several: bool, variant: &Variant, text: &str) -> LabError {
    let which = if several { format!("variant {}: ", variant.name) } else { String::new() };
    LabError::Input(format!("{file_name}: {which}{text}"))
}

/// Reads the files that the steps name, and builds each stack once to find errors before the run.
pub(crate) fn check<'a>(
    experiment: &'a Experiment,
    file_name: &str,
    base_dir: &Path,
    Given { cache, parquet, any_size, jobs, known, .. }: Given,
) -> Result<Checked<'a>, LabError> {
    let several = experiment.variants.len() > 1;
    // Part of the key of each cached state, so that states of another build of the program are not used.
    let build = cache.map_or("", |cache| &cache.build);
    let mut traces = Traces::default();
    let mut ready = Vec::with_capacity(experiment.variants.len());
    let mut recipes = Recipes::default();
    let mut to_run = Vec::with_capacity(experiment.variants.len());
    for (number, variant) in experiment.variants.iter().enumerate() {
        let is_known = known.is_some_and(|known| known.contains(&number));
        if !is_known {
            to_run.push(number);
        }
        let place = |text: String| placed(file_name, several, variant, &text);
        let steps = variant.steps();
        traces.read(steps.clone(), base_dir, parquet).map_err(|error| place(error.to_string()))?;
        let in_stack = |error: MachineError| place(format!("[stack]: {error}"));
        let (spec, keys) = variant.stack.machine(base_dir).map_err(in_stack)?;
        // The runs of a variant stand one after the other. They differ in what is drawn, in nothing that is looked at
        // below, and share the state that the first one makes.
        let before = if variant.is_repeated() { ready.last() } else { None };
        if let Some(&Ready { state, .. }) = before {
            ready.push(Ready { variant, spec, keys, state });
            continue;
        }
        // It ran before, and of its runs nobody asks for another one.
        if is_known && experiment.runs.is_none() {
            ready.push(Ready { variant, spec, keys, state: None });
            continue;
        }
        // Building the stack finds impossible geometries before the first variant runs.
        let system = spec.build(None).map_err(in_stack)?;
        if variant.probe_logs && !variant.programs.is_empty() {
            return Err(place(
                "probe_logs: the logs tell the calls of one program, leave out them or the others".to_string(),
            ));
        }
        if variant.film && (variant.probe_logs || !variant.programs.is_empty()) {
            let other = if variant.probe_logs { "probe_logs: both tell each operation" } else { "further programs" };
            return Err(place(format!("film: not together with {other}, leave out one of the two")));
        }
        for (key, is_wanted) in [("probe_logs", variant.probe_logs), ("film", variant.film)] {
            if is_wanted {
                has_nand(key, &*system).map_err(place)?;
            }
        }
        check_saves(steps, system.medium_bytes(), experiment.variants.len() as u64).map_err(place)?;
        let state = recipes.add(variant, &spec, build).map_err(place)?;
        ready.push(Ready { variant, spec, keys, state });
    }
    let kept = experiment.requests_kept.map(|rows| rows as usize);
    let rows_max = kept.unwrap_or_else(|| rows_of_a_variant(ready.len()));
    let running: Vec<&Ready> = to_run.iter().map(|&number| &ready[number]).collect();
    let estimate = estimate(&running, &recipes, &traces, rows_max, threads_of(jobs));
    if !any_size {
        let checked = estimate.check(experiment.calls_max.unwrap_or(CALLS_MAX));
        checked.map_err(|text| LabError::Input(format!("{file_name}: {text}")))?;
    }
    Ok(Checked { ready, to_run, recipes, traces, rows_max, estimate })
}

/// Checks whether an experiment can begin. Errors that only show when a step runs are not found. The
/// arguments are those of [`run_experiment_with`].
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong.
pub fn check_experiment(written: &Written, file_name: &str, base_dir: &Path, given: Given) -> Result<(), LabError> {
    check(&Experiment::read(written, file_name, given.change)?, file_name, base_dir, given).map(drop)
}

/// Runs the experiment in `toml_text`. `file_name` names it in messages; relative paths in it start at `base_dir`.
/// `progress` gets the finished share (0 to 1) now and then and says whether to go on.
///
/// Variants run on all cores; the result does not depend on their number.
///
/// A variant in which a step cannot be done is told with its error, beside the results of the others.
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong or a step cannot be done in any variant,
/// [`LabError::Interrupted`] when `progress` said so.
pub fn run_experiment(
    toml_text: &str,
    file_name: &str,
    base_dir: &Path,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<RunResult, LabError> {
    run_experiment_with(&toml_text.into(), file_name, base_dir, Given::default(), progress)
}

/// What a caller may already have for an experiment.
#[derive(Default)]
pub struct Given<'a> {
    /// The folder in which initial states are looked up and kept.
    pub cache: Option<&'a StateCache>,
    /// Reads recordings in Parquet.
    pub parquet: Option<ReadParquet<'a>>,
    /// What holds in place of what was written.
    pub change: Option<&'a Change>,
    /// How many variants run at once; 0: one on each core.
    pub jobs: usize,
    /// The result is one part of a larger one: positions of variants that are not run, because their results are known. It
    /// is without them, without what is said of repetitions (see [`crate::repeated`]), and may hold failures alone.
    pub known: Option<&'a [usize]>,
    /// Do not refuse an experiment for the number of its calls.
    pub any_size: bool,
    /// What is to be written down while it runs.
    pub observe: Option<&'a Observe>,
    /// Is called with an estimate of what a large experiment takes, before it runs.
    pub tell: Option<&'a dyn Fn(&str)>,
    /// Setups that variants have in common are run once, in processes that are forked with its leave. Only of use to
    /// [`run_experiment_as_text`]. `None`: each variant runs its own one.
    pub quiet: Option<&'a Quiet<'a>>,
}

/// As [`run_experiment`], with what the caller already has.
pub fn run_experiment_with(
    written: &Written,
    file_name: &str,
    base_dir: &Path,
    given: Given,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<RunResult, LabError> {
    run_as(written, file_name, (base_dir, given), progress, |_, _| Ok(None))
}

/// The same for who only hands the result on: variants that have a setup in common run it once.
pub fn run_experiment_as_text(
    written: &Written,
    file_name: &str,
    base_dir: &Path,
    given: Given,
    progress: &(dyn Fn(f64) -> bool + Sync),
) -> Result<RunResult<VariantText>, LabError> {
    run_as(written, file_name, (base_dir, given), progress, |to_share, report| shared::run(to_share, report).map(Some))
}

/// Gets the calls that a variant has made, and says whether to go on.
type Report<'a> = dyn FnMut(usize, Option<u64>) -> bool + 'a;
/// What variants have left, by place, as far as they ran together.
type Together<T> = Option<(Vec<Option<Result<Piece<T>, RunError>>>, SharedSetups)>;

fn run_as<T: Told>(
    written: &Written,
    file_name: &str,
    (base_dir, given): (&Path, Given),
    progress: &(dyn Fn(f64) -> bool + Sync),
    together: impl FnOnce(&ToShare, &mut Report) -> Result<Together<T>, RunError>,
) -> Result<RunResult<T>, LabError> {
    let (cache, tell, jobs, all_run) = (given.cache, given.tell, given.jobs, given.known.is_none());
    let (observe, quiet) = (given.observe, given.quiet);
    let experiment = Experiment::read(written, file_name, given.change)?;
    let checked = check(&experiment, file_name, base_dir, given)?;
    let Checked { ready, to_run, recipes, traces, rows_max, estimate } = &checked;
    if let Some(tell) = tell.filter(|_| estimate.is_large()) {
        tell(&format!("{}: {}", experiment.title, estimate.text()));
    }
    let running: Vec<&Ready> = to_run.iter().map(|&number| &ready[number]).collect();
    let total = running.iter().map(|ready| ready.calls(traces)).fold(1, u64::saturating_add);
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let titles = running.iter().map(|ready| ready.variant.name.as_str());
    let (parts, observed) = observe.map(|observe| Parts::of(observe, titles)).unzip();
    let go_on = |more: u64| {
        let done = done.fetch_add(more, Ordering::Relaxed) + more;
        if !progress((done as f64 / total as f64).min(1.0)) {
            stop.store(true, Ordering::Relaxed);
        }
        !stop.load(Ordering::Relaxed)
    };
    let ran = |place: usize, ready: &Ready, states: &States| {
        let mut counted = 0;
        let observed = observed.as_ref().map(|observed: &Vec<Observed>| &observed[place]);
        let watch = &mut |calls: u64| go_on(calls.saturating_sub(std::mem::replace(&mut counted, calls)));
        let done = ready.planned(traces, states, *rows_max, |system, plan| {
            let plan = Plan { observed, ..*plan };
            run(system, &plan, watch)
        });
        done.map(|outcome| Piece::of(ready, outcome))
    };
    let at_all = |error| match error {
        RunError::Step(text) => LabError::Input(format!("{file_name}: {text}")),
        RunError::Interrupted => LabError::Interrupted,
    };
    let wanted: BTreeSet<usize> = running.iter().filter_map(|ready| ready.state).collect();
    let states = match wanted.is_empty() {
        true => States::default(),
        false => on_threads(jobs, || recipes.states(&wanted, cache, &|| progress(0.0)))?.map_err(at_all)?,
    };
    let mut counted = vec![0; running.len()];
    let mut report = |place: usize, calls: Option<u64>| {
        let calls = calls.unwrap_or(counted[place]).max(counted[place]);
        go_on(calls - std::mem::replace(&mut counted[place], calls))
    };
    let shared = quiet.map(|quiet| {
        let (running, states, observed) = (&running[..], &states, observed.as_deref());
        let to_share =
            ToShare { running, traces, states, rows_max: *rows_max, observed, jobs: threads_of(jobs), quiet };
        together(&to_share, &mut report)
    });
    let shared = shared.transpose().map_err(at_all)?.flatten();
    let (answers, shared) = shared.unwrap_or_else(|| (running.iter().map(|_| None).collect(), SharedSetups::default()));
    let outcomes: Vec<Result<Piece<T>, RunError>> = on_threads(jobs, || {
        let each = answers.into_par_iter().enumerate().with_max_len(1);
        each.map(|(place, answer)| answer.unwrap_or_else(|| ran(place, running[place], &states))).collect()
    })?;
    parts.map_or(Ok(()), Parts::join)?;
    let result = put_together(&experiment, &checked, outcomes, (file_name, base_dir), all_run)?;
    if !progress(1.0) {
        return Err(LabError::Interrupted);
    }
    Ok(RunResult { shared, stacks: result.stacks.filter(|_| observe.is_some()), ..result })
}

/// The result of an experiment of what its variants have left.
fn put_together<T: Told>(
    experiment: &Experiment,
    Checked { ready, to_run, .. }: &Checked,
    outcomes: Vec<Result<Piece<T>, RunError>>,
    (file_name, base_dir): (&str, &Path),
    all_run: bool,
) -> Result<RunResult<T>, LabError> {
    let several = experiment.variants.len() > 1;
    let mut summaries = Vec::with_capacity(outcomes.len());
    let (mut requests, mut blocks) = (RequestColumns::default(), BlockColumns::default());
    let mut stacks = StackColumns::default();
    let (mut images, mut logs, mut films, mut failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut runs = Vec::new();
    let none_ends = all_run && outcomes.iter().all(|outcome| matches!(outcome, Err(RunError::Step(_))));
    for (&number, outcome) in to_run.iter().zip(outcomes) {
        let ready = &ready[number];
        let piece = match outcome {
            Ok(piece) => piece,
            Err(RunError::Interrupted) => return Err(LabError::Interrupted),
            Err(RunError::Step(text)) if none_ends => return Err(placed(file_name, several, ready.variant, &text)),
            Err(RunError::Step(error)) => {
                failed.push(ready.failed(error));
                continue;
            }
        };
        let placed = |name: String| if several { format!("{}/{name}", number + 1) } else { name };
        images.extend(piece.images.into_iter().map(|(name, image)| (placed(name), image)));
        logs.extend(piece.logs.into_iter().map(|(name, text)| (placed(name), text)));
        films.extend(piece.film.map(|film| (placed(FILM.to_string()), film)));
        piece.stacks.into_iter().for_each(|rows| stacks.append(rows));
        blocks.append(piece.blocks);
        requests.append(piece.requests);
        summaries.push(piece.told);
        let Variant { name, axes, .. } = ready.variant;
        runs.push(Ran::with(name.clone(), axes.iter().cloned().collect(), piece.figures));
    }
    let seed = experiment.variants[0].seed;
    let keys: Vec<&StackTable> =
        ready.iter().filter(|ready| !ready.variant.is_repeated()).map(|ready| &ready.keys).collect();
    let resolved_toml = experiment.resolved(&keys, base_dir);
    let mut summary = Summary::new(&experiment.title, seed, summaries, failed);
    if experiment.runs.is_some() && all_run {
        let failed: Vec<_> = summary.failed.iter().map(|variant| variant.axes.clone()).collect();
        summary.repeats = repeated(&runs, &failed);
    }
    let (stacks, shared) = (Some(stacks), SharedSetups::default());
    Ok(RunResult { summary, requests, blocks, resolved_toml, images, logs, films, stacks, shared })
}
