//! The files of boards.

use crate::build_of_kernel::{BeginTable, BuildTable};
use crate::constant::{ns_of_us, Amount, Sourced};
use crate::cpu;
use crate::driver::{ControllerBus, DriverCosts, DriverTable, SimulatedChipTable};
use crate::ecc_name::EccName;
use crate::error::ProfileError;
use crate::loader::LoaderTable;
use crate::nand_wait::NandWaitName;
use crate::part::Part;
use crate::program::ProgramTable;
use crate::spi::SpiTable;
use ffslab_mtd::{Code, Ecc};
use schemars::JsonSchema;
use serde::Deserialize;

/// `profiles/boards/*.toml`: a part on a board.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// What people read of it.
    pub title: String,
    /// Name or file of the board that says what this file does not.
    pub base: Option<String>,
    /// How many times as long as on the base the CPU computes: multiplies what `[vfs]`, `[cpu]` and `[tracers]` take from there.
    #[serde(rename = "cpu_time_scale")]
    _cpu_time_scale: Option<Sourced<Amount>>,
    /// How the CPU's times follow from its core, in place of `cpu_time_scale`: those of the class, which was told at a clock of its own.
    #[serde(rename = "core")]
    _core: Option<String>,
    /// Clock of the CPU, with `core`.
    #[serde(rename = "clock_MHz")]
    _clock_megahertz: Option<Sourced<Amount>>,
    /// Class of the flash controller and its driver, by name or file: what `[driver]` and `[spi]` do not say themselves.
    pub controller: Option<String>,
    /// Name or file of the part that is soldered on.
    pub part: String,
    /// Name or file of the kernel that the board runs, unless the experiment names another. Absent: the newest long-term one that
    /// was compared with a real kernel, [`crate::KERNEL_DEFAULT`].
    pub kernel: Option<String>,
    /// Who corrects bit errors of raw NAND. The four keys of the ECC are needed if the board's part is such; chips on a serial bus
    /// correct themselves.
    ecc: Option<Sourced<EccName>>,
    /// Data bytes that one code word of the ECC protects.
    #[serde(rename = "ecc_step_B")]
    ecc_step_bytes: Option<Sourced<u32>>,
    /// Bytes of a code word in the OOB area.
    ecc_bytes_per_step: Option<Sourced<u32>>,
    /// Bit errors that are corrected in a step.
    ecc_strength_bits: Option<Sourced<u32>>,
    /// What a task does while the chip works.
    pub(crate) nand_wait: Sourced<NandWaitName>,
    /// Whether the driver keeps a table of bad blocks in memory, as most do; without one it reads the mark of a block before each
    /// erase. Absent: it does.
    bad_block_table: Option<Sourced<bool>>,
    /// Memory that the page cache may take.
    #[serde(rename = "page_cache_KiB")]
    pub(crate) page_cache_kib: Sourced<u64>,
    /// What the kernel and its programs keep of the memory that an experiment gives (`memory_KiB`).
    #[serde(rename = "memory_taken_KiB")]
    pub(crate) memory_taken_kib: Option<Sourced<u64>>,
    /// A character on the kernel's console, for which the kernel waits: ten bits on a serial line. Absent: the console is quiet.
    console_char_us: Option<Sourced<Amount>>,
    /// How its kernel was built.
    pub(crate) build: Option<BuildTable>,
    /// When an experiment finds it.
    pub(crate) begin: Option<BeginTable>,
    /// What stands in for the flash, if it has none.
    pub(crate) simulated_chip: Option<SimulatedChipTable>,
    /// What the program computes that does the steps.
    pub(crate) program: Option<ProgramTable>,
    /// What operations of the driver take.
    pub(crate) driver: Option<DriverTable>,
    /// Controller of the serial bus. Absent: there is none.
    pub(crate) spi: Option<SpiTable>,
    /// Power that the board draws when nothing runs. Absent: it is not known.
    pub(crate) idle: Option<Idle>,
    /// U-Boot. Absent: nothing is known of it.
    pub(crate) u_boot: Option<LoaderTable>,
    /// The first part of a boot loader. Absent: nothing is known of it.
    pub(crate) spl: Option<LoaderTable>,
    pub(crate) vfs: cpu::VfsTable,
    pub(crate) cpu: Option<cpu::CpuTable>,
    pub(crate) tracers: Option<cpu::TracerTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Idle {
    /// Power of the CPU rail when nothing runs.
    #[serde(rename = "cpu_mW")]
    pub cpu_mw: Sourced<Amount>,
    /// Power of the memory rail when nothing runs.
    #[serde(rename = "memory_mW")]
    pub memory_mw: Sourced<Amount>,
}

impl Board {
    /// The ECC of raw NAND, if the board says it.
    pub(crate) fn ecc(&self) -> Option<Ecc> {
        let code = Code {
            step_bytes: self.ecc_step_bytes.as_ref()?.value,
            code_bytes: self.ecc_bytes_per_step.as_ref()?.value,
            strength_bits: self.ecc_strength_bits.as_ref()?.value,
        };
        Some(Ecc { engine: self.ecc.as_ref()?.value.engine(), code })
    }

    /// What its driver takes of each operation, with the board's own part.
    ///
    /// Errors: a total is less than the time of chip and bus.
    pub(crate) fn driver_costs(&self, part: &Part, label: &str) -> Result<DriverCosts, ProfileError> {
        let costs = |driver: &DriverTable| driver.costs(part, &self.part, self.has_bad_block_table(), label);
        self.driver.as_ref().map_or(Ok(DriverCosts::default()), costs)
    }

    /// What the controller makes of the bus of raw NAND.
    pub(crate) fn controller_bus(&self) -> ControllerBus {
        self.driver.as_ref().map(DriverTable::bus).unwrap_or_default()
    }

    /// What each byte takes longer in reads of raw NAND than in programs.
    pub(crate) fn load_ps_per_byte(&self) -> u64 {
        self.driver.as_ref().map_or(0, DriverTable::load_ps_per_byte)
    }

    /// What a character takes on the kernel's console, in ns.
    pub(crate) fn console_char_ns(&self) -> u64 {
        ns_of_us(&self.console_char_us)
    }

    /// What the kernel and its programs keep of the memory, in KiB, if that is known.
    pub fn memory_taken_kib(&self) -> Option<u64> {
        self.memory_taken_kib.as_ref().map(|taken| taken.value)
    }

    /// Whether the driver keeps a table of bad blocks in memory, as most do.
    pub(crate) fn has_bad_block_table(&self) -> bool {
        self.bad_block_table.as_ref().is_none_or(|table| table.value)
    }
}
