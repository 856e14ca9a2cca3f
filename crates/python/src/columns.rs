//! Tables as Python dictionaries of columns: numpy arrays for numbers, lists for text and for what may be missing.

use ffslab_lab::{Column, Columns, StackColumns, TraceColumns};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

/// The columns of calls or of erase blocks.
pub fn table(py: Python<'_>, columns: impl Into<Columns>) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for (name, column) in columns.into() {
        match column {
            Column::U32(numbers) => table.set_item(name, PyArray1::from_vec(py, numbers))?,
            Column::U64(numbers) => table.set_item(name, PyArray1::from_vec(py, numbers))?,
            Column::F64(numbers) => table.set_item(name, PyArray1::from_vec(py, numbers))?,
            Column::Optional(numbers) => table.set_item(name, numbers)?,
            Column::Texts(names, positions) => table.set_item(name, texts(py, &names, &positions)?)?,
        }
    }
    Ok(table)
}

/// A list of texts by their positions among `names`: a text that is in many rows is one object.
fn texts<'py>(py: Python<'py>, names: &[String], positions: &[u32]) -> PyResult<Bound<'py, PyList>> {
    let objects: Vec<Bound<'py, PyString>> = names.iter().map(|name| PyString::new(py, name)).collect();
    PyList::new(py, positions.iter().map(|&at| &objects[at as usize]))
}

pub fn trace<'py>(py: Python<'py>, columns: &TraceColumns) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("op", &columns.op)?;
    table.set_item("path", &columns.path)?;
    table.set_item("to", &columns.to)?;
    table.set_item("handle", &columns.handle)?;
    table.set_item("process", PyArray1::from_slice(py, &columns.process))?;
    table.set_item("start_ns", PyArray1::from_slice(py, &columns.start_ns))?;
    table.set_item("duration_ns", PyArray1::from_slice(py, &columns.duration_ns))?;
    table.set_item("think_ns", PyArray1::from_slice(py, &columns.think_ns))?;
    table.set_item("offset_B", &columns.offset_bytes)?;
    table.set_item("size_B", &columns.size_bytes)?;
    table.set_item("flags", &columns.flags)?;
    table.set_item("permissions", &columns.permissions)?;
    table.set_item("uid", &columns.uid)?;
    table.set_item("gid", &columns.gid)?;
    table.set_item("result", &columns.result)?;
    table.set_item("error", &columns.error)?;
    Ok(table)
}

pub fn stacks<'py>(py: Python<'py>, columns: &StackColumns) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("variant", &columns.variant)?;
    table.set_item("task", &columns.task)?;
    table.set_item("call", &columns.call)?;
    table.set_item("reason", &columns.reason)?;
    table.set_item("operation", &columns.operation)?;
    table.set_item("time_ns", PyArray1::from_slice(py, &columns.time_ns))?;
    table.set_item("energy_uJ", PyArray1::from_slice(py, &columns.energy_uj))?;
    table.set_item("operations", PyArray1::from_slice(py, &columns.operations))?;
    table.set_item("erases", PyArray1::from_slice(py, &columns.erases))?;
    Ok(table)
}
