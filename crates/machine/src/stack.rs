//! From a description to a running stack: clock, chip, NAND driver, partition, system calls, file system.

use crate::error::MachineError;
use crate::exact_micros::ExactMicros;
use crate::file_systems::{self, Settings};
use crate::loaders::{Programs, Stage};
use crate::media::{self, MlcSpec, PartitionSpec};
use crate::policy_keys::Policies;
use crate::spec::EPOCH_S;
use crate::stack_keys::{StackKeys, NO_FS};
use crate::ubi_volume::UbiVolumes;
use ambassador::Delegate;
use ffslab_flash::{Geometry, Torn};
use ffslab_fs::{BlockSpace, FileKind, FileSystem, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, XattrMode};
use ffslab_images::file::{hold_file, load, load_bytes};
use ffslab_images::recognise::arranged::{arranged, Said};
use ffslab_images::{ImageError, ImageSpec};
use ffslab_linux::{Vfs, VfsConfig};
use ffslab_mtd::spi_nand::Wiring;
use ffslab_mtd::{MediumError, MediumImage, Mtd};
use ffslab_profiles::{EccName, NandWaitName, Profile, ProgramCosts};
use ffslab_sim::{CpuCosts, Mount, PowerMilliwatt, Sim, SimConfig};
use ffslab_system::{
    ambassador_impl_Calls, Advice, Answer, Calls, Entry, FallocateFlag, Fd, MapAccess, Nodes, OpenFlags, Refusal,
    Whence,
};
use ffslab_ubi::Ubi;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

mod board_keys;
mod boot;
mod contents;
mod mount;
mod system;
mod ubi;

/// Everything that a stack is made of, in numbers.
#[derive(Clone, Debug)]
pub struct StackSpec {
    /// What holds the partition, one that stands on Linux.
    pub medium: &'static media::Descriptor,
    pub partition: PartitionSpec,
    pub sim: SimConfig,
    pub cpu_costs: CpuCosts,
    /// What an answer says of a driver that is another board's.
    pub driver_note: Option<String>,
    pub vfs: VfsConfig,
    /// The file system and its settings; `None`: the partition is used as it is, by `mtd_loop`.
    pub fs: Option<Arc<dyn Settings>>,
    /// What the program that does the steps computes; `None`: it takes no time.
    pub program: Option<ProgramCosts>,
    /// What the idle board draws; `None`: not known.
    pub idle_power: Option<PowerMilliwatt>,
    /// What the partition holds at the start; `None`: it is erased.
    pub image: Option<ImageSpec>,
    pub volumes: UbiVolumes,
    /// How the programs of a boot run.
    pub programs: Programs,
    /// Who decides in place of the kernel.
    pub policies: Policies,
}

impl StackSpec {
    /// What the keys of an experiment describe. Also returns the keys with the board's values filled in.
    ///
    /// Errors: unknown profiles and file systems; see also [`Stack::new`] for what only building finds.
    pub fn from_keys(keys: &StackKeys, base_dir: &Path) -> Result<(StackSpec, StackKeys), MachineError> {
        let mountable = match keys.fs.as_str() {
            NO_FS => None,
            name => Some(file_systems::mountable(name)?),
        };
        file_systems::refuse_what_does_not_apply(keys)?;
        let mut profile = Profile::load(&keys.board, keys.part.as_deref(), keys.kernel.as_deref(), base_dir)?;
        if let Some(chip) = &keys.chip {
            board_keys::set_chip(&mut profile, keys.part.as_deref(), chip, base_dir)?;
        }
        let kind = profile.part.kind();
        let medium = match &keys.medium {
            Some(name) => media::on_linux(name)?,
            None => media::of_part(&profile.part_name, kind)?,
        };
        if !medium.of_parts.is_empty() && !medium.of_parts.contains(&kind) {
            let needed = format!("the part {} is a {}", profile.part_name, kind.title());
            return Err(MachineError::word("medium", medium.name, needed));
        }
        if let Some(kib) = keys.erase_block_kib {
            set_erase_block(&mut profile, kib)?;
        }
        if let Some(blocks) = keys.chip_blocks {
            profile.part.set_blocks(blocks);
        }
        if keys.partition_blocks == 0 {
            let needed = "a partition has erase blocks; 160 of 128 KiB each hold 20 MiB";
            return Err(MachineError::number("partition_blocks", 0u64, needed));
        }
        let mut keys = keys.clone();
        board_keys::hold_layers(&mut profile, &keys, medium, base_dir)?;
        let mut driver = profile.driver();
        let spi_nand = media::wiring(&profile)?;
        let nor = media::nor_wiring(&profile)?;
        if nor.is_some() {
            refuse_what_nor_lacks(&keys)?;
        }
        let programs = Programs::of(&profile, spi_nand.as_ref())?;
        driver.ecc = spi_nand.as_ref().map_or(driver.ecc, Wiring::ecc);
        driver.ecc = board_keys::ecc_of(&keys, driver.ecc)?;
        driver.has_bad_block_table = keys.bad_block_table.unwrap_or(driver.has_bad_block_table);
        if let Some(bits) = keys.bitflip_threshold_bits {
            driver.bitflip_threshold_bits = Some(board_keys::threshold(medium, &driver.ecc, bits)?);
        }
        board_keys::check_cells(&keys, medium, mountable, &profile)?;
        let timing = spi_nand.as_ref().map_or(profile.part.timing(), |wiring| wiring.timing(profile.part.timing()));
        keys.ecc = nor.is_none().then(|| EccName::of(driver.ecc.engine));
        let wait = *keys.nand_wait.get_or_insert(profile.nand_wait());
        let timing = match &nor {
            Some(_) => timing,
            None => board_keys::complete_driver(&keys, &profile, &mut driver, timing, wait),
        };
        let mut costs = profile.vfs_costs();
        costs.clock_read_ns = *keys.clock_read_ns.get_or_insert(costs.clock_read_ns);
        let of_fs_kib = mountable.and_then(|fs| fs.read_ahead_kib());
        let by_default_kib = of_fs_kib.unwrap_or(profile.read_ahead_kib());
        let read_ahead_kib = *keys.read_ahead_kib.get_or_insert(by_default_kib);
        let page_cache_kib = board_keys::page_cache_kib(&mut keys, &profile)?;
        let tick_rate_hz = *keys.tick_rate_hz.get_or_insert(profile.tick_rate_hz());
        let kernel = board_keys::kernel_of(&keys, &profile)?;
        let uptime = *keys.uptime_us.get_or_insert(ExactMicros { ns: profile.uptime_ns().unwrap_or(0) });
        let wall_clock_ns = keys.wall_clock_us.map(|wall_clock| wall_clock.ns).or(profile.wall_clock_ns());
        keys.kernel = Some(profile.kernel_name.clone());
        keys.part = keys.chip.is_none().then(|| profile.part_name.clone());
        let polls_with_resched = wait == NandWaitName::Resched;
        if tick_rate_hz == 0 || tick_rate_hz > 10_000 {
            return Err(MachineError::number("hz", tick_rate_hz, "1 to 10000 is needed"));
        }
        let read_ahead_bytes = read_ahead_kib.checked_mul(1024).ok_or(MachineError::TooLarge {
            key: "read_ahead_KiB",
            value: read_ahead_kib.into(),
            most: u64::from(u32::MAX / 1024),
        })?;
        let faults = keys.faults.as_ref().map(|faults| faults.faults()).transpose()?.unwrap_or_default();
        if keys.faults.is_some() && !medium.keys.contains(&"faults") {
            return Err(MachineError::NoFaults { title: medium.title });
        }
        let ageing = match &mut keys.ageing {
            Some(_) if !medium.keys.contains(&"ageing") => {
                return Err(MachineError::NoAgeing { title: medium.title });
            }
            Some(ageing) => Some(ageing.model(&profile.part, &profile.part_name, &driver.ecc)?),
            None => None,
        };
        let mlc = MlcSpec::of(&profile.part, timing, keys.slc_mode)?;
        let image = image_of(&mut keys, &profile.part.geometry(), base_dir)?;
        let policy = keys.policy.clone().unwrap_or_default();
        let policies = file_systems::policies_of(&policy, &keys.fs, mountable)?;
        let fs = mountable.map(|fs| fs.settings(&mut keys, &profile)).transpose()?;
        let has_ubi = fs.as_ref().is_some_and(|fs| fs.needs_ubi().is_some());
        // See `Driver::polls_with_resched` of `mtd` for file systems that hold a lock meanwhile, `SimConfig` for the others.
        driver.polls_with_resched = polls_with_resched && keys.fs == file_systems::jffs2::JFFS2.name;
        let smp = keys.smp.unwrap_or(profile.smp());
        let spec = StackSpec {
            medium,
            image,
            partition: PartitionSpec {
                geometry: profile.part.geometry(),
                timing,
                rules: profile.part.rules(),
                driver,
                mlc,
                spi_nand,
                nor,
                faults,
                ageing,
                first_block: keys.first_block,
                partition_blocks: keys.partition_blocks,
            },
            sim: SimConfig {
                tick_rate_hz,
                uptime_ns: uptime.ns,
                nand_wait: wait.into(),
                scheduler_clock: profile.scheduler_clock(),
                tick_cost_ns: profile.tick_cost_ns(),
                vain_turn_ns: profile.vain_turn_ns(),
                tick_is_timer: profile.tick_is_timer(),
                delays_are_loops: profile.delays_are_loops(),
                polls_with_resched: polls_with_resched && has_ubi,
                timer_wheel: kernel.timer_wheel,
                chip_lock: kernel.chip_lock,
                preemption: kernel.preemption,
                clock_stops_when_asked: kernel.clock_stops_when_asked,
                grace_period_thread: smp && kernel.grace_period_thread,
            },
            cpu_costs: profile.cpu_costs(keys.traced)?,
            driver_note: profile.driver_note(),
            vfs: VfsConfig {
                kernel,
                read_ahead_bytes,
                page_cache_bytes: page_cache_kib.saturating_mul(1024),
                write_back: keys.write_back(profile.write_back())?,
                policies: policies.pages,
                costs,
                epoch_s: EPOCH_S,
                epoch_ns: wall_clock_ns.map_or(0, |wall_clock_ns| epoch_ns(wall_clock_ns, uptime.ns)),
                others_unused_count: profile.others_unused_count(uptime.ns),
                smp,
            },
            fs,
            program: profile.program(),
            idle_power: profile.idle_power(),
            volumes: UbiVolumes::default(),
            programs,
            policies,
        };
        Ok((spec, keys))
    }
}

impl StackSpec {
    /// The partition, erased or holding the image.
    ///
    /// Errors: a geometry that no chip has, a partition or an image that does not fit.
    pub fn medium(&self, sim: &Sim) -> Result<Mtd, MachineError> {
        let (title, make) = (self.medium.title, self.medium.on_linux);
        let made = make.ok_or(MachineError::NotOnLinux { title })?(&self.partition, sim);
        let medium = made.map_err(|error| match error {
            MediumError::Partition(error) => MachineError::NotOnChip(error),
            error => error.into(),
        })?;
        self.holding_image(medium)
    }

    fn holding_image(&self, medium: Mtd) -> Result<Mtd, MachineError> {
        let Some(image) = &self.image else { return Ok(medium) };
        match self.fs.as_ref().filter(|fs| fs.puts_images_elsewhere()) {
            None => load(&medium, image)?,
            Some(_) => {
                let held = hold_file(&image.path)?;
                let wanted = held.get(image.place_bytes.clone()).unwrap_or_default();
                self.put_image(&medium, image, wanted)?;
            }
        }
        Ok(medium)
    }

    /// Puts an image on the partition as the file system wants it there.
    ///
    /// Errors: it does not fit.
    fn put_image(&self, medium: &Mtd, spec: &ImageSpec, image: &[u8]) -> Result<(), ImageError> {
        let found = self.fs.as_ref().map(|fs| fs.on_flash(image, medium, &self.volumes));
        let on_flash = found.transpose().map_err(|why| ImageError::refused(&spec.path, why))?.flatten();
        load_bytes(medium, spec, on_flash.as_deref().unwrap_or(image))
    }
}

/// Gives a NOR chip the erase blocks of this size.
///
/// Errors: it has none of this size.
fn set_erase_block(profile: &mut Profile, kib: u32) -> Result<(), MachineError> {
    if kib.checked_mul(1024).is_some_and(|bytes| profile.part.erases_by(bytes)) {
        return Ok(());
    }
    let own_kib = profile.part.geometry().block_bytes() / 1024;
    let small = profile.part.spi_nor().is_some_and(|part| part.small_erase_ns.is_some());
    let other = if small { "4 or " } else { "" };
    let needed = format!("the part {} has erase blocks of {other}{own_kib} KiB", profile.part_name);
    Err(MachineError::number("erase_block_KiB", kib, needed))
}

fn refuse_what_nor_lacks(keys: &StackKeys) -> Result<(), MachineError> {
    const ECC: &str = "ECC that Linux knows of";
    // Reserves for bad blocks are given to UBI there as well (`ubiattach -b`), and nothing follows from them.
    let given = [
        ("ecc", keys.ecc.is_some(), ECC),
        ("ecc_strength_bits", keys.ecc_strength_bits.is_some(), ECC),
        ("subpage_writes", keys.subpage_writes.is_some(), "pages that could be written in parts"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((key, _, what)) => Err(MachineError::Lacks { key, title: media::NOR.title, what }),
        None => Ok(()),
    }
}

/// How far the time of day is in its second at virtual time 0, in ns, if it is so far when the machine has been up so long.
pub fn epoch_ns(wall_clock_ns: u64, uptime_ns: u64) -> u32 {
    const SECOND_NS: u64 = 1_000_000_000;
    ((wall_clock_ns % SECOND_NS + SECOND_NS - uptime_ns % SECOND_NS) % SECOND_NS) as u32
}

/// The image that the partition holds at the start; what is found in it is filled in.
fn image_of(keys: &mut StackKeys, geometry: &Geometry, base_dir: &Path) -> Result<Option<ImageSpec>, MachineError> {
    let said = keys.image_said();
    let Some(file) = &keys.image else {
        let keys = [
            ("image_oob", said.oob.is_some()),
            ("image_autoplace", said.autoplace.is_some()),
            ("image_partition", said.wanted.partition.is_some()),
            ("image_mtdparts", said.wanted.mtdparts.is_some()),
            ("image_offset_B", said.wanted.offset_bytes.is_some()),
            ("image_size_B", said.wanted.size_bytes.is_some()),
        ];
        return match keys.into_iter().find(|(_, is_set)| *is_set) {
            None => Ok(None),
            Some((key, _)) => Err(MachineError::WithoutImage { key }),
        };
    };
    if said.autoplace == Some(true) && said.oob == Some(false) {
        let hint = "there are no OOB bytes to place";
        return Err(MachineError::Without { key: "image_autoplace", other: "image_oob", hint });
    }
    let path = base_dir.join(file);
    let image = hold_file(&path)?;
    let named = |why| MachineError::Arrangement { path: path.display().to_string(), why };
    let mountable = file_systems::find(&keys.fs).and_then(|fs| fs.mountable);
    let is_whole = mountable.map_or(Ok(false), |fs| fs.takes_whole(keys, &image))?;
    if is_whole && said != Said::default() {
        let needed = "the whole image is put on the partition: leave the other keys of the image out";
        return Err(MachineError::word("image", file, needed));
    }
    if is_whole {
        keys.vid_header_offset_bytes = keys.vid_header_offset_bytes.or(ffslab_ubi::vid_header_offset(&image));
    }
    let fs = file_systems::image_fs(&keys.fs).filter(|_| !is_whole);
    let arranged = arranged(&image, &said, fs, geometry, &file_systems::image_formats()).map_err(named)?;
    keys.take(&path, &arranged)?;
    Ok(Some(ImageSpec { path, oob: arranged.oob, autoplace: arranged.autoplace, place_bytes: arranged.place_bytes }))
}

/// A simulated machine with one partition. The chip starts erased, or with an image, and outlives mounts and crashes.
#[derive(Delegate)]
#[delegate(Calls, target = "vfs")]
pub struct Stack {
    pub sim: Sim,
    pub vfs: Vfs,
    medium: Mtd,
    ubi: Option<Ubi>,
    spec: StackSpec,
    /// What runs, in a boot of several stages.
    stage: Stage,
}

impl Stack {
    /// Builds the stack, nothing mounted.
    ///
    /// Errors: a geometry that no chip has, a partition or an image that does not fit.
    pub fn new(spec: &StackSpec) -> Result<Stack, MachineError> {
        let sim = Sim::with_costs(spec.sim, &spec.cpu_costs);
        let medium = spec.medium(&sim)?;
        let vfs = Vfs::new(sim.clone(), spec.vfs.clone());
        Ok(Stack { sim, vfs, medium, ubi: None, spec: spec.clone(), stage: Stage::default() })
    }

    /// A stack for another mount of the machine of `root`: on a partition of its own, or on a volume of the UBI there.
    ///
    /// Errors: as [`Stack::new`]; a medium that cannot be divided.
    pub fn beside(root: &Stack, spec: &StackSpec, mount: Mount) -> Result<Stack, MachineError> {
        let sim = root.sim.of_mount(mount);
        let medium = match spec.volumes.own {
            Some(_) => root.medium.for_mount(sim.clone()),
            None => spec.holding_image(root.part_of_medium(spec.partition.blocks(), sim.clone())?)?,
        };
        let vfs = Vfs::new(sim.clone(), spec.vfs.clone());
        Ok(Stack { sim, vfs, medium, ubi: None, spec: spec.clone(), stage: Stage::default() })
    }

    /// These erase blocks of the medium, in the hands of a mount.
    ///
    /// Errors: they are not on it, it cannot be divided.
    pub(crate) fn part_of_medium(&self, blocks: Range<u32>, sim: Sim) -> Result<Mtd, MachineError> {
        let part = self.medium.beside(blocks, sim);
        part.ok_or(MachineError::Undivided { title: self.spec.medium.title })?.map_err(MachineError::NotOnChip)
    }

    /// A stack whose chip holds what another one's did, nothing mounted, at the time of day that it was then.
    ///
    /// Errors: as [`Stack::new`]; a snapshot of another chip.
    pub fn restored(spec: &StackSpec, held: &MediumImage, at_ns: u64) -> Result<Stack, MachineError> {
        let mut spec = StackSpec { image: None, ..spec.clone() };
        spec.sim.uptime_ns = at_ns;
        let stack = Stack::new(&spec)?;
        stack.medium.restore(held)?;
        Ok(stack)
    }

    /// Power fails and comes back: memory is lost, the chip keeps what it holds.
    pub fn crash(&mut self) {
        // What the medium does by itself ends, too.
        self.medium.cut_power_after(0, Torn::Nothing);
        self.vfs.crash();
        self.vfs.set_device_task(None);
        if let Some(ubi) = self.ubi.take().filter(|_| self.spec.volumes.own.is_none()) {
            ubi.vanish();
        }
        self.medium.restart();
    }

    /// Bytes of an image of the partition, without OOB.
    pub fn partition_bytes(&self) -> u64 {
        self.medium.size_bytes()
    }

    pub fn page_bytes(&self) -> u32 {
        self.spec.partition.geometry.page_bytes
    }

    pub fn block_bytes(&self) -> u64 {
        u64::from(self.medium.erase_block_bytes())
    }

    pub fn partition_blocks(&self) -> u32 {
        self.spec.partition.partition_blocks
    }

    /// The erase blocks of the chip that are the partition's.
    pub fn blocks(&self) -> Range<u32> {
        self.spec.partition.blocks()
    }

    /// As users write it; [`NO_FS`]: none.
    pub fn fs_name(&self) -> &'static str {
        self.spec.fs.as_ref().map_or(NO_FS, |settings| settings.fs().name)
    }

    /// Erases of each block of the partition since the chip was made.
    pub fn erase_counts(&self) -> Vec<u32> {
        self.medium.erase_counts()
    }

    /// What each block of the partition holds, as the mounted file system accounts for it; empty: nothing is mounted.
    pub fn block_space(&self) -> Vec<BlockSpace> {
        self.vfs.fs().map(FileSystem::block_space).unwrap_or_default()
    }
}
