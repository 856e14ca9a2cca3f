//! The versions of Linux and their rules (`profiles/kernels.toml`): which rules a version has, since and until when, and which faults it
//! has that lose data. A version between two that are listed has the rules that hold by then.

use super::version::Version;
use crate::constant::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toml::{Table, Value};

pub(crate) const FILE: &str = "profiles/kernels.toml";

pub(crate) static LINUX: LazyLock<Linux> =
    LazyLock::new(|| Linux::parse(include_str!("../../../../profiles/kernels.toml")).expect("tests read it"));

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Linux {
    kernels: Vec<Listed>,
    rules: BTreeMap<String, Vec<Rule>>,
}

/// A version that is listed.
#[derive(Clone, Debug, Deserialize)]
struct Listed {
    version: Version,
    title: Option<String>,
    /// Which sources were read.
    read: Option<String>,
    /// What holds for it in place of the rules.
    #[serde(flatten)]
    own: Table,
}

/// A value of a key and the first version that has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// The version that brought it.
    since: Option<Version>,
    /// The first version in which it was seen, where nobody looked when it came.
    by: Option<Version>,
    /// Older series whose stable releases took it over.
    #[serde(default)]
    also_in: Vec<Version>,
    value: Value,
    /// What a program loses that meets it.
    fault: Option<String>,
    source: String,
    status: Status,
}

impl Rule {
    fn begins(&self) -> Option<Version> {
        self.since.or(self.by)
    }

    /// The first version that has it, as people read it.
    fn first(&self) -> Option<String> {
        match (self.since, self.by) {
            (Some(since), _) => Some(since.to_string()),
            (None, by) => by.map(|by| format!("{by} or earlier")),
        }
    }

    fn holds_in(&self, version: Version) -> bool {
        self.begins().is_none_or(|first| first <= version) || self.also_in.contains(&version)
    }
}

/// Which of the rules of a key a version has.
fn held(rules: &[Rule], version: Version) -> Option<usize> {
    rules.iter().rposition(|rule| rule.holds_in(version))
}

/// Since when and until when a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub since: Option<String>,
    pub until: Option<String>,
}

/// What a program loses that meets a fault of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KernelFault {
    /// The key that says whether the kernel has it.
    pub key: String,
    /// What happens.
    pub fault: String,
    /// Whether this version has it in its last stable release.
    pub present: bool,
    /// The first version without it.
    pub mended_in: Option<String>,
    /// Who mended it.
    pub source: String,
}

impl Linux {
    pub fn parse(text: &str) -> Result<Linux, toml::de::Error> {
        toml::from_str(text)
    }

    /// The names of the versions that are listed, the oldest first.
    pub fn names(&self) -> Vec<String> {
        self.kernels.iter().map(|kernel| kernel.version.to_string()).collect()
    }

    /// The version that a name stands for: it is listed, or stands between two that are.
    fn version(&self, name: &str) -> Option<Version> {
        let (version, _) = Version::of(name)?;
        let (oldest, newest) = (self.kernels.first()?.version, self.kernels.last()?.version);
        (oldest..=newest).contains(&version).then_some(version)
    }

    /// The version without its stable release: 6.1 of 6.1.192. `None`: its rules are not known.
    pub fn series(&self, name: &str) -> Option<String> {
        Some(self.version(name)?.to_string())
    }

    /// The profile of a version as the text of a file. `None`: its rules are not known.
    pub fn profile(&self, name: &str) -> Option<String> {
        let version = self.version(name)?;
        let listed = self.kernels.iter().find(|kernel| kernel.version == version);
        let mut table = Table::new();
        let is_read = listed.is_some_and(|kernel| kernel.read.is_some());
        for (key, rules) in &self.rules {
            let Some(at) = held(rules, version) else { continue };
            let is_dated = rules[at..].iter().take(2).all(|rule| rule.by.is_none());
            let status = if is_read || is_dated { rules[at].status } else { Status::Unverified };
            let mut constant = Table::new();
            constant.insert("value".to_string(), rules[at].value.clone());
            constant.insert("source".to_string(), Value::from(rules[at].source.as_str()));
            constant.insert("status".to_string(), Value::try_from(status).expect("a status is a word"));
            table.insert(key.clone(), constant.into());
        }
        table.extend(listed.into_iter().flat_map(|kernel| kernel.own.clone()));
        let title = listed.and_then(|kernel| kernel.title.clone()).unwrap_or_else(|| format!("Linux {version}"));
        table.insert("title".to_string(), title.into());
        Some(table.to_string())
    }

    /// Since when and until when the rule holds that a version has of a key. `None`: the version is not known, or has no rule of it but one of
    /// its own.
    pub fn span(&self, name: &str, key: &str) -> Option<Span> {
        let version = self.version(name)?;
        if self.kernels.iter().any(|kernel| kernel.version == version && kernel.own.contains_key(key)) {
            return None;
        }
        let rules = self.rules.get(key)?;
        let at = held(rules, version)?;
        let is_of_stable = rules[at].begins().is_some_and(|first| first > version);
        let since = if is_of_stable { Some(format!("{version}, stable releases")) } else { rules[at].first() };
        let until = rules.get(at + 1).and_then(Rule::first);
        Some(Span { since, until })
    }

    /// The faults that were mended in this version or after it.
    pub fn faults(&self, name: &str) -> Vec<KernelFault> {
        let Some(version) = self.version(name) else { return Vec::new() };
        let mut found = Vec::new();
        for (key, rules) in &self.rules {
            for (at, rule) in rules.iter().enumerate() {
                let Some(fault) = &rule.fault else { continue };
                let mended = rules.get(at + 1);
                if mended.is_some_and(|mended| mended.begins().is_some_and(|first| first <= version)) {
                    continue;
                }
                found.push(KernelFault {
                    key: key.clone(),
                    fault: fault.clone(),
                    present: mended.is_none_or(|mended| !mended.holds_in(version)),
                    mended_in: mended.and_then(Rule::begins).map(|version| version.to_string()),
                    source: mended.unwrap_or(rule).source.clone(),
                });
            }
        }
        found
    }

    /// What people should know of a version that is not listed. `None`: it is, or `name` is none.
    pub fn note(&self, name: &str) -> Option<String> {
        let version = self.version(name)?;
        let (_, is_stable) = Version::of(name)?;
        let after = self.kernels.iter().position(|kernel| kernel.version >= version)?;
        let has_stable = is_stable.then(|| format!(" {name} is taken for the last stable release of {version}."));
        if self.kernels[after].version == version {
            return has_stable.map(|says| says.trim_start().to_string());
        }
        let (before, after) = (self.kernels[after.checked_sub(1)?].version, self.kernels[after].version);
        let changes = |rule: &&Rule| rule.begins().is_some_and(|first| before < first && first <= after);
        let changed = |kept: fn(&Rule) -> bool| {
            let keys = self.rules.iter();
            let found = keys.filter(|(_, rules)| rules.iter().filter(changes).any(kept)).map(|(key, _)| key.as_str());
            found.collect::<Vec<_>>().join(", ")
        };
        let mut says = format!(
            "Linux {version} is not among the listed kernels: it has the rules of {before} and what changed until then \
             (`ffslab profiles show {version}`)"
        );
        let unknown = changed(|rule| rule.since.is_none());
        if !unknown.is_empty() {
            says += &format!("; when these changed between {before} and {after} is not known, so they are those of {before}: {unknown}");
        }
        Some(format!("{says}.{}", has_stable.unwrap_or_default()))
    }

    /// The keys that have rules.
    #[cfg(test)]
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.rules.keys().map(String::as_str)
    }

    /// What stands in the wrong place: each complaint names the key or the version.
    #[cfg(test)]
    pub fn faults_of_order(&self) -> Vec<String> {
        let versions: Vec<Version> = self.kernels.iter().map(|kernel| kernel.version).collect();
        let kernels = (!versions.is_sorted()).then(|| "kernels".to_string());
        let is_wrong = |rules: &Vec<Rule>| {
            let later = |pair: &[Rule]| pair[0].begins() < pair[1].begins();
            let is_seen = |rule: &Rule| rule.by.is_none_or(|by| versions.contains(&by) && rule.since.is_none());
            let is_mended = rules.last().is_some_and(|rule| rule.fault.is_none());
            !(rules.windows(2).all(later) && rules.iter().all(is_seen) && is_mended)
        };
        kernels
            .into_iter()
            .chain(self.rules.iter().filter(|(_, rules)| is_wrong(rules)).map(|(key, _)| key.clone()))
            .collect()
    }

    /// Why there are no rules of a version: it is older or newer than all that are listed. `None`: it is no version, or there are.
    pub fn out_of_range(&self, name: &str) -> Option<String> {
        let (version, _) = Version::of(name)?;
        let (oldest, newest) = (self.kernels.first()?.version, self.kernels.last()?.version);
        if version < oldest {
            return Some(format!("it is older than {oldest}, the oldest one whose rules are known; "));
        }
        (version > newest).then(|| format!("it is newer than {newest}, the newest one whose rules are known; "))
    }
}

/// What people should know of a kernel that is named by a version which is not listed; `None`: nothing.
pub fn kernel_note(name: &str) -> Option<String> {
    LINUX.note(name)
}
