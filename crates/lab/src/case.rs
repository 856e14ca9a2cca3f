//! Measured cases: an experiment together with what a real system did when it ran it. The crate `validate` reads and runs
//! them; which stack one needs is a question to the descriptor of its file system, so the shape of cases stands here.

use crate::file_systems::{self, Settings};
use crate::media::NAND;
use crate::stack::{StackSpec, EPOCH_S};
use crate::stack_keys::CompressionName;
use ffslab_flash::{Geometry, Rules, Timing};
use ffslab_linux::{DirtyLimits, Kernel, VfsConfig, VfsCosts, WriteBackKnobs};
use ffslab_mtd::{Driver, Ecc, OpCost};
use ffslab_profiles::{EccName, NandWaitName};
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{CpuCosts, NandWait, PowerMilliwatt, SchedulerClock, SimConfig};
use ffslab_ubi::BadReserve;
use ffslab_workload::Step;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

/// A measured case. An unknown key in a step is an error; of the other parts only the keys that the simulator uses are
/// read, and the rest is ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    pub id: String,
    pub family: String,
    /// Seed of the file content. Without a compressor nothing depends on it.
    #[serde(default = "default_seed")]
    pub seed: u64,
    pub system: System,
    pub flash: Flash,
    pub setup: Vec<Step>,
    pub measure: Vec<Step>,
    pub expect: Expect,
}

fn default_seed() -> u64 {
    1
}

/// Software and its settings.
#[derive(Clone, Debug, Deserialize)]
pub struct System {
    pub name: String,
    pub version: String,
    /// What was built, and the machine that it ran on. Without it: user-mode Linux.
    tree: Option<String>,
    pub fs: String,
    #[serde(default)]
    pub mount: MountSettings,
    #[serde(rename = "read_ahead_KiB", default)]
    pub read_ahead_kib: u32,
    pub ecc: Option<EccName>,
    pub nand_wait: Option<NandWaitName>,
    #[serde(rename = "hz")]
    pub tick_rate_hz: Option<u32>,
    /// How long the machine had been up when the case began, as its tick counter tells it; recorded where that was looked at.
    pub uptime_us: Option<f64>,
    #[serde(rename = "ram_MiB")]
    pub ram_mib: Option<u64>,
    pub vm: Option<WriteBack>,
    pub jffs2_summary: Option<bool>,
    pub subpage_writes: Option<bool>,
    pub ubi: Option<UbiSettings>,
    /// Of cases that ran the core of YAFFS2 alone.
    #[serde(flatten)]
    pub yaffs2: crate::case_yaffs2::Settings,
    /// Of cases that ran YAFFS2 in Linux.
    #[serde(rename = "yaffs2")]
    pub yaffs2_in_linux: Option<crate::case_yaffs2::InLinux>,
}

/// How UBI was attached.
#[derive(Clone, Debug, Deserialize)]
pub struct UbiSettings {
    #[serde(rename = "max_beb_per1024")]
    bad_reserve_per_1024: u32,
    /// The rule of kernels before 3.7, which then stands for the other one.
    #[serde(rename = "beb_reserve_pct")]
    bad_reserve_percent: Option<u32>,
}

impl UbiSettings {
    pub(crate) fn bad_reserve(&self) -> BadReserve {
        match self.bad_reserve_percent {
            Some(percent) => BadReserve::PercentOfPartition(percent),
            None => BadReserve::Per1024OfChip(self.bad_reserve_per_1024),
        }
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct MountSettings {
    #[serde(default)]
    pub compression: CompressionName,
}

/// Settings of write-back. The limits are given either in per cent of the page cache's memory or in bytes.
#[derive(Clone, Debug, Deserialize)]
pub struct WriteBack {
    pub dirty_writeback_ms: u32,
    pub dirty_expire_ms: Option<u32>,
    pub dirty_ratio_pct: Option<u32>,
    pub dirty_background_ratio_pct: Option<u32>,
    #[serde(rename = "dirty_B")]
    pub dirty_bytes: Option<u64>,
    #[serde(rename = "dirty_background_B")]
    pub dirty_background_bytes: Option<u64>,
}

impl WriteBack {
    /// The settings for the simulated kernel. A setting that the case does not give has the kernel's default.
    fn knobs(&self) -> WriteBackKnobs {
        let standard = WriteBackKnobs::default();
        let limits = match (self.dirty_bytes, self.dirty_background_bytes) {
            (Some(dirty_bytes), Some(background_bytes)) => DirtyLimits::Bytes { dirty_bytes, background_bytes },
            _ => match (self.dirty_ratio_pct, self.dirty_background_ratio_pct) {
                (Some(dirty_percent), Some(background_percent)) => {
                    DirtyLimits::Percent { dirty_percent, background_percent }
                }
                _ => standard.limits,
            },
        };
        WriteBackKnobs {
            writeback_interval_ms: self.dirty_writeback_ms,
            expire_ms: self.dirty_expire_ms.unwrap_or(standard.expire_ms),
            limits,
        }
    }
}

/// The chip. The partition begins at block 0.
#[derive(Clone, Debug, Deserialize)]
pub struct Flash {
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    pub pages_per_block: u32,
    pub partition_blocks: u32,
    pub chip_blocks: u32,
    pub t_read_us: Option<f64>,
    pub t_program_us: Option<f64>,
    pub t_erase_us: Option<f64>,
    #[serde(rename = "bus_ns_per_B")]
    pub bus_ns_per_byte: Option<f64>,
}

/// What was measured. `values` holds the counters and all other numbers by name.
#[derive(Clone, Debug, Deserialize)]
pub struct Expect {
    pub from_step: Option<usize>,
    pub at_step: usize,
    #[serde(flatten)]
    pub values: Map<String, Value>,
}

/// By how much the virtual clock of user-mode Linux moves when the measuring program reads it
/// (`arch/um/kernel/time.c`).
const CLOCK_READ_NS: u64 = 256;

/// How long the reference machine had been up when a case began, modulo 1.28 s (128 ticks), for JFFS2 and for UBIFS.
/// The uptime was not recorded. These values are inferred: with them most counters agree exactly, above all those of
/// the families R4 and J for JFFS2 (fsync, and garbage collection that depends on the tick counter) and those of the
/// families R, X and S for UBIFS (which depend on the task that gets the CPU at a tick).
pub(crate) const UPTIME_NS: u64 = 27_400_000;
pub(crate) const UBIFS_UPTIME_NS: u64 = 27_010_000;

/// How often a page may be programmed between two erases. SLC NAND of that time allows four partial programs.
pub(crate) const PARTIAL_PROGRAMS_MAX: u32 = 4;

impl Flash {
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry {
            page_bytes: self.page_bytes,
            oob_bytes: self.oob_bytes,
            pages_per_block: self.pages_per_block,
            blocks: self.chip_blocks,
        }
    }
}

impl Case {
    /// The stack on which the case runs.
    ///
    /// Errors: the file system of the case cannot be mounted yet.
    pub fn stack(&self) -> Result<StackSpec, String> {
        file_systems::mountable(&self.system.fs)?.stack_of_case(self)
    }

    /// The rules of the kernel on which the case was measured.
    ///
    /// Errors: there is no profile of that version.
    pub(crate) fn kernel(&self) -> Result<Kernel, String> {
        ffslab_profiles::kernel_of_version(&self.system.version).map_err(|error| error.to_string())
    }

    /// A stack like the user-mode Linux on which the cases of the kernel's file systems were measured. `uptime_ns` is
    /// how long it has been up when the case begins, unless the case says so itself.
    pub(crate) fn linux_stack(&self, kernel: Kernel, uptime_ns: u64, fs: Arc<dyn Settings>) -> StackSpec {
        let (system, flash) = (&self.system, &self.flash);
        let ns = |us: Option<f64>| us_to_ns(us.unwrap_or(0.0));
        let user_mode = system.tree.is_none();
        let clock_read_ns = if user_mode { CLOCK_READ_NS } else { 0 };
        let sleeps = matches!(system.nand_wait, Some(NandWaitName::Sleep));
        // A task that sleeps while the chip works has the clock read twice: when it arms a timer, and when the timer's
        // interrupt looks which timers have expired (`kernel/time/hrtimer.c`).
        let wait = OpCost { overhead_ns: if sleeps { 2 * clock_read_ns } else { 0 }, power: PowerMilliwatt::default() };
        StackSpec {
            medium: &NAND,
            image: None,
            idle_power: None,
            geometry: flash.geometry(),
            timing: Timing {
                read_ns: ns(flash.t_read_us),
                program_ns: ns(flash.t_program_us),
                erase_ns: ns(flash.t_erase_us),
                // The factor from ns per byte to ps per byte is the same as that from us to ns.
                bus_ps_per_byte: ns(flash.bus_ns_per_byte),
            },
            rules: Rules { partial_programs_max: PARTIAL_PROGRAMS_MAX, in_order: false },
            driver: Driver {
                ecc: system.ecc.map_or(Ecc::HARDWARE, |ecc| Ecc::HARDWARE.by(ecc.engine())),
                read: wait,
                program: wait,
                erase: wait,
            },
            first_block: 0,
            partition_blocks: flash.partition_blocks,
            sim: SimConfig {
                tick_rate_hz: system.tick_rate_hz.unwrap_or(100),
                uptime_ns: system.uptime_us.map_or(uptime_ns, us_to_ns),
                nand_wait: if sleeps { NandWait::Sleep } else { NandWait::Busy },
                // User-mode Linux has no clock for the scheduler that is finer than the tick.
                scheduler_clock: if user_mode { SchedulerClock::Tick } else { SchedulerClock::Exact },
            },
            cpu_costs: CpuCosts::FREE,
            vfs: VfsConfig {
                kernel,
                read_ahead_bytes: system.read_ahead_kib.saturating_mul(1024),
                page_cache_bytes: system.ram_mib.map_or(u64::MAX, |mib| mib.saturating_mul(1 << 20)),
                write_back: system.vm.as_ref().map_or_else(WriteBackKnobs::default, WriteBack::knobs),
                costs: VfsCosts { clock_read_ns, ..VfsCosts::default() },
                epoch_s: EPOCH_S,
            },
            fs: Some(fs),
        }
    }
}
