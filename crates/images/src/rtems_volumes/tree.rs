//! Volumes of RTEMS's block file systems, DOSFS (FAT) and RFS: mounted on a device that holds a copy, and walked.

use super::mounted::{Mounted, MOUNT_POINT};
use crate::format::Layout;
use crate::tree::room::Room;
use crate::tree::{Content, Tree, TreeError};
use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_fs::{Errno, FileKind};
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig};
use ffslab_rtems::dosfs::{BootSector, Dosfs};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::Libio;
use ffslab_rtems::rfs::{self, Rfs};
use ffslab_rtems::Quirks;
use ffslab_sim::{Sim, SimConfig};
use std::collections::BTreeSet;
use std::ops::Range;

/// Block of the device: each FAT sector and RFS block is a multiple of it.
const MEDIA_BLOCK_BYTES: u32 = 512;
/// Larger blocks of RFS are not mounted here: RTEMS's cache has buffers of 4 KiB if nobody configures it.
const BUFFER_BYTES_MAX: u32 = 64 << 10;
const DEPTH_MAX: usize = 64;
/// Signature of a boot sector, at its end.
const BOOT_SIGNATURE: [u8; 2] = [0x55, 0xAA];
const BOOT_SIGNATURE_AT: usize = 510;
/// Of the byte that says on what kind of medium the volume stands.
const MEDIUM_AT: usize = 21;

/// The superblock of a FAT volume of at most `bytes_max`, if the image begins with one.
pub fn fat(image: &[u8], bytes_max: u64) -> Option<BootSector> {
    let signed = image.get(BOOT_SIGNATURE_AT..BOOT_SIGNATURE_AT + 2)? == BOOT_SIGNATURE;
    BootSector::read(image, bytes_max).ok().filter(|_| signed)
}

/// Where volumes of FAT begin that are not alone, behind something else or each other, and how many bytes each takes.
pub fn fat_places(image: &[u8]) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let signs = image.windows(BOOT_SIGNATURE.len()).enumerate().skip(BOOT_SIGNATURE_AT);
    for (sign_at, _) in signs.filter(|(_, here)| *here == BOOT_SIGNATURE) {
        let at = sign_at - BOOT_SIGNATURE_AT;
        if places.last().is_some_and(|before| at < before.end) {
            continue;
        }
        let volume = &image[at..];
        // Code may look like a boot sector; the first entry of the table repeats the kind of medium.
        let jumps = matches!(volume[0], 0xEB | 0xE9);
        let Some(boot) = fat(volume, volume.len() as u64).filter(|_| jumps) else { continue };
        let sector = u64::from(boot.sector_bytes);
        let table_at = (u64::from(boot.reserved_sectors_count) * sector) as usize;
        if volume.get(table_at..).is_some_and(|table| table.starts_with(&[volume[MEDIUM_AT], 0xFF])) {
            places.push(at..at + (u64::from(boot.sectors_count) * sector) as usize);
        }
    }
    let is_alone = places.len() < 2 && places.first().is_some_and(|place| place.start == 0);
    if is_alone {
        places.clear();
    }
    places
}

/// The superblock of an RFS volume of at most `bytes_max`, if the image begins with one.
pub fn rfs(image: &[u8], bytes_max: u64) -> Option<rfs::Layout> {
    rfs::Layout::read(image, bytes_max).ok()
}

/// The kinds of volumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volume {
    Fat,
    Rfs,
}

/// Mounts a copy of the volume on a device of this profile.
///
/// Errors: blocks that are too large, what RTEMS says of it.
pub fn mount(image: &[u8], volume: Volume, layout: &Layout, profile: DeviceProfile) -> Result<Mounted, TreeError> {
    let length = image.len() as u64;
    let (block_bytes, first_data_block) = match volume {
        Volume::Fat => (0, fat(image, length).map_or(0, |boot| boot.data_start() * (boot.sector_bytes / 512))),
        Volume::Rfs => (rfs(image, length).map_or(0, |superblock| superblock.block_bytes), 0),
    };
    let title = layout.fs.title();
    if block_bytes > BUFFER_BYTES_MAX {
        return Err(TreeError::BlocksOfVolume { block_bytes, most_bytes: BUFFER_BYTES_MAX });
    }
    let buffer_bytes = block_bytes.next_power_of_two().max(4096);
    let config =
        BdbufConfig { buffer_max_bytes: buffer_bytes, cache_memory_bytes: 16 * buffer_bytes, ..BdbufConfig::default() };
    let mut cache = Bdbuf::new(Sim::new(SimConfig::default()), config)?;
    let disk = cache.add_disk(Device::with_image(profile, MEDIA_BLOCK_BYTES, image.to_vec()));
    let named = |errno: Errno| TreeError::RefusedByRtems { errno, title };
    let root = Imfs::new(ImfsOptions::default());
    let mut libio = Libio::new(cache, Box::new(root), 8);
    libio.mkdir(MOUNT_POINT, 0o777).map_err(named)?;
    // The bugs of 2018 damage volumes; what is read here is the same without them.
    let quirks = Quirks::Fixed;
    let cache = libio.cache_mut();
    let mounted: Box<dyn ffslab_rtems::libio::FileSystem> = match volume {
        Volume::Fat => Box::new(Dosfs::mount(cache, disk, quirks).map_err(named)?),
        Volume::Rfs => {
            let options = rfs::MountOptions { quirks, ..rfs::MountOptions::default() };
            Box::new(Rfs::mount(cache, disk, &options).map_err(named)?)
        }
    };
    libio.mount(mounted, MOUNT_POINT, true).map_err(named)?;
    Ok(Mounted { libio, disk, first_data_block })
}

pub fn read(image: &[u8], volume: Volume, layout: &Layout, content: Content) -> Result<Tree, TreeError> {
    let mut mounted = mount(image, volume, layout, DeviceProfile::instant())?;
    let mut tree = Tree::default();
    let mut pending = vec![(Vec::new(), 0)];
    let mut seen = BTreeSet::new();
    let mut room = Room::of(image.len() as u64);
    while let Some((path, depth)) = pending.pop() {
        let mut entry = mounted.entry(path, image.len() as u64, content, &mut room);
        if entry.kind == FileKind::Directory && entry.error.is_none() {
            // A damaged volume can hold a directory below itself.
            if !seen.insert(entry.ino) || depth == DEPTH_MAX {
                entry.error = Some("this directory has another name already".to_string());
            } else {
                entry.missing = mounted.list(&entry.path, depth + 1, &mut pending, &mut room);
            }
        }
        tree.entries.push(entry);
    }
    Ok(tree)
}
