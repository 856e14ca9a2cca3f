//! A small NAND for tests: 2048 + 64 bytes, 4 pages per block, 16 blocks, with the times of the measured cases.
#![allow(dead_code)]

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_mtd::{Driver, Ecc, Mtd, Nand};
use ffslab_sim::{OpCounts, Sim, SimConfig};

pub const PAGE: u64 = 2048;
pub const BLOCK: u64 = 4 * PAGE;

pub fn chip_of(page_bytes: u32, oob_bytes: u32) -> Chip {
    chip_on(Sim::new(SimConfig::default()), page_bytes, oob_bytes)
}

pub fn chip_on(sim: Sim, page_bytes: u32, oob_bytes: u32) -> Chip {
    let geometry = Geometry { page_bytes, oob_bytes, pages_per_block: 4, blocks: 16 };
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
    let rules = Rules { partial_programs_max: 4, in_order: false };
    Chip::new(sim, geometry, timing, rules).unwrap()
}

pub fn nand(ecc: Ecc) -> Nand {
    Nand::new(chip_of(2048, 64), Driver { ecc, ..Driver::default() }).unwrap()
}

/// The whole chip as one partition.
pub fn whole(nand: &Nand) -> Mtd {
    Mtd::new(nand, 0, 16).unwrap()
}

pub fn mtd(ecc: Ecc) -> Mtd {
    whole(&nand(ecc))
}

pub fn pattern(seed: u64, bytes: u64) -> Vec<u8> {
    (0..bytes).map(|i| ((i * 31 + seed * 97) % 255) as u8).collect()
}

/// A device with the first two blocks written.
pub fn written(ecc: Ecc) -> Mtd {
    let mtd = mtd(ecc);
    mtd.write(0, &pattern(1, 2 * BLOCK)).unwrap();
    mtd
}

/// What `f` costs: counters and time in nanoseconds.
pub fn cost(mtd: &Mtd, f: impl FnOnce()) -> (OpCounts, u64) {
    let (before, before_ns) = (mtd.sim().total(), mtd.sim().now_ns());
    f();
    (mtd.sim().total() - before, mtd.sim().now_ns() - before_ns)
}

/// Page reads that a read of `bytes` at `at` costs; checks the bytes against [`written`].
pub fn reads(mtd: &Mtd, at: u64, bytes: usize) -> u64 {
    let mut data = vec![0; bytes];
    let (counts, _) = cost(mtd, || assert_eq!(mtd.read(at, &mut data), Ok(ffslab_mtd::Corrected::Clean)));
    assert_eq!(data, pattern(1, 2 * BLOCK)[at as usize..at as usize + bytes]);
    counts.page_reads
}
