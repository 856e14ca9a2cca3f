//! What the model of ageing says of the chip of an experiment, in numbers and without a run: for studies of years.

use crate::error::LabError;
use crate::experiment::Experiment;
use ffslab_flash::{Stress, AGEING_CONSTANTS, YEAR_S};
use ffslab_machine::ageing_keys::AgeingKeys;
use ffslab_machine::stack::StackSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Cells about which is asked.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Erases of the block, those that it had at the start included.
    pub erases: f64,
    /// Of the block since its erase.
    pub reads: f64,
    /// Since the program.
    pub years: f64,
    /// In these years.
    #[serde(rename = "temperature_C")]
    pub celsius: f64,
}

/// Frames that have borne that.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FramesSummary {
    /// Mean share of wrong bits.
    pub rate: f64,
    /// Wrong bits of a frame.
    pub mean_bits: f64,
    pub variance_bits: f64,
    /// The correlation of two bits of a frame.
    pub overdispersion: f64,
    /// The probability of no wrong bit, of one, and so on, up to two more than are corrected.
    pub probabilities: Vec<f64>,
    /// The probability of at least as many wrong bits as are reported (`bitflip_threshold`).
    pub reported: f64,
    /// The probability of more than are corrected.
    pub failure: f64,
}

/// A default of the model with where it comes from.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ConstantSummary {
    pub name: &'static str,
    pub value: f64,
    pub status: &'static str,
    pub source: &'static str,
}

/// The chip, and what was asked of it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AgeingSummary {
    pub part: String,
    pub keys: AgeingKeys,
    /// Bits of an ECC step, its code included.
    pub frame_bits: u32,
    pub frames_per_page: u32,
    pub pages_per_block: u32,
    pub partition_blocks: u32,
    /// Bits that are corrected in a step, and from how many on a read reports them.
    pub corrected_bits: u32,
    pub threshold_bits: u32,
    pub frames: Vec<FramesSummary>,
    pub constants: Vec<ConstantSummary>,
}

/// What the chip of the first variant of an experiment is like under each of these stresses.
///
/// Errors: an experiment that is wrong, or whose chip does not age.
pub fn ageing(text: &str, file_name: &str, base_dir: &Path, asked: &[Asked]) -> Result<AgeingSummary, LabError> {
    let variants = Experiment::parse(text, file_name)?.variants;
    let keys = variants.first().and_then(|variant| variant.stack.linux());
    let Some(keys) = keys else {
        return Err(LabError::Input(format!("{file_name}: [stack]: only the chips of Linux age here")));
    };
    let (spec, keys) = StackSpec::from_keys(keys, base_dir)
        .map_err(|error| LabError::Input(format!("{file_name}: [stack]: {error}")))?;
    let (Some(model), Some(of_ageing)) = (&spec.partition.ageing, keys.ageing) else {
        let text = "there is no [stack.ageing], so nothing ages: docs/ageing.md says what it may hold";
        return Err(LabError::Input(format!("{file_name}: {text}")));
    };
    let (ecc, geometry) = (spec.partition.driver.ecc, spec.partition.geometry);
    let frame_bits = (ecc.code.step_bytes + ecc.code.code_bytes) * 8;
    let (corrected_bits, threshold_bits) = (ecc.code.strength_bits, spec.partition.driver.threshold_bits());
    let frames = |asked: &Asked| {
        let rated_s = asked.years * YEAR_S * model.acceleration(asked.celsius);
        let errors = model.frame_errors(&Stress { erases: asked.erases, reads: asked.reads, rated_s }, frame_bits);
        FramesSummary {
            rate: errors.mean,
            mean_bits: errors.mean_bits(),
            variance_bits: errors.variance_bits(),
            overdispersion: errors.overdispersion(),
            probabilities: errors.probabilities(corrected_bits + 2),
            reported: errors.failure(threshold_bits - 1),
            failure: errors.failure(corrected_bits),
        }
    };
    let constant = |known: &ffslab_flash::AgeingConstant| ConstantSummary {
        name: known.name,
        value: known.value,
        status: known.status,
        source: known.source,
    };
    Ok(AgeingSummary {
        part: keys.part.unwrap_or_default(),
        keys: of_ageing,
        frame_bits,
        frames_per_page: geometry.page_bytes / ecc.code.step_bytes,
        pages_per_block: geometry.pages_per_block,
        partition_blocks: spec.partition.partition_blocks,
        corrected_bits,
        threshold_bits,
        frames: asked.iter().map(frames).collect(),
        constants: AGEING_CONSTANTS.iter().map(constant).collect(),
    })
}
