//! Small chips for tests.
#![allow(dead_code)]

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_sim::{Sim, SimConfig};

pub const PAGE: usize = 2048;
pub const OOB: usize = 64;
pub const PAGES_PER_BLOCK: u32 = 4;

pub fn geometry() -> Geometry {
    Geometry { page_bytes: PAGE as u32, oob_bytes: OOB as u32, pages_per_block: PAGES_PER_BLOCK, blocks: 8 }
}

/// The chip of the measured cases.
pub fn timing() -> Timing {
    Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 }
}

pub fn chip_with(rules: Rules) -> Chip {
    Chip::new(Sim::new(SimConfig::default()), geometry(), timing(), rules).unwrap()
}

pub fn chip() -> Chip {
    chip_with(Rules { partial_programs_max: 4, in_order: false })
}

/// Bytes that differ from page to page and are never 0xFF.
pub fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(31).wrapping_add(seed.wrapping_mul(97)) % 255) as u8).collect()
}

pub fn read(chip: &mut Chip, page: u32) -> (Vec<u8>, Vec<u8>) {
    let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
    assert_eq!(chip.read_page(page, &mut data, Some(&mut oob)), Ok(0));
    (data, oob)
}
