//! # jffs2: the journalling flash file system, version 2
//!
//! **Role.** A log of nodes on raw flash: inode nodes with up to a page of data, directory entries. Memory holds where
//! each node stands; a mount finds out by reading the medium. Byte-real: images move to and from Linux.
//!
//! **Follows.** Linux 6.1 `fs/jffs2` (the C file that each module follows is named at its top). What the medium can do
//! decides: on NAND a write buffer of one page and clean markers in the out-of-band area, on NOR nodes written at once,
//! clean markers in the block and superseded nodes marked. The few differences of Linux 2.6.37 and of a caller without a
//! page cache, such as RTEMS, are [`Options`].
//!
//! **Leaves out.** Data flash and UBI volumes as media; ACLs; the reserved pool for root. See this crate's README for more.

mod allocate;
mod append;
mod background;
mod blocks;
mod build;
mod candidate;
pub mod causes;
mod compress;
mod damage;
mod direct;
mod erase;
pub mod faults;
mod flash;
mod flush;
mod format;
mod fragment_list;
mod fragments;
mod fs;
mod gc;
mod gc_move;
mod inode;
mod inodes;
mod ledger;
mod levels;
mod lot;
mod medium;
mod namespace;
mod nodes;
mod options;
pub mod probe;
mod read;
mod readinode;
mod refs;
mod reserve;
mod room;
mod scan;
mod scan_block;
mod scan_node;
mod space;
mod store;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;
mod users;
mod victims;
mod wakeups;
mod wbuf;
mod write;
mod xattr;
mod xattr_build;
mod xattr_store;
mod xattr_table;

pub use compress::{Compression, CompressionWork};
pub use damage::{Damage, Flaw, Place};
pub use format::{Endian, RawDirent, RawInode};
pub use options::{Options, SyncManner, WakeDuringPass, WbufTimer};
pub use victims::victim_table;

use ffslab_fs::{Errno, PAGE_BYTES};
use ffslab_mtd::Mtd;
use ffslab_policy::Victims;
use rustc_hash::FxHashMap;
use thiserror::Error;

use background::Background;
use compress::Compressor;
use inode::Inode;
use lot::Lot;
use medium::Manner;
use store::Store;
use users::Users;

/// Erase blocks of the smallest partition (`jffs2_do_fill_super`, `fs/jffs2/fs.c`).
const BLOCKS_MIN: u32 = 5;

/// Why a medium could not be mounted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MountError {
    #[error("JFFS2 needs at least {needed} erase blocks, the partition has {blocks}")]
    TooFewBlocks { blocks: u32, needed: u32 },
    #[error("JFFS2 addresses at most 4 GiB, the partition has {size_bytes} bytes")]
    TooLarge { size_bytes: u64 },
    #[error("JFFS2 needs at least 8 free out-of-band bytes per page, the chip has {free_bytes}")]
    NoRoomForCleanMarker { free_bytes: u32 },
    #[error("block {block} holds data, but no block a JFFS2 node: refusing to erase it (erase the partition first)")]
    NotJffs2 { block: u32 },
    #[error("node of an incompatible kind {node_type:#06x} (block {block}, offset {offset:#x})")]
    Incompatible { node_type: u16, block: u32, offset: u32 },
    #[error("the medium contradicts itself: {0}")]
    Damaged(Damage),
    #[error("the medium cannot be read: {0}")]
    Medium(Errno),
}

impl From<Errno> for MountError {
    fn from(error: Errno) -> Self {
        MountError::Medium(error)
    }
}

/// How much of the partition is in which state, in bytes. The sums of all blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceReport {
    pub used_bytes: u32,
    pub dirty_bytes: u32,
    pub wasted_bytes: u32,
    pub unchecked_bytes: u32,
    pub free_bytes: u32,
    pub erasing_bytes: u32,
    pub bad_bytes: u32,
    pub free_blocks: u32,
}

/// A mounted JFFS2.
pub struct Jffs2 {
    pub(crate) store: Store,
    pub(crate) inodes: FxHashMap<u32, Box<Inode>>,
    pub(crate) compressor: Compressor,
    pub(crate) background: Background,
    /// Inodes whose nodes garbage collection still has to check after the mount, and the position in that list.
    pub(crate) to_check: Vec<u32>,
    pub(crate) checked: usize,
    pub(crate) gc_page: Vec<u8>,
    pub(crate) lot: Lot,
    /// Who chooses the block to collect in place of the lot.
    pub(crate) victims: Option<Victims>,
    pub(crate) read_only: bool,
    /// Number of users of each inode, if the caller counts them itself (RTEMS) instead of having a page cache.
    pub(crate) users: Option<Users>,
    unmounted: bool,
}

impl Jffs2 {
    /// From now on `victims` choose the blocks to collect, in place of the kernel's lot: see [`victim_table`].
    pub fn collects_by(&mut self, victims: Victims) {
        self.victims = Some(victims);
    }

    /// Mounts the partition. An erased one becomes an empty file system: its blocks are erased once more and marked
    /// clean, in the background if there are tasks.
    pub fn mount(mtd: Mtd, options: Options) -> Result<Jffs2, MountError> {
        let blocks = mtd.blocks();
        if blocks < BLOCKS_MIN {
            return Err(MountError::TooFewBlocks { blocks, needed: BLOCKS_MIN });
        }
        if mtd.size_bytes() > u64::from(u32::MAX) {
            return Err(MountError::TooLarge { size_bytes: mtd.size_bytes() });
        }
        // RTEMS's port has no summaries.
        let summary = options.summary && !options.direct;
        let manner = Manner::of(&mtd, summary);
        if manner.marker_in_oob && mtd.oob_free_bytes() < 8 {
            return Err(MountError::NoRoomForCleanMarker { free_bytes: mtd.oob_free_bytes() });
        }
        // RTEMS's port has no `xattr.c` (`cpukit/libfs/src/jffs2/src`).
        let xattrs = options.xattrs && !options.direct;
        let mut fs = Jffs2 {
            store: Store::new(mtd, Options { summary, xattrs, ..options }),
            inodes: FxHashMap::default(),
            compressor: Compressor::new(options.compression, options.lzo),
            background: Background::default(),
            to_check: Vec::new(),
            checked: 0,
            gc_page: vec![0; PAGE_BYTES],
            lot: Lot::default(),
            victims: None,
            read_only: options.read_only,
            users: None,
            unmounted: false,
        };
        fs.build()?;
        fs.store.flash.manner.marks_obsolete = manner.marks_obsolete && !options.read_only;
        fs.load(1).map_err(|error| match fs.damage() {
            Some(damage) if error == Errno::Io => MountError::Damaged(damage),
            _ => MountError::Medium(error),
        })?;
        fs.users = options.direct.then(Users::default);
        if options.direct {
            fs.take_inode(1)?;
        }
        match (options.read_only, options.direct) {
            (true, _) => {}
            (false, true) => fs.store.eraser.erase_all(&mut fs.store.space, &fs.store.flash)?,
            (false, false) => fs.start_tasks(),
        }
        Ok(fs)
    }

    /// What compressors and decompressors have done since the mount.
    pub fn compression_work(&self) -> CompressionWork {
        self.compressor.work + self.store.reader.expanded
    }

    /// The contradiction on the medium that was met last, whether a system call failed for it or the background found it.
    pub fn damage(&self) -> Option<Damage> {
        self.store.reader.damage
    }

    /// Present use of the space.
    pub fn space(&self) -> SpaceReport {
        let t = self.store.space.blocks.totals();
        SpaceReport {
            used_bytes: t.used_bytes(),
            dirty_bytes: t.dirty_bytes(),
            wasted_bytes: t.wasted_bytes(),
            unchecked_bytes: t.unchecked_bytes(),
            free_bytes: t.free_bytes(),
            erasing_bytes: t.erasing_bytes(),
            bad_bytes: t.bad_bytes(),
            free_blocks: self.store.space.free_blocks(),
        }
    }
}

impl Drop for Jffs2 {
    fn drop(&mut self) {
        if !self.unmounted && !self.read_only && self.users.is_none() {
            self.stop_tasks();
        }
    }
}
