//! A board with its part and kernel, as a stack with Linux and a program without an operating system take them.

use crate::built_in::{find, is_path, Kind};
use crate::driver::{derive_costs, DriverCosts, DriverTable};
use crate::layers::merged;
use crate::part::{part_named, PartKind};
use crate::shrink_name::ShrinkName;
use crate::spi::{SpiController, SpiTable};
use crate::{cpu, Amount, EccName, Part, ProfileError, Sourced};
use ffslab_linux::{
    DirtyLimits, Kernel, NameHash, ReadAheadRules, ShrinkRules, VfsCosts, WriteBackKnobs, WriteBackRules,
};
use ffslab_mtd::{Code, Driver, Ecc};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{ChipLock, CpuCosts, NandWait, PowerMilliwatt, Preemption};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What a task does while the chip works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NandWaitName {
    /// It holds the CPU.
    Busy,
    /// It sleeps; other tasks run.
    Sleep,
}

impl From<NandWaitName> for NandWait {
    fn from(name: NandWaitName) -> NandWait {
        match name {
            NandWaitName::Busy => NandWait::Busy,
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
    nand_wait: Sourced<NandWaitName>,
    /// Whether the driver keeps a table of bad blocks in memory, as most do; without one it reads the mark of a block before each
    /// erase. Absent: it does.
    bad_block_table: Option<Sourced<bool>>,
    /// Memory that the page cache may take.
    #[serde(rename = "page_cache_KiB")]
    page_cache_kib: Sourced<u64>,
    /// What operations of the driver take.
    pub(crate) driver: Option<DriverTable>,
    /// Controller of the serial bus. Absent: there is none.
    spi: Option<SpiTable>,
    /// Power that the board draws when nothing runs. Absent: it is not known.
    idle: Option<Idle>,
    vfs: cpu::VfsTable,
    cpu: Option<cpu::CpuTable>,
    tracers: Option<cpu::TracerTable>,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Idle {
    /// Power of the CPU rail when nothing runs.
    #[serde(rename = "cpu_mW")]
    cpu_mw: Sourced<Amount>,
    /// Power of the memory rail when nothing runs.
    #[serde(rename = "memory_mW")]
    memory_mw: Sourced<Amount>,
}

impl Board {
    /// The ECC of raw NAND, if the board says it.
    fn ecc(&self) -> Option<Ecc> {
        let code = Code {
            step_bytes: self.ecc_step_bytes.as_ref()?.value,
            code_bytes: self.ecc_bytes_per_step.as_ref()?.value,
            strength_bits: self.ecc_strength_bits.as_ref()?.value,
        };
        Some(Ecc { engine: self.ecc.as_ref()?.value.engine(), code })
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
    read_ahead_kib: Sourced<u32>,
    /// Whether a read of several missing pages behind one another counts as random (2.6).
    sequential_miss_bug: Sourced<bool>,
    /// Unused names that drop_caches leaves in memory.
    dentries_spared_count: Sourced<usize>,
    /// The first kernel whose rule ends drop_caches. Absent: 5.15. It shows on a machine with nothing but the file system in memory.
    shrink_rules: Option<Sourced<ShrinkName>>,
    /// Whether a write behind the end of a file on JFFS2, in its last page, brings back what a truncation had cut off. Absent: no, as
    /// since 23892d383bee of Linux 6.3 and in the stable series since the spring of 2023.
    jffs2_gap_bug: Option<Sourced<bool>>,
    /// Whether each write(2) asks the file system for `security.capability`.
    write_looks_up_capability: Sourced<bool>,
    /// Whether the flusher adds up what all CPUs have counted of a device's dirty pages, so that it sees few of them (since 5.14).
    sums_dirty_pages: Sourced<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    hz: Sourced<u32>,
    /// How late a sleep of a program ends.
    timer_slack_us: Sourced<Amount>,
    /// How tasks wait for the chip. Absent: a mutex, as in all kernels of today.
    chip_lock: Option<Sourced<ChipLockName>>,
    /// Whether the scheduler's clock stops from a wake-up that asks the running task to yield until it does. Absent: no, as since 4.0.
    clock_stops_when_asked: Option<Sourced<bool>>,
    /// What its hash of a name takes at once: bytes, or little-endian words of 32 or 64 bits. Absent: bytes.
    name_hash: Option<Sourced<NameHashName>>,
    /// Version of the YAFFS2 sources with which the kernel was patched, as YAFFS2 is not part of Linux.
    yaffs2_version: Option<Sourced<Yaffs2Version>>,
    /// The first kernel whose rules of SPI NAND it follows. Absent: it drives none.
    spi_nand_rules: Option<Sourced<SpiNandRules>>,
    /// The first kernel whose rules of MLC it follows. Absent: those of 5.8.
    mlc_rules: Option<Sourced<MlcRules>>,
    /// Whether a read reports each bit that ECC corrected. Absent: from three quarters of its strength on.
    reports_each_bitflip: Option<Sourced<bool>>,
    /// The first kernel whose rules of write-back it follows.
    write_back_rules: Sourced<WriteBackName>,
    /// How often the flusher looks for what is old (`vm.dirty_writeback_centisecs`).
    dirty_writeback_ms: Sourced<u32>,
    /// Age at which it writes (`vm.dirty_expire_centisecs`).
    dirty_expire_ms: Sourced<u32>,
    /// Share of memory that may be dirty before writers are held up (`vm.dirty_ratio`).
    dirty_ratio_pct: Sourced<u32>,
    /// Share of memory that may be dirty before the flusher begins (`vm.dirty_background_ratio`).
    dirty_background_ratio_pct: Sourced<u32>,
}

impl KernelProfile {
    /// The rules for a kernel called `name`.
    fn rules(&self, name: &str) -> Kernel {
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

/// The rules of the kernel of a version such as 6.1.192, of whose series there is a profile.
///
/// Errors: there is none; the message lists those that there are.
pub fn kernel_of_version(version: &str) -> Result<Kernel, ProfileError> {
    let of_series =
        |name: &&str| version.strip_prefix(*name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let name = crate::built_in::names(Kind::Kernel).find(of_series).unwrap_or(version);
    Ok(kernel_named(name, Path::new(""))?.rules(version))
}

fn kernel_named(name: &str, folder: &Path) -> Result<KernelProfile, ProfileError> {
    merged(Kind::Kernel, &find(Kind::Kernel, name, folder)?)?.read()
}

/// What an experiment runs on: a board with its part and kernel, each possibly replaced.
#[derive(Clone, Debug)]
pub struct Profile {
    pub board_name: String,
    pub board: Board,
    pub part_name: String,
    pub part: Part,
    pub kernel_name: String,
    pub kernel: KernelProfile,
    /// Times and powers of the driver, derived with the part that the board was made with.
    costs: DriverCosts,
    /// Of raw NAND.
    ecc: Option<Ecc>,
    spi: Option<SpiController>,
}

/// Profiles of built-in names, board, part and kernel, that were read before: a study loads the same ones for each of its
/// points, and reading them takes longer than a small run. Files of the user's own may change and are read each time.
static KNOWN: Mutex<BTreeMap<[Option<String>; 3], Profile>> = Mutex::new(BTreeMap::new());

impl Profile {
    /// Loads a board by name or path, with its part and kernel unless others are named. Paths are relative to
    /// `base_dir` (those inside a board file to the folder of that file).
    pub fn load(
        board: &str,
        part: Option<&str>,
        kernel: Option<&str>,
        base_dir: &Path,
    ) -> Result<Profile, ProfileError> {
        let names = [Some(board), part, kernel].map(|name| name.map(str::to_string));
        let all_built_in = !names.iter().flatten().any(|name| is_path(name));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(profile) = known.get(&names) {
            return Ok(profile.clone());
        }
        let profile = Profile::read(board, part, kernel, base_dir)?;
        if all_built_in {
            known.insert(names, profile.clone());
        }
        Ok(profile)
    }

    fn read(board: &str, part: Option<&str>, kernel: Option<&str>, base_dir: &Path) -> Result<Profile, ProfileError> {
        let source = find(Kind::Board, board, base_dir)?;
        let parsed: Board = merged(Kind::Board, &source)?.read()?;
        let own_part = part_named(&parsed.part, &source.folder)?;
        let costs = derive_costs(&parsed, &own_part, &source.label)?;
        let (part_name, part) = match part {
            Some(name) => (name.to_string(), part_named(name, base_dir)?),
            None => (parsed.part.clone(), own_part),
        };
        let (kernel_name, kernel_folder) = match kernel {
            Some(name) => (name.to_string(), base_dir),
            None => match &parsed.kernel {
                Some(name) => (name.clone(), source.folder.as_path()),
                None => (KERNEL_DEFAULT.to_string(), base_dir),
            },
        };
        let kernel = kernel_named(&kernel_name, kernel_folder)?;
        let out_of_range = |key, value, needed| {
            let place = format!("kernel `{kernel_name}`");
            ProfileError::OutOfRange { place, key, value, needed }
        };
        if kernel.hz.value == 0 || kernel.hz.value > 10_000 {
            return Err(out_of_range("hz", kernel.hz.value, "1 to 10000"));
        }
        for (key, percent) in [
            ("dirty_ratio_pct", kernel.dirty_ratio_pct.value),
            ("dirty_background_ratio_pct", kernel.dirty_background_ratio_pct.value),
        ] {
            if percent > 100 {
                return Err(out_of_range(key, percent, "0 to 100"));
            }
        }
        let ecc = parsed.ecc();
        if ecc.is_none() && part.kind() == PartKind::Nand {
            return Err(ProfileError::NoEcc { board: board.to_string(), part: part_name });
        }
        let spi = parsed.spi.as_ref().map(SpiTable::controller).transpose();
        let spi = spi.map_err(|message| ProfileError::Part { file: source.label.clone(), message })?;
        let board_name = board.to_string();
        Ok(Profile { board_name, board: parsed, part_name, part, kernel_name, kernel, costs, ecc, spi })
    }

    /// The controller of the board's serial bus.
    ///
    /// Errors: there is none.
    pub fn spi(&self) -> Result<SpiController, ProfileError> {
        let none = || ProfileError::NoSpi { board: self.board_name.clone(), part: self.part_name.clone() };
        self.spi.ok_or_else(none)
    }

    /// The NAND driver of the board, with its own ECC. A board without raw NAND has none, and says so with the Hamming code of a
    /// controller; what corrects a part on a serial bus, the part says.
    pub fn driver(&self) -> Driver {
        let DriverCosts { read, program, erase } = self.costs;
        Driver {
            ecc: self.ecc.unwrap_or(Ecc::HARDWARE),
            bitflip_threshold_bits: self
                .kernel
                .reports_each_bitflip
                .as_ref()
                .is_some_and(|each| each.value)
                .then_some(1),
            read,
            program,
            erase,
            polls_with_resched: false,
            has_bad_block_table: self.board.has_bad_block_table(),
            read_part_ns: 0,
            read_part_wait_ns: 0,
            page_memory: None,
            program_data_ns: 0,
        }
    }

    /// What a task does while it waits for the chip.
    pub fn nand_wait(&self) -> NandWaitName {
        self.board.nand_wait.value
    }

    pub fn page_cache_bytes(&self) -> u64 {
        self.board.page_cache_kib.value.saturating_mul(1024)
    }

    /// The kernel's default read-ahead on MTD devices, in KiB.
    pub fn read_ahead_kib(&self) -> u32 {
        self.kernel.read_ahead_kib.value
    }

    /// Version of the kernel's YAFFS2, which is today's unless the profile says otherwise.
    pub fn yaffs2_version(&self) -> Yaffs2Version {
        self.kernel.yaffs2_version.as_ref().map_or(Yaffs2Version::Today, |version| version.value)
    }

    /// How the kernel drives SPI NAND; `None`: it does not.
    pub fn spi_nand_rules(&self) -> Option<SpiNandRules> {
        self.kernel.spi_nand_rules.as_ref().map(|rules| rules.value)
    }

    /// What the kernel makes of raw NAND whose cells hold several bits.
    pub fn mlc_rules(&self) -> MlcRules {
        self.kernel.mlc_rules.as_ref().map_or(MlcRules::V5_8, |rules| rules.value)
    }

    /// Timer ticks per second.
    pub fn tick_rate_hz(&self) -> u32 {
        self.kernel.hz.value
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel.rules(&self.kernel_name)
    }

    pub fn write_back(&self) -> WriteBackKnobs {
        WriteBackKnobs {
            writeback_interval_ms: self.kernel.dirty_writeback_ms.value,
            expire_ms: self.kernel.dirty_expire_ms.value,
            limits: DirtyLimits::Percent {
                dirty_percent: self.kernel.dirty_ratio_pct.value,
                background_percent: self.kernel.dirty_background_ratio_pct.value,
            },
        }
    }

    /// Power that the board draws when nothing runs, if it is known.
    pub fn idle_power(&self) -> Option<PowerMilliwatt> {
        let idle = self.board.idle.as_ref()?;
        Some(PowerMilliwatt { cpu: idle.cpu_mw.value.0, memory: idle.memory_mw.value.0 })
    }

    /// Times and power of the CPU's work. With `traced` they include the tracers that ran when the board was measured.
    ///
    /// Errors: the board's profile does not say what tracers cost.
    pub fn cpu_costs(&self, traced: bool) -> Result<CpuCosts, ProfileError> {
        let mut costs = self.board.cpu.as_ref().map_or(CpuCosts::FREE, cpu::CpuTable::costs);
        if traced {
            let Some(tracers) = &self.board.tracers else {
                return Err(ProfileError::NoTracers { board: self.board_name.clone() });
            };
            tracers.add_to(&mut costs);
        }
        Ok(costs)
    }

    pub fn vfs_costs(&self) -> VfsCosts {
        self.board.vfs.costs()
    }
}
