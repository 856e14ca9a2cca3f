//! A NOR chip with its driver: what of a part and a board says how it is driven.

use super::descriptor::{Descriptor, NorWiring, OnRtems};
use crate::error::MachineError;
use ffslab_flash::{Geometry, NorFlash, NorProgram, NorRead, NorReadPage, NorTiming};
use ffslab_mtd::nor::{Commands, MemoryNor, NorBus, NorDriver, NorPartition, ParallelNor, SerialNor};
use ffslab_mtd::spi_nand::{Bus, ReadCommand, Waiting};
use ffslab_mtd::{Driver, MediumError, OpCost};
use ffslab_profiles::{CommandSet, NorArray, ParallelNorPart, PartKind, Profile, SpiController, SpiNorPart};

pub static NOR: Descriptor = Descriptor {
    name: "nor",
    title: "NOR flash",
    about: "NOR flash, which takes any bytes at once: a serial or parallel chip of a data sheet with Linux's driver; below RTEMS the \
            CPU is charged for copying",
    of_parts: &[PartKind::SpiNor, PartKind::ParallelNor],
    keys: &["part", "chip_blocks", "erase_block_KiB", "first_block", "partition_blocks", "device_KiB"],
    on_linux: Some(|spec, sim| {
        let NorWiring { cells, driver } = spec.nor.ok_or(MediumError::NoNor)?;
        let chip = NorFlash::new(sim.clone(), spec.geometry.block_bytes(), spec.geometry.blocks);
        Ok(NorPartition::of_chip(chip, cells, driver, spec.blocks())?.into())
    }),
    on_rtems: Some(OnRtems {
        make: |sizes, sim| {
            let blocks = u32::try_from(sizes.size_bytes / u64::from(sizes.erase_block_bytes)).unwrap_or(u32::MAX);
            Ok(NorFlash::new(sim.clone(), sizes.erase_block_bytes, blocks).into())
        },
        chip: |_| None,
    }),
};

/// How the chip of a profile is driven; `None`: it is no NOR.
///
/// Errors: the board has no SPI controller, or they have no lines in common; cells that Linux programs by larger units.
pub fn nor_wiring(profile: &Profile) -> Result<Option<NorWiring>, MachineError> {
    let Some(array) = profile.part.nor() else { return Ok(None) };
    if let Some(chip) = profile.simulated_chip() {
        return Ok(Some(memory_wiring(profile, chip.memory_ps_per_byte)));
    }
    if array.write_size_bytes != 1 {
        let needed =
            format!("write_size_B = {}: only NOR that is programmed byte by byte is driven", array.write_size_bytes);
        return Err(MachineError::word("part", &profile.part_name, needed));
    }
    let (cells, bus) = match (profile.part.spi_nor(), profile.part.parallel_nor()) {
        (Some(part), _) => (serial_cells(part), NorBus::Serial(serial(profile, part)?)),
        (None, Some(part)) => (parallel_cells(part), NorBus::Parallel(parallel(part))),
        (None, None) => return Ok(None),
    };
    Ok(Some(NorWiring { cells, driver: driver(profile, array, bus) }))
}

/// What the board measured of its driver, if it is that of a serial bus: of parallel NOR no board says anything. Where the board
/// knows no power, that of the part's currents.
fn driver(profile: &Profile, array: &NorArray, bus: NorBus) -> NorDriver {
    let of_board = match bus {
        NorBus::Serial(_) => {
            let driver = profile.driver();
            [driver.read, driver.program, driver.erase]
        }
        NorBus::Parallel(_) | NorBus::Memory(_) => [OpCost::default(); 3],
    };
    let of_part = [array.power.read_milliwatt, array.power.program_milliwatt, array.power.erase_milliwatt];
    let [read, program, erase] = [0, 1, 2].map(|i| {
        let mut cost: OpCost = of_board[i];
        if cost.power.cpu == 0.0 && cost.power.memory == 0.0 {
            cost.power.memory = of_part[i].unwrap_or_default();
        }
        cost
    });
    NorDriver { bus, read, program, erase }
}

/// Memory in the place of the NOR chip (Linux's mtdram), which is copied and filled at this speed.
fn memory_wiring(profile: &Profile, ps_per_byte: u64) -> NorWiring {
    let Geometry { page_bytes, .. } = profile.part.geometry();
    let memory = MemoryNor { unit_bytes: page_bytes };
    let Driver { read, program, erase, .. } = profile.driver();
    let cells = NorTiming {
        read: NorRead::Serial { ps_per_byte },
        load_ps_per_byte: ps_per_byte,
        erase_ns: u64::from(profile.part.geometry().block_bytes()) * ps_per_byte / 1_000,
        ..memory.cells()
    };
    NorWiring { cells, driver: NorDriver { bus: NorBus::Memory(memory), read, program, erase } }
}

fn serial_cells(part: &SpiNorPart) -> NorTiming {
    NorTiming {
        // The bus says more.
        read: NorRead::Serial { ps_per_byte: 0 },
        load_ps_per_byte: 0,
        program: NorProgram {
            unit_bytes: part.program_page_bytes,
            unit_ns: part.program_ns,
            least_bytes: 1,
            least_ns: part.program_byte_ns,
        },
        erase_ns: part.array.erase_ns,
        suspend_ns: None,
    }
}

fn parallel_cells(part: &ParallelNorPart) -> NorTiming {
    let word_bytes = part.width_bits / 8;
    let unit_bytes = part.program_bytes();
    NorTiming {
        read: NorRead::Words {
            word_bytes,
            access_ns: part.access_ns,
            page: part.page_read.map(|page| NorReadPage { page_bytes: page.page_bytes, access_ns: page.access_ns }),
        },
        load_ps_per_byte: part.access_ns * 1_000 / u64::from(word_bytes),
        program: NorProgram {
            unit_bytes,
            unit_ns: part.write_buffer.map_or(part.word_program_ns, |buffer| buffer.program_ns),
            least_bytes: word_bytes,
            least_ns: part.word_program_ns,
        },
        erase_ns: part.array.erase_ns,
        suspend_ns: part.array.suspend_ns.filter(|_| part.array.erase_suspend),
    }
}

fn parallel(part: &ParallelNorPart) -> ParallelNor {
    ParallelNor {
        commands: match part.command_set {
            CommandSet::Intel => Commands::Intel,
            CommandSet::Amd => Commands::Amd,
        },
        cycle_ns: part.access_ns,
        unit_bytes: part.program_bytes(),
        has_write_buffer: part.write_buffer.is_some(),
    }
}

/// The widest read and program that chip and board have (`spi_nor_select_read`, `spi_nor_select_pp`). Over a single line Linux
/// reads without dummy clocks, unless the device tree says `m25p,fast-read`; before 4.19 it knows no other way here.
fn serial(profile: &Profile, part: &SpiNorPart) -> Result<SerialNor, MachineError> {
    let controller = profile.spi()?;
    let read_lines = if profile.flash_rules().spi_nand.is_some() { controller.read_lines } else { 1 };
    let wide = part
        .reads
        .iter()
        .filter(|read| (2..=read_lines).contains(&read.mode.data_lines()) && read.mode.address_lines() <= read_lines)
        .max_by_key(|read| (read.mode.data_lines(), read.mode.address_lines(), read.mode.command_lines()));
    let (read, clock_max_hz) = match wide {
        Some(read) => (super::spi_nand::command(read), read.clock_max_hz),
        None => (
            ReadCommand { dummy_clocks: 0, ..ReadCommand::over(1) },
            part.plain_read_clock_hz.unwrap_or(part.clock_max_hz),
        ),
    };
    let programs = part.programs.iter().filter(|mode| {
        mode.command_lines() == read.command_lines
            && mode.data_lines().max(mode.address_lines()) <= controller.program_lines
    });
    let program = programs.max_by_key(|mode| (mode.data_lines(), mode.address_lines())).ok_or_else(|| {
        let lines = controller.program_lines;
        let needed = format!("none of its program_modes suits {lines} lines, which are spi.program_lines of the board");
        MachineError::word("part", &profile.part_name, needed)
    })?;
    Ok(SerialNor {
        bus: bus(&controller, clock_max_hz),
        read,
        address_bytes: part.address_bytes,
        program_address_lines: program.address_lines(),
        program_data_lines: program.data_lines(),
        page_bytes: part.program_page_bytes,
    })
}

fn bus(controller: &SpiController, clock_max_hz: u64) -> Bus {
    Bus {
        clock_hz: controller.clock_hz.min(clock_max_hz),
        transfer_overhead_ns: controller.transfer_overhead_ns,
        copy_ps_per_byte: controller.copy_ps_per_byte,
        transfer_max_bytes: controller.transfer_max_bytes.unwrap_or(u32::MAX),
        waiting: Waiting::Polls,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::StackSpec;
    use crate::stack_keys::StackKeys;
    use ffslab_sim::{Sim, SimConfig};
    use std::path::Path;

    const BOARD: &str = "licheepi-nano";

    fn keys(part: &str) -> StackKeys {
        StackKeys { part: Some(part.into()), ..StackKeys::of(BOARD, "none", 16) }
    }

    fn spec(keys: &StackKeys) -> StackSpec {
        StackSpec::from_keys(keys, Path::new("")).unwrap().0
    }

    fn refusal(keys: &StackKeys) -> String {
        StackSpec::from_keys(keys, Path::new("")).unwrap_err().to_string()
    }

    #[test]
    fn every_part_of_these_kinds_can_be_driven() {
        let all = ffslab_profiles::list().unwrap();
        let of_kind = |name: &&str| Profile::load(BOARD, Some(name), None, Path::new("")).unwrap().part.nor().is_some();
        let names: Vec<&str> =
            all.iter().filter(|profile| profile.part.is_some()).map(|part| part.name).filter(of_kind).collect();
        assert!(names.len() >= 14, "{names:?}");
        for name in names {
            let spec = spec(&keys(name));
            let sim = Sim::new(SimConfig::default());
            let mtd = spec.medium(&sim).unwrap();
            let bytes: Vec<u8> = (0..1000).map(|at| at as u8).collect();
            mtd.write(100, &bytes).unwrap();
            let mut found = vec![0; bytes.len()];
            mtd.read(100, &mut found).unwrap();
            assert_eq!((spec.medium.name, found == bytes), ("nor", true), "{name}");
            mtd.erase(0).unwrap();
            let done = sim.total();
            assert_eq!((done.page_reads, done.erases), (1, 1), "{name}");
            let unit_bytes = mtd.capabilities().write_buffer_bytes;
            assert_eq!(done.page_programs, u64::from(1100u32.div_ceil(unit_bytes) - 100 / unit_bytes), "{name}");
        }
    }

    /// Four lines of the part need four of the board; one line has no dummy clocks.
    #[test]
    fn the_widest_way_to_read_is_taken_that_board_and_part_have() {
        let serial = |board: &str| {
            let spec = spec(&StackKeys { board: board.to_string(), ..keys("w25q128jv") });
            match spec.partition.nor.unwrap().driver.bus {
                NorBus::Serial(serial) => serial,
                NorBus::Parallel(_) | NorBus::Memory(_) => unreachable!(),
            }
        };
        let wide = serial("luckfox-pico-max");
        assert_eq!((wide.read, wide.address_bytes, wide.program_data_lines), (ReadCommand::over(4), 3, 1));
        let narrow = serial(BOARD);
        assert_eq!(narrow.read, ReadCommand { dummy_clocks: 0, ..ReadCommand::over(1) });
    }

    #[test]
    fn blocks_of_4_kib_are_those_of_the_part() {
        let small = spec(&StackKeys { erase_block_kib: Some(4), ..keys("w25q128jv") });
        assert_eq!((small.partition.geometry.block_bytes(), small.partition.geometry.blocks), (4096, 4096));
        assert_eq!(small.partition.nor.unwrap().cells.erase_ns, 45_000_000);
        let text = refusal(&StackKeys { erase_block_kib: Some(32), ..keys("w25q128jv") });
        assert!(text.contains("erase_block_KiB") && text.contains("4") && text.contains("64"), "{text}");
        let text = refusal(&StackKeys { erase_block_kib: Some(64), ..StackKeys::of("omap3evm", "none", 16) });
        assert!(text.contains("erase_block_KiB"), "{text}");
    }

    #[test]
    fn what_nor_has_not_is_refused() {
        let ecc = StackKeys {
            ecc: Some(ffslab_profiles::EccName::of(ffslab_mtd::Ecc::HARDWARE.engine)),
            ..keys("w25q128jv")
        };
        assert!(refusal(&ecc).contains("has no ECC"));
        let in_parts = StackKeys { fs: "ubifs".to_string(), subpage_writes: Some(true), ..keys("w25q128jv") };
        assert!(refusal(&in_parts).contains("subpage_writes: NOR flash has no pages"), "{}", refusal(&in_parts));
        let faults = StackKeys { faults: Some(Default::default()), ..keys("w25q128jv") };
        assert!(refusal(&faults).contains("NOR flash"));
        let yaffs2 = StackKeys { fs: "yaffs2".to_string(), ..keys("w25q128jv") };
        assert!(refusal(&yaffs2).contains("out-of-band"), "{}", refusal(&yaffs2));
    }

    /// The currents of the data sheet, where the board has not measured.
    #[test]
    fn power_is_that_of_the_part() {
        let driver = spec(&keys("mx25l8005")).partition.nor.unwrap().driver;
        assert!(driver.read.power.memory > 0.0 && driver.erase.power.memory > 0.0);
    }
}
