//! The `[stack.policy]` table of an experiment: who decides in place of the kernel, at the decision points of the stack.

use crate::error::MachineError;
use crate::file_systems::{self, Mountable};
use ffslab_linux::PagePolicies;
use ffslab_policy::{
    own_rule_or, CandidateTable, EvictionSpec, FreeSpec, LevellingSpec, ReadAheadPolicy, SpecError, StreamSpec,
    VictimSpec, Victims, WriteBackOrder,
};
use ffslab_text::words::{join_names, nearest};
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
    /// The policies that the keys name, for a file system.
    ///
    /// Errors: a name that is not known, a score with a mistake, a file system whose victims no policy chooses, no file system
    /// where the page cache is to decide.
    pub fn policies(&self, fs: &str, mountable: Option<&dyn Mountable>) -> Result<Policies, MachineError> {
        self.only(&["victim", "free", "levelling", "read_ahead", "write_back"], fs)?;
        self.check_wear(fs, mountable)?;
        Ok(Policies { victim: self.victim(fs, mountable)?, pages: self.pages(fs, mountable)?, seed: self.seed })
    }

    /// Errors: a page cache is to decide, and there is none.
    pub(crate) fn without_page_cache(&self, system: &'static str) -> Result<(), MachineError> {
        let given = [("read_ahead", self.read_ahead.is_some()), ("write_back", self.write_back.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(MachineError::NoPageCache { key, system }),
            None => Ok(()),
        }
    }

    /// Errors: a name that is not known, a file system that asks nobody which block is written next.
    fn check_wear(&self, fs: &str, mountable: Option<&dyn Mountable>) -> Result<(), MachineError> {
        let given = [("free", self.free()?.is_some()), ("levelling", self.levelling()?.is_some())];
        let takes = mountable.is_some_and(|mountable| mountable.takes_wear_policies());
        match given.into_iter().find(|(_, is_given)| *is_given && !takes) {
            Some((key, _)) => {
                let owners = owners(|of| of.takes_wear_policies());
                Err(MachineError::NoDecision { key, fs: fs.to_string(), owners })
            }
            None => Ok(()),
        }
    }

    fn pages(&self, fs: &str, mountable: Option<&dyn Mountable>) -> Result<PagePolicies, MachineError> {
        let read_ahead =
            self.read_ahead.as_deref().map(ReadAheadPolicy::parse).transpose().map_err(wrong("read_ahead"))?;
        let write_back =
            self.write_back.as_deref().map(WriteBackOrder::parse).transpose().map_err(wrong("write_back"))?;
        let pages = PagePolicies { read_ahead: read_ahead.flatten(), write_back: write_back.flatten() };
        let given = [("read_ahead", pages.read_ahead.is_some()), ("write_back", pages.write_back.is_some())];
        match given.into_iter().find(|(_, is_given)| *is_given && mountable.is_none()) {
            Some((key, _)) => {
                let owners = owners(|_| true);
                Err(MachineError::NoDecision { key, fs: fs.to_string(), owners })
            }
            None => Ok(pages),
        }
    }

    fn victim(&self, fs: &str, mountable: Option<&dyn Mountable>) -> Result<Option<VictimSpec>, MachineError> {
        let Some(text) = &self.victim else { return Ok(None) };
        let victim = VictimSpec::parse(text).map_err(wrong_victim)?;
        if victim.is_own_rule() {
            return Ok(None);
        }
        if !mountable.is_some_and(|mountable| mountable.takes_victim_policy()) {
            let owners = owners(|of| of.takes_victim_policy());
            return Err(MachineError::NoDecision { key: "victim", fs: fs.to_string(), owners });
        }
        Ok(Some(victim))
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

    /// Errors: a rule is given for another decision than those that are taken.
    pub(crate) fn only(&self, taken: &[&str], fs: &str) -> Result<(), MachineError> {
        let of_layers = "device = { ftl = ... }";
        let given = [
            ("victim", &self.victim, owners(|of| of.takes_victim_policy()) + ", and " + of_layers),
            ("free", &self.free, owners(|of| of.takes_wear_policies()) + ", and " + of_layers),
            ("levelling", &self.levelling, owners(|of| of.takes_wear_policies()) + ", and " + of_layers),
            ("read_ahead", &self.read_ahead, "the page cache of Linux".to_string()),
            ("write_back", &self.write_back, "the page cache of Linux".to_string()),
            ("stream", &self.stream, of_layers.to_string()),
            ("map_eviction", &self.map_eviction, of_layers.to_string()),
        ];
        match given.into_iter().find(|(key, given, _)| given.is_some() && !taken.contains(key)) {
            Some((key, _, owners)) => Err(MachineError::NoDecision { key, fs: fs.to_string(), owners }),
            None => Ok(()),
        }
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

/// Names of the file systems that ask for a policy.
fn owners(asks: fn(&dyn Mountable) -> bool) -> String {
    let asking = file_systems::all().into_iter().filter(|fs| fs.mountable.is_some_and(asks));
    join_names(&asking.map(|fs| fs.name).collect::<Vec<_>>())
}

/// What is wrong with a victim policy, with the nearest name that there is.
pub(crate) fn wrong_victim(error: SpecError) -> MachineError {
    wrong("victim")(error)
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
        let none = victim("greedy").policies("none", None).unwrap_err().to_string();
        assert_eq!(none, "policy.victim: with fs = \"none\" no policy chooses; one does with jffs2, yaffs2 and ubifs");
        let pages = PolicyKeys { read_ahead: Some("fixd(64)".into()), ..PolicyKeys::default() };
        let unknown = error("jffs2", pages);
        assert!(
            unknown.starts_with("policy.read_ahead: unknown policy `fixd`; there are kernel, none, fixed,"),
            "{unknown}"
        );
        assert!(unknown.ends_with("did you mean `fixed`?"), "{unknown}");
        let order = PolicyKeys { write_back: Some("inode-order".into()), ..PolicyKeys::default() };
        let none = order.policies("none", None).unwrap_err().to_string();
        assert!(
            none.starts_with("policy.write_back: with fs = \"none\" no policy chooses; one does with jffs2"),
            "{none}"
        );
        let no_cache = order.without_page_cache("RTEMS").unwrap_err().to_string();
        assert_eq!(no_cache, "policy.write_back: RTEMS has no page cache that could decide: leave it out");
        let free = |text: &str| PolicyKeys { free: Some(text.into()), ..PolicyKeys::default() };
        let unknown = error("ubifs", free("leastworn"));
        assert!(unknown.starts_with("policy.free: unknown policy `leastworn`; there are kernel, first,"), "{unknown}");
        assert!(unknown.ends_with("did you mean `least-worn`?"), "{unknown}");
        assert_eq!(
            error("jffs2", free("fifo")),
            "policy.free: with fs = \"jffs2\" no policy chooses; one does with ubifs"
        );
        let levelling = PolicyKeys { levelling: Some("dual-pool(0)".into()), ..PolicyKeys::default() };
        assert!(error("ubifs", levelling).starts_with("policy.levelling: policy `dual-pool`: erases = `0`"));
        assert_eq!(free("kernel").policies("jffs2", Some(mountable("jffs2").unwrap())).unwrap(), Policies::default());
        let policies = victim("kernel").policies("yaffs2", Some(mountable("yaffs2").unwrap())).unwrap();
        assert_eq!(policies, Policies::default());
    }
}
