//! Which variants have a setup in common.

#[cfg(target_os = "linux")]
use super::processes;
use super::to_share::{Answers, ToShare};
use crate::estimate;
use crate::fingerprint::Fingerprint;
use crate::ready::Ready;
use crate::result::SharedSetups;
use crate::run::{first_mount, RunError};
use std::collections::HashMap;

/// Calls of a setup from which on it is shared. Fewer take less time than a process does.
const CALLS_LEAST: u64 = 5_000;

/// The system on which code of C runs.
const BARE: &str = "bare";

/// Runs the variants that have a setup in common with others. `report` gets the number of calls that a variant at a place has made, and says whether to go on.
///
/// Errors: it is not to go on.
pub(crate) fn run(
    to_share: &ToShare,
    report: &mut dyn FnMut(usize, Option<u64>) -> bool,
) -> Result<(Answers, SharedSetups), RunError> {
    let groups = groups(to_share);
    #[cfg(target_os = "linux")]
    if !groups.is_empty() {
        return processes::run(to_share, groups, report);
    }
    let _ = (groups, report);
    Ok((to_share.running.iter().map(|_| None).collect(), SharedSetups::default()))
}

/// Places of variants with one setup, several in each group, in the order of their first ones.
fn groups(to_share: &ToShare) -> Vec<Vec<usize>> {
    if !cfg!(target_os = "linux") {
        return Vec::new();
    }
    let mut number_of: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (place, ready) in to_share.running.iter().enumerate() {
        let variant = ready.variant;
        let calls = estimate::calls(variant.setup.iter(), to_share.traces, ready.spec.medium_bytes());
        if calls < CALLS_LEAST || !is_forked(ready) {
            continue;
        }
        let number = *number_of.entry(setup_of(ready)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[number].push(place);
    }
    groups.retain(|places| places.len() > 1);
    groups
}

/// All that a setup depends on.
fn setup_of(ready: &Ready) -> String {
    let variant = ready.variant;
    let mut hash = Fingerprint::of_build("");
    // With the paths of images, which are read when the machine is built.
    hash.fields(&ready.spec);
    hash.fields(&(ready.state, variant.seed, variant.settles, first_mount(&variant.measure)));
    hash.fields(&variant.setup);
    // The computing of a program that has others beside it is not known.
    hash.number(variant.programs.is_empty().into());
    hash.finish()
}

/// Whether a machine lives in its process alone: code of C is watched by a thread, which is not there in a process that was forked.
fn is_forked(ready: &Ready) -> bool {
    let names_library = |keys: &toml::Table| keys.keys().any(|key| key.ends_with("library"));
    let keys = toml::Table::try_from(&ready.keys).unwrap_or_default();
    let mut tables = keys.values().filter_map(toml::Value::as_table);
    ready.keys.keys().system().name != BARE && !names_library(&keys) && !tables.any(names_library)
}
