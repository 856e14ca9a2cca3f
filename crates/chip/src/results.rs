//! The results folder: what `ffslab diff`, `stats` and `ffslab.Run.load` read.
//!
//! The files are those of `python/ffslab/files/results.py`; what stands there beside them is made from these.

use crate::error::ChipError;
use crate::parquet;
use ffslab_lab::result::Summary;
use ffslab_lab::{Columns, Session};
use ffslab_machine::StackTable;
use serde::Serialize;
use std::fs;
use std::path::Path;

const SUMMARY: &str = "summary.json";
const RESOLVED: &str = "resolved.toml";
const REQUESTS: &str = "requests.parquet";
const BLOCKS: &str = "blocks.parquet";
/// What Python adds.
const OTHERS: [&str; 3] = ["variants.parquet", "variants.csv", "report.html"];
const VARIANT: &str = "default";

/// What the results are of.
#[derive(Serialize)]
struct Resolved<'a> {
    title: &'a str,
    stack: &'a StackTable,
}

/// Refuses a folder that holds anything but results.
fn check_free(folder: &Path) -> Result<(), ChipError> {
    let ours = |name: &str| [SUMMARY, RESOLVED, REQUESTS, BLOCKS].contains(&name) || OTHERS.contains(&name);
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let name = entry.map_err(|error| ChipError::file(folder, &error))?.file_name();
        if !name.to_str().is_some_and(ours) {
            let text =
                format!("{}: not a results folder ({}): name a new or empty one", folder.display(), name.display());
            return Err(ChipError::Input(text));
        }
    }
    Ok(())
}

pub(crate) fn save(session: &mut Session, title: &str, seed: u64, folder: &Path) -> Result<(), ChipError> {
    check_free(folder)?;
    let result = session.result(VARIANT, "{}")?;
    let unwritable =
        |error: &dyn std::fmt::Display| ChipError::Input(format!("the results cannot be written: {error}"));
    let stack = toml::to_string(&Resolved { title, stack: session.keys() }).map_err(|error| unwritable(&error))?;
    let resolved = format!("# What a program did on libffslab: no experiment that could be run again.\n{stack}");
    let summary = Summary::new(title, seed, vec![result.summary], Vec::new());
    let summary = serde_json::to_string_pretty(&summary).map_err(|error| unwritable(&error))?;
    let packed = |columns: Columns| parquet::file_of(&columns).map_err(|error| unwritable(&error));
    let files = [
        (RESOLVED, resolved.into_bytes()),
        (REQUESTS, packed(result.requests.into())?),
        (BLOCKS, packed(result.blocks.into())?),
        // The last one: a folder without it is none.
        (SUMMARY, summary.into_bytes()),
    ];
    fs::create_dir_all(folder).map_err(|error| ChipError::file(folder, &error))?;
    for name in [SUMMARY].iter().chain(&OTHERS) {
        // They would be those of earlier results.
        let _ = fs::remove_file(folder.join(name));
    }
    for (name, content) in files {
        let file = folder.join(name);
        fs::write(&file, content).map_err(|error| ChipError::file(&file, &error))?;
    }
    Ok(())
}
