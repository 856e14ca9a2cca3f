//! Trees of files in flash images as Python values.

use crate::{to_python, InputError};
use ffslab_lab::{ImageOptions, TreeEntry};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The fields of `ffslab.images.ImageEntry`, in its order.
type Row<'py> = (OsString, &'static str, u32, u32, (u32, u32), u32, u32, u64, i64, Bound<'py, PyBytes>, Option<String>);

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
    )
}

/// Reads all files of an image. `fs` is "jffs2", "yaffs2", "ubifs" or "auto", `endian` "little", "big" or "auto". Returns the
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
    let endian = match endian {
        "auto" => None,
        "little" => Some(ffslab_lab::Endian::Little),
        "big" => Some(ffslab_lab::Endian::Big),
        other => return Err(InputError::new_err(format!("endian \"{other}\": must be little, big or auto"))),
    };
    let fs = match fs {
        "auto" => None,
        "jffs2" => Some(ffslab_lab::ImageFs::Jffs2),
        "yaffs2" => Some(ffslab_lab::ImageFs::Yaffs2),
        "ubifs" => Some(ffslab_lab::ImageFs::Ubifs),
        other => return Err(InputError::new_err(format!("fs \"{other}\": must be jffs2, yaffs2, ubifs or auto"))),
    };
    let options = ImageOptions { fs, page_bytes, oob_bytes, block_bytes, oob, endian };
    let tree = py.detach(|| ffslab_lab::read_tree(&path, &options)).map_err(to_python)?;
    Ok((tree.entries.into_iter().map(|entry| row(py, entry)).collect(), tree.notes))
}
