//! How RTEMS mounts DOSFS and RFS on a block device.

use crate::error::MachineError;
use crate::file_systems::on_rtems::{no_options, Given, OnDisk, OnRtems, RtemsFs};
use crate::rtems_keys::RtemsKeys;
use ffslab_fs::Errno;
use ffslab_rtems::bdbuf::{Bdbuf, DiskId};
use ffslab_rtems::libio::FileSystem;
use ffslab_rtems::{dosfs, rfs, Quirks};
use ffslab_system::{OptionError, SystemError};
use std::sync::Arc;

/// The FAT driver of RTEMS.
pub struct DosfsDriver;

impl OnRtems for DosfsDriver {
    fn name(&self) -> &'static str {
        "dosfs"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["device", "policy", "device_KiB", "media_block_B", "image", "quirks", "cluster_B"]
    }

    fn settings(&self, keys: &mut RtemsKeys, given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        let quirks = keys.quirks()?;
        let disk = keys.disk(given.base_dir)?;
        let (cluster_bytes, media) = (keys.cluster_bytes.unwrap_or(0), disk.media_block_bytes);
        let sectors_per_cluster_count = cluster_bytes / media;
        let is_cluster = sectors_per_cluster_count.is_power_of_two() && cluster_bytes.is_multiple_of(media);
        if cluster_bytes > 0 && !is_cluster {
            let needed = format!("a cluster has 1, 2, 4 ... sectors of {media} B");
            return Err(MachineError::number("cluster_B", cluster_bytes, needed));
        }
        Ok(RtemsFs::Disk(disk, Arc::new(DosfsSettings { sectors_per_cluster_count, quirks })))
    }
}

#[derive(Debug)]
struct DosfsSettings {
    /// 0: the formatter chooses.
    sectors_per_cluster_count: u32,
    quirks: Quirks,
}

impl OnDisk for DosfsSettings {
    fn format(&self, cache: &mut Bdbuf, disk: DiskId) -> Result<(), Errno> {
        let &DosfsSettings { sectors_per_cluster_count, quirks } = self;
        let options = dosfs::FormatOptions { sectors_per_cluster_count, quirks, ..dosfs::FormatOptions::default() };
        dosfs::format(cache, disk, &options)
    }

    fn mount(&self, cache: &mut Bdbuf, disk: DiskId, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        no_options(DosfsDriver.name(), options)?;
        let mounted = dosfs::Dosfs::mount(cache, disk, self.quirks);
        Ok(Box::new(mounted.map_err(|error| SystemError::unusable(format!("no FAT that can be mounted: {error}")))?))
    }
}

/// RFS.
pub struct RfsDriver;

impl OnRtems for RfsDriver {
    fn name(&self) -> &'static str {
        "rfs"
    }

    fn own_keys(&self) -> &'static [&'static str] {
        &["device", "policy", "device_KiB", "media_block_B", "image", "quirks", "fs_block_B"]
    }

    fn settings(&self, keys: &mut RtemsKeys, given: &Given<'_>) -> Result<RtemsFs, MachineError> {
        let quirks = keys.quirks()?;
        let disk = keys.disk(given.base_dir)?;
        let (media, most) = (disk.media_block_bytes, given.bdbuf.buffer_max_bytes);
        let block_bytes = *keys.fs_block_bytes.get_or_insert(media);
        if block_bytes == 0 || !block_bytes.is_multiple_of(media) {
            let needed = format!("rfs has multiples of the medium's {media} B");
            return Err(MachineError::number("fs_block_B", block_bytes, needed));
        }
        if block_bytes > most {
            let (value, most) = (block_bytes.into(), most.into());
            return Err(MachineError::Exceeds { key: "fs_block_B", value, limit: "bdbuf_buffer_max_B", most });
        }
        Ok(RtemsFs::Disk(disk, Arc::new(RfsSettings { block_bytes, quirks })))
    }
}

#[derive(Debug)]
struct RfsSettings {
    block_bytes: u32,
    quirks: Quirks,
}

impl OnDisk for RfsSettings {
    fn format(&self, cache: &mut Bdbuf, disk: DiskId) -> Result<(), Errno> {
        let options = rfs::FormatOptions { block_bytes: self.block_bytes, ..rfs::FormatOptions::default() };
        rfs::format(cache, disk, &options).map(drop)
    }

    fn mount(&self, cache: &mut Bdbuf, disk: DiskId, options: &[&str]) -> Result<Box<dyn FileSystem>, SystemError> {
        let parsed = rfs::MountOptions::parse(&options.join(",")).map_err(|_| OptionError::OneOf {
            options: options.iter().map(ToString::to_string).collect(),
            fs: RfsDriver.name(),
            known: "hold-bitmaps, no-local-cache and max-held-bufs=N",
        })?;
        let parsed = rfs::MountOptions { quirks: self.quirks, ..parsed };
        let mounted = rfs::Rfs::mount(cache, disk, &parsed);
        Ok(Box::new(mounted.map_err(|error| SystemError::unusable(format!("no rfs that can be mounted: {error}")))?))
    }
}
