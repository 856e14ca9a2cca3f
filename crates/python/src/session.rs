//! A session on the simulated stack: its system calls one by one.

use crate::border::{to_json, to_python, InputError};
use crate::columns;
use crate::crash::{torn_of, CrashRecording};
use crate::experiments::{self, AskedToObserve};
use crate::given::table_of;
use ffslab_crashtest::Watched;
use ffslab_lab::data::Table;
use ffslab_lab::{Errno, Fd, Observed, OpenFlags, Refusal};
use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;

create_exception!(
    _native,
    PowerCut,
    PyOSError,
    "The simulated power went away during the call: crash() switches it on again."
);

/// The exception of a failed call: an `OSError` with the number that this computer's system has for it.
fn refused(py: Python<'_>, refusal: Refusal) -> PyErr {
    let error = refusal.errno();
    if error == Errno::PowerCut {
        return PowerCut::new_err(error.to_string());
    }
    let text = refusal.to_string();
    let text = match refusal {
        Refusal::Failed(_) => text.split_once(": ").map_or(text.as_str(), |(_, text)| text).to_string(),
        Refusal::Lacks { .. } => text,
    };
    match py.import("errno").and_then(|errno| errno.getattr(error.name())?.extract::<i32>()) {
        Ok(number) => PyOSError::new_err((number, text)),
        Err(other) => other,
    }
}

fn flags(py: Python<'_>, words: &str) -> PyResult<OpenFlags> {
    let mut flags = OpenFlags::default();
    for word in words.split_whitespace() {
        if !flags.set(word) {
            return Err(InputError::new_err(format!(
                "flag \"{word}\": must be rdonly, wronly or rdwr, with create, exclusive, truncate, append, sync, dsync, \
                 directory, nofollow, direct"
            )));
        }
    }
    if !(flags.read || flags.write) {
        return Err(refused(py, Errno::Inval.into()));
    }
    Ok(flags)
}

/// What a session has measured: summary of a variant (JSON), columns of calls, blocks, and stacks if it was observed.
type Measured<'py> = (String, Bound<'py, PyDict>, Bound<'py, PyDict>, Option<Bound<'py, PyDict>>);

/// Lives in the thread that made it: the simulation behind it is one thread.
#[pyclass(unsendable, module = "ffslab._native")]
pub struct Session(Holder);

/// A session that keeps what power cuts need, or one that does not.
enum Holder {
    Plain(ffslab_lab::Session),
    Watched(Watched),
}

impl Deref for Holder {
    type Target = ffslab_lab::Session;

    fn deref(&self) -> &ffslab_lab::Session {
        match self {
            Holder::Plain(session) => session,
            Holder::Watched(watched) => &watched.session,
        }
    }
}

impl DerefMut for Holder {
    fn deref_mut(&mut self) -> &mut ffslab_lab::Session {
        match self {
            Holder::Plain(session) => session,
            Holder::Watched(watched) => &mut watched.session,
        }
    }
}

impl Session {
    fn watched_mut(&mut self) -> PyResult<&mut Watched> {
        match &mut self.0 {
            Holder::Watched(watched) => Ok(watched),
            Holder::Plain(_) => Err(PyRuntimeError::new_err("a session that was not made to be watched")),
        }
    }
}

#[pymethods]
impl Session {
    #[new]
    fn new(
        #[pyo3(from_py_with = table_of)] keys: Table,
        seed: u64,
        base_dir: PathBuf,
        initial: &str,
    ) -> PyResult<Session> {
        let mut session = ffslab_lab::Session::new(keys, seed, &base_dir).map_err(to_python)?;
        session.begins(initial).map_err(to_python)?;
        Ok(Session(Holder::Plain(session)))
    }

    /// One whose workload can be recorded, for power cuts.
    #[staticmethod]
    fn watched(
        #[pyo3(from_py_with = table_of)] keys: Table,
        seed: u64,
        base_dir: PathBuf,
        initial: &str,
    ) -> PyResult<Session> {
        let mut watched = Watched::new(keys, seed, &base_dir).map_err(to_python)?;
        watched.session.begins(initial).map_err(to_python)?;
        Ok(Session(Holder::Watched(watched)))
    }

    /// A machine that was switched off; `held` is what `held` gave then.
    #[staticmethod]
    fn restored(
        #[pyo3(from_py_with = table_of)] keys: Table,
        seed: u64,
        base_dir: PathBuf,
        held: &[u8],
    ) -> PyResult<Session> {
        let session = ffslab_lab::Session::restored(keys, seed, &base_dir, held).map_err(to_python)?;
        Ok(Session(Holder::Plain(session)))
    }

    /// What the medium holds without power, with its wear.
    fn held<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.held().map_err(to_python)?))
    }

    fn begin_recording(&mut self, options: Vec<String>) -> PyResult<()> {
        self.watched_mut()?.begin(options).map_err(|error| InputError::new_err(error.to_string()))
    }

    fn end_recording(&mut self) -> PyResult<CrashRecording> {
        self.watched_mut()?.end().map(CrashRecording).map_err(|error| InputError::new_err(error.to_string()))
    }

    /// The program tells that something is done.
    fn told(&mut self, what: &str) {
        self.0.system_mut().told(what);
    }

    fn keys(&self) -> PyResult<String> {
        to_json(self.0.keys())
    }

    fn mount(&mut self, options: Vec<String>) -> PyResult<()> {
        self.0.mount(&options).map_err(to_python)
    }

    fn umount(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.system_mut().umount().map_err(|error| refused(py, error))
    }

    fn is_mounted(&self) -> bool {
        self.0.system().is_mounted()
    }

    fn crash(&mut self) -> PyResult<()> {
        self.0.crash().map_err(to_python)
    }

    #[pyo3(signature = (operations, torn, seed))]
    fn cut_power_after(&mut self, py: Python<'_>, operations: u64, torn: &str, seed: u64) -> PyResult<()> {
        let torn = torn_of(torn, seed)?;
        self.0.cut_power_after(operations, torn).map_err(|error| refused(py, error))
    }

    fn is_powered(&self) -> bool {
        self.0.system().is_powered()
    }

    fn modifying_operations(&self) -> u64 {
        self.0.system().modifying_operations()
    }

    fn drop_caches(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.system_mut().drop_caches().map_err(|error| refused(py, error))
    }

    fn drop_pages(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.system_mut().drop_pages().map_err(|error| refused(py, error))
    }

    fn set_read_ahead_bytes(&mut self, py: Python<'_>, bytes: u32) -> PyResult<()> {
        self.0.system_mut().set_read_ahead_bytes(bytes).map_err(|error| refused(py, error))
    }

    fn now_ns(&self) -> u64 {
        self.0.system().now_ns()
    }

    fn epoch_s(&self) -> u64 {
        self.0.system().epoch_s()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.0.sleep_ns(duration_ns);
    }

    fn compute_ns(&mut self, duration_ns: u64) {
        self.0.compute_ns(duration_ns);
    }

    fn counts(&self) -> PyResult<String> {
        to_json(&self.0.totals())
    }

    fn activity(&self) -> PyResult<String> {
        to_json(&self.0.activity())
    }

    fn free_bytes(&mut self) -> Option<u64> {
        self.0.free_bytes()
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.0.system().erase_counts()
    }

    fn image<'py>(&self, py: Python<'py>, oob: bool) -> PyResult<Bound<'py, PyBytes>> {
        let image = self.0.system().image(oob).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyBytes::new(py, &image))
    }

    // ---- measuring -----------------------------------------------------------------------------------------

    /// Returns the error in which it ended with a part of it done, such as "ENOSPC".
    fn run_step(&mut self, step_json: &str) -> PyResult<Option<&'static str>> {
        let step = ffslab_lab::session::read_step(step_json).map_err(to_python)?;
        self.0.run_step(&step).map(|facts| facts.stopped_by).map_err(to_python)
    }

    fn begin_step(&mut self, title: &str) {
        self.0.begin_step(title);
    }

    /// Writes down what happens until `result`.
    fn observe(&mut self, asked: AskedToObserve, title: &str, sequence: u32) -> PyResult<()> {
        self.0.observe(&Observed::alone(&experiments::observe(asked), title, sequence)).map_err(to_python)
    }

    fn note(&mut self, text: &str) {
        self.0.note(text);
    }

    fn end_step(&mut self) {
        self.0.end_step();
    }

    fn result<'py>(&mut self, py: Python<'py>, name: &str, axes_json: &str) -> PyResult<Measured<'py>> {
        let result = self.0.result(name, axes_json).map_err(to_python)?;
        Ok((
            to_json(&result.summary)?,
            columns::table(py, result.requests)?,
            columns::table(py, result.blocks)?,
            result.stacks.map(|stacks| columns::stacks(py, &stacks)).transpose()?,
        ))
    }

    // ---- system calls ---------------------------------------------------------------------------------------

    fn open(&mut self, py: Python<'_>, path: &str, words: &str, permissions: u32) -> PyResult<u32> {
        let flags = flags(py, words)?;
        self.0.open(path, flags, permissions).map(|fd| fd.0).map_err(|error| refused(py, error))
    }

    fn close(&mut self, py: Python<'_>, fd: u32) -> PyResult<()> {
        self.0.close(Fd(fd)).map_err(|error| refused(py, error))
    }

    fn pread<'py>(&mut self, py: Python<'py>, fd: u32, bytes: usize, at: u64) -> PyResult<Bound<'py, PyBytes>> {
        self.0.pread(Fd(fd), bytes, at).map(|data| PyBytes::new(py, &data)).map_err(|error| refused(py, error))
    }

    fn pwrite(&mut self, py: Python<'_>, fd: u32, data: &[u8], at: u64) -> PyResult<usize> {
        self.0.pwrite(Fd(fd), data, at).map_err(|error| refused(py, error))
    }

    fn ftruncate(&mut self, py: Python<'_>, fd: u32, bytes: u64) -> PyResult<()> {
        self.0.ftruncate(Fd(fd), bytes).map_err(|error| refused(py, error))
    }

    fn fsync(&mut self, py: Python<'_>, fd: u32, data_only: bool) -> PyResult<()> {
        self.0.fsync(Fd(fd), data_only).map_err(|error| refused(py, error))
    }

    fn trim(&mut self, py: Python<'_>, fd: u32, at: u64, bytes: u64) -> PyResult<()> {
        self.0.trim(Fd(fd), at, bytes).map_err(|error| refused(py, error))
    }

    fn sync(&mut self, py: Python<'_>) -> PyResult<()> {
        self.0.sync().map_err(|error| refused(py, error))
    }

    /// Kind, size, inode number, permissions.
    fn fstat(&mut self, py: Python<'_>, fd: u32) -> PyResult<(&'static str, u64, u32, u32)> {
        self.0.fstat(Fd(fd)).map(described).map_err(|error| refused(py, error))
    }

    fn stat(&mut self, py: Python<'_>, path: &str) -> PyResult<(&'static str, u64, u32, u32)> {
        self.0.stat(path).map(described).map_err(|error| refused(py, error))
    }

    fn unlink(&mut self, py: Python<'_>, path: &str) -> PyResult<()> {
        self.0.unlink(path).map_err(|error| refused(py, error))
    }

    fn rename(&mut self, py: Python<'_>, from: &str, to: &str) -> PyResult<()> {
        self.0.rename(from, to).map_err(|error| refused(py, error))
    }

    fn mkdir(&mut self, py: Python<'_>, path: &str, permissions: u32) -> PyResult<()> {
        self.0.mkdir(path, permissions).map_err(|error| refused(py, error))
    }

    fn readdir(&mut self, py: Python<'_>, path: &str) -> PyResult<Vec<String>> {
        let entries = self.0.readdir(path).map_err(|error| refused(py, error))?;
        Ok(entries.iter().map(|entry| String::from_utf8_lossy(&entry.name).into_owned()).collect())
    }
}

fn described(stat: ffslab_lab::Stat) -> (&'static str, u64, u32, u32) {
    (stat.kind.name(), stat.size_bytes, stat.ino, stat.permissions)
}
