//! Flash of which the operations are counted by kind, and nothing is kept: what a device does under a pattern, in microseconds of
//! the host's time. What the operations take is multiplied in later, so that constants can be fitted to measurements.

use std::cell::Cell;
use std::rc::Rc;

use ffslab_mtd::MtdError;
use ffslab_sim::{Reason, ReasonGuard};

use crate::flash::{CellMode, Flash, Shape};
use crate::tag::{Found, Tag};

/// Operations so far. Those of cells with several bits are counted apart; devices without an SLC cache have one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    pub reads: u64,
    pub programs: u64,
    pub several_bits_reads: u64,
    pub several_bits_programs: u64,
    pub erases: u64,
}

/// Counts without bytes. Clones count together.
#[derive(Clone)]
pub struct CountingFlash {
    shape: Shape,
    mode: Rc<Cell<CellMode>>,
    counted: Rc<Cell<Operations>>,
}

impl CountingFlash {
    pub fn new(shape: Shape) -> CountingFlash {
        CountingFlash { shape, mode: Rc::default(), counted: Rc::default() }
    }

    pub fn operations(&self) -> Operations {
        self.counted.get()
    }

    fn count(&self, change: impl FnOnce(&mut Operations)) {
        let mut counted = self.counted.get();
        change(&mut counted);
        self.counted.set(counted);
    }
}

impl Flash for CountingFlash {
    const KEEPS_BYTES: bool = false;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn because(&self, _reason: &'static Reason) -> Option<ReasonGuard> {
        None
    }

    fn set_mode(&self, mode: CellMode) {
        self.mode.set(mode);
    }

    fn program(&self, _page: u32, _data: &[u8], _tag: &Tag) -> Result<(), MtdError> {
        self.count(|counted| match self.mode.get() {
            CellMode::OneBit => counted.programs += 1,
            CellMode::SeveralBits => counted.several_bits_programs += 1,
        });
        Ok(())
    }

    fn read(&self, _page: u32, _data: &mut [u8]) -> (Found, Result<bool, MtdError>) {
        self.count(|counted| match self.mode.get() {
            CellMode::OneBit => counted.reads += 1,
            CellMode::SeveralBits => counted.several_bits_reads += 1,
        });
        (Found::Erased, Ok(false))
    }

    fn read_tag(&self, _page: u32) -> Result<Found, MtdError> {
        Ok(Found::Erased)
    }

    fn erase(&self, _block: u32) -> Result<(), MtdError> {
        self.count(|counted| counted.erases += 1);
        Ok(())
    }

    fn is_bad(&self, _block: u32) -> bool {
        false
    }

    fn mark_bad(&self, _block: u32) -> Result<(), MtdError> {
        Err(MtdError::NotSupported)
    }

    fn now_ns(&self) -> u64 {
        0
    }
}
