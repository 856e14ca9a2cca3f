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
    keys: &["part", "chip_blocks", "nand_wait", "faults", "first_block", "partition_blocks"],
    on_linux: Some(|spec, sim| {
        let wiring = spec.spi_nand.clone().ok_or(MediumError::NoSpiNand)?;
        let mut chip = Chip::new(sim.clone(), spec.geometry, spec.timing, spec.rules)?;
        chip.set_faults(&spec.faults).map_err(MediumError::Faults)?;
        SpiNand::of_chip(chip, wiring, spec.driver, spec.blocks())
    }),
    on_rtems: None,
};

/// How the chip of a profile is driven; `None`: it is no SPI NAND.
///
/// Errors: the board has no SPI controller, the kernel no driver, or they have no lines in common.
pub fn wiring(profile: &Profile) -> Result<Option<Wiring>, MachineError> {
    let Some(part) = profile.part.spi_nand() else { return Ok(None) };
    let controller = profile.spi()?;
    let rules = profile.spi_nand_rules().ok_or_else(|| {
        let needed = "it drives no SPI NAND, which Linux does since 4.19: take a newer kernel";
        MachineError::word("kernel", &profile.kernel_name, needed.to_string())
    })?;
    let read = fastest(part, &controller).ok_or_else(|| {
        let (part, lines) = (&profile.part_name, controller.read_lines);
        let needed = format!("none of its read_modes suits {lines} lines, which are spi.read_lines of the board");
        MachineError::word("part", part, needed)
    })?;
    let program_lines = part.programs.iter().map(|mode| mode.data_lines()).filter(|&lines| {
        lines <= controller.program_lines.min(read.mode.data_lines())
    });
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

fn command(read: &SpiRead) -> ReadCommand {
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
