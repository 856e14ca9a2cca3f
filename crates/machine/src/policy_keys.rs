//! The `[stack.policy]` table of an experiment: who decides in place of the kernel, at the decision points of the stack.

use crate::error::MachineError;
use crate::file_systems::Mountable;
use ffslab_policy::{CandidateTable, FreeSpec, LevellingSpec, SpecError, VictimSpec, Victims};
use ffslab_workload::text::{join_names, nearest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules that stand in for the kernel's own; `ffslab policy ls` lists them. Without the table all layers decide by their own
/// rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyKeys {
    /// Which block garbage collection takes: a name (`"greedy"`, `"d-choices(4)"`), a score of which the highest wins
    /// (`"invalid / (2*valid) * age"`), or `"kernel"` for the file system's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<String>,
    /// UBI: which free erase block is written next, such as `"least-worn"`; `"kernel"`: UBI's own rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_block: Option<String>,
    /// UBI: when data move to level wear, such as `"threshold(64)"`; `"kernel"`: UBI's own rule with `wl_threshold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levelling: Option<String>,
    /// Start value of what policies draw at random.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
}

fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

/// Where a layer below a file system asks a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionPoint {
    Victim,
    FreeBlock,
    Levelling,
}

impl DecisionPoint {
    /// Its key in `[stack.policy]`.
    pub fn key(self) -> &'static str {
        match self {
            DecisionPoint::Victim => "victim",
            DecisionPoint::FreeBlock => "free_block",
            DecisionPoint::Levelling => "levelling",
        }
    }
}

/// The policies of a stack, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// `None`: the file system's own rule.
    pub victim: Option<VictimSpec>,
    pub free_block: Option<FreeSpec>,
    pub levelling: Option<LevellingSpec>,
    pub seed: u64,
}

impl Policies {
    /// What asks the victim policy at a mount; `None`: the file system keeps its own rule.
    pub fn victims(&self, table: CandidateTable) -> Option<Victims> {
        Victims::of(self.victim.as_ref()?, self.seed, table)
    }
}

impl PolicyKeys {
    /// The policies that the keys name, for a file system.
    ///
    /// Errors: a name that is not known, a score with a mistake, a decision that the file system and what is below it do
    /// not have.
    pub fn policies(&self, fs: &str, mountable: Option<&dyn Mountable>) -> Result<Policies, MachineError> {
        let points = mountable.map_or(&[][..], |mountable| mountable.decision_points());
        let given = [
            (DecisionPoint::Victim, &self.victim),
            (DecisionPoint::FreeBlock, &self.free_block),
            (DecisionPoint::Levelling, &self.levelling),
        ];
        for (point, value) in given {
            let is_own = value.as_deref().is_none_or(|value| value.trim() == ffslab_policy::OWN_RULE);
            if !is_own && !points.contains(&point) {
                let known: Vec<&str> = points.iter().map(|point| point.key()).collect();
                let has = if known.is_empty() { "no decision for a policy".to_string() } else { join_names(&known) };
                return Err(MachineError::NoDecision { key: point.key(), fs: fs.to_string(), has });
            }
        }
        let by_name = |value: &Option<String>| value.clone().filter(|value| value.trim() != ffslab_policy::OWN_RULE);
        Ok(Policies {
            victim: by_name(&self.victim).map(|text| VictimSpec::parse(&text)).transpose().map_err(wrong("victim"))?,
            free_block: by_name(&self.free_block)
                .map(|text| FreeSpec::parse(&text))
                .transpose()
                .map_err(wrong("free_block"))?,
            levelling: by_name(&self.levelling)
                .map(|text| LevellingSpec::parse(&text))
                .transpose()
                .map_err(wrong("levelling"))?,
            seed: self.seed,
        })
    }
}

/// What is wrong with the value of a key, with the nearest name that there is.
fn wrong(key: &'static str) -> impl Fn(SpecError) -> MachineError {
    move |error| {
        let hint = match &error {
            SpecError::Unknown { name, known } => nearest(name, known.iter().map(String::as_str)),
            _ => None,
        };
        let hint = hint.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default();
        MachineError::Policy { key, says: format!("{error}{hint}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file_systems::mountable;

    fn error(fs: &str, keys: PolicyKeys) -> String {
        keys.policies(fs, Some(mountable(fs).unwrap())).unwrap_err().to_string()
    }

    #[test]
    fn mistakes_are_told_with_what_there_is() {
        let victim = |text: &str| PolicyKeys { victim: Some(text.into()), ..PolicyKeys::default() };
        let unknown = error("jffs2", victim("gredy"));
        assert!(unknown.starts_with("policy.victim: unknown policy `gredy`; there are kernel, greedy,"), "{unknown}");
        assert!(unknown.ends_with("did you mean `greedy`?"), "{unknown}");
        let score = error("ubifs", victim("invalid / vald"));
        assert!(score.starts_with("policy.victim: `invalid / vald`, character 11: unknown name `vald`"), "{score}");
        let levelling = PolicyKeys { levelling: Some("threshold(5)".into()), ..PolicyKeys::default() };
        assert_eq!(
            error("yaffs2", levelling.clone()),
            "policy.levelling: yaffs2 and what is below it do not decide that; there is victim"
        );
        assert!(levelling.policies("ubifs", Some(mountable("ubifs").unwrap())).is_ok());
        let own = PolicyKeys { levelling: Some("kernel".into()), ..victim("kernel") };
        let policies = own.policies("yaffs2", Some(mountable("yaffs2").unwrap())).unwrap();
        assert_eq!(policies, Policies::default());
    }
}
