//! The `[stack]` table of an experiment with `system = "bare"`: a program that calls a file system directly.

use crate::error::MachineError;
use crate::file_systems::{self, Ground};
use crate::mount_options::MountOptions;
use crate::stack::StackSpec;
use crate::stack_keys::StackKeys;
use ffslab_bare::{Bare, Costs};
use ffslab_mtd::Mtd;
use ffslab_profiles::{EccName, NandWaitName, Yaffs2Version};
use ffslab_sim::Sim;
use ffslab_system::{OptionError, SystemError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The system of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BareName {
    #[serde(rename = "bare")]
    Bare,
}

/// A program with its file system on a board's chip, without an operating system. The keys mean what they mean with Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BareKeys {
    pub system: BareName,
    /// Name of a board profile, or the path of one, relative to the experiment.
    #[serde(default = "default_board")]
    pub board: String,
    /// Name or path of a NAND part, instead of the board's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Erase blocks of the whole chip, where it has more or fewer than the part says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_blocks: Option<u32>,
    /// NOR: size of its erase blocks, where the part can erase 4 KiB, too.
    #[serde(rename = "erase_block_KiB", default, skip_serializing_if = "Option::is_none")]
    pub erase_block_kib: Option<u32>,
    /// File system with an interface for such programs: "yaffs2"; "none" for a program that only drives the flash (`mtd_loop`).
    pub fs: String,
    /// First erase block of the partition.
    #[serde(default)]
    pub first_block: u32,
    /// Erase blocks of the partition.
    #[serde(default = "default_partition_blocks")]
    pub partition_blocks: u32,
    /// Age of YAFFS2's sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yaffs2_version: Option<Yaffs2Version>,
    /// YAFFS2's tags lie at the end of the page's data area.
    #[serde(default)]
    pub inband_tags: bool,
    /// Who corrects bit errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccName>,
    /// What reading the clock takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<u64>,
}

fn default_board() -> String {
    "omap3evm".to_string()
}

fn default_partition_blocks() -> u32 {
    400
}

impl BareKeys {
    /// Fills in what is absent; gives what is to be built and the keys with all values.
    ///
    /// Errors: unknown profiles, a file system that programs cannot call directly, sizes that do not fit.
    pub fn resolve(&self, base_dir: &Path) -> Result<(StackSpec, BareKeys), MachineError> {
        let (spec, keys) = StackSpec::from_keys(&self.with_linux(), base_dir)?;
        if spec.fs.as_ref().is_some_and(|fs| fs.direct().is_none()) {
            let fs = &self.fs;
            let known = file_systems::called_directly().join(", ");
            let needed =
                format!("it has no interface for programs without an operating system; known with one: {known}");
            return Err(MachineError::word("fs", fs, needed));
        }
        let StackKeys { part, ecc, clock_read_ns, yaffs2_version, .. } = keys;
        Ok((spec, BareKeys { part, ecc, clock_read_ns, yaffs2_version, ..self.clone() }))
    }

    /// The same board with Linux, whose drivers and prices are the program's, too. Nobody else could run while the chip
    /// works, so the program waits busily.
    fn with_linux(&self) -> StackKeys {
        StackKeys {
            part: self.part.clone(),
            chip_blocks: self.chip_blocks,
            erase_block_kib: self.erase_block_kib,
            first_block: self.first_block,
            yaffs2_version: self.yaffs2_version,
            inband_tags: self.inband_tags,
            ecc: self.ecc,
            clock_read_ns: self.clock_read_ns,
            nand_wait: Some(NandWaitName::Busy),
            ..StackKeys::of(&self.board, &self.fs, self.partition_blocks)
        }
    }
}

/// The machine that the keys describe, nothing mounted. A copied page costs what it costs Linux.
///
/// Errors: a geometry that no chip has, a partition that does not fit.
pub fn build(spec: &StackSpec) -> Result<Bare, MachineError> {
    let sim = Sim::with_costs(spec.sim, &spec.cpu_costs);
    let medium = spec.medium(&sim)?;
    let of = spec.vfs.costs;
    let costs = Costs { clock_read_ns: of.clock_read_ns, page_ns: of.page_ns, cpu_power: of.cpu_power };
    let (settings, epoch_s, policies) = (spec.fs.clone(), spec.vfs.epoch_s, spec.policies.clone());
    let mount = move |medium: &Mtd, options: &[String]| {
        let options = MountOptions::of(options)?;
        if options.remount || options.synchronous {
            return Err(OptionError::OfLinux.into());
        }
        let direct = settings.as_ref().and_then(|settings| settings.direct()).ok_or(SystemError::NoFileSystem)?;
        let ground = Ground { mtd: medium, ubi: None, volume: None, epoch_s, policies: &policies };
        direct.mount_direct(&ground, &options)
    };
    Ok(Bare::new(sim, medium, Box::new(mount), costs, epoch_s))
}
