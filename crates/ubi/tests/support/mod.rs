//! A chip with one partition over all of it, and UBI on it; the program of the tests is [`causes::CALLER`].
#![allow(dead_code)]

use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_mtd::{Driver, Ecc, Mtd, Nand};
use ffslab_sim::{Idle, OpCounts, Sim, SimConfig};
use ffslab_ubi::causes;
use ffslab_ubi::{BadReserve, Ubi, UbiOptions, Volume, VolumeKind, VolumeRequest, VolumeSize};

pub const PAGE_BYTES: usize = 2048;
/// With sub-page writes the data begin in the second page.
pub const LEB_BYTES: usize = 63 * PAGE_BYTES;

/// The chip of the measured cases.
pub const TIMING: Timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };

pub struct Rig {
    pub sim: Sim,
    pub nand: Nand,
    pub mtd: Mtd,
    pub options: UbiOptions,
}

impl Rig {
    /// Blocks of 64 pages of 2 KiB, hardware ECC.
    pub fn new(blocks: u32) -> Rig {
        Rig::with(Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks }, Ecc::HARDWARE)
    }

    /// Blocks of 8 pages of 512 bytes: cheap.
    pub fn small(blocks: u32) -> Rig {
        Rig::small_on(SimConfig::default(), blocks)
    }

    pub fn small_on(machine: SimConfig, blocks: u32) -> Rig {
        Rig::on(machine, Geometry { page_bytes: 512, oob_bytes: 16, pages_per_block: 8, blocks }, Ecc::HARDWARE)
    }

    pub fn with(geometry: Geometry, ecc: Ecc) -> Rig {
        Rig::on(SimConfig::default(), geometry, ecc)
    }

    /// On a certain machine.
    pub fn on(machine: SimConfig, geometry: Geometry, ecc: Ecc) -> Rig {
        let sim = Sim::new(machine);
        let rules = Rules { partial_programs_max: 4, in_order: true };
        let chip = Chip::new(sim.clone(), geometry, TIMING, rules).unwrap();
        let nand = Nand::new(chip, Driver { ecc, ..Driver::default() }).unwrap();
        let mtd = Mtd::new(&nand, 0, geometry.blocks).unwrap();
        let options = UbiOptions { bad_reserve: BadReserve::Per1024OfChip(1), ..UbiOptions::default() };
        Rig { sim, nand, mtd, options }
    }

    pub fn attach(&self) -> Ubi {
        Ubi::attach(self.mtd.clone(), &self.options).unwrap()
    }

    /// Attaches, lets the thread do all there is, and makes one dynamic volume of all that is available.
    pub fn formatted(&self) -> (Ubi, Volume) {
        let ubi = self.attach();
        self.sleep(&ubi, 30);
        let volume = make_all(&ubi);
        self.sleep(&ubi, 30);
        (ubi, volume)
    }

    pub fn reattach(&self, ubi: &Ubi) -> (Ubi, Volume) {
        ubi.detach();
        let ubi = self.attach();
        let volume = ubi.open(0).unwrap();
        (ubi, volume)
    }

    /// The program sleeps; the background thread runs.
    pub fn sleep(&self, ubi: &Ubi, seconds: u64) {
        self.sim.foreground_sleeps_until(self.sim.now_ns() + seconds * 1_000_000_000);
        while let Idle::Run(task) = self.sim.idle_next() {
            assert_eq!(task, &causes::UBI_THREAD);
            let _turn = self.sim.run_as(task);
            ubi.run_task();
        }
    }

    /// Flash operations of `f`.
    pub fn counts(&self, f: impl FnOnce()) -> OpCounts {
        let before = self.sim.total();
        f();
        self.sim.total() - before
    }
}

pub fn make_all(ubi: &Ubi) -> Volume {
    let id = ubi.make_volume(&VolumeRequest::new("v", VolumeKind::Dynamic, VolumeSize::AllAvailable)).unwrap();
    ubi.open(id).unwrap()
}

/// Bytes that tell LEB, version and position.
pub fn content(leb: u32, version: u32, bytes: usize) -> Vec<u8> {
    let seed = leb.wrapping_mul(0x9E37_79B9) ^ version.wrapping_mul(0x85EB_CA6B);
    (0..bytes as u32).map(|at| (seed.wrapping_add(at.wrapping_mul(0xC2B2_AE35)) >> 24) as u8 & 0x7F).collect()
}

pub mod world;
