//! The threads on which simulations run beside one another. What they find does not depend on how many there are.

use crate::error::LabError;
use rayon::ThreadPoolBuilder;

/// Limit for the number of threads. No machine on which this runs has more cores.
const THREADS_MAX: usize = 256;

/// Does `work`, which rayon shares among `jobs` threads; 0: one on each core. They end with it: rayon's own ones, which
/// stay, would be missing in a process that Python's `multiprocessing` forks later, and it would wait for them for ever.
///
/// Errors: the system has no more threads.
pub fn on_threads<R: Send>(jobs: usize, work: impl FnOnce() -> R + Send) -> Result<R, LabError> {
    let pool = ThreadPoolBuilder::new().num_threads(jobs.min(THREADS_MAX)).build();
    Ok(pool.map_err(|error| LabError::Internal(format!("threads: {error}")))?.install(work))
}

/// How many threads [`on_threads`] uses.
pub(crate) fn threads_of(jobs: usize) -> usize {
    match jobs {
        0 => rayon::current_num_threads(),
        jobs => jobs.min(THREADS_MAX),
    }
}
