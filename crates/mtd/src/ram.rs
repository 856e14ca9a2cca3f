//! Flash that lies in memory: what YAFFS2's RAM driver offers, a chip of chunks with their tags whose operations take no
//! time of their own; who calls them is charged for copying.

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_sim::Sim;

use crate::driver::Driver;
use crate::error::MediumError;
use crate::handle::Mtd;

/// Chunks of the port on RAM (the study's block size), their spare bytes, and chunks in a block.
const CHUNK_BYTES: u32 = 4096;
const SPARE_BYTES: u32 = 128;
const CHUNKS_PER_BLOCK: u32 = 64;

/// The geometry of flash of `bytes` bytes, rounded down to whole blocks.
pub fn geometry(bytes: u64) -> Geometry {
    let block_bytes = u64::from(CHUNK_BYTES) * u64::from(CHUNKS_PER_BLOCK);
    let blocks = u32::try_from(bytes / block_bytes).unwrap_or(u32::MAX);
    Geometry { page_bytes: CHUNK_BYTES, oob_bytes: SPARE_BYTES, pages_per_block: CHUNKS_PER_BLOCK, blocks }
}

/// Erased flash of so many bytes.
///
/// # Errors
/// A size that no chip has.
pub fn flash(sim: &Sim, bytes: u64) -> Result<Mtd, MediumError> {
    let geometry = geometry(bytes);
    let timing = Timing { read_ns: 0, program_ns: 0, erase_ns: 0, bus_ps_per_byte: 0 };
    let rules = Rules { partial_programs_max: 255, in_order: false };
    let chip = Chip::new(sim.clone(), geometry, timing, rules)?;
    Mtd::of_chip(chip, Driver::default(), 0..geometry.blocks)
}
