//! Images on simulated chips of their own, whose operations take no time: only the content is of interest.

use crate::areas::data_areas;
use crate::file::put;
use crate::format::Layout;
use crate::tree::TreeError;
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_mtd::{Driver, Mtd};
use ffslab_sim::{Sim, SimConfig};
use std::io::Read;
use std::path::Path;

/// A chip that holds the image, with one partition over all of it. All its operations take no time, because only the
/// content is of interest.
pub fn chip_with(image: &[u8], geometry: Geometry, oob: bool) -> Result<Mtd, TreeError> {
    // If the image is cut off, its last page may lack the OOB area; that page is left out.
    let page_bytes = (geometry.page_bytes + if oob { geometry.oob_bytes } else { 0 }) as usize;
    let whole = if oob { image.len() - image.len() % page_bytes } else { image.len() };
    chip_from(&mut &image[..whole], whole as u64, geometry, oob)
}

/// As [`chip_with`], of an image of this layout: without its OOB areas if what stands in them would be taken for marks of bad
/// blocks.
pub fn chip_of(image: &[u8], layout: &Layout, geometry: Geometry) -> Result<Mtd, TreeError> {
    if layout.marks_are_none(image) {
        let plain = data_areas(image, layout.page_bytes as usize, layout.oob_bytes as usize);
        return chip_with(&plain, geometry, false);
    }
    chip_with(image, geometry, layout.oob_bytes > 0)
}

/// As [`chip_with`], for an image that is read from `from`.
pub(crate) fn chip_from(from: &mut dyn Read, bytes: u64, geometry: Geometry, oob: bool) -> Result<Mtd, TreeError> {
    let timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: u32::MAX, in_order: false };
    let sim = Sim::new(SimConfig::default());
    let chip = Chip::new(sim, geometry, timing, rules)?;
    let mtd = Mtd::of_chip(chip, Driver::default(), 0..geometry.blocks)?;
    put(&mtd, Path::new("its pages"), from, bytes, oob)?;
    Ok(mtd)
}
