//! The threads on which simulations run beside one another. What they find does not depend on how many there are.

use crate::error::LabError;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Limit for the number of threads. No machine on which this runs has more cores.
const THREADS_MAX: usize = 256;

/// A pool of `jobs` threads; 0: one on each core.
///
/// Errors: the system has no more threads.
pub fn threads(jobs: usize) -> Result<ThreadPool, LabError> {
    let pool = ThreadPoolBuilder::new().num_threads(jobs.min(THREADS_MAX)).build();
    pool.map_err(|error| LabError::Internal(format!("threads: {error}")))
}

/// How many threads [`threads`] makes.
pub(crate) fn threads_of(jobs: usize) -> usize {
    match jobs {
        0 => rayon::current_num_threads(),
        jobs => jobs.min(THREADS_MAX),
    }
}
