//! Reads a trace line by line: joins calls that were interrupted in the text, keeps track of descriptors and
//! directories, and yields the file system calls with absolute paths. Whether they are below the root is decided later.

use super::calls::{self, Effect};
use super::descriptors::{self, Object, Processes};
use super::error::StraceError;
use super::line::{self, Event, Parsed};
use super::{args, Call, Handle, OpenFlags, Outcome, Record};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a call has shown about a file, apart from its effect. It is needed to find out what existed before the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    None,
    Stat { directory: bool, size_bytes: u64 },
    Link { target: Vec<u8> },
}

/// A call that is to be replayed, or (without `record`) a call on a known file that cannot be replayed.
#[derive(Clone, Debug)]
pub struct Followed {
    pub record: Option<Record>,
    /// The name of a call that is not replayed, with the reason if that is not obvious.
    pub ignored: Option<String>,
    /// The absolute paths of the call.
    pub paths: Vec<Vec<u8>>,
    pub evidence: Evidence,
    /// This is the open call, added here, of a descriptor that was open before the trace began.
    pub implied: bool,
}

impl Followed {
    fn of(record: Record, paths: Vec<Vec<u8>>) -> Self {
        Followed { record: Some(record), ignored: None, paths, evidence: Evidence::None, implied: false }
    }
}

/// Everything that was read from a trace.
#[derive(Default)]
pub struct Whole {
    pub calls: Vec<Followed>,
    /// The path with which each handle was opened.
    pub handles: Vec<Vec<u8>>,
    pub calls_seen: u64,
}

struct Begun {
    line: u64,
    at_ns: u64,
    text: String,
    /// The effect on the tables was applied when the call began (close, clone).
    early: bool,
    /// The object of the call's descriptor at its beginning. The kernel keeps it until the call returns.
    held: Option<Rc<Object>>,
}

#[derive(Default)]
pub struct Follower {
    processes: Processes,
    begun: BTreeMap<u32, Begun>,
    first_ns: Option<u64>,
    whole: Whole,
    /// Directories whose entries have been listed.
    listed: Vec<bool>,
}

/// Line, process and time of a call.
#[derive(Clone, Copy)]
pub struct Place {
    pub line: u64,
    pub process: u32,
    pub at_ns: u64,
}

impl Follower {
    /// Reads the next line. The error states what was expected instead.
    pub fn line(&mut self, number: u64, text: &str) -> Result<(), StraceError> {
        let Some(parsed) = line::parse(text)? else { return Ok(()) };
        let first_ns = *self.first_ns.get_or_insert(parsed.at_ns);
        let place = Place { line: number, process: parsed.process, at_ns: parsed.at_ns.saturating_sub(first_ns) };
        self.processes.meet(parsed.process);
        match parsed.event {
            Event::Nothing => {}
            Event::Exit => {
                self.begun.remove(&parsed.process);
                let closed = self.processes.exit(parsed.process);
                self.close_handles(place, 0, closed);
            }
            Event::Call(text) => self.complete(place, text, false, None)?,
            Event::Unfinished(text) => {
                let early = self.begin_early(place, text);
                let held = if early { None } else { self.hold(place, text) };
                let begun = Begun { line: number, at_ns: place.at_ns, text: text.to_string(), early, held };
                self.begun.insert(parsed.process, begun);
            }
            Event::Resumed(rest) => {
                // A call whose beginning is not in the trace began before the trace.
                if let Some(begun) = self.begun.remove(&parsed.process) {
                    let place = Place { line: begun.line, at_ns: begun.at_ns, ..place };
                    let text = format!("{}{rest}", begun.text);
                    self.complete(place, &text, begun.early, begun.held.clone())?;
                    let closed = begun.held.and_then(descriptors::last_use);
                    self.close_handles(place, 0, closed);
                }
            }
        }
        Ok(())
    }

    pub fn finish(self) -> Whole {
        self.whole
    }

    /// The calls since the last time that this was called, with the paths of all handles so far.
    pub fn take(&mut self) -> (std::vec::Drain<'_, Followed>, &[Vec<u8>]) {
        let Whole { calls, handles, .. } = &mut self.whole;
        (calls.drain(..), handles)
    }

    /// Applies effects that other processes may see before the call returns: the child of a clone may make calls at
    /// once, and the number of a closed descriptor may be reused. Returns whether there was such an effect.
    fn begin_early(&mut self, place: Place, text: &str) -> bool {
        match line::call_name(text) {
            Some("close") => {
                let argument = text["close(".len()..].trim_end_matches(')').trim();
                if let Some((descriptor, _)) = args::descriptor(argument) {
                    let closed = self.processes.close(place.process, descriptor);
                    self.close_handles(place, 0, closed);
                }
                true
            }
            Some("fork" | "vfork" | "clone" | "clone3") => {
                self.birth(place, text);
                true
            }
            _ => false,
        }
    }

    /// The object of the first argument of an interpreted call, if that argument is a descriptor.
    fn hold(&mut self, place: Place, text: &str) -> Option<Rc<Object>> {
        let name = line::call_name(text).filter(|name| calls::is_known(name))?;
        let arguments = &text[name.len() + 1..];
        let first = &arguments[..arguments.find([',', ')']).unwrap_or(arguments.len())];
        self.processes.get(place.process, args::descriptor(first.trim())?.0)
    }

    fn birth(&mut self, place: Place, text: &str) {
        let shares = |flag: &str| text.split(['|', '=', ',', '}', ' ', ')']).any(|word| word == flag);
        self.processes.birth(place.process, shares("CLONE_FILES"), shares("CLONE_FS"));
    }

    fn complete(&mut self, place: Place, text: &str, early: bool, held: Option<Rc<Object>>) -> Result<(), StraceError> {
        self.whole.calls_seen += 1;
        let name = line::call_name(text).unwrap_or_default();
        if !calls::is_known(name) {
            let complete = line::looks_complete(text);
            return complete.then_some(()).ok_or_else(|| StraceError::NoResult { call: name.to_string() });
        }
        let parsed = line::call(text)?;
        match name {
            "fork" | "vfork" | "clone" | "clone3" => {
                if !early {
                    self.birth(place, text);
                }
                let child = match parsed.result {
                    Some(Outcome::Value(id)) if id > 0 => u32::try_from(id).ok(),
                    _ => None,
                };
                let closed = self.processes.born(place.process, child);
                self.close_handles(place, 0, closed);
            }
            "close" if early => {}
            _ => {
                if let Some(result) = parsed.result.clone() {
                    let effect = calls::interpret(self, place, &parsed, &result, held)?;
                    self.apply(place, &parsed, result, effect);
                }
            }
        }
        Ok(())
    }

    fn apply(&mut self, place: Place, parsed: &Parsed<'_>, result: Outcome, effect: Effect) {
        match effect {
            Effect::Nothing => {}
            Effect::Ignored { why, path } => {
                let (paths, evidence) = (vec![path], Evidence::None);
                let ignored = Followed { record: None, ignored: Some(why), paths, evidence, implied: false };
                self.whole.calls.push(ignored);
            }
            Effect::Call { call, paths, evidence } => {
                let record = record(place, parsed.duration_ns, call, result);
                self.whole.calls.push(Followed { evidence, ..Followed::of(record, paths) });
            }
            Effect::Close(closed) => self.close_handles(place, parsed.duration_ns, closed),
        }
    }

    // ---- what the interpreter of calls asks for --------------------------------------------------------------

    pub fn processes(&mut self) -> &mut Processes {
        &mut self.processes
    }

    /// A new open file description.
    pub fn new_handle(&mut self, path: &[u8]) -> Handle {
        self.whole.handles.push(path.to_vec());
        self.listed.push(false);
        (self.whole.handles.len() - 1) as Handle
    }

    /// Whether this is the first listing of the directory since it was opened.
    pub fn first_listing(&mut self, handle: Handle) -> bool {
        !std::mem::replace(&mut self.listed[handle as usize], true)
    }

    /// The object of a descriptor. A descriptor that was open before the trace began is known only from strace -y; an
    /// open call is added for it.
    pub fn object(&mut self, place: Place, descriptor: i32, annotation: Option<Vec<u8>>) -> Option<Rc<Object>> {
        if let Some(object) = self.processes.get(place.process, descriptor) {
            return Some(object);
        }
        let path = annotation.filter(|path| !is_special(path))?;
        let handle = self.new_handle(&path);
        let object = Rc::new(Object::File { handle, path: path.clone() });
        self.processes.set(place.process, descriptor, object.clone(), false);
        let call = Call::Open { handle, path: path.clone(), flags: OpenFlags::READ_WRITE, permissions: 0 };
        let record = record(place, 0, call, Outcome::Value(i64::from(descriptor)));
        self.whole.calls.push(Followed { implied: true, ..Followed::of(record, vec![path]) });
        Some(object)
    }

    /// Adds close calls for open file descriptions that have lost their last descriptor.
    pub fn close_handles(&mut self, place: Place, duration_ns: u64, closed: impl IntoIterator<Item = Handle>) {
        for handle in closed {
            let record = record(place, duration_ns, Call::Close { handle }, Outcome::Value(0));
            let paths = vec![self.whole.handles[handle as usize].clone()];
            self.whole.calls.push(Followed::of(record, paths));
        }
    }
}

fn record(place: Place, duration_ns: u64, call: Call, result: Outcome) -> Record {
    let Place { line, process, at_ns } = place;
    Record { line, process, at_ns, think_ns: 0, duration_ns, call, result }
}

/// Whether a path is in a file system of the kernel or is a device. Such files are never replayed.
pub fn is_special(path: &[u8]) -> bool {
    [&b"/dev"[..], b"/proc", b"/sys"].iter().any(|d| path == *d || (path.starts_with(d) && path[d.len()] == b'/'))
}
