//! The hardware and the system below a file system under test.

use crate::{Failure, Machine};
use ffslab_flash::{Chip, Geometry, Rules, Timing};
use ffslab_linux::{Kernel, Vfs, VfsConfig, VfsCosts, WriteBackKnobs};
use ffslab_mtd::{Driver, Mtd};
use ffslab_sim::{Sim, SimConfig};

/// A board with one partition, usually of the chip of the measured cases, and Linux 6.1; nothing is mounted.
pub struct Board {
    pub sim: Sim,
    pub mtd: Mtd,
    pub vfs: Vfs,
}

impl Board {
    /// A chip that starts erased and is then set up by `prepare`. `epoch_s`: the time of day at virtual time 0.
    ///
    /// Errors: a geometry that no chip can have; those of `prepare`.
    pub fn new(
        geometry: Geometry,
        machine: Machine,
        epoch_s: u64,
        prepare: impl FnOnce(&mut Chip) -> Result<(), Failure>,
    ) -> Result<Board, Failure> {
        let board = Board::on(machine, epoch_s, |sim| nand(sim, geometry))?;
        board.mtd.nand().map_or(Ok(()), |nand| nand.with_chip(prepare))?;
        Ok(board)
    }

    /// The same board with any medium.
    ///
    /// Errors: those of `make`.
    pub fn on(
        machine: Machine,
        epoch_s: u64,
        make: impl FnOnce(&Sim) -> Result<Mtd, Failure>,
    ) -> Result<Board, Failure> {
        let sim = Sim::new(SimConfig { nand_wait: machine.nand_wait, ..SimConfig::default() });
        let mtd = make(&sim)?;
        let config = VfsConfig {
            kernel: Kernel::default(),
            read_ahead_bytes: machine.read_ahead_bytes,
            page_cache_bytes: machine.page_cache_bytes,
            write_back: WriteBackKnobs::default(),
            policies: machine.policies,
            costs: VfsCosts::default(),
            epoch_s,
            epoch_ns: 0,
            others_unused_count: None,
            smp: false,
        };
        let vfs = Vfs::new(sim.clone(), config);
        Ok(Board { sim, mtd, vfs })
    }
}

/// The chip of the measured cases, with one partition that covers it.
pub(crate) fn nand(sim: &Sim, geometry: Geometry) -> Result<Mtd, Failure> {
    let timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
    let rules = Rules { partial_programs_max: 4, in_order: true };
    let chip = Chip::new(sim.clone(), geometry, timing, rules).map_err(Failure::of)?;
    Mtd::of_chip(chip, Driver::default(), 0..geometry.blocks).map_err(Failure::of)
}
