//! A program that calls a file system directly, made of its keys.

use crate::bare_keys::{default_partition_blocks, BareKeys};
use crate::device_keys::DiskSpec;
use crate::error::MachineError;
use crate::file_systems::on_bare::Shared;
use crate::file_systems::{self, Descriptor, Ground, OnBare, PathSettings};
use crate::mount_options::MountOptions;
use crate::spec::{State, EPOCH_S};
use crate::stack::StackSpec;
use crate::stack_keys::{StackKeys, NO_FS};
use ffslab_bare::block::BlockProgram;
use ffslab_bare::paths::PathProgram;
use ffslab_bare::{Bare, Costs};
use ffslab_block::Device;
use ffslab_mtd::Mtd;
use ffslab_profiles::{rtems_board, NandWaitName, Profile};
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::{OptionError, SystemError};
use ffslab_text::words::join_names;
use std::path::Path;
use std::sync::Arc;

/// Value of `fs` for a program that drives a block device.
pub const BLOCK_DEVICE: &str = "block-device";

impl BareKeys {
    /// Fills in what is absent; gives what is to be built and the keys with all values.
    ///
    /// Errors: unknown profiles, a file system that programs cannot call directly, sizes that do not fit.
    pub fn resolve(&self, base_dir: &Path) -> Result<(BareSpec, BareKeys), MachineError> {
        let of_devices = [
            ("device", self.device.is_some()),
            ("media_block_B", self.media_block_bytes.is_some()),
            ("device_KiB", self.device_kib.is_some()),
        ];
        if let Some((key, _)) = of_devices.iter().find(|(_, given)| *given) {
            let (owners, fs) = (BLOCK_DEVICE.to_string(), self.fs.clone());
            return Err(MachineError::Foreign { key, owners, fs });
        }
        self.refuse_page_policies()?;
        self.refuse_tables_of_others()?;
        let on_bare = file_systems::find(&self.fs).and_then(|fs| fs.on_bare);
        // A program's own file system has no name there.
        let of_program = |error| match error {
            MachineError::Foreign { key, owners, .. } => MachineError::Foreign { key, owners, fs: self.fs.clone() },
            error => error,
        };
        let (spec, keys) = StackSpec::from_keys(&self.with_linux(on_bare.is_some()), base_dir).map_err(of_program)?;
        if spec.fs.as_ref().is_some_and(|fs| fs.direct().is_none()) {
            let fs = &self.fs;
            let known = file_systems::called_directly().join(", ");
            let needed =
                format!("it has no interface for programs without an operating system; known with one: {known}");
            return Err(MachineError::word("fs", fs, needed));
        }
        let StackKeys { part, ecc, clock_read_ns, yaffs2_version, .. } = keys;
        let mut keys = BareKeys { part, ecc, clock_read_ns, yaffs2_version, ..self.clone() };
        for file in keys.files_mut() {
            let path = base_dir.join(&*file);
            // One that is not there is named as it was written, when it is opened.
            *file = path.canonicalize().unwrap_or(path).display().to_string();
        }
        let settings = |fs: &dyn OnBare| {
            let medium = spec.medium(&Sim::new(SimConfig::default()))?;
            fs.settings(&mut keys.own_tables(), medium.capabilities())
        };
        let paths = on_bare.map(settings).transpose()?;
        Ok((BareSpec { stack: spec, paths }, keys))
    }

    /// A table of settings of another file system is a mistake.
    fn refuse_tables_of_others(&self) -> Result<(), MachineError> {
        for (key, _) in self.clone().own_tables().0.into_iter().filter(|(_, table)| table.is_given()) {
            let owns = |fs: &&Descriptor| fs.on_bare.is_some_and(|fs| fs.own_keys().contains(&key));
            let owners: Vec<&str> = file_systems::all().into_iter().filter(owns).map(|fs| fs.name).collect();
            if !owners.contains(&self.fs.as_str()) {
                return Err(MachineError::Foreign { key, owners: join_names(&owners), fs: self.fs.clone() });
            }
        }
        Ok(())
    }

    /// Nothing of the board is asked beside a block device, but its name stands in the answer.
    ///
    /// Errors: there is no such board with Linux or RTEMS.
    fn refuse_unknown_board(&self, base_dir: &Path) -> Result<(), MachineError> {
        let Err(unknown) = Profile::load(&self.board, None, None, base_dir) else { return Ok(()) };
        Ok(rtems_board(&self.board, base_dir).map(drop).map_err(|_| unknown)?)
    }

    fn refuse_page_policies(&self) -> Result<(), MachineError> {
        self.policy.as_ref().map_or(Ok(()), |policy| policy.without_page_cache("a bare program"))
    }

    /// The same board with Linux, whose drivers and prices are the program's, too. Nobody else could run while the chip
    /// works, so the program waits busily.
    /// `without_fs`: the file system is none that Linux could mount.
    fn with_linux(&self, without_fs: bool) -> StackKeys {
        let fs = if without_fs { NO_FS } else { &self.fs };
        StackKeys {
            part: self.part.clone(),
            chip_blocks: self.chip_blocks,
            erase_block_kib: self.erase_block_kib,
            first_block: self.first_block,
            yaffs2_version: self.yaffs2_version,
            inband_tags: self.inband_tags,
            ecc: self.ecc,
            clock_read_ns: self.clock_read_ns,
            policy: self.policy.clone(),
            nand_wait: Some(NandWaitName::Busy),
            ..StackKeys::of(&self.board, fs, self.partition_blocks)
        }
    }
}

/// A program that drives a block device, to be built.
#[derive(Clone, Debug)]
pub struct BlockSpec {
    pub disk: DiskSpec,
    epoch_s: u64,
}

impl BareKeys {
    /// The device of a program that drives one, absent values filled in.
    ///
    /// Errors: keys of a board's own flash, sizes that no device has, what is wrong with the device.
    pub fn block_device(&mut self, base_dir: &Path) -> Result<BlockSpec, MachineError> {
        let of_flash = [
            ("part", self.part.is_some()),
            ("chip_blocks", self.chip_blocks.is_some()),
            ("erase_block_KiB", self.erase_block_kib.is_some()),
            ("yaffs2_version", self.yaffs2_version.is_some()),
            ("ecc", self.ecc.is_some()),
            ("inband_tags", self.inband_tags),
            ("first_block", self.first_block != 0),
            ("partition_blocks", self.partition_blocks != default_partition_blocks()),
            ("clock_read_ns", self.clock_read_ns.is_some()),
        ];
        if let Some((key, _)) = of_flash.iter().find(|(_, given)| *given) {
            let owners = "file systems on the board's own flash".to_string();
            return Err(MachineError::Foreign { key, owners, fs: BLOCK_DEVICE.to_string() });
        }
        let hint = "name a block device, or describe one as in device = { ftl = \"page-map\", part = \"k9f1g08u0a\" }";
        let Some(device) = &self.device else {
            return Err(MachineError::Without { key: "fs = \"block-device\"", other: "device", hint });
        };
        self.refuse_page_policies()?;
        self.refuse_tables_of_others()?;
        self.refuse_unknown_board(base_dir)?;
        let policy = self.policy.as_ref();
        let disk = DiskSpec::of(device, policy, &mut self.media_block_bytes, &mut self.device_kib, base_dir)?;
        Ok(BlockSpec { disk, epoch_s: EPOCH_S })
    }
}

impl BlockSpec {
    pub fn set_epoch_s(&mut self, epoch_s: u64) {
        self.epoch_s = epoch_s;
    }

    /// The machine; with a state, its device holds what the state's did.
    ///
    /// Errors: a device that cannot be, a state of another one.
    pub fn build(&self, state: Option<&State>) -> Result<BlockProgram, MachineError> {
        let sim = Sim::new(SimConfig { uptime_ns: state.map_or(0, |state| state.at_ns), ..SimConfig::default() });
        let (of, sector_bytes) = (&self.disk.device, self.disk.media_block_bytes);
        let device = match state {
            Some(state) => of.restored(&state.medium, sector_bytes, &sim)?,
            None => of.holding(vec![0; self.disk.bytes()], sector_bytes, &sim)?,
        };
        let (restarts, looks) = (of.clone(), of.clone());
        let restart = Box::new(move |before: &Device, flash: Option<&Mtd>| Ok(restarts.restarted(before, flash)?));
        let image = Box::new(move |device: &Device, flash: Option<&Mtd>| Ok(looks.image(device, flash)?));
        Ok(BlockProgram::new(sim, device, restart, image, self.epoch_s))
    }
}

/// A program with a file system, or none, on a board's flash, to be built.
#[derive(Clone, Debug)]
pub struct BareSpec {
    /// What Linux would run on, for a program without it.
    pub stack: StackSpec,
    /// Of a file system of paths and handles; `None`: it has inodes, or there is none.
    pub paths: Option<Arc<dyn PathSettings>>,
}

/// A copied page costs what it costs Linux.
fn costs(spec: &StackSpec) -> Costs {
    let of = spec.vfs.costs;
    Costs { clock_read_ns: of.clock_read_ns, page_ns: of.page_ns, cpu_power: of.cpu_power }
}

/// The machine with a file system of paths and handles, nothing mounted.
///
/// Errors: as [`build`].
pub fn build_with_paths(spec: &StackSpec, fs: Arc<dyn PathSettings>) -> Result<PathProgram, MachineError> {
    let sim = Sim::with_costs(spec.sim, &spec.cpu_costs);
    let medium = spec.medium(&sim)?;
    Ok(PathProgram::new(sim, medium, Box::new(Shared(fs)), costs(spec), spec.vfs.epoch_s))
}

/// The machine that the keys describe, nothing mounted.
///
/// Errors: a geometry that no chip has, a partition that does not fit.
pub fn build(spec: &StackSpec) -> Result<Bare, MachineError> {
    let sim = Sim::with_costs(spec.sim, &spec.cpu_costs);
    let medium = spec.medium(&sim)?;
    let costs = costs(spec);
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
