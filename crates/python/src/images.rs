//! What is in flash images as Python values, and parts of images that are built from files: volumes of UBIFS, UBI around volumes.

use crate::border::{to_json, to_python, InputError};
use ffslab_images::dump::Pieces;
use ffslab_images::lost::{Lost, LostFile};
use ffslab_images::recognise::mtdparts;
use ffslab_images::ubifs::fscrypt::{MasterKeys, KEY_BYTES};
use ffslab_images::{Given, ImageError, ImageFs, TreeEntry, Wanted};
use ffslab_inspect::InspectOptions;
use ffslab_lab::Endian;
use ffslab_machine::file_systems::{image_formats, image_fs};
use ffslab_ubi::ubinize::{Arrangement, ImagedVolume};
use ffslab_ubi::VolumeKind;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// The fields of `ffslab.images.ImageEntry`, as a dictionary.
#[derive(IntoPyObject)]
pub struct Row<'py> {
    path: OsString,
    kind: &'static str,
    ino: u32,
    permissions: u32,
    owner: (u32, u32),
    links: u32,
    device: u32,
    #[pyo3(item("size_B"))]
    size_bytes: u64,
    modified_s: i64,
    data: Bound<'py, PyBytes>,
    error: Option<String>,
    missing: Vec<String>,
}

fn row(py: Python<'_>, entry: TreeEntry) -> Row<'_> {
    Row {
        path: OsString::from_vec(entry.path),
        kind: entry.kind.name(),
        ino: entry.ino,
        permissions: entry.permissions,
        owner: (entry.uid, entry.gid),
        links: entry.links,
        device: entry.device,
        size_bytes: entry.size_bytes,
        modified_s: entry.modified_s,
        data: PyBytes::new(py, &entry.data),
        error: entry.error,
        missing: entry.missing,
    }
}

fn refused(error: ImageError) -> PyErr {
    InputError::new_err(error.to_string())
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
    let found = image_fs(name);
    if found.is_none() && name != "auto" {
        let known = image_formats().into_iter().map(ImageFs::name).collect::<Vec<_>>().join(", ");
        return Err(InputError::new_err(format!("fs \"{name}\": must be {known} or auto")));
    }
    Ok(found)
}

fn known_keys(keys: Vec<Vec<u8>>) -> PyResult<MasterKeys> {
    MasterKeys::of(keys).ok_or_else(|| {
        let (least, most) = KEY_BYTES.into_inner();
        InputError::new_err(format!("a key: a master key has {least} to {most} B"))
    })
}

fn known_pieces(text: &str) -> PyResult<Pieces> {
    Pieces::named(text).ok_or_else(|| {
        InputError::new_err(format!(
            "layout {text}: must be bytes of data, of OOB behind them, and how often in a page, such as 512+16x4, or 512+14x4+8 with 8 B behind them; a page has 512 B to \
             16 KiB, its OOB area at most 2 KiB"
        ))
    })
}

/// What a dictionary of Python says about an image: `fs`, `page_B`, `oob_B`, `block_B`, `oob`, `endian`, `mtdparts`, `offset_B`,
/// `size_B`, `partition`, `volume`, `keys`, `layout`. What is missing or `None` is found out.
fn wanted_of(how: &Bound<'_, PyDict>) -> PyResult<Wanted> {
    fn get<'py, T: pyo3::conversion::FromPyObjectOwned<'py>>(
        how: &Bound<'py, PyDict>,
        key: &str,
    ) -> PyResult<Option<T>> {
        let value = how.get_item(key)?.filter(|value| !value.is_none());
        value
            .map(|value| value.extract().map_err(|_| InputError::new_err(format!("{key} {value}: cannot be so"))))
            .transpose()
    }
    let given = Given {
        fs: get::<String>(how, "fs")?.as_deref().map_or(Ok(None), known_fs)?,
        page_bytes: get(how, "page_B")?,
        oob_bytes: get(how, "oob_B")?,
        block_bytes: get(how, "block_B")?,
        has_oob: get(how, "oob")?,
        endian: get::<String>(how, "endian")?.as_deref().map_or(Ok(None), known_endian)?,
        ..Given::default()
    };
    Ok(Wanted {
        given,
        mtdparts: get(how, "mtdparts")?,
        offset_bytes: get(how, "offset_B")?,
        size_bytes: get(how, "size_B")?,
        partition: get(how, "partition")?,
        volume: get(how, "volume")?,
        keys: get::<Vec<Vec<u8>>>(how, "keys")?.map_or(Ok(MasterKeys::default()), known_keys)?,
        pieces: get::<String>(how, "layout")?.map(|text| known_pieces(&text)).transpose()?,
    })
}

/// Errors: what a dictionary says about an image cannot be.
#[pyfunction]
pub fn check_image_words(how: &Bound<'_, PyDict>) -> PyResult<()> {
    wanted_of(how).map(drop)
}

/// The partitions of an image and what each holds, as JSON; one without a name: it is no dump of a whole chip.
#[pyfunction]
pub fn recognise(py: Python<'_>, path: PathBuf, how: &Bound<'_, PyDict>) -> PyResult<String> {
    let wanted = wanted_of(how)?;
    to_json(&py.detach(|| ffslab_images::parts_of_file(&path, &wanted, &image_formats())).map_err(refused)?)
}

/// The only partition of an image that holds a file system, as JSON.
#[pyfunction]
pub fn recognise_one(py: Python<'_>, path: PathBuf, how: &Bound<'_, PyDict>) -> PyResult<String> {
    let wanted = wanted_of(how)?;
    to_json(&py.detach(|| ffslab_images::only_part_of_file(&path, &wanted, &image_formats())).map_err(refused)?)
}

/// Looks into an image; returns what [`ffslab_inspect::Inspected`] holds of each partition as JSON.
#[pyfunction]
#[pyo3(signature = (path, how, *, board, part, kernel, device, deleted))]
#[allow(clippy::too_many_arguments)] // One per keyword of Python.
pub fn inspect(
    py: Python<'_>,
    path: PathBuf,
    how: &Bound<'_, PyDict>,
    board: String,
    part: Option<String>,
    kernel: Option<String>,
    device: String,
    deleted: bool,
) -> PyResult<String> {
    let options = InspectOptions { wanted: wanted_of(how)?, board, part, kernel, device, deleted };
    to_json(&py.detach(|| ffslab_inspect::inspect(&path, &options)).map_err(to_python)?)
}

/// A partition as JSON, its entries and notes; no entries: what it holds is not known.
type Read<'py> = (String, Option<Vec<Row<'py>>>, Vec<String>);

/// Reads all files of an image, partition by partition.
#[pyfunction]
pub fn read_trees<'py>(py: Python<'py>, path: PathBuf, how: &Bound<'py, PyDict>) -> PyResult<Vec<Read<'py>>> {
    let wanted = wanted_of(how)?;
    let trees = py.detach(|| ffslab_images::read_trees(&path, &wanted, &image_formats())).map_err(refused)?;
    let read = |found: ffslab_images::PartTree| {
        let (entries, notes) = found.tree.map_or((None, Vec::new()), |tree| (Some(tree.entries), tree.notes));
        let rows = entries.map(|entries| entries.into_iter().map(|entry| row(py, entry)).collect());
        Ok((to_json(&found.part)?, rows, notes))
    };
    trees.into_iter().map(read).collect()
}

/// A lost file: its path, facts as JSON, permissions, owner, content.
type LostRow<'py> = (OsString, String, u32, (u32, u32), Option<Bound<'py, PyBytes>>);

/// A partition as JSON and what it has lost; `None`: what it holds is not known.
type LostOf<'py> = (String, Option<Vec<LostRow<'py>>>);

/// Looks for what was deleted or overwritten, with content, partition by partition.
#[pyfunction]
pub fn read_lost<'py>(py: Python<'py>, path: PathBuf, how: &Bound<'py, PyDict>) -> PyResult<Vec<LostOf<'py>>> {
    let wanted = wanted_of(how)?;
    let found = py.detach(|| ffslab_images::lost::read_lost(&path, &wanted, &image_formats())).map_err(refused)?;
    let row = |file: LostFile| {
        let facts = to_json(&file)?;
        let data = file.data.map(|data| PyBytes::new(py, &data));
        Ok((OsString::from_vec(file.path_bytes), facts, file.permissions, file.owner, data))
    };
    let rows = |lost: Lost| lost.files.into_iter().map(row).collect::<PyResult<_>>();
    found.into_iter().map(|(part, lost)| Ok((to_json(&part)?, lost.map(rows).transpose()?))).collect()
}

/// A row of the table of file systems: name, title, a sentence about it, whether programs write it on Linux, its name on RTEMS, whether
/// its images are read, and whether they are volumes of block devices.
type FileSystemRow = (&'static str, &'static str, &'static str, bool, Option<&'static str>, bool, bool);

/// The table of the file systems.
#[pyfunction]
pub fn file_systems() -> Vec<FileSystemRow> {
    let row = |fs: &'static ffslab_machine::file_systems::Descriptor| {
        let is_volume = fs.image.is_some_and(|image| image.is_volume());
        (
            fs.name,
            fs.title,
            fs.about,
            fs.is_written_on_linux(),
            fs.on_rtems.map(|on| on.name()),
            fs.image.is_some(),
            is_volume,
        )
    };
    ffslab_machine::file_systems::all().into_iter().map(row).collect()
}

/// A row of the table of systems: name, title, who it is, the file systems that it mounts.
type SystemRow = (&'static str, &'static str, &'static str, Vec<&'static str>);

/// The table of the systems; the first one is meant where none is named.
#[pyfunction]
pub fn systems() -> Vec<SystemRow> {
    let row = |system: &&'static ffslab_machine::systems::Descriptor| {
        (system.name, system.title, system.about, (system.file_systems)())
    };
    ffslab_machine::systems::all().iter().map(row).collect()
}

/// A number of bytes as the kernel's command line has it: 0x100000, 1M, 512k. `None`: it is none.
#[pyfunction]
pub fn memparse(text: &str) -> Option<u64> {
    let mut rest = text;
    mtdparts::memparse(&mut rest).filter(|_| rest.is_empty())
}

/// A volume: number, name, whether it is static, LEBs, alignment, whether it grows, whether its check is skipped, content.
type VolumeRow<'py> = (u32, String, bool, u32, u32, bool, bool, Bound<'py, PyBytes>);

fn volume_of<'r>(row: &'r VolumeRow<'_>) -> ImagedVolume<'r> {
    let (id, ref name, is_static, lebs, alignment_bytes, autoresize, skip_check, ref data) = *row;
    let kind = if is_static { VolumeKind::Static } else { VolumeKind::Dynamic };
    ImagedVolume { id, name, kind, lebs, alignment_bytes, autoresize, skip_check, data: data.as_bytes() }
}

/// The image of a partition of UBI that was never attached.
#[pyfunction]
pub fn ubi_image<'py>(
    py: Python<'py>,
    peb_bytes: u32,
    min_io_bytes: u32,
    vid_header_offset_bytes: u32,
    image_number: u32,
    volumes: Vec<VolumeRow<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let arrangement = Arrangement { peb_bytes, min_io_bytes, vid_header_offset_bytes, image_number };
    let volumes: Vec<ImagedVolume<'_>> = volumes.iter().map(volume_of).collect();
    Ok(PyBytes::new(py, &arrangement.image(&volumes).map_err(InputError::new_err)?))
}

/// A volume of UBIFS as an image that is shipped, out of the partition on which it was filled.
#[pyfunction]
pub fn ubifs_to_ship<'py>(
    py: Python<'py>,
    partition: &[u8],
    block_bytes: usize,
    space_fixup: bool,
    uuid: [u8; 16],
) -> PyResult<Bound<'py, PyBytes>> {
    let volume = ffslab_images::ubifs::shipped(partition, block_bytes, space_fixup, uuid);
    Ok(PyBytes::new(py, &volume.map_err(InputError::new_err)?))
}
