//! The writer of a trace: tracks, slices on them, instants, counters, flow arrows.
//!
//! Packets need not stand in the order of time: the reader sorts them, and keeps those of the same instant in the order of
//! the file. So of one track what begins first must be written first, and that is all. A call has its name only when it
//! ends; until then the packets of its track are held ([`Trace::hold`]), up to [`HELD_BYTES_MAX`].

use crate::proto::Proto;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Of one track.
const HELD_BYTES_MAX: usize = 16 << 20;
const BUFFER_BYTES: usize = 256 << 10;
/// Tracks of one sequence have numbers of their own.
const TRACKS_MAX: u64 = 1 << 12;

/// Fields of `TracePacket`.
mod packet {
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const INTERNED_DATA: u32 = 12;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    /// `Trace.packet`.
    pub const PACKET: u32 = 1;
}

/// Fields of `TrackEvent`.
mod event {
    pub const CATEGORY_IIDS: u32 = 3;
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const NAME_IID: u32 = 10;
    pub const TRACK_UUID: u32 = 11;
    pub const COUNTER_VALUE: u32 = 30;
    pub const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub const FLOW_IDS: u32 = 47;
    pub const TERMINATING_FLOW_IDS: u32 = 48;

    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// What has numbers in place of texts.
#[derive(Clone, Copy)]
enum Interned {
    Category,
    Event,
    Annotation,
    Value,
}

impl Interned {
    /// The field of `InternedData` that lists it.
    fn field(self) -> u32 {
        match self {
            Interned::Category => 1,
            Interned::Event => 2,
            Interned::Annotation => 3,
            Interned::Value => 29,
        }
    }
}

/// A track of this trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

/// A name, or a category, that the trace knows by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(u32);

/// The place of a track among its siblings.
pub type Rank = u32;

/// What is said of a slice beside its name.
#[derive(Clone, Copy, Debug)]
pub enum Arg<'a> {
    Number(&'a str, u64),
    Text(&'a str, &'a str),
}

/// An arrow that begins, passes, or ends at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    None,
    Through(u64),
    Ends(u64),
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Slices, instants and values of counters.
    pub events_n: u64,
    pub bytes: u64,
}

pub struct Trace {
    /// `None`: nothing is written.
    file: Option<File>,
    out: Proto,
    sequence: u64,
    names: [HashMap<String, u32>; 4],
    interned: u32,
    held: Vec<Option<Proto>>,
    written: Written,
    failed: Option<io::Error>,
}

impl Trace {
    /// A new file. Traces of different `sequence` numbers, from 1, can be put one after the other and are one trace then.
    ///
    /// Errors: the file cannot be made. That it cannot be written further shows in [`Trace::finish`].
    pub fn create(path: &Path, sequence: u32) -> io::Result<Trace> {
        let mut trace = Trace::on(Some(File::create(path)?), sequence);
        // The first packet of a sequence says that what was interned before is forgotten.
        trace.packet(|packet| packet.uint(packet::SEQUENCE_FLAGS, 1));
        Ok(trace)
    }

    /// A trace that is written nowhere.
    pub fn nowhere() -> Trace {
        Trace::on(None, 1)
    }

    fn on(file: Option<File>, sequence: u32) -> Trace {
        Trace {
            out: Proto { bytes: Vec::with_capacity(file.as_ref().map_or(0, |_| BUFFER_BYTES + 4096)) },
            file,
            sequence: u64::from(sequence),
            names: Default::default(),
            interned: 0,
            held: Vec::new(),
            written: Written::default(),
            failed: None,
        }
    }

    /// A packet that does not wait for a held track.
    fn packet(&mut self, build: impl FnOnce(&mut Proto)) {
        if self.file.is_none() {
            return;
        }
        let sequence = self.sequence;
        self.out.message(packet::PACKET, |packet| {
            packet.uint(packet::SEQUENCE_ID, sequence);
            build(packet);
        });
        self.write_if_full();
    }

    fn write_if_full(&mut self) {
        if self.out.bytes.len() >= BUFFER_BYTES {
            self.write_out();
        }
    }

    fn write_out(&mut self) {
        if let Some(file) = self.file.as_mut().filter(|_| self.failed.is_none()) {
            self.failed = file.write_all(&self.out.bytes).err();
        }
        self.written.bytes += self.out.bytes.len() as u64;
        self.out.bytes.clear();
    }

    // ---- tracks and names ------------------------------------------------------------------------------------------

    fn uuid(&self, track: Track) -> u64 {
        self.sequence * TRACKS_MAX + u64::from(track.0) + 1
    }

    fn describe(&mut self, parent: Option<(Track, Rank)>, name: &str, more: impl FnOnce(&mut Proto, u64)) -> Track {
        let track = Track(self.held.len() as u32);
        self.held.push(None);
        let (uuid, parent) = (self.uuid(track), parent.map(|(parent, rank)| (self.uuid(parent), rank)));
        let sequence = self.sequence;
        self.packet(|packet| {
            packet.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.uint(1, uuid);
                descriptor.text(2, name);
                if let Some((parent, rank)) = parent {
                    descriptor.uint(5, parent);
                    // sibling_order_rank
                    descriptor.uint(12, u64::from(rank));
                }
                more(descriptor, sequence);
            });
        });
        track
    }

    /// A group of tracks, which Perfetto shows as a process.
    pub fn group(&mut self, name: &str) -> Track {
        self.describe(None, name, |descriptor, sequence| {
            // child_ordering: by the ranks of the children.
            descriptor.uint(11, 3);
            descriptor.message(3, |process| {
                process.uint(1, sequence);
                process.text(6, name);
            });
        })
    }

    /// A track for slices.
    pub fn track(&mut self, (parent, rank): (Track, Rank), name: &str) -> Track {
        self.describe(Some((parent, rank)), name, |_, _| {})
    }

    /// A track for the values of a counter.
    pub fn counter(&mut self, (parent, rank): (Track, Rank), name: &str, unit: &str) -> Track {
        let unit = |descriptor: &mut Proto, _| descriptor.message(8, |counter| counter.text(6, unit));
        self.describe(Some((parent, rank)), name, unit)
    }

    fn interned(&mut self, kind: Interned, text: &str) -> u32 {
        let names = &mut self.names[kind as usize];
        if let Some(&number) = names.get(text) {
            return number;
        }
        self.interned += 1;
        let number = self.interned;
        names.insert(text.to_string(), number);
        self.packet(|packet| {
            packet.uint(packet::SEQUENCE_FLAGS, 2);
            packet.message(packet::INTERNED_DATA, |data| {
                data.message(kind.field(), |entry| {
                    entry.uint(1, u64::from(number));
                    entry.text(2, text);
                });
            });
        });
        number
    }

    /// The name of slices.
    pub fn name(&mut self, text: &str) -> Name {
        Name(self.interned(Interned::Event, text))
    }

    /// A category of slices.
    pub fn category(&mut self, text: &str) -> Name {
        Name(self.interned(Interned::Category, text))
    }

    // ---- events ----------------------------------------------------------------------------------------------------

    fn event(&mut self, track: Track, at_ns: u64, build: impl FnOnce(&mut Proto)) {
        if self.file.is_none() {
            return;
        }
        let (uuid, sequence) = (self.uuid(track), self.sequence);
        let out = match &mut self.held[track.0 as usize] {
            Some(held) => held,
            None => &mut self.out,
        };
        out.message(packet::PACKET, |packet| {
            packet.uint(packet::TIMESTAMP, at_ns);
            packet.uint(packet::SEQUENCE_ID, sequence);
            packet.uint(packet::SEQUENCE_FLAGS, 2);
            packet.message(packet::TRACK_EVENT, |event| {
                event.uint(event::TRACK_UUID, uuid);
                build(event);
            });
        });
        self.write_if_full();
    }

    fn named(&mut self, kind: u64, track: Track, at_ns: u64, (category, name): (Name, Name), args: &[Arg], flow: Flow) {
        if self.file.is_none() {
            return;
        }
        self.written.events_n += 1;
        // Names of arguments are interned before the packet that uses them.
        let mut numbers = [(0, 0); 6];
        for (place, arg) in numbers.iter_mut().zip(args) {
            *place = match *arg {
                Arg::Number(name, number) => (self.interned(Interned::Annotation, name), number),
                Arg::Text(name, text) => {
                    (self.interned(Interned::Annotation, name), u64::from(self.interned(Interned::Value, text)))
                }
            };
        }
        self.event(track, at_ns, |event| {
            event.uint(event::TYPE, kind);
            event.uint(event::CATEGORY_IIDS, u64::from(category.0));
            event.uint(event::NAME_IID, u64::from(name.0));
            for (arg, (name, value)) in args.iter().zip(numbers) {
                event.message(event::DEBUG_ANNOTATIONS, |annotation| {
                    annotation.uint(1, u64::from(name));
                    annotation.uint(if matches!(arg, Arg::Number(..)) { 3 } else { 17 }, value);
                });
            }
            match flow {
                Flow::None => {}
                Flow::Through(id) => event.fixed64(event::FLOW_IDS, id),
                Flow::Ends(id) => event.fixed64(event::TERMINATING_FLOW_IDS, id),
            }
        });
    }

    /// A slice begins; `what` is its category and its name. At most six arguments are written.
    pub fn begin(&mut self, track: Track, at_ns: u64, what: (Name, Name), args: &[Arg], flow: Flow) {
        self.named(event::SLICE_BEGIN, track, at_ns, what, args, flow);
    }

    /// The innermost slice of the track ends.
    pub fn end(&mut self, track: Track, at_ns: u64) {
        self.event(track, at_ns, |event| event.uint(event::TYPE, event::SLICE_END));
    }

    /// A whole slice in which no other one lies.
    pub fn slice(&mut self, track: Track, (start_ns, end_ns): (u64, u64), what: (Name, Name), args: &[Arg]) {
        self.begin(track, start_ns, what, args, Flow::None);
        self.end(track, end_ns);
    }

    pub fn instant(&mut self, track: Track, at_ns: u64, what: (Name, Name), args: &[Arg], flow: Flow) {
        self.named(event::INSTANT, track, at_ns, what, args, flow);
    }

    pub fn count(&mut self, track: Track, at_ns: u64, value: f64) {
        self.written.events_n += 1;
        self.event(track, at_ns, |event| {
            event.uint(event::TYPE, event::COUNTER);
            if value.fract() == 0.0 && value.abs() < 9e15 {
                event.uint(event::COUNTER_VALUE, value as i64 as u64)
            } else {
                event.double(event::DOUBLE_COUNTER_VALUE, value)
            }
        });
    }

    // ---- held tracks -----------------------------------------------------------------------------------------------

    /// From now on packets of this track wait for [`Trace::release`].
    pub fn hold(&mut self, track: Track) {
        self.held[track.0 as usize].get_or_insert_default();
    }

    /// Whether no more should be held.
    pub fn holds_too_much(&self, track: Track) -> bool {
        self.held[track.0 as usize].as_ref().is_some_and(|held| held.bytes.len() > HELD_BYTES_MAX)
    }

    /// Writes `before`, and then what the track holds. `false`: nothing was held, and nothing was written.
    pub fn release(&mut self, track: Track, before: impl FnOnce(&mut Trace)) -> bool {
        let Some(mut held) = self.held[track.0 as usize].take() else { return false };
        before(self);
        self.out.bytes.append(&mut held.bytes);
        self.write_if_full();
        true
    }

    /// Writes what waits in memory, except for tracks that are held: the file is whole up to now. `None`: there is none.
    ///
    /// Errors: the file could not be written, now or earlier.
    pub fn write_so_far(&mut self) -> io::Result<Option<Written>> {
        if self.file.is_none() {
            return Ok(None);
        }
        self.write_out();
        match &self.failed {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(Some(self.written)),
        }
    }

    /// Writes what is left. Returns how much the trace is.
    ///
    /// Errors: the file could not be written, now or earlier.
    pub fn finish(mut self) -> io::Result<Written> {
        for track in 0..self.held.len() as u32 {
            self.release(Track(track), |_| {});
        }
        self.write_out();
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.written),
        }
    }
}
