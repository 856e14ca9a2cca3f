//! The recorded programs that an experiment replays and the folders that it copies, read once for all its variants.

use ffslab_workload::host_tree::HostTree;
use ffslab_workload::steps::{CopyIn, Replay};
use ffslab_workload::strace::{self, Trace};
use ffslab_workload::Step;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// What steps name, by what they name.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// By file and root.
    traces: BTreeMap<(String, Option<String>), Arc<Trace>>,
    trees: BTreeMap<String, Arc<HostTree>>,
}

impl Traces {
    /// Reads what the `replay` and `copy_in` steps among `steps` name and is not read yet; files are relative to `base_dir`.
    ///
    /// Errors: one line of the trace or folder reader.
    pub fn read<'a>(&mut self, steps: impl Iterator<Item = &'a Step>, base_dir: &Path) -> Result<(), String> {
        for step in steps {
            if let Step::CopyIn(copy) = step {
                if !self.trees.contains_key(&copy.from) {
                    let tree = HostTree::read(&base_dir.join(&copy.from))?;
                    self.trees.insert(copy.from.clone(), Arc::new(tree));
                }
            }
            let Step::Replay(replay) = step else { continue };
            let key = (replay.file.clone(), replay.root.clone());
            if self.traces.contains_key(&key) {
                continue;
            }
            let trace = strace::read(&base_dir.join(&replay.file), replay.root.as_deref());
            self.traces.insert(key, Arc::new(trace.map_err(|error| error.to_string())?));
        }
        Ok(())
    }

    /// The trace of a step, if it has been read.
    pub fn of(&self, step: &Replay) -> Option<Arc<Trace>> {
        self.traces.get(&(step.file.clone(), step.root.clone())).cloned()
    }

    /// The folder of a step, if it has been read.
    pub fn tree_of(&self, step: &CopyIn) -> Option<Arc<HostTree>> {
        self.trees.get(&step.from).cloned()
    }

    /// Number of calls that a step makes; see [`Step::calls`].
    pub fn calls(&self, step: &Step) -> u64 {
        match step {
            Step::Replay(replay) => self.of(replay).map_or(1, |trace| trace.records.len() as u64),
            Step::CopyIn(copy) => self.tree_of(copy).map_or(1, |tree| tree.entries.len().max(1) as u64),
            other => other.calls(),
        }
    }
}
