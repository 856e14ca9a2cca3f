//! What a connection's interface to the operating system needs, and how it makes a system call: SQLite is left for others meanwhile,
//! and a panic is kept for later.

use crate::locks::Locks;
use crate::vfs;
use ffslab_fs::Errno;
use ffslab_sim::Sim;
use ffslab_system::{timed, Answer, System};
use ffslab_workload::prng::SplitMix64;
use std::any::Any;
use std::ffi::c_int;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a program tells when SQLite has told it that a transaction is done.
const COMMIT: &str = "commit";

/// SQLite computes in one thread at a time.
static COMPUTES: Mutex<()> = Mutex::new(());

/// A system call that SQLite has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeCall {
    Open,
    Close,
    Read,
    Write,
    /// fdatasync(2).
    Sync,
    Stat,
    Unlink,
    Truncate,
}

/// A system call that SQLite has made, and when.
#[derive(Clone, Copy, Debug)]
pub struct Made<'a> {
    pub call: MadeCall,
    /// Below the root of the file system.
    pub path: &'a str,
    /// Of a truncation, the new size.
    pub offset_bytes: u64,
    /// What it moved.
    pub bytes: u64,
    pub start_ns: u64,
    pub latency_ns: u64,
}

/// Hears of each system call, with what it waited for on the bill of the simulation, and of `None` now and then while SQLite computes;
/// says whether to go on.
pub type Each<'a> = dyn FnMut(Option<(&Made, &Sim)>) -> bool + 'a;

/// What the functions that SQLite calls find behind the pointer that they get.
pub(crate) struct State<'a> {
    system: &'a mut dyn System,
    each: &'a mut Each<'a>,
    pub locks: Locks,
    random: SplitMix64,
    /// Held while SQLite computes.
    computes: Option<MutexGuard<'static, ()>>,
    /// The last system call that failed.
    pub last_error: Option<Errno>,
    /// Whoever looks at each call wants no more.
    pub interrupted: bool,
    /// A panic of the system, which goes on when SQLite has been left.
    pub panic: Option<Box<dyn Any + Send>>,
}

/// Why a system call was not made, or failed.
pub(crate) enum NoCall {
    Failed(Errno),
    /// Nothing more is done, neither with the data base nor with its files.
    Over,
}

impl<'a> State<'a> {
    pub fn new(system: &'a mut dyn System, each: &'a mut Each<'a>, locks: Locks, seed: u64) -> State<'a> {
        let random = SplitMix64::new(seed);
        let (computes, last_error) = (None, None);
        State { system, each, locks, random, computes, last_error, interrupted: false, panic: None }
    }

    /// SQLite begins to compute, or goes on. Its generator is everybody's, so it starts anew from this run's.
    pub fn enter(&mut self) {
        self.computes = Some(COMPUTES.lock().unwrap_or_else(PoisonError::into_inner));
        let seed = self.random.next_u64() as c_int | 1;
        vfs::seed_random_numbers(seed);
    }

    /// Others may compute.
    pub fn leave(&mut self) {
        self.computes = None;
    }

    /// Random bytes of this run.
    pub fn randomness(&mut self, into: &mut [u8]) {
        into.fill_with(|| self.random.next_u64() as u8);
    }

    /// The time of day, since 1970.
    pub fn time_of_day_ms(&self) -> u64 {
        self.system.epoch_s() * 1_000 + self.system.now_ns() / 1_000_000
    }

    /// Makes a system call of which `each` hears. `moved`: what it moved.
    pub fn call<T>(
        &mut self,
        (call, path, offset_bytes): (MadeCall, &str, u64),
        body: impl FnOnce(&mut dyn System) -> Answer<T>,
        moved: impl FnOnce(&T) -> u64,
    ) -> Result<T, NoCall> {
        let path = path.trim_start_matches('/');
        self.outside(|state| {
            let start_ns = state.system.now_ns();
            let (result, latency_ns) = timed(&mut *state.system, |system| body(system));
            let bytes = result.as_ref().map_or(0, moved);
            let made = Made { call, path, offset_bytes, bytes, start_ns, latency_ns };
            let sim = state.system.sim().clone();
            state.interrupted |= !(state.each)(Some((&made, &sim)));
            result
        })
    }

    /// SQLite has computed for a while: whether it goes on. Nobody else computes meanwhile, so that the generator stays as it is.
    pub fn computes_on(&mut self) -> bool {
        match catch_unwind(AssertUnwindSafe(|| (self.each)(None))) {
            Ok(goes_on) => self.interrupted |= !goes_on,
            Err(panic) => self.panic = Some(panic),
        }
        !self.interrupted && self.panic.is_none()
    }

    /// A transaction has ended well.
    pub fn tells_commit(&mut self) {
        self.system.told(COMMIT);
    }

    pub fn sleep_ns(&mut self, duration_ns: u64) -> Result<(), NoCall> {
        self.outside(|state| {
            state.system.sleep_ns(duration_ns);
            Ok(())
        })
    }

    /// Leaves SQLite for what only the simulation does.
    fn outside<T>(&mut self, work: impl FnOnce(&mut Self) -> Answer<T>) -> Result<T, NoCall> {
        if self.panic.is_some() || self.interrupted {
            return Err(NoCall::Over);
        }
        self.leave();
        let done = catch_unwind(AssertUnwindSafe(|| work(self)));
        self.enter();
        match done {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(refusal)) => {
                self.last_error = Some(refusal.errno());
                Err(NoCall::Failed(refusal.errno()))
            }
            Err(panic) => {
                self.panic = Some(panic);
                Err(NoCall::Over)
            }
        }
    }
}
