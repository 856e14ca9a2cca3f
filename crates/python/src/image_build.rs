//! Parts of images that are built from files: volumes of UBIFS, and the UBI around volumes.

use crate::InputError;
use ffslab_ubi::ubinize::{Arrangement, ImagedVolume};
use ffslab_ubi::VolumeKind;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
