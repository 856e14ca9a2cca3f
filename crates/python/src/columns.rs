//! Tables as Python dictionaries of columns: numpy arrays for numbers, lists for text and for what may be missing.

use ffslab_lab::requests::CallOp;
use ffslab_lab::slowest::Cause;
use ffslab_lab::{BlockColumns, RequestColumns, StackColumns, TraceColumns};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

pub fn requests<'py>(py: Python<'py>, columns: RequestColumns) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    let ops: Vec<&str> = CallOp::ALL.iter().map(|op| op.name()).collect();
    table
        .set_item("variant", texts(py, &columns.variant_names, columns.variant_index.iter().map(|&at| at as usize))?)?;
    table.set_item("step", PyArray1::from_vec(py, columns.step))?;
    table.set_item("i", PyArray1::from_vec(py, columns.i))?;
    table.set_item("op", texts(py, &ops, columns.op.iter().map(|&op| op as usize))?)?;
    table.set_item("file", texts(py, &columns.file_names, columns.file.iter().map(|&at| at as usize))?)?;
    table.set_item("offset_B", PyArray1::from_vec(py, columns.offset_bytes))?;
    table.set_item("bytes", PyArray1::from_vec(py, columns.bytes))?;
    table.set_item("start_us", PyArray1::from_vec(py, columns.start_us))?;
    table.set_item("latency_us", PyArray1::from_vec(py, columns.latency_us))?;
    let names = |cause: &Option<Cause>| cause.map_or(("", ""), |(task, reason)| (task.name, reason.name));
    let (tasks, reasons): (Vec<&str>, Vec<&str>) = columns.causes.iter().map(names).unzip();
    let causes = || columns.cause_index.iter().map(|&at| at as usize);
    table.set_item("cause", texts(py, &reasons, causes())?)?;
    table.set_item("cause_task", texts(py, &tasks, causes())?)?;
    table.set_item("cause_us", PyArray1::from_vec(py, columns.cause_us))?;
    table.set_item("flash_us", PyArray1::from_vec(py, columns.flash_us))?;
    table.set_item("page_reads", PyArray1::from_vec(py, columns.page_reads))?;
    table.set_item("page_programs", PyArray1::from_vec(py, columns.page_programs))?;
    table.set_item("erases", PyArray1::from_vec(py, columns.erases))?;
    if !columns.program_names.is_empty() {
        let programs = columns.program_index.iter().map(|&at| at as usize);
        table.set_item("program", texts(py, &columns.program_names, programs)?)?;
        table.set_item("waited_us", PyArray1::from_vec(py, columns.waited_us))?;
    }
    Ok(table)
}

/// A list of texts by their positions among `names`: a text that is in many rows is one object.
fn texts<'py>(
    py: Python<'py>,
    names: &[impl AsRef<str>],
    positions: impl ExactSizeIterator<Item = usize>,
) -> PyResult<Bound<'py, PyList>> {
    let objects: Vec<Bound<'py, PyString>> = names.iter().map(|name| PyString::new(py, name.as_ref())).collect();
    PyList::new(py, positions.map(|at| &objects[at]))
}

pub fn blocks<'py>(py: Python<'py>, columns: &BlockColumns) -> PyResult<Bound<'py, PyDict>> {
    let table = PyDict::new(py);
    table.set_item("variant", &columns.variant)?;
    table.set_item("block", PyArray1::from_slice(py, &columns.block))?;
    table.set_item("erases_main", PyArray1::from_slice(py, &columns.erases_main))?;
    table.set_item("erases_total", PyArray1::from_slice(py, &columns.erases_total))?;
    table.set_item("erases_formatting", PyArray1::from_slice(py, &columns.erases_formatting))?;
    table.set_item("programmed_pages", PyArray1::from_slice(py, &columns.programmed_pages))?;
    for (when, space) in [("before", &columns.before), ("after", &columns.after)] {
        table.set_item(format!("valid_{when}_B"), PyArray1::from_slice(py, &space.valid_bytes))?;
        table.set_item(format!("invalid_{when}_B"), PyArray1::from_slice(py, &space.invalid_bytes))?;
        table.set_item(format!("free_{when}_B"), PyArray1::from_slice(py, &space.free_bytes))?;
    }
    Ok(table)
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
