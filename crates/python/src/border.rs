//! What all modules share: errors as exceptions, answers as JSON, and Python's reader of recordings.

use ffslab_lab::traces::ParquetError;
use ffslab_lab::{LabError, SystemError};
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::Path;

create_exception!(
    _native,
    InputError,
    PyValueError,
    "What the user gave cannot be run: the text says what is wrong, where, and what would be right."
);

/// What went wrong as an exception.
pub(crate) fn to_python(error: LabError) -> PyErr {
    match error {
        LabError::Input(text) => InputError::new_err(text),
        LabError::Refused(error) => refused_machine(&error),
        LabError::Interrupted => PyKeyboardInterrupt::new_err(()),
        other => PyRuntimeError::new_err(other.to_string()),
    }
}

/// What a machine refused: with how many more erase blocks it would do, if its size is what is wrong.
fn refused_machine(error: &SystemError) -> PyErr {
    let raised = InputError::new_err(error.to_string());
    Python::attach(|py| match raised.value(py).setattr("missing_blocks", error.missing_blocks()) {
        Ok(()) => raised,
        Err(other) => other,
    })
}

/// An answer as JSON.
pub(crate) fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// What Python's reader makes of a recording in Parquet: its text as CSV, or what is wrong with it.
pub(crate) fn read_parquet(parquet: &Py<PyAny>, path: &Path) -> Result<String, ParquetError> {
    Python::attach(|py| parquet.call1(py, (path,))?.extract(py))
        .map_err(|error: PyErr| ParquetError { says: Python::attach(|py| error.value(py).to_string()) })
}
