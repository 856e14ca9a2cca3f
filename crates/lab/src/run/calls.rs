//! Calls that a step makes and does not time itself, such as a `fsync` step: each is a row of the results, as those of `requests`
//! are. Nobody reads a clock for it, so it takes no more time than it does alone.

use super::execute::{plain, CREATE, FILE_PERMISSIONS};
use super::facts::Facts;
use super::runner::{Runner, Stop};
use crate::requests::{Call, CallOp};
use ffslab_system::{Answer, Fd, System};

impl Runner<'_> {
    /// Makes a call that moves no data.
    pub(super) fn call<R>(
        &mut self,
        op: CallOp,
        file: &str,
        body: impl FnOnce(&mut dyn System) -> Answer<R>,
    ) -> Answer<R> {
        self.moving((op, file, 0), body, |_| 0)
    }

    /// Makes a call; `bytes` of its result are those that it moved.
    pub(super) fn moving<R>(
        &mut self,
        row: (CallOp, &str, u64),
        body: impl FnOnce(&mut dyn System) -> Answer<R>,
        bytes: impl FnOnce(&R) -> u64,
    ) -> Answer<R> {
        let begun_ns = self.call_begins();
        let result = body(&mut *self.system);
        self.call_ends(row, begun_ns, result.as_ref().map_or(0, bytes));
        result
    }

    /// A call begins; returns when. [`Runner::call_ends`] must follow it.
    pub(super) fn call_begins(&mut self) -> u64 {
        let sim = self.system.sim();
        if self.measuring {
            sim.call_begins();
        }
        sim.now_ns()
    }

    /// The call that began at `begun_ns` has moved so many bytes.
    pub(super) fn call_ends(&mut self, (op, file, offset_bytes): (CallOp, &str, u64), begun_ns: u64, bytes: u64) {
        if !self.measuring {
            return;
        }
        let latency_ns = self.system.now_ns() - begun_ns;
        let (start_ns, file) = (begun_ns - self.start.at_ns, self.log.file_index(file));
        let number = self.untimed_calls;
        self.untimed_calls += 1;
        let call = Call { op, file, offset_bytes, bytes, start_ns, latency_ns };
        self.log.push(self.step, number, call, self.system.sim());
    }

    /// Makes a file, or empties it.
    pub(super) fn open_new(&mut self, file: &str) -> Answer<Fd> {
        self.call(CallOp::Open, file, |system| system.open(file.as_bytes(), CREATE, FILE_PERMISSIONS))
    }

    pub(super) fn close(&mut self, fd: Fd, file: &str) -> Answer<()> {
        self.call(CallOp::Close, file, |system| system.close(fd))
    }

    pub(super) fn sync(&mut self) -> Result<Facts, Stop> {
        plain(self.call(CallOp::Sync, "", |system| system.sync()))
    }

    pub(super) fn unlink(&mut self, file: &str) -> Result<Facts, Stop> {
        plain(self.call(CallOp::Unlink, file, |system| system.unlink(file.as_bytes())))
    }
}
