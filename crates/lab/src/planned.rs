//! An experiment as the list of all that it would run, for programs that run the same steps elsewhere, such as on a
//! real kernel.

use crate::data::Written;
use crate::error::LabError;
use crate::experiment::{Experiment, Program};
use ffslab_machine::fault_keys::FaultKeys;
use ffslab_machine::media::NOR;
use ffslab_machine::mounts::{Mounts, MountsSpec};
use ffslab_machine::spec::FlashSummary;
use ffslab_machine::stack::{Stack, StackSpec};
use ffslab_machine::stack_keys::StackKeys;
use ffslab_machine::MachineError;
use ffslab_workload::content::{Content, POOL_BYTES, STRIDE_BYTES};
use ffslab_workload::steps::ContentName;
use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// A variant with every default; units are in the keys, as in an experiment.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedVariant {
    /// Values of the axes; empty when there are none.
    pub name: String,
    pub seed: u64,
    pub stack: StackKeys,
    pub flash: PlannedFlash,
    #[schemars(with = "Vec<BTreeMap<String, serde_json::Value>>")]
    pub state: Vec<Step>,
    #[schemars(with = "Vec<BTreeMap<String, serde_json::Value>>")]
    pub setup: Vec<Step>,
    #[schemars(with = "Vec<BTreeMap<String, serde_json::Value>>")]
    pub measure: Vec<Step>,
    /// What runs beside the measured steps.
    #[schemars(with = "Vec<PlannedProgram>")]
    pub programs: Vec<Program>,
}

/// A program beside the measured steps, for the schema: its steps are as those of the variant.
#[derive(Serialize, JsonSchema)]
struct PlannedProgram {
    name: String,
    #[serde(default)]
    background: bool,
    steps: Vec<BTreeMap<String, serde_json::Value>>,
}

/// The chip and the partition in the words of a measured case.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlannedFlash {
    #[serde(flatten)]
    pub chip: FlashSummary,
    /// "nor"; absent: NAND, as in cases, which were all measured on it once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    pub first_block: u32,
    pub partition_blocks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultKeys>,
}

/// Lists the variants of an experiment with their steps. Nothing is run. The arguments are those of
/// [`crate::run_experiment_with`].
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong.
pub fn planned_variants(written: &Written, file_name: &str, base_dir: &Path) -> Result<Vec<PlannedVariant>, LabError> {
    let experiment = Experiment::read(written, file_name, None)?;
    let plan = |variant: crate::experiment::Variant| {
        let Some(keys) = variant.stack.linux() else {
            let text = format!("{file_name}: [stack]: system = \"rtems\" has no Linux kernel to boot");
            return Err(LabError::Input(text));
        };
        if keys.ageing.is_some() {
            let text = "[stack.ageing]: the chip of a real kernel in an emulator does not age: leave it out";
            return Err(LabError::Input(format!("{file_name}: {text}")));
        }
        let (spec, stack) =
            built(keys, base_dir).map_err(|error| LabError::Input(format!("{file_name}: [stack]: {error}")))?;
        Ok(PlannedVariant {
            name: variant.name,
            seed: variant.seed,
            flash: PlannedFlash {
                chip: FlashSummary::from(&spec.partition),
                medium: (spec.medium.name == NOR.name).then(|| NOR.name.to_string()),
                first_block: stack.first_block,
                partition_blocks: stack.partition_blocks,
                faults: stack.faults.clone(),
            },
            stack,
            state: variant.state,
            setup: variant.setup,
            measure: variant.measure,
            programs: variant.programs,
        })
    };
    experiment.variants.into_iter().map(plan).collect()
}

/// The machine, and the keys with the board's values filled in. It is built, too: only that finds what does not fit, such as a fault behind
/// the end of the chip.
fn built(keys: &StackKeys, base_dir: &Path) -> Result<(StackSpec, StackKeys), MachineError> {
    if keys.mount.is_empty() {
        let (spec, filled) = StackSpec::from_keys(keys, base_dir)?;
        Stack::new(&spec)?;
        return Ok((spec, filled));
    }
    let (spec, filled) = MountsSpec::from_keys(keys, base_dir)?;
    Mounts::new(&spec)?;
    Ok((spec.root, filled))
}

/// The bytes of which steps whose content is called `kind` take pieces of at most `piece_bytes`, by how much the next
/// piece begins behind the last one, and modulo what.
///
/// Errors: no content is called so.
pub fn content_source(kind: &str, seed: u64, piece_bytes: usize) -> Result<(Vec<u8>, usize, usize), LabError> {
    let content: ContentName = serde_json::from_value(kind.into())
        .map_err(|_| LabError::Input(format!("content = \"{kind}\": there is no such content")))?;
    let (stride, pool) = match content {
        ContentName::Random | ContentName::Mix => (STRIDE_BYTES, POOL_BYTES),
        ContentName::Text | ContentName::Zero => (0, 1),
    };
    Ok((Content::new(seed).source(content, piece_bytes), stride, pool))
}
