//! The tracks beside the lanes: who has the CPU, what each layer does and for what reason, what each unit of the medium does.

use crate::stacks::Frame;
use crate::trace::{Arg, Flow, Name, Rank, Trace, Track};
use ffslab_sim::{MediumUnits, Spent};

const COMPUTING_RANK: Rank = 300;
const DRIVER_RANK: Rank = 301;
const UNITS_RANK: Rank = 400;

/// A track on which slices of the same name that touch are one.
struct Layer {
    track: Track,
    category: Name,
    open: Option<(Name, u64, u64)>,
}

impl Layer {
    fn passes(&mut self, trace: &mut Trace, name: Name, (start_ns, end_ns): (u64, u64)) {
        match &mut self.open {
            Some((known, _, until_ns)) if *known == name && *until_ns == start_ns => *until_ns = end_ns,
            _ => {
                self.end(trace);
                self.open = Some((name, start_ns, end_ns));
            }
        }
    }

    fn end(&mut self, trace: &mut Trace) {
        if let Some((name, start_ns, end_ns)) = self.open.take() {
            trace.slice(self.track, (start_ns, end_ns), (self.category, name), &[]);
        }
    }
}

pub(crate) struct Layers {
    cpu: Layer,
    computing: Layer,
    driver: Layer,
    idle: Name,
    /// Category and name of each frame.
    words: Vec<(Frame, (Name, Name))>,
}

impl Layers {
    pub fn new(trace: &mut Trace, group: Track, cpu: Track) -> Layers {
        let mut layer = |rank, name: &str, category: &str| Layer {
            track: trace.track((group, rank), name),
            category: trace.category(category),
            open: None,
        };
        let computing = layer(COMPUTING_RANK, "file system (with the system calls)", "layer");
        let driver = layer(DRIVER_RANK, "driver", "layer");
        let cpu = Layer { track: cpu, category: trace.category("cpu"), open: None };
        Layers { cpu, computing, driver, idle: trace.name(Frame::Idle.name()), words: Vec::new() }
    }

    /// Category and name of slices of a frame.
    pub fn word(&mut self, frame: Frame, trace: &mut Trace) -> (Name, Name) {
        if let Some((_, what)) = self.words.iter().find(|(known, _)| *known == frame) {
            return *what;
        }
        let what = (trace.category(frame.category()), trace.name(frame.name()));
        self.words.push((frame, what));
        what
    }

    pub fn passes(&mut self, trace: &mut Trace, on: Spent, reason: Name, span_ns: (u64, u64)) {
        match on {
            Spent::Computing => self.computing.passes(trace, reason, span_ns),
            Spent::Driver => self.driver.passes(trace, reason, span_ns),
            Spent::Program | Spent::Medium | Spent::Idle => {}
        }
    }

    pub fn has_cpu(&mut self, trace: &mut Trace, who: Name, is_idle: bool, span_ns: (u64, u64)) {
        let who = if is_idle { self.idle } else { who };
        self.cpu.passes(trace, who, span_ns);
    }

    pub fn end(&mut self, trace: &mut Trace) {
        for layer in [&mut self.cpu, &mut self.computing, &mut self.driver] {
            layer.end(trace);
        }
    }
}

/// Die and plane; operations of a unit may overlap (a transfer while the cells work), which takes a track more.
struct Unit {
    of: Option<(u32, u32)>,
    track: Track,
    busy_until_ns: u64,
}

#[derive(Default)]
pub(crate) struct Units(Vec<Unit>);

impl Units {
    #[allow(clippy::too_many_arguments)]
    pub fn works(
        &mut self,
        trace: &mut Trace,
        group: Track,
        unit: Option<(MediumUnits, (u32, u32))>,
        (start_ns, end_ns): (u64, u64),
        what: (Name, Name),
        places: &[Arg],
        reason: &str,
    ) {
        let of = unit.map(|(_, of)| of);
        let free = self.0.iter().position(|unit| unit.of == of && unit.busy_until_ns <= start_ns);
        let place = free.unwrap_or_else(|| self.add(trace, group, unit));
        let unit = &mut self.0[place];
        unit.busy_until_ns = end_ns;
        let mut args = [Arg::Text("reason", reason); 3];
        args[1..=places.len()].copy_from_slice(places);
        trace.begin(unit.track, start_ns, what, &args[..=places.len()], Flow::None);
        trace.end(unit.track, end_ns);
    }

    fn add(&mut self, trace: &mut Trace, group: Track, unit: Option<(MediumUnits, (u32, u32))>) -> usize {
        let of = unit.map(|(_, of)| of);
        let name = match unit {
            None => "flash".to_string(),
            Some((units, _)) if units.dies == 1 && units.planes_per_die == 1 => "flash: die 0".to_string(),
            Some((units, (die, _))) if units.planes_per_die == 1 => format!("flash: die {die}"),
            Some((_, (die, plane))) => format!("flash: die {die}, plane {plane}"),
        };
        let number = of.map_or(0, |(die, plane)| die * 16 + plane);
        let more = self.0.iter().filter(|unit| unit.of == of).count();
        let name = if more > 0 { format!("{name} (overlap {more})") } else { name };
        let track = trace.track((group, UNITS_RANK + number), &name);
        self.0.push(Unit { of, track, busy_until_ns: 0 });
        self.0.len() - 1
    }
}
