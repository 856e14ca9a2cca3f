//! The driver's part of a board profile: measured totals of an operation, and the part of them that the driver itself
//! adds.

use crate::{Amount, Board, Part, ProfileError, Sourced};
use ffslab_mtd::OpCost;
use ffslab_sim::units::us_to_ns;
use ffslab_sim::PowerMilliwatt;
use serde::Deserialize;

/// Measurements of one operation above the driver. The time is that of chip, bus and driver together, and the energy is
/// that above idle. An energy that was not measured is absent and counts as none.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DriverTotals {
    read_us: Sourced<Amount>,
    #[serde(rename = "read_cpu_uJ")]
    read_cpu_uj: Option<Sourced<Amount>>,
    #[serde(rename = "read_memory_uJ")]
    read_memory_uj: Option<Sourced<Amount>>,
    program_us: Sourced<Amount>,
    #[serde(rename = "program_cpu_uJ")]
    program_cpu_uj: Option<Sourced<Amount>>,
    #[serde(rename = "program_memory_uJ")]
    program_memory_uj: Option<Sourced<Amount>>,
    erase_us: Sourced<Amount>,
    #[serde(rename = "erase_cpu_uJ")]
    erase_cpu_uj: Option<Sourced<Amount>>,
    #[serde(rename = "erase_memory_uJ")]
    erase_memory_uj: Option<Sourced<Amount>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct DriverCosts {
    pub read: OpCost,
    pub program: OpCost,
    pub erase: OpCost,
}

/// Subtracts the times of the chip and bus of the board's own part from each total, which leaves the time of the
/// driver, and computes the mean power.
///
/// Errors: a total is less than the time of chip and bus.
pub(crate) fn derive_costs(board: &Board, part: &Part, label: &str) -> Result<DriverCosts, ProfileError> {
    let Some(driver) = &board.driver else {
        let free = OpCost::default();
        return Ok(DriverCosts { read: free, program: free, erase: free });
    };
    let cost = |key, total: &Sourced<Amount>, [cpu, memory]: [&Option<Sourced<Amount>>; 2], chip_us: f64| {
        let total_us = total.value.0;
        if total_us < chip_us || total_us == 0.0 {
            let (file, part) = (label.to_string(), board.part.clone());
            return Err(ProfileError::FasterThanChip { file, key, total_us, part, chip_us });
        }
        // uJ divided by us gives W.
        let milliwatt = |energy: &Option<Sourced<Amount>>| {
            energy.as_ref().map_or(0.0, |energy| energy.value.0 / total_us * 1_000.0)
        };
        let power = PowerMilliwatt { cpu: milliwatt(cpu), memory: milliwatt(memory) };
        Ok(OpCost { overhead_ns: us_to_ns(total_us - chip_us), power })
    };
    let (page_us, d) = (part.page_transfer_us(), driver);
    let (read_us, program_us) = (part.t_read_us.value.0 + page_us, part.t_program_us.value.0 + page_us);
    // Without a table the driver reads the mark of a block before it erases it.
    let mark_us = if board.has_bad_block_table() { 0.0 } else { part.t_read_us.value.0 };
    let erase_us = part.t_erase_us.value.0 + mark_us;
    Ok(DriverCosts {
        read: cost("read_us", &d.read_us, [&d.read_cpu_uj, &d.read_memory_uj], read_us)?,
        program: cost("program_us", &d.program_us, [&d.program_cpu_uj, &d.program_memory_uj], program_us)?,
        erase: cost("erase_us", &d.erase_us, [&d.erase_cpu_uj, &d.erase_memory_uj], erase_us)?,
    })
}
