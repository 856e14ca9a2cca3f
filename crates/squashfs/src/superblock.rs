//! The superblock of squashfs, and where it says that things stand.

use crate::compressor::Compressor;
use crate::little_endian::{u16_at, u32_at, u64_at};
use crate::METADATA_BYTES;

pub const MAGIC: &[u8; 4] = b"hsqs";
pub const SUPERBLOCK_BYTES: usize = 96;
/// The only version since Linux 2.6.29.
const VERSION: (u16, u16) = (4, 0);
const OLD_VERSIONS: std::ops::RangeInclusive<u16> = 1..=3;
/// Blocks of data have 4 KiB to 1 MiB.
const BLOCK_LOGS: std::ops::RangeInclusive<u16> = 12..=20;
const FLAG_NO_FRAGMENTS: u16 = 0x0010;
const FLAG_COMPRESSOR_OPTIONS: u16 = 0x0400;
/// An entry of the table of fragments.
pub const FRAGMENT_BYTES: usize = 16;
/// Where a table would stand that is not there.
const NOWHERE: u64 = u64::MAX;

/// What it says.
#[derive(Clone, Copy, Debug)]
pub struct Superblock {
    pub inodes_count: u32,
    pub made_s: u32,
    pub block_bytes: u32,
    pub fragments_count: u32,
    pub compressor: Compressor,
    pub flags: u16,
    pub ids_count: u16,
    /// Metadata block in the inode table, and the place in it once expanded.
    pub root_offset: (u64, u16),
    pub used_bytes: u64,
    pub ids_offset: u64,
    pub inodes_at: u64,
    pub directories_offset: u64,
    /// `None`: no file ends in a fragment.
    pub fragments_at: Option<u64>,
    /// The table of extended attributes; `None`: there are none.
    pub xattrs_offset: Option<u64>,
    /// The table by which inodes are found by their numbers, for NFS; `None`: there is none.
    pub exports_offset: Option<u64>,
}

impl Superblock {
    /// The superblock at the start of `image`, if what it says can be.
    pub fn of(image: &[u8]) -> Option<Superblock> {
        if !image.starts_with(MAGIC) || image.len() < SUPERBLOCK_BYTES {
            return None;
        }
        let version = (u16_at(image, 28)?, u16_at(image, 30)?);
        let (block_bytes, block_log) = (u32_at(image, 12)?, u16_at(image, 22)?);
        if version != VERSION || !BLOCK_LOGS.contains(&block_log) || block_bytes != 1 << block_log {
            return None;
        }
        let flags = u16_at(image, 24)?;
        let root = u64_at(image, 32)?;
        let fragments_at = u64_at(image, 80)?;
        let has_fragments = fragments_at != NOWHERE && flags & FLAG_NO_FRAGMENTS == 0;
        let found = Superblock {
            inodes_count: u32_at(image, 4)?,
            made_s: u32_at(image, 8)?,
            block_bytes,
            fragments_count: u32_at(image, 16)?,
            compressor: Compressor::of(u16_at(image, 20)?),
            flags,
            ids_count: u16_at(image, 26)?,
            root_offset: (root >> 16, root as u16),
            used_bytes: u64_at(image, 40)?,
            ids_offset: u64_at(image, 48)?,
            inodes_at: u64_at(image, 64)?,
            directories_offset: u64_at(image, 72)?,
            fragments_at: has_fragments.then_some(fragments_at),
            xattrs_offset: Some(u64_at(image, 56)?).filter(|&at| at != NOWHERE),
            exports_offset: Some(u64_at(image, 88)?).filter(|&at| at != NOWHERE),
        };
        found.is_possible().then_some(found)
    }

    /// Where the list ends that says where the metadata blocks of fragments stand. `None`: behind the end of the image.
    pub fn fragments_list_end(&self) -> Option<u64> {
        let per_block = (METADATA_BYTES / FRAGMENT_BYTES) as u64;
        let bytes = u64::from(self.fragments_count).div_ceil(per_block) * 8;
        self.fragments_at?.checked_add(bytes).filter(|&end| end <= self.used_bytes)
    }

    /// Whether options of the compressor stand behind the superblock, as those of lz4 always do.
    pub fn has_compressor_options(&self) -> bool {
        self.flags & FLAG_COMPRESSOR_OPTIONS != 0
    }

    /// The tables stand behind the data, in their order, and the one of owners before the end.
    fn is_possible(&self) -> bool {
        let Superblock { used_bytes, ids_offset, inodes_at, directories_offset, .. } = *self;
        SUPERBLOCK_BYTES as u64 <= inodes_at
            && inodes_at < directories_offset
            && directories_offset < used_bytes
            && ids_offset < used_bytes
            && self.fragments_at.is_none_or(|at| at < used_bytes)
    }
}

/// The version of squashfs at the start of an image that is not read here: those before Linux 2.6.29 had both byte orders.
pub fn other_version(image: &[u8]) -> Option<(u16, u16)> {
    let version = match image.first_chunk()? {
        MAGIC => (u16_at(image, 28)?, u16_at(image, 30)?),
        b"sqsh" => (u16_at(image, 28)?.swap_bytes(), u16_at(image, 30)?.swap_bytes()),
        _ => return None,
    };
    OLD_VERSIONS.contains(&version.0).then_some(version)
}
