//! What the programs before the kernel take on a board: the tables `[u_boot]` and `[spl]` of a board profile. What they do not say is as
//! in the kernel; a board without the table says nothing of it, and an answer tells so.

use crate::constant::{Amount, Sourced};
use crate::spi::SpiController;
use ffslab_sim::units::us_to_ns;
use schemars::JsonSchema;
use serde::Deserialize;

/// A boot loader on a board.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoaderTable {
    /// How many times as long as in the kernel code takes: caches that are off, a CPU that has not its full clock yet.
    cpu_time_scale: Option<Sourced<Amount>>,
    /// Clock of the serial bus, as the loader sets it. Absent: as in `[spi]`.
    #[serde(rename = "clock_MHz")]
    clock_megahertz: Option<Sourced<Amount>>,
    /// Data lines on which the loader reads: 1, 2, 4 or 8. Absent: as in `[spi]`.
    read_lines: Option<Sourced<u32>>,
    /// What a transfer on the serial bus costs beside its clocks. Absent: as in `[spi]`.
    transfer_overhead_us: Option<Sourced<Amount>>,
    /// What a byte costs beside its clocks where the CPU moves it between FIFO and memory. Absent: as in `[spi]`.
    #[serde(rename = "copy_ns_per_B")]
    copy_ns_per_byte: Option<Sourced<Amount>>,
}

/// What a boot loader takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loader {
    /// Code takes so many per cent of what it takes in the kernel; `None`: the board does not say.
    pub code_percent: Option<u64>,
    /// The controller of the serial bus as the loader drives it; `None`: the board has none.
    pub spi: Option<SpiController>,
}

/// More than this is a mistake.
const SCALE_MAX: f64 = 1_000.0;

impl LoaderTable {
    /// `name`: of the table. `of_kernel`: the controller as the kernel drives it.
    ///
    /// Errors: a value that none has.
    pub(crate) fn loader(&self, name: &str, of_kernel: Option<SpiController>) -> Result<Loader, String> {
        let code_percent = match &self.cpu_time_scale {
            Some(scale) if !(scale.value.0 > 0.0 && scale.value.0 <= SCALE_MAX) => {
                return Err(format!(
                    "{name}.cpu_time_scale = {}: more than 0 and at most {SCALE_MAX} is needed",
                    scale.value.0
                ));
            }
            scale => scale.as_ref().map(|scale| ((scale.value.0 * 1e2).round() as u64).max(1)),
        };
        let lines = self.read_lines.as_ref().map(|lines| lines.value);
        if let Some(lines) = lines.filter(|lines| ![1, 2, 4, 8].contains(lines)) {
            return Err(format!("{name}.read_lines = {lines}: 1, 2, 4 or 8 is needed"));
        }
        let clock_hz = self.clock_megahertz.as_ref().map(|clock| (clock.value.0 * 1e6).round() as u64);
        if clock_hz == Some(0) {
            return Err(format!("{name}.clock_MHz must be above 0"));
        }
        let says_bus = lines.is_some() || clock_hz.is_some() || self.transfer_overhead_us.is_some();
        if of_kernel.is_none() && (says_bus || self.copy_ns_per_byte.is_some()) {
            return Err(format!("{name}: its bus is that of [spi], which the board lacks"));
        }
        let spi = of_kernel.map(|spi| SpiController {
            clock_hz: clock_hz.unwrap_or(spi.clock_hz),
            read_lines: lines.unwrap_or(spi.read_lines),
            transfer_overhead_ns: self
                .transfer_overhead_us
                .as_ref()
                .map_or(spi.transfer_overhead_ns, |us| us_to_ns(us.value.0)),
            // The factor from ns to ps is the same as that from us to ns.
            copy_ps_per_byte: self.copy_ns_per_byte.as_ref().map_or(spi.copy_ps_per_byte, |ns| us_to_ns(ns.value.0)),
            ..spi
        });
        Ok(Loader { code_percent, spi })
    }
}
