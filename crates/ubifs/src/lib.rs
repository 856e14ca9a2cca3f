//! # ubifs: the file system on UBI volumes
//!
//! **Role.** A journalling file system with an index on flash: a wandering B+-tree that leads from inode, name hash and
//! block number to nodes. What is written goes to a journal first; a commit brings the index up to date. Writes are
//! delayed in the page cache above, and a budget makes sure that there will be room for them. Byte-real: images move to
//! and from Linux.
//!
//! **Follows.** Linux 6.1 `fs/ubifs` (the C file that each module follows is named at its top), format version 5.
//!
//! **Leaves out.** Authentication and encryption.
//! A commit runs to its end in one turn, so nothing changes while it writes. See this crate's README for more.

mod budget;
mod bulk_pages;
mod bulk_read;
pub mod causes;
mod check;
mod commit;
mod commits;
mod compress;
mod core;
mod error;
pub mod faults;
mod file;
mod find;
mod format;
mod fs;
mod gc;
mod geometry;
mod inode;
mod inode_flags;
mod journal;
mod key;
mod leb;
mod look;
mod lprops;
mod lpt;
mod master;
mod mkfs;
mod mount;
mod mount_state;
mod namespace;
mod node;
mod options;
mod orphan;
pub mod probe;
mod recovery;
mod remount;
mod rename;
mod replay;
mod room;
mod sb;
mod scan;
pub mod shipped;
mod shrinker;
mod space;
mod tasks;
mod tnc;
mod victims;
mod xattr;

pub use compress::Compression;
pub use error::{Damage, MountError};
pub use ffslab_lzo::Release as LzoRelease;
pub use format::LEBS_MIN;
pub use mkfs::formatted_bytes;
pub use options::{KernelRules, Options};
pub use victims::victim_table;

use crate::core::Core;
use budget::Growth;
use ffslab_ubi::{Ubi, Volume};
use inode::Inode;
use rustc_hash::FxHashMap;

/// How the main area is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceReport {
    pub main_lebs: u32,
    pub empty_lebs: u32,
    pub index_lebs: u32,
    pub free_bytes: u64,
    pub dirty_bytes: u64,
    pub used_bytes: u64,
    /// Part of the free and dirty bytes: pieces too small to hold any node.
    pub dead_bytes: u64,
    /// Part of the free and dirty bytes: pieces that may turn out to be too small for the nodes to come.
    pub dark_bytes: u64,
    /// Nodes of the index, as the next commit will leave them.
    pub index_bytes: u64,
}

/// The budget of a write between `write_begin` and `write_end`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BegunWrite {
    ino: u32,
    index: u64,
    hole: bool,
    growth: Growth,
}

/// A mounted UBIFS.
pub struct Ubifs {
    pub(crate) core: Core,
    ubi: Ubi,
    pub(crate) inodes: FxHashMap<u32, Box<Inode>>,
    /// The write that is going on between `write_begin` and `write_end`.
    pub(crate) begun: Option<BegunWrite>,
    pub(crate) entry: Vec<u8>,
    pub(crate) bulk_read: bool,
    pub(crate) bulk: bulk_read::Bulk,
    pub(crate) compression: u16,
    pub(crate) cookie: u64,
    /// Flags that every inode has because of the mount (`SB_SYNCHRONOUS`, `SB_DIRSYNC`).
    pub(crate) mount_flags: u32,
    unmounted: bool,
    detaches: bool,
}

impl Ubifs {
    /// Makes UBI detach when this file system is dropped, whether it is mounted or not: for owners that attach UBI for
    /// one mount only.
    pub fn detach_at_end(&mut self) {
        self.detaches = true;
    }

    /// Mounts a volume of `ubi`. An empty one gets a file system first, whose root directory dates from `now_s`, seconds
    /// since 1970.
    pub fn mount(ubi: &Ubi, volume: Volume, options: Options, now_s: u64) -> Result<Ubifs, MountError> {
        let core = Core::mount(ubi, volume, &options, now_s)?;
        let compression = match options.compression {
            Compression::OfSuperblock => core.sb.default_compression,
            named => named.code(),
        };
        let mut fs = Ubifs {
            core,
            ubi: ubi.clone(),
            inodes: FxHashMap::default(),
            begun: None,
            entry: Vec::new(),
            bulk_read: options.bulk_read,
            bulk: bulk_read::Bulk::default(),
            compression,
            cookie: options.seed,
            mount_flags: 0,
            unmounted: false,
            detaches: false,
        };
        let _why = fs.core.lebs.sim.clone().because(&causes::MOUNT_SCAN);
        fs.load_inode(format::ROOT_INO)?;
        Ok(fs)
    }

    /// Present use of the space.
    pub fn space(&self) -> SpaceReport {
        let stats = &self.core.space.lpt.stats;
        SpaceReport {
            main_lebs: self.core.lebs.geo.main_lebs,
            empty_lebs: stats.empty_lebs as u32,
            index_lebs: stats.idx_lebs as u32,
            free_bytes: stats.total_free as u64,
            dirty_bytes: stats.total_dirty as u64,
            used_bytes: stats.total_used as u64,
            dead_bytes: stats.total_dead as u64,
            dark_bytes: stats.total_dark as u64,
            index_bytes: self.core.index.calc_idx_bytes as u64,
        }
    }
}

impl Drop for Ubifs {
    fn drop(&mut self) {
        if !self.unmounted {
            self.core.commits.stop_thread(&self.core.lebs);
        }
        match (self.detaches, self.unmounted) {
            (true, true) => self.ubi.detach(),
            (true, false) => self.ubi.vanish(),
            (false, _) => {}
        }
    }
}
