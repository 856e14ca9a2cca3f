//! # yaffs2: yet another flash file system, version 2
//!
//! **Role.** Files as chunks of a page each, with tags beside every chunk; deleting costs nothing but a header; memory
//! holds the whole structure. Byte-real: images move to and from real systems.
//!
//! **Follows.** The YAFFS2 core and its Linux port of June 2012 (commit c08faae) and of June 2026 (474b3ac); each module
//! names its C file. The versions that boards run differ in what counts, see [`Generation`].
//!
//! **Leaves out.** YAFFS1; extended attributes as an interface (they are kept); chunk groups (narrow tnodes); Unicode names;
//! media of the other byte order; read-only mounts. See this crate's README for more.

mod audit;
mod blocks;
mod cache;
mod cached;
pub mod causes;
mod checkpoint;
mod checkpoint_size;
mod checkpoint_stream;
mod chunks;
mod damage;
mod device;
mod direct;
pub mod faults;
mod file;
mod file_chunks;
mod fs;
mod gc;
mod gc_block;
mod gc_state;
mod header;
mod headers;
mod inodes;
mod medium;
mod mount;
mod names;
mod namespace;
mod new_chunks;
mod objects;
mod options;
pub mod probe;
mod scan;
mod summary;
mod summary_chunks;
mod tags;
mod tags_ecc;
mod tasks;
#[cfg(test)]
mod tests;
mod tnodes;
mod update;
mod victims;

pub use damage::{Damage, Flaw, Place};
pub use header::{Attributes, Header};
pub use objects::{DELETED_ID, ROOT_ID, UNLINKED_ID};
pub use options::{Background, Generation, Options};
pub use victims::victim_table;

use ffslab_fs::Errno;
use ffslab_mtd::Mtd;
use thiserror::Error;

use device::Device;
use inodes::Inodes;
use tasks::Schedule;

/// Why a medium could not be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error("YAFFS2 needs more than {needed} erase blocks here ({reserved_blocks} are reserved), the partition has {blocks}")]
    TooFewBlocks { blocks: u32, needed: u32, reserved_blocks: u32 },
    #[error("YAFFS2 asks its device for bad blocks and out-of-band areas, in-band tags or not; this medium has none: take JFFS2 or UBIFS")]
    NotNand,
    #[error("YAFFS2 needs pages of 1024 bytes or more, or in-band tags; the chip has pages of {page_bytes} bytes")]
    PagesTooSmall { page_bytes: u32 },
    #[error(
        "YAFFS2's tags need {needed} free out-of-band bytes per page, the chip has {free_bytes}: use in-band tags"
    )]
    NoRoomForTags { free_bytes: u32, needed: u32 },
    #[error("YAFFS2 counts at most 511 pages per erase block, the chip has {pages_per_block}")]
    BlocksTooLarge { pages_per_block: u32 },
    #[error("the medium cannot be read: {0}")]
    Medium(Errno),
}

impl From<Errno> for MountError {
    fn from(error: Errno) -> Self {
        MountError::Medium(error)
    }
}

/// How much of the partition is in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceReport {
    pub erased_blocks: u32,
    pub bad_blocks: u32,
    pub checkpoint_blocks: u32,
    /// Pages that hold nothing in use, erased or not.
    pub free_pages: u32,
    /// Pages that programs may still fill.
    pub available_pages: u32,
}

/// A mounted YAFFS2.
pub struct Yaffs2 {
    pub(crate) device: Device,
    pub(crate) schedule: Schedule,
    /// Inodes that the system above has in memory.
    pub(crate) inodes: Inodes,
    unmounted: bool,
}

impl Yaffs2 {
    /// Mounts the partition. An erased one is an empty file system.
    pub fn mount(mtd: Mtd, options: Options) -> Result<Yaffs2, MountError> {
        check(&mtd, &options)?;
        let device = Device::new(mtd, options);
        let mut fs = Yaffs2 { device, schedule: Schedule::default(), inodes: Inodes::default(), unmounted: false };
        fs.device.load()?;
        if !options.read_only {
            fs.start_threads();
        }
        Ok(fs)
    }

    /// The contradiction on the medium that was met last: why a checkpoint was refused, or what is wrong with an object.
    pub fn damage(&self) -> Option<Damage> {
        self.device.damage
    }

    /// Present use of the space.
    pub fn space(&self) -> SpaceReport {
        let blocks = &self.device.chunks.blocks;
        let bad = blocks.infos().iter().filter(|info| info.state == blocks::BlockState::Dead);
        SpaceReport {
            erased_blocks: blocks.erased_blocks().max(0) as u32,
            bad_blocks: bad.count() as u32,
            checkpoint_blocks: self.device.chunks.checkpoint.blocks,
            free_pages: blocks.free_chunks().max(0) as u32,
            available_pages: self.device.free_chunks_for_programs() as u32,
        }
    }
}

impl Drop for Yaffs2 {
    fn drop(&mut self) {
        if !self.unmounted && !self.device.chunks.options.read_only {
            self.stop_threads();
        }
    }
}

/// Refuses what `yaffs_guts_initialise` and the port refuse.
fn check(mtd: &Mtd, options: &Options) -> Result<(), MountError> {
    let (blocks, reserved_blocks) = (mtd.blocks(), options.reserved_blocks);
    let needed = reserved_blocks.max(2) + 3;
    if blocks <= needed {
        return Err(MountError::TooFewBlocks { blocks, needed, reserved_blocks });
    }
    let pages_per_block = mtd.pages_per_block();
    // `yaffs_internal_read_super` of the Linux port.
    if !mtd.capabilities().has_bad_blocks {
        return Err(MountError::NotNand);
    }
    if pages_per_block > 511 {
        return Err(MountError::BlocksTooLarge { pages_per_block });
    }
    let page_bytes = mtd.page_bytes();
    if options.inband_tags {
        // The object header must fit beside the tags.
        return if page_bytes < 1024 { Err(MountError::PagesTooSmall { page_bytes }) } else { Ok(()) };
    }
    if page_bytes < 1024 {
        return Err(MountError::PagesTooSmall { page_bytes });
    }
    let needed = if options.tags_ecc { medium::OOB_BYTES } else { tags::TAGS_BYTES } as u32;
    let free_bytes = mtd.oob_free_bytes();
    if free_bytes < needed {
        return Err(MountError::NoRoomForTags { free_bytes, needed });
    }
    Ok(())
}
