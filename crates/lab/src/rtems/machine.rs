//! A simulated machine with RTEMS: a root in memory, one file system on /mnt, its medium.

use super::keys::{DiskSpec, RtemsFs, RtemsSpec};
use crate::image::read_file;
use ffslab_fs::Errno;
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_rtems::bdbuf::{Bdbuf, DiskId};
use ffslab_rtems::cpu::Cpu;
use ffslab_rtems::device::Device;
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::jffs2::Jffs2;
use ffslab_rtems::libio::{FileSystem, Libio};
use ffslab_rtems::yaffs2::Yaffs2;
use ffslab_rtems::{dosfs, rfs};
use ffslab_sim::{Sim, SimConfig};

mod system;

const MOUNT_POINT: &[u8] = b"/mnt";
/// The node of the block device.
const DEVICE: &[u8] = b"/dev/rda";
/// Descriptors of the study's configuration.
const DESCRIPTORS: usize = 320;

enum Medium {
    Memory,
    Disk(DiskId),
    /// Of file systems with their own flash driver.
    Flash(Mtd),
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
    pub fn new(spec: &RtemsSpec) -> Result<Machine, String> {
        let image = match spec.fs.disk() {
            Some(disk) => Some(first_image(disk)?),
            None => None,
        };
        Machine::with_image(spec, image, SimConfig::default())
    }

    /// A machine whose medium holds what another one's did, nothing mounted, at the time of day that it was then.
    ///
    /// Errors: as [`Machine::new`]; a snapshot of another medium.
    pub fn restored(spec: &RtemsSpec, held: &MediumImage, at_ns: u64) -> Result<Machine, String> {
        let other = || "the state is of another medium".to_string();
        let sim = SimConfig { uptime_ns: at_ns, ..SimConfig::default() };
        let disk = match held {
            MediumImage::Bytes(bytes) if spec.fs.disk().is_some() => Some(bytes.clone()),
            _ => None,
        };
        let mut machine = Machine::with_image(spec, disk, sim)?;
        match (&machine.medium, held) {
            (Medium::Disk(_), MediumImage::Bytes(_)) => machine.formatted = true,
            (Medium::Flash(flash), held) => flash.restore(held).map_err(|_| other())?,
            _ => return Err(other()),
        }
        Ok(machine)
    }

    fn with_image(spec: &RtemsSpec, image: Option<Vec<u8>>, sim: SimConfig) -> Result<Machine, String> {
        let sim = Sim::new(sim);
        let (libio, disk) = boot(&sim, spec, image)?;
        let medium = match (spec.fs.flash(), disk) {
            (Some(flash), _) => Medium::Flash(flash.make(&sim)?),
            (None, Some(disk)) => Medium::Disk(disk),
            (None, None) => Medium::Memory,
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

    /// Mounts; an empty medium gets a new file system before. `options`: those of rfs.
    ///
    /// Errors: mounted already, options that the file system does not have, what it says.
    fn mount(&mut self, options: &[String]) -> Result<(), String> {
        if self.mounted {
            return Err("it is mounted already: umount it first".to_string());
        }
        let options = options.iter().flat_map(|text| text.split(',')).filter(|option| !option.is_empty());
        let (read_only, options): (Vec<&str>, Vec<&str>) = options.partition(|option| *option == "ro");
        if !matches!(self.spec.fs, RtemsFs::Rfs { .. }) && !options.is_empty() {
            return Err(format!("option \"{}\": only rfs has options, and all have \"ro\"", options[0]));
        }
        let fs = self.open_fs(&options)?;
        self.libio.mount(fs, MOUNT_POINT, read_only.is_empty()).map_err(|error| error.to_string())?;
        self.mounted = true;
        Ok(())
    }

    fn open_fs(&mut self, options: &[&str]) -> Result<Box<dyn FileSystem>, String> {
        let quirks = self.spec.quirks;
        let cache = self.libio.cache_mut();
        let said = |what: &str, error: Errno| format!("{what}: {error}");
        Ok(match (&self.spec.fs, &self.medium) {
            (RtemsFs::Rfs { block_bytes, .. }, Medium::Disk(disk)) => {
                if !self.formatted {
                    let options = rfs::FormatOptions { block_bytes: *block_bytes, ..rfs::FormatOptions::default() };
                    rfs::format(cache, *disk, &options)
                        .map_err(|error| said("the device cannot be formatted", error))?;
                }
                self.formatted = true;
                let parsed = rfs::MountOptions::parse(&options.join(",")).map_err(|_| {
                    format!("options {options:?}: rfs has hold-bitmaps, no-local-cache and max-held-bufs=N")
                })?;
                let parsed = rfs::MountOptions { quirks, ..parsed };
                Box::new(
                    rfs::Rfs::mount(cache, *disk, &parsed)
                        .map_err(|error| said("no rfs that can be mounted", error))?,
                )
            }
            (RtemsFs::Dosfs { sectors_per_cluster_count, .. }, Medium::Disk(disk)) => {
                if !self.formatted {
                    let options = dosfs::FormatOptions {
                        sectors_per_cluster_count: *sectors_per_cluster_count,
                        quirks,
                        ..dosfs::FormatOptions::default()
                    };
                    dosfs::format(cache, *disk, &options)
                        .map_err(|error| said("the device cannot be formatted", error))?;
                }
                self.formatted = true;
                let mounted = dosfs::Dosfs::mount(cache, *disk, quirks);
                Box::new(mounted.map_err(|error| said("no FAT that can be mounted", error))?)
            }
            (RtemsFs::Jffs2 { compression, .. }, Medium::Flash(flash)) => {
                let mut fs = Jffs2::mount(flash, *compression).map_err(|error| error.to_string())?;
                fs.charge_mount(cache);
                Box::new(fs)
            }
            (RtemsFs::Yaffs2 { .. }, Medium::Flash(flash)) => {
                let mut fs = Yaffs2::mount(flash).map_err(|error| error.to_string())?;
                fs.charge_mount(cache);
                Box::new(fs)
            }
            (RtemsFs::Imfs { mini, block_size }, _) => {
                Box::new(Imfs::new(ImfsOptions { mini: *mini, block_size: *block_size, memory_blocks: None }))
            }
            (RtemsFs::Rfs { .. } | RtemsFs::Dosfs { .. } | RtemsFs::Jffs2 { .. } | RtemsFs::Yaffs2 { .. }, _) => {
                unreachable!("the medium was made for the file system")
            }
        })
    }

    /// Unmounts; all files are closed by then.
    fn umount(&mut self) -> Result<(), Errno> {
        self.libio.unmount(MOUNT_POINT)?;
        self.mounted = false;
        Ok(())
    }

    /// Power fails and comes back: memory is lost, the medium keeps what it holds.
    ///
    /// Errors: as [`Machine::new`].
    fn crash(&mut self) -> Result<(), String> {
        let image = match self.medium {
            Medium::Disk(disk) => Some(self.libio.cache().device(disk).image().to_vec()),
            _ => None,
        };
        self.counts_before = self.cache_counts();
        self.of_setup_bytes_before = self.of_setup_bytes();
        (self.libio, _) = boot(&self.sim, &self.spec, image)?;
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
    fn disk_image(&self) -> Option<Vec<u8>> {
        match self.medium {
            Medium::Disk(disk) => Some(self.libio.cache().device(disk).image().to_vec()),
            _ => None,
        }
    }
}

/// A name of an experiment as a path: "" is the mount point.
fn below(name: &[u8]) -> Vec<u8> {
    [MOUNT_POINT, b"/", name].concat()
}

fn first_image(disk: &DiskSpec) -> Result<Vec<u8>, String> {
    let bytes = disk.media_blocks as usize * disk.media_block_bytes as usize;
    let Some(path) = &disk.image else { return Ok(vec![0; bytes]) };
    let mut image = read_file(path)?;
    if image.len() > bytes {
        let (has, fits) = (image.len(), bytes >> 10);
        return Err(format!("{}: {has} B do not fit the device of {fits} KiB: raise device_KiB", path.display()));
    }
    image.resize(bytes, 0);
    Ok(image)
}

/// A started system with its block device, if it has one.
fn boot(sim: &Sim, spec: &RtemsSpec, image: Option<Vec<u8>>) -> Result<(Libio, Option<DiskId>), String> {
    let mut cache = Bdbuf::new(sim.clone(), spec.bdbuf.clone()).map_err(|error| error.to_string())?;
    if let Some(costs) = &spec.cpu {
        cache.set_cpu(Cpu::priced(sim.clone(), costs.clone()));
    }
    let mut root = Imfs::new(ImfsOptions::default());
    let mut disk = None;
    if let (Some(image), Some(of)) = (image, spec.fs.disk()) {
        let device = Device::with_image(of.profile.clone(), of.media_block_bytes, image);
        let added = cache.add_disk(device);
        root.add_device(&cache, b"dev", b"rda", added).map_err(|error| error.to_string())?;
        disk = Some(added);
    }
    let mut libio = Libio::new(cache, Box::new(root), DESCRIPTORS);
    libio.mkdir(MOUNT_POINT, 0o777).map_err(|error| error.to_string())?;
    Ok((libio, disk))
}
