//! What only RTEMS mounts: volumes of block devices, FAT, which its DOSFS driver reads, and RFS; and IMFS in memory.

mod memory;
mod mounts;
mod scan;
pub mod tree;

use super::images::{Evidence, ImageFormat, ImageFs};
use super::Descriptor;
use crate::inspect::Scanned;
use crate::recognise::{Given, Layout};
use crate::tree::{Content, Tree};
use ffslab_rtems::profile::DeviceProfile;
use tree::{Mounted, Volume};

pub static FAT: Descriptor = Descriptor {
    name: "fat",
    title: "FAT",
    about: "FAT12, FAT16 or FAT32 on a block device, as RTEMS's DOSFS mounts it",
    mountable: None,
    on_rtems: Some(&mounts::DosfsDriver),
    image: Some(&FatImages),
};

pub static RFS: Descriptor = Descriptor {
    name: "rfs",
    title: "RFS",
    about: "RTEMS's own file system on a block device",
    mountable: None,
    on_rtems: Some(&mounts::RfsDriver),
    image: Some(&RfsImages),
};

pub static IMFS: Descriptor = Descriptor {
    name: "imfs",
    title: "IMFS",
    about: "files in the memory of RTEMS, without a medium",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: false }),
    image: None,
};

pub static MINI_IMFS: Descriptor = Descriptor {
    name: "mini-imfs",
    title: "mini-IMFS",
    about: "IMFS as a small RTEMS is configured, with fewer calls",
    mountable: None,
    on_rtems: Some(&memory::ImfsDriver { mini: true }),
    image: None,
};

/// Areas for the picture of the space: at most this many.
const AREAS_MAX: usize = 1024;

fn area_bytes(image: &[u8], block_bytes: u32) -> u32 {
    ((image.len() / AREAS_MAX).next_power_of_two().max(4096) as u32).max(block_bytes)
}

/// The message about an image that begins as a larger volume does.
fn is_cut_off(image: &[u8], title: &str, volume_bytes: u64) -> Option<String> {
    let here = image.len();
    let text = || format!("the image is cut off: it has {here} of the {volume_bytes} B of its {title} volume");
    (volume_bytes > here as u64).then(text)
}

struct FatImages;

impl ImageFormat for FatImages {
    fn sign(&self) -> &'static str {
        "FAT boot sector"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        let boot = tree::fat(image, image.len() as u64)?;
        let sector = boot.sector_bytes;
        let layout = Layout::new(ImageFs::of(&FAT), sector, 0, area_bytes(image, boot.cluster_bytes()), image);
        Some(layout.because(format!("the boot sector is one of FAT, with sectors of {sector} B")))
    }

    fn hint(&self, image: &[u8], _given: &Given) -> Option<String> {
        let boot = tree::fat(image, u64::MAX)?;
        is_cut_off(image, FAT.title, u64::from(boot.sectors_count) * u64::from(boot.sector_bytes))
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], _layout: &Layout, content: Content) -> Result<Tree, String> {
        tree::read(image, Volume::Fat, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        if let Some(boot) = tree::fat(image, image.len() as u64) {
            scan::fat(image, &boot, layout, scanned);
        }
    }

    fn on_device(&self, image: &[u8], profile: DeviceProfile) -> Result<Mounted, String> {
        tree::mount(image, Volume::Fat, profile)
    }
}

struct RfsImages;

impl ImageFormat for RfsImages {
    fn sign(&self) -> &'static str {
        "RFS superblock"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        let block_bytes = tree::rfs(image, image.len() as u64)?.block_bytes;
        let layout = Layout::new(ImageFs::of(&RFS), 512, 0, area_bytes(image, block_bytes), image);
        Some(layout.because(format!("the superblock is one of RFS, with blocks of {block_bytes} B")))
    }

    fn hint(&self, image: &[u8], _given: &Given) -> Option<String> {
        let superblock = tree::rfs(image, u64::MAX)?;
        is_cut_off(image, RFS.title, u64::from(superblock.blocks) * u64::from(superblock.block_bytes))
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], _layout: &Layout, content: Content) -> Result<Tree, String> {
        tree::read(image, Volume::Rfs, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        if let Some(superblock) = tree::rfs(image, image.len() as u64) {
            scan::rfs(image, &superblock, layout, scanned);
        }
    }

    fn on_device(&self, image: &[u8], profile: DeviceProfile) -> Result<Mounted, String> {
        tree::mount(image, Volume::Rfs, profile)
    }
}
