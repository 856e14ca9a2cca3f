//! The files of boards and kernels.

use crate::build_of_kernel::{BeginTable, BuildTable};
use crate::built_in::{find, names, Kind};
use crate::constant::{Amount, Sourced};
use crate::cpu;
use crate::driver::{DriverTable, SimulatedChipTable};
use crate::ecc_name::EccName;
use crate::error::ProfileError;
use crate::layers::merged;
use crate::names::told;
use crate::program::ProgramTable;
use crate::shrink_name::ShrinkName;
use crate::spi::SpiTable;
use ffslab_linux::{Kernel, NameHash, ReadAheadRules, ShrinkRules, WriteBackRules};
use ffslab_mtd::{Code, Ecc};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{ChipLock, NandWait, Preemption};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a task does while the chip works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NandWaitName {
    /// It holds the CPU.
    Busy,
    /// It holds the CPU, but asks with each poll of a program or an erase whether another task shall run (`cond_resched`, as in
    /// `omap_wait` of `drivers/mtd/nand/omap2.c`).
    Resched,
    /// It sleeps; other tasks run.
    Sleep,
}

impl From<NandWaitName> for NandWait {
    fn from(name: NandWaitName) -> NandWait {
        match name {
            NandWaitName::Busy | NandWaitName::Resched => NandWait::Busy,
            NandWaitName::Sleep => NandWait::Sleep,
        }
    }
}

/// Ages of YAFFS2's sources that differ in what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Yaffs2Version {
    /// Before 2011-03: no block summaries.
    #[serde(rename = "2010")]
    Y2010,
    /// 2011-03 to 2012-06: block summaries, whole chunks bypass the short-op cache.
    #[serde(rename = "2011")]
    Y2011,
    /// From 2012-06 on: every write passes the cache.
    #[serde(rename = "2012")]
    Y2012,
    /// 2026: a full cache writes one chunk.
    #[serde(rename = "today")]
    Today,
}

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
    /// Name or file of the part that is soldered on.
    pub part: String,
    /// Name or file of the kernel that the board runs, unless the experiment names another. Absent: the newest long-term one that
    /// was compared with a real kernel, [`KERNEL_DEFAULT`].
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

    /// What the kernel and its programs keep of the memory, in KiB, if that is known.
    pub fn memory_taken_kib(&self) -> Option<u64> {
        self.memory_taken_kib.as_ref().map(|taken| taken.value)
    }

    /// Whether the driver keeps a table of bad blocks in memory, as most do.
    pub(crate) fn has_bad_block_table(&self) -> bool {
        self.bad_block_table.as_ref().is_none_or(|table| table.value)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum ReadAheadName {
    #[serde(rename = "2.6")]
    V2_6,
    #[serde(rename = "5.10")]
    V5_10,
    #[serde(rename = "6.1")]
    V6_1,
    #[serde(rename = "6.11")]
    V6_11,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
enum WriteBackName {
    #[serde(rename = "2.6")]
    V2_6,
    #[serde(rename = "6.1")]
    V6_1,
}

/// How kernels drive SPI NAND (`drivers/mtd/nand/spi/core.c`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SpiNandRules {
    /// The status is read without a pause until the chip has finished.
    #[serde(rename = "4.19")]
    V4_19,
    /// It is read after a first delay, with pauses in between (`spi_mem_poll_status`).
    #[serde(rename = "5.14")]
    V5_14,
    /// As 5.14, and chips that can send page after page of an erase block (`spinand_mtd_continuous_page_read`).
    #[serde(rename = "6.12")]
    V6_12,
}

/// What kernels make of raw NAND whose cells hold several bits (`mtd->type`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum MlcRules {
    /// It is NAND like any other (`MTD_NANDFLASH`).
    #[serde(rename = "2.6")]
    V2_6,
    /// It has a type of its own (`MTD_MLCNANDFLASH`, since 3.13), and UBI refuses it.
    #[serde(rename = "4.17")]
    V4_17,
    /// UBI takes partitions in SLC mode (`MTD_SLC_ON_MLC_EMULATION`).
    #[serde(rename = "5.8")]
    V5_8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ChipLockName {
    Mutex,
    Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum NameHashName {
    Bytes,
    Words32,
    Words64,
}

/// `profiles/kernels/*.toml`: rules and defaults of a kernel.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelProfile {
    /// What people read of it.
    pub title: String,
    /// Name or file of the kernel that says what this file does not.
    pub base: Option<String>,
    /// The first kernel whose rules of read-ahead it follows.
    read_ahead_rules: Sourced<ReadAheadName>,
    /// Read-ahead on MTD devices.
    #[serde(rename = "read_ahead_KiB")]
    pub(crate) read_ahead_kib: Sourced<u32>,
    /// Whether a read of several missing pages behind one another counts as random (2.6).
    pub(crate) sequential_miss_bug: Sourced<bool>,
    /// Unused names that drop_caches leaves in memory.
    dentries_spared_count: Sourced<usize>,
    /// The first kernel whose rule ends drop_caches. Absent: 5.15. It shows on a machine with nothing but the file system in memory.
    shrink_rules: Option<Sourced<ShrinkName>>,
    /// Whether a write behind the end of a file on JFFS2, in its last page, brings back what a truncation had cut off. Absent: no, as
    /// since 23892d383bee of Linux 6.3 and in the stable series since the spring of 2023.
    jffs2_gap_bug: Option<Sourced<bool>>,
    /// Whether each write(2) asks the file system for `security.capability`.
    pub(crate) write_looks_up_capability: Sourced<bool>,
    /// Whether the flusher adds up what all CPUs have counted of a device's dirty pages, so that it sees few of them (since 5.14).
    pub(crate) sums_dirty_pages: Sourced<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    pub(crate) hz: Sourced<u32>,
    /// How late a sleep of a program ends.
    pub(crate) timer_slack_us: Sourced<Amount>,
    /// How tasks wait for the chip. Absent: a mutex, as in all kernels of today.
    chip_lock: Option<Sourced<ChipLockName>>,
    /// Whether the scheduler's clock stops from a wake-up that asks the running task to yield until it does. Absent: no, as since 4.0.
    pub(crate) clock_stops_when_asked: Option<Sourced<bool>>,
    /// What its hash of a name takes at once: bytes, or little-endian words of 32 or 64 bits. Absent: bytes.
    name_hash: Option<Sourced<NameHashName>>,
    /// Version of the YAFFS2 sources with which the kernel was patched, as YAFFS2 is not part of Linux.
    pub(crate) yaffs2_version: Option<Sourced<Yaffs2Version>>,
    /// The first kernel whose rules of SPI NAND it follows. Absent: it drives none.
    pub(crate) spi_nand_rules: Option<Sourced<SpiNandRules>>,
    /// The first kernel whose rules of MLC it follows. Absent: those of 5.8.
    pub(crate) mlc_rules: Option<Sourced<MlcRules>>,
    /// Whether a read reports each bit that ECC corrected. Absent: from three quarters of its strength on.
    pub(crate) reports_each_bitflip: Option<Sourced<bool>>,
    /// The first kernel whose rules of write-back it follows.
    write_back_rules: Sourced<WriteBackName>,
    /// How often the flusher looks for what is old (`vm.dirty_writeback_centisecs`).
    pub(crate) dirty_writeback_ms: Sourced<u32>,
    /// Age at which it writes (`vm.dirty_expire_centisecs`).
    pub(crate) dirty_expire_ms: Sourced<u32>,
    /// Share of memory that may be dirty before writers are held up (`vm.dirty_ratio`).
    pub(crate) dirty_ratio_pct: Sourced<u32>,
    /// Share of memory that may be dirty before the flusher begins (`vm.dirty_background_ratio`).
    pub(crate) dirty_background_ratio_pct: Sourced<u32>,
}

impl KernelProfile {
    /// The rules for a kernel called `name`.
    pub(crate) fn rules(&self, name: &str) -> Kernel {
        Kernel {
            name: name.to_string(),
            read_ahead: match self.read_ahead_rules.value {
                ReadAheadName::V2_6 => ReadAheadRules::V2_6,
                ReadAheadName::V5_10 => ReadAheadRules::V5_10,
                ReadAheadName::V6_1 => ReadAheadRules::V6_1,
                ReadAheadName::V6_11 => ReadAheadRules::V6_11,
            },
            sequential_miss_bug: self.sequential_miss_bug.value,
            dentries_spared_count: self.dentries_spared_count.value,
            shrink: self.shrink_rules.as_ref().map_or(ShrinkRules::V5_15, |rules| rules.value.into()),
            jffs2_gap_bug: self.jffs2_gap_bug.as_ref().is_some_and(|bug| bug.value),
            write_looks_up_capability: self.write_looks_up_capability.value,
            sums_dirty_pages: self.sums_dirty_pages.value,
            write_back: match self.write_back_rules.value {
                WriteBackName::V2_6 => WriteBackRules::V2_6,
                WriteBackName::V6_1 => WriteBackRules::V6_1,
            },
            timer_slack_ns: us_to_ns(self.timer_slack_us.value.0),
            chip_lock: match self.chip_lock.as_ref().map(|lock| lock.value) {
                None | Some(ChipLockName::Mutex) => ChipLock::Mutex,
                Some(ChipLockName::Queue) => ChipLock::Queue,
            },
            clock_stops_when_asked: self.clock_stops_when_asked.as_ref().is_some_and(|stops| stops.value),
            preemption: Preemption::None,
            unmount_wakes_worker: false,
            name_hash: match self.name_hash.as_ref().map(|hash| hash.value) {
                None | Some(NameHashName::Bytes) => NameHash::Bytes,
                Some(NameHashName::Words32) => NameHash::Words32,
                Some(NameHashName::Words64) => NameHash::Words64,
            },
        }
    }
}

/// The kernel of a board that names none: a long-term one of today, of which reference runs were made.
pub const KERNEL_DEFAULT: &str = "6.12";

/// The name of the kernel's profile to whose series a version such as 6.1.192 belongs.
///
/// Errors: there is none; the message lists those that there are.
pub fn kernel_series(version: &str) -> Result<&'static str, ProfileError> {
    let is_of = |name: &&str| version.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    names(Kind::Kernel).find(is_of).ok_or_else(|| {
        let told = told(version, &[Kind::Kernel], "kernel");
        ProfileError::Unknown { what: Kind::Kernel.name(), name: version.to_string(), told }
    })
}

pub(crate) fn kernel_named(name: &str, folder: &Path) -> Result<KernelProfile, ProfileError> {
    merged(Kind::Kernel, &find(Kind::Kernel, name, folder)?)?.read()
}
