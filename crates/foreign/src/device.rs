//! The device that C code is given: bytes that are read, programmed and erased, each operation with its cause.

use crate::guard::progress;
use ffslab_mtd::{Mtd, MtdError};
use ffslab_sim::{Reason, Sim};
use std::cell::Cell;

/// `EIO`.
pub(crate) const IO: i32 = -5;

/// What stands below: flash, or the sectors of a translation, which can be overwritten.
pub trait Below {
    fn sim(&self) -> &Sim;

    fn size_bytes(&self) -> u64;

    fn erase_block_bytes(&self) -> u32;

    /// Of flash what is programmed at once, otherwise a sector.
    fn program_bytes(&self) -> u32;

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError>;

    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError>;

    /// Of sectors: nobody needs them any more.
    fn erase(&self, at: u64, bytes: u32) -> Result<(), MtdError>;

    /// What was programmed is safe.
    fn sync(&self) -> Result<(), MtdError> {
        Ok(())
    }

    fn is_bad(&self, _at: u64) -> bool {
        false
    }

    fn mark_bad(&self, _at: u64) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    /// The end of its use.
    fn close(&self) -> Result<(), MtdError> {
        Ok(())
    }
}

impl Below for Mtd {
    fn sim(&self) -> &Sim {
        Mtd::sim(self)
    }

    fn size_bytes(&self) -> u64 {
        Mtd::size_bytes(self)
    }

    fn erase_block_bytes(&self) -> u32 {
        Mtd::erase_block_bytes(self)
    }

    fn program_bytes(&self) -> u32 {
        self.capabilities().program_bytes
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        Mtd::read(self, at, into).map(drop)
    }

    fn program(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.write(at, data)
    }

    fn erase(&self, at: u64, bytes: u32) -> Result<(), MtdError> {
        let step = Mtd::erase_block_bytes(self);
        (0..bytes.div_ceil(step)).try_for_each(|number| Mtd::erase(self, at + u64::from(number) * u64::from(step)))
    }

    fn is_bad(&self, at: u64) -> bool {
        Mtd::is_bad(self, at)
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        Mtd::mark_bad(self, at)
    }
}

pub(crate) struct Device {
    below: Box<dyn Below>,
    causes: &'static [&'static Reason],
    failure: Cell<Option<MtdError>>,
}

impl Device {
    pub fn new(below: Box<dyn Below>, causes: &'static [&'static Reason]) -> Device {
        Device { below, causes, failure: Cell::default() }
    }

    pub fn below(&self) -> &dyn Below {
        &*self.below
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

    /// An operation without a known cause keeps that of whoever called.
    fn with(&self, cause: u32, body: impl FnOnce() -> Result<(), MtdError>) -> i32 {
        progress();
        let reason = self.causes.get(cause as usize).filter(|_| cause > 0);
        let _why = reason.map(|reason| self.below.sim().because(reason));
        self.answer(body())
    }

    pub fn read(&self, cause: u32, at: u64, into: &mut [u8]) -> i32 {
        self.with(cause, || self.below.read(at, into))
    }

    pub fn program(&self, cause: u32, at: u64, data: &[u8]) -> i32 {
        self.with(cause, || self.below.program(at, data))
    }

    pub fn erase(&self, cause: u32, at: u64, bytes: u32) -> i32 {
        self.with(cause, || self.below.erase(at, bytes))
    }

    pub fn sync(&self, cause: u32) -> i32 {
        self.with(cause, || self.below.sync())
    }

    pub fn mark_bad(&self, at: u64) -> i32 {
        self.answer(self.below.mark_bad(at))
    }
}
