//! DOSFS: FAT12, FAT16 and FAT32 with long names.
//!
//! Follows `cpukit/libfs/src/dosfs` of RTEMS cf811a4eb2. [`Quirks`] says whether the bugs of that age are there that
//! damage a volume; see the README.

mod boot;
mod dirs;
mod files;
mod format;
mod fs;
mod names;
mod nodes;
mod volume;

pub use boot::{BootSector, FatType};
pub use format::{format, FormatOptions};

use crate::bdbuf::{Bdbuf, DiskId};
use crate::Quirks;
use ffslab_fs::Errno;
use files::{DirPos, File};
use volume::Volume;

/// The root directory is opened first and stays open.
const ROOT: u32 = 0;

/// A mounted FAT volume.
pub struct Dosfs {
    volume: Volume,
    files: Vec<Option<File>>,
    /// Buffer for the piece of a directory that is being read.
    piece: Vec<u8>,
}

impl Dosfs {
    /// Mounts. EINVAL when it is no FAT volume.
    pub fn mount(cache: &mut Bdbuf, disk: DiskId, quirks: Quirks) -> Result<Dosfs, Errno> {
        let volume = Volume::open(cache, disk, quirks == Quirks::Fixed)?;
        let mut fs = Dosfs { volume, files: Vec::new(), piece: Vec::new() };
        let root = fs.file_open(DirPos::ROOT);
        let opened = fs.with_file(root, |volume, file| {
            file.is_directory = true;
            file.size_limit = nodes::DIRECTORY_BYTES_MAX;
            file.cluster = volume.boot.root_cluster_number;
            file.reset_walk(None);
            volume.measure(cache, file)
        });
        if let Err(error) = opened {
            let _ = fs.file_close(cache, root);
            let _ = fs.volume.sync(cache);
            return Err(error);
        }
        Ok(fs)
    }

    pub fn boot_sector(&self) -> BootSector {
        self.volume.boot
    }
}
