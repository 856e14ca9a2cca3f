//! # python: the laboratory as a Python module
//!
//! **Role.** Makes `lab` callable as `ffslab._native`, and nothing else: no rule of the simulation lives here. The
//! package around it (`python/ffslab`) is the command line, the tables and the report.
//!
//! **Follows.** `pydantic-core`: a private native module with a typed stub (`python/ffslab/_native.pyi`).
//!
//! **Leaves out.** Objects below the system calls (a chip, a file system): Python describes what to run and gets results,
//! or makes system calls in a session.

mod border;
mod cards;
mod columns;
mod crash;
mod decider;
mod experiments;
mod given;
mod images;
mod lent_columns;
#[cfg(all(feature = "mount", target_os = "linux"))]
mod mount;
#[cfg(not(all(feature = "mount", target_os = "linux")))]
#[path = "no_mount.rs"]
mod mount;
mod policy;
mod session;
mod timeline;
mod watched;
mod wire;

use border::{to_json, to_python, InputError};
use ffslab_lab::data::Data;
use ffslab_lab::{Ran, Step};
use given::{data_of, experiment_of, table_of, Experiment};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::os::fd::IntoRawFd;
use std::path::PathBuf;

/// The variants of an experiment, each with the key under which its result can be kept (JSON). `build` tells this build from
/// others.
#[pyfunction]
fn variant_keys(#[pyo3(from_py_with = experiment_of)] experiment: Experiment, build: &str) -> PyResult<String> {
    let Experiment { written, file_name, base_dir, change } = experiment;
    to_json(&ffslab_lab::variant_keys(&written, &file_name, &base_dir, Some(&change), build).map_err(to_python)?)
}

/// A run: its name, its axes, and its figures by their columns in variants.parquet.
type RanFields<'py> = (String, Bound<'py, PyAny>, HashMap<String, Option<f64>>);

/// What runs have in common, by variants (JSON list). `failed`: axes of those that came to no end.
#[pyfunction]
fn repeated(runs: Vec<RanFields<'_>>, failed: Vec<Bound<'_, PyAny>>) -> PyResult<String> {
    let axes_of = |axes: &Bound<'_, PyAny>| -> PyResult<BTreeMap<_, _>> { Ok(table_of(axes)?.into_iter().collect()) };
    let run = |(name, axes, figures): RanFields<'_>| -> PyResult<Ran> {
        Ok(Ran::of(name, axes_of(&axes)?, |figure| figures.get(figure).copied().flatten()))
    };
    let runs: Vec<Ran> = runs.into_iter().map(run).collect::<PyResult<_>>()?;
    let failed: Vec<_> = failed.iter().map(axes_of).collect::<PyResult<_>>()?;
    to_json(&ffslab_lab::repeated(&runs, &failed))
}

/// Median, its interval, the least and the most.
type SpreadFields = (f64, Option<f64>, Option<f64>, f64, f64);

/// Of values of a figure: median, the interval of the median (`None`: of fewer than six), the least and the most.
#[pyfunction]
fn spread(values: Vec<f64>) -> PyResult<SpreadFields> {
    if values.is_empty() {
        return Err(PyRuntimeError::new_err("no values"));
    }
    let ffslab_lab::Spread { median, low, high, least, most } = ffslab_lab::Spread::of(values);
    Ok((median, low, high, least, most))
}

/// A table as the TOML of an experiment; a key whose value is `None` is left out.
#[pyfunction]
fn toml_of(#[pyo3(from_py_with = data_of)] table: Data) -> PyResult<String> {
    ffslab_lab::data::toml_of(&table).map_err(to_python)
}

/// A profile as TOML, a constant a line.
#[pyfunction]
fn profile_toml_of(#[pyo3(from_py_with = data_of)] profile: Data) -> PyResult<String> {
    ffslab_lab::data::profile_toml_of(&profile).map_err(to_python)
}

/// The setup steps that the key `initial` stands for, as JSON.
#[pyfunction]
fn initial_steps(text: &str) -> PyResult<String> {
    ffslab_lab::experiment::initial_steps(text).map_err(to_python)
}

/// The `[stack]` table as it stands in the text of an experiment, without defaults (JSON).
#[pyfunction]
fn stack_as_written(text: &str, file_name: &str) -> PyResult<String> {
    to_json(&ffslab_lab::experiment::stack_as_written(text, file_name).map_err(to_python)?)
}

/// What the model of ageing says of the chip of an experiment (JSON), under stresses (JSON list).
#[pyfunction]
fn ageing(text: &str, file_name: &str, base_dir: PathBuf, asked: &str) -> PyResult<String> {
    let asked: Vec<ffslab_lab::ageing::Asked> =
        serde_json::from_str(asked).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    to_json(&ffslab_lab::ageing::ageing(text, file_name, &base_dir, &asked).map_err(to_python)?)
}

/// The variants of an experiment with every default (JSON list), for a run on a real kernel.
#[pyfunction]
fn planned_variants(#[pyo3(from_py_with = experiment_of)] experiment: Experiment) -> PyResult<String> {
    let Experiment { written, file_name, base_dir, .. } = experiment;
    to_json(&ffslab_lab::planned_variants(&written, &file_name, &base_dir).map_err(to_python)?)
}

/// The bytes of which steps with this content take their pieces, as long as the largest piece needs; how far the next piece
/// begins behind the last one, and modulo what (0 and 1 when each begins at 0).
#[pyfunction]
fn content_source<'py>(
    py: Python<'py>,
    kind: &str,
    seed: u64,
    piece_bytes: usize,
) -> PyResult<(Bound<'py, PyBytes>, usize, usize)> {
    let (bytes, stride, pool) = ffslab_lab::content_source(kind, seed, piece_bytes).map_err(to_python)?;
    Ok((PyBytes::new(py, &bytes), stride, pool))
}

/// Phase and index of a step, and its calls.
type CallsOfStep = (&'static str, usize, String);

/// The calls of steps that are programs of their own, for a real kernel: lines of each, and the bytes that they name. `setup`
/// and `measure` are steps (JSON lists), `names` those that are wanted.
#[pyfunction]
fn recorded_calls<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = experiment_of)] experiment: Experiment,
    variant: usize,
    setup: &str,
    measure: &str,
    names: Vec<String>,
) -> PyResult<(Vec<CallsOfStep>, Bound<'py, PyBytes>)> {
    let Experiment { written, file_name, base_dir, .. } = experiment;
    let steps = |json: &str| -> PyResult<Vec<Step>> {
        serde_json::from_str(json).map_err(|error| InputError::new_err(format!("{file_name}: {error}")))
    };
    let (setup, measure) = (steps(setup)?, steps(measure)?);
    let what = ffslab_lab::ToRecord { variant_index: variant, setup: &setup, measure: &measure, names: &names };
    let (found, data) = ffslab_lab::recorded_calls(&written, &file_name, &base_dir, &what).map_err(to_python)?;
    let phase = |is_setup| if is_setup { "setup" } else { "measure" };
    let found = found.into_iter().map(|step| (phase(step.is_setup), step.index, step.calls)).collect();
    Ok((found, PyBytes::new(py, &data)))
}

/// Runs measured cases and returns the comparison as JSON. `jobs` is the number of threads, 0 for one per core,
/// `phases` at how many phases of its clocks a case is run that does not tell where they stood.
#[pyfunction]
fn validate(
    py: Python<'_>,
    path: PathBuf,
    only: Option<String>,
    jobs: usize,
    phases: usize,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = ffslab_validate::ValidateOptions { only, jobs, phases };
    let report = watched::run(py, progress.as_ref(), |report| ffslab_validate::validate(&path, &options, report))?
        .map_err(to_python)?;
    to_json(&report)
}

/// The cases of a file that match the pattern, each with its name and as the experiment that it is.
#[pyfunction]
fn case_experiments(path: PathBuf, only: Option<&str>) -> PyResult<Vec<(String, String)>> {
    ffslab_validate::experiments(&path, only).map_err(to_python)
}

/// Reads a recording in batches: calls `begin` with the root of its paths, then `batch` with columns, and returns notes on
/// what is not in them.
#[pyfunction]
fn convert_trace(
    py: Python<'_>,
    path: PathBuf,
    root: Option<String>,
    begin: &Bound<'_, PyAny>,
    batch: &Bound<'_, PyAny>,
) -> PyResult<Vec<String>> {
    let failed = std::cell::RefCell::new(None);
    let keep = |result: PyResult<()>| match result {
        Ok(()) => true,
        Err(error) => {
            failed.borrow_mut().get_or_insert(error);
            false
        }
    };
    let notes = ffslab_lab::convert_trace(
        &path,
        root.as_deref(),
        &|| keep(py.check_signals()),
        &mut |root| keep(begin.call1((root,)).map(drop)),
        &mut |columns| keep(columns::trace(py, &columns).and_then(|table| batch.call1((table,)).map(drop))),
    );
    match failed.into_inner() {
        Some(error) => Err(error),
        None => notes.map_err(to_python),
    }
}

/// Opens a file that is read as what `kind` names; its descriptor, from which the caller reads no more than the limit.
#[pyfunction]
fn open_input(path: PathBuf, kind: &str) -> PyResult<i32> {
    let Some(kind) = ffslab_lab::InputKind::ALL.into_iter().find(|known| known.name() == kind) else {
        return Err(PyRuntimeError::new_err(format!("no kind of input is called {kind}")));
    };
    let opened = ffslab_lab::open_input(&path, kind).map_err(|error| {
        let (path, why) = (path.display(), ffslab_lab::io_reason(&error));
        InputError::new_err(format!("{path}: cannot read the {}: {why}", kind.name()))
    })?;
    Ok(opened.into_file().into_raw_fd())
}

/// What files are read as, and the most bytes of each.
#[pyfunction]
fn input_limits() -> Vec<(&'static str, u64)> {
    ffslab_lab::InputKind::ALL.iter().map(|kind| (kind.name(), kind.bytes_max())).collect()
}

/// The JSON Schema of what is called so.
#[pyfunction]
fn schema(name: &str) -> PyResult<String> {
    match described().find(|described| described.name == name) {
        Some(described) => to_json(&described.schema()),
        None => Err(PyRuntimeError::new_err(format!("nothing with a schema is called {name}"))),
    }
}

/// What has a JSON Schema: its name, and what it is.
#[pyfunction]
fn schemas() -> Vec<(&'static str, &'static str)> {
    described().map(|described| (described.name, described.about)).collect()
}

fn described() -> impl Iterator<Item = &'static ffslab_lab::Described> {
    ffslab_lab::SCHEMAS.iter().chain(ffslab_inspect::SCHEMAS).chain(ffslab_validate::SCHEMAS).chain(mount::SCHEMAS)
}

/// Names of the built-in profiles as JSON.
#[pyfunction]
fn profiles() -> PyResult<String> {
    to_json(&ffslab_profiles::list().map_err(|error| InputError::new_err(error.to_string()))?)
}

/// Whether a profile is named by the path of its file.
#[pyfunction]
fn is_path(name: &str) -> bool {
    ffslab_profiles::is_path(name)
}

/// Why a name is none of a board, part, kernel or block device; `None`: it is one, or a path.
#[pyfunction]
fn unknown_profile(name: &str, what: &str) -> Option<String> {
    ffslab_profiles::unknown_profile(name, what)
}

/// The names that may be meant by one, at most three.
#[pyfunction]
fn nearest_names(name: &str, known: Vec<String>) -> Vec<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    ffslab_profiles::nearest_names(name, &known).into_iter().map(str::to_string).collect()
}

/// Kinds of parts by name, each with the built-in part on which a new one of it builds.
#[pyfunction]
fn part_kinds() -> Vec<(&'static str, &'static str)> {
    ffslab_profiles::PartKind::ALL.iter().map(|kind| (kind.name(), kind.example())).collect()
}

/// The text of a profile that builds on `base` and says nothing of its own yet.
#[pyfunction]
fn profile_template(base: &str, called: &str) -> PyResult<String> {
    ffslab_profiles::template(base, called).map_err(|error| InputError::new_err(error.to_string()))
}

/// One profile with every value, its unit, source and status, as JSON.
#[pyfunction]
fn profile(name: &str) -> PyResult<String> {
    to_json(&ffslab_profiles::show(name).map_err(|error| InputError::new_err(error.to_string()))?)
}

/// The chip of a board: bytes of a page and of its OOB area, pages of a block, blocks.
#[pyfunction]
fn chip_geometry(board: &str, part: Option<&str>, base_dir: PathBuf) -> PyResult<(u32, u32, u32, u32)> {
    let profile = ffslab_profiles::Profile::load(board, part, None, &base_dir);
    let chip = profile.map_err(|error| InputError::new_err(error.to_string()))?.part.geometry();
    Ok((chip.page_bytes, chip.oob_bytes, chip.pages_per_block, chip.blocks))
}

/// A name as GNU `ls` shows it on a terminal.
#[pyfunction]
fn quoted(name: &[u8]) -> String {
    ffslab_lab::quoting::quoted(name)
}

/// Text in which nothing acts on a terminal, in one line if it must be.
#[pyfunction]
fn printable(text: &[u8], one_line: bool) -> Cow<'_, str> {
    ffslab_lab::quoting::printable(text, one_line)
}

/// Ctrl-C in what a crate calls of Python ends there as a panic. It is an interrupt, which Python tells above; its text says nothing.
fn interrupts_are_no_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.to_string().contains("KeyboardInterrupt") {
            told(panic);
        }
    }));
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    interrupts_are_no_panics();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let input_error = module.py().get_type::<InputError>();
    input_error.setattr("missing_blocks", module.py().None())?;
    module.add("InputError", input_error)?;
    module.add("EPOCH_S", ffslab_machine::spec::EPOCH_S)?;
    module.add("PowerCut", module.py().get_type::<session::PowerCut>())?;
    module.add_class::<session::Session>()?;
    module.add_class::<crash::CrashRecording>()?;
    module.add_class::<wire::ServedChip>()?;
    module.add_function(wrap_pyfunction!(experiments::run_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(experiments::live_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(experiments::check_experiment, module)?)?;
    module.add_function(wrap_pyfunction!(variant_keys, module)?)?;
    module.add_function(wrap_pyfunction!(repeated, module)?)?;
    module.add_function(wrap_pyfunction!(spread, module)?)?;
    module.add_function(wrap_pyfunction!(planned_variants, module)?)?;
    module.add_function(wrap_pyfunction!(content_source, module)?)?;
    module.add_function(wrap_pyfunction!(recorded_calls, module)?)?;
    module.add_function(wrap_pyfunction!(toml_of, module)?)?;
    module.add_function(wrap_pyfunction!(is_path, module)?)?;
    module.add_function(wrap_pyfunction!(nearest_names, module)?)?;
    module.add_function(wrap_pyfunction!(unknown_profile, module)?)?;
    module.add_function(wrap_pyfunction!(part_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(profile_template, module)?)?;
    module.add_function(wrap_pyfunction!(profile_toml_of, module)?)?;
    module.add_function(wrap_pyfunction!(stack_as_written, module)?)?;
    module.add_function(wrap_pyfunction!(initial_steps, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(case_experiments, module)?)?;
    module.add_function(wrap_pyfunction!(cards::card_operations, module)?)?;
    module.add_function(wrap_pyfunction!(images::ubi_image, module)?)?;
    module.add_function(wrap_pyfunction!(images::ubifs_to_ship, module)?)?;
    module.add_function(wrap_pyfunction!(images::read_trees, module)?)?;
    module.add_function(wrap_pyfunction!(images::read_lost, module)?)?;
    module.add_function(wrap_pyfunction!(images::memparse, module)?)?;
    module.add_function(wrap_pyfunction!(images::check_image_words, module)?)?;
    module.add_function(wrap_pyfunction!(images::file_systems, module)?)?;
    module.add_function(wrap_pyfunction!(images::systems, module)?)?;
    module.add_function(wrap_pyfunction!(images::recognise_one, module)?)?;
    module.add_function(wrap_pyfunction!(mount::mount, module)?)?;
    module.add_function(wrap_pyfunction!(mount::mount_sleeps_library, module)?)?;
    module.add_function(wrap_pyfunction!(policy::policies, module)?)?;
    module.add_function(wrap_pyfunction!(policy::amplification, module)?)?;
    module.add_function(wrap_pyfunction!(policy::amplification_cases, module)?)?;
    module.add_function(wrap_pyfunction!(policy::amplification_formula, module)?)?;
    module.add_function(wrap_pyfunction!(decider::decisions, module)?)?;
    module.add_function(wrap_pyfunction!(decider::register_rule, module)?)?;
    module.add_function(wrap_pyfunction!(decider::unregister_rule, module)?)?;
    module.add_function(wrap_pyfunction!(policy::register_policy, module)?)?;
    module.add_function(wrap_pyfunction!(policy::unregister_policy, module)?)?;
    module.add_function(wrap_pyfunction!(chip_geometry, module)?)?;
    module.add_function(wrap_pyfunction!(images::inspect, module)?)?;
    module.add_function(wrap_pyfunction!(images::recognise, module)?)?;
    module.add_function(wrap_pyfunction!(convert_trace, module)?)?;
    module.add_function(wrap_pyfunction!(open_input, module)?)?;
    module.add_function(wrap_pyfunction!(input_limits, module)?)?;
    module.add_function(wrap_pyfunction!(quoted, module)?)?;
    module.add_function(wrap_pyfunction!(printable, module)?)?;
    module.add_function(wrap_pyfunction!(ageing, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(schemas, module)?)?;
    module.add_function(wrap_pyfunction!(profiles, module)?)?;
    module.add_function(wrap_pyfunction!(profile, module)?)?;
    module.add_function(wrap_pyfunction!(timeline::write_timeline, module)?)?;
    Ok(())
}
