//! The partition below a store: reads, programs and erases, each with its cause.

use ffslab_fs::Errno;
use ffslab_mtd::{is_erased, Mtd, MtdError};
use ffslab_sim::Reason;
use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// What a store stands on.
pub(crate) struct Flash {
    pub mtd: Mtd,
    failure: Cell<Option<MtdError>>,
}

impl Flash {
    pub fn new(mtd: Mtd) -> Flash {
        Flash { mtd, failure: Cell::default() }
    }

    fn told(&self, done: Result<(), MtdError>) -> Result<(), MtdError> {
        if let Err(error) = done {
            self.failure.set(Some(error));
        }
        done
    }

    /// The errno for a program whose store gave up for a reason of the medium.
    pub fn medium_errno(&self) -> Errno {
        match self.failure.take() {
            Some(MtdError::PowerCut) => Errno::PowerCut,
            _ => Errno::Io,
        }
    }

    pub fn read(&self, why: &'static Reason, at: u64, into: &mut [u8]) -> Result<(), MtdError> {
        let _why = self.mtd.sim().because(why);
        self.told(self.mtd.read(at, into).map(drop))
    }

    pub fn program(&self, why: &'static Reason, at: u64, data: &[u8]) -> Result<(), MtdError> {
        let _why = self.mtd.sim().because(why);
        self.told(self.mtd.write(at, data))
    }

    /// Erases all blocks from `from` to `to`.
    pub fn erase(&self, why: &'static Reason, from: u64, to: u64) -> Result<(), MtdError> {
        let _why = self.mtd.sim().because(why);
        let block_bytes = self.mtd.erase_block_bytes() as usize;
        self.told((from..to).step_by(block_bytes).try_for_each(|at| self.mtd.erase(at)))
    }
}

/// Whether nothing stands on a medium. Looking costs nothing: a programmer knows whether a chip is new.
pub fn is_blank(medium: &Mtd) -> bool {
    let mut block = vec![0; medium.erase_block_bytes() as usize];
    (0..u64::from(medium.blocks())).all(|number| {
        let looked = medium.look(number * block.len() as u64, &mut block);
        looked.is_ok() && is_erased(&block)
    })
}

/// What an operation of the flash came to. Without power nobody learns that, and the program never goes on.
pub(crate) async fn unless_cut(done: Result<(), MtdError>) -> Result<(), MtdError> {
    match done {
        Err(MtdError::PowerCut) => std::future::pending().await,
        done => done,
    }
}

/// The result of a store's function that waits for flash alone. Flash here never lets anybody wait, so that it is ready at once.
///
/// Errors: it waits for ever, as a program does whose power is gone.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Result<T, Errno> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => Err(Errno::PowerCut),
    }
}
