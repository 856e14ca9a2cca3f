//! The driver's part of a board profile: what an operation takes, as a total that was measured above the driver or as what the
//! driver adds to chip and bus, and how a board inherits it that has another part.

use crate::constant::{ns_of_us, Amount, Sourced};
use crate::driver_keys::{overhead_key, total_key, BUS, OPERATIONS};
use crate::entries::{Entry, Merged};
use crate::error::ProfileError;
use crate::nand_wait::NandWaitName;
use crate::part::{Part, PartKind};
use ffslab_flash::{Geometry, Timing};
use ffslab_mtd::{Driver, OpCost};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::PowerMilliwatt;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Measurements of one operation above the driver. The time is that of chip, bus and driver together, or that of the driver alone.
/// The energy is that of the whole operation above idle; one that was not measured is absent and counts as none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DriverTable {
    /// A page is read: chip, bus and driver together.
    read_us: Option<Sourced<Amount>>,
    /// Instead of `read_us`: what the driver adds to chip and bus.
    read_overhead_us: Option<Sourced<Amount>>,
    /// Energy of the CPU rail above idle while a page is read.
    #[serde(rename = "read_cpu_uJ")]
    read_cpu_uj: Option<Sourced<Amount>>,
    /// Energy of the memory rail above idle while a page is read.
    #[serde(rename = "read_memory_uJ")]
    read_memory_uj: Option<Sourced<Amount>>,
    /// A page is programmed: chip, bus and driver together.
    program_us: Option<Sourced<Amount>>,
    /// Instead of `program_us`: what the driver adds to chip and bus.
    program_overhead_us: Option<Sourced<Amount>>,
    /// Energy of the CPU rail above idle while a page is programmed.
    #[serde(rename = "program_cpu_uJ")]
    program_cpu_uj: Option<Sourced<Amount>>,
    /// Energy of the memory rail above idle while a page is programmed.
    #[serde(rename = "program_memory_uJ")]
    program_memory_uj: Option<Sourced<Amount>>,
    /// A block is erased: chip and driver together, the read of the block's mark included where there is no `bad_block_table`.
    erase_us: Option<Sourced<Amount>>,
    /// Instead of `erase_us`: what the driver adds to the chip.
    erase_overhead_us: Option<Sourced<Amount>>,
    /// Energy of the CPU rail above idle while a block is erased.
    #[serde(rename = "erase_cpu_uJ")]
    erase_cpu_uj: Option<Sourced<Amount>>,
    /// Energy of the memory rail above idle while a block is erased.
    #[serde(rename = "erase_memory_uJ")]
    erase_memory_uj: Option<Sourced<Amount>>,
    /// Raw NAND: a byte takes at least so long on the bus, as the controller drives it; the slower of chip and controller counts. It holds
    /// where the operations are told as overheads: totals have the bus in them.
    #[serde(rename = "bus_ns_per_B")]
    bus_ns_per_byte: Option<Sourced<Amount>>,
    /// Raw NAND: what a byte takes beside the bus where the CPU moves it between controller and memory. Absent: DMA moves it, or the
    /// overheads have it in them.
    #[serde(rename = "copy_ns_per_B")]
    copy_ns_per_byte: Option<Sourced<Amount>>,
    /// Raw NAND: what a byte takes longer that the CPU loads from the controller, for whose answer it waits. That is time of the bus between
    /// them and not of the CPU; stores without a barrier behind each do not wait (`iowrite8_rep`, `__raw_writesb`).
    #[serde(rename = "load_ns_per_B")]
    load_ns_per_byte: Option<Sourced<Amount>>,
    /// What a program takes more for each byte of a page that it puts there.
    #[serde(rename = "program_ns_per_B")]
    program_ns_per_byte: Option<Sourced<Amount>>,
    /// A read of a part of a page is two operations of the chip, the data and then their ECC bytes: what the driver adds to the second.
    read_part_us: Option<Sourced<Amount>>,
    /// What each operation takes more where tasks sleep while the chip works (`nand_wait = "sleep"`).
    sleep_us: Option<Sourced<Amount>>,
    /// What a program or an erase takes more where tasks ask with each poll whether another shall run (`nand_wait = "resched"`).
    poll_us: Option<Sourced<Amount>>,
    /// What an erase takes more where there is no table of bad blocks.
    bad_block_mark_us: Option<Sourced<Amount>>,
    /// The chip's times pass by loops that are counted before (`udelay`), which a tick makes longer, and not by the clock.
    delays_are_loops: Option<Sourced<bool>>,
    /// By how much these loops are shorter than they should be, in millionths (`lps_precision` of `init/calibrate.c`).
    delays_short_ppm: Option<Sourced<u32>>,
}

/// What stands in for the flash on a machine that has none: Linux's nandsim or mtdram.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SimulatedChipTable {
    /// NAND: each operation waits for the bus as for a whole page (`do_state_action` of `drivers/mtd/nand/raw/nandsim.c`).
    whole_page_transfers: Option<Sourced<bool>>,
    /// NAND: memory is taken when a page is programmed; what a new slab of pages takes.
    slab_us: Option<Sourced<Amount>>,
    /// NAND: giving back the memory of a page when its block is erased.
    page_free_us: Option<Sourced<Amount>>,
    /// NAND: drawing whether bits flip, in each read of a page that was programmed (`ns_do_bit_flips`).
    draw_us: Option<Sourced<Amount>>,
    /// NAND: slabs that the allocator has kept of a chip before this one.
    slabs_kept: Option<Sourced<u32>>,
    /// NAND: how long the machine is up at most if no chip was simulated before.
    first_chip_until_us: Option<Sourced<Amount>>,
    /// NOR: how fast memory is copied and filled.
    #[serde(rename = "memory_ns_per_B")]
    memory_ns_per_byte: Option<Sourced<Amount>>,
}

/// What a byte takes on the bus of raw NAND because of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ControllerBus {
    pub least_ps_per_byte: u64,
    pub copy_ps_per_byte: u64,
}

impl ControllerBus {
    pub fn drives(self, part: &mut Part) {
        part.set_bus(self.least_ps_per_byte, self.copy_ps_per_byte);
    }
}

/// What stands in for the flash, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SimulatedChip {
    pub has_whole_page_transfers: bool,
    /// `None`: memory of pages costs nothing.
    pub slab_ns: Option<u64>,
    pub page_free_ns: u64,
    pub draw_ns: u64,
    pub slabs_kept: u32,
    pub first_chip_until_ns: u64,
    pub memory_ps_per_byte: u64,
}

impl SimulatedChipTable {
    pub(crate) fn chip(&self) -> SimulatedChip {
        SimulatedChip {
            has_whole_page_transfers: self.whole_page_transfers.as_ref().is_some_and(|says| says.value),
            slab_ns: self.slab_us.as_ref().map(|says| us_to_ns(says.value.0)),
            page_free_ns: ns_of_us(&self.page_free_us),
            draw_ns: ns_of_us(&self.draw_us),
            slabs_kept: self.slabs_kept.as_ref().map_or(0, |says| says.value),
            first_chip_until_ns: ns_of_us(&self.first_chip_until_us),
            // The factor from ns to ps is the same as that from us to ns.
            memory_ps_per_byte: ns_of_us(&self.memory_ns_per_byte),
        }
    }
}

impl DriverTable {
    /// What these costs are where tasks wait for the chip in this way, of a chip with these times. `drive` has the costs of operations
    /// already.
    pub(crate) fn complete(&self, drive: &mut Driver, wait: NandWaitName, chip: &Timing, geometry: &Geometry) {
        let page_ns = u64::from(geometry.page_bytes + geometry.oob_bytes) * chip.bus_ps_per_byte / 1_000;
        let sleep_ns = if wait == NandWaitName::Sleep { ns_of_us(&self.sleep_us) } else { 0 };
        let poll_ns = if wait == NandWaitName::Resched { ns_of_us(&self.poll_us) } else { 0 };
        let mark_ns = if drive.has_bad_block_table { 0 } else { ns_of_us(&self.bad_block_mark_us) };
        let short_ppm = self.delays_short_ppm.as_ref().map_or(0, |says| u64::from(says.value));
        let added = |cost: &mut OpCost, more_ns: u64, delay_ns: u64| {
            cost.overhead_ns = (cost.overhead_ns + sleep_ns + more_ns).saturating_sub(delay_ns * short_ppm / 1_000_000);
        };
        added(&mut drive.read, 0, chip.read_ns + page_ns);
        added(&mut drive.program, poll_ns, chip.program_ns + page_ns);
        added(&mut drive.erase, poll_ns + mark_ns, chip.erase_ns);
        let per_byte_ps = ns_of_us(&self.program_ns_per_byte);
        drive.program_data_ns = u64::from(geometry.page_bytes) * per_byte_ps / 1_000;
        if let Some(part_us) = &self.read_part_us {
            drive.read_part_ns = us_to_ns(part_us.value.0);
            drive.read_part_wait_ns = chip.read_ns;
        }
    }

    /// Subtracts the times of the chip and bus of the board's own part from each total, which leaves the time of the
    /// driver, and computes the mean power.
    ///
    /// Errors: a total is less than the time of chip and bus.
    pub(crate) fn costs(
        &self,
        part: &Part,
        part_name: &str,
        has_bad_block_table: bool,
        label: &str,
    ) -> Result<DriverCosts, ProfileError> {
        let d = self;
        let [read_chip_us, program_chip_us, erase_chip_us] = chip_us(part, has_bad_block_table);
        type Given<'a> = &'a Option<Sourced<Amount>>;
        let cost = |key, total: Given<'_>, overhead: Given<'_>, [cpu, memory]: [Given<'_>; 2], chip_us: f64| {
            let overhead_us = overhead.as_ref().map_or(0.0, |overhead| overhead.value.0);
            let total_us = total.as_ref().map_or(chip_us + overhead_us, |total| total.value.0);
            if total.is_some() && part.kind() != PartKind::Nand {
                return Err(ProfileError::TotalOfBus { file: label.to_string(), key, part: part_name.to_string() });
            }
            if total.is_some() && (total_us < chip_us || total_us == 0.0) {
                let (file, part) = (label.to_string(), part_name.to_string());
                return Err(ProfileError::FasterThanChip { file, key, total_us, part, chip_us });
            }
            // uJ divided by us gives W.
            let milliwatt = |energy: Given<'_>| match energy {
                Some(energy) if total_us > 0.0 => energy.value.0 / total_us * 1_000.0,
                _ => 0.0,
            };
            let power = PowerMilliwatt { cpu: milliwatt(cpu), memory: milliwatt(memory) };
            let overhead_us = if total.is_some() { total_us - chip_us } else { overhead_us };
            Ok(OpCost { overhead_ns: us_to_ns(overhead_us), power })
        };
        let read_uj = [&d.read_cpu_uj, &d.read_memory_uj];
        let program_uj = [&d.program_cpu_uj, &d.program_memory_uj];
        let erase_uj = [&d.erase_cpu_uj, &d.erase_memory_uj];
        Ok(DriverCosts {
            read: cost("read_us", &d.read_us, &d.read_overhead_us, read_uj, read_chip_us)?,
            program: cost("program_us", &d.program_us, &d.program_overhead_us, program_uj, program_chip_us)?,
            erase: cost("erase_us", &d.erase_us, &d.erase_overhead_us, erase_uj, erase_chip_us)?,
        })
    }

    /// What the controller makes of the bus of raw NAND.
    pub(crate) fn bus(&self) -> ControllerBus {
        let has_totals = [&self.read_us, &self.program_us, &self.erase_us].iter().any(|total| total.is_some());
        if has_totals {
            return ControllerBus::default();
        }
        ControllerBus {
            least_ps_per_byte: ns_of_us(&self.bus_ns_per_byte),
            copy_ps_per_byte: ns_of_us(&self.copy_ns_per_byte),
        }
    }

    /// What each byte takes longer in reads than in programs. Totals have it in them.
    pub(crate) fn load_ps_per_byte(&self) -> u64 {
        // The factor from ns to ps is the same as that from us to ns.
        if self.read_us.is_some() {
            0
        } else {
            ns_of_us(&self.load_ns_per_byte)
        }
    }

    pub(crate) fn delays_are_loops(&self) -> bool {
        self.delays_are_loops.as_ref().is_some_and(|says| says.value)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DriverCosts {
    pub read: OpCost,
    pub program: OpCost,
    pub erase: OpCost,
}

/// What the chip and the bus take of each operation, in us. Without a table of bad blocks the driver reads the mark of a block
/// before it erases it.
fn chip_us(part: &Part, has_bad_block_table: bool) -> [f64; 3] {
    let [read_us, program_us, erase_us] = part.operations_us();
    let mark_us = if has_bad_block_table { 0.0 } else { part.timing().read_ns as f64 / 1_000.0 };
    [read_us, program_us, erase_us + mark_us]
}

/// A base as another file builds on it.
pub(crate) struct Base<'a> {
    pub merged: &'a Merged,
    pub folder: &'a Path,
    pub name: &'a str,
    /// How many times as long the CPU takes here.
    pub times: f64,
}

/// Reads the part of this name or path, relative to a folder.
pub(crate) type PartNamed<'a> = dyn Fn(&str, &Path) -> Result<Part, ProfileError> + 'a;

/// What the driver of a board adds to each operation of the chip, in us; `None`: it does not say. `chip_us`: of the board's own part.
fn overheads_us(of: &Merged, chip_us: [f64; 3]) -> [Option<f64>; 3] {
    let number = |key: String| of.entries.get(&key).and_then(Entry::number);
    let each = OPERATIONS.iter().zip(chip_us).map(|(operation, chip_us)| {
        let total_us = number(total_key(operation));
        // A total that is less than the chip's time is refused when it is read.
        total_us.map(|us| us - chip_us).or(number(overhead_key(operation))).filter(|us| *us >= 0.0)
    });
    let all: Vec<_> = each.collect();
    [all[0], all[1], all[2]]
}

/// A total that was measured with the part of the base says nothing of another part or of another CPU; what the driver adds does, and so
/// does the power. So an inherited total becomes an overhead, and its energies those of the new total.
///
/// A slower CPU takes longer for commands, copies and codes, which every operation has as a read has them. What a program or an erase adds
/// beyond that is waiting for the chip, and no CPU makes that faster.
pub(crate) fn keep_overheads(
    own: &mut Merged,
    given: &BTreeMap<String, Entry>,
    folder: &Path,
    base: &Base<'_>,
    part_named: &PartNamed<'_>,
) -> Result<(), ProfileError> {
    let (Some(before), Some(after)) = (base.merged.text("part"), own.text("part")) else { return Ok(()) };
    let changes = ["part", "bad_block_table"].iter().any(|key| given.contains_key(*key)) || base.times != 1.0;
    if !changes || !own.entries.keys().any(|key| key.starts_with("driver.")) {
        return Ok(());
    }
    let (before_part, after_part) = (part_named(before, base.folder)?, part_named(after, folder)?);
    // The bus on which the base's own part was measured is known, that of its controller is for other parts.
    if before == after {
        own.entries.retain(|path, _| path != BUS || given.contains_key(BUS));
    }
    let before_us = chip_us(&before_part, has_table(base.merged));
    let after_us = chip_us(&after_part, has_table(own));
    let bases_us = overheads_us(base.merged, before_us);
    let read_us = bases_us[0].unwrap_or(0.0);
    let name = base.name;
    for (at, operation) in OPERATIONS.iter().enumerate() {
        let (total, overhead) = (total_key(operation), overhead_key(operation));
        let is_same = before_us[at] == after_us[at] && base.times == 1.0;
        let is_given = given.contains_key(&total) || given.contains_key(&overhead);
        let Some(base_us) = bases_us[at].filter(|_| !is_same && !is_given) else { continue };
        let overhead_us = base_us + base_us.min(read_us) * (base.times - 1.0);
        let Some(mut entry) = own.entries.remove(&total).or_else(|| own.entries.remove(&overhead)) else { continue };
        entry.assume(Some(overhead_us), |source| match base.times {
            1.0 => format!("with part {before} there, without chip and bus here: {source}"),
            times => format!("of {name}, without chip and bus, the CPU's part {times} times: {source}"),
        });
        own.entries.insert(overhead, entry);
        let (old_us, new_us) = (before_us[at] + base_us, after_us[at] + overhead_us);
        for rail in ["cpu", "memory"] {
            let key = format!("driver.{operation}_{rail}_uJ");
            let Some(entry) = own.entries.get_mut(&key).filter(|_| !given.contains_key(&key)) else { continue };
            let energy_uj =
                entry.number().map(|energy_uj| energy_uj * if old_us > 0.0 { new_us / old_us } else { 0.0 });
            entry.assume(energy_uj, |source| format!("the same power as of {name} with part {before}: {source}"));
        }
    }
    Ok(())
}

fn has_table(of: &Merged) -> bool {
    let value = of.entries.get("bad_block_table").and_then(|entry| entry.value.get("value"));
    value.and_then(toml::Value::as_bool).unwrap_or(true)
}
