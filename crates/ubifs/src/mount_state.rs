//! What a mount finds out about the file system, and what it could not mend yet.

use crate::key::{Key, DATA_KEY, INO_KEY};
use std::collections::BTreeMap;

/// What a mount finds out about the file system, and what it could not mend yet.
#[derive(Debug)]
pub(crate) struct MountState {
    /// A mount, or a remount from read-only to read-write, is going on.
    pub mounting: bool,
    /// The file system was not unmounted: what a power cut left behind is mended.
    pub need_recovery: bool,
    /// Sizes of inodes in the journal, until the files are mended.
    pub sizes: Sizes,
    /// The repairs that a read-only mount has found necessary, for a later remount read-write.
    pub deferred: Deferred,
}

impl Default for MountState {
    fn default() -> MountState {
        MountState { mounting: true, need_recovery: false, sizes: Sizes::default(), deferred: Deferred::default() }
    }
}

/// The repairs that a read-only mount found necessary and could not write.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// The master node, if its copies differed (`rcvrd_mst_node`).
    pub master: Option<Vec<u8>>,
    /// LEBs whose end is damaged, and where it begins (`unclean_leb_list`).
    pub unclean_lebs: Vec<(u32, u32)>,
    /// Sizes of inodes whose data reach further than their node says.
    pub sizes: BTreeMap<u32, u64>,
}

impl Deferred {
    pub fn is_empty(&self) -> bool {
        self.master.is_none() && self.unclean_lebs.is_empty() && self.sizes.is_empty()
    }
}

/// What the journal says about the size of an inode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub inode_bytes: u64,
    pub data_bytes: u64,
    pub exists: bool,
}

/// Sizes of inodes in the journal.
#[derive(Debug, Default)]
pub(crate) struct Sizes(pub BTreeMap<u32, Size>);

impl Sizes {
    /// Remembers what a node of the journal says about its inode's size (`ubifs_recover_size_accum`).
    pub fn note(&mut self, key: Key, deletion: bool, bytes: u64) {
        match key.kind() {
            INO_KEY if deletion => {
                self.0.remove(&key.ino);
            }
            INO_KEY => {
                let size = self.0.entry(key.ino).or_default();
                (size.inode_bytes, size.exists) = (bytes, true);
            }
            DATA_KEY => {
                let size = self.0.entry(key.ino).or_default();
                size.data_bytes = size.data_bytes.max(bytes);
            }
            _ => {
                if let Some(size) = self.0.get_mut(&key.ino) {
                    size.data_bytes = bytes;
                }
            }
        }
    }
}
