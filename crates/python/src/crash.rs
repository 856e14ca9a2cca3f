//! Power cuts of a workload that ran once: what `ffslab crashtest` needs.

use crate::border::{to_json, InputError};
use crate::watched;
use ffslab_crashtest::{Asked, FileOrSo, JudgeFiles, Moment, Point, Recording, Stopped, Taken, Tree};
use ffslab_lab::session::Torn;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};

/// What becomes of the operation at which the power is cut, by its word.
pub fn torn_of(word: &str, seed: u64) -> PyResult<Torn> {
    Ok(match word {
        "nothing" => Torn::Nothing,
        "partial" => Torn::Partial { seed },
        "unstable" => Torn::Unstable { seed },
        "complete" => Torn::Complete,
        other => {
            return Err(InputError::new_err(format!(
                "torn \"{other}\": must be nothing, partial, unstable or complete"
            )));
        }
    })
}

/// A workload with all that it did, of which power cuts are made.
#[pyclass(frozen, module = "ffslab._native")]
pub struct CrashRecording(pub Recording);

/// What is to be looked at, beside the points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    recovery_cuts: u64,
    depth: u32,
    second_mount: bool,
    jobs: usize,
}

/// Operation, what is left of it, and the seed of that.
type PointRow = (u64, String, u64);

/// The partition's bytes; files, or what went wrong.
type After<'py> = (Option<Bound<'py, PyBytes>>, Option<Bound<'py, PyList>>, Option<String>);

fn point_of((operation, torn, seed): &PointRow) -> PyResult<Point> {
    let taken = match torn.as_str() {
        "cache" => Taken::Cache { seed: *seed },
        word => Taken::Operation(torn_of(word, *seed)?),
    };
    Ok(Point { operation_number: *operation, taken })
}

/// Path, kind and content of each file.
fn rows<'py>(py: Python<'py>, tree: &Tree) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for (path, found) in tree {
        let (kind, content): (&str, &[u8]) = match found {
            FileOrSo::Directory => ("directory", b""),
            FileOrSo::File(content) => ("file", content),
            FileOrSo::Symlink(target) => ("symlink", target),
            FileOrSo::Other => ("other", b""),
            FileOrSo::Unreadable(error) => ("unreadable", error.as_bytes()),
        };
        rows.append((PyBytes::new(py, path), kind, PyBytes::new(py, content)))?;
    }
    Ok(rows)
}

#[pymethods]
impl CrashRecording {
    /// Programs and erases.
    fn operations(&self) -> u64 {
        self.0.operations()
    }

    /// What the application told, and after how many operations.
    fn told(&self) -> Vec<(String, u64)> {
        self.0.told_all()
    }

    /// Calls: text, operations before and after, virtual time.
    fn calls(&self) -> Vec<(String, u64, u64, u64)> {
        let row = |call: &ffslab_crashtest::NoteOfCall| {
            (call.text.clone(), call.from_operations, call.to_operations, call.at_ns)
        };
        self.0.log.calls.iter().map(row).collect()
    }

    /// What the file system promises, as a sentence; `None`: nothing more is known than fsync(2) says.
    fn promises(&self) -> &'static str {
        self.0.promises.about
    }

    /// Faults of the simulated system that the workload met, each as a sentence.
    fn faults_met(&self) -> Vec<&'static str> {
        self.0.faults_met.clone()
    }

    /// Calls `each` with the content of files whenever the application told something, and once before that: each time the number of
    /// things told, and the content of those that are there.
    fn each_told(&self, py: Python<'_>, paths: Vec<String>, each: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut failed = Ok(());
        self.0.each_told(&paths, &mut |number, contents| {
            let files = PyDict::new(py);
            let set = contents.iter().try_for_each(|(path, content)| files.set_item(path, PyBytes::new(py, content)));
            failed = set.and_then(|()| each.call1((number, files)).map(drop));
            failed.is_ok()
        });
        failed
    }

    /// Judges points (JSON). `judge` gets files, how many things were told, and the operation; it says what is wrong, or None.
    #[pyo3(signature = (points, wanted, judge, progress))]
    fn judge(
        &self,
        py: Python<'_>,
        points: Vec<PointRow>,
        wanted: &str,
        judge: Option<Py<PyAny>>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let wanted: Wanted =
            serde_json::from_str(wanted).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let asked = Asked {
            points: points.iter().map(point_of).collect::<PyResult<_>>()?,
            recovery_cuts: wanted.recovery_cuts,
            depth: wanted.depth,
            second_mount: wanted.second_mount,
            jobs: wanted.jobs,
        };
        let failed: Mutex<Option<PyErr>> = Mutex::new(None);
        let files = |tree: &Tree, moment: &Moment| {
            let Some(judge) = &judge else { return Ok(None) };
            let said = Python::attach(|py| -> PyResult<Option<String>> {
                judge.call1(py, (rows(py, tree)?, moment.told_count, moment.operation_number))?.extract(py)
            });
            said.map_err(|error| {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                Stopped
            })
        };
        let files: Option<&JudgeFiles> = if judge.is_some() { Some(&files) } else { None };
        let judged = watched::run(py, progress.as_ref(), |report| self.0.judge(&asked, files, report))?;
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let judged = judged.map_err(|Stopped| pyo3::exceptions::PyKeyboardInterrupt::new_err(()))?;
        to_json(&judged)
    }

    /// The bytes of the partition after a cut, with OOB areas if wanted, and what a mount then shows: files, or what went wrong.
    fn after<'py>(&self, py: Python<'py>, point: PointRow, oob: bool) -> PyResult<After<'py>> {
        let (image, tree) = self.0.after(point_of(&point)?, oob).map_err(InputError::new_err)?;
        let image = image.map(|image| PyBytes::new(py, &image));
        Ok(match tree {
            Ok(tree) => (image, Some(rows(py, &tree)?), None),
            Err(says) => (image, None, Some(says)),
        })
    }
}
