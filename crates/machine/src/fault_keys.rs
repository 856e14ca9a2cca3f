//! The `[stack.faults]` table of an experiment: what is wrong with the chip.

use crate::error::MachineError;
use ffslab_flash::{Faults, Weak};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Faults of the chip by the names of Linux's nandsim, whose module parameters they are. Blocks and pages are counted from the
/// beginning of the chip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultKeys {
    /// Erase blocks that are marked as bad from the factory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub badblocks: Vec<u32>,
    /// Erase blocks whose erase fails after a number of good ones: "7:100", or "7" for 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakblocks: Vec<String>,
    /// Pages whose program fails after a number of good ones: "700:100", or "700" for 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weakpages: Vec<String>,
    /// Pages that cannot be read after a number of good reads: "700:100", or "700" for 3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gravepages: Vec<String>,
    /// Most bits that flip in one read; one read of 1024 on average is hit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bitflips: u32,
    /// Start value of what is drawn for `bitflips`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl FaultKeys {
    /// As the chip takes them.
    ///
    /// Errors: a text that is no block or page with a number of operations.
    pub fn faults(&self) -> Result<Faults, MachineError> {
        let weak = |list: &'static str, texts: &[String]| -> Result<Vec<Weak>, MachineError> {
            let parsed = texts.iter().map(|text| text.parse());
            parsed.collect::<Result<_, _>>().map_err(|why| MachineError::Fault { list, why })
        };
        Ok(Faults {
            badblocks: self.badblocks.clone(),
            weakblocks: weak("weakblocks", &self.weakblocks)?,
            weakpages: weak("weakpages", &self.weakpages)?,
            gravepages: weak("gravepages", &self.gravepages)?,
            bitflips: self.bitflips,
            seed: self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_numbers_with_a_count_of_good_operations() {
        let keys = FaultKeys { weakblocks: vec!["7".into(), "8:100".into()], ..FaultKeys::default() };
        let numbers: Vec<_> =
            keys.faults().unwrap().weakblocks.iter().map(|weak| (weak.number, weak.good_operations)).collect();
        assert_eq!(numbers, [(7, 3), (8, 100)]);
        let wrong = FaultKeys { weakpages: vec!["x".into()], ..FaultKeys::default() };
        assert!(wrong
            .faults()
            .unwrap_err()
            .to_string()
            .starts_with("faults.weakpages: \"x\" is no weak block or page"));
    }
}
