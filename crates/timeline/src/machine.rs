//! Draws what a machine does: on a lane for each program and background task, on a track for each layer and each unit of
//! the medium; and adds it to the stacks. Times are those since the timeline began.
//!
//! **What holds.** The slices of the track "CPU" lie end to end and cover all time, so their sum is the clock. The leaves
//! of all lanes (categories program, computing, driver, flash, idle) do so, too, unless calls are left out.

use crate::counters::Counters;
use crate::lanes::{Lane, Leaf, OpenCall};
use crate::layers::{Layers, Units};
use crate::stacks::{Cost, Frame, Stacks};
use crate::timeline::{Finished, Wanted};
use crate::trace::{Arg, Flow, Trace, Track, Written};
use crate::words::Words;
use ffslab_sim::{CallDone, Energy, MediumUnits, Op, OpEvent, Reason, Sim, Span, Spent, Task, CALLER, OTHER};
use std::collections::HashMap;
use std::io;

/// What stacks say of a background task in place of a call.
const IN_BACKGROUND: &str = "in the background";
const BETWEEN_CALLS: &str = "between calls";

/// Places of tracks: programs, then background tasks, layers, units, counters.
mod rank {
    pub const CPU: u32 = 0;
    pub const PROGRAMS: u32 = 100;
    pub const TASKS: u32 = 200;
}

/// Arrows between causes and what they bring about later.
#[derive(Default)]
struct Flows {
    last: u64,
    /// What was left for later, and the arrow from where; 0: none.
    left: HashMap<(u64, u64), u64>,
    /// Tasks that were woken and have not run since.
    woken: Vec<(&'static str, u64)>,
}

impl Flows {
    fn fresh(&mut self, sequence: u32) -> u64 {
        self.last += 1;
        (u64::from(sequence) << 40) | self.last
    }
}

pub(crate) struct Watching {
    sim: Sim,
    trace: Trace,
    group: Track,
    words: Words,
    stacks: Stacks,
    sequence: u32,
    start_ns: u64,
    now_ns: u64,
    every: u64,
    /// Those of the programs first.
    lanes: Vec<Lane>,
    programs_n: usize,
    /// Lane of the program that has its turn.
    program: usize,
    /// Lane of whoever has the CPU.
    running: usize,
    layers: Layers,
    medium: Option<MediumUnits>,
    units: Units,
    flows: Flows,
    counters: Counters,
    /// What energy is charged for.
    last_frame: Frame,
}

impl Watching {
    pub fn new(sim: &Sim, trace: Option<Trace>, wanted: &Wanted) -> Watching {
        let mut trace = trace.unwrap_or_else(Trace::nowhere);
        let sampled = match wanted.every_calls {
            0 | 1 => String::new(),
            every => format!(" (sampled: what happens in a call is drawn of one in {every})"),
        };
        let group = trace.group(&format!("{}{sampled}", wanted.title));
        let cpu = trace.track((group, rank::CPU), "CPU");
        let mut stacks = Stacks::default();
        let between = stacks.name(BETWEEN_CALLS);
        let names = if wanted.programs.is_empty() { vec![CALLER.title.to_string()] } else { wanted.programs.clone() };
        let mut lanes = Vec::new();
        for (number, name) in (0..).zip(&names) {
            let track = trace.track((group, rank::PROGRAMS + number), name);
            lanes.push(Lane::new((trace.name(name), stacks.name(name)), track, None, between));
        }
        Watching {
            sim: sim.clone(),
            layers: Layers::new(&mut trace, group, cpu),
            words: Words::new(&mut trace),
            trace,
            group,
            stacks,
            sequence: wanted.sequence,
            start_ns: sim.now_ns(),
            now_ns: sim.now_ns(),
            every: wanted.every_calls.max(1),
            programs_n: lanes.len(),
            lanes,
            program: 0,
            running: 0,
            medium: sim.medium_units(),
            units: Units::default(),
            flows: Flows::default(),
            counters: Counters::default(),
            last_frame: Frame::Computing,
        }
    }

    fn at(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.start_ns)
    }

    fn is_drawn(&self) -> bool {
        self.lanes[self.program].is_drawn()
    }

    // ---- who runs --------------------------------------------------------------------------------------------------

    fn lane_of(&mut self, task: &'static Task) -> usize {
        if task == &CALLER {
            return self.program;
        }
        let known = self.lanes[self.programs_n..].iter().position(|lane| lane.task == Some(task));
        match known {
            Some(place) => self.programs_n + place,
            None => self.add_task(task),
        }
    }

    fn add_task(&mut self, task: &'static Task) -> usize {
        let rank = rank::TASKS + self.lanes.len() as u32;
        let track = self.trace.track((self.group, rank), task.title);
        let outside = self.stacks.name(IN_BACKGROUND);
        let names = (self.trace.name(task.title), self.stacks.name(task.title));
        self.lanes.push(Lane::new(names, track, Some(task), outside));
        self.lanes.len() - 1
    }

    /// From now on this one has the CPU.
    fn runs(&mut self, next: usize) {
        if next == self.running {
            return;
        }
        let now_ns = self.at(self.now_ns);
        let is_drawn = self.is_drawn();
        self.close_inner(self.running);
        let next_name = self.lanes[next].name;
        let before = &mut self.lanes[self.running];
        if before.task.is_none() {
            if before.call.is_some() && is_drawn && !before.waits {
                before.waits = true;
                self.trace.begin(before.track, now_ns, (self.words.wait, next_name), &[], Flow::None);
            }
        } else {
            self.end_turn(self.running);
        }
        self.running = next;
        let lane = &mut self.lanes[next];
        if let Some(task) = lane.task {
            let woken = self.flows.woken.iter().position(|(name, _)| *name == task.name);
            let flow = woken.map_or(Flow::None, |place| Flow::Ends(self.flows.woken.swap_remove(place).1));
            lane.made_up = None;
            lane.flow = None;
            if is_drawn {
                lane.has_turn = true;
                self.trace.begin(lane.track, now_ns, (self.words.turn, lane.name), &[], flow);
            }
        } else if std::mem::take(&mut lane.waits) {
            self.trace.end(lane.track, now_ns);
        }
    }

    fn end_turn(&mut self, lane: usize) {
        let now_ns = self.at(self.now_ns);
        let lane = &mut self.lanes[lane];
        if std::mem::take(&mut lane.has_turn) {
            self.trace.end(lane.track, now_ns);
        }
        self.stacks.add((lane.stack, lane.outside), &mut lane.below);
        self.counters.show(&mut self.trace, self.group, now_ns, false);
    }

    // ---- what is open on a lane ------------------------------------------------------------------------------------

    fn flush_leaf(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        if let Some(Leaf { on, start_ns, end_ns }) = lane.leaf.take() {
            let what = self.layers.word(Frame::of_time(on), &mut self.trace);
            self.trace.slice(lane.track, (start_ns, end_ns), what, &[]);
        }
    }

    /// Ends what is open inside the call, or the turn.
    fn close_inner(&mut self, lane: usize) {
        self.flush_leaf(lane);
        let now_ns = self.at(self.now_ns);
        let lane = &mut self.lanes[lane];
        if lane.reason.take().is_some() {
            self.trace.end(lane.track, now_ns);
        }
    }

    fn set_reason(&mut self, place: usize, reason: &'static Reason) {
        let stated = Some(reason).filter(|&reason| reason != &OTHER);
        if self.lanes[place].reason == stated {
            return;
        }
        self.close_inner(place);
        if let Some(reason) = stated {
            let name = self.words.of(reason, &mut self.trace);
            let at_ns = self.at(self.now_ns);
            let lane = &mut self.lanes[place];
            lane.reason = Some(reason);
            self.trace.begin(lane.track, at_ns, (self.words.reason, name), &[], Flow::None);
        }
        self.ease(place);
    }

    /// Does not let a call keep too much in memory.
    fn ease(&mut self, place: usize) {
        let lane = &mut self.lanes[place];
        if self.trace.holds_too_much(lane.track) {
            if let Some(call) = &mut lane.call {
                let (track, start_ns) = (lane.track, call.start_ns);
                let what = (self.words.call, self.words.long_call);
                call.is_drawn = self.trace.release(track, |trace| trace.begin(track, start_ns, what, &[], Flow::None));
            }
        }
    }

    // ---- what the machine tells ------------------------------------------------------------------------------------

    pub fn time_passes(&mut self, span: &Span) {
        debug_assert_eq!(span.start_ns, self.now_ns, "time that nobody has told of");
        let place = self.lane_of(span.task);
        self.runs(place);
        let (start_ns, end_ns) = (self.at(span.start_ns), self.at(span.start_ns + span.duration_ns));
        let frame = Frame::of_time(span.on);
        if self.is_drawn() {
            self.set_reason(place, span.reason);
            match &mut self.lanes[place].leaf {
                Some(leaf) if leaf.on == span.on && leaf.end_ns == start_ns => leaf.end_ns = end_ns,
                _ => {
                    self.flush_leaf(place);
                    self.lanes[place].leaf = Some(Leaf { on: span.on, start_ns, end_ns });
                }
            }
            let why = self.words.of(span.reason, &mut self.trace);
            self.layers.passes(&mut self.trace, span.on, why, (start_ns, end_ns));
        }
        let has_cpu = self.lanes[place].name;
        self.layers.has_cpu(&mut self.trace, has_cpu, span.on == Spent::Idle, (start_ns, end_ns));
        self.now_ns = span.start_ns + span.duration_ns;
        if matches!(span.on, Spent::Computing | Spent::Program) {
            self.last_frame = frame;
        }
        let cost = Cost { time_ns: span.duration_ns, ..Cost::default() };
        self.lanes[place].below.add(span.reason, frame, cost);
    }

    pub fn flash_op(&mut self, event: &OpEvent, is_waited_for: bool) {
        let frame = Frame::of_op(event.op);
        self.last_frame = frame;
        let (start_ns, end_ns) = (self.at(event.at_ns), self.at(event.at_ns + event.busy_ns));
        let place = self.lane_of(event.task);
        let what = self.layers.word(frame, &mut self.trace);
        let block = self.medium.map(|units| units.block_of(event.op, event.address));
        let places = [
            Arg::Number("block", u64::from(block.unwrap_or(event.address))),
            Arg::Number("page", u64::from(event.address)),
        ];
        let args = if event.op == Op::Erase { &places[..1] } else { &places[..] };
        if is_waited_for {
            debug_assert_eq!(event.at_ns, self.now_ns, "time that nobody has told of");
            self.runs(place);
        }
        if self.is_drawn() {
            let unit = self.medium.zip(block).map(|(medium, block)| (medium, medium.unit_of(block)));
            self.units.works(&mut self.trace, self.group, unit, (start_ns, end_ns), what, args, event.reason.name);
        }
        if is_waited_for {
            if self.is_drawn() {
                self.set_reason(place, event.reason);
                self.flush_leaf(place);
                let track = self.lanes[place].track;
                self.trace.slice(track, (start_ns, end_ns), what, args);
                self.ease(place);
            }
            let has_cpu = self.lanes[place].name;
            self.layers.has_cpu(&mut self.trace, has_cpu, false, (start_ns, end_ns));
            self.now_ns += event.busy_ns;
        } else {
            let now_ns = self.at(self.now_ns);
            self.counters.queued(&mut self.trace, self.group, now_ns, end_ns);
        }
        let page_bytes = self.medium.map_or(0, |medium| medium.page_bytes);
        self.counters.operation(event.op, page_bytes);
        let time_ns = if is_waited_for { event.busy_ns } else { 0 };
        let erases = u64::from(event.op == Op::Erase);
        self.lanes[place].below.add(event.reason, frame, Cost { time_ns, operations: 1, erases, ..Cost::default() });
    }

    pub fn energy_used(&mut self, used: Energy, task: &'static Task, reason: &'static Reason) {
        let place = self.lane_of(task);
        let cost = Cost { energy_uj: used.total_uj(), ..Cost::default() };
        self.lanes[place].below.add(reason, self.last_frame, cost);
        self.counters.energy(used);
    }

    // ---- steps and calls -------------------------------------------------------------------------------------------

    pub fn program_goes_on(&mut self, program: usize) {
        self.program = program.min(self.programs_n - 1);
    }

    /// Ends what is open on the lane of the program down to its step.
    fn close_call(&mut self) {
        self.runs(self.program);
        self.close_inner(self.program);
        let now_ns = self.at(self.now_ns);
        let lane = &mut self.lanes[self.program];
        self.stacks.add((lane.stack, lane.outside), &mut lane.below);
        // A call of which nobody has said that it ended is not drawn.
        if let Some(call) = lane.call.take() {
            self.trace.release(lane.track, |_| {});
            if call.is_drawn {
                self.trace.end(lane.track, now_ns);
            }
        }
        (lane.flow, lane.made_up) = (None, None);
    }

    pub fn step_begins(&mut self, title: &str, name: &str) {
        self.step_ends();
        let now_ns = self.at(self.now_ns);
        let title = self.trace.name(title);
        let lane = &mut self.lanes[self.program];
        lane.outside = self.stacks.name(name);
        lane.has_step = true;
        self.trace.begin(lane.track, now_ns, (self.words.step, title), &[], Flow::None);
    }

    pub fn step_ends(&mut self) {
        self.close_call();
        let now_ns = self.at(self.now_ns);
        let lane = &mut self.lanes[self.program];
        lane.outside = self.stacks.name(BETWEEN_CALLS);
        if std::mem::take(&mut lane.has_step) {
            self.trace.end(lane.track, now_ns);
        }
    }

    pub fn call_begins(&mut self, at_ns: u64) {
        debug_assert_eq!(at_ns, self.now_ns, "time that nobody has told of");
        self.close_call();
        let start_ns = self.at(at_ns);
        let lane = &mut self.lanes[self.program];
        let is_skipped = !lane.calls.is_multiple_of(self.every);
        lane.calls += 1;
        lane.call = Some(OpenCall { start_ns, is_skipped, is_drawn: false });
        self.trace.hold(lane.track);
    }

    pub fn call_ends(&mut self, done: &CallDone) {
        self.runs(self.program);
        self.close_inner(self.program);
        let now_ns = self.at(self.now_ns);
        let lane = &mut self.lanes[self.program];
        let Some(call) = lane.call.take() else { return };
        let name = self.stacks.name(done.name);
        self.stacks.add((lane.stack, name), &mut lane.below);
        let what = (self.words.call, self.trace.name(done.name));
        let args = [
            Arg::Text("file", done.file),
            Arg::Number("offset_B", done.offset_bytes),
            Arg::Number("bytes", done.bytes),
        ];
        let track = lane.track;
        if call.is_drawn {
            self.trace.instant(track, now_ns, what, &args, Flow::None);
        } else {
            self.trace.release(track, |trace| trace.begin(track, call.start_ns, what, &args, Flow::None));
        }
        self.trace.end(track, now_ns);
        (lane.flow, lane.made_up) = (None, None);
        self.counters.call(done);
        self.counters.show(&mut self.trace, self.group, now_ns, false);
    }

    // ---- arrows ----------------------------------------------------------------------------------------------------

    /// Makes sure that the lane of whoever has the CPU is the running one, though he has spent no time yet.
    fn notice_who_runs(&mut self) {
        let running = self.lane_of(self.sim.running());
        self.runs(running);
    }

    pub fn wakes(&mut self, task: &Task, at_ns: u64) {
        self.notice_who_runs();
        if !self.is_drawn() || self.flows.woken.iter().any(|(name, _)| *name == task.name) {
            return;
        }
        let flow = self.flows.fresh(self.sequence);
        self.flows.woken.push((task.name, flow));
        let what = (self.words.link, self.trace.name(&format!("wakes {}", task.title)));
        let (track, at_ns) = (self.lanes[self.running].track, self.at(at_ns));
        self.trace.instant(track, at_ns, what, &[], Flow::Through(flow));
    }

    pub fn puts_off(&mut self, piece: (u64, u64), at_ns: u64) {
        self.notice_who_runs();
        let flow = match self.lanes[self.running].flow {
            Some(flow) => flow,
            None if !self.is_drawn() => 0,
            None => {
                let flow = self.flows.fresh(self.sequence);
                let track = self.lanes[self.running].track;
                let at_ns = self.at(at_ns);
                self.trace.instant(track, at_ns, (self.words.link, self.words.leaves), &[], Flow::Through(flow));
                flow
            }
        };
        self.lanes[self.running].flow = Some(flow);
        self.flows.left.insert(piece, flow);
        self.counters.put_off(self.flows.left.len() as u64);
    }

    pub fn makes_up(&mut self, piece: (u64, u64), at_ns: u64, is_done: bool) {
        let Some(flow) = self.flows.left.remove(&piece) else { return };
        self.notice_who_runs();
        self.counters.put_off(self.flows.left.len() as u64);
        let lane = &self.lanes[self.running];
        let is_news = lane.flow != Some(flow) && lane.made_up != Some(flow);
        if is_done && flow != 0 && is_news && self.is_drawn() {
            let (track, at_ns) = (lane.track, self.at(at_ns));
            self.trace.instant(track, at_ns, (self.words.link, self.words.makes_up), &[], Flow::Through(flow));
            self.lanes[self.running].made_up = Some(flow);
        }
    }

    pub fn forgets(&mut self, owners: &dyn Fn(u64) -> bool, at_ns: u64) {
        self.flows.left.retain(|(owner, _), _| !owners(*owner));
        self.counters.put_off(self.flows.left.len() as u64);
        let at_ns = self.at(at_ns);
        self.counters.show(&mut self.trace, self.group, at_ns, true);
    }

    // ---- counters --------------------------------------------------------------------------------------------------

    pub fn asks_for_free_blocks(&self, now_ns: u64) -> bool {
        self.counters.are_due(self.at(now_ns))
    }

    pub fn free_blocks_are(&mut self, free_blocks: u64) {
        self.counters.free_blocks(free_blocks);
    }

    pub fn write_so_far(&mut self) -> io::Result<Option<Written>> {
        self.trace.write_so_far()
    }

    pub fn finish(&mut self, now_ns: u64) -> io::Result<Finished> {
        debug_assert_eq!(now_ns, self.now_ns, "time that nobody has told of");
        for place in 0..self.lanes.len() {
            match self.lanes[place].task {
                None => {
                    self.program = place;
                    self.step_ends();
                }
                Some(_) => {
                    self.close_inner(place);
                    self.end_turn(place);
                }
            }
        }
        let end_ns = self.at(now_ns);
        self.layers.end(&mut self.trace);
        self.counters.end(&mut self.trace, self.group, end_ns);
        let written = std::mem::replace(&mut self.trace, Trace::nowhere()).finish()?;
        Ok(Finished { stacks: std::mem::take(&mut self.stacks), written })
    }
}
