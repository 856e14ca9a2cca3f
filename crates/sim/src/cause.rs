//! Causes: every flash operation is counted by who issued it (task) and why (reason), so that a report can
//! explain a number.
//!
//! Tasks and reasons belong to the layers that use them: each is a `static` beside the code of its layer, with the words
//! that explain it to people. A layer makes its tasks known with [`crate::Sim::spawn`] and its reasons with
//! [`crate::Sim::register`] when it is made; here stand only those that no layer owns.

use std::fmt;
use std::ops::{Add, Sub};

/// Who issues flash operations. A task is one `static`: two are the same if they are the same place in memory.
pub struct Task {
    /// As in results (`by_task`, `by_cause`) and in the measured cases.
    pub name: &'static str,
    /// As in tables for people.
    pub title: &'static str,
    /// Unix priority, -20 to 19. The least urgent tasks have the highest.
    pub nice: i8,
    /// As a real system lists it among its processes.
    pub process: &'static str,
}

/// Why a flash operation happens. A reason is one `static`: two are the same if they are the same place in memory.
pub struct Reason {
    /// As in results (`by_cause`).
    pub name: &'static str,
    /// For people: what happens then.
    pub sentence: &'static str,
    pub kind: Kind,
    pub purpose: Purpose,
}

/// What the operations of a reason are about. Results list reasons kind by kind in this order, and within a kind in the
/// order in which they were registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Reading,
    Mounting,
    Writing,
    /// Garbage collection.
    Collecting,
    Erasing,
    Checking,
    /// Writing what later saves time: summaries, checkpoints, indices.
    Indexing,
    /// Dealing with what failed.
    Recovering,
    /// What a layer between file system and medium does for itself.
    Managing,
    /// No doing of the measured programs.
    Apart,
    Unstated,
}

/// Whose wish the operations of a reason serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// These are the data that a program reads.
    Read,
    /// These are the data that a program writes.
    Write,
    /// The reads of a program bring them about.
    ForReads,
    /// The price of having the data.
    Cost,
    /// They do what the setup of an experiment has left to do.
    Setup,
    /// They make a new partition usable, once.
    Formatting,
}

impl Purpose {
    /// As in results.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Read => "read",
            Purpose::Write => "write",
            Purpose::ForReads => "for reads",
            Purpose::Cost => "cost",
            Purpose::Setup => "setup",
            Purpose::Formatting => "formatting",
        }
    }
}

impl PartialEq for Task {
    #[inline]
    fn eq(&self, other: &Task) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Task {}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Reason {
    #[inline]
    fn eq(&self, other: &Reason) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Reason {}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The program, inside its system calls: the foreground.
pub static CALLER: Task = Task { name: "caller", title: "program", nice: 0, process: "caller" };

/// Data that the setup of an experiment had left in memory are written while something else is measured. This reason
/// takes precedence over every other one, see [`crate::Sim::because`].
pub static LEFT_BY_SETUP: Reason = Reason {
    name: "left by the setup",
    sentence: "what the setup had left in memory is written: not the measured steps' doing",
    kind: Kind::Apart,
    purpose: Purpose::Setup,
};

/// A new partition is made usable, once: blank blocks are erased and marked, the first tables are written. No wear and no
/// cost of what programs do.
pub static FORMATTING: Reason = Reason {
    name: "formatting",
    sentence: "a new partition is made usable, once: no cost of what programs do",
    kind: Kind::Apart,
    purpose: Purpose::Formatting,
};

/// Nobody has said why.
pub static OTHER: Reason = Reason {
    name: "other",
    sentence: "flash operations without a stated reason",
    kind: Kind::Unstated,
    purpose: Purpose::Cost,
};

/// A call waited for calls of another program on the same CPU. Nothing is counted under it: what they did has causes of
/// its own.
pub static OTHER_PROGRAM: Reason = Reason {
    name: "another program",
    sentence: "a call waits until calls of other programs have returned",
    kind: Kind::Apart,
    purpose: Purpose::Cost,
};

/// Number of a mount on its machine; 0 where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mount(pub u8);

/// A task or a reason, and its place in [`Causes`], so that counting takes no search.
pub(crate) struct Placed<T: 'static> {
    pub what: &'static T,
    pub place: usize,
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Placed<T> {}

/// [`OTHER`] in the place that it has in every machine.
pub(crate) const UNSTATED: Placed<Reason> = Placed { what: &OTHER, place: 0 };

/// What one cause has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CauseCounts {
    pub task: &'static Task,
    pub reason: &'static Reason,
    pub counts: OpCounts,
}

/// The tasks and reasons of a machine, and a counter for each pair: one flat array with a row a task. A task or reason
/// keeps its place for good, so a copy that was taken earlier can be compared with what is counted now.
#[derive(Clone, Debug, Default)]
pub struct Causes {
    /// Each task, and the mount that it belongs to.
    tasks: Vec<(&'static Task, Mount)>,
    reasons: Vec<&'static Reason>,
    counts: Vec<Counted>,
    /// Number of the present bill. Before the first bill nothing is noted.
    bill: u64,
    /// The causes that were counted since the bill was opened, each once, with their places and earlier counters.
    billed: Vec<(usize, usize, OpCounts)>,
}

/// The counters of a cause, and the bill on which it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    counts: OpCounts,
    bill: u64,
}

impl Causes {
    pub(crate) fn new() -> Causes {
        let mut causes = Causes { tasks: vec![(&CALLER, Mount::default())], ..Causes::default() };
        causes.add_reasons(&[&OTHER, &LEFT_BY_SETUP, &FORMATTING]);
        causes
    }

    pub(crate) fn add_task(&mut self, task: &'static Task, of: Mount) -> usize {
        self.place_of_task(task, of).unwrap_or_else(|| {
            self.tasks.push((task, of));
            self.counts.resize(self.tasks.len() * self.reasons.len(), Counted::default());
            self.tasks.len() - 1
        })
    }

    pub(crate) fn add_reasons(&mut self, reasons: &[&'static Reason]) {
        let before = self.reasons.len();
        for reason in reasons {
            if self.place_of_reason(reason).is_none() {
                debug_assert!(
                    self.reasons.iter().all(|known| known.name != reason.name),
                    "two reasons named \"{reason:?}\""
                );
                self.reasons.push(reason);
            }
        }
        let added = self.reasons.len() - before;
        if added > 0 {
            let rows = self.counts.chunks(before.max(1));
            let mut wider = Vec::with_capacity(self.tasks.len() * self.reasons.len());
            for row in rows {
                wider.extend_from_slice(row);
                wider.extend(std::iter::repeat_n(Counted::default(), added));
            }
            wider.resize(self.tasks.len() * self.reasons.len(), Counted::default());
            self.counts = wider;
        }
    }

    /// The place of a mount's task. The caller is that of all mounts.
    #[inline]
    pub(crate) fn place_of_task(&self, task: &Task, of: Mount) -> Option<usize> {
        let found = self.tasks.iter().position(|&(known, mount)| mount == of && known == task);
        found.or((task == &CALLER).then_some(0))
    }

    #[inline]
    pub(crate) fn place_of_reason(&self, reason: &Reason) -> Option<usize> {
        self.reasons.iter().position(|&known| known == reason)
    }

    #[inline]
    pub(crate) fn task_at(&self, place: usize) -> (&'static Task, Mount) {
        self.tasks[place]
    }

    /// The counters of the cause with these places.
    #[inline]
    pub(crate) fn at(&mut self, task: usize, reason: usize) -> &mut OpCounts {
        let counted = &mut self.counts[task * self.reasons.len() + reason];
        if counted.bill != self.bill {
            counted.bill = self.bill;
            self.billed.push((task, reason, counted.counts));
        }
        &mut counted.counts
    }

    /// Opens a new bill: the causes that are counted from now on stand on it.
    #[inline]
    pub(crate) fn open_bill(&mut self) {
        self.bill += 1;
        self.billed.clear();
    }

    /// Closes the bill: what stands on it, with the places of the causes.
    pub(crate) fn take_bill(&mut self) -> Vec<(usize, usize, OpCounts)> {
        let mut billed = std::mem::take(&mut self.billed);
        for (task, reason, counts) in &mut billed {
            *counts = self.counts[*task * self.reasons.len() + *reason].counts - *counts;
        }
        billed
    }

    /// Opens a bill on which this stands already.
    pub(crate) fn put_bill(&mut self, mut billed: Vec<(usize, usize, OpCounts)>) {
        self.bill += 1;
        for (task, reason, counts) in &mut billed {
            let counted = &mut self.counts[*task * self.reasons.len() + *reason];
            counted.bill = self.bill;
            *counts = counted.counts - *counts;
        }
        self.billed = billed;
    }

    /// What was counted since the bill was opened, cause by cause.
    pub(crate) fn bill(&self) -> impl Iterator<Item = CauseCounts> + '_ {
        self.billed.iter().map(|&(task, reason, before)| {
            let counts = self.counts[task * self.reasons.len() + reason].counts - before;
            CauseCounts { task: self.tasks[task].0, reason: self.reasons[reason], counts }
        })
    }

    /// Counters of one cause, over all mounts. Zero for one that nobody has registered.
    pub fn of(&self, task: &Task, reason: &Reason) -> OpCounts {
        let Some(reason) = self.place_of_reason(reason) else { return OpCounts::default() };
        let own = self.tasks.iter().enumerate().filter(|(_, (known, _))| *known == task);
        let counts = own.map(|(place, _)| self.counts[place * self.reasons.len() + reason].counts);
        counts.fold(OpCounts::default(), |sum, counts| sum + counts)
    }

    /// Sum over the reasons of a task.
    pub fn of_task(&self, task: &Task) -> OpCounts {
        self.reasons.iter().fold(OpCounts::default(), |sum, reason| sum + self.of(task, reason))
    }

    /// Sum over the tasks with a reason.
    pub fn of_reason(&self, reason: &Reason) -> OpCounts {
        self.tasks().fold(OpCounts::default(), |sum, task| sum + self.of(task, reason))
    }

    /// Sum over all causes.
    pub fn total(&self) -> OpCounts {
        self.counts.iter().fold(OpCounts::default(), |sum, counted| sum + counted.counts)
    }

    /// The tasks, the foreground first, then in the order in which they became known. Those that several mounts have stand
    /// for all of them.
    pub fn tasks(&self) -> impl Iterator<Item = &'static Task> + '_ {
        let is_first = |place: usize, task: &Task| self.tasks[..place].iter().all(|(earlier, _)| *earlier != task);
        self.tasks
            .iter()
            .enumerate()
            .filter(move |(place, (task, _))| is_first(*place, task))
            .map(|(_, (task, _))| *task)
    }

    /// What was counted after `before` was taken from the same machine, task by task, in the order of reasons that
    /// [`Kind`] tells. Causes that cost nothing are left out. `Causes::default()` stands for the start.
    pub fn since(&self, before: &Causes) -> Vec<CauseCounts> {
        let mut reasons = self.reasons.clone();
        reasons.sort_by_key(|reason| reason.kind);
        let of = |task: &'static Task| {
            let counted = |&reason: &&'static Reason| {
                let counts = self.of(task, reason) - before.of(task, reason);
                CauseCounts { task, reason, counts }
            };
            reasons.iter().map(counted).filter(|cause| cause.counts != OpCounts::default()).collect::<Vec<_>>()
        };
        self.tasks().flat_map(of).collect()
    }
}

/// What the chip is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Cells to register, the whole page moved out. Address: page in the chip.
    PageRead,
    /// Cells to register, a part of the page moved out.
    PartialPageRead,
    /// Out-of-band area only.
    OobRead,
    /// First program of a page's data area since its erase.
    PageProgram,
    /// A further program of a page's data area.
    Reprogram,
    /// Out-of-band area only.
    OobProgram,
    /// Address: block in the chip.
    Erase,
}

/// One flash operation, as an [`crate::EventSink`] sees it.
#[derive(Clone, Copy, Debug)]
pub struct OpEvent {
    pub at_ns: u64,
    pub busy_ns: u64,
    pub op: Op,
    /// Page in the chip, or block in the chip for an erase.
    pub address: u32,
    pub task: &'static Task,
    pub reason: &'static Reason,
}

/// The cost of a cause: numbers of operations, bytes on the bus, time. The names are those of the measured cases:
/// `page_reads` includes `partial_page_reads`, `page_programs` includes `reprograms`. The three times do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpCounts {
    pub page_reads: u64,
    pub partial_page_reads: u64,
    pub oob_reads: u64,
    pub page_programs: u64,
    pub reprograms: u64,
    pub oob_programs: u64,
    pub erases: u64,
    pub bus_out_bytes: u64,
    pub bus_in_bytes: u64,
    /// Time of the chip: array and bus.
    pub busy_ns: u64,
    /// Time of the NAND driver, beyond the chip's time.
    pub driver_ns: u64,
    /// Computing time: system calls and the file system.
    pub cpu_ns: u64,
}

impl OpCounts {
    #[inline]
    pub fn add(&mut self, op: Op, bus_out_bytes: u32, bus_in_bytes: u32, busy_ns: u64) {
        match op {
            Op::PageRead => self.page_reads += 1,
            Op::PartialPageRead => {
                self.page_reads += 1;
                self.partial_page_reads += 1;
            }
            Op::OobRead => self.oob_reads += 1,
            Op::PageProgram => self.page_programs += 1,
            Op::Reprogram => {
                self.page_programs += 1;
                self.reprograms += 1;
            }
            Op::OobProgram => self.oob_programs += 1,
            Op::Erase => self.erases += 1,
        }
        self.bus_out_bytes += u64::from(bus_out_bytes);
        self.bus_in_bytes += u64::from(bus_in_bytes);
        self.busy_ns += busy_ns;
    }

    /// All operations of whatever kind.
    pub fn operations(&self) -> u64 {
        self.page_reads + self.oob_reads + self.page_programs + self.oob_programs + self.erases
    }

    /// Time spent, of whatever kind.
    pub fn time_ns(&self) -> u64 {
        self.busy_ns + self.driver_ns + self.cpu_ns
    }

    fn zip(self, other: OpCounts, f: impl Fn(u64, u64) -> u64) -> OpCounts {
        OpCounts {
            page_reads: f(self.page_reads, other.page_reads),
            partial_page_reads: f(self.partial_page_reads, other.partial_page_reads),
            oob_reads: f(self.oob_reads, other.oob_reads),
            page_programs: f(self.page_programs, other.page_programs),
            reprograms: f(self.reprograms, other.reprograms),
            oob_programs: f(self.oob_programs, other.oob_programs),
            erases: f(self.erases, other.erases),
            bus_out_bytes: f(self.bus_out_bytes, other.bus_out_bytes),
            bus_in_bytes: f(self.bus_in_bytes, other.bus_in_bytes),
            busy_ns: f(self.busy_ns, other.busy_ns),
            driver_ns: f(self.driver_ns, other.driver_ns),
            cpu_ns: f(self.cpu_ns, other.cpu_ns),
        }
    }
}

impl Add for OpCounts {
    type Output = OpCounts;
    fn add(self, other: OpCounts) -> OpCounts {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for OpCounts {
    type Output = OpCounts;
    fn sub(self, other: OpCounts) -> OpCounts {
        self.zip(other, |a, b| a - b)
    }
}
