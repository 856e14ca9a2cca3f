//! The medium as such a file system sees it: bytes that are read, programmed and erased, each operation with its cause.

use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::Reason;
use std::cell::Cell;

/// `EIO`.
pub(crate) const IO: i32 = -5;

pub(crate) struct Device {
    pub mtd: Mtd,
    causes: &'static [&'static Reason],
    failure: Cell<Option<MtdError>>,
}

impl Device {
    pub fn new(mtd: Mtd, causes: &'static [&'static Reason]) -> Device {
        Device { mtd, causes, failure: Cell::default() }
    }

    /// What the medium said last, and forgets it.
    pub fn take_failure(&self) -> Option<MtdError> {
        self.failure.take()
    }

    fn answer(&self, done: Result<(), MtdError>) -> i32 {
        let Err(error) = done else { return 0 };
        self.failure.set(Some(error));
        IO
    }

    /// An operation without a known cause keeps that of the program's call.
    fn with<R>(&self, cause: u32, body: impl FnOnce() -> R) -> R {
        match self.causes.get(cause as usize).filter(|_| cause > 0) {
            Some(reason) => {
                let _why = self.mtd.sim().because(reason);
                body()
            }
            None => body(),
        }
    }

    pub fn read(&self, cause: u32, at: u64, into: &mut [u8]) -> i32 {
        self.with(cause, || self.answer(self.mtd.read(at, into).map(drop)))
    }

    pub fn program(&self, cause: u32, at: u64, data: &[u8]) -> i32 {
        self.with(cause, || self.answer(self.mtd.write(at, data)))
    }

    pub fn erase(&self, cause: u32, at: u64) -> i32 {
        self.with(cause, || self.answer(self.mtd.erase(at)))
    }
}
