//! A simulated machine with RTEMS: a root in memory, one file system on /mnt, its medium.

use super::spec::RtemsSpec;
use crate::device_keys::DiskSpec;
use crate::error::MachineError;
use crate::file_systems::on_rtems::{InMemory, OnDisk, OnFlash, RtemsFs};
use ffslab_block::Device;
use ffslab_flash::Torn;
use ffslab_fs::Errno;
use ffslab_images::file::read_file;
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_rtems::bdbuf::{Bdbuf, DiskId};
use ffslab_rtems::cpu::Cpu;
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::{FileSystem, Libio};
use ffslab_sim::{Sim, SimConfig};
use ffslab_system::SystemError;
use std::sync::Arc;

mod system;

const MOUNT_POINT: &[u8] = b"/mnt";
/// The node of the block device.
const DEVICE: &[u8] = b"/dev/rda";
/// Descriptors of the study's configuration.
const DESCRIPTORS: usize = 320;

/// The medium, and the file system that is mounted on it.
enum Medium {
    Memory(Arc<dyn InMemory>),
    /// With the flash of the device, if a translation layer stands above it.
    Disk(DiskId, Arc<dyn OnDisk>, Option<Mtd>),
    /// Of file systems with their own flash driver.
    Flash(Mtd, Arc<dyn OnFlash>),
}

/// The machine. The medium outlives mounts and power cuts.
pub struct Machine {
    pub sim: Sim,
    libio: Libio,
    spec: RtemsSpec,
    medium: Medium,
    formatted: bool,
    mounted: bool,
    buffer: Vec<u8>,
    /// Of caches that ended with a power cut.
    counts_before: [u64; 14],
    of_setup_bytes_before: u64,
}

impl Machine {
    /// Builds the machine, nothing mounted.
    ///
    /// Errors: a configuration of the cache that RTEMS refuses, a medium that cannot be, an image that cannot be read.
    pub fn new(spec: &RtemsSpec) -> Result<Machine, MachineError> {
        let content = match spec.fs.disk() {
            Some(disk) => Content::New(first_image(disk)?),
            None => Content::Nothing,
        };
        Machine::holding(spec, content, SimConfig::default())
    }

    /// A machine whose medium holds what another one's did, nothing mounted, at the time of day that it was then.
    ///
    /// Errors: as [`Machine::new`]; a snapshot of another medium.
    pub fn restored(spec: &RtemsSpec, held: &MediumImage, at_ns: u64) -> Result<Machine, MachineError> {
        let sim = SimConfig { uptime_ns: at_ns, ..SimConfig::default() };
        let content = match spec.fs.disk() {
            Some(_) => Content::Held(held),
            None => Content::Nothing,
        };
        let mut machine = Machine::holding(spec, content, sim)?;
        match (&machine.medium, held) {
            (Medium::Disk(..), _) => machine.formatted = true,
            (Medium::Flash(flash, _), held) => flash.restore(held).map_err(|_| MachineError::OtherMedium)?,
            _ => return Err(MachineError::OtherMedium),
        }
        Ok(machine)
    }

    fn holding(spec: &RtemsSpec, content: Content, sim: SimConfig) -> Result<Machine, MachineError> {
        let sim = Sim::new(sim);
        let some = |(device, flash)| (Some(device), flash);
        let (device, flash) = match (spec.fs.disk(), content) {
            (Some(disk), Content::New(image)) => some(disk.device.holding(image, disk.media_block_bytes, &sim)?),
            (Some(disk), Content::Held(held)) => some(disk.device.restored(held, disk.media_block_bytes, &sim)?),
            _ => (None, None),
        };
        let (libio, disk) = boot(&sim, spec, device)?;
        let medium = match (&spec.fs, disk) {
            (RtemsFs::Flash(flash, fs), _) => Medium::Flash(flash.make(&sim)?, fs.clone()),
            (RtemsFs::Disk(_, fs), Some(disk)) => Medium::Disk(disk, fs.clone(), flash),
            (RtemsFs::Memory(fs), _) => Medium::Memory(fs.clone()),
            (RtemsFs::Disk(..), None) => unreachable!("a system that starts with the image of a disk has the disk"),
        };
        let formatted = spec.fs.disk().is_some_and(|disk| disk.image.is_some());
        Ok(Machine {
            sim,
            libio,
            spec: spec.clone(),
            medium,
            formatted,
            mounted: false,
            buffer: Vec::new(),
            counts_before: [0; 14],
            of_setup_bytes_before: 0,
        })
    }

    /// The block cache, for callers that look at its single operations.
    pub fn cache_mut(&mut self) -> &mut Bdbuf {
        self.libio.cache_mut()
    }

    /// The block device; `None`: there is none.
    pub fn disk(&self) -> Option<DiskId> {
        match self.medium {
            Medium::Disk(disk, ..) => Some(disk),
            _ => None,
        }
    }

    /// The block device itself, for callers that look at its single commands; `None`: there is none.
    pub fn device_mut(&mut self) -> Option<&mut Device> {
        let disk = self.disk()?;
        Some(self.libio.cache_mut().device_mut(disk))
    }

    /// Mounts; an empty block device gets a new file system before.
    ///
    /// Errors: mounted already, options that the file system does not have, what it says.
    fn mount(&mut self, options: &[String]) -> Result<(), SystemError> {
        if self.mounted {
            return Err(SystemError::MountedAlready { what: "it", has_remount: false });
        }
        let options = options.iter().flat_map(|text| text.split(',')).filter(|option| !option.is_empty());
        let (read_only, options): (Vec<&str>, Vec<&str>) = options.partition(|option| *option == "ro");
        let fs = self.open_fs(&options)?;
        self.libio.mount(fs, MOUNT_POINT, read_only.is_empty())?;
        self.mounted = true;
        Ok(())
    }

    fn open_fs(&mut self, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        if let (Medium::Disk(..), false) = (&self.medium, self.formatted) {
            self.format()?;
        }
        let cache = self.libio.cache_mut();
        match &self.medium {
            Medium::Memory(fs) => fs.mount(options),
            Medium::Disk(disk, fs, _) => fs.mount(cache, *disk, options),
            Medium::Flash(flash, fs) => fs.mount(cache, flash, options),
        }
    }

    /// Makes a new file system on the block device.
    ///
    /// Errors: there is none, something is mounted, the device is too small.
    fn format(&mut self) -> Result<(), SystemError> {
        let Medium::Disk(disk, fs, _) = &self.medium else {
            return Err(SystemError::NoDevice { hint: " that could be formatted: leave it out" });
        };
        if self.mounted {
            return Err(SystemError::Mounted { what: "it" });
        }
        let made = fs.format(self.libio.cache_mut(), *disk);
        made.map_err(SystemError::Unformattable)?;
        self.formatted = true;
        Ok(())
    }

    /// Unmounts; all files are closed by then.
    fn umount(&mut self) -> Result<(), Errno> {
        self.libio.unmount(MOUNT_POINT)?;
        self.mounted = false;
        self.flush_device()
    }

    /// What a device without power may have forgotten goes to its flash, as before it is taken out.
    fn flush_device(&mut self) -> Result<(), Errno> {
        self.device_mut().map_or(Ok(()), |device| device.flush().map_err(|_| Errno::Io))
    }

    /// Power fails and comes back: memory is lost, the medium keeps what it holds.
    ///
    /// Errors: as [`Machine::new`].
    fn crash(&mut self) -> Result<(), MachineError> {
        let device = match (&self.medium, self.spec.fs.disk()) {
            (Medium::Disk(disk, _, flash), Some(of)) => {
                let before = self.libio.cache().device(*disk);
                Some(of.device.restarted(before, flash.as_ref())?)
            }
            _ => None,
        };
        if let Medium::Flash(flash, _) = &self.medium {
            flash.cut_power_after(0, Torn::Nothing);
            flash.restart();
        }
        self.counts_before = self.cache_counts();
        self.of_setup_bytes_before = self.of_setup_bytes();
        (self.libio, _) = boot(&self.sim, &self.spec, device)?;
        self.mounted = false;
        Ok(())
    }

    fn cache_counts(&self) -> [u64; 14] {
        let named = self.libio.cache().counts().named();
        std::array::from_fn(|i| self.counts_before[i] + named[i].1)
    }

    fn of_setup_bytes(&self) -> u64 {
        self.of_setup_bytes_before + self.libio.cache().counts().of_setup_bytes
    }

    /// What the block device holds; `None`: there is none.
    ///
    /// Errors: what cannot be read any more.
    fn disk_image(&self) -> Result<Option<Vec<u8>>, MachineError> {
        match (&self.medium, self.spec.fs.disk()) {
            (Medium::Disk(disk, _, flash), Some(of)) => {
                of.device.image(self.libio.cache().device(*disk), flash.as_ref()).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// What the medium of a new machine holds.
enum Content<'a> {
    /// No block device holds anything.
    Nothing,
    /// These bytes on a new block device.
    New(Vec<u8>),
    /// What another block device held.
    Held(&'a MediumImage),
}

/// A name of an experiment as a path: "" is the mount point.
fn below(name: &[u8]) -> Vec<u8> {
    [MOUNT_POINT, b"/", name].concat()
}

fn first_image(disk: &DiskSpec) -> Result<Vec<u8>, MachineError> {
    let bytes = disk.bytes();
    let Some(path) = &disk.image else { return Ok(vec![0; bytes]) };
    let mut image = read_file(path)?;
    if image.len() > bytes {
        let (path, device_kib) = (path.display().to_string(), bytes >> 10);
        return Err(MachineError::LargerThanDevice { path, bytes: image.len(), device_kib });
    }
    image.resize(bytes, 0);
    Ok(image)
}

/// A started system with its block device, if it has one.
fn boot(sim: &Sim, spec: &RtemsSpec, device: Option<Device>) -> Result<(Libio, Option<DiskId>), MachineError> {
    let mut cache = Bdbuf::new(sim.clone(), spec.bdbuf.clone())?;
    if let Some(costs) = &spec.cpu {
        cache.set_cpu(Cpu::priced(sim.clone(), costs.clone()));
    }
    let mut root = Imfs::new(ImfsOptions::default());
    let mut disk = None;
    if let Some(device) = device {
        let added = cache.add_disk(device);
        root.add_device(&cache, b"dev", b"rda", added).map_err(MachineError::Start)?;
        disk = Some(added);
    }
    let mut libio = Libio::new(cache, Box::new(root), DESCRIPTORS);
    libio.mkdir(MOUNT_POINT, 0o777).map_err(MachineError::Start)?;
    Ok((libio, disk))
}
