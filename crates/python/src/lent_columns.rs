//! Memory of candidates as arrays of Python, without copies.

use ffslab_policy::Columns;
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Arc;

/// What arrays hold on to: the memory of the columns of one decision, which nobody changes while this is there.
#[pyclass(frozen, module = "ffslab._native")]
pub(crate) struct CandidateMemory(pub(crate) Arc<Columns>);

/// An array over one of the columns, which holds the memory of all of them.
#[allow(unsafe_code)]
pub(crate) fn array<'py, T: Element>(
    memory: &Bound<'py, CandidateMemory>,
    column: impl Fn(&Columns) -> &Vec<T>,
) -> Bound<'py, PyArray1<T>> {
    let view = ArrayView1::from(column(&memory.get().0).as_slice());
    // SAFETY: the array holds a reference to `memory`, which is frozen and holds the columns as long as it lives; nobody can
    // change them behind an `Arc`. The array is made unwritable at once, and since it owns no data and its base offers no
    // writable buffer, numpy refuses to make it writable again.
    let array = unsafe { PyArray1::borrow_from_array(&view, memory.clone().into_any()) };
    array.readwrite().make_nonwriteable();
    array
}
