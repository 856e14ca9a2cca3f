//! Experiments as a whole: run, checked, lived through.

use crate::border::{read_parquet, to_json, to_python};
use crate::given::{experiment_of, Experiment};
use crate::{columns, policy, watched};
use ffslab_lab::Observe;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A table as columns by name.
type Table<'py> = Bound<'py, PyDict>;

/// What `run_experiment` returns, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Ran<'py> {
    /// As JSON.
    summary: String,
    requests: Table<'py>,
    blocks: Table<'py>,
    resolved_toml: String,
    /// By their names, as the others.
    images: Table<'py>,
    logs: Table<'py>,
    films: Table<'py>,
    /// `None`: it was not observed.
    stacks: Option<Table<'py>>,
    /// Setups from which several variants began, these variants, and the time that the setups took in seconds.
    shared: (u64, u64, f64),
}

/// What is to be written down of a run: the file of the timeline, and how many calls come for one that is drawn.
pub(crate) type AskedToObserve = (Option<PathBuf>, u64);

pub(crate) fn observe(asked: AskedToObserve) -> Observe {
    Observe { timeline: asked.0, every_calls: asked.1 }
}

/// Runs an experiment. `progress` is called with the finished share (0 to 1) now and then. `parquet` reads a recording in Parquet as CSV.
/// `jobs`: how many variants run at once; 0: one on each core.
/// `states`: the folder where initial states are kept, and what tells this build from others.
/// `known`: see `ffslab_lab::Given`.
/// `any_size`: however many calls it makes, they are meant. `observe`: what is to be written down. `share_setups`: those that variants have
/// in common are run once. `tell` gets what a large experiment takes, before it runs.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (experiment, progress, parquet, states=None, *, jobs=0, known=None, any_size=false, tell=None, observe=None, share_setups=true))]
pub(crate) fn run_experiment<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = experiment_of)] experiment: Experiment,
    progress: Option<Bound<'py, PyAny>>,
    parquet: Py<PyAny>,
    states: Option<(PathBuf, String)>,
    jobs: usize,
    known: Option<Vec<usize>>,
    any_size: bool,
    tell: Option<Py<PyAny>>,
    observe: Option<AskedToObserve>,
    share_setups: bool,
) -> PyResult<Ran<'py>> {
    let Experiment { written, file_name, base_dir, change } = experiment;
    let observe = observe.map(self::observe);
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
            change: Some(&change),
            jobs,
            known: known.as_deref(),
            any_size,
            observe: observe.as_ref(),
            tell: Some(&say),
            // A forked process has no Python that could be asked.
            quiet: (share_setups && !policy::is_any_in_python()).then_some(&watched::quietly as &ffslab_lab::Quiet),
        };
        ffslab_lab::run_experiment_as_text(&written, &file_name, &base_dir, given, report)
    })?
    .map_err(to_python)?;
    let films = PyDict::new(py);
    for (file, film) in result.films {
        films.set_item(file, columns::table(py, film)?)?;
    }
    Ok(Ran {
        summary: to_json(&result.summary)?,
        requests: columns::table(py, result.requests)?,
        blocks: columns::table(py, result.blocks)?,
        resolved_toml: result.resolved_toml,
        images: result.images.iter().map(|(file, image)| (file, PyBytes::new(py, image))).into_py_dict(py)?,
        logs: result.logs.into_py_dict(py)?,
        films,
        stacks: result.stacks.map(|stacks| columns::stacks(py, &stacks)).transpose()?,
        shared: (result.shared.setups_count, result.shared.variants_count, result.shared.seconds),
    })
}

/// Checks an experiment as far as that goes without running it; the arguments are those of `run_experiment`.
#[pyfunction]
#[pyo3(signature = (experiment, parquet, *, any_size=false))]
pub(crate) fn check_experiment(
    #[pyo3(from_py_with = experiment_of)] experiment: Experiment,
    parquet: Py<PyAny>,
    any_size: bool,
) -> PyResult<()> {
    let Experiment { written, file_name, base_dir, change } = experiment;
    let read = |path: &Path| read_parquet(&parquet, path);
    let given = ffslab_lab::Given { parquet: Some(&read), change: Some(&change), any_size, ..Default::default() };
    ffslab_lab::check_experiment(&written, &file_name, &base_dir, given).map_err(to_python)
}

/// Lets the variants of an experiment live until something ends it (JSON); `asked`: how (JSON). `ended` gets each life as soon
/// as it has ended: the position of its variant, and the life (JSON). The other arguments are those of `run_experiment`.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (experiment, asked, progress, parquet, states=None, *, jobs=0, known=None, any_size=false, ended=None))]
pub(crate) fn live_experiment(
    py: Python<'_>,
    #[pyo3(from_py_with = experiment_of)] experiment: Experiment,
    asked: &str,
    progress: Option<Bound<'_, PyAny>>,
    parquet: Py<PyAny>,
    states: Option<(PathBuf, String)>,
    jobs: usize,
    known: Option<Vec<usize>>,
    any_size: bool,
    ended: Option<Py<PyAny>>,
) -> PyResult<String> {
    let asked: ffslab_lab::life::Asked =
        serde_json::from_str(asked).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let Experiment { written, file_name, base_dir, change } = experiment;
    let cache = states.map(|(dir, build)| ffslab_lab::StateCache { dir, build });
    let lives = watched::run(py, progress.as_ref(), |report| {
        let read = |path: &Path| read_parquet(&parquet, path);
        let given = ffslab_lab::Given {
            cache: cache.as_ref(),
            parquet: Some(&read),
            change: Some(&change),
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
        let lives = ffslab_lab::life::live_experiment(&written, &file_name, &base_dir, &asked, given, report, &tell);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => lives.map_err(to_python),
        }
    })??;
    to_json(&lives)
}
