//! The state of a mounted file system, below the inodes (`ubifs_info`), in parts, each with its owner.
//!
//! A method belongs to the part that it changes and takes the others that it needs as arguments. Only what needs all of
//! them is a method of [`Core`].

use crate::causes;
use crate::commits::Commits;
use crate::compress::Compressor;
use crate::error::Res;
use crate::geometry::Geometry;
use crate::journal::Journal;
use crate::key::Key;
use crate::leb::Lebs;
use crate::master::Master;
use crate::mount_state::MountState;
use crate::node::NodeAt;
use crate::options::KernelRules;
use crate::sb::Superblock;
use crate::space::Space;
use crate::tnc::Index;
use ffslab_sim::Sim;
use ffslab_ubi::Volume;

pub(crate) struct Core {
    /// Where kernels differ.
    pub rules: KernelRules,
    /// See [`crate::Options::fs_debug`].
    pub fs_debug: bool,
    /// The flash: what stands in the LEBs, and whether it may be changed.
    pub lebs: Lebs,
    pub sb: Superblock,
    pub master: Master,
    pub space: Space,
    pub journal: Journal,
    pub index: Index,
    pub commits: Commits,
    pub highest_ino: u32,
    pub mount: MountState,
    pub compressor: Compressor,
    // Working memory.
    pub data_buffer: Vec<u8>,
}

impl Core {
    pub fn new(sim: Sim, volume: Volume, geo: Geometry, rules: KernelRules) -> Core {
        causes::register(&sim);
        Core {
            rules,
            fs_debug: false,
            lebs: Lebs::new(sim, volume, geo),
            sb: Superblock::default(),
            master: Master::default(),
            space: Space::default(),
            journal: Journal::new(geo.max_write),
            index: Index::new(NodeAt::default()),
            commits: Commits::default(),
            highest_ino: crate::format::FIRST_INO,
            mount: MountState::default(),
            compressor: Compressor::default(),
            data_buffer: Vec::new(),
        }
    }

    // ---- the index, where all parts are at hand ----------------------------------------------------------------

    /// See [`Index::locate`].
    pub fn locate(&mut self, key: Key, node: &mut Vec<u8>) -> Res<NodeAt> {
        self.index.locate(&self.lebs, &self.journal, key, node)
    }

    /// See [`Index::lookup_name`].
    pub fn lookup_name(&mut self, key: Key, name: &[u8], node: &mut Vec<u8>) -> Res<()> {
        self.index.lookup_name(&self.lebs, &self.journal, key, name, node)
    }

    /// See [`Index::known_name`].
    pub fn known_name(&mut self, key: Key, name: &[u8], node: &mut Vec<u8>) -> Res<()> {
        self.index.known_name(&self.lebs, &self.journal, key, name, node)
    }

    /// See [`Index::next_entry`].
    pub fn next_entry(&mut self, key: Key, name: &[u8], node: &mut Vec<u8>) -> Res<()> {
        self.index.next_entry(&self.lebs, &self.journal, key, name, node)
    }

    /// See [`Index::add`].
    pub fn tnc_add(&mut self, key: Key, at: NodeAt) -> Res<()> {
        self.index.add(&self.lebs, &mut self.space, key, at)
    }

    /// See [`Index::add_name`].
    pub fn tnc_add_name(&mut self, key: Key, at: NodeAt, name: &[u8]) -> Res<()> {
        self.index.add_name(&self.lebs, &mut self.space, &self.journal, key, at, name)
    }

    /// See [`Index::remove_name`].
    pub fn tnc_remove_name(&mut self, key: Key, name: &[u8]) -> Res<()> {
        self.index.remove_name(&self.lebs, &mut self.space, &self.journal, key, name)
    }

    /// See [`Index::remove_range`].
    pub fn tnc_remove_range(&mut self, from: Key, to: Key) -> Res<()> {
        self.index.remove_range(&self.lebs, &mut self.space, from, to)
    }

    /// See [`Index::remove_inode`].
    pub fn tnc_remove_ino(&mut self, ino: u32) -> Res<()> {
        self.index.remove_inode(&self.lebs, &mut self.space, &self.journal, ino)
    }
}
