//! Experiments as a whole: run, checked, lived through.

use crate::{columns, read_parquet, to_json, to_python, watched};
use ffslab_lab::data::Change;
use ffslab_lab::Observe;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A table as columns by name.
type Table<'py> = Bound<'py, PyDict>;

/// What `run_experiment` returns: summary (JSON), columns of requests, columns of blocks, resolved experiment (TOML),
/// saved images by name, logs by name, columns of stacks if it was observed.
type Ran<'py> = (String, Table<'py>, Table<'py>, String, Table<'py>, Table<'py>, Option<Table<'py>>);

/// What is to be written down of a run: the file of the timeline, and how many calls come for one that is drawn.
pub(crate) type AskedToObserve = (Option<PathBuf>, u64);

pub(crate) fn observe(asked: AskedToObserve) -> Observe {
    Observe { timeline: asked.0, every_calls: asked.1 }
}

/// Runs an experiment. `file_name` names it in error messages; relative paths in it start at `base_dir`.
/// `progress` is called with the finished share (0 to 1) now and then. `parquet` reads a recording in Parquet as CSV.
/// `change`: what holds in place of what the text says (JSON). `jobs`: how many variants run at once; 0: one on each core.
/// `states`: the folder where initial states are kept, and what tells this build from others.
/// `known`: see `ffslab_lab::Given`.
/// `any_size`: however many calls it makes, they are meant. `observe`: what is to be written down. `tell` gets what a large experiment takes, before it runs.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (text, file_name, base_dir, progress, parquet, states=None, *, change=None, jobs=0, known=None, any_size=false, tell=None, observe=None))]
pub(crate) fn run_experiment<'py>(
    py: Python<'py>,
    text: &str,
    file_name: &str,
    base_dir: PathBuf,
    progress: Option<Bound<'py, PyAny>>,
    parquet: Py<PyAny>,
    states: Option<(PathBuf, String)>,
    change: Option<&str>,
    jobs: usize,
    known: Option<Vec<usize>>,
    any_size: bool,
    tell: Option<Py<PyAny>>,
    observe: Option<AskedToObserve>,
) -> PyResult<Ran<'py>> {
    let observe = observe.map(self::observe);
    let change = change.map(Change::of).transpose().map_err(to_python)?;
    let cache = states.map(|(dir, build)| ffslab_lab::StateCache { dir, build });
    let result = watched::run(py, progress.as_ref(), |report| {
        // The only word that the work says by itself; that it cannot be said is no reason to stop.
        let say = |text: &str| {
            if let Some(tell) = &tell {
                let _ = Python::attach(|py| tell.call1(py, (text,)).map(drop));
            }
        };
        let read = |path: &Path| read_parquet(&parquet, path);
        let given = ffslab_lab::Given {
            cache: cache.as_ref(),
            parquet: Some(&read),
            change: change.as_ref(),
            jobs,
            known: known.as_deref(),
            any_size,
            observe: observe.as_ref(),
            tell: Some(&say),
        };
        ffslab_lab::run_experiment_with(text, file_name, &base_dir, given, report)
    })?
    .map_err(to_python)?;
    let images = PyDict::new(py);
    for (file, image) in result.images {
        images.set_item(file, PyBytes::new(py, &image))?;
    }
    let logs = PyDict::new(py);
    for (file, text) in result.logs {
        logs.set_item(file, text)?;
    }
    Ok((
        to_json(&result.summary)?,
        columns::table(py, result.requests)?,
        columns::table(py, result.blocks)?,
        result.resolved_toml,
        images,
        logs,
        result.stacks.map(|stacks| columns::stacks(py, &stacks)).transpose()?,
    ))
}

/// Checks an experiment as far as that goes without running it; the arguments are those of `run_experiment`.
#[pyfunction]
#[pyo3(signature = (text, file_name, base_dir, parquet, *, change=None, any_size=false))]
pub(crate) fn check_experiment(
    text: &str,
    file_name: &str,
    base_dir: PathBuf,
    parquet: Py<PyAny>,
    change: Option<&str>,
    any_size: bool,
) -> PyResult<()> {
    let change = change.map(Change::of).transpose().map_err(to_python)?;
    let read = |path: &Path| read_parquet(&parquet, path);
    let given = ffslab_lab::Given { parquet: Some(&read), change: change.as_ref(), any_size, ..Default::default() };
    ffslab_lab::check_experiment(text, file_name, &base_dir, given).map_err(to_python)
}

/// Lets the variants of an experiment live until something ends it (JSON); `asked`: how (JSON). `ended` gets each life as soon
/// as it has ended: the position of its variant, and the life (JSON). The other arguments are those of `run_experiment`.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (text, file_name, base_dir, asked, progress, parquet, states=None, *, change=None, jobs=0, known=None, any_size=false, ended=None))]
pub(crate) fn live_experiment(
    py: Python<'_>,
    text: &str,
    file_name: &str,
    base_dir: PathBuf,
    asked: &str,
    progress: Option<Bound<'_, PyAny>>,
    parquet: Py<PyAny>,
    states: Option<(PathBuf, String)>,
    change: Option<&str>,
    jobs: usize,
    known: Option<Vec<usize>>,
    any_size: bool,
    ended: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked: ffslab_lab::life::Asked =
        serde_json::from_str(asked).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let change = change.map(Change::of).transpose().map_err(to_python)?;
    let cache = states.map(|(dir, build)| ffslab_lab::StateCache { dir, build });
    let lives = watched::run(py, progress.as_ref(), |report| {
        let read = |path: &Path| read_parquet(&parquet, path);
        let given = ffslab_lab::Given {
            cache: cache.as_ref(),
            parquet: Some(&read),
            change: change.as_ref(),
            jobs,
            known: known.as_deref(),
            any_size,
            ..Default::default()
        };
        let failed = Mutex::new(None);
        let tell = |position: usize, life: &ffslab_lab::life::VariantLife| {
            let Some(ended) = &ended else { return };
            let told = to_json(life).and_then(|json| Python::attach(|py| ended.call1(py, (position, json)).map(drop)));
            if let Err(error) = told {
                failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            }
        };
        let lives = ffslab_lab::life::live_experiment(text, file_name, &base_dir, &asked, given, report, &tell);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => lives.map_err(to_python),
        }
    })??;
    to_json(&lives)
}
