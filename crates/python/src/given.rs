//! What Python gives as data: tables of keys and values, and experiments that are texts or such tables.

use crate::border::{to_python, InputError};
use ffslab_lab::data::{Change, Data, Table, Written};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;

/// What is nested deeper is a table that holds itself.
const DEPTH_MAX: u32 = 100;

/// Data of texts, numbers, truth values, lists and dictionaries.
///
/// Errors: anything else, with its kind.
pub fn data_of(value: &Bound<'_, PyAny>) -> PyResult<Data> {
    nested(value, 0)
}

fn nested(value: &Bound<'_, PyAny>, depth: u32) -> PyResult<Data> {
    if depth > DEPTH_MAX {
        return Err(InputError::new_err(format!("data: tables and lists in more than {DEPTH_MAX} others")));
    }
    if value.is_none() {
        return Ok(Data::Nothing);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Data::Truth(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole: i64 = value
            .extract()
            .map_err(|_| InputError::new_err(format!("data: {value} is not from {} to {}", i64::MIN, i64::MAX)))?;
        return Ok(Data::Number(whole.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        // In digits that have a point or an exponent, as a fraction has.
        return if number.is_finite() {
            Ok(Data::Number(format!("{number:?}")))
        } else {
            Err(InputError::new_err(format!("data: {value} is no number")))
        };
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Data::Text(value.extract()?));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let name =
                key.extract::<String>().map_err(|_| InputError::new_err(format!("data: the key {key} is no text")))?;
            Ok((name, nested(&value, depth + 1)?))
        };
        return table.iter().map(entry).collect::<PyResult<_>>().map(Data::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        return value.try_iter()?.map(|value| nested(&value?, depth + 1)).collect::<PyResult<_>>().map(Data::List);
    }
    let kind = value.get_type().name()?;
    Err(InputError::new_err(format!("data: {kind} is neither text, number, truth value, list nor table")))
}

/// A table whose keys need no order.
pub fn table_of(value: &Bound<'_, PyAny>) -> PyResult<Table> {
    data_of(value)?.to_table().map_err(to_python)
}

/// What an `ffslab.Experiment` holds.
pub struct Experiment {
    pub written: Written,
    pub file_name: String,
    pub base_dir: PathBuf,
    pub change: Change,
}

pub fn experiment_of(experiment: &Bound<'_, PyAny>) -> PyResult<Experiment> {
    let written = experiment.getattr("written")?;
    Ok(Experiment {
        written: match written.cast::<PyString>() {
            Ok(text) => Written::Text(text.extract()?),
            Err(_) => Written::Data(data_of(&written)?),
        },
        file_name: experiment.getattr("file_name")?.extract()?,
        base_dir: experiment.getattr("base_dir")?.extract()?,
        change: Change::of(data_of(&experiment.getattr("change")?)?).map_err(to_python)?,
    })
}
