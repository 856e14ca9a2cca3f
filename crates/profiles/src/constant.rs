//! A constant of a profile: a value with its source and how far it can be trusted.

use ffslab_sim::units::us_to_ns;
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
pub(crate) struct Sourced<T> {
    pub value: T,
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
pub(crate) struct Amount(pub f64);

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

/// What an optional key says.
pub(crate) fn said<T: Copy>(constant: &Option<Sourced<T>>) -> Option<T> {
    constant.as_ref().map(|constant| constant.value)
}

/// A time in us, in ns; one that is absent is none. A price of a byte in ns becomes one in ps by the same factor.
pub(crate) fn ns_of_us(amount: &Option<Sourced<Amount>>) -> u64 {
    said(amount).map_or(0, |amount| us_to_ns(amount.0))
}

/// A time in ns; one that is absent is none.
pub(crate) fn whole_ns(amount: &Option<Sourced<Amount>>) -> u64 {
    said(amount).map_or(0, |amount| amount.0.round() as u64)
}

/// A size or a number of things.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Whole(pub u64);

impl TryFrom<f64> for Whole {
    type Error = String;
    fn try_from(value: f64) -> Result<Whole, String> {
        if value.fract() == 0.0 && (1.0..=1e6).contains(&value) {
            Ok(Whole(value as u64))
        } else {
            Err(format!("{value} must be a whole number from 1 to 1e6"))
        }
    }
}

/// Nanoseconds in the file, picoseconds here, so that cycles of any clock add up exactly.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "f64")]
pub(crate) struct Picoseconds(pub u64);

impl TryFrom<f64> for Picoseconds {
    type Error = String;
    fn try_from(value: f64) -> Result<Picoseconds, String> {
        if !(0.0..=1e9).contains(&value) {
            return Err(format!("{value} ns must be from 0 to 1e9"));
        }
        // The factor from ns to ps is the same as that from us to ns.
        Ok(Picoseconds(us_to_ns(value)))
    }
}
