//! From a description to a running stack: clock, chip, NAND driver, partition, system calls, file system.

use crate::error::LabError;
use crate::image::{self, ImageSpec};
use crate::mount_options::{no_options, ubifs_options, yaffs2_options, MountOptions};
use crate::profile::Profile;
use crate::recognise::arranged::arranged;
use crate::stack_keys::{EccName, NandWaitName, StackKeys};
use crate::tree::ImageFs;
use ffslab_flash::{Chip, ChipImage, Geometry, Rules, Timing};
use ffslab_fs::{BlockSpace, FileSystem};
use ffslab_jffs2::{Jffs2, Options};
use ffslab_linux::{ReadAheadRules, Vfs, VfsConfig, WriteBackKnobs};
use ffslab_mtd::{Driver, Ecc, Mtd, Nand};
use ffslab_sim::{CpuCosts, NandWait, PowerMilliwatt, Reason, Sim, SimConfig, Switch};
use ffslab_ubi::{AttachError, BadReserve, Ubi, UbiError, UbiOptions, Volume, VolumeKind, VolumeRequest, VolumeSize};
use ffslab_ubifs::Ubifs;
use ffslab_yaffs2::{Background, Yaffs2};
use std::path::Path;

mod contents;
mod names;

use names::generation;
pub use names::{compression, endian, ubifs_compression};

/// File systems that can be mounted.
pub const FILE_SYSTEMS: &[&str] = &["jffs2", "yaffs2", "ubifs"];

/// Value of `fs` for a partition that is never mounted.
const NO_FS: &str = "none";

/// Name of the UBI volume.
const VOLUME: &str = "v";

/// 2011-01-01, the time of day at virtual time 0: the era of the boards in question. It only enters time stamps.
pub const EPOCH_S: u64 = 1_293_840_000;

/// Everything that a stack is made of, in numbers.
#[derive(Clone, Debug)]
pub struct StackSpec {
    pub geometry: Geometry,
    pub timing: Timing,
    pub rules: Rules,
    pub driver: Driver,
    pub first_block: u32,
    pub partition_blocks: u32,
    pub sim: SimConfig,
    pub cpu_costs: CpuCosts,
    pub vfs: VfsConfig,
    pub fs: FsSpec,
    /// What the idle board draws; `None`: not known.
    pub idle_power: Option<PowerMilliwatt>,
    /// What the partition holds at the start; `None`: it is erased.
    pub image: Option<ImageSpec>,
}

/// A file system and its settings.
#[derive(Clone, Debug)]
pub enum FsSpec {
    Jffs2(Options),
    Yaffs2(ffslab_yaffs2::Options),
    Ubifs(ffslab_ubifs::Options, UbiOptions),
    /// The partition is used as it is, by `mtd_loop`.
    None,
}

/// The message about a file system that cannot be mounted.
pub fn unknown_fs(name: &str) -> String {
    format!("fs \"{name}\" is not built yet; known: {}", FILE_SYSTEMS.join(", "))
}

impl StackSpec {
    /// What the keys of an experiment describe. Also returns the keys with the board's values filled in.
    ///
    /// Errors: unknown profiles and file systems; see also [`Stack::new`] for what only building finds.
    pub fn from_keys(keys: &StackKeys, base_dir: &Path) -> Result<(StackSpec, StackKeys), LabError> {
        if keys.fs != NO_FS && !FILE_SYSTEMS.contains(&keys.fs.as_str()) {
            return Err(LabError::Input(unknown_fs(&keys.fs)));
        }
        keys.refuse_what_does_not_apply()?;
        let profile = Profile::load(&keys.board, keys.part.as_deref(), keys.kernel.as_deref(), base_dir)
            .map_err(|error| LabError::Input(error.to_string()))?;
        if keys.partition_blocks == 0 {
            let text = "partition_blocks = 0: a partition has erase blocks; 160 of 128 KiB each hold 20 MiB";
            return Err(LabError::input(text));
        }
        let mut keys = keys.clone();
        let mut driver = profile.driver();
        match keys.ecc {
            Some(EccName::Hardware) => driver.ecc = Ecc::Hardware,
            Some(EccName::Software) => driver.ecc = Ecc::Software,
            None => {}
        }
        keys.ecc = Some(match driver.ecc {
            Ecc::Hardware => EccName::Hardware,
            Ecc::Software => EccName::Software,
        });
        let nand_wait = match keys.nand_wait {
            Some(NandWaitName::Busy) => NandWait::Busy,
            Some(NandWaitName::Sleep) => NandWait::Sleep,
            None => profile.nand_wait(),
        };
        keys.nand_wait = Some(match nand_wait {
            NandWait::Busy => NandWaitName::Busy,
            NandWait::Sleep => NandWaitName::Sleep,
        });
        let mut costs = profile.vfs_costs();
        costs.clock_read_ns = *keys.clock_read_ns.get_or_insert(costs.clock_read_ns);
        // UBIFS switches the kernel's read-ahead off for its own mounts (fs/ubifs/super.c).
        let by_default_kib = if keys.fs == "ubifs" { 0 } else { profile.read_ahead_kib() };
        let read_ahead_kib = *keys.read_ahead_kib.get_or_insert(by_default_kib);
        let page_cache_kib = *keys.page_cache_kib.get_or_insert(profile.page_cache_bytes() >> 10);
        let tick_rate_hz = *keys.tick_rate_hz.get_or_insert(profile.tick_rate_hz());
        let kernel = profile.kernel();
        keys.kernel = Some(profile.kernel_name.clone());
        keys.part = Some(profile.part_name.clone());
        if tick_rate_hz == 0 || tick_rate_hz > 10_000 {
            return Err(LabError::Input(format!("hz = {tick_rate_hz}: 1 to 10000 is needed")));
        }
        let read_ahead_bytes = read_ahead_kib.checked_mul(1024).ok_or_else(|| {
            LabError::Input(format!("read_ahead_KiB = {read_ahead_kib} is too large: at most 4194303"))
        })?;
        let as_kernel = match kernel.read_ahead {
            ReadAheadRules::V2_6 => Options::linux_2_6_37(),
            ReadAheadRules::V6_1 => Options::default(),
        };
        let image = image_of(&mut keys, &profile.part.geometry(), base_dir)?;
        let fs = match keys.fs.as_str() {
            "yaffs2" => {
                let version = *keys.yaffs2_version.get_or_insert(profile.yaffs2_version());
                FsSpec::Yaffs2(ffslab_yaffs2::Options {
                    inband_tags: keys.inband_tags,
                    background: Some(Background::linux(tick_rate_hz)),
                    ..ffslab_yaffs2::Options::of(generation(version))
                })
            }
            "ubifs" => {
                let options = ffslab_ubifs::Options {
                    compression: ubifs_compression(keys.compression).map_err(LabError::Input)?,
                    bulk_read: keys.bulk_read,
                    wbuf_delay_ms: profile.write_back().writeback_interval_ms,
                    ..ffslab_ubifs::Options::default()
                };
                let per_1024 = keys.bad_reserve_per_1024.unwrap_or(ffslab_ubi::MAX_BEB_PER1024_DEFAULT);
                let ubi = ubi_options(per_1024, true, profile.part.geometry().blocks);
                FsSpec::Ubifs(options, UbiOptions { vid_header_offset_bytes: keys.vid_header_offset_bytes, ..ubi })
            }
            NO_FS => FsSpec::None,
            _ => FsSpec::Jffs2(Options {
                compression: compression(keys.compression).map_err(LabError::Input)?,
                summary: keys.summary,
                endian: endian(keys.endian),
                ..as_kernel
            }),
        };
        let spec = StackSpec {
            image,
            geometry: profile.part.geometry(),
            timing: profile.part.timing(),
            rules: profile.part.rules(),
            driver,
            first_block: keys.first_block,
            partition_blocks: keys.partition_blocks,
            sim: SimConfig { tick_rate_hz, uptime_ns: keys.uptime_us * 1_000, nand_wait, ..SimConfig::default() },
            cpu_costs: profile.cpu_costs(keys.traced).map_err(|error| LabError::Input(error.to_string()))?,
            vfs: VfsConfig {
                kernel,
                read_ahead_bytes,
                page_cache_bytes: page_cache_kib.saturating_mul(1024),
                write_back: WriteBackKnobs {
                    limits: keys.dirty_limits(profile.write_back().limits)?,
                    ..profile.write_back()
                },
                costs,
                epoch_s: EPOCH_S,
            },
            fs,
            idle_power: profile.idle_power(),
        };
        Ok((spec, keys))
    }
}

/// The image that the partition holds at the start; what is found in it is filled in.
fn image_of(keys: &mut StackKeys, geometry: &Geometry, base_dir: &Path) -> Result<Option<ImageSpec>, LabError> {
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
            Some((key, _)) => {
                Err(LabError::Input(format!("{key} is set, but there is no image: give one with image = \"FILE\"")))
            }
        };
    };
    if said.autoplace == Some(true) && said.oob == Some(false) {
        return Err(LabError::input("image_autoplace is set, but not image_oob: there are no OOB bytes to place"));
    }
    let path = base_dir.join(file);
    let image = image::read_file(&path).map_err(LabError::Input)?;
    let named = |text: String| LabError::Input(format!("{}: {text}", path.display()));
    let fs = ImageFs::ALL.into_iter().find(|fs| fs.name() == keys.fs);
    let arranged = arranged(&image, &said, fs, geometry).map_err(named)?;
    keys.take(&arranged).map_err(named)?;
    Ok(Some(ImageSpec { path, oob: arranged.oob, autoplace: arranged.autoplace, place_bytes: arranged.place_bytes }))
}

/// How UBI is attached.
pub fn ubi_options(max_beb_per1024: u32, subpage_writes: bool, chip_blocks: u32) -> UbiOptions {
    UbiOptions {
        bad_reserve: BadReserve::Per1024OfChip(max_beb_per1024),
        subpage_writes,
        chip_blocks: Some(chip_blocks),
        ..UbiOptions::default()
    }
}

/// The volume to mount: the only one, whatever an image calls it, or the one named [`VOLUME`].
fn open_volume(ubi: &Ubi) -> Result<Volume, String> {
    let volumes = ubi.volumes();
    let id = match volumes.as_slice() {
        [] => return Err("UBI has no volume: a step ubi_make_volume makes one".to_string()),
        [only] => only.id,
        several => match several.iter().find(|volume| volume.name == VOLUME) {
            Some(named) => named.id,
            None => {
                let names: Vec<String> = several.iter().map(|volume| format!("\"{}\"", volume.name)).collect();
                let names = names.join(", ");
                return Err(format!("UBI has {} volumes, {names}: call the one to mount \"{VOLUME}\"", several.len()));
            }
        },
    };
    ubi.open(id).map_err(|error| error.to_string())
}

/// How many LEBs a volume lacks.
fn missing_lebs(error: &ffslab_ubifs::MountError) -> Option<u32> {
    match error {
        ffslab_ubifs::MountError::TooFewLebs { lebs, needed } => Some(needed.saturating_sub(*lebs)),
        _ => None,
    }
}

/// A simulated machine with one partition. The chip starts erased, or with an image, and outlives mounts and crashes.
pub struct Stack {
    pub sim: Sim,
    pub vfs: Vfs,
    nand: Nand,
    mtd: Mtd,
    ubi: Option<Ubi>,
    spec: StackSpec,
}

impl Stack {
    /// Builds the stack, nothing mounted.
    ///
    /// Errors: a geometry that no chip has, a partition or an image that does not fit.
    pub fn new(spec: &StackSpec) -> Result<Stack, String> {
        let sim = Sim::with_costs(spec.sim, &spec.cpu_costs);
        let chip = Chip::new(sim.clone(), spec.geometry, spec.timing, spec.rules).map_err(|error| error.to_string())?;
        let nand = Nand::new(chip, spec.driver).map_err(|error| error.to_string())?;
        let mtd = Mtd::new(&nand, spec.first_block, spec.partition_blocks).map_err(|error| error.to_string())?;
        if let Some(spec_image) = &spec.image {
            let blocks = spec.first_block..spec.first_block + spec.partition_blocks;
            nand.with_chip(|chip| image::load(chip, &spec.driver, spec_image, blocks))?;
        }
        let vfs = Vfs::new(sim.clone(), spec.vfs.clone());
        Ok(Stack { sim, vfs, nand, mtd, ubi: None, spec: spec.clone() })
    }

    /// A stack whose chip holds what another one's did, nothing mounted, at the time of day that it was then.
    ///
    /// Errors: as [`Stack::new`]; a snapshot of another chip.
    pub fn restored(spec: &StackSpec, chip: &ChipImage, at_ns: u64) -> Result<Stack, String> {
        let mut spec = StackSpec { image: None, ..spec.clone() };
        spec.sim.uptime_ns = at_ns;
        let stack = Stack::new(&spec)?;
        stack.nand.with_chip(|target| target.restore(chip)).map_err(|error| error.to_string())?;
        stack.nand.restart();
        Ok(stack)
    }

    /// A copy of what the chip holds.
    pub fn snapshot(&self) -> ChipImage {
        self.nand.with_chip(|chip| chip.snapshot())
    }

    /// Mounts the partition and sets read-ahead.
    ///
    /// Errors: what the file system says, options that it does not have.
    pub fn mount(&mut self, options: &[String]) -> Result<(), String> {
        let generic = MountOptions::of(self.fs_name(), options)?;
        if generic.remount {
            return self.remount(&generic);
        }
        let MountOptions { read_only, synchronous, others: options, .. } = generic;
        if self.vfs.fs().is_some() {
            return Err("the partition is mounted already: umount it first, or add the option \"remount\"".to_string());
        }
        let mtd = self.mtd.clone();
        if matches!(self.spec.fs, FsSpec::Ubifs(..)) && self.ubi.is_none() {
            self.attach_at_boot()?;
        }
        let fs: Box<dyn FileSystem> = match &self.spec.fs {
            FsSpec::Jffs2(settings) => {
                no_options("jffs2", &options)?;
                Box::new(Jffs2::mount(mtd, Options { read_only, ..*settings }).map_err(|error| error.to_string())?)
            }
            FsSpec::Yaffs2(settings) => {
                let settings = yaffs2_options(ffslab_yaffs2::Options { read_only, ..*settings }, &options)?;
                Box::new(Yaffs2::mount(mtd, settings).map_err(|error| error.to_string())?)
            }
            FsSpec::Ubifs(settings, _) => {
                let settings = ubifs_options(ffslab_ubifs::Options { read_only, ..*settings }, &options)?;
                let ubi = self.ubi.as_ref().ok_or("UBI is not attached: a step ubi_attach must come before")?;
                let mounted = Ubifs::mount(ubi, open_volume(ubi)?, settings, self.spec.vfs.epoch_s);
                Box::new(mounted.map_err(|error| self.with_room(ubi, &error, missing_lebs(&error)))?)
            }
            FsSpec::None => return Err("fs = \"none\": there is no file system to mount".to_string()),
        };
        self.vfs.mount(fs).map_err(|error| error.to_string())?;
        self.vfs.set_synchronous(synchronous);
        self.vfs.set_read_ahead_bytes(self.spec.vfs.read_ahead_bytes);
        Ok(())
    }

    fn fs_name(&self) -> &'static str {
        match &self.spec.fs {
            FsSpec::Jffs2(_) => "jffs2",
            FsSpec::Yaffs2(_) => "yaffs2",
            FsSpec::Ubifs(..) => "ubifs",
            FsSpec::None => NO_FS,
        }
    }

    /// `mount -o remount`: read-only or read-write, synchronous or not.
    ///
    /// Errors: nothing is mounted, files are open for writing, what the file system says.
    fn remount(&mut self, options: &MountOptions) -> Result<(), String> {
        if let Some(option) = options.others.first() {
            return Err(format!(
                "a remount changes only the generic options here, not \"{option}\": umount and mount for that"
            ));
        }
        if self.vfs.fs().is_none() {
            return Err("remount: nothing is mounted: leave the option out".to_string());
        }
        self.vfs.remount(options.read_only).map_err(|error| error.to_string())?;
        self.vfs.set_synchronous(options.synchronous);
        Ok(())
    }

    /// Attaches UBI to the partition.
    ///
    /// Errors: what UBI says; a file system that does not work on it.
    pub fn ubi_attach(&mut self) -> Result<(), String> {
        let FsSpec::Ubifs(_, options) = &self.spec.fs else {
            return Err("only ubifs works on UBI: fs says otherwise".to_string());
        };
        if self.ubi.is_some() {
            return Err("UBI is attached already: detach it first".to_string());
        }
        let ubi = Ubi::attach(self.mtd.clone(), options).map_err(|error| match error {
            AttachError::OtherLayout { found, .. } => format!("{error}: vid_hdr_offset_B = {found} says so"),
            _ => error.to_string(),
        })?;
        self.ubi = Some(ubi.clone());
        let sim = self.sim.clone();
        self.vfs.set_device_task(Some(Box::new(move |_| while ubi.run_task() && sim.resched() == Switch::Stay {})));
        Ok(())
    }

    /// What a board does that names the partition on its kernel's command line (`ubi.mtd=`): UBI is attached before the
    /// first mount. On a partition without volumes one is made of all of it, so an experiment can change only `fs`.
    fn attach_at_boot(&mut self) -> Result<(), String> {
        self.ubi_attach()?;
        match &self.ubi {
            Some(ubi) if ubi.volumes().is_empty() => {
                let _why = self.sim.because(Reason::Formatting);
                self.ubi_make_volume()
            }
            _ => Ok(()),
        }
    }

    /// Detaches UBI.
    ///
    /// Errors: a mounted file system; nothing is attached.
    pub fn ubi_detach(&mut self) -> Result<(), String> {
        if self.vfs.fs().is_some() {
            return Err("the file system is mounted: umount it first".to_string());
        }
        let ubi = self.ubi.take().ok_or("UBI is not attached")?;
        self.vfs.set_device_task(None);
        ubi.detach();
        Ok(())
    }

    /// Makes one volume of all LEBs that are available.
    ///
    /// Errors: what UBI says; it is not attached.
    pub fn ubi_make_volume(&mut self) -> Result<(), String> {
        let ubi = self.ubi.as_ref().ok_or("UBI is not attached: a step ubi_attach must come before")?;
        let request = VolumeRequest::new(VOLUME, VolumeKind::Dynamic, VolumeSize::AllAvailable);
        ubi.make_volume(&request).map(drop).map_err(|error| match error {
            UbiError::NoRoom { available_lebs, .. } => {
                self.with_room(ubi, &error, Some(ffslab_ubifs::LEBS_MIN - available_lebs.min(ffslab_ubifs::LEBS_MIN)))
            }
            _ => error.to_string(),
        })
    }

    /// An error, followed by who has the erase blocks and what would be right if `missing_lebs` are missing.
    fn with_room(&self, ubi: &Ubi, error: &dyn std::fmt::Display, missing_lebs: Option<u32>) -> String {
        let Some(missing_lebs) = missing_lebs else { return error.to_string() };
        let room = ubi.room();
        let blocks = room.pebs + missing_lebs;
        let advice = match &self.spec.image {
            // The image says how large its volumes are.
            Some(_) => String::new(),
            None if room.bad_reserve_pebs > 0 => {
                format!(
                    "; partition_blocks = {blocks} would do, or a smaller max_beb_per1024, which counts the whole chip"
                )
            }
            None => format!("; partition_blocks = {blocks} would do"),
        };
        format!("{error}: {room}{advice}")
    }

    /// The partition itself, for who works below every file system.
    pub fn mtd(&self) -> &Mtd {
        &self.mtd
    }

    /// Access to the chip beside all operations: power cuts, faults.
    pub fn with_chip<R>(&self, act: impl FnOnce(&mut Chip) -> R) -> R {
        self.nand.with_chip(act)
    }

    /// Power fails and comes back: memory is lost, the chip keeps what it holds.
    pub fn crash(&mut self) {
        self.vfs.crash();
        self.vfs.set_device_task(None);
        if let Some(ubi) = self.ubi.take() {
            ubi.detach();
        }
        self.nand.with_chip(Chip::power_on);
        self.nand.restart();
    }

    /// Bytes of an image of the partition, without OOB.
    pub fn partition_bytes(&self) -> u64 {
        u64::from(self.spec.partition_blocks) * self.block_bytes()
    }

    pub fn page_bytes(&self) -> u32 {
        self.spec.geometry.page_bytes
    }

    pub fn block_bytes(&self) -> u64 {
        u64::from(self.spec.geometry.page_bytes) * u64::from(self.spec.geometry.pages_per_block)
    }

    pub fn partition_blocks(&self) -> u32 {
        self.spec.partition_blocks
    }

    /// Erases of each block of the partition since the chip was made.
    pub fn erase_counts(&self) -> Vec<u32> {
        let (first, blocks) = (self.spec.first_block as usize, self.spec.partition_blocks as usize);
        self.nand.with_chip(|chip| chip.erase_counts()[first..first + blocks].to_vec())
    }

    /// Those of them that only made blocks of a new partition usable.
    pub fn formatting_erases(&self) -> Vec<u32> {
        let (first, blocks) = (self.spec.first_block as usize, self.spec.partition_blocks as usize);
        self.nand.with_chip(|chip| chip.formatting_erases()[first..first + blocks].to_vec())
    }

    /// What each block of the partition holds, as the mounted file system accounts for it; empty: nothing is mounted.
    pub fn block_space(&self) -> Vec<BlockSpace> {
        self.vfs.fs().map(FileSystem::block_space).unwrap_or_default()
    }

    /// Programmed pages of each block of the partition.
    pub fn programmed_pages(&self) -> Vec<u32> {
        let first = self.spec.first_block;
        let blocks = first..first + self.spec.partition_blocks;
        self.nand.with_chip(|chip| blocks.map(|block| chip.programmed_pages(block)).collect())
    }
}
