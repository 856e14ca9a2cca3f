//! Volumes of RTEMS's block file systems, DOSFS (FAT) and RFS: mounted on a device that holds a copy, and walked.

use crate::recognise::Layout;
use crate::tree::room::{Names, Room};
use crate::tree::{Content, FileError, Tree, TreeEntry, TreeError, FILE_BYTES_MAX};
use ffslab_block::Device;
use ffslab_block::DeviceProfile;
use ffslab_fs::{Errno, FileKind};
use ffslab_rtems::bdbuf::{Bdbuf, BdbufConfig, DiskId};
use ffslab_rtems::dosfs::{BootSector, Dosfs};
use ffslab_rtems::imfs::{Imfs, ImfsOptions};
use ffslab_rtems::libio::{Libio, OpenFlags};
use ffslab_rtems::rfs::{self, Rfs};
use ffslab_rtems::Quirks;
use ffslab_sim::{Sim, SimConfig};
use std::collections::BTreeSet;

/// Block of the device: each FAT sector and RFS block is a multiple of it.
const MEDIA_BLOCK_BYTES: u32 = 512;
/// Larger blocks of RFS are not mounted here: RTEMS's cache has buffers of 4 KiB if nobody configures it.
const BUFFER_BYTES_MAX: u32 = 64 << 10;
/// The original reads a directory from its start for each entry.
const NAMES_MAX: usize = 16_384;
const DEPTH_MAX: usize = 64;
const MOUNT_POINT: &[u8] = b"/mnt";
/// Signature of a boot sector, at its end.
const BOOT_SIGNATURE: [u8; 2] = [0x55, 0xAA];
const BOOT_SIGNATURE_AT: usize = 510;

/// The superblock of a FAT volume of at most `bytes_max`, if the image begins with one.
pub fn fat(image: &[u8], bytes_max: u64) -> Option<BootSector> {
    let signed = image.get(BOOT_SIGNATURE_AT..BOOT_SIGNATURE_AT + 2)? == BOOT_SIGNATURE;
    BootSector::read(image, bytes_max).ok().filter(|_| signed)
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

/// An RTEMS system with the volume mounted.
pub struct Mounted {
    pub libio: Libio,
    pub disk: DiskId,
    /// Of FAT, in blocks of 512 B: what stands before is no data of files. 0: there is nothing such.
    pub first_data_block: u32,
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

/// Path in the system of a path below the root.
pub fn path_in_system(path: &[u8]) -> Vec<u8> {
    let mut full = MOUNT_POINT.to_vec();
    if !path.is_empty() {
        full.push(b'/');
        full.extend_from_slice(path);
    }
    full
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

impl Mounted {
    fn entry(&mut self, path: Vec<u8>, volume_bytes: u64, content: Content, room: &mut Room) -> TreeEntry {
        let full = path_in_system(&path);
        let stat = match self.libio.lstat(&full) {
            Ok(stat) => stat,
            Err(error) => {
                let mut entry = TreeEntry::new(path, 0, FileKind::File);
                entry.error = Some(error.to_string());
                return entry;
            }
        };
        let kind = FileKind::from_mode(stat.mode).unwrap_or(FileKind::File);
        let mut entry = TreeEntry::new(path, stat.ino, kind);
        entry.permissions = stat.mode & 0o7777;
        (entry.uid, entry.gid) = (u32::from(stat.uid), u32::from(stat.gid));
        // FAT knows no links and no link count.
        entry.links = stat.links.max(1);
        entry.size_bytes = stat.size_bytes;
        entry.modified_s = i64::from(stat.mtime_s);
        let data = match kind {
            // Neither file system has holes.
            FileKind::File if stat.size_bytes > volume_bytes.min(FILE_BYTES_MAX) => {
                Err(FileError::LargerThanVolume { size_bytes: stat.size_bytes, volume_bytes })
            }
            FileKind::File => {
                let taken = room.take_content(stat.size_bytes, content);
                taken.and_then(|()| self.content(&full, stat.size_bytes, content))
            }
            FileKind::Symlink => self.libio.readlink(&full).map_err(FileError::from),
            _ => Ok(Vec::new()),
        };
        match data {
            Ok(data) => entry.data = data,
            Err(error) => entry.error = Some(error.to_string()),
        }
        entry
    }

    fn content(&mut self, path: &[u8], size_bytes: u64, content: Content) -> Result<Vec<u8>, FileError> {
        let fd = self.libio.open(path, OpenFlags::READ, 0)?;
        let mut piece = vec![0; 32 << 10];
        let (mut data, mut at) = (Vec::new(), 0);
        let read = loop {
            match self.libio.read(fd, &mut piece) {
                Ok(0) if at < size_bytes => break Err(FileError::Short { offset: at }),
                Ok(0) => break Ok(()),
                Ok(count) => {
                    if content == Content::Keep {
                        data.extend_from_slice(&piece[..count]);
                    }
                    at += count as u64;
                }
                Err(errno) => break Err(FileError::Failed { errno, offset: Some(at), damage: None }),
            }
        };
        let closed = self.libio.close(fd).map_err(FileError::from);
        read.and(closed).map(|()| data)
    }

    /// Appends the names of a directory, last name first, because the caller takes from the end; what was left out.
    fn list(&mut self, path: &[u8], depth: usize, pending: &mut Vec<(Vec<u8>, usize)>, room: &mut Room) -> Vec<String> {
        let fd = match self.libio.open(&path_in_system(path), OpenFlags::READ, 0) {
            Ok(fd) => fd,
            Err(error) => return vec![error.to_string()],
        };
        let first = pending.len();
        let mut names = Names::new(room, path);
        let mut names_count = 0;
        let listed = loop {
            match self.libio.read_dir(fd) {
                Ok(None) => break Ok(()),
                Ok(Some(entry)) if entry.name == b"." || entry.name == b".." => {}
                Ok(Some(_)) if names_count == NAMES_MAX => {
                    break Err(format!("it holds more than {NAMES_MAX} names: the others are left out"));
                }
                Ok(Some(entry)) => {
                    names_count += 1;
                    pending.extend(names.follow(&entry.name).map(|full| (full, depth)));
                }
                Err(error) => break Err(format!("{error}: other names may be missing")),
            }
        };
        let closed = self.libio.close(fd).map_err(|error| error.to_string());
        pending[first..].sort_by(|a, b| b.cmp(a));
        let mut missing = names.left_out();
        missing.extend(listed.and(closed).err());
        missing
    }
}
