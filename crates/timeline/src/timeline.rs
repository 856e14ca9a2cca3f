//! A timeline of a run, in the hands of its runner.

use crate::machine::Watching;
use crate::stacks::Stacks;
use crate::trace::{Trace, Written};
use ffslab_sim::{CallDone, Energy, Observer, OpEvent, Reason, Sim, Span, Task};
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// What is to be written down.
#[derive(Clone, Debug, Default)]
pub struct Wanted<'a> {
    /// The file of the timeline; `None`: only stacks are wanted.
    pub file: Option<&'a Path>,
    /// Of several timelines that become one file: the number of this one, from 1.
    pub sequence: u32,
    pub title: String,
    /// The programs; one without a name if there are none.
    pub programs: Vec<String>,
    /// Draw what happens in one call of so many; 0 and 1: in each.
    pub every_calls: u64,
}

/// What came of it.
pub struct Finished {
    pub stacks: Stacks,
    pub written: Written,
}

/// A run that is being written down.
pub struct Timeline {
    watching: Rc<RefCell<Watching>>,
    sim: Sim,
    is_finished: bool,
}

/// The machine and what watches it hold each other until somebody lets go. A run that ends in an error leaves a timeline of
/// what had happened until then.
impl Drop for Timeline {
    fn drop(&mut self) {
        self.sim.set_observer(None);
        if !self.is_finished && !std::thread::panicking() {
            // Whoever drops it has an error to tell already.
            let _ = self.watching.borrow_mut().finish(self.sim.now_ns());
        }
    }
}

impl Timeline {
    /// Begins now, and watches until [`Timeline::finish`].
    ///
    /// Errors: the file cannot be made.
    pub fn start(sim: &Sim, wanted: &Wanted) -> io::Result<Timeline> {
        let trace = wanted.file.map(|file| Trace::create(file, wanted.sequence.max(1))).transpose()?;
        let watching = Rc::new(RefCell::new(Watching::new(sim, trace, wanted)));
        sim.set_observer(Some(Box::new(Ears(Rc::clone(&watching)))));
        Ok(Timeline { watching, sim: sim.clone(), is_finished: false })
    }

    /// Writes to the file what is known now; slices that are open have no end in it yet. Returns how much that is;
    /// `None`: only stacks were wanted.
    ///
    /// Errors: the file could not be written.
    pub fn write_so_far(&self) -> io::Result<Option<Written>> {
        self.watching.borrow_mut().write_so_far()
    }

    /// Ends everything that is open, and stops to watch.
    ///
    /// Errors: the file could not be written.
    pub fn finish(mut self) -> io::Result<Finished> {
        self.is_finished = true;
        self.sim.set_observer(None);
        let finished = self.watching.borrow_mut().finish(self.sim.now_ns());
        finished
    }
}

/// What the machine tells.
struct Ears(Rc<RefCell<Watching>>);

impl Observer for Ears {
    fn time_passes(&mut self, span: &Span) {
        self.0.borrow_mut().time_passes(span);
    }

    fn flash_op(&mut self, event: &OpEvent, is_waited_for: bool) {
        self.0.borrow_mut().flash_op(event, is_waited_for);
    }

    fn energy_used(&mut self, used: Energy, task: &'static Task, reason: &'static Reason) {
        self.0.borrow_mut().energy_used(used, task, reason);
    }

    fn call_begins(&mut self, at_ns: u64) {
        self.0.borrow_mut().call_begins(at_ns);
    }

    fn call_ends(&mut self, call: &CallDone) {
        self.0.borrow_mut().call_ends(call);
    }

    fn step_begins(&mut self, title: &str, name: &str) {
        self.0.borrow_mut().step_begins(title, name);
    }

    fn step_ends(&mut self) {
        self.0.borrow_mut().step_ends();
    }

    fn asks_for_free_blocks(&self, now_ns: u64) -> bool {
        self.0.borrow().asks_for_free_blocks(now_ns)
    }

    fn free_blocks_are(&mut self, free_blocks: u64) {
        self.0.borrow_mut().free_blocks_are(free_blocks);
    }

    fn program_goes_on(&mut self, program: usize) {
        self.0.borrow_mut().program_goes_on(program);
    }

    fn wakes(&mut self, task: &Task, at_ns: u64) {
        self.0.borrow_mut().wakes(task, at_ns);
    }

    fn puts_off(&mut self, owner: u64, item: u64, at_ns: u64) {
        self.0.borrow_mut().puts_off((owner, item), at_ns);
    }

    fn makes_up(&mut self, owner: u64, item: u64, at_ns: u64, is_done: bool) {
        self.0.borrow_mut().makes_up((owner, item), at_ns, is_done);
    }

    fn forgets(&mut self, owners: &dyn Fn(u64) -> bool, at_ns: u64) {
        self.0.borrow_mut().forgets(owners, at_ns);
    }
}
