//! The medium as littlefs sees it: blocks that are read, programmed and erased, each operation with its cause.

use crate::causes::BY_NUMBER;
use ffslab_foreign::guard::progress;
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Reason;
use std::cell::Cell;

/// `LFS_ERR_IO`.
pub(crate) const IO: i32 = -5;
/// `LFS_ERR_CORRUPT`: the block is to be given up.
pub(crate) const CORRUPT: i32 = -84;

/// Calls of the functions that a program gives littlefs, and their bytes: what an emulated device would count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub reads: u64,
    pub read_bytes: u64,
    pub programs: u64,
    pub programmed_bytes: u64,
    pub erases: u64,
}

/// A partition for littlefs.
pub(crate) struct Device {
    pub mtd: Mtd,
    pub block_bytes: u32,
    counts: Cell<Counts>,
    failure: Cell<Option<MtdError>>,
}

impl Device {
    pub fn new(mtd: Mtd, block_bytes: u32) -> Device {
        Device { mtd, block_bytes, counts: Cell::default(), failure: Cell::default() }
    }

    pub fn counts(&self) -> Counts {
        self.counts.get()
    }

    /// What the medium said last, and forgets it.
    pub fn take_failure(&self) -> Option<MtdError> {
        self.failure.take()
    }

    fn count(&self, add: impl FnOnce(&mut Counts)) {
        progress();
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
    }

    fn at(&self, block: u32, off: u32) -> u64 {
        u64::from(block) * u64::from(self.block_bytes) + u64::from(off)
    }

    /// What the port tells littlefs. A bad block, or one that fails, is to be given up.
    fn answer(&self, done: Result<(), MtdError>) -> i32 {
        let Err(error) = done else { return 0 };
        self.failure.set(Some(error));
        match error {
            MtdError::ProgramFailed | MtdError::EraseFailed | MtdError::BadBlock | MtdError::Uncorrectable => CORRUPT,
            _ => IO,
        }
    }

    pub fn read(&self, cause: u32, (block, off): (u32, u32), into: &mut [u8]) -> i32 {
        self.count(|counts| {
            counts.reads += 1;
            counts.read_bytes += into.len() as u64;
        });
        let _why = self.mtd.sim().because(reason(cause));
        self.answer(self.mtd.read(self.at(block, off), into).map(drop))
    }

    pub fn program(&self, cause: u32, (block, off): (u32, u32), data: &[u8]) -> i32 {
        self.count(|counts| {
            counts.programs += 1;
            counts.programmed_bytes += data.len() as u64;
        });
        let _why = self.mtd.sim().because(reason(cause));
        let at = self.at(block, off);
        if self.mtd.is_bad(at) {
            return self.answer(Err(MtdError::BadBlock));
        }
        self.answer(self.mtd.write(at, data))
    }

    pub fn erase(&self, cause: u32, block: u32) -> i32 {
        self.count(|counts| counts.erases += 1);
        let _why = self.mtd.sim().because(reason(cause));
        let erase_block_bytes = self.mtd.erase_block_bytes();
        let start = self.at(block, 0);
        let starts =
            (0..self.block_bytes / erase_block_bytes).map(|number| start + u64::from(number * erase_block_bytes));
        // One bad erase block spoils the block, and the others need no erase then.
        let is_bad = starts.clone().any(|at| self.mtd.is_bad(at));
        let done = if is_bad { Err(MtdError::BadBlock) } else { starts.clone().try_for_each(|at| self.mtd.erase(at)) };
        self.answer(done)
    }
}

fn reason(cause: u32) -> &'static Reason {
    BY_NUMBER.get(cause as usize).copied().unwrap_or(BY_NUMBER[0])
}
