//! File systems on other chips than the usual one: NAND on a serial bus, small and large pages, cells of two bits, NOR on either bus.

use crate::{full, hostile, power_cuts, sequences, Failure, Features, Machine, Subject};
use ffslab_flash::{Chip, Geometry, NorFlash, NorProgram, NorRead, NorReadPage, NorTiming, Pairing, Rules, Timing};
use ffslab_fs::FileSystem;
use ffslab_mtd::nor::{Commands, NorBus, NorDriver, NorPartition, ParallelNor, SerialNor};
use ffslab_mtd::spi_nand::{Bus, Encoding, Layout, ReadCommand, SpiNand, Waiting, Wiring};
use ffslab_mtd::{Driver, Ecc, Mtd, Nand, NandPartition, OpCost};
use ffslab_sim::Sim;
use std::sync::Arc;

/// Makes the medium of a geometry that the partition covers.
pub type MakeMedium = fn(&Sim, Geometry) -> Result<Mtd, Failure>;

/// A subject on another medium than its own.
pub struct On<S> {
    pub subject: S,
    pub medium: MakeMedium,
}

/// A chip for the kit: how it is called, its pages and blocks, what it is. Blocks are few, so that garbage collection is never far.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    /// With 16 blocks; a file system takes more if it needs them.
    pub geometry: Geometry,
    pub medium: MakeMedium,
}

/// SPI NAND with ECC in the chip, as Toshiba's and Micron's chips have it.
pub const SPI_NAND: Kind = Kind {
    name: "SPI NAND",
    geometry: Geometry { page_bytes: 2048, oob_bytes: 128, pages_per_block: 16, blocks: 16 },
    medium: |sim, geometry| spi_nand(sim, geometry, Layout::Half, Encoding::Register30h, 8),
};

/// The same with Winbond's oldest layout, which leaves 24 bytes in four pieces, and ECC of one bit.
pub const SPI_NAND_OF_ONE_BIT: Kind = Kind {
    name: "SPI NAND, 1 bit",
    geometry: Geometry { oob_bytes: 64, ..SPI_NAND.geometry },
    medium: |sim, geometry| spi_nand(sim, geometry, Layout::WinbondW25m02gv, Encoding::Generic, 1),
};

/// Pages of 512 bytes with software ECC.
pub const SMALL_PAGES: Kind = Kind {
    name: "small pages",
    geometry: Geometry { page_bytes: 512, oob_bytes: 16, pages_per_block: 32, blocks: 16 },
    medium: |sim, geometry| raw(sim, geometry, Ecc::SOFTWARE),
};

/// Pages of 4 KiB with BCH of 8 bits in the controller.
pub const LARGE_PAGES: Kind = Kind {
    name: "pages of 4 KiB",
    geometry: Geometry { page_bytes: 4096, oob_bytes: 224, pages_per_block: 16, blocks: 16 },
    medium: |sim, geometry| raw(sim, geometry, Ecc::HARDWARE.of_strength(8)),
};

/// MLC with paired pages, as kernels before 3.13 use it: like any other NAND.
pub const MLC: Kind = Kind {
    name: "MLC",
    geometry: Geometry { page_bytes: 2048, oob_bytes: 128, pages_per_block: 32, blocks: 16 },
    medium: |sim, geometry| mlc(sim, geometry, false),
};

/// The same in the SLC mode of Linux 5.8 and later: half of the pages.
pub const MLC_IN_SLC_MODE: Kind =
    Kind { name: "MLC in SLC mode", medium: |sim, geometry| mlc(sim, geometry, true), ..MLC };

/// SPI NOR: pages are what one program takes at most.
pub const SPI_NOR: Kind = Kind {
    name: "SPI NOR",
    geometry: Geometry { page_bytes: 256, oob_bytes: 0, pages_per_block: 128, blocks: 16 },
    medium: |sim, geometry| {
        let serial = SerialNor {
            bus: Bus { waiting: Waiting::Polls, ..BUS },
            read: ReadCommand::over(4),
            address_bytes: 3,
            program_address_lines: 1,
            program_data_lines: 1,
            page_bytes: geometry.page_bytes,
        };
        nor(sim, geometry, NorBus::Serial(serial))
    },
};

/// Parallel NOR with a write buffer, whose erases are suspended.
pub const PARALLEL_NOR: Kind = Kind {
    name: "parallel NOR",
    geometry: Geometry { page_bytes: 64, oob_bytes: 0, pages_per_block: 512, blocks: 16 },
    medium: |sim, geometry| {
        let unit_bytes = geometry.page_bytes;
        let parallel = ParallelNor { commands: Commands::Intel, cycle_ns: 100, unit_bytes, has_write_buffer: true };
        nor(sim, geometry, NorBus::Parallel(parallel))
    },
};

impl Kind {
    pub fn with_blocks(self, blocks: u32) -> Geometry {
        Geometry { blocks, ..self.geometry }
    }
}

const CELLS: Timing = Timing { read_ns: 25_000, program_ns: 200_000, erase_ns: 500_000, bus_ps_per_byte: 50_000 };
const BUS: Bus = Bus {
    clock_hz: 80_000_000,
    transfer_overhead_ns: 5_000,
    copy_ps_per_byte: 0,
    transfer_max_bytes: u32::MAX,
    waiting: Waiting::Sleeps,
};
const RULES: Rules = Rules { partial_programs_max: 4, in_order: true };

fn raw(sim: &Sim, geometry: Geometry, ecc: Ecc) -> Result<Mtd, Failure> {
    let chip = Chip::new(sim.clone(), geometry, CELLS, RULES).map_err(Failure::of)?;
    Mtd::of_chip(chip, Driver { ecc, ..Driver::default() }, 0..geometry.blocks).map_err(Failure::of)
}

/// Pages share their cells as Linux knows it of chips (`dist3_pairing_scheme`), and are programmed once, in order.
fn mlc(sim: &Sim, geometry: Geometry, slc_mode: bool) -> Result<Mtd, Failure> {
    let rules = Rules { partial_programs_max: 1, in_order: true };
    let mut chip = Chip::new(sim.clone(), geometry, CELLS, rules).map_err(Failure::of)?;
    let pairing = Pairing::distance_3(geometry.pages_per_block).map_err(Failure::of)?;
    chip.set_pairing(Some(pairing)).map_err(Failure::of)?;
    let driver = Driver { ecc: Ecc::HARDWARE.of_strength(8), ..Driver::default() };
    let nand = Nand::new(chip, driver).map_err(Failure::of)?;
    let part = NandPartition::new(&nand, 0, geometry.blocks).map_err(Failure::of)?;
    Ok(if slc_mode { part.in_slc_mode().map_err(Failure::of)? } else { part }.into())
}

fn nor(sim: &Sim, geometry: Geometry, bus: NorBus) -> Result<Mtd, Failure> {
    let cells = NorTiming {
        read: NorRead::Words {
            word_bytes: 2,
            access_ns: 90,
            page: Some(NorReadPage { page_bytes: 16, access_ns: 25 }),
        },
        load_ps_per_byte: 45_000,
        program: NorProgram { unit_bytes: geometry.page_bytes, unit_ns: 400_000, least_bytes: 1, least_ns: 30_000 },
        erase_ns: 150_000_000,
        suspend_ns: Some(20_000),
    };
    let chip = NorFlash::new(sim.clone(), geometry.block_bytes(), geometry.blocks);
    let free = OpCost::default();
    let driver = NorDriver { bus, read: free, program: free, erase: free };
    Ok(NorPartition::of_chip(chip, cells, driver, 0..geometry.blocks).map_err(Failure::of)?.into())
}

fn spi_nand(
    sim: &Sim,
    geometry: Geometry,
    layout: Layout,
    encoding: Encoding,
    strength_bits: u32,
) -> Result<Mtd, Failure> {
    let wiring = Wiring {
        layout,
        encoding,
        strength_bits,
        bus: BUS,
        read: ReadCommand::over(4),
        program_lines: 4,
        dies: 1,
        select_die_bytes: 2,
        continuous_reads: true,
    };
    let driver = Driver { ecc: wiring.ecc(), ..Driver::default() };
    let chip = Chip::new(sim.clone(), geometry, wiring.timing(CELLS), RULES).map_err(Failure::of)?;
    SpiNand::of_chip(chip, wiring, driver, 0..geometry.blocks).map_err(Failure::of)
}

/// Checks in a short form: model, power cuts, damaged images, a full medium.
///
/// # Errors
/// The first that fails.
pub fn check_quickly<S: Subject + 'static>(on: On<S>) -> Result<power_cuts::Report, Failure> {
    let subject = Arc::new(on);
    let options = sequences::Options { cases: 6, seed: 21, machine: Machine::TINY, ..sequences::Options::default() };
    sequences::check(&*subject, &options)?;
    let report =
        power_cuts::check(&*subject, &power_cuts::Options { points_max: 4, ..power_cuts::Options::default() })?;
    hostile::check(subject.clone(), &hostile::Options { images: 20, seed: 4, ..hostile::Options::default() })?;
    full::check(&*subject, Machine::TINY)?;
    Ok(report)
}

impl<S: Subject> Subject for On<S> {
    fn name(&self) -> &str {
        self.subject.name()
    }

    fn geometry(&self) -> Geometry {
        self.subject.geometry()
    }

    fn medium(&self, sim: &Sim) -> Result<Mtd, Failure> {
        (self.medium)(sim, self.geometry())
    }

    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String> {
        self.subject.mount(mtd)
    }

    fn may_refuse_unfinished_format(&self) -> bool {
        self.subject.may_refuse_unfinished_format()
    }

    fn rename_may_leave_both_names(&self) -> bool {
        self.subject.rename_may_leave_both_names()
    }

    fn own_entries(&self) -> &[&[u8]] {
        self.subject.own_entries()
    }

    fn keeps_set_times(&self) -> bool {
        self.subject.keeps_set_times()
    }

    fn unlink_may_double_a_name(&self) -> bool {
        self.subject.unlink_may_double_a_name()
    }

    fn unlink_may_want_time(&self) -> bool {
        self.subject.unlink_may_want_time()
    }

    fn older_data_may_return(&self) -> bool {
        self.subject.older_data_may_return()
    }

    fn older_xattrs_may_return(&self) -> bool {
        self.subject.older_xattrs_may_return()
    }

    fn xattrs_reserve_space_first(&self) -> bool {
        self.subject.xattrs_reserve_space_first()
    }

    fn features(&self) -> Features {
        self.subject.features()
    }

    fn reseal(&self, image: &mut [u8]) {
        self.subject.reseal(image);
    }
}
