//! What Python gives as data: tables of keys and values, and experiments that are texts or such tables.

use crate::border::{to_python, InputError};
use ffslab_lab::data::{Change, Data, Table, Written};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::path::PathBuf;

/// What is nested deeper is a table that holds itself.
const DEPTH_MAX: usize = 100;

/// Data of texts, numbers, truth values, lists and dictionaries; a number of numpy or a path counts as what it holds.
///
/// Errors: anything else, with the keys that lead to it.
pub fn data_of(value: &Bound<'_, PyAny>) -> PyResult<Data> {
    let mut keys = Vec::new();
    nested(value, &mut keys).map_err(|said| {
        let place: String = keys.iter().map(|key| format!("{key}: ")).collect();
        InputError::new_err(format!("data: {place}{said}"))
    })
}

/// What a value holds; or what is wrong, with the keys that lead to it in `keys`.
fn nested(value: &Bound<'_, PyAny>, keys: &mut Vec<String>) -> Result<Data, String> {
    if keys.len() > DEPTH_MAX {
        keys.truncate(1);
        return Err(format!("tables and lists in more than {DEPTH_MAX} others"));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entry = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            if !key.is_instance_of::<PyString>() {
                return Err(format!("the key {key} is no text"));
            }
            let name = text_of(&key)?;
            Ok((name.clone(), below(name, &value, keys)?))
        };
        return table.iter().map(entry).collect::<Result<_, _>>().map(Data::Table);
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter().map_err(|error| error.to_string())?.enumerate();
        let entry = |(place, value): (usize, PyResult<Bound<'_, PyAny>>)| {
            below(format!("entry {}", place + 1), &value.map_err(|error| error.to_string())?, keys)
        };
        return values.map(entry).collect::<Result<_, _>>().map(Data::List);
    }
    single(value)
}

fn below(key: String, value: &Bound<'_, PyAny>, keys: &mut Vec<String>) -> Result<Data, String> {
    keys.push(key);
    let found = nested(value, keys)?;
    keys.pop();
    Ok(found)
}

/// What is neither table nor list.
fn single(value: &Bound<'_, PyAny>) -> Result<Data, String> {
    if value.is_none() {
        return Ok(Data::Nothing);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Data::Truth(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole: i64 = value.extract().map_err(|_| format!("{value} is not from {} to {}", i64::MIN, i64::MAX))?;
        return Ok(Data::Number(whole.to_string()));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        let number = number.value();
        // In digits that have a point or an exponent, as a fraction has.
        let is_one = number.is_finite();
        return if is_one { Ok(Data::Number(format!("{number:?}"))) } else { Err(format!("{value} is no number")) };
    }
    if value.is_instance_of::<PyString>() {
        return text_of(value).map(Data::Text);
    }
    match held(value) {
        Some(held) => single(&held),
        None => {
            let kind = value.get_type().name().map_or_else(|_| "an object".to_string(), |name| name.to_string());
            Err(format!("{kind} is neither text, number, truth value, list nor table"))
        }
    }
}

/// What a scalar of numpy (`item`) or a path (`__fspath__`) holds.
fn held<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let is_scalar = value.getattr("ndim").is_ok_and(|ndim| ndim.eq(0).unwrap_or(false));
    let held = value.call_method0(if is_scalar { "item" } else { "__fspath__" }).ok()?;
    let is_plain =
        held.is_instance_of::<PyInt>() || held.is_instance_of::<PyFloat>() || held.is_instance_of::<PyString>();
    is_plain.then_some(held)
}

fn text_of(value: &Bound<'_, PyAny>) -> Result<String, String> {
    let text = value.extract();
    text.map_err(|_| {
        format!("{} is no UTF-8 text", value.repr().map_or_else(|_| "it".to_string(), |repr| repr.to_string()))
    })
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
