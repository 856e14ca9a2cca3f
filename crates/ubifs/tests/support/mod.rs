//! A UBIFS partition under Linux, with the chip of the measured cases or a smaller one.
#![allow(dead_code, unused_imports)]

use crate::subject;
pub use ffslab_conformance::files::Files;
use ffslab_conformance::{Board, Machine};
use ffslab_flash::Geometry;
use ffslab_linux::Vfs;
use ffslab_mtd::{Mtd, Nand};
use ffslab_sim::Sim;
use ffslab_ubifs::{Options, Ubifs};

pub const SECOND_NS: u64 = 1_000_000_000;
/// 64 pages of 2048 bytes.
pub const BLOCK_BYTES: usize = 128 << 10;
const NOW_S: u64 = 1_300_000_000;

pub struct Bench {
    pub sim: Sim,
    pub nand: Nand,
    pub mtd: Mtd,
    pub vfs: Vfs,
    pub options: Options,
}

impl Bench {
    /// An erased chip; nothing is mounted.
    pub fn new(geometry: Geometry, page_cache_bytes: u64, options: Options) -> Bench {
        let machine = Machine { page_cache_bytes, read_ahead_bytes: 0, ..Machine::USUAL };
        let Board { sim, mtd, vfs } = Board::new(geometry, machine, NOW_S, |_| Ok(())).unwrap();
        let nand = mtd.nand().unwrap().nand().clone();
        Bench { sim, nand, mtd, vfs, options }
    }

    /// The file system, mounted but not yet given to the system.
    pub fn file_system(&self) -> Result<Ubifs, String> {
        let (ubi, volume) = subject::attach(self.mtd.clone(), subject::BAD_RESERVE)?;
        let mut fs = Ubifs::mount(&ubi, volume, self.options, NOW_S).map_err(|error| error.to_string())?;
        fs.detach_at_end();
        Ok(fs)
    }

    pub fn mount(&mut self) -> Result<(), String> {
        let fs = self.file_system()?;
        self.vfs.mount(Box::new(fs)).map_err(|error| error.to_string())
    }
}

impl Files for Bench {
    fn vfs(&mut self) -> &mut Vfs {
        &mut self.vfs
    }
}

/// Content that does not repeat.
pub fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut generator = ffslab_workload::SplitMix64::new(seed);
    (0..bytes).map(|_| generator.next_u64() as u8).collect()
}
