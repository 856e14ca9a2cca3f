//! A point in time as measured cases give it, to the nanosecond.

use ffslab_sim::units::{ns_to_us, us_to_ns};
use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::{de, Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// A time in microseconds with up to three decimals; written as a whole number where it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMicros {
    pub ns: u64,
}

/// Longer than any machine is up.
const MOST_US: f64 = 1e15;

impl Serialize for ExactMicros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.ns % 1_000 {
            0 => serializer.serialize_u64(self.ns / 1_000),
            _ => serializer.serialize_f64(ns_to_us(self.ns)),
        }
    }
}

impl<'de> Deserialize<'de> for ExactMicros {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ExactMicros, D::Error> {
        let us = f64::deserialize(deserializer)?;
        if !(0.0..=MOST_US).contains(&us) {
            return Err(de::Error::custom(format!("{us}: a time from 0 us on is needed")));
        }
        Ok(ExactMicros { ns: us_to_ns(us) })
    }
}

impl JsonSchema for ExactMicros {
    fn schema_name() -> Cow<'static, str> {
        "ExactMicros".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}
