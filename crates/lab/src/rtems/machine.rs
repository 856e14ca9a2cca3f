//! A simulated machine with RTEMS: a root in memory, one file system on /mnt, its medium.

use super::keys::{DiskSpec, RtemsFs, RtemsSpec};
use crate::calls::Calls;
use crate::image::read_file;
use ffslab_fs::Errno;
use ffslab_linux::Advice;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufCounts, DiskId};
use ffslab_rtems::cpu::Cpu;
use ffslab_rtems::device::Device;
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::jffs2::{Jffs2, NorCounts, NorFlash};
use ffslab_rtems::libio::{FileSystem, Libio, OpenFlags, Stat, Whence};
use ffslab_rtems::yaffs2::{RamFlash, Yaffs2};
use ffslab_rtems::{dosfs, rfs};
use ffslab_sim::{Sim, SimConfig};
use std::collections::BTreeMap;

const MOUNT_POINT: &[u8] = b"/mnt";
/// Descriptors of the study's configuration.
const DESCRIPTORS: usize = 320;

enum Medium {
    Memory,
    Disk(DiskId),
    Nor(NorFlash),
    Ram(RamFlash),
}

/// What has been done, by the names of the measured cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineCounts {
    /// In the order of [`BdbufCounts::named`].
    pub cache_counts: [u64; 14],
    pub nor: NorCounts,
    /// What the block cache wrote of what the setup had left.
    pub of_setup_bytes: u64,
    /// Memory blocks that files hold now, tables included.
    pub memory_blocks: u64,
}

impl MachineCounts {
    /// What came after `before`, as far as it is not 0.
    pub fn since(&self, before: &MachineCounts) -> BTreeMap<&'static str, i64> {
        let names = BdbufCounts::default().named();
        let cache =
            names.iter().enumerate().map(|(i, (name, _))| (*name, self.cache_counts[i] - before.cache_counts[i]));
        let nor = self.nor - before.nor;
        let flash = [
            ("flash_read_ops", nor.reads),
            ("flash_read_bytes", nor.read_bytes),
            ("flash_write_ops", nor.programs),
            ("flash_write_bytes", nor.write_bytes),
            ("flash_erases", nor.erases),
        ];
        let of_setup = ("dev_write_bytes_of_setup", self.of_setup_bytes - before.of_setup_bytes);
        let memory = ("imfs_memfile_blocks", self.memory_blocks as i64 - before.memory_blocks as i64);
        let counted = cache.chain(flash).chain([of_setup]).map(|(name, count)| (name, count as i64));
        counted.chain([memory]).filter(|(_, count)| *count != 0).collect()
    }
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
        let sim = Sim::new(SimConfig::default());
        let image = match spec.fs.disk() {
            Some(disk) => Some(first_image(disk)?),
            None => None,
        };
        let (libio, disk) = boot(&sim, spec, image)?;
        let medium = match (&spec.fs, disk) {
            (RtemsFs::Jffs2 { erase_block_bytes, blocks, .. }, _) => {
                Medium::Nor(NorFlash::new(sim.clone(), *erase_block_bytes, *blocks))
            }
            (RtemsFs::Yaffs2 { flash_bytes }, _) => Medium::Ram(RamFlash::new(sim.clone(), *flash_bytes)?),
            (_, Some(disk)) => Medium::Disk(disk),
            (_, None) => Medium::Memory,
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

    pub fn is_mounted(&self) -> bool {
        self.mounted
    }

    /// Mounts; an empty medium gets a new file system before. `options`: those of rfs.
    ///
    /// Errors: mounted already, options that the file system does not have, what it says.
    pub fn mount(&mut self, options: &[String]) -> Result<(), String> {
        if self.mounted {
            return Err("it is mounted already: umount it first".to_string());
        }
        let (read_only, options): (Vec<&String>, Vec<&String>) = options.iter().partition(|option| *option == "ro");
        if !matches!(self.spec.fs, RtemsFs::Rfs { .. }) && !options.is_empty() {
            return Err(format!("option \"{}\": only rfs has options, and all have \"ro\"", options[0]));
        }
        let fs = self.open_fs(&options)?;
        self.libio.mount(fs, MOUNT_POINT, read_only.is_empty()).map_err(|error| error.to_string())?;
        self.mounted = true;
        Ok(())
    }

    fn open_fs(&mut self, options: &[&String]) -> Result<Box<dyn FileSystem>, String> {
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
                let text: Vec<&str> = options.iter().map(|option| option.as_str()).collect();
                let parsed = rfs::MountOptions::parse(&text.join(",")).map_err(|_| {
                    format!("options {text:?}: rfs has hold-bitmaps, no-local-cache and max-held-bufs=N")
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
            (RtemsFs::Jffs2 { compression, .. }, Medium::Nor(flash)) => {
                let mut fs = Jffs2::mount(flash.clone(), *compression).map_err(|error| error.to_string())?;
                fs.charge_mount(cache);
                Box::new(fs)
            }
            (_, Medium::Ram(flash)) => {
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
    pub fn umount(&mut self) -> Result<(), Errno> {
        self.libio.unmount(MOUNT_POINT)?;
        self.mounted = false;
        Ok(())
    }

    /// Power fails and comes back: memory is lost, the medium keeps what it holds.
    ///
    /// Errors: as [`Machine::new`].
    pub fn crash(&mut self) -> Result<(), String> {
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

    pub fn counters(&self) -> MachineCounts {
        let nor = match &self.medium {
            Medium::Nor(flash) => flash.counts(),
            _ => NorCounts::default(),
        };
        MachineCounts {
            cache_counts: self.cache_counts(),
            nor,
            of_setup_bytes: self.of_setup_bytes(),
            memory_blocks: self.libio.memory_blocks(),
        }
    }

    /// What the block device holds; `None`: there is none.
    pub fn image(&self) -> Option<Vec<u8>> {
        match self.medium {
            Medium::Disk(disk) => Some(self.libio.cache().device(disk).image().to_vec()),
            _ => None,
        }
    }

    pub fn libio(&mut self) -> &mut Libio {
        &mut self.libio
    }

    pub fn stat(&mut self, name: &[u8]) -> Result<Stat, Errno> {
        self.libio.stat(&below(name))
    }

    pub fn fstat_bytes(&mut self, fd: u32) -> Result<u64, Errno> {
        self.libio.fstat(fd as usize).map(|stat| stat.size_bytes)
    }
}

/// A name of an experiment as a path: "" is the mount point.
pub fn below(name: &[u8]) -> Vec<u8> {
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

impl Calls for Machine {
    fn now_ns(&self) -> u64 {
        self.sim.now_ns()
    }

    fn read_clock_ns(&mut self) -> u64 {
        self.libio.read_clock_ns()
    }

    fn sleep_ns(&mut self, duration_ns: u64) {
        self.libio.sleep_until(self.sim.now_ns() + duration_ns);
    }

    fn job_computes(&mut self) {
        self.libio.cache_mut().cpu_mut().job_computes();
    }

    /// There is neither O_SYNC nor O_TMPFILE.
    fn open(&mut self, path: &[u8], flags: ffslab_linux::OpenFlags, permissions: u32) -> Result<u32, Errno> {
        if flags.sync || flags.dsync || flags.unnamed {
            return Err(Errno::NotSup);
        }
        let flags = OpenFlags {
            read: flags.read,
            write: flags.write,
            create: flags.create,
            exclusive: flags.exclusive,
            truncate: flags.truncate,
            append: flags.append,
        };
        self.libio.open(&below(path), flags, permissions).map(|fd| fd as u32)
    }

    fn close(&mut self, fd: u32) -> Result<(), Errno> {
        self.libio.close(fd as usize)
    }

    fn unlink(&mut self, path: &[u8]) -> Result<(), Errno> {
        self.libio.unlink(&below(path))
    }

    fn mkdir(&mut self, path: &[u8], permissions: u32) -> Result<(), Errno> {
        self.libio.mkdir(&below(path), permissions)
    }

    fn file_bytes(&mut self, path: &[u8]) -> Result<u64, Errno> {
        self.stat(path).map(|stat| stat.size_bytes)
    }

    fn seek_to(&mut self, fd: u32, offset: u64) -> Result<(), Errno> {
        let offset = i64::try_from(offset).map_err(|_| Errno::Inval)?;
        self.libio.lseek(fd as usize, offset, Whence::Set).map(drop)
    }

    fn read(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno> {
        self.libio.read(fd as usize, into)
    }

    fn write(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno> {
        self.libio.write(fd as usize, data)
    }

    fn readv(&mut self, fd: u32, into: &mut [u8]) -> Result<usize, Errno> {
        self.libio.readv(fd as usize, &mut [into])
    }

    fn writev(&mut self, fd: u32, data: &[u8]) -> Result<usize, Errno> {
        self.libio.writev(fd as usize, &[data])
    }

    fn pread_discard(&mut self, fd: u32, at: u64, bytes: usize) -> Result<usize, Errno> {
        self.buffer.resize(bytes.max(self.buffer.len()), 0);
        self.libio.pread(fd as usize, &mut self.buffer[..bytes], at)
    }

    fn pwrite(&mut self, fd: u32, data: &[u8], at: u64) -> Result<usize, Errno> {
        self.libio.pwrite(fd as usize, data, at)
    }

    fn ftruncate(&mut self, fd: u32, bytes: u64) -> Result<(), Errno> {
        self.libio.ftruncate(fd as usize, bytes)
    }

    fn fsync(&mut self, fd: u32) -> Result<(), Errno> {
        self.libio.fsync(fd as usize)
    }

    fn fdatasync(&mut self, fd: u32) -> Result<(), Errno> {
        self.libio.fdatasync(fd as usize)
    }

    /// There is nobody to take the advice.
    fn advise(&mut self, _fd: u32, _offset: u64, _bytes: u64, _advice: Advice) -> Result<(), Errno> {
        Ok(())
    }
}
