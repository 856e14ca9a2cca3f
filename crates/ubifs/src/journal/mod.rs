//! The journal: what is written goes there first, and a commit brings the index up to date.
//!
//! Follows `fs/ubifs/journal.c`, `log.c` and `io.c`. Here stand its parts; the modules below say what happens to them.

mod data;
mod log;
mod names;
mod wbuf;
mod xattr;

pub(crate) use names::{Exchange, NewEntry, Rename};

use crate::format::{align, HEADS, LOG_LNUM};
use crate::geometry::Geometry;
use crate::orphan::Orphans;
use ffslab_sim::Phase;
use std::collections::BTreeMap;

/// What is on its way to the index: the LEBs that the journal uses, what waits in its write buffers, and the inodes that
/// a replay must delete.
#[derive(Debug)]
pub(crate) struct Journal {
    pub log: Log,
    pub heads: [Head; HEADS],
    pub orphans: Orphans,
    /// How long data wait in a write buffer, and how much longer they may.
    pub wbuf_delay_ns: u64,
    pub wbuf_slack_ns: u64,
}

impl Journal {
    pub fn new(max_write: u32) -> Journal {
        Journal {
            log: Log::default(),
            heads: std::array::from_fn(|_| Head::new(max_write)),
            orphans: Orphans::default(),
            wbuf_delay_ns: 5_000_000_000,
            wbuf_slack_ns: 500_000_000,
        }
    }
}

/// A LEB that the journal uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bud {
    /// Offset in the LEB at which the nodes of the journal begin.
    pub start: u32,
    pub head: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    pub head_lnum: u32,
    pub head_offs: u32,
    pub tail_lnum: u32,
    /// Bytes of the log that are kept free for the next commit.
    pub min_bytes: i64,
    pub buds: BTreeMap<u32, Bud>,
    pub bud_bytes: i64,
    commit_bud_bytes: i64,
    /// Buds that the running commit makes superfluous: afterwards the index leads to all their valid nodes.
    old_buds: Vec<u32>,
    /// Journal head of each LEB of the main area, `HEADS` for none.
    head_of_leb: Vec<u8>,
}

impl Log {
    pub fn new(main_lebs: u32) -> Log {
        let head_of_leb = vec![HEADS as u8; main_lebs as usize];
        Log { head_lnum: LOG_LNUM, tail_lnum: LOG_LNUM, head_of_leb, ..Log::default() }
    }
}

/// A journal head: where it writes, and what waits in its buffer.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// LEB of the head; `None`: it has none yet.
    pub lnum: Option<u32>,
    /// Offset in the LEB at which the content of the buffer will be written.
    pub offs: u32,
    pub used: u32,
    /// Bytes from `offs` to the next boundary at which a write ends at most (`max_write`): the buffer is written when
    /// it holds as many.
    size: u32,
    bytes: Vec<u8>,
    /// Inodes that have nodes in the buffer.
    inodes: Vec<u32>,
    /// The latest change of what is in the buffer.
    changed_in: Phase,
    /// When the buffer is to be written by the background thread.
    pub timer_at_ns: Option<u64>,
    /// LEBs that this head has used since the last commit, in order.
    pub buds: Vec<u32>,
}

impl Head {
    pub fn new(max_write: u32) -> Head {
        Head { size: max_write, bytes: vec![0; max_write as usize], ..Head::default() }
    }

    fn avail(&self) -> u32 {
        self.size - self.used
    }

    /// Space left in the LEB.
    pub fn space(&self, geo: &Geometry) -> u32 {
        match self.lnum {
            Some(_) => geo.leb_bytes - self.offs - self.used,
            None => 0,
        }
    }

    /// Where the next node goes.
    pub fn next_offs(&self) -> u32 {
        self.offs + self.used
    }

    pub fn holds(&self, ino: u32) -> bool {
        self.inodes.contains(&ino)
    }

    /// Notes that the buffer holds a node of this inode.
    pub fn note_inode(&mut self, ino: u32) {
        if self.used > 0 {
            self.inodes.push(ino);
        }
    }

    fn set_size(&mut self, geo: &Geometry) {
        self.size = if geo.leb_bytes - self.offs < geo.max_write {
            geo.leb_bytes - self.offs
        } else if !self.offs.is_multiple_of(geo.max_write) {
            align(self.offs, geo.max_write) - self.offs
        } else {
            geo.max_write
        };
        self.used = 0;
        self.inodes.clear();
    }

    /// Moves the head to this place (`ubifs_wbuf_seek_nolock`).
    pub fn seek(&mut self, geo: &Geometry, lnum: u32, offs: u32) {
        self.lnum = Some(lnum);
        self.offs = offs;
        self.set_size(geo);
    }
}
