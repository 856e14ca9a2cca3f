//! Flash operations as results show them: all together, and by who issued them and why.

use ffslab_sim::units::ns_to_us;
use ffslab_sim::{CauseCounts, OpCounts, Reason, Task};
use schemars::JsonSchema;
use serde::Serialize;

/// Flash operations under the names of the measured cases.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Counts {
    pub page_reads: u64,
    pub oob_reads: u64,
    pub page_programs: u64,
    pub oob_programs: u64,
    pub erases: u64,
    pub partial_page_reads: u64,
    pub reprograms: u64,
    #[serde(rename = "bus_out_B")]
    pub bus_out_bytes: u64,
    #[serde(rename = "bus_in_B")]
    pub bus_in_bytes: u64,
    /// Time of the chip: array and bus.
    pub busy_us: f64,
    /// Time of the NAND driver, not counting the chip.
    pub driver_us: f64,
    /// Time in which system calls and the file system computed.
    pub cpu_us: f64,
}

impl From<OpCounts> for Counts {
    fn from(counts: OpCounts) -> Counts {
        Counts {
            page_reads: counts.page_reads,
            oob_reads: counts.oob_reads,
            page_programs: counts.page_programs,
            oob_programs: counts.oob_programs,
            erases: counts.erases,
            partial_page_reads: counts.partial_page_reads,
            reprograms: counts.reprograms,
            bus_out_bytes: counts.bus_out_bytes,
            bus_in_bytes: counts.bus_in_bytes,
            busy_us: ns_to_us(counts.busy_ns),
            driver_us: ns_to_us(counts.driver_ns),
            cpu_us: ns_to_us(counts.cpu_ns),
        }
    }
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CauseSummary {
    pub task: &'static str,
    pub reason: &'static str,
    #[serde(flatten)]
    pub counts: Counts,
    /// The task that `task` names. [`crate::legend::Legend`] explains it.
    #[serde(skip)]
    pub(crate) of_task: &'static Task,
    #[serde(skip)]
    pub(crate) of_reason: &'static Reason,
}

impl CauseSummary {
    pub fn of(cause: &CauseCounts) -> CauseSummary {
        CauseSummary {
            task: cause.task.name,
            reason: cause.reason.name,
            counts: cause.counts.into(),
            of_task: cause.task,
            of_reason: cause.reason,
        }
    }
}
