//! Whole lives: a workload is repeated on a device until that fails, or has lived as long as it must.
//!
//! Exact lives run every operation. The others leap over times in which wear is stationary (`law.rs`) or levelled (`levelled.rs`):
//! blocks get the erases that they would have had, nothing else changes, and no virtual time passes.

mod course;
mod device;
mod law;
mod levelled;
mod living;
mod window;

pub use course::{CallsOfPoint, ErasesSpread, Point, Wear};

use crate::counts::CauseSummary;
use crate::data::Written;
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::lab::{check, Given};
use crate::result::FailedVariant;
use crate::run::RunError;
use crate::threads::on_threads;
use ffslab_machine::ageing_keys::AgeingKeys;
use ffslab_machine::StackTable;
use ffslab_profiles::Profile;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What is asked of a life.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// How often a day the measured steps happen. Null: one after the other.
    pub per_day: Option<f64>,
    /// It ends then if nothing ends it before.
    pub years: f64,
    /// Erases that a block endures; null: what the stack or its part says.
    pub endurance_erases: Option<u32>,
    /// Work (flash operations and calls) that is done before times of stationary wear are leapt over. Null: none is ever leapt over.
    pub leaps_after_work: Option<u64>,
    /// Work after which a life is given up that nothing has ended. Null: never.
    pub operations_max: Option<u64>,
    /// Erases that blocks have behind them, which the chip does not know of; null: none.
    pub worn_erases: Option<Vec<u32>>,
}

/// What ends a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// It has lived as long as was asked.
    Limit,
    /// No room is left, because blocks have failed.
    NoSpareBlocks,
    /// No room is left, although no block has failed: the workload needs more each time.
    Full,
    /// The file system or UBI has gone read-only.
    ReadOnly,
    /// A block has had its erases, on a medium of which it is not known what fails then.
    Endurance,
    /// A call has failed otherwise.
    Failed,
    /// The workload programs and erases nothing, so it wears nothing.
    Unworn,
    /// It has gone on for as much work as was allowed: how it ends is not known.
    Unknown,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Ended {
    #[serde(rename = "by")]
    pub end: End,
    /// What the first call said that could not be done, and its step.
    pub error: Option<String>,
}

/// A life. Years, repetitions and erases are those of all of it, causes those of what was run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct LifeSummary {
    pub years: f64,
    pub ended: Ended,
    pub leaps: u32,
    /// Without what was leapt over.
    pub years_run: f64,
    pub repetitions: u64,
    pub repetitions_run: u64,
    /// Those of them that took longer than until the next one was due.
    pub repetitions_late: u64,
    pub per_day: Option<f64>,
    /// From one repetition to the next, on average.
    pub period_us: f64,
    /// From when on stretches of the life erased as much as those before: what came earlier is transient. Null: it never was so.
    pub steady_from_days: Option<f64>,
    /// Of the calls that were run.
    pub latency: CallsOfPoint,
    /// What programs wrote in what was run.
    #[serde(rename = "written_B")]
    pub written_bytes: u64,
    /// When the first block was marked bad. Null: none was.
    pub first_bad_block_years: Option<f64>,
    pub bad_blocks: u32,
    /// Of the blocks of the partition at the end.
    pub erases: ErasesSpread,
    /// Of them, before the first repetition.
    pub erases_of_setup: u64,
    /// Difference of erases from which on wear is levelled by moving data. Null: no layer does so.
    pub levels_from_erases: Option<u32>,
    /// Flash operations of what was run, by who and why, but for those of formatting.
    pub by_cause: Vec<CauseSummary>,
    /// From the start to the end.
    pub points: Vec<Point>,
    pub wear: Wear,
}

/// The life of a variant.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VariantLife {
    pub name: String,
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, toml::Value>,
    pub stack: StackTable,
    pub endurance_erases: u32,
    /// Whether blocks fail one by one, as `ageing` of the stack says, or the first that has had its erases ends the life.
    pub blocks_fail: bool,
    #[serde(flatten)]
    pub life: LifeSummary,
}

/// Lives of all variants.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Lives {
    pub title: String,
    pub lives: Vec<VariantLife>,
    /// Variants whose setup or first repetition could not be done.
    pub failed: Vec<FailedVariant>,
}

/// Lets the variants of an experiment live, but for those that are known. The arguments are those of
/// [`crate::run_experiment_with`]; `ended` gets each life as soon as it has ended, with the position of its variant.
///
/// Errors: as there; an endurance that nobody tells.
pub fn live_experiment(
    written: &Written,
    file_name: &str,
    base_dir: &Path,
    asked: &Asked,
    given: Given,
    progress: &(dyn Fn(f64) -> bool + Sync),
    ended: &(dyn Fn(usize, &VariantLife) + Sync),
) -> Result<Lives, LabError> {
    let (jobs, cache, all_live) = (given.jobs, given.cache, given.known.is_none());
    let mut experiment = Experiment::read(written, file_name, given.change)?;
    let mut bears = Vec::with_capacity(experiment.variants.len());
    for variant in &mut experiment.variants {
        let place = |text: String| LabError::Input(format!("{file_name}: {text}"));
        bears.push(borne(&mut variant.stack, asked.endurance_erases, base_dir).map_err(place)?);
    }
    let checked = check(&experiment, file_name, base_dir, given)?;
    let several = checked.ready.len() > 1;
    let stop = AtomicBool::new(false);
    let shares: Vec<AtomicU32> = checked.to_run.iter().map(|_| Default::default()).collect();
    let go_on = || {
        let sum: u64 = shares.iter().map(|share| u64::from(share.load(Ordering::Relaxed))).sum();
        if !progress(sum as f64 / 1e6 / shares.len().max(1) as f64) {
            stop.store(true, Ordering::Relaxed);
        }
        !stop.load(Ordering::Relaxed)
    };
    let failed_early = |error| match error {
        RunError::Step(text) => LabError::Input(format!("{file_name}: {text}")),
        RunError::Interrupted => LabError::Interrupted,
    };
    let outcomes = on_threads(jobs, || {
        let wanted = checked.to_run.iter().filter_map(|&number| checked.ready[number].state).collect();
        let states = checked.recipes.states(&wanted, cache, &go_on).map_err(failed_early)?;
        let one = |(place, &number): (usize, &usize)| {
            let (ready, bears) = (&checked.ready[number], &bears[number]);
            let life = ready.planned(&checked.traces, &states, 0, |system, plan| {
                let endurance = (!bears.blocks_fail).then_some(bears.endurance_erases);
                living::live(system, plan, asked, endurance, &mut |share| {
                    shares[place].store((share * 1e6) as u32, Ordering::Relaxed);
                    go_on()
                })
            })?;
            let life = VariantLife {
                name: ready.variant.name.clone(),
                axes: ready.variant.axes.iter().cloned().collect(),
                stack: ready.keys.clone(),
                endurance_erases: bears.endurance_erases,
                blocks_fail: bears.blocks_fail,
                life,
            };
            ended(number, &life);
            Ok(life)
        };
        let lives = checked.to_run.par_iter().enumerate().with_max_len(1).map(one);
        Ok::<Vec<Result<VariantLife, RunError>>, LabError>(lives.collect())
    })??;
    let none_ends = all_live && outcomes.iter().all(|outcome| matches!(outcome, Err(RunError::Step(_))));
    let mut all = Lives { title: experiment.title.clone(), lives: Vec::new(), failed: Vec::new() };
    for (&number, outcome) in checked.to_run.iter().zip(outcomes) {
        let ready = &checked.ready[number];
        match outcome {
            Ok(life) => all.lives.push(life),
            Err(RunError::Interrupted) => return Err(LabError::Interrupted),
            Err(RunError::Step(text)) if none_ends => {
                return Err(crate::lab::placed(file_name, several, ready.variant, &text))
            }
            Err(RunError::Step(text)) => all.failed.push(ready.failed(text)),
        }
    }
    Ok(all)
}

struct Bears {
    endurance_erases: u32,
    blocks_fail: bool,
}

/// Makes blocks of a stack fail when they are worn out, where its medium can do that. Where nothing was said of ageing, bits
/// stay right.
///
/// Errors: the stack is wrong, or nobody tells the endurance.
fn borne(stack: &mut StackTable, endurance_erases: Option<u32>, base_dir: &Path) -> Result<Bears, String> {
    let in_stack = |error: ffslab_machine::MachineError| format!("[stack]: {error}");
    stack.machine(base_dir).map_err(in_stack)?;
    if let StackTable::Linux(keys) = stack {
        let said = keys.ageing.clone();
        let only_blocks = AgeingKeys {
            write_rate: Some(0.0),
            retention_rate: Some(0.0),
            disturb_rate: Some(0.0),
            ..AgeingKeys::default()
        };
        let was_said = said.is_some();
        let mut ageing = said.clone().unwrap_or(only_blocks);
        ageing.endurance_erases = endurance_erases.or(ageing.endurance_erases);
        keys.ageing = Some(ageing);
        match stack.machine(base_dir) {
            Ok((_, filled)) => {
                let ageing = filled.linux().and_then(|keys| keys.ageing.as_ref());
                let endurance_erases = ageing.and_then(|ageing| ageing.endurance_erases).unwrap_or_default();
                return Ok(Bears { endurance_erases, blocks_fail: true });
            }
            Err(error) if was_said => return Err(in_stack(error)),
            Err(_) => {}
        }
        // Its medium does not age.
        if let StackTable::Linux(keys) = stack {
            keys.ageing = None;
        }
    }
    let part = stack.linux().and_then(|keys| keys.part.as_deref());
    let known = || Profile::load(stack.board(), part, None, base_dir).ok()?.part.endurance_erases();
    let needed = || "it is not known how many erases a block of this part bears: give --endurance ERASES".to_string();
    let endurance_erases = endurance_erases.or_else(known).ok_or_else(needed)?;
    Ok(Bears { endurance_erases, blocks_fail: false })
}
