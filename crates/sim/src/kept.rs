//! What the machine keeps beside clock, CPU and counters: the bill of a call, a lock that somebody needs, what a device did by itself,
//! who runs the tasks of a mount. The files named after them say what becomes of it.

use crate::cause::{OpCounts, Reason, Task};
use std::rc::Rc;

/// Gives a task of one mount its turn. `false`: the mount is in the middle of something, and nothing was done.
pub type GivesTurn = Rc<dyn Fn(&'static Task) -> bool>;

/// A part of a device's work: until when it worked for this reason.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    pub until_ns: u64,
    pub reason: &'static Reason,
    /// Its medium worked; otherwise commands and data went to the device or came from it.
    pub is_medium: bool,
}

/// The bill of a program that is not running.
#[derive(Debug, Default)]
pub struct Bill {
    /// Places of tasks and reasons, and what was counted for them.
    pub(crate) counted: Vec<(usize, usize, OpCounts)>,
    pub(crate) waits: Waits,
}

/// How long a program waited for calls of other programs, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) of_call: Vec<(usize, u64)>,
    /// Before the call began: the program had slept, and the CPU was not free when the sleep was over.
    pub(crate) before_call: Vec<(usize, u64)>,
    pub(crate) late_ns: u64,
    /// How many calls have begun.
    pub(crate) begun: u64,
    pub(crate) is_open: bool,
    pub(crate) is_void: bool,
}

/// A lock that the running task holds and another one needs (`contended.rs`).
#[derive(Clone, Copy, Default)]
pub(crate) struct Contended {
    pub(crate) is_held: bool,
    /// Place of the task that may need the lock.
    pub(crate) contender: usize,
    /// The contender sleeps until the lock is given back.
    pub(crate) waits: bool,
    /// Turns in vain since the contender last had the lock.
    pub(crate) vain_turns: u8,
    /// The contender has come in vain, and nobody has asked for that yet.
    pub(crate) came: bool,
    /// The lock is the contender's, who has not run yet.
    pub(crate) is_handed_over: bool,
}
