//! Who watches the machine while it runs. Watching takes no time and changes nothing; without a watcher nothing is built.
//!
//! There are two kinds. A sink gets the flash operations alone. An observer gets all that happens: each span of time,
//! with who spent it on what, operations, energy, the beginnings of calls, who wakes whom, and what is put off. **Each
//! span begins where the one before has ended**, so that an observer sees every nanosecond once.

use crate::cause::{Op, OpEvent, Reason, Task};
use crate::energy::Energy;
use std::cell::{Cell, RefCell};

/// Receives every flash operation, in order. It is optional: without a sink no event is built.
pub trait EventSink {
    fn flash_op(&mut self, event: &OpEvent);
}

/// What a span of time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spent {
    /// The program computes between its system calls.
    Program,
    /// System calls and the file system.
    Computing,
    /// The driver, beyond the time of the medium.
    Driver,
    /// The task waits for the medium. An operation that it waits for by itself comes as [`Observer::flash_op`].
    Medium,
    /// No task could run.
    Idle,
}

/// A part of time.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub start_ns: u64,
    pub duration_ns: u64,
    pub on: Spent,
    pub task: &'static Task,
    pub reason: &'static Reason,
}

/// Which units of the medium work by themselves, as far as the address of an operation tells them apart: dies one after
/// the other, the plane in the lowest bits of the block's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumUnits {
    pub dies: u32,
    pub planes_per_die: u32,
    pub blocks: u32,
    pub pages_per_block: u32,
    pub page_bytes: u32,
}

impl MediumUnits {
    /// The block that an operation concerns.
    pub fn block_of(&self, op: Op, address: u32) -> u32 {
        match op {
            Op::Erase => address,
            _ => address / self.pages_per_block.max(1),
        }
    }

    /// Die, and plane in the die, of a block.
    pub fn unit_of(&self, block: u32) -> (u32, u32) {
        let blocks_per_die = (self.blocks / self.dies.max(1)).max(1);
        ((block / blocks_per_die).min(self.dies.max(1) - 1), block % self.planes_per_die.max(1))
    }
}

/// A call of a program that has ended.
#[derive(Clone, Copy, Debug)]
pub struct CallDone<'a> {
    pub name: &'static str,
    pub file: &'a str,
    pub offset_bytes: u64,
    pub bytes: u64,
    /// The bytes are user data that it wrote.
    pub writes: bool,
}

/// Receives what happens, in order. The times of operations that a medium has only been told to do may lie ahead.
pub trait Observer {
    fn time_passes(&mut self, span: &Span);

    /// `is_waited_for`: its time passes for the task, as a span on the medium. Otherwise the clock stands still, and who waits for
    /// it does so in a span of his own.
    fn flash_op(&mut self, event: &OpEvent, is_waited_for: bool);

    /// Energy above idle that the span or operation before has used, or the spans before.
    fn energy_used(&mut self, used: Energy, task: &'static Task, reason: &'static Reason);

    /// A call of the measured program begins ([`crate::Sim::call_begins`]).
    fn call_begins(&mut self, at_ns: u64);

    /// The call that began last has ended.
    fn call_ends(&mut self, call: &CallDone);

    /// A step of the running program begins: its title, and what it is called in a word.
    fn step_begins(&mut self, title: &str, name: &str);

    fn step_ends(&mut self);

    /// Whether [`Observer::free_blocks_are`] is to be told again.
    fn asks_for_free_blocks(&self, _at_ns: u64) -> bool {
        false
    }

    fn free_blocks_are(&mut self, _free_blocks: u64) {}

    /// Of several programs this one goes on.
    fn program_goes_on(&mut self, _program: usize) {}

    /// The running task has woken one that slept.
    fn wakes(&mut self, _task: &Task, _at_ns: u64) {}

    /// The running task leaves a piece of work for later: `item` of `owner`, as a page of an inode.
    fn puts_off(&mut self, _owner: u64, _item: u64, _at_ns: u64) {}

    /// A piece that was left is being done, or needs to be done no more (`is_done` is false).
    fn makes_up(&mut self, _owner: u64, _item: u64, _at_ns: u64, _is_done: bool) {}

    /// What these owners have left will not be done.
    fn forgets(&mut self, _owners: &dyn Fn(u64) -> bool, _at_ns: u64) {}
}

#[derive(Default)]
pub(crate) struct Watchers {
    pub sink: RefCell<Option<Box<dyn EventSink>>>,
    pub observer: RefCell<Option<Box<dyn Observer>>>,
    are_there: Cell<bool>,
    pub is_observed: Cell<bool>,
    pub units: Cell<Option<MediumUnits>>,
}

impl Watchers {
    #[inline]
    pub fn are_there(&self) -> bool {
        self.are_there.get()
    }

    /// Somebody has come or gone.
    pub fn count(&self) {
        self.is_observed.set(self.observer.borrow().is_some());
        self.are_there.set(self.is_observed.get() || self.sink.borrow().is_some());
    }
}
