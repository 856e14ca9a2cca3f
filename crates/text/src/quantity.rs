//! Sizes and times as people write them: a plain number in the unit that the key names, or a text with its own unit.

use schemars::{json_schema, JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

/// A size in bytes. Written as an integer (bytes) or as a text: `"64 B"`, `"4 KiB"`, `"5 MiB"`, `"1 GiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A duration in whole microseconds. Written as an integer (microseconds) or as a text: `"50 us"`, `"100 ms"`,
/// `"30 s"`, `"5 min"`, `"2 h"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    pub fn ns(self) -> u64 {
        self.0.saturating_mul(1_000)
    }
}

struct Units {
    /// The kind of the value, for messages.
    what: &'static str,
    /// Examples of valid values, for messages.
    examples: &'static str,
    units: &'static [(&'static str, u64)],
}

/// What the schema says of every size.
pub const HOW_SIZES_ARE_WRITTEN: &str = "an integer number of bytes or a text such as \"4 KiB\", \"5 MiB\"";

const SIZES: Units = Units {
    what: "size",
    examples: HOW_SIZES_ARE_WRITTEN,
    units: &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)],
};

const TIMES: Units = Units {
    what: "time",
    examples: "an integer number of microseconds or a text such as \"100 ms\", \"30 s\"",
    units: &[("us", 1), ("ms", 1_000), ("s", 1_000_000), ("min", 60_000_000), ("h", 3_600_000_000)],
};

impl Units {
    fn parse(&self, text: &str) -> Result<u64, String> {
        let text = text.trim();
        let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
        let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        let factor = self.units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor).ok_or_else(|| {
            format!("{} \"{text}\" has no known unit: write one of {} after the number", self.what, names.join(", "))
        })?;
        let broken = || format!("{} \"{text}\" is not a number with a unit: write {}", self.what, self.examples);
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(factor).ok_or_else(|| format!("{} \"{text}\" is too large", self.what));
        }
        let value = number.parse::<f64>().map_err(|_| broken())? * factor as f64;
        // Fractions are accepted if the result is whole: "1.5 KiB" is valid, "0.3 B" is not.
        if value.fract() != 0.0 || value > 9e15 {
            return Err(format!("{} \"{text}\" is no whole number of {}", self.what, self.units[0].0));
        }
        Ok(value as u64)
    }

    fn schema(&self) -> Schema {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        json_schema!({
            "description": self.examples,
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string", "pattern": format!("^\\s*[0-9][0-9_.]*\\s*({})\\s*$", names.join("|")) }
            ]
        })
    }
}

impl Visitor<'_> for &Units {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.examples)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<u64, E> {
        Ok(value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        u64::try_from(value).map_err(|_| E::custom(format!("{} {value} is negative", self.what)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<u64, E> {
        self.parse(text).map_err(E::custom)
    }
}

macro_rules! quantity {
    ($name:ident, $units:expr) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(&$units).map($name)
            }
        }

        impl $name {
            /// The quantity in a text with a unit. Errors: what is wrong with it and what would be right.
            pub fn from_text(text: &str) -> Result<$name, String> {
                $units.parse(text).map($name)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $units.schema()
            }
        }
    };
}

quantity!(Bytes, SIZES);
quantity!(Micros, TIMES);

#[cfg(test)]
mod tests {
    use super::*;

    fn size(json: &str) -> Result<u64, String> {
        serde_json::from_str::<Bytes>(json).map(|b| b.0).map_err(|e| e.to_string())
    }

    fn time(json: &str) -> Result<u64, String> {
        serde_json::from_str::<Micros>(json).map(|t| t.0).map_err(|e| e.to_string())
    }

    #[test]
    fn sizes_are_numbers_or_texts() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("\"64 B\""), Ok(64));
        assert_eq!(size("\"4KiB\""), Ok(4096));
        assert_eq!(size("\"1.5 KiB\""), Ok(1536));
        assert_eq!(size("\"5 MiB\""), Ok(5 << 20));
    }

    #[test]
    fn wrong_sizes_say_what_would_be_right() {
        assert!(size("\"5 MB\"").unwrap_err().contains("write one of B, KiB, MiB, GiB"));
        assert!(size("\"KiB\"").unwrap_err().contains("not a number"));
        assert!(size("-1").unwrap_err().contains("negative"));
        assert!(size("\"0.3 B\"").unwrap_err().contains("whole number of B"));
        assert!(size("true").unwrap_err().contains("an integer number of bytes"));
        assert!(size("\"99999999999999 GiB\"").unwrap_err().contains("too large"));
    }

    #[test]
    fn times_are_numbers_or_texts() {
        assert_eq!(time("170000"), Ok(170_000));
        assert_eq!(time("\"30 s\""), Ok(30_000_000));
        assert_eq!(time("\"1.5 ms\""), Ok(1_500));
        assert_eq!(time("\"5 min\""), Ok(300_000_000));
        assert!(time("\"3 days\"").unwrap_err().contains("us, ms, s, min, h"));
    }
}
