//! The recorded programs that an experiment replays, read once for all its variants.

use ffslab_workload::steps::Replay;
use ffslab_workload::strace::{self, Trace};
use ffslab_workload::Step;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Traces by the file and root that the step names.
#[derive(Clone, Debug, Default)]
pub struct Traces(BTreeMap<(String, Option<String>), Arc<Trace>>);

impl Traces {
    /// Reads what the `replay` steps among `steps` name and is not read yet; files are relative to `base_dir`.
    ///
    /// Errors: one line of the trace reader.
    pub fn read<'a>(&mut self, steps: impl Iterator<Item = &'a Step>, base_dir: &Path) -> Result<(), String> {
        for step in steps {
            let Step::Replay(replay) = step else { continue };
            let key = (replay.file.clone(), replay.root.clone());
            if self.0.contains_key(&key) {
                continue;
            }
            let trace = strace::read(&base_dir.join(&replay.file), replay.root.as_deref());
            self.0.insert(key, Arc::new(trace.map_err(|error| error.to_string())?));
        }
        Ok(())
    }

    /// The trace of a step, if it has been read.
    pub fn of(&self, step: &Replay) -> Option<Arc<Trace>> {
        self.0.get(&(step.file.clone(), step.root.clone())).cloned()
    }

    /// Number of calls that a step makes; see [`Step::calls`].
    pub fn calls(&self, step: &Step) -> u64 {
        match step {
            Step::Replay(replay) => self.of(replay).map_or(1, |trace| trace.records.len() as u64),
            other => other.calls(),
        }
    }
}
