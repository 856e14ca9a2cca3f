//! A system with one device and one mounted file system.
#![allow(dead_code)]

use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_fs::Errno;
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, DiskId};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::{FileSystem, Libio, OpenFlags};
use ffslab_rtems::{dosfs, rfs, Quirks};
use ffslab_sim::{Sim, SimConfig};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fs {
    Imfs,
    MiniImfs,
    /// Block size.
    Rfs(u32),
    /// Sectors per cluster; 0: the formatter chooses.
    Dosfs(u32),
}

pub struct System {
    pub fs: Fs,
    pub quirks: Quirks,
    pub libio: Libio,
    pub disk: DiskId,
}

pub fn config() -> BdbufConfig {
    BdbufConfig { cache_memory_bytes: 32 << 10, ..BdbufConfig::default() }
}

fn root(cache: Bdbuf, fs: Fs, disk: DiskId) -> Libio {
    let mut imfs = Imfs::new(ImfsOptions { mini: fs == Fs::MiniImfs, ..ImfsOptions::default() });
    imfs.add_device(&cache, b"dev", b"rda", disk).unwrap();
    let mut libio = Libio::new(cache, Box::new(imfs), 32);
    libio.mkdir(b"/mnt", 0o777).unwrap();
    libio
}

impl System {
    /// A device with this image; nothing is mounted.
    pub fn with_image(fs: Fs, quirks: Quirks, image: Vec<u8>) -> System {
        System::with_device(fs, quirks, Device::with_image(DeviceProfile::instant(), 512, image), config())
    }

    pub fn with_device(fs: Fs, quirks: Quirks, device: Device, config: BdbufConfig) -> System {
        let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), config).unwrap();
        let disk = cache.add_disk(device);
        System { fs, quirks, libio: root(cache, fs, disk), disk }
    }

    /// Formatted and mounted.
    pub fn new(fs: Fs, quirks: Quirks, disk_bytes: usize) -> System {
        let mut system = System::with_image(fs, quirks, vec![0; disk_bytes]);
        system.format().unwrap();
        system.mount().unwrap();
        system
    }

    pub fn format(&mut self) -> Result<(), Errno> {
        let cache = self.libio.cache_mut();
        match self.fs {
            Fs::Imfs | Fs::MiniImfs => Ok(()),
            Fs::Rfs(block_bytes) => {
                let options = rfs::FormatOptions { block_bytes, initialise_inodes: true, ..Default::default() };
                rfs::format(cache, self.disk, &options).map(|_| ())
            }
            Fs::Dosfs(sectors_per_cluster_count) => {
                let options =
                    dosfs::FormatOptions { sectors_per_cluster_count, quirks: self.quirks, ..Default::default() };
                dosfs::format(cache, self.disk, &options)
            }
        }
    }

    pub fn mount(&mut self) -> Result<(), Errno> {
        let cache = self.libio.cache_mut();
        let fs: Box<dyn FileSystem> = match self.fs {
            Fs::Imfs | Fs::MiniImfs => return Ok(()),
            Fs::Rfs(_) => {
                let options = rfs::MountOptions { quirks: self.quirks, ..Default::default() };
                Box::new(rfs::Rfs::mount(cache, self.disk, &options)?)
            }
            Fs::Dosfs(_) => Box::new(dosfs::Dosfs::mount(cache, self.disk, self.quirks)?),
        };
        self.libio.mount(fs, b"/mnt", true)
    }

    pub fn remount(&mut self) {
        if !matches!(self.fs, Fs::Imfs | Fs::MiniImfs) {
            self.libio.unmount(b"/mnt").unwrap();
            self.mount().unwrap();
        }
    }

    /// The device's bytes after an unmount.
    pub fn into_image(mut self) -> Vec<u8> {
        self.libio.unmount(b"/mnt").unwrap();
        let disk = self.disk;
        self.libio.cache_mut().syncdev(disk).unwrap();
        self.libio.cache().device(disk).image().to_vec()
    }

    pub fn write_file(&mut self, path: &str, data: &[u8]) -> Result<(), Errno> {
        let flags = OpenFlags { truncate: true, ..OpenFlags::CREATE };
        let fd = self.libio.open(path.as_bytes(), flags, 0o644)?;
        let mut done = 0;
        let written = loop {
            if done == data.len() {
                break Ok(());
            }
            match self.libio.write(fd, &data[done..]) {
                Ok(count) => done += count,
                Err(error) => break Err(error),
            }
        };
        let closed = self.libio.close(fd);
        written.and(closed)
    }

    pub fn read_file(&mut self, path: &str) -> Result<Vec<u8>, Errno> {
        let fd = self.libio.open(path.as_bytes(), OpenFlags::READ, 0)?;
        let mut data = Vec::new();
        let mut buffer = [0; 777];
        let read = loop {
            match self.libio.read(fd, &mut buffer) {
                Ok(0) => break Ok(()),
                Ok(count) => data.extend_from_slice(&buffer[..count]),
                Err(error) => break Err(error),
            }
        };
        self.libio.close(fd)?;
        read.map(|()| data)
    }

    /// Names in a directory without "." and "..", sorted.
    pub fn list(&mut self, path: &str) -> Result<Vec<String>, Errno> {
        let fd = self.libio.open(path.as_bytes(), OpenFlags::READ, 0)?;
        let mut names = Vec::new();
        while let Some(entry) = self.libio.read_dir(fd)? {
            if entry.name != b"." && entry.name != b".." {
                names.push(String::from_utf8(entry.name).unwrap());
            }
        }
        self.libio.close(fd)?;
        names.sort();
        Ok(names)
    }
}
