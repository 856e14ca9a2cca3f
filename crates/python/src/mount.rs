//! A simulated file system that real programs use, served until it is unmounted.

use crate::border::{to_json, to_python};
use crate::columns;
use crate::crash::{torn_of, CrashRecording};
use crate::experiments::{self, AskedToObserve};
use crate::given::table_of;
use crate::watched::text_of;
use ffslab_lab::data::Table;
use ffslab_lab::Observed;
pub use ffslab_mount::SCHEMAS;
use ffslab_mount::{MountSpec, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Mutex;

/// Python's side of a mount: three functions.
struct Callables {
    ready: Py<PyAny>,
    say: Py<PyAny>,
    shall_end: Py<PyAny>,
    /// The first exception of one of them: the mount ends, then it is raised.
    raised: Mutex<Option<PyErr>>,
}

impl Callables {
    fn call<R: Default>(&self, act: impl FnOnce(Python<'_>) -> PyResult<R>) -> Result<R, ()> {
        Python::attach(act).map_err(|error| {
            let mut raised = self.raised.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            raised.get_or_insert(error);
        })
    }
}

impl Watch for Callables {
    fn ready(&self) {
        // An exception is seen at the next question.
        let _raised = self.call(|py| self.ready.call0(py).map(drop));
    }

    fn say(&self, text: &str) {
        let _raised = self.call(|py| self.say.call1(py, (text,)).map(drop));
    }

    fn shall_end(&self) -> bool {
        let before = self.raised.lock().is_ok_and(|raised| raised.is_some());
        before || self.call(|py| self.shall_end.call0(py)?.extract::<bool>(py)).unwrap_or(true)
    }
}

/// The library that is preloaded into programs whose sleeps shall pass on the board alone.
#[pyfunction]
pub fn mount_sleeps_library() -> &'static [u8] {
    ffslab_mount::SLEEPS_LIBRARY
}

/// What `mount` returns: a variant of the summary (JSON), columns of calls and of blocks, the stack's keys (JSON), columns of
/// stacks if it was observed, the workload if it was recorded.
type Ended<'py> =
    (String, Bound<'py, PyDict>, Bound<'py, PyDict>, String, Option<Bound<'py, PyDict>>, Option<CrashRecording>);

/// Mounts and serves until the file system is unmounted, or `shall_end()` says so. `ready()` is called once programs can
/// use it, `say(text)` with what a person should read.
#[pyfunction]
#[pyo3(signature = (keys, mountpoint, *, socket, options, owner, seed, think, realtime, power_cut_after, torn, epoch_s,
                    save, observe, records, base_dir, initial, ready, say, shall_end))]
#[allow(clippy::too_many_arguments)]
pub fn mount<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = table_of)] keys: Table,
    mountpoint: PathBuf,
    socket: PathBuf,
    options: Vec<String>,
    owner: Option<(u32, u32)>,
    seed: u64,
    think: bool,
    realtime: bool,
    power_cut_after: Option<u64>,
    torn: &str,
    epoch_s: u64,
    save: Option<PathBuf>,
    observe: Option<AskedToObserve>,
    records: bool,
    base_dir: PathBuf,
    initial: &str,
    ready: Py<PyAny>,
    say: Py<PyAny>,
    shall_end: Py<PyAny>,
) -> PyResult<Ended<'py>> {
    let spec = MountSpec {
        stack: keys,
        base_dir,
        initial: initial.to_string(),
        seed,
        options,
        owner: owner.map(|(uid, gid)| ffslab_mount::Caller { uid, gid }),
        mountpoint,
        socket,
        think,
        realtime,
        power_cut_after_operations: power_cut_after,
        torn: torn_of(torn, seed)?,
        epoch_s,
        save,
        observed: observe.map(|asked| Observed::alone(&experiments::observe(asked), "mount", 1)),
        records,
    };
    let callables = Callables { ready, say, shall_end, raised: Mutex::new(None) };
    let served = py.detach(|| catch_unwind(AssertUnwindSafe(|| ffslab_mount::mount(&spec, &callables))));
    let mounted = served.map_err(|panic| PyRuntimeError::new_err(text_of(&*panic)))?.map_err(to_python)?;
    if let Some(error) = callables.raised.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        return Err(error);
    }
    let result = mounted.result;
    Ok((
        to_json(&result.summary)?,
        columns::table(py, result.requests)?,
        columns::table(py, result.blocks)?,
        to_json(&mounted.keys)?,
        result.stacks.map(|stacks| columns::stacks(py, &stacks)).transpose()?,
        mounted.recording.map(CrashRecording),
    ))
}
