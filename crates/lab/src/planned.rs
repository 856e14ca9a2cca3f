//! An experiment as the list of what it would run, for those who run the same steps elsewhere: on a real kernel.

use crate::error::LabError;
use crate::experiment::Experiment;
use crate::stack::StackSpec;
use crate::stack_keys::StackKeys;
use ffslab_workload::Step;
use serde::Serialize;
use std::path::Path;

/// A variant with every default; units are in the keys, as in an experiment.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedVariant {
    /// Values of the axes; empty when there are none.
    pub name: String,
    pub seed: u64,
    pub stack: StackKeys,
    pub flash: PlannedFlash,
    pub state: Vec<Step>,
    pub setup: Vec<Step>,
    pub measure: Vec<Step>,
}

/// The chip in the words of a measured case.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlannedFlash {
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    pub pages_per_block: u32,
    pub partition_blocks: u32,
    pub chip_blocks: u32,
    pub t_read_us: f64,
    pub t_program_us: f64,
    pub t_erase_us: f64,
    /// Nanoseconds per byte.
    #[serde(rename = "bus_ns_per_B")]
    pub bus_per_byte: f64,
}

impl PlannedFlash {
    fn of(spec: &StackSpec) -> PlannedFlash {
        let us = |ns: u64| ns as f64 / 1000.0;
        PlannedFlash {
            page_bytes: spec.geometry.page_bytes,
            oob_bytes: spec.geometry.oob_bytes,
            pages_per_block: spec.geometry.pages_per_block,
            partition_blocks: spec.partition_blocks,
            chip_blocks: spec.geometry.blocks,
            t_read_us: us(spec.timing.read_ns),
            t_program_us: us(spec.timing.program_ns),
            t_erase_us: us(spec.timing.erase_ns),
            bus_per_byte: us(spec.timing.bus_ps_per_byte),
        }
    }
}

/// What the experiment in `toml_text` consists of; nothing is run. The arguments are those of
/// [`crate::run_experiment`].
///
/// Errors: [`LabError::Input`] with one line when the experiment is wrong.
pub fn planned_variants(toml_text: &str, file_name: &str, base_dir: &Path) -> Result<Vec<PlannedVariant>, LabError> {
    let experiment = Experiment::parse(toml_text, file_name)?;
    let plan = |variant: crate::experiment::Variant| {
        let Some(keys) = variant.stack.linux() else {
            let text = format!("{file_name}: [stack]: system = \"rtems\" has no Linux kernel to boot");
            return Err(LabError::Input(text));
        };
        let (spec, stack) = StackSpec::from_keys(keys, base_dir).map_err(|error| match error {
            LabError::Input(text) => LabError::Input(format!("{file_name}: [stack]: {text}")),
            other => other,
        })?;
        Ok(PlannedVariant {
            name: variant.name,
            seed: variant.seed,
            flash: PlannedFlash::of(&spec),
            stack,
            state: variant.state,
            setup: variant.setup,
            measure: variant.measure,
        })
    };
    experiment.variants.into_iter().map(plan).collect()
}
