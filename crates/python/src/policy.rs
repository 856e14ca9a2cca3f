//! Victim policies that are written in Python.
//!
//! At a decision point the columns of the candidates are handed over as numpy arrays that cannot be written. They are the
//! call's own: each is one copy of a column, because a view into memory of the simulation could be kept and read when that memory
//! is gone. The object that holds them is closed at the end of the call.

use ffslab_policy::{
    free_policies, levelling_policies, victim_policies, AgeUnit, Candidates, Named, Pcg, Room, VictimPolicy,
};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

use crate::{to_json, InputError};

/// What a policy in Python gets: the candidates of one decision.
#[pyclass(name = "Candidates", module = "ffslab._native")]
struct PyCandidates {
    /// `None`: the decision is over.
    columns: Option<Py<PyDict>>,
    count: usize,
}

#[pymethods]
impl PyCandidates {
    fn __len__(&self) -> usize {
        self.count
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let columns = self.columns.as_ref().ok_or_else(|| {
            PyRuntimeError::new_err("these candidates belong to a decision that is over: copy what is needed later")
        })?;
        let found = columns.bind(py).get_item(name)?;
        found.ok_or_else(|| pyo3::exceptions::PyAttributeError::new_err(format!("candidates have no column {name}")))
    }
}

/// An array of its own with this content, which nobody writes to.
fn column<T: numpy::Element>(py: Python<'_>, values: &[T]) -> PyResult<Py<PyAny>> {
    let array = PyArray1::from_slice(py, values);
    let flags = PyDict::new(py);
    flags.set_item("write", false)?;
    array.call_method("setflags", (), Some(&flags))?;
    Ok(array.into_any().unbind())
}

/// A Python object as a policy.
struct InPython {
    name: String,
    object: Py<PyAny>,
    failure: Option<String>,
}

impl InPython {
    fn ask(&self, py: Python<'_>, of: &Candidates<'_>) -> PyResult<Option<isize>> {
        let columns = PyDict::new(py);
        columns.set_item("block", column(py, of.block)?)?;
        columns.set_item("valid", column(py, of.valid)?)?;
        columns.set_item("invalid", column(py, of.invalid)?)?;
        columns.set_item("erases", column(py, of.erases)?)?;
        columns.set_item("age", column(py, of.age)?)?;
        columns.set_item("idle", column(py, of.idle)?)?;
        columns.set_item("stream", column(py, of.stream)?)?;
        columns.set_item("capacity", of.capacity)?;
        columns.set_item("must_gain", of.must_gain)?;
        columns.set_item(
            "room",
            match of.room {
                Room::Bytes => "bytes",
                Room::Pages => "pages",
            },
        )?;
        columns.set_item(
            "age_unit",
            match of.age_unit {
                AgeUnit::Nanoseconds => "ns",
                AgeUnit::Writes => "writes",
                AgeUnit::BlocksOpened => "blocks",
            },
        )?;
        let given = Bound::new(py, PyCandidates { columns: Some(columns.unbind()), count: of.len() })?;
        let object = self.object.bind(py);
        let answer = match object.hasattr("choose")? {
            true => object.call_method1("choose", (&given,)),
            false => object.call1((&given,)),
        };
        given.borrow_mut().columns = None;
        answer?.extract()
    }
}

impl VictimPolicy for InPython {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        match Python::attach(|py| self.ask(py, candidates).map_err(|error| told(py, &error))) {
            Ok(None) => None,
            Ok(Some(at)) if at < 0 => {
                self.failure = Some(format!("it chose candidate {at}; candidates are numbered from 0"));
                None
            }
            Ok(Some(at)) => Some(at as usize),
            Err(why) => {
                self.failure = Some(why);
                None
            }
        }
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

/// An exception with the line that raised it.
fn told(py: Python<'_>, error: &PyErr) -> String {
    let mut line = None;
    let mut frame = error.traceback(py).map(|traceback| traceback.into_any());
    while let Some(at) = frame.filter(|at| !at.is_none()) {
        line = at.getattr("tb_lineno").and_then(|number| number.extract::<u32>()).ok();
        frame = at.getattr("tb_next").ok();
    }
    match line {
        Some(line) => format!("line {line}: {error}"),
        None => error.to_string(),
    }
}

/// Makes a victim policy known under a name. `make` is called without arguments for each mount and returns an object with
/// `choose(candidates)`, or a callable.
///
/// Errors: it cannot be a name, or there is one of this name.
#[pyfunction]
pub fn register_policy(name: String, make: Py<PyAny>) -> PyResult<()> {
    let of = name.clone();
    let maker = move || -> Box<dyn VictimPolicy> {
        let made = Python::attach(|py| make.call0(py).map_err(|error| told(py, &error)));
        let (object, failure) = match made {
            Ok(object) => (object, None),
            Err(why) => (Python::attach(|py| py.None()), Some(why)),
        };
        Box::new(InPython { name: of.clone(), object, failure })
    };
    ffslab_policy::register(&name, Arc::new(maker)).map_err(|error| InputError::new_err(error.to_string()))
}

/// Forgets a policy that was made known.
#[pyfunction]
pub fn unregister_policy(name: &str) {
    ffslab_policy::unregister(name);
}

/// The built-in policies as JSON: a list of objects with `decision`, `name`, `about`, `paper` and `parameter`.
#[pyfunction]
pub fn policies() -> PyResult<String> {
    let of = |decision: &'static str, table: &'static [Named]| {
        table.iter().map(move |named| {
            let parameter = named.parameter.map(|it| {
                serde_json::json!({
                    "name": it.name, "about": it.about, "least": it.least, "most": it.most, "default": it.default,
                })
            });
            serde_json::json!({
                "decision": decision, "name": named.name, "about": named.about, "paper": named.paper,
                "parameter": parameter,
            })
        })
    };
    let all = of("victim", victim_policies());
    let all = all.chain(of("free_block", free_policies())).chain(of("levelling", levelling_policies()));
    to_json(&all.collect::<Vec<_>>())
}
