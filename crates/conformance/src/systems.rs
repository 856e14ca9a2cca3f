//! Random sequences of system calls on any system: what programs see must be what the model says.
//!
//! The rest of the kit drives file systems through Linux. Here the system itself is under test, through the trait that
//! experiments use, so one without an operating system can be asked the same. A call that a system says it lacks is left
//! out on both sides.

use crate::call::{describe, outcomes_agree, Answer, Attributes, Call, How, SLOTS};
use crate::model::Model;
use crate::program::Program;
use crate::sequences::{random_calls, used_slot};
use crate::Failure;
use ffslab_fs::FileKind;
use ffslab_system::{Answer as Answered, Refusal, System};

/// What the sequences did, with which a test can check that they did something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub calls: u64,
    /// Calls that both sides refused with the same error.
    pub refused: u64,
    /// Calls that both sides refused, each with an error of its own.
    pub refused_otherwise: u64,
    /// Remounts, and power cuts after a sync.
    pub remounts: u64,
    /// Calls that the system says it lacks.
    pub lacking_calls: u64,
    /// Calls that were not made because the system promises nothing for them, see [`Latitude::handles_are_apart`].
    pub unpromised_calls: u64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        let Report { calls, refused, refused_otherwise, remounts, lacking_calls, unpromised_calls } = other;
        self.calls += calls;
        self.refused += refused;
        self.refused_otherwise += refused_otherwise;
        self.remounts += remounts;
        self.lacking_calls += lacking_calls;
        self.unpromised_calls += unpromised_calls;
    }
}

/// In which the system may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latitude<'a> {
    /// Names that a new file system holds in its root.
    pub own_entries: &'a [&'a [u8]],
    pub name_bytes_max: usize,
    pub file_bytes_max: u64,
    /// Whether a time that is set stays.
    pub keeps_set_times: bool,
    /// Whether link(2) of a symbolic link makes a name of what it points to, as POSIX allows.
    pub link_follows: bool,
    /// A file system of paths and handles: what a handle has changed others see when it was synced or closed, so a file that is open
    /// is used through its handle alone; one call removes files and directories; nobody keeps permissions; ".." is no name.
    pub handles_are_apart: bool,
    /// A rename does not replace what has the name already, as FAT's does not.
    pub rename_replaces_nothing: bool,
}

/// A program on the system under test.
struct Machine<'a> {
    system: &'a mut dyn System,
    latitude: Latitude<'a>,
    program: Program<'a>,
}

/// Runs `count` calls, drawn from `seed`, on an unmounted system with an erased medium, and on the model.
///
/// # Errors
/// The first call whose outcome differs; what was expected and what was found.
pub fn check(system: &mut dyn System, latitude: Latitude<'_>, seed: u64, count: usize) -> Result<Report, Failure> {
    let program = Program::new(latitude.own_entries, latitude.keeps_set_times);
    let mut machine = Machine { system, latitude, program };
    let mut model = Model::new(latitude.name_bytes_max, latitude.file_bytes_max);
    let mut report = Report::default();
    machine.mount()?;
    for path in ["d0", "d1", "d0/d2"] {
        machine.step(&mut model, &Call::Mkdir { path: path.to_string(), permissions: 0o755 }, &mut report)?;
    }
    for (number, call) in random_calls(seed, count)?.iter().enumerate() {
        let at = |failure: Failure| failure.at(format!("call {number}, {call:?}"));
        if let Some(slot) = used_slot(call).filter(|&slot| model.open_file(slot).is_none()) {
            let path = ["f0", "f1", "d0/f0", "d1/f0"][slot].to_string();
            machine.step(&mut model, &Call::Open { slot, path, how: How::CREATE }, &mut report).map_err(at)?;
        }
        machine.step(&mut model, call, &mut report).map_err(at)?;
    }
    machine.step(&mut model, &Call::Remount, &mut report)?;
    for path in ["/", "d0", "d1", "d0/d2"] {
        machine.step(&mut model, &Call::Readdir { path: path.to_string() }, &mut report)?;
    }
    Ok(report)
}

impl Machine<'_> {
    fn mount(&mut self) -> Result<(), Failure> {
        self.system.mount(&[]).map_err(|text| Failure::new(format!("mount: {text}")))
    }

    fn step(&mut self, model: &mut Model, call: &Call, report: &mut Report) -> Result<(), Failure> {
        // The size of a directory is its own affair.
        let of_directory =
            |slot: usize| model.open_file(slot).is_some_and(|file| model.nodes.directory(file.node).is_ok());
        if matches!(call, Call::SeekFromEnd { slot, .. } if of_directory(*slot)) {
            return Ok(());
        }
        let is_symlink = |path: &str| {
            let told = model.clone().call(&Call::Lstat { path: path.to_string() });
            matches!(told, Ok(Answer::Attributes(Attributes { kind: FileKind::Symlink, .. })))
        };
        if matches!(call, Call::Link { from, .. } if self.latitude.link_follows && is_symlink(from)) {
            return Ok(());
        }
        let replaces = |from: &str, to: &str| from != to && model.find(to).is_some();
        let is_replacement = matches!(call, Call::Rename { from, to } if replaces(from, to));
        let is_unpromised = self.latitude.handles_are_apart && is_apart(model, call);
        if is_unpromised || self.latitude.rename_replaces_nothing && is_replacement {
            report.unpromised_calls += 1;
            return Ok(());
        }
        let call = &match call {
            Call::Mkdir { path, .. } if self.latitude.handles_are_apart => {
                Call::Mkdir { path: path.clone(), permissions: 0o755 }
            }
            call => call.clone(),
        };
        report.calls += 1;
        let found = match self.call(call)? {
            Err(refusal) if refusal.is_lack() => {
                report.lacking_calls += 1;
                // The descriptor that was there before is closed all the same.
                if let Call::Open { slot, .. } = call {
                    let _ = model.call(&Call::Close { slot: *slot });
                }
                return Ok(());
            }
            found => found.map_err(Refusal::errno),
        };
        let expected = model.call(call);
        if expected.is_err() && found.is_err() && expected != found {
            // Which of several mistakes in a call is told is a system's own affair; the model tells Linux's.
            report.refused_otherwise += 1;
            return Ok(());
        }
        if !outcomes_agree(&expected, &found) {
            return Err(Failure::new(format!("expected {}, got {}", describe(&expected), describe(&found))));
        }
        report.refused += u64::from(found.is_err());
        report.remounts += u64::from(matches!(call, Call::Remount | Call::SyncAndCrash));
        Ok(())
    }

    /// Makes a call. The outer error: the file system could not be mounted again.
    fn call(&mut self, call: &Call) -> Result<Answered<Answer>, Failure> {
        match call {
            Call::Remount => {
                self.program.close_all(self.system).map_err(Failure::of)?;
                self.system.umount().map_err(Failure::of)?;
            }
            Call::SyncAndCrash => {
                self.system.sync().map_err(Failure::of)?;
                self.program.forget_all();
                self.system.crash().map_err(Failure::of)?;
            }
            _ => return Ok(self.program.make(self.system, call)),
        }
        self.mount()?;
        Ok(Ok(Answer::Done))
    }
}

/// Whether a call goes to a file beside the handle that has it open, or removes the wrong kind.
fn is_apart(model: &Model, call: &Call) -> bool {
    let is_open = |path: &str, but: Option<usize>| {
        let node = model.find(path);
        let others = (0..SLOTS).filter(|slot| Some(*slot) != but).filter_map(|slot| model.open_file(slot));
        node.is_some() && others.into_iter().any(|file| Some(file.node) == node)
    };
    // It takes names off the text of a path, whether or not they stand for directories.
    if paths(call).into_iter().any(|path| path.contains("..")) {
        return true;
    }
    let is_directory = |path: &str| model.find(path).is_some_and(|node| model.nodes.directory(node).is_ok());
    match call {
        Call::Open { slot, path, .. } => is_open(path, Some(*slot)),
        Call::Truncate { path, .. } | Call::Stat { path } | Call::Lstat { path } => is_open(path, None),
        Call::Unlink { path } => is_open(path, None) || is_directory(path),
        Call::Rmdir { path } => !is_directory(path),
        Call::Rename { from, to } => is_open(from, None) || is_open(to, None),
        _ => false,
    }
}

/// The paths in a call that such a file system has.
fn paths(call: &Call) -> Vec<&str> {
    match call {
        Call::Open { path, .. }
        | Call::Truncate { path, .. }
        | Call::FsyncDirectory { path }
        | Call::Unlink { path }
        | Call::Mkdir { path, .. }
        | Call::Rmdir { path }
        | Call::Readdir { path }
        | Call::Stat { path }
        | Call::Lstat { path } => vec![path],
        Call::Rename { from, to } => vec![from, to],
        _ => Vec::new(),
    }
}
