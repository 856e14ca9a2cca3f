//! Sums by task, call, reason and operation: what flame graphs are drawn of.

use ffslab_sim::{Op, Reason, Spent};
use std::collections::HashMap;

/// The innermost frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Frame {
    PageRead,
    PartialPageRead,
    OobRead,
    PageProgram,
    Reprogram,
    OobProgram,
    Erase,
    /// Somebody waits for an operation that the medium was told to do earlier.
    Waiting,
    Driver,
    Computing,
    /// The program computes.
    Program,
    Idle,
}

impl Frame {
    pub fn of_op(op: Op) -> Frame {
        match op {
            Op::PageRead => Frame::PageRead,
            Op::PartialPageRead => Frame::PartialPageRead,
            Op::OobRead => Frame::OobRead,
            Op::PageProgram => Frame::PageProgram,
            Op::Reprogram => Frame::Reprogram,
            Op::OobProgram => Frame::OobProgram,
            Op::Erase => Frame::Erase,
        }
    }

    pub fn of_time(spent: Spent) -> Frame {
        match spent {
            Spent::Program => Frame::Program,
            Spent::Computing => Frame::Computing,
            Spent::Driver => Frame::Driver,
            Spent::Medium => Frame::Waiting,
            Spent::Idle => Frame::Idle,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Frame::PageRead => "page read",
            Frame::PartialPageRead => "partial page read",
            Frame::OobRead => "OOB read",
            Frame::PageProgram => "page program",
            Frame::Reprogram => "page program again",
            Frame::OobProgram => "OOB program",
            Frame::Erase => "block erase",
            Frame::Waiting => "wait for the flash",
            Frame::Driver => "driver",
            Frame::Computing => "system and file system",
            Frame::Program => "program computes",
            Frame::Idle => "idle",
        }
    }

    /// What the time of this frame is counted as in slices of a timeline.
    pub fn category(self) -> &'static str {
        match self {
            Frame::Driver => "driver",
            Frame::Computing => "computing",
            Frame::Program => "program",
            Frame::Idle => "idle",
            _ => "flash",
        }
    }
}

/// What a stack has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub time_ns: u64,
    pub energy_uj: f64,
    pub operations: u64,
    pub erases: u64,
}

impl Cost {
    fn add(&mut self, other: Cost) {
        self.time_ns += other.time_ns;
        self.energy_uj += other.energy_uj;
        self.operations += other.operations;
        self.erases += other.erases;
    }
}

/// A stack with its cost.
#[derive(Clone, Debug, PartialEq)]
pub struct StackRow {
    pub task: String,
    pub call: String,
    /// `None`: nobody has stated one.
    pub reason: Option<&'static str>,
    pub frame: Frame,
    pub cost: Cost,
}

/// A reason by its place in memory: there is one of each.
#[derive(Clone, Copy)]
struct Why(&'static Reason);

impl PartialEq for Why {
    fn eq(&self, other: &Why) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Why {}

impl std::hash::Hash for Why {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

/// The part of a stack below a call whose name is known only at its end.
#[derive(Default)]
pub(crate) struct Below(Vec<(Why, Frame, Cost)>);

impl Below {
    pub fn add(&mut self, reason: &'static Reason, frame: Frame, cost: Cost) {
        let why = Why(reason);
        // A call has few reasons, and mostly goes on with the last one.
        match self.0.iter_mut().rev().find(|(known, of, _)| *known == why && *of == frame) {
            Some((_, _, sum)) => sum.add(cost),
            None => self.0.push((why, frame, cost)),
        }
    }
}

/// Sums by task, call, reason and operation. Every nanosecond that passed is in one of them.
#[derive(Default)]
pub struct Stacks {
    names: Vec<String>,
    sums: HashMap<(u32, u32, Why, Frame), Cost>,
}

impl Stacks {
    /// The number of a name of a task or call.
    pub(crate) fn name(&mut self, text: &str) -> u32 {
        let place = self.names.iter().position(|known| known == text).unwrap_or_else(|| {
            self.names.push(text.to_string());
            self.names.len() - 1
        });
        place as u32
    }

    /// Adds what happened in a call of a task, and empties it.
    pub(crate) fn add(&mut self, (task, call): (u32, u32), below: &mut Below) {
        for (why, frame, cost) in below.0.drain(..) {
            self.sums.entry((task, call, why, frame)).or_default().add(cost);
        }
    }

    /// The stacks in alphabetical order of their tasks, calls and reasons.
    pub fn rows(&self) -> Vec<StackRow> {
        let stated = |why: Why| (why.0 != &ffslab_sim::OTHER).then_some(why.0.name);
        let name = |number: u32| self.names[number as usize].clone();
        let row = |(&(task, call, why, frame), &cost): (&(u32, u32, Why, Frame), &Cost)| StackRow {
            task: name(task),
            call: name(call),
            reason: stated(why),
            frame,
            cost,
        };
        let mut rows: Vec<StackRow> = self.sums.iter().map(row).collect();
        rows.sort_by(|a, b| (&a.task, &a.call, a.reason, a.frame).cmp(&(&b.task, &b.call, b.reason, b.frame)));
        rows
    }
}
