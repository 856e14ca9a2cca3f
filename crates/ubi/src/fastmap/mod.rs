//! The fastmap: which block holds which LEB, written to the flash, so that an attach need not look at all blocks.
//!
//! Follows `drivers/mtd/ubi/fastmap.c`, `fastmap-wl.c`, `wl.c`, `eba.c` and `build.c` of Linux 6.1.192. Data are written only to blocks
//! of a pool, which the fastmap names. So an attach that reads it need only look at the pools to know all that was written since. When
//! a pool is used up, another fastmap is written ([`write`]); blocks that were unmapped and erased since are found when they are read.
//!
//! The kernel worker that fills the pool for moves is a turn of UBI's own thread here.

mod attach;
pub mod format;
mod moves;
mod pools;
pub mod probe;
mod proof;
mod write;

use crate::options::{Layout, UbiOptions};
use format::{blocks_needed, pool_pebs, ANCHORS_WITHIN_PEBS};

/// A block of the fastmap. `torture`: its data had bit flips when it was read.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub peb_number: u32,
    pub torture: bool,
}

/// Free blocks that are handed out one after the other.
#[derive(Debug, Default)]
pub struct Pool {
    pub pebs: Vec<u32>,
    used: usize,
    pub max_pebs: usize,
}

impl Pool {
    fn of(max: u32) -> Pool {
        Pool { max_pebs: max as usize, ..Pool::default() }
    }

    fn is_used_up(&self) -> bool {
        self.used == self.pebs.len()
    }

    fn rest(&self) -> &[u32] {
        &self.pebs[self.used..]
    }

    fn next(&self) -> Option<u32> {
        self.rest().first().copied()
    }

    fn take(&mut self) -> Option<u32> {
        let peb = self.next()?;
        self.used += 1;
        Some(peb)
    }
}

/// What UBI holds in memory of its fastmap.
#[derive(Debug)]
pub struct Fastmap {
    /// None is written, because none was found and the kernel was not told to begin with it, or because the partition is too small
    /// (`fm_disabled`).
    pub disabled: bool,
    /// The blocks of the one on the flash, the anchor first.
    pub written: Option<Vec<Block>>,
    pub pool: Pool,
    /// Free blocks to which data move.
    pub wl_pool: Pool,
    /// The block for the next anchor.
    pub anchor_number: Option<u32>,
    /// Data must move away from a block in which an anchor can stand.
    produces_anchor: bool,
    /// A kernel worker is to fill the pools (`fm_work_scheduled`).
    update_wanted: bool,
    /// So many blocks one takes.
    pub blocks: u32,
    /// The partition was attached by it, so a LEB may be gone of which nobody knows (`fast_attach`).
    pub attached_by_it: bool,
}

impl Fastmap {
    /// Of a kernel that has it; `None`: it has not.
    pub fn of(options: &UbiOptions, layout: &Layout) -> Option<Box<Fastmap>> {
        let pool = pool_pebs(layout.pebs);
        options.fastmap.then(|| {
            Box::new(Fastmap {
                disabled: !options.fm_autoconvert || layout.pebs <= ANCHORS_WITHIN_PEBS,
                written: None,
                pool: Pool::of(pool),
                wl_pool: Pool::of(pool / 2),
                anchor_number: None,
                produces_anchor: false,
                update_wanted: false,
                blocks: blocks_needed(layout.pebs, layout.leb_bytes),
                attached_by_it: false,
            })
        })
    }
}
