//! The key of each variant of an experiment: a hash of everything that determines its result, under which a store of runs
//! keeps it.

use crate::data::{Change, Written};
use crate::error::LabError;
use crate::experiment::{Experiment, Variant};
use crate::fingerprint::Fingerprint;
use crate::fio::FioFile;
use crate::requests::rows_of_a_variant;
use crate::traces::file_of;
use ffslab_text::input::{self, InputKind};
use ffslab_workload::host_tree::{HostNode, HostTree};
use ffslab_workload::Step;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The variants of an experiment with their keys.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Keys {
    /// All of them, in their order.
    pub variants: Vec<KeyOf>,
    /// For how many requests each variant keeps a row, if it makes so many. This is not in the keys, because a result that
    /// has all rows is the same for any limit that is not less.
    pub requests_kept: u64,
    /// Whether its variants are repeated.
    pub is_repeated: bool,
}

/// The key of a variant.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct KeyOf {
    pub name: String,
    /// As in the summary.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub axes: BTreeMap<String, toml::Value>,
    /// Null: the variant reads what cannot be read again, such as a pipe, or it will be refused.
    pub key: Option<String>,
}

/// Computes the keys of an experiment; nothing is run, and no stack is built. `build` identifies the build
/// of the program. The other arguments are those of [`crate::run_experiment_with`].
///
/// Errors: [`LabError::Input`] with one line when the text is no experiment. What else is wrong is left to the run.
pub fn variant_keys(
    written: &Written,
    file_name: &str,
    base_dir: &Path,
    change: Option<&Change>,
    build: &str,
) -> Result<Keys, LabError> {
    let experiment = Experiment::read(written, file_name, change)?;
    let mut files = Files { base_dir, hashes: BTreeMap::new() };
    let key = |variant: &Variant| KeyOf {
        name: variant.name.clone(),
        axes: variant.axes.iter().cloned().collect(),
        key: key_of(variant, &mut files, build),
    };
    let variants: Vec<_> = experiment.variants.iter().map(key).collect();
    let rows = rows_of_a_variant(variants.len()) as u64;
    let requests_kept = experiment.requests_kept.map_or(rows, u64::from);
    Ok(Keys { variants, requests_kept, is_repeated: experiment.runs.is_some() })
}

fn key_of(variant: &Variant, files: &mut Files, build: &str) -> Option<String> {
    let Variant {
        seed,
        probe_logs,
        film,
        stack,
        state,
        setup,
        measure,
        programs,
        settles,
        name: _,
        axes: _,
        initial: _,
    } = variant;
    let (spec, keys) = stack.machine(files.base_dir).ok()?;
    let mut hash = Fingerprint::of_build(build);
    hash.machine(&spec).ok()?;
    hash.fields(&(keys, seed, probe_logs, film, settles));
    for steps in [state, setup, measure] {
        hash.bytes(serde_json::to_string(steps).ok()?.as_bytes());
    }
    hash.bytes(serde_json::to_string(programs).ok()?.as_bytes());
    for step in variant.steps().flat_map(Step::each) {
        if let Some(named) = file_of(step) {
            hash.bytes(files.hash(step, named)?.as_bytes());
        }
    }
    Some(hash.finish())
}

/// The files that steps name, each read once for all variants.
struct Files<'a> {
    base_dir: &'a Path,
    hashes: BTreeMap<String, Option<String>>,
}

impl Files<'_> {
    /// A hash of the content of the file or folder of a step.
    fn hash(&mut self, step: &Step, named: &str) -> Option<String> {
        if let Some(known) = self.hashes.get(named) {
            return known.clone();
        }
        let hash = content_of(step, &self.base_dir.join(named));
        self.hashes.insert(named.to_string(), hash.clone());
        hash
    }
}

fn content_of(step: &Step, path: &Path) -> Option<String> {
    let mut hash = Fingerprint::of_build("");
    match step {
        Step::CopyIn(_) => {
            for entry in HostTree::read(path).ok()?.entries {
                hash.bytes(&entry.path);
                hash.number(entry.permissions.into());
                match &entry.node {
                    HostNode::Directory => hash.number(0),
                    HostNode::File(bytes) => {
                        hash.number(1);
                        hash.bytes(bytes);
                    }
                    HostNode::Symlink(target) => {
                        hash.number(2);
                        hash.bytes(target);
                    }
                }
            }
        }
        // What is no file is read once at most: a pipe has nothing left for the run.
        _ if !path.is_file() => return None,
        // It names logs, which are read with it.
        Step::Fio(fio) => hash.fields(&FioFile::read(path, fio.lenient).ok()?),
        _ => hash.bytes(&input::read(path, InputKind::Copied).ok()?),
    }
    Some(hash.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_with(change: &str, build: &str) -> Keys {
        let text = "title = \"x\"\nstack = { board = \"omap3evm\", fs = \"ubifs\", partition_blocks = 160 }\n\
                    setup = [{ step = \"mount\" }, { step = \"create\", file = \"f\", bytes = \"64 KiB\" }]\n\
                    measure = [{ step = \"sync\" }]\n";
        let change: serde_json::Value = serde_json::from_str(change).unwrap();
        let change = Change::of(change.into()).unwrap();
        variant_keys(&text.into(), "x", Path::new("."), Some(&change), build).unwrap()
    }

    #[test]
    fn a_key_tells_what_determines_the_result_and_nothing_else() {
        let first = |change: &str| keys_with(change, "b").variants[0].key.clone().unwrap();
        let plain = first("{}");
        for same in [
            r#"{"title": "y"}"#,
            r#"{"initial": "settled"}"#,
            r#"{"axes": {"fs": ["ubifs", "jffs2"]}}"#,
            r#"{"requests_kept": 5}"#,
        ] {
            assert_eq!(first(same), plain, "{same}");
        }
        let others = [
            r#"{"seed": 2}"#,
            r#"{"stack": {"partition_blocks": 161}}"#,
            r#"{"stack": {"kernel": "5.10"}}"#,
            r#"{"stack": {"compression": "none"}}"#,
            r#"{"measure": [{"step": "sync"}, {"step": "sync"}]}"#,
            r#"{"probe_logs": true}"#,
            r#"{"film": true}"#,
            r#"{"initial": "fresh"}"#,
        ];
        for other in others {
            assert_ne!(first(other), plain, "{other}");
        }
        assert_ne!(keys_with("{}", "another build").variants[0].key.as_ref(), Some(&plain));
        assert_eq!(keys_with(r#"{"requests_kept": 5}"#, "b").requests_kept, 5);
    }

    #[test]
    fn a_key_holds_the_content_of_files() {
        let dir = std::env::temp_dir().join(format!("ffslab-keys-{}", std::process::id()));
        std::fs::create_dir_all(dir.join("tree")).unwrap();
        let text = "title = \"x\"\nstack = { board = \"omap3evm\", fs = \"jffs2\", partition_blocks = 160 }\n\
                    setup = [{ step = \"mount\" }, { step = \"copy_in\", from = \"tree\", dir = \"a\" }]\n\
                    measure = [{ step = \"create\", file = \"f\", bytes = 100, content_file = \"c\" }]\n";
        let key = || variant_keys(&text.into(), "x", &dir, None, "b").unwrap().variants[0].key.clone();
        std::fs::write(dir.join("c"), "one").unwrap();
        std::fs::write(dir.join("tree/f"), "one").unwrap();
        let before = key();
        assert_eq!(key(), before);
        std::fs::write(dir.join("tree/f"), "two").unwrap();
        let tree_changed = key();
        assert_ne!(tree_changed, before);
        std::fs::write(dir.join("c"), "two").unwrap();
        assert_ne!(key(), tree_changed);
        std::fs::remove_file(dir.join("c")).unwrap();
        assert_eq!(key(), None);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
