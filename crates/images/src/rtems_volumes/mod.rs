//! Images of volumes that RTEMS mounts: FAT, which its DOSFS driver reads, and RFS.

pub(crate) mod mounted;
mod scan;
mod tree;

pub use mounted::{path_in_system, Mounted};
pub(crate) use tree::fat;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::scan::Scanned;
use crate::tree::{Content, Tree, TreeError};
use ffslab_block::DeviceProfile;
use std::ops::Range;
use tree::Volume;

/// Areas for the picture of the space: at most this many.
const AREAS_MAX: usize = 1024;

fn area_bytes(image: &[u8], block_bytes: u32) -> u32 {
    ((image.len() / AREAS_MAX).next_power_of_two().max(4096) as u32).max(block_bytes)
}

/// The message about an image that begins as a larger volume does.
fn is_cut_off(image: &[u8], title: &str, volume_bytes: u64) -> Option<String> {
    let here = image.len();
    let text = || {
        format!(
            "the image is cut off: it has {here} of the {volume_bytes} B of its {title} volume: a copy that \
             truncate -s {volume_bytes} makes as long as it was can be read, with zeros in place of what is missing"
        )
    };
    (volume_bytes > here as u64).then(text)
}

/// How FAT is recognised, read and explained.
pub struct FatImages;

impl ImageFormat for FatImages {
    fn sign(&self) -> &'static str {
        "FAT boot sector"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        let boot = tree::fat(image, image.len() as u64)?;
        let sector = boot.sector_bytes;
        let layout = Layout::new(fs, sector, 0, area_bytes(image, boot.cluster_bytes()), image);
        let layout = layout.unchecked("FAT has no check sums: a changed bit of a file, a name or a time does not show");
        Some(layout.because(format!("the boot sector is one of FAT, with sectors of {sector} B")))
    }

    fn hint(&self, fs: ImageFs, image: &[u8], _given: &Given) -> Option<String> {
        let boot = tree::fat(image, u64::MAX)?;
        is_cut_off(image, fs.title(), u64::from(boot.sectors_count) * u64::from(boot.sector_bytes))
    }

    fn begins_at(&self, image: &[u8], layout: Option<&Layout>) -> Option<usize> {
        if layout.is_some() {
            return None;
        }
        self.places(image).first().map(|place| place.start)
    }

    fn places(&self, image: &[u8]) -> Vec<Range<usize>> {
        tree::fat_places(image)
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        tree::read(image, Volume::Fat, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        if let Some(boot) = tree::fat(image, image.len() as u64) {
            scan::fat(image, &boot, layout, scanned);
        }
    }

    fn on_device(&self, image: &[u8], layout: &Layout, profile: DeviceProfile) -> Result<Mounted, TreeError> {
        tree::mount(image, Volume::Fat, layout, profile)
    }
}

/// How RFS is recognised, read and explained.
pub struct RfsImages;

impl ImageFormat for RfsImages {
    fn sign(&self) -> &'static str {
        "RFS superblock"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Superblock]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], _given: &Given, _evidence: Evidence) -> Option<Layout> {
        let block_bytes = tree::rfs(image, image.len() as u64)?.block_bytes;
        let layout = Layout::new(fs, 512, 0, area_bytes(image, block_bytes), image);
        let layout =
            layout.unchecked("RFS has no check sums: a changed bit of a file, a name or an attribute does not show");
        Some(layout.because(format!("the superblock is one of RFS, with blocks of {block_bytes} B")))
    }

    fn hint(&self, fs: ImageFs, image: &[u8], _given: &Given) -> Option<String> {
        let superblock = tree::rfs(image, u64::MAX)?;
        is_cut_off(image, fs.title(), u64::from(superblock.blocks) * u64::from(superblock.block_bytes))
    }

    fn is_volume(&self) -> bool {
        true
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        tree::read(image, Volume::Rfs, layout, content)
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        if let Some(superblock) = tree::rfs(image, image.len() as u64) {
            scan::rfs(image, &superblock, layout, scanned);
        }
    }

    fn on_device(&self, image: &[u8], layout: &Layout, profile: DeviceProfile) -> Result<Mounted, TreeError> {
        tree::mount(image, Volume::Rfs, layout, profile)
    }
}
