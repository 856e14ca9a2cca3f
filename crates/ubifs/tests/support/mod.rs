//! A UBIFS partition under Linux, with the chip of the measured cases or a smaller one.
#![allow(dead_code)]

use crate::subject;
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_linux::{Fd, Kernel, OpenFlags, ReadAheadRules, Vfs, VfsConfig, VfsCosts, WriteBackKnobs, WriteBackRules};
use ffslab_mtd::{Driver, Mtd, Nand};
use ffslab_sim::{Sim, SimConfig};
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
        let sim = Sim::new(SimConfig::default());
        let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
        let rules = Rules { partial_programs_max: 4, in_order: true };
        let chip = Chip::new(sim.clone(), geometry, timing, rules).unwrap();
        let nand = Nand::new(chip, Driver::default()).unwrap();
        let mtd = Mtd::new(&nand, 0, geometry.blocks).unwrap();
        let kernel = Kernel {
            name: "6.1".to_string(),
            read_ahead: ReadAheadRules::V6_1,
            sequential_miss_bug: false,
            write_back: WriteBackRules::V6_1,
            timer_slack_ns: 50_000,
        };
        let config = VfsConfig {
            kernel,
            read_ahead_bytes: 0,
            page_cache_bytes,
            write_back: WriteBackKnobs::default(),
            costs: VfsCosts::default(),
            epoch_s: NOW_S,
        };
        let vfs = Vfs::new(sim.clone(), config);
        Bench { sim, nand, mtd, vfs, options }
    }

    /// The file system, mounted but not yet given to the system.
    pub fn file_system(&self) -> Result<Ubifs, String> {
        let (ubi, volume) = subject::attach(self.mtd.clone())?;
        let mut fs = Ubifs::mount(&ubi, volume, self.options, NOW_S).map_err(|error| error.to_string())?;
        fs.detach_at_end();
        Ok(fs)
    }

    pub fn mount(&mut self) -> Result<(), String> {
        let fs = self.file_system()?;
        self.vfs.mount(Box::new(fs)).map_err(|error| error.to_string())
    }

    pub fn open_new(&mut self, path: &str) -> Fd {
        let flags = OpenFlags { read: true, write: true, create: true, truncate: true, ..OpenFlags::default() };
        self.vfs.open(path.as_bytes(), flags, 0o644).unwrap()
    }
}

/// Content that does not repeat.
pub fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut generator = ffslab_workload::SplitMix64::new(seed);
    (0..bytes).map(|_| generator.next_u64() as u8).collect()
}
