//! The state of a mounted file system, below the inodes (`ubifs_info`).

use crate::causes;
use crate::commit::Commits;
use crate::compress::Compressor;
use crate::geometry::Geometry;
use crate::journal::Journal;
use crate::leb::Lebs;
use crate::master::Master;
use crate::mount::MountState;
use crate::sb::Superblock;
use crate::space::Space;
use crate::tnc::{NodeAt, Tnc};
use ffslab_sim::Sim;
use ffslab_ubi::Volume;

pub(crate) struct Core {
    /// The flash: what stands in the LEBs, and whether it may be changed.
    pub lebs: Lebs,
    pub sb: Superblock,
    pub master: Master,
    pub tnc: Tnc,
    pub space: Space,
    pub journal: Journal,
    pub commits: Commits,
    pub highest_ino: u32,
    pub mount: MountState,
    pub replaying: bool,
    pub compressor: Compressor,
    // Working memory.
    pub index_buffer: Vec<u8>,
    pub entry_buffer: Vec<u8>,
    pub data_buffer: Vec<u8>,
}

impl Core {
    pub fn new(sim: Sim, volume: Volume, geo: Geometry) -> Core {
        causes::register(&sim);
        Core {
            lebs: Lebs::new(sim, volume, geo),
            sb: Superblock::default(),
            master: Master::default(),
            tnc: Tnc::new(NodeAt::default()),
            space: Space::default(),
            journal: Journal::new(geo.max_write),
            commits: Commits::default(),
            highest_ino: crate::format::FIRST_INO,
            mount: MountState::default(),
            replaying: false,
            compressor: Compressor::default(),
            index_buffer: Vec::new(),
            entry_buffer: Vec::new(),
            data_buffer: Vec::new(),
        }
    }
}
