//! What is in flash images as Python values.

use crate::{to_json, to_python, InputError};
use ffslab_lab::inspect::Given;
use ffslab_lab::{Endian, ImageFs, ImageOptions, InspectOptions, TreeEntry};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The fields of `ffslab.images.ImageEntry`, in its order.
type Row<'py> = (
    OsString,
    &'static str,
    u32,
    u32,
    (u32, u32),
    u32,
    u32,
    u64,
    i64,
    Bound<'py, PyBytes>,
    Option<String>,
    Vec<String>,
);

fn row(py: Python<'_>, entry: TreeEntry) -> Row<'_> {
    (
        OsString::from_vec(entry.path),
        entry.kind.name(),
        entry.ino,
        entry.permissions,
        (entry.uid, entry.gid),
        entry.links,
        entry.device,
        entry.size_bytes,
        entry.modified_s,
        PyBytes::new(py, &entry.data),
        entry.error,
        entry.missing,
    )
}

/// "auto" is `None`.
fn known_endian(name: &str) -> PyResult<Option<Endian>> {
    match name {
        "auto" => Ok(None),
        "little" => Ok(Some(Endian::Little)),
        "big" => Ok(Some(Endian::Big)),
        other => Err(InputError::new_err(format!("endian \"{other}\": must be little, big or auto"))),
    }
}

/// "auto" is `None`.
fn known_fs(name: &str) -> PyResult<Option<ImageFs>> {
    let found = ImageFs::ALL.into_iter().find(|fs| fs.name() == name);
    if found.is_none() && name != "auto" {
        let known = ImageFs::ALL.map(ImageFs::name).join(", ");
        return Err(InputError::new_err(format!("fs \"{name}\": must be {known} or auto")));
    }
    Ok(found)
}

/// What an image is, as JSON, if it can be what is given. `fs` "auto" and sizes that are `None` are guessed.
#[pyfunction]
#[pyo3(signature = (path, *, fs, page_bytes, oob_bytes, block_bytes))]
pub fn recognise(
    py: Python<'_>,
    path: PathBuf,
    fs: &str,
    page_bytes: Option<u32>,
    oob_bytes: Option<u32>,
    block_bytes: Option<u32>,
) -> PyResult<Option<String>> {
    let given = Given { fs: known_fs(fs)?, page_bytes, oob_bytes, block_bytes, endian: None };
    let found = py.detach(|| ffslab_lab::inspect::recognise(&path, &given)).map_err(to_python)?;
    found.as_ref().map(to_json).transpose()
}

/// Looks into an image; returns what [`ffslab_lab::Inspection`] holds as JSON. Sizes that are `None` are guessed.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "in Python they are keyword arguments")]
#[pyo3(signature = (path, *, fs, page_bytes, oob_bytes, block_bytes, endian, board, part, kernel, device))]
pub fn inspect(
    py: Python<'_>,
    path: PathBuf,
    fs: &str,
    page_bytes: Option<u32>,
    oob_bytes: Option<u32>,
    block_bytes: Option<u32>,
    endian: &str,
    board: String,
    part: Option<String>,
    kernel: Option<String>,
    device: String,
) -> PyResult<String> {
    let given = Given { fs: known_fs(fs)?, page_bytes, oob_bytes, block_bytes, endian: known_endian(endian)? };
    let options = InspectOptions { given, board, part, kernel, device };
    to_json(&py.detach(|| ffslab_lab::inspect(&path, &options)).map_err(to_python)?)
}

/// Reads all files of an image. `fs` is "jffs2", "yaffs2", "ubifs", "fat", "rfs" or "auto", `endian` "little", "big" or "auto". Returns the
/// entries and notes.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "in Python they are keyword arguments")]
#[pyo3(signature = (path, *, fs, page_bytes, oob_bytes, block_bytes, oob, endian))]
pub fn read_tree<'py>(
    py: Python<'py>,
    path: PathBuf,
    fs: &str,
    page_bytes: u32,
    oob_bytes: u32,
    block_bytes: u32,
    oob: bool,
    endian: &str,
) -> PyResult<(Vec<Row<'py>>, Vec<String>)> {
    let (fs, endian) = (known_fs(fs)?, known_endian(endian)?);
    let options = ImageOptions { fs, page_bytes, oob_bytes, block_bytes, oob, endian };
    let tree = py.detach(|| ffslab_lab::read_tree(&path, &options)).map_err(to_python)?;
    Ok((tree.entries.into_iter().map(|entry| row(py, entry)).collect(), tree.notes))
}
