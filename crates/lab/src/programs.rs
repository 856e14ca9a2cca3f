//! Several programs of an experiment at once, on the one simulated CPU.
//!
//! Each program is an interpreter of steps on a stack of its own (a coroutine). It gives way before each system call and
//! while it sleeps; then the program goes on whose turn it is ([`crate::turns`]). Calls are atomic to one another: on raw
//! NAND the CPU waits in the driver with the chip locked. Background tasks of the system run in the calls, and while all
//! programs sleep, as they do beside a single one.

mod seat;

use crate::experiment::Program;
use crate::run::{Begun, RunError, Runner, Start, StepOutcome, WATCH_EVERY};
use crate::traces::Traces;
use crate::turns::{self, Ready, Turns};
use ambassador::delegate_to_methods;
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use ffslab_flash::Torn;
use ffslab_fs::{BlockSpace, FileKind, KeyEntry, RenameFlags, Stat, StatFs, TimeSpec, Unwritten, XattrMode};
use ffslab_mtd::{MediumImage, Mtd};
use ffslab_sim::Sim;
use ffslab_system::{
    ambassador_impl_Calls, ambassador_impl_System, Advice, Answer, Calls, Entry, FallocateFlag, Fd, ImageGiven,
    Levelling, MapAccess, MountDone, Nodes, OpenFlags, Refusal, Runs, System, SystemError, Whence,
};
use seat::{GivesWay, Machine, Seat};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Stack of a program: as a process of Linux has by default. Memory is only taken for what is used of it.
const STACK_BYTES: usize = 8 << 20;

/// What a program and the scheduler tell each other.
#[derive(Default)]
pub(crate) struct Shared {
    /// It may end the call that it makes, no more.
    is_last_call: Cell<bool>,
    ends: Cell<bool>,
    /// For how long it has waited for each program since its last turn.
    waits_ns: RefCell<Vec<u64>>,
    steps_calls: Cell<u64>,
    calls: Cell<u64>,
    read_bytes: Cell<u64>,
    written_bytes: Cell<u64>,
}

fn add(cell: &Cell<u64>, more: u64) {
    cell.set(cell.get() + more);
}

impl Shared {
    /// Whether the program is to end: no further call of it is made.
    fn ends(&self) -> bool {
        self.ends.get()
    }

    fn end(&self) {
        self.ends.set(true);
    }

    fn is_last_call(&self) -> bool {
        self.is_last_call.get()
    }

    fn take_waits(&self, mut each: impl FnMut(usize, u64)) {
        for (program, waited_ns) in self.waits_ns.borrow_mut().iter_mut().enumerate().filter(|(_, ns)| **ns > 0) {
            each(program, std::mem::take(waited_ns));
        }
    }

    fn has_called(&self) {
        add(&self.calls, 1);
    }

    fn has_read(&self, bytes: usize) {
        add(&self.read_bytes, bytes as u64);
    }

    fn has_written(&self, bytes: usize) {
        add(&self.written_bytes, bytes as u64);
    }
}

/// What a program has to do, with all that the setup has made ready for it.
pub(crate) struct ToRun {
    pub program: Program,
    pub begun: Begun,
}

/// What a program did.
pub(crate) struct Done {
    pub program: Program,
    /// A background program has none: it may do its steps millions of times.
    pub steps: Vec<StepOutcome>,
    /// How often it did all of its steps.
    pub rounds: u64,
    pub ended_ns: u64,
    pub calls: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    /// What it has kept.
    pub begun: Begun,
}

/// What a coroutine returns.
struct Ended {
    machine: Machine,
    did: Did,
}

struct Did {
    steps: Vec<StepOutcome>,
    rounds: u64,
    begun: Begun,
    result: Result<(), RunError>,
}

struct Member {
    program: Program,
    /// `None`: it has ended.
    ready: Option<Ready>,
    coroutine: Running,
    shared: Rc<Shared>,
    /// What it did, and when it ended.
    did: Option<(Did, u64)>,
}

/// The coroutine of a program. To drop one in the middle would unwind its stack, where frames of C may stand. All end by
/// themselves, but for a panic in one of them: then the others stay as they are, and only their memory is lost.
struct Running(Option<Coroutine<Machine, GivesWay, Ended>>);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(coroutine) = self.0.take().filter(|coroutine| !coroutine.done()) {
            std::mem::forget(coroutine);
        }
    }
}

/// A system that somebody else keeps.
pub(crate) struct Lent<'m>(pub &'m mut dyn System);

#[delegate_to_methods]
#[delegate(Calls, target_ref = "system", target_mut = "system_mut")]
#[delegate(System, target_ref = "system", target_mut = "system_mut")]
impl Lent<'_> {
    fn system(&self) -> &dyn System {
        self.0
    }

    fn system_mut(&mut self) -> &mut dyn System {
        self.0
    }
}

/// What programs did, and the machine that they were lent.
pub(crate) struct Ran {
    pub machine: Machine,
    pub done: Vec<Done>,
    /// The first error of a program, or an interruption.
    pub result: Result<(), RunError>,
}

/// Runs programs from `start` until all have ended, but for those in the background. These are ended then: one that waits for its
/// turn makes its call, or the longest waits would never be seen, and one that sleeps is ended at once.
///
/// Errors: there is no memory for a program; the machine is gone then.
pub(crate) fn run(
    machine: Machine,
    to_run: Vec<ToRun>,
    (start, traces): (Start, &Traces),
    watch: &mut dyn FnMut(u64) -> bool,
) -> Result<Ran, RunError> {
    let mut turns = Turns::default();
    let programs_n = to_run.len();
    let mut members = Vec::with_capacity(programs_n);
    for to_run in to_run {
        let ready = turns.ready(machine.now_ns());
        members.push(Member::new(to_run, ready, programs_n, start, traces)?);
    }
    let mut scheduler = Scheduler { members, turns, machine: Some(machine), resumed: 0 };
    let result = scheduler.run(watch);
    scheduler.end();
    let machine = scheduler.machine.take().expect("every program has given the machine back");
    Ok(Ran { machine, done: scheduler.members.into_iter().map(Member::done).collect(), result })
}

impl Member {
    fn new(
        ToRun { program, begun }: ToRun,
        ready: Ready,
        programs_n: usize,
        start: Start,
        traces: &Traces,
    ) -> Result<Member, RunError> {
        let shared = Rc::new(Shared { waits_ns: RefCell::new(vec![0; programs_n]), ..Shared::default() });
        let stack = DefaultStack::new(STACK_BYTES).map_err(|error| {
            RunError::Step(format!("no memory for the stack of program \"{}\": {error}", program.name))
        })?;
        let (of_program, traces) = (program.clone(), traces.clone());
        let of_shared = Rc::clone(&shared);
        // What a coroutine begins with must be small.
        let begun = Box::new(begun);
        let coroutine = Coroutine::with_stack(stack, move |yielder, machine| {
            let watched = Rc::clone(&of_shared);
            let watch = move |calls| {
                watched.steps_calls.set(calls);
                !watched.ends()
            };
            let mut seat = Seat::new(machine, yielder, Rc::clone(&of_shared));
            let mut runner =
                Runner::measuring(Box::new(Lent(&mut seat)), *begun, start, Cow::Owned(traces), Box::new(watch));
            let mut steps = Vec::new();
            let (rounds, result) =
                if of_shared.ends() { (0, Ok(())) } else { of_program.run(&mut runner, &of_shared, &mut steps) };
            let begun = runner.into_begun();
            Ended { machine: seat.leave(), did: Did { steps, rounds, begun, result } }
        });
        Ok(Member { program, ready: Some(ready), coroutine: Running(Some(coroutine)), shared, did: None })
    }

    fn done(self) -> Done {
        let (Did { steps, rounds, begun, .. }, ended_ns) = self.did.expect("every program has ended");
        let Shared { calls, read_bytes, written_bytes, .. } = &*self.shared;
        let (calls, read_bytes, written_bytes) = (calls.get(), read_bytes.get(), written_bytes.get());
        Done { program: self.program, steps, rounds, ended_ns, calls, read_bytes, written_bytes, begun }
    }
}

impl Program {
    /// Runs the steps, in the background again and again. Adds what they did, and returns how often all were done.
    fn run(&self, runner: &mut Runner, shared: &Shared, steps: &mut Vec<StepOutcome>) -> (u64, Result<(), RunError>) {
        let phase = self.phase();
        let mut rounds = 0;
        loop {
            let began_ns = runner.system.now_ns();
            for (index, step) in self.steps.iter().enumerate() {
                let outcome = runner.step(&phase, index, step);
                if shared.ends() {
                    return (rounds, Ok(()));
                }
                match outcome {
                    Ok(outcome) if !self.background => steps.push(outcome),
                    Ok(_) => {}
                    Err(error) => return (rounds, Err(error)),
                }
            }
            rounds += 1;
            if !self.background {
                return (rounds, Ok(()));
            }
            if let Err(error) = runner.close_all() {
                return (rounds, Err(RunError::Step(format!("{}: {error}", self.title()))));
            }
            if runner.system.now_ns() == began_ns {
                let text = "its steps take no time here, so it would repeat them for ever: add a sleep step";
                return (rounds, Err(RunError::Step(format!("{}: {text}", self.title()))));
            }
        }
    }
}

struct Scheduler {
    members: Vec<Member>,
    turns: Turns,
    /// `None`: a program has it.
    machine: Option<Machine>,
    resumed: u64,
}

impl Scheduler {
    fn machine(&mut self) -> &mut Machine {
        self.machine.as_mut().expect("no program runs")
    }

    /// Gives turns until all programs have ended that are not in the background.
    ///
    /// Errors: that of the first program that fails, or an interruption.
    fn run(&mut self, watch: &mut dyn FnMut(u64) -> bool) -> Result<(), RunError> {
        while self.members.iter().any(|member| !member.program.background && member.ready.is_some()) {
            let Some((ready, i)) = turns::next(self.members.iter().map(|member| member.ready)) else { break };
            let now_ns = self.machine().now_ns();
            if ready.at_ns > now_ns {
                self.machine().sleep_ns(ready.at_ns - now_ns);
            }
            self.turn(i);
            self.failed(i)?;
            self.resumed += 1;
            if self.resumed.is_multiple_of(WATCH_EVERY) && !watch(self.steps_calls()) {
                return Err(RunError::Interrupted);
            }
        }
        self.last_calls()
    }

    /// Lets those who wait make their calls.
    fn last_calls(&mut self) -> Result<(), RunError> {
        self.members.iter().for_each(|member| member.shared.is_last_call.set(true));
        while let Some((ready, i)) = turns::next(self.members.iter().map(|member| member.ready)) {
            if ready.at_ns > self.machine().now_ns() {
                break;
            }
            self.turn(i);
            self.failed(i)?;
        }
        Ok(())
    }

    fn failed(&self, i: usize) -> Result<(), RunError> {
        match &self.members[i].did {
            Some((Did { result, .. }, _)) => result.clone(),
            None => Ok(()),
        }
    }

    fn steps_calls(&self) -> u64 {
        self.members.iter().map(|member| member.shared.steps_calls.get()).sum()
    }

    /// Lets a program run until it gives way again, and notes who waited for it.
    fn turn(&mut self, i: usize) {
        let machine = self.machine.take().expect("no program runs");
        machine.sim().program_goes_on(i);
        let began_ns = machine.now_ns();
        let member = &mut self.members[i];
        let coroutine = member.coroutine.0.as_mut().expect("only the end takes it");
        let (machine, ready_ns) = match coroutine.resume(machine) {
            CoroutineResult::Yield(GivesWay { machine, ready_ns }) => (machine, Some(ready_ns)),
            CoroutineResult::Return(Ended { machine, did }) => {
                member.did = Some((did, machine.now_ns()));
                (machine, None)
            }
        };
        member.ready = ready_ns.map(|ready_ns| self.turns.ready(ready_ns));
        let ended_ns = machine.now_ns();
        for (other, member) in self.members.iter().enumerate() {
            let Some(ready) = member.ready.filter(|_| other != i) else { continue };
            member.shared.waits_ns.borrow_mut()[i] += ended_ns.saturating_sub(ready.at_ns.max(began_ns));
        }
        self.machine = Some(machine);
    }

    /// Ends what still runs: no further call of it is made, so it takes no time.
    fn end(&mut self) {
        for i in 0..self.members.len() {
            if self.members[i].ready.is_some() {
                self.members[i].shared.end();
                self.turn(i);
                debug_assert!(self.members[i].ready.is_none(), "a program that is to end gives way to nobody");
            }
        }
    }
}
