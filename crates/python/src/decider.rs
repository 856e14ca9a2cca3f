//! Rules in Python for the decisions that are no choice of a victim ([`ffslab_policy::Decision`]).
//!
//! What is shown is small and made anew for each decision: a number a column, or an array with a number for each thing among which
//! the rule chooses.

use ffslab_policy::{
    register_decider, unregister_decider, Answer, Decider, Decision, Question, DECISIONS, VICTIM_COLUMNS,
};
use numpy::PyArray1;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

use crate::border::{to_json, InputError};
use crate::policy::{made_chooser, one_is_in_python, told};

/// What a rule in Python is asked.
#[pyclass(frozen, name = "Question", module = "ffslab._native")]
struct PyQuestion {
    decision: &'static Decision,
    rows: usize,
    columns: Py<PyDict>,
}

#[pymethods]
impl PyQuestion {
    fn __len__(&self) -> usize {
        self.rows
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        match self.columns.bind(py).get_item(name)? {
            Some(column) => Ok(column.unbind()),
            None => {
                let known: Vec<&str> = self.decision.columns.iter().map(|column| column.name).collect();
                let message = format!("{} has no column {name}; there are {}", self.decision.key, known.join(", "));
                Err(PyAttributeError::new_err(message))
            }
        }
    }
}

/// A Python object as a rule.
struct InPython {
    /// What is called with the question, or why there is nothing to call.
    choose: Result<Py<PyAny>, String>,
}

fn asked<'py>(py: Python<'py>, question: &Question<'_>) -> PyResult<Bound<'py, PyQuestion>> {
    let Question { decision, rows, .. } = *question;
    let columns = PyDict::new(py);
    for (at, column) in decision.columns.iter().enumerate() {
        match decision.answer {
            Answer::Number => columns.set_item(column.name, question.value(0, at))?,
            Answer::One | Answer::OneOrNone => {
                let values = (0..rows).map(|row| question.value(row, at));
                columns.set_item(column.name, PyArray1::from_iter(py, values))?;
            }
        }
    }
    Bound::new(py, PyQuestion { decision, rows, columns: columns.unbind() })
}

impl Decider for InPython {
    fn decide(&mut self, question: &Question<'_>) -> Result<Option<f64>, String> {
        let choose = self.choose.as_ref().map_err(Clone::clone)?;
        Python::attach(|py| {
            let answer = asked(py, question).and_then(|question| choose.bind(py).call1((question,))?.extract());
            answer.map_err(|error| told(py, &error))
        })
    }
}

/// The decision with this key.
fn decision(key: &str) -> PyResult<&'static Decision> {
    let found = DECISIONS.into_iter().find(|decision| decision.key == key);
    let known = || DECISIONS.map(|decision| decision.key).join(", ");
    found.ok_or_else(|| InputError::new_err(format!("there is no decision `{key}`; there are victim, {}", known())))
}

/// Makes a rule for a decision other than `victim` known under a name. `make` is called without arguments for each mount and returns
/// an object with `choose(question)`, or a callable.
///
/// Errors: there is no such decision, it cannot be a name, or there is one of this name.
#[pyfunction]
pub fn register_rule(key: &str, name: &str, make: Py<PyAny>) -> PyResult<()> {
    one_is_in_python();
    let maker = move || -> Box<dyn Decider> {
        let choose = Python::attach(|py| made_chooser(py, &make).map_err(|error| told(py, &error)));
        Box::new(InPython { choose })
    };
    register_decider(decision(key)?, name, Arc::new(maker)).map_err(|error| InputError::new_err(error.to_string()))
}

/// Forgets a rule that was made known.
///
/// Errors: there is no such decision.
#[pyfunction]
pub fn unregister_rule(key: &str, name: &str) -> PyResult<()> {
    unregister_decider(decision(key)?, name);
    Ok(())
}

/// The decisions as JSON: a list of objects with `key`, `score` (what a score says) and `columns` (`name`, `about`).
#[pyfunction]
pub fn decisions() -> PyResult<String> {
    let victim = ("victim", "the block with the highest score is collected", &VICTIM_COLUMNS[..]);
    let others = DECISIONS.iter().map(|decision| (decision.key, decision.score, decision.columns));
    let told = std::iter::once(victim).chain(others).map(|(key, score, columns)| {
        let columns = columns.iter().map(|column| serde_json::json!({"name": column.name, "about": column.about}));
        serde_json::json!({"key": key, "score": score, "columns": columns.collect::<Vec<_>>()})
    });
    to_json(&told.collect::<Vec<_>>())
}
