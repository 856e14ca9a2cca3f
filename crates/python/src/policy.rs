//! Victim policies that are written in Python.
//!
//! At a decision point the columns of the candidates are handed over as numpy arrays over the memory that the layer has filled,
//! without copies, each when it is first asked for. They cannot be written. What is kept beyond the call stays valid and as it
//! was: an array, or any part of one, holds the memory, and the layer then fills other memory the next time
//! ([`ffslab_policy::CandidateTable`]). The candidates themselves are closed at the end of the call.

use ffslab_ftl::amplification::{compare, Case};
use ffslab_policy::{victim_policies, AgeUnit, Candidates, Named, Pcg, Room, VictimPolicy, DECISIONS};
use numpy::PyArray1;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::border::{to_json, InputError};
use crate::lent_columns::{array, CandidateMemory};

/// What a policy in Python gets: the candidates of one decision.
#[pyclass(name = "Candidates", module = "ffslab._native")]
struct PyCandidates {
    /// `None`: the decision is over.
    memory: Option<Py<CandidateMemory>>,
    count: usize,
    #[pyo3(get)]
    capacity: u32,
    #[pyo3(get)]
    room: &'static str,
    #[pyo3(get)]
    age_unit: &'static str,
    #[pyo3(get)]
    must_gain: bool,
}

impl PyCandidates {
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, CandidateMemory>> {
        let over = "these candidates belong to a decision that is over: keep the arrays that are needed later";
        Ok(self.memory.as_ref().ok_or_else(|| PyRuntimeError::new_err(over))?.bind(py))
    }
}

#[pymethods]
impl PyCandidates {
    fn __len__(&self) -> usize {
        self.count
    }

    fn __getattr__(&self, name: &str) -> PyResult<()> {
        Err(PyAttributeError::new_err(format!("candidates have no column {name}")))
    }

    #[getter]
    fn block<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(array(self.memory(py)?, |columns| &columns.block))
    }

    #[getter]
    fn valid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(array(self.memory(py)?, |columns| &columns.valid))
    }

    #[getter]
    fn invalid<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(array(self.memory(py)?, |columns| &columns.invalid))
    }

    #[getter]
    fn erases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        Ok(array(self.memory(py)?, |columns| &columns.erases))
    }

    #[getter]
    fn age<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(array(self.memory(py)?, |columns| &columns.age))
    }

    #[getter]
    fn idle<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        Ok(array(self.memory(py)?, |columns| &columns.idle))
    }

    #[getter]
    fn stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        Ok(array(self.memory(py)?, |columns| &columns.stream))
    }
}

/// A Python object as a policy.
struct InPython {
    name: String,
    /// What is called with the candidates.
    choose: Py<PyAny>,
    failure: Option<String>,
}

impl InPython {
    fn ask(&self, py: Python<'_>, of: &Candidates<'_>) -> PyResult<Option<isize>> {
        let given = PyCandidates {
            memory: Some(Py::new(py, CandidateMemory(of.columns()))?),
            count: of.len(),
            capacity: of.capacity,
            room: match of.room {
                Room::Bytes => "bytes",
                Room::Pages => "pages",
            },
            age_unit: match of.age_unit {
                AgeUnit::Nanoseconds => "ns",
                AgeUnit::Writes => "writes",
                AgeUnit::BlocksOpened => "blocks",
            },
            must_gain: of.must_gain,
        };
        let given = Bound::new(py, given)?;
        let answer = self.choose.bind(py).call1((&given,));
        given.borrow_mut().memory = None;
        answer?.extract()
    }
}

impl VictimPolicy for InPython {
    fn name(&self) -> &str {
        &self.name
    }

    fn choose(&mut self, candidates: &Candidates<'_>, _rng: &mut Pcg) -> Option<usize> {
        if self.failure.is_some() {
            // There is no object to ask: it could not be made.
            return None;
        }
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
pub(crate) fn told(py: Python<'_>, error: &PyErr) -> String {
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

/// What an object of a policy is called by.
pub(crate) fn made_chooser(py: Python<'_>, make: &Py<PyAny>) -> PyResult<Py<PyAny>> {
    let object = make.bind(py).call0()?;
    if object.hasattr("choose")? {
        Ok(object.getattr("choose")?.unbind())
    } else {
        Ok(object.unbind())
    }
}

/// Whether a policy or a rule in Python was ever made known in this process.
static ANY_IN_PYTHON: AtomicBool = AtomicBool::new(false);

/// One was made known.
pub(crate) fn one_is_in_python() {
    ANY_IN_PYTHON.store(true, Ordering::Relaxed);
}

pub(crate) fn is_any_in_python() -> bool {
    ANY_IN_PYTHON.load(Ordering::Relaxed)
}

/// Makes a victim policy known under a name. `make` is called without arguments for each mount and returns an object with
/// `choose(candidates)`, or a callable.
///
/// Errors: it cannot be a name, or there is one of this name.
#[pyfunction]
pub fn register_policy(name: String, make: Py<PyAny>) -> PyResult<()> {
    one_is_in_python();
    let of = name.clone();
    let maker = move || -> Box<dyn VictimPolicy> {
        let (choose, failure) = Python::attach(|py| match made_chooser(py, &make) {
            Ok(choose) => (choose, None),
            Err(error) => (py.None(), Some(told(py, &error))),
        });
        Box::new(InPython { name: of.clone(), choose, failure })
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
    let others = DECISIONS.iter().flat_map(|decision| of(decision.key, (decision.named)()));
    let all = of("victim", victim_policies()).chain(others);
    to_json(&all.collect::<Vec<_>>())
}

/// Write amplification of random writes to a page map by the formulas, and simulated without bytes. The comparisons, as JSON: name,
/// pages_per_block, spare_share, allowed_percent.
#[pyfunction]
pub fn amplification_cases() -> PyResult<String> {
    let rows = Case::all().into_iter().map(|case| {
        serde_json::json!({
            "name": case.name(),
            "pages_per_block": case.pages_per_block,
            "spare_share": case.spare_share,
            "allowed_percent": case.allowed_percent,
        })
    });
    to_json(&rows.collect::<Vec<_>>())
}

/// One comparison: by the formula, simulated. `blocks`: erase blocks beside the free ones.
#[pyfunction]
pub fn amplification(py: Python<'_>, case: usize, blocks: u32) -> PyResult<(f64, f64)> {
    let case = Case::all().into_iter().nth(case).ok_or_else(|| InputError::new_err("there is no such comparison"))?;
    let row = py.detach(|| compare(&case, blocks));
    row.map(|row| (row.formula_amplification, row.simulated_amplification))
        .map_err(|error| InputError::new_err(format!("blocks: {error}")))
}

/// The formula of a comparison at another spare share.
#[pyfunction]
pub fn amplification_formula(case: usize, spare_share: f64) -> PyResult<f64> {
    let case = Case::all().into_iter().nth(case).ok_or_else(|| InputError::new_err("there is no such comparison"))?;
    Ok(Case { spare_share, ..case }.formula())
}
