//! Cases on all cores.

use crate::report::ValidateOptions;
use ffslab_lab::{on_threads, LabError};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(crate) fn nothing_matches(path: &Path, pattern: &str, all: usize, example: &str) -> LabError {
    let text = format!("no case of {all} matches \"{pattern}\": ids look like {example}");
    LabError::Input(format!("{}: {text}", path.display()))
}

/// Runs all cases on the threads that `options` allow, and returns the results in the order of the cases. `run` returns
/// `None` when it was interrupted.
pub(crate) fn in_parallel<C: Sync, R: Send>(
    cases: &[C],
    weight: impl Fn(&C) -> u64,
    options: &ValidateOptions,
    progress: &(dyn Fn(f64) -> bool + Sync),
    run: impl Fn(&C, &dyn Fn() -> bool) -> Option<R> + Sync,
) -> Result<Vec<R>, LabError> {
    let weights: Vec<u64> = cases.iter().map(weight).collect();
    let total = weights.iter().fold(0, |sum: u64, weight| sum.saturating_add(*weight)).max(1);
    let done = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let results: Vec<Option<R>> = on_threads(options.jobs, || {
        // Threads take one case at a time. The cases differ too much in length to be distributed in advance.
        cases
            .par_iter()
            .zip(&weights)
            .with_max_len(1)
            .map(|(case, weight)| {
                let watch = || {
                    if !progress(done.load(Ordering::Relaxed) as f64 / total as f64) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    !stop.load(Ordering::Relaxed)
                };
                let result = run(case, &watch)?;
                done.fetch_add(*weight, Ordering::Relaxed);
                watch().then_some(result)
            })
            .collect()
    })?;
    results.into_iter().collect::<Option<Vec<R>>>().ok_or(LabError::Interrupted)
}
