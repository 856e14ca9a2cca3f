//! Small arrays for tests: pages of 512 + 16 bytes, a bus of 50 ns a byte, so a page moves in 26.4 us.
#![allow(dead_code)]

use ffslab_flash::{Address, Array, ArrayConfig, ArrayError, Command, Done, Hierarchy, PageIn, PageOut, Rules, Timing};
use ffslab_sim::{Sim, SimConfig};

pub const PAGE: usize = 512;
pub const OOB: usize = 16;
pub const MOVED_BYTES: u32 = (PAGE + OOB) as u32;
pub const MOVE_NS: u64 = 26_400;

pub fn hierarchy(channels: u32, chips_per_channel: u32, dies_per_chip: u32, planes_per_die: u32) -> Hierarchy {
    Hierarchy {
        channels,
        chips_per_channel,
        dies_per_chip,
        planes_per_die,
        blocks_per_plane: 4,
        pages_per_block: 8,
        page_bytes: PAGE as u32,
        oob_bytes: OOB as u32,
    }
}

pub const TIMING: Timing =
    Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 1_500_000, bus_ps_per_byte: 50_000 };

/// Programmed once and in order.
pub const RULES: Rules = Rules { partial_programs_max: 1, in_order: true };

pub fn config(hierarchy: Hierarchy) -> ArrayConfig {
    ArrayConfig::new(hierarchy, TIMING, RULES)
}

pub fn array(config: ArrayConfig) -> Array {
    Array::new(Sim::new(SimConfig::default()), config).unwrap()
}

pub fn at(die: u32, block: u32, page: u32) -> Address {
    Address { die, block, page }
}

/// The page in the first planes of a die, in block 1 of each.
pub fn in_planes(array: &Array, die: u32, planes: u32, page: u32) -> Vec<Address> {
    let per_die = array.hierarchy().planes_per_die;
    (0..planes).map(|plane| at(die, per_die + plane, page)).collect()
}

pub fn program(array: &mut Array, places: &[Address], byte: u8) -> Result<Done, ArrayError> {
    let data = [byte; PAGE];
    let pages: Vec<PageIn> = places.iter().map(|&at| PageIn { at, data: &data, oob: None }).collect();
    array.issue(Command::Program(&pages))
}

pub fn cache_program(array: &mut Array, places: &[Address], byte: u8, more: bool) -> Result<Done, ArrayError> {
    let data = [byte; PAGE];
    let pages: Vec<PageIn> = places.iter().map(|&at| PageIn { at, data: &data, oob: None }).collect();
    array.issue(Command::CacheProgram { pages: &pages, more })
}

pub fn unseen(places: &[Address]) -> Vec<PageOut<'static>> {
    places.iter().map(|&at| PageOut::unseen(at, MOVED_BYTES)).collect()
}

pub fn read(array: &mut Array, places: &[Address]) -> Result<Done, ArrayError> {
    array.issue(Command::Read(&mut unseen(places)))
}

pub fn cache_read(array: &mut Array, places: &[Address], more: bool) -> Result<Done, ArrayError> {
    array.issue(Command::CacheRead { pages: &mut unseen(places), more })
}

/// The bytes of a page, its OOB area, and what the read said of flipped bits.
pub fn bytes_of(array: &mut Array, at: Address) -> (Vec<u8>, Vec<u8>, u32) {
    let (mut data, mut oob) = (vec![0; PAGE], vec![0; OOB]);
    let mut pages = [PageOut::whole(at, &mut data, Some(&mut oob), OOB as u32)];
    array.issue(Command::Read(&mut pages)).unwrap();
    let flipped_bits = pages[0].flipped_bits;
    (data, oob, flipped_bits)
}
