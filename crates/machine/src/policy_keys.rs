//! The `[stack.policy]` table of an experiment: who decides in place of the kernel, at the decision points of the stack.

use crate::error::MachineError;
use ffslab_linux::PagePolicies;
use ffslab_policy::{
    own_rule_or, CandidateTable, EvictionSpec, FreeSpec, LevellingSpec, SpecError, StreamSpec, VictimSpec, Victims,
};
use ffslab_text::words::nearest;
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
    /// What is read ahead when a page is missing in the page cache: `"none"`, `"adaptive(256)"` ..., or `"kernel"` for what the kernel
    /// does within `read_ahead_KiB`, which the other rules do not look at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead: Option<String>,
    /// Which of the dirty files the flusher writes next: `"largest-first"`, `"inode-order"` ..., or `"kernel"` for the one that has
    /// been dirty longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_back: Option<String>,
    /// Which free block is written next (`"least-worn"`, `"fifo"`), or `"kernel"`: UBIFS (its UBI), flash translation layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<String>,
    /// When data move only to level wear, and from which block (`"threshold(100)"`, `"dual-pool(64)"`), or `"kernel"`: UBIFS (its
    /// UBI), flash translation layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levelling: Option<String>,
    /// Flash translation layers: which writes go to blocks of their own because they will soon be written again (`"hot-cold"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Flash translation layer `dftl`: which cached entry of the map is given up (`"segmented-lru"`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_eviction: Option<String>,
    /// Start value of what policies draw at random.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seed: u64,
}

/// Who decides beside file systems.
const OF_LAYERS: &str = "device = { ftl = ... }";
const OF_PAGE_CACHE: &str = "the page cache of Linux";

fn is_zero(seed: &u64) -> bool {
    *seed == 0
}

/// The policies of a stack, checked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// `None`: the file system's own rule.
    pub victim: Option<VictimSpec>,
    /// What the page cache decides otherwise than the kernel.
    pub pages: PagePolicies,
    pub seed: u64,
}

impl Policies {
    /// What asks the victim policy at a mount; `None`: the file system keeps its own rule.
    pub fn victims(&self, table: CandidateTable) -> Option<Victims> {
        Victims::of(self.victim.as_ref()?, self.seed, table)
    }
}

impl PolicyKeys {
    /// Errors: a rule is given for another decision than those that are taken; where no file system takes it, who does is named.
    pub(crate) fn only(&self, taken: &[&str], of: &str) -> Result<(), MachineError> {
        let given = [
            ("victim", &self.victim, OF_LAYERS),
            ("free", &self.free, OF_LAYERS),
            ("levelling", &self.levelling, OF_LAYERS),
            ("read_ahead", &self.read_ahead, OF_PAGE_CACHE),
            ("write_back", &self.write_back, OF_PAGE_CACHE),
            ("stream", &self.stream, OF_LAYERS),
            ("map_eviction", &self.map_eviction, OF_LAYERS),
        ];
        match given.into_iter().find(|(key, given, _)| given.is_some() && !taken.contains(key)) {
            Some((key, _, owners)) => {
                Err(MachineError::NoDecision { key, fs: of.to_string(), owners: owners.to_string() })
            }
            None => Ok(()),
        }
    }

    /// Errors: a page cache is to decide, and there is none.
    pub(crate) fn without_page_cache(&self, system: &'static str) -> Result<(), MachineError> {
        let given = [("read_ahead", self.read_ahead.is_some()), ("write_back", self.write_back.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(MachineError::NoPageCache { key, system }),
            None => Ok(()),
        }
    }

    /// The rule for the next free block; `None`: the layer's own one.
    ///
    /// Errors: a name that is not known.
    pub fn free(&self) -> Result<Option<FreeSpec>, MachineError> {
        unless_own(self.free.as_deref(), FreeSpec::parse).map_err(wrong("free"))
    }

    /// The rule for levelling wear; `None`: the layer's own one.
    ///
    /// Errors: a name that is not known, a wrong parameter.
    pub fn levelling(&self) -> Result<Option<LevellingSpec>, MachineError> {
        unless_own(self.levelling.as_deref(), LevellingSpec::parse).map_err(wrong("levelling"))
    }

    /// The rule for the stream of a write; `None`: the layer's own one.
    ///
    /// Errors: a name that is not known.
    pub fn stream(&self) -> Result<Option<StreamSpec>, MachineError> {
        unless_own(self.stream.as_deref(), StreamSpec::parse).map_err(wrong("stream"))
    }

    /// The rule for entries of a cached map; `None`: the layer's own one.
    ///
    /// Errors: a name that is not known.
    pub fn map_eviction(&self) -> Result<Option<EvictionSpec>, MachineError> {
        unless_own(self.map_eviction.as_deref(), EvictionSpec::parse).map_err(wrong("map_eviction"))
    }
}

/// A rule by name; `None`: the layer's own one.
fn unless_own<T>(text: Option<&str>, parse: fn(&str) -> Result<T, SpecError>) -> Result<Option<T>, SpecError> {
    text.map_or(Ok(None), |text| own_rule_or(text, parse))
}

/// What is wrong with a victim policy, with the nearest name that there is.
pub(crate) fn wrong_victim(error: SpecError) -> MachineError {
    wrong("victim")(error)
}

/// What is wrong with the value of a key, with the nearest name that there is.
pub(crate) fn wrong(key: &'static str) -> impl Fn(SpecError) -> MachineError {
    move |error| {
        let hint = match &error {
            SpecError::Unknown { name, known } => nearest(name, known.iter().map(String::as_str)),
            _ => None,
        };
        let hint = hint.map(|name| format!(": did you mean `{name}`?")).unwrap_or_default();
        MachineError::Policy { key, says: format!("{error}{hint}") }
    }
}
