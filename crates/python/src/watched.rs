//! Runs a long call without the GIL, reports its progress to Python and notices Ctrl-C.
//!
//! The work has a thread of its own and touches Python only where it was given something of Python to call; the calling thread, which alone may handle signals,
//! wakes now and then, reports and looks for them. Cost for the work: two atomic accesses per report.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How often progress is reported and signals are looked for.
const WAKE_EVERY: Duration = Duration::from_millis(50);

/// How many long calls go on.
static GOING_ON: Mutex<usize> = Mutex::new(0);

/// One of them.
struct GoesOn;

impl GoesOn {
    fn begins() -> GoesOn {
        *GOING_ON.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        GoesOn
    }
}

impl Drop for GoesOn {
    fn drop(&mut self) {
        *GOING_ON.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    }
}

/// Calls `fork` while the long call from which this comes is the only one, and no other thread is in this module: it holds the GIL, and
/// nobody can begin a call. So none of our locks is held that a forked process would wait for.
pub fn quietly(fork: &mut dyn FnMut()) {
    Python::attach(|_| {
        let going_on = GOING_ON.lock().unwrap_or_else(PoisonError::into_inner);
        if *going_on == 1 {
            fork();
        }
    });
}

/// Runs `work`, handing it the progress function that the laboratory expects (share done -> go on?).
///
/// Errors: the signal handler's exception (`KeyboardInterrupt`), the exception of `progress`, or a
/// `RuntimeError` with the text of a panic in `work`.
pub fn run<R: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&(dyn Fn(f64) -> bool + Sync)) -> R + Send,
) -> PyResult<R> {
    let share_bits = AtomicU64::new(0f64.to_bits());
    let stop = AtomicBool::new(false);
    let progress = progress.map(|callable| callable.clone().unbind());
    let _goes_on = GoesOn::begins();
    py.detach(|| {
        // Nothing is ever sent: the channel closes when the work ends, by return or by panic.
        let (done, wait) = channel::<()>();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let _open = done;
                work(&|share| {
                    share_bits.store(share.to_bits(), Ordering::Relaxed);
                    !stop.load(Ordering::Relaxed)
                })
            });
            let mut outcome = Ok(());
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(WAKE_EVERY) {
                if outcome.is_ok() {
                    outcome = tell(progress.as_ref(), f64::from_bits(share_bits.load(Ordering::Relaxed)));
                    stop.store(outcome.is_err(), Ordering::Relaxed);
                }
            }
            let result = worker.join();
            outcome?;
            result.map_err(|panic| PyRuntimeError::new_err(text_of(&*panic)))
        })
    })
}

fn tell(progress: Option<&Py<PyAny>>, share: f64) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        match progress {
            Some(callable) => callable.call1(py, (share,)).map(drop),
            None => Ok(()),
        }
    })
}

pub fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| s.to_string()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "panic without a text".to_string())
}
