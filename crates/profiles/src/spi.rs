//! The controller of a board's serial bus: the table `[spi]` of a board profile. Its times and lines are those of the board; clock
//! and modes of the chip stand in the part, and the slower of both counts.

use crate::constant::{Amount, Sourced};
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;

/// A controller of SPI memory, as Linux drives it (`drivers/spi/spi-mem.c`).
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpiTable {
    /// Clock of the bus: `spi-max-frequency` of the device tree, as the controller divides its own clock for it.
    #[serde(rename = "clock_MHz")]
    clock_megahertz: Sourced<Amount>,
    /// Data lines that are wired and that the driver uses for reads: 1, 2, 4 or 8 (`spi-rx-bus-width`).
    read_lines: Sourced<u32>,
    /// Data lines for programs (`spi-tx-bus-width`).
    program_lines: Sourced<u32>,
    /// What a transfer costs beside its clocks: the driver's code, messages, set-up of FIFO or DMA, the interrupt.
    transfer_overhead_us: Sourced<Amount>,
    /// What a byte costs beside its clocks: the CPU moves it between FIFO and memory. Absent: DMA moves it.
    #[serde(rename = "copy_ns_per_B")]
    copy_ns_per_byte: Option<Sourced<Amount>>,
    /// Most data bytes of one transfer (`spi_mem_adjust_op_size`); longer ones are cut, and each piece has command, address and
    /// overhead of its own. Absent: a page fits.
    #[serde(rename = "transfer_max_B")]
    transfer_max_bytes: Option<Sourced<u32>>,
    /// Whether the controller itself repeats reads of the status (`spi_mem_poll_status`). Absent: the driver does.
    polls_in_hardware: Option<Sourced<bool>>,
}

/// A controller of SPI memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiController {
    pub clock_hz: u64,
    /// Data lines for reads and for programs.
    pub read_lines: u32,
    pub program_lines: u32,
    pub transfer_overhead_ns: u64,
    pub copy_ps_per_byte: u64,
    /// Most data bytes of one transfer; `None`: a page fits.
    pub transfer_max_bytes: Option<u32>,
    pub polls_in_hardware: bool,
}

impl SpiTable {
    /// Errors: a bus that no controller has.
    pub(crate) fn controller(&self) -> Result<SpiController, String> {
        let clock_hz = (self.clock_megahertz.value.0 * 1e6).round() as u64;
        let (read_lines, program_lines) = (self.read_lines.value, self.program_lines.value);
        if clock_hz == 0 {
            return Err("spi.clock_MHz must be above 0".to_string());
        }
        for (key, lines) in [("read_lines", read_lines), ("program_lines", program_lines)] {
            if ![1, 2, 4, 8].contains(&lines) {
                return Err(format!("spi.{key} = {lines}: 1, 2, 4 or 8 is needed"));
            }
        }
        let transfer_max_bytes = self.transfer_max_bytes.as_ref().map(|bytes| bytes.value);
        if transfer_max_bytes == Some(0) {
            return Err("spi.transfer_max_B must be above 0".to_string());
        }
        Ok(SpiController {
            clock_hz,
            read_lines,
            program_lines,
            transfer_overhead_ns: us_to_ns(self.transfer_overhead_us.value.0),
            // The factor from ns to ps is the same as that from us to ns.
            copy_ps_per_byte: self.copy_ns_per_byte.as_ref().map_or(0, |ns| us_to_ns(ns.value.0)),
            transfer_max_bytes,
            polls_in_hardware: self.polls_in_hardware.as_ref().is_some_and(|polls| polls.value),
        })
    }
}
