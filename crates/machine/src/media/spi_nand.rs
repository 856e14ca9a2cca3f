//! An SPI NAND chip with its driver: what of a part, a board's controller and a kernel says how it is driven.

use super::descriptor::Descriptor;
use crate::error::MachineError;
use ffslab_flash::Chip;
use ffslab_mtd::spi_nand::{Bus, Encoding, Layout, ReadCommand, SpiNand, Waiting, Wiring};
use ffslab_mtd::MediumError;
use ffslab_profiles::{EccStatus, OobLayout, PartKind, Profile, SpiController, SpiNandPart, SpiNandRules, SpiRead};

pub static SPI_NAND: Descriptor = Descriptor {
    name: "spi-nand",
    title: "SPI NAND",
    about: "a NAND chip with ECC of its own behind the board's serial bus",
    of_parts: &[PartKind::SpiNand],
    keys: &[
        "part",
        "chip_blocks",
        "bitflip_threshold_bits",
        "nand_wait",
        "faults",
        "ageing",
        "first_block",
        "partition_blocks",
    ],
    on_linux: Some(|spec, sim| {
        let wiring = spec.spi_nand.clone().ok_or(MediumError::NoSpiNand)?;
        let mut chip = Chip::new(sim.clone(), spec.geometry, spec.timing, spec.rules)?;
        chip.set_faults(&spec.faults).map_err(MediumError::Faults)?;
        if let Some(model) = &spec.ageing {
            chip.set_ageing(model.clone());
        }
        SpiNand::of_chip(chip, wiring, spec.driver, spec.blocks())
    }),
    on_rtems: None,
};

/// How the chip of a profile is driven; `None`: it is no SPI NAND.
///
/// Errors: the board has no SPI controller, the kernel no driver, or they have no lines in common.
pub fn wiring(profile: &Profile) -> Result<Option<Wiring>, MachineError> {
    match profile.part.spi_nand() {
        Some(_) => wiring_by(profile, &profile.spi()?),
        None => Ok(None),
    }
}

/// The same, as this controller would drive it.
///
/// Errors: as those of [`wiring`].
pub fn wiring_by(profile: &Profile, controller: &SpiController) -> Result<Option<Wiring>, MachineError> {
    let Some(part) = profile.part.spi_nand() else { return Ok(None) };
    let rules = profile.flash_rules().spi_nand.ok_or_else(|| {
        let needed = "it drives no SPI NAND, which Linux does since 4.19: take a newer kernel";
        MachineError::word("kernel", &profile.kernel_name, needed.to_string())
    })?;
    let read = fastest(part, controller).ok_or_else(|| {
        let (part, lines) = (&profile.part_name, controller.read_lines);
        let needed = format!("none of its read_modes suits {lines} lines, which are spi.read_lines of the board");
        MachineError::word("part", part, needed)
    })?;
    let program_lines = part
        .programs
        .iter()
        .map(|mode| mode.data_lines())
        .filter(|&lines| lines <= controller.program_lines.min(read.mode.data_lines()));
    let bus = Bus {
        clock_hz: controller.clock_hz.min(read.clock_max_hz),
        transfer_overhead_ns: controller.transfer_overhead_ns,
        copy_ps_per_byte: controller.copy_ps_per_byte,
        transfer_max_bytes: controller.transfer_max_bytes.unwrap_or(u32::MAX),
        waiting: match rules {
            SpiNandRules::V4_19 => Waiting::Polls,
            _ if controller.polls_in_hardware => Waiting::InHardware,
            _ => Waiting::Sleeps,
        },
    };
    Ok(Some(Wiring {
        layout: layout(part.ecc.layout),
        encoding: encoding(part.ecc.status),
        strength_bits: part.ecc.strength_bits,
        bus,
        read: command(&read),
        program_lines: program_lines.max().unwrap_or(1),
        dies: part.array.dies,
        select_die_bytes: if part.ecc.status == EccStatus::Micron { 3 } else { 2 },
        continuous_reads: part.continuous_read && rules == SpiNandRules::V6_12,
    }))
}

/// Of the ways in which chip and board can transfer a page, the fastest (`spinand_select_op_variant`).
fn fastest(part: &SpiNandPart, controller: &SpiController) -> Option<SpiRead> {
    let page_bytes = u64::from(part.array.geometry.page_bytes + part.array.geometry.oob_bytes);
    let widest = |read: &SpiRead| read.mode.data_lines().max(read.mode.address_lines());
    let time_ps = |read: &SpiRead| {
        let bus = Bus {
            clock_hz: controller.clock_hz.min(read.clock_max_hz),
            transfer_overhead_ns: 0,
            copy_ps_per_byte: 0,
            transfer_max_bytes: u32::MAX,
            waiting: Waiting::Polls,
        };
        let command = command(read);
        bus.read_head_ns(&command) * 1_000 + page_bytes * bus.data_ps(&command)
    };
    part.reads.iter().filter(|read| widest(read) <= controller.read_lines).min_by_key(|read| time_ps(read)).copied()
}

pub(super) fn command(read: &SpiRead) -> ReadCommand {
    ReadCommand {
        command_lines: read.mode.command_lines(),
        address_lines: read.mode.address_lines(),
        dummy_clocks: read.dummy_cycles,
        data_lines: read.mode.data_lines(),
        double_rate: read.mode.is_double_rate(),
    }
}

fn encoding(status: EccStatus) -> Encoding {
    match status {
        EccStatus::Generic => Encoding::Generic,
        EccStatus::Register30h => Encoding::Register30h,
        EccStatus::GigadeviceQ4a => Encoding::GigadeviceQ4a,
        EccStatus::GigadeviceQ4ue => Encoding::GigadeviceQ4ue,
        EccStatus::GigadeviceQ5 => Encoding::GigadeviceQ5,
        EccStatus::Macronix => Encoding::Macronix,
        EccStatus::Micron => Encoding::Micron,
        EccStatus::Xtx => Encoding::Xtx,
    }
}

fn layout(layout: OobLayout) -> Layout {
    match layout {
        OobLayout::WinbondW25m02gv => Layout::WinbondW25m02gv,
        OobLayout::WinbondW25n01kv => Layout::WinbondW25n01kv,
        OobLayout::WinbondW25n02kv => Layout::WinbondW25n02kv,
        OobLayout::Half => Layout::Half,
        OobLayout::GigadeviceQ4a => Layout::GigadeviceQ4a,
        OobLayout::GigadeviceVariant2 => Layout::GigadeviceVariant2,
        OobLayout::Hidden => Layout::Hidden,
        OobLayout::Esmt => Layout::Esmt,
        OobLayout::XtxA => Layout::XtxA,
        OobLayout::Paragon => Layout::Paragon,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::StackSpec;
    use crate::stack_keys::StackKeys;
    use ffslab_sim::{Sim, SimConfig};
    use std::path::Path;

    const BOARD: &str = "luckfox-pico-max";

    fn keys(part: &str, kernel: &str) -> StackKeys {
        StackKeys { part: Some(part.into()), kernel: Some(kernel.into()), ..StackKeys::of(BOARD, "none", 16) }
    }

    fn wiring_of(part: &str, kernel: &str) -> Wiring {
        StackSpec::from_keys(&keys(part, kernel), Path::new("")).unwrap().0.partition.spi_nand.unwrap()
    }

    #[test]
    fn every_part_of_this_kind_can_be_driven() {
        let all = ffslab_profiles::list().unwrap();
        let of_kind =
            |name: &&str| Profile::load(BOARD, Some(name), None, Path::new("")).unwrap().part.spi_nand().is_some();
        let names: Vec<&str> =
            all.iter().filter(|profile| profile.part.is_some()).map(|part| part.name).filter(of_kind).collect();
        assert!(names.len() >= 10, "{names:?}");
        for name in names {
            let (spec, filled) = StackSpec::from_keys(&keys(name, "6.1"), Path::new("")).unwrap();
            assert_eq!(spec.medium.name, "spi-nand", "{name}");
            assert_eq!(serde_json::to_value(&filled).unwrap()["ecc"], "on-die", "{name}");
            let mtd = spec.medium(&Sim::new(SimConfig::default())).unwrap();
            let page: Vec<u8> = (0..mtd.page_bytes()).map(|at| at as u8).collect();
            mtd.write(0, &page).unwrap();
            let mut found = vec![0; page.len()];
            mtd.read(0, &mut found).unwrap();
            assert_eq!(found, page, "{name}");
            assert!(mtd.oob_free_bytes() > 0, "{name}");
        }
    }

    /// Four lines of the board, 1-4-4 with four clocks before the data rather than 1-1-4 with eight.
    #[test]
    fn the_fastest_way_to_read_is_taken_that_board_and_part_have() {
        let quad =
            ReadCommand { command_lines: 1, address_lines: 4, dummy_clocks: 4, data_lines: 4, double_rate: false };
        let Wiring { bus, read, program_lines, continuous_reads, .. } = wiring_of("w25n01gv", "6.1");
        assert_eq!((read, program_lines, bus.waiting, continuous_reads), (quad, 1, Waiting::Sleeps, false));
        assert_eq!(wiring_of("w25n01gv", "5.10").bus.waiting, Waiting::Polls);
    }

    #[test]
    fn continuous_reads_need_a_chip_and_a_kernel() {
        let reads = |part, kernel| wiring_of(part, kernel).continuous_reads;
        assert!(reads("mx35lf2ge4ad", "6.12") && !reads("mx35lf2ge4ad", "6.6") && !reads("w25n01gv", "6.12"));
    }
}
