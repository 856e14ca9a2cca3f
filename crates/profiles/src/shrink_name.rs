//! What ends `drop_caches`, by the first kernel that has the rule.

use ffslab_linux::ShrinkRules;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) enum ShrinkName {
    #[serde(rename = "2.6")]
    V2_6,
    #[serde(rename = "3.12")]
    V3_12,
    #[serde(rename = "5.15")]
    V5_15,
}

impl From<ShrinkName> for ShrinkRules {
    fn from(name: ShrinkName) -> ShrinkRules {
        match name {
            ShrinkName::V2_6 => ShrinkRules::V2_6,
            ShrinkName::V3_12 => ShrinkRules::V3_12,
            ShrinkName::V5_15 => ShrinkRules::V5_15,
        }
    }
}
