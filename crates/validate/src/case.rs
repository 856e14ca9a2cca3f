//! Measured cases: an experiment together with what a real system did when it ran it. Which stack one needs
//! says [`crate::stacks`].

use ffslab_flash::Geometry;
use ffslab_lab::experiment::Program;
use ffslab_machine::fault_keys::FaultKeys;
use ffslab_machine::mounts::MountKeys;
use ffslab_machine::stack_keys::CompressionName;
use ffslab_machine::vm_keys::VmKeys;
use ffslab_profiles::{EccName, NandWaitName};
use ffslab_workload::Step;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// How often a page may be programmed between two erases. SLC NAND of that time allows four partial programs.
pub(crate) const PARTIAL_PROGRAMS_MAX: u32 = 4;

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
    /// What ran beside the measured steps.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// File systems beside that of `system`, with the keys of `[[stack.mount]]`.
    #[serde(default)]
    pub mounts: Vec<MountKeys>,
    pub expect: Expect,
    /// The counters of the main phase in further boots of the same machine, each by name.
    #[serde(default)]
    pub boots: Vec<Map<String, Value>>,
}

impl Case {
    /// Those of the setup, the measured ones, and those of programs beside them.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        let of_programs = self.programs.iter().flat_map(|program| &program.steps);
        self.setup.iter().chain(&self.measure).chain(of_programs)
    }
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
    pub(crate) tree: Option<String>,
    pub fs: String,
    #[serde(default)]
    pub mount: MountSettings,
    #[serde(rename = "read_ahead_KiB", default)]
    pub read_ahead_kib: u32,
    pub ecc: Option<EccName>,
    /// Bits that software BCH corrects in 512 bytes; absent: Linux's default.
    pub ecc_strength_bits: Option<u32>,
    pub nand_wait: Option<NandWaitName>,
    /// What stood in for the flash where it was no NAND: "mtdram".
    pub driver: Option<String>,
    /// The driver polls with `cond_resched()` while the chip programs or erases.
    #[serde(default)]
    pub cond_resched_after_program_and_erase: bool,
    /// Where the driver has its table of bad blocks, in words; "none ..." if it has none. Absent: it has one.
    pub(crate) bad_block_table: Option<String>,
    #[serde(rename = "hz")]
    pub tick_rate_hz: Option<u32>,
    /// How long the machine had been up when the case began, as its tick counter tells it; recorded where that was looked at.
    pub uptime_us: Option<f64>,
    /// How far into its second the wall clock was when the case began; recorded where that was looked at. File systems that keep
    /// times by whole seconds write an inode whenever a new second has begun.
    pub wall_clock_us: Option<f64>,
    /// The kernel was built for several CPUs (`CONFIG_SMP`); the machine has one.
    #[serde(default)]
    pub smp: bool,
    /// The processor's words, by which kernels since 4.8 hash names. Absent: 64, as all machines had that were measured
    /// before it was recorded.
    pub(crate) word_bits: Option<u32>,
    #[serde(rename = "ram_MiB")]
    pub ram_mib: Option<u64>,
    /// What the kernel said it has (`MemTotal` of /proc/meminfo).
    #[serde(rename = "mem_total_KiB")]
    pub mem_total_kib: Option<u64>,
    #[serde(default, deserialize_with = "vm_keys")]
    pub vm: Option<VmKeys>,
    pub jffs2_summary: Option<bool>,
    pub subpage_writes: Option<bool>,
    pub ubi: Option<UbiSettings>,
    pub ubifs: Option<UbifsSettings>,
    /// Of cases that ran the core of YAFFS2 alone.
    #[serde(flatten)]
    pub yaffs2: crate::case_yaffs2::Settings,
    /// Of cases that ran YAFFS2 in Linux.
    #[serde(rename = "yaffs2")]
    pub yaffs2_in_linux: Option<crate::case_yaffs2::InLinux>,
}

/// The settings of write-back that a stack has keys for, beside others.
fn vm_keys<'de, D: Deserializer<'de>>(from: D) -> Result<Option<VmKeys>, D::Error> {
    let Some(mut says) = Option::<Map<String, Value>>::deserialize(from)? else { return Ok(None) };
    says.retain(|key, _| VmKeys::NAMES.contains(&key.as_str()));
    serde_json::from_value(Value::Object(says)).map(Some).map_err(D::Error::custom)
}

/// How UBI was attached.
#[derive(Clone, Debug, Deserialize)]
pub struct UbiSettings {
    #[serde(rename = "max_beb_per1024")]
    pub(crate) bad_reserve_per_1024: u32,
    /// The rule of kernels before 3.7, which then stands for the other one.
    #[serde(rename = "beb_reserve_pct")]
    pub(crate) bad_reserve_percent: Option<u32>,
    /// Where the volume identifier header is, if attach said so.
    #[serde(rename = "vid_header_offset_B")]
    pub(crate) vid_header_offset_bytes: Option<u32>,
    #[serde(rename = "leb_B")]
    leb_bytes: Option<u32>,
    volume_lebs: Option<u32>,
}

/// What the kernel said about UBIFS at its mount.
#[derive(Clone, Debug, Deserialize)]
pub struct UbifsSettings {
    #[serde(rename = "fs_B")]
    main_bytes: Option<u64>,
}

impl System {
    /// Whether the kernel's UBIFS was built with its debugging code, as far as that can be told: of the volume it used what only that code
    /// would leave. `options` are those without it, `min_io_bytes` the page.
    pub(crate) fn has_ubifs_debug(&self, min_io_bytes: u32, options: &ffslab_ubifs::Options) -> bool {
        let (Some(ubi), Some(ubifs)) = (&self.ubi, &self.ubifs) else { return false };
        let (Some(leb_bytes), Some(lebs), Some(said)) = (ubi.leb_bytes, ubi.volume_lebs, ubifs.main_bytes) else {
            return false;
        };
        let formatted = |fs_debug| {
            ffslab_ubifs::formatted_bytes(
                leb_bytes,
                lebs,
                min_io_bytes,
                &ffslab_ubifs::Options { fs_debug, ..*options },
            )
        };
        formatted(false) != Some(said) && formatted(true) == Some(said)
    }

    /// Whether the driver knows from a table which blocks are bad.
    pub fn has_bad_block_table(&self) -> bool {
        !self.bad_block_table.as_deref().is_some_and(|said| said.starts_with("none"))
    }
}

/// What a case was mounted with. Those that say nothing of a compressor were measured without one.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct MountSettings {
    pub compression: CompressionName,
}

impl Default for MountSettings {
    fn default() -> Self {
        MountSettings { compression: CompressionName::None }
    }
}

/// The chip and the partition on it.
#[derive(Clone, Debug, Deserialize)]
pub struct Flash {
    /// "nor", of which a page is what one program takes at most; absent: NAND.
    pub medium: Option<String>,
    #[serde(rename = "page_B")]
    pub page_bytes: u32,
    #[serde(rename = "oob_B")]
    pub oob_bytes: u32,
    pub pages_per_block: u32,
    #[serde(default)]
    pub first_block: u32,
    pub partition_blocks: u32,
    pub chip_blocks: u32,
    pub t_read_us: Option<f64>,
    pub t_program_us: Option<f64>,
    pub t_erase_us: Option<f64>,
    #[serde(rename = "bus_ns_per_B")]
    pub bus_ns_per_byte: Option<f64>,
    #[serde(default)]
    pub faults: FaultKeys,
}

/// What was measured. `values` holds the counters and all other numbers by name.
#[derive(Clone, Debug, Deserialize)]
pub struct Expect {
    pub from_step: Option<usize>,
    pub at_step: usize,
    #[serde(flatten)]
    pub values: Map<String, Value>,
}

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
