//! # profiles: chips, boards, kernels and block devices as files of numbers
//!
//! **Role.** Finds a profile by name or path and makes of it what the layers take: a board with its part and kernel
//! ([`Profile`]), what code costs on a board with RTEMS ([`rtems_board`]), what a block device costs ([`block_device`]). Shows every
//! number of one with its unit, source and status ([`show()`]). The built-in ones (the repository's `profiles/` folder) are part of
//! the binary; an experiment may name a file of its own instead, which may build on another one (`layers`).
//!
//! **Follows.** Nothing: each number names its source itself. Published driver times are totals of one operation that include the
//! chip and the bus. What the driver adds, and the power that it draws, is derived here, so that it stays the same when
//! another part is put on the board.
//!
//! **Leaves out.** What the numbers mean: that stands with the layers that spend them (`sim`, `linux`, `mtd`, `rtems`). Measuring
//! them: `ffslab calibrate` does.

mod board;
mod build_of_kernel;
mod built_in;
mod cards;
mod circumstances;
mod cpu;
mod driver;
mod ecc_name;
mod error;
mod keys;
mod layers;
mod names;
mod part;
mod profile;
mod program;
mod rtems;
mod show;
mod shrink_name;
mod spi;
mod template;

pub use board::{
    kernel_series, Board, KernelProfile, MlcRules, NandWaitName, SpiNandRules, Yaffs2Version, KERNEL_DEFAULT,
};
pub use build_of_kernel::with_words;
pub use built_in::is_path;
pub use cards::CardProfile;
pub use circumstances::Circumstances;
pub use driver::SimulatedChip;
pub use ecc_name::EccName;
pub use error::ProfileError;
pub use names::{nearest_names, unknown_profile};
pub use part::{
    Cell, ChipPower, CommandSet, EccRequired, EccStatus, LongestTimes, NandArray, NandCommands, NorArray, OnDieEcc,
    OobLayout, PageRead, Pairing, ParallelNorPart, Part, PartKind, SpiMode, SpiNandPart, SpiNorPart, SpiRead,
    WriteBuffer,
};
pub use profile::Profile;
pub use program::ProgramCosts;
pub use rtems::{block_device, card, rtems_board};
pub use show::{
    list, show, ConstantValue, DerivedCost, PartSummary, ProfileName, ShownConstant, ShownProfile, StatusCounts,
};
pub use spi::SpiController;
pub use template::template;

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How far a number can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The manufacturer's data sheet says so.
    Datasheet,
    /// Measured on the board or part.
    Measured,
    /// Inferred from what a machine was measured to do, as the value with which the simulation does the same; the source says from what.
    Fitted,
    /// Published by others who measured it, or read in source code.
    Published,
    /// An assumption; the source says why it was made.
    Unverified,
}

/// A value with its source and status. The unit is part of the key's name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: T,
    #[serde(deserialize_with = "not_empty")]
    source: String,
    status: Status,
    /// For a measured value: the interval that holds the true value with 95 % confidence.
    ci95: Option<[f64; 2]>,
}

/// In a file it may be the value alone, too (`layers`).
impl<T: JsonSchema> JsonSchema for Sourced<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("SourcedOr{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>();
        let status = generator.subschema_for::<Status>();
        json_schema!({ "anyOf": [value.clone(), {
            "type": "object",
            "properties": {
                "value": value,
                "source": { "type": "string", "minLength": 1 },
                "status": status,
                "ci95": { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 },
            },
            "required": ["value", "source", "status"],
            "additionalProperties": false,
        }] })
    }
}

/// A time, energy or power, which must be finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
struct Amount(f64);

impl TryFrom<f64> for Amount {
    type Error = String;
    fn try_from(value: f64) -> Result<Self, String> {
        if (0.0..=1e12).contains(&value) {
            Ok(Amount(value))
        } else {
            Err(format!("{value} is out of range: a number from 0 to 1e12 is needed"))
        }
    }
}

fn not_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Err(serde::de::Error::custom("`source` is empty: say where the number comes from"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
