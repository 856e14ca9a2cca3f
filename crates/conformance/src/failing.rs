//! Erase blocks that fail in the five ways of littlefs's own tests (`bd/lfs_emubd.h`: `LFS_EMUBD_BADBLOCK_...`).

use ffslab_flash::{Torn, Traffic};
use ffslab_mtd::{Capabilities, Corrected, Medium, MediumImage, Mtd, MtdError, RestoreError};
use ffslab_sim::Sim;
use std::rc::Rc;

/// What a failing block does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// `PROGERROR`: a program is refused.
    Program,
    /// `ERASEERROR`: an erase is refused.
    Erase,
    /// `READERROR`: ECC gives up.
    Read,
    /// `PROGNOOP`: a program changes nothing, and nobody says so.
    ProgramSilently,
    /// `ERASENOOP`: the same of an erase; NAND then keeps what it holds, whatever is programmed.
    EraseSilently,
}

impl Fails {
    pub const ALL: [Fails; 5] =
        [Fails::Program, Fails::Erase, Fails::Read, Fails::ProgramSilently, Fails::EraseSilently];
}

/// A medium of which some blocks fail.
struct Failing {
    inner: Mtd,
    how: Fails,
    is_failing: fn(u64) -> bool,
}

/// The medium with failing blocks: those whose number `is_failing` knows.
pub fn failing(inner: Mtd, how: Fails, is_failing: fn(u64) -> bool) -> Mtd {
    let medium: Rc<dyn Medium> = Rc::new(Failing { inner, how, is_failing });
    Mtd::from(medium)
}

impl Failing {
    fn fails(&self, at: u64, how: Fails) -> bool {
        self.how == how && (self.is_failing)(at / u64::from(self.inner.erase_block_bytes()))
    }

    fn read_by<R>(&self, at: u64, read: impl FnOnce() -> Result<R, MtdError>) -> Result<R, MtdError> {
        let done = read();
        if self.fails(at, Fails::Read) {
            done.and(Err(MtdError::Uncorrectable))
        } else {
            done
        }
    }

    fn program_by(&self, at: u64, program: impl FnOnce() -> Result<(), MtdError>) -> Result<(), MtdError> {
        if self.fails(at, Fails::Program) {
            return Err(MtdError::ProgramFailed);
        }
        if self.fails(at, Fails::ProgramSilently) {
            return Ok(());
        }
        match program() {
            // A chip knows no rules: the simulated one refuses what would spoil a page that is not erased.
            Err(MtdError::RuleBroken) if self.fails(at, Fails::EraseSilently) => Ok(()),
            done => done,
        }
    }
}

impl Medium for Failing {
    fn sim(&self) -> &Sim {
        self.inner.sim()
    }

    fn capabilities(&self) -> Capabilities {
        *self.inner.capabilities()
    }

    fn read(&self, at: u64, data: &mut [u8]) -> Result<Corrected, MtdError> {
        self.read_by(at, || self.inner.read(at, data))
    }

    fn write(&self, at: u64, data: &[u8]) -> Result<(), MtdError> {
        self.program_by(at, || self.inner.write(at, data))
    }

    fn erase(&self, at: u64) -> Result<(), MtdError> {
        match (self.fails(at, Fails::Erase), self.fails(at, Fails::EraseSilently)) {
            (true, _) => Err(MtdError::EraseFailed),
            (_, true) => Ok(()),
            _ => self.inner.erase(at),
        }
    }

    fn read_page_with_oob(&self, at: u64, data: &mut [u8], free: &mut [u8]) -> Result<Corrected, MtdError> {
        self.read_by(at, || self.inner.read_page_with_oob(at, data, free))
    }

    fn write_page_with_oob(&self, at: u64, data: &[u8], free: &[u8]) -> Result<(), MtdError> {
        self.program_by(at, || self.inner.write_page_with_oob(at, data, free))
    }

    fn read_oob_free(&self, at: u64, free: &mut [u8]) -> Result<(), MtdError> {
        self.read_by(at, || self.inner.read_oob_free(at, free))
    }

    fn write_oob_free(&self, at: u64, free: &[u8]) -> Result<(), MtdError> {
        self.program_by(at, || self.inner.write_oob_free(at, free))
    }

    fn free_mark_bytes(&self) -> u32 {
        self.inner.free_mark_bytes()
    }

    fn is_bad(&self, at: u64) -> bool {
        self.inner.is_bad(at)
    }

    fn mark_bad(&self, at: u64) -> Result<(), MtdError> {
        self.inner.mark_bad(at)
    }

    fn look(&self, at: u64, data: &mut [u8]) -> Result<(), MtdError> {
        self.inner.look(at, data)
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }

    fn cut_power_after(&self, operations: u64, torn: Torn) {
        self.inner.cut_power_after(operations, torn);
    }

    fn is_on(&self) -> bool {
        self.inner.is_on()
    }

    fn restart(&self) {
        self.inner.restart();
    }

    fn modifying_operations(&self) -> u64 {
        self.inner.modifying_operations()
    }

    fn snapshot(&self) -> MediumImage {
        self.inner.snapshot()
    }

    fn restore(&self, held: &MediumImage) -> Result<(), RestoreError> {
        self.inner.restore(held)
    }
}
