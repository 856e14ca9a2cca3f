//! The state of a mounted file system, below the inodes (`ubifs_info`).

use crate::causes;
use crate::commit::{Commit, CommitState, UncommittedChanges};
use crate::compress::Compressor;
use crate::format::HEADS;
use crate::geometry::Geometry;
use crate::leb::Lebs;
use crate::log::Log;
use crate::master::Master;
use crate::orphan::Orphans;
use crate::recovery::Sizes;
use crate::remount::Deferred;
use crate::sb::Superblock;
use crate::space::Space;
use crate::tasks::Thread;
use crate::tnc::{NodeAt, Tnc};
use crate::wbuf::Head;
use ffslab_sim::Sim;
use ffslab_ubi::Volume;

pub(crate) struct Core {
    /// The flash: what stands in the LEBs, and whether it may be changed.
    pub lebs: Lebs,
    pub sb: Superblock,
    pub master: Master,
    pub tnc: Tnc,
    pub space: Space,
    pub log: Log,
    pub heads: [Head; HEADS],
    pub orphans: Orphans,
    pub sizes: Sizes,
    pub thread: Thread,
    pub highest_ino: u32,
    pub cmt_no: u64,
    pub commit_state: CommitState,
    pub uncommitted: UncommittedChanges,
    /// The commit that is going on.
    pub commit: Option<Commit>,
    /// The repairs that a read-only mount has found necessary, for a later remount read-write.
    pub deferred: Deferred,
    /// Whether a mount, or a remount from read-only to read-write, is going on.
    pub mounting: bool,
    pub replaying: bool,
    pub need_recovery: bool,
    pub compressor: Compressor,
    /// How long data wait in a write buffer.
    pub wbuf_delay_ns: u64,
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
            log: Log::default(),
            heads: std::array::from_fn(|_| Head::new(geo.max_write)),
            orphans: Orphans::default(),
            sizes: Sizes::default(),
            thread: Thread::default(),
            highest_ino: crate::format::FIRST_INO,
            cmt_no: 0,
            commit_state: CommitState::default(),
            uncommitted: UncommittedChanges::default(),
            commit: None,
            deferred: Deferred::default(),
            mounting: true,
            replaying: false,
            need_recovery: false,
            compressor: Compressor::default(),
            wbuf_delay_ns: 5_000_000_000,
            index_buffer: Vec::new(),
            entry_buffer: Vec::new(),
            data_buffer: Vec::new(),
        }
    }
}
