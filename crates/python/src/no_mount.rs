//! In the place of `mount` where there are no mounts: on systems other than Linux, or in a build without the feature `mount`.

use crate::border::InputError;
use ffslab_lab::Described;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Nothing answers.
pub const SCHEMAS: &[Described] = &[];

/// No program can be lent a clock, as there are no mounts.
#[pyfunction]
pub fn mount_sleeps_library() -> &'static [u8] {
    &[]
}

/// Refuses.
#[pyfunction]
#[pyo3(signature = (*_what, **_how))]
pub fn mount(_what: &Bound<'_, PyTuple>, _how: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    Err(InputError::new_err(
        "mount: this build of ffslab has no mounts: they need Linux, and the feature \"mount\" of the build",
    ))
}
