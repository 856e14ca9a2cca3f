//! A measured case as the experiment that it is, so that anybody can run it, change it and look at it.

use crate::cases::{read_cases, read_text};
use crate::glob;
use crate::parallel::nothing_matches;
use crate::stacks;
use ffslab_lab::data::toml_of;
use ffslab_lab::LabError;
use serde_json::{json, Value};
use std::path::Path;

/// The cases of a file that match the pattern, or all: the name of each, and its experiment as TOML.
///
/// Errors: as those of [`crate::validate`]; a case that was measured where no experiment runs.
pub fn experiments(path: &Path, only: Option<&str>) -> Result<Vec<(String, String)>, LabError> {
    let text = read_text(path)?;
    let cases = read_cases(path, &text)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut found = Vec::new();
    for (case, line) in cases.iter().zip(lines) {
        if only.is_some_and(|pattern| !glob::matches(pattern, &case.id)) {
            continue;
        }
        let refused = |error: &dyn std::fmt::Display| LabError::Input(format!("{}: {error}", case.id));
        let keys = stacks::keys_of(case).map_err(|error| refused(&error))?;
        // What people read are the steps as they were measured, and not as they are understood.
        let raw: Value = serde_json::from_str(line).map_err(|error| refused(&error))?;
        let mut experiment = json!({
            "title": case.id,
            "seed": case.seed,
            // A case says itself when a new partition has been made usable.
            "initial": "fresh",
            "stack": keys,
            "setup": raw["setup"],
            "measure": raw["measure"],
        });
        if !case.programs.is_empty() {
            experiment["program"] = raw["programs"].clone();
        }
        found.push((case.id.clone(), toml_of(&experiment.into()).map_err(|error| refused(&error))?));
    }
    match (found.is_empty(), only) {
        (true, Some(pattern)) => Err(nothing_matches(path, pattern, cases.len(), &cases[0].id)),
        _ => Ok(found),
    }
}
