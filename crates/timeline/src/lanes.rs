//! A lane: the track of a program or of a background task, and what is open on it.
//!
//! On a lane lie, from outside to inside, the step, the call (of a background task: its turn), the reason, and the
//! operation or the time that was spent. Time spent on the same for the same reason is one slice.

use crate::stacks::Below;
use crate::trace::{Name, Track};
use ffslab_sim::{Reason, Spent, Task};

/// Time that was spent on one thing without an interruption.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub on: Spent,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// A call that has begun.
#[derive(Default)]
pub(crate) struct OpenCall {
    pub start_ns: u64,
    /// What it does is not drawn, only that it was made.
    pub is_skipped: bool,
    /// So much of it came up that its slice had to begin before its name was known.
    pub is_drawn: bool,
}

pub(crate) struct Lane {
    /// Numbers of the name, in the trace and among the stacks.
    pub name: Name,
    pub stack: u32,
    pub track: Track,
    /// `None`: a program.
    pub task: Option<&'static Task>,
    pub call: Option<OpenCall>,
    pub calls: u64,
    /// What a program does outside of calls, in stacks.
    pub outside: u32,
    pub has_step: bool,
    pub has_turn: bool,
    pub reason: Option<&'static Reason>,
    pub leaf: Option<Leaf>,
    /// Somebody else has the CPU in the middle of a call.
    pub waits: bool,
    /// The arrow to those who will do what the call has left for later.
    pub flow: Option<u64>,
    /// The arrow of the last call whose work was made up for, so that not each page gets one.
    pub made_up: Option<u64>,
    pub below: Below,
}

impl Lane {
    pub fn new((name, stack): (Name, u32), track: Track, task: Option<&'static Task>, outside: u32) -> Lane {
        Lane {
            name,
            stack,
            track,
            task,
            call: None,
            calls: 0,
            outside,
            has_step: false,
            has_turn: false,
            reason: None,
            leaf: None,
            waits: false,
            flow: None,
            made_up: None,
            below: Below::default(),
        }
    }

    /// Whether what it does is drawn.
    pub fn is_drawn(&self) -> bool {
        !self.call.as_ref().is_some_and(|call| call.is_skipped)
    }
}
