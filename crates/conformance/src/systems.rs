//! Random sequences of system calls on any system: what programs see must be what the model says.
//!
//! The rest of the kit drives file systems through Linux. Here the system itself is under test, through the trait that
//! experiments use, so one without an operating system can be asked the same. A call that a system says it lacks is left
//! out on both sides.

use crate::call::{describe, outcomes_agree, Answer, Attributes, Call, How, SLOTS};
use crate::content::pattern;
use crate::model::Model;
use crate::rig::{attributes, flags};
use crate::sequences::{random_calls, used_slot};
use crate::Failure;
use ffslab_fs::{Errno, FileKind, TimeSpec};
use ffslab_system::{Answer as Answered, Fd, OpenFlags, Refusal, System, Whence};

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
}

/// A program on the system under test, with its descriptors.
struct Program<'a> {
    system: &'a mut dyn System,
    latitude: Latitude<'a>,
    slots: [Option<(Fd, How)>; SLOTS],
}

/// Runs `count` calls, drawn from `seed`, on an unmounted system with an erased medium, and on the model.
///
/// # Errors
/// The first call whose outcome differs; what was expected and what was found.
pub fn check(system: &mut dyn System, latitude: Latitude<'_>, seed: u64, count: usize) -> Result<Report, Failure> {
    let mut program = Program { system, latitude, slots: [None; SLOTS] };
    let mut model = Model::new(latitude.name_bytes_max, latitude.file_bytes_max);
    let mut report = Report::default();
    program.mount()?;
    for path in ["d0", "d1", "d0/d2"] {
        program.step(&mut model, &Call::Mkdir { path: path.to_string(), permissions: 0o755 }, &mut report)?;
    }
    for (number, call) in random_calls(seed, count)?.iter().enumerate() {
        let at = |failure: Failure| failure.at(format!("call {number}, {call:?}"));
        if let Some(slot) = used_slot(call).filter(|&slot| model.open_file(slot).is_none()) {
            let path = ["f0", "f1", "d0/f0", "d1/f0"][slot].to_string();
            program.step(&mut model, &Call::Open { slot, path, how: How::CREATE }, &mut report).map_err(at)?;
        }
        program.step(&mut model, call, &mut report).map_err(at)?;
    }
    program.step(&mut model, &Call::Remount, &mut report)?;
    for path in ["/", "d0", "d1", "d0/d2"] {
        program.step(&mut model, &Call::Readdir { path: path.to_string() }, &mut report)?;
    }
    Ok(report)
}

impl Program<'_> {
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
                for (fd, _) in self.slots.iter_mut().filter_map(Option::take) {
                    self.system.close(fd).map_err(Failure::of)?;
                }
                self.system.umount().map_err(Failure::of)?;
            }
            Call::SyncAndCrash => {
                self.system.sync().map_err(Failure::of)?;
                self.slots = [None; SLOTS];
                self.system.crash().map_err(Failure::new)?;
            }
            _ => return Ok(self.file_call(call)),
        }
        self.mount()?;
        Ok(Ok(Answer::Done))
    }

    fn file_call(&mut self, call: &Call) -> Answered<Answer> {
        let done = |()| Answer::Done;
        let number = |count: usize| Answer::Number(count as u64);
        let system = &mut *self.system;
        match call {
            Call::Open { slot, path, how } => {
                if let Some((fd, _)) = self.slots[*slot].take() {
                    system.close(fd)?;
                }
                self.slots[*slot] = Some((system.open(path.as_bytes(), flags(*how), 0o644)?, *how));
                Ok(Answer::Done)
            }
            Call::Close { slot } => {
                let (fd, _) = self.slot(*slot)?;
                self.slots[*slot] = None;
                self.system.close(fd).map(done)
            }
            Call::Read { slot, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let (fd, _) = self.slot(*slot)?;
                let count = self.system.read(fd, &mut data)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Pread { slot, at, bytes } => {
                let mut data = vec![0xEE; *bytes];
                let (fd, _) = self.slot(*slot)?;
                let count = self.system.pread(fd, &mut data, *at)?;
                data.truncate(count);
                Ok(Answer::Bytes(data))
            }
            Call::Write { slot, bytes, seed } => {
                let (fd, how) = self.slot(*slot)?;
                let at = match how.append {
                    true => self.system.fstat(fd)?.size_bytes,
                    false => self.system.lseek(fd, 0, Whence::Current)?,
                };
                self.system.write(fd, &pattern(*seed, at, *bytes)).map(number)
            }
            Call::Pwrite { slot, at, bytes, seed } => {
                let (fd, how) = self.slot(*slot)?;
                let true_at = if how.append { self.system.fstat(fd)?.size_bytes } else { *at };
                self.system.pwrite(fd, &pattern(*seed, true_at, *bytes), *at).map(number)
            }
            Call::SeekTo { slot, at } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.lseek(fd, *at as i64, Whence::Set).map(Answer::Number)
            }
            Call::SeekFromEnd { slot, offset } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.lseek(fd, *offset, Whence::End).map(Answer::Number)
            }
            Call::Ftruncate { slot, size_bytes } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.ftruncate(fd, *size_bytes).map(done)
            }
            Call::Fsync { slot } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.fsync(fd).map(done)
            }
            Call::Fdatasync { slot } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.fdatasync(fd).map(done)
            }
            Call::Fstat { slot } => {
                let (fd, _) = self.slot(*slot)?;
                self.system.fstat(fd).map(|stat| self.attributes(attributes(&stat)))
            }
            _ => self.name_call(call),
        }
    }

    fn name_call(&mut self, call: &Call) -> Answered<Answer> {
        let done = |()| Answer::Done;
        let system = &mut *self.system;
        match call {
            Call::Truncate { path, size_bytes } => system.truncate(path.as_bytes(), *size_bytes).map(done),
            Call::FsyncDirectory { path } => {
                let flags = OpenFlags { directory: true, ..OpenFlags::READ };
                let fd = system.open(path.as_bytes(), flags, 0)?;
                let result = system.fsync(fd);
                system.close(fd)?;
                result.map(done)
            }
            Call::Sync => system.sync().map(done),
            Call::Rename { from, to } => system.rename(from.as_bytes(), to.as_bytes()).map(done),
            Call::Link { from, to } => system.link(from.as_bytes(), to.as_bytes()).map(done),
            Call::Symlink { target, path } => system.symlink(target.as_bytes(), path.as_bytes()).map(done),
            Call::Readlink { path } => system.readlink(path.as_bytes()).map(Answer::Bytes),
            Call::Unlink { path } => system.unlink(path.as_bytes()).map(done),
            Call::Mkdir { path, permissions } => system.mkdir(path.as_bytes(), *permissions).map(done),
            Call::Rmdir { path } => system.rmdir(path.as_bytes()).map(done),
            Call::Readdir { path } => self.names(path.as_bytes()),
            Call::Stat { path } => system.stat(path.as_bytes()).map(|stat| self.attributes(attributes(&stat))),
            Call::Lstat { path } => system.lstat(path.as_bytes()).map(|stat| self.attributes(attributes(&stat))),
            Call::Chmod { path, permissions } => system.chmod(path.as_bytes(), *permissions).map(done),
            Call::SetModified { path, seconds } => {
                let time = TimeSpec { seconds: *seconds, nanoseconds: 0 };
                system.utimens(path.as_bytes(), None, Some(time)).map(done)
            }
            Call::Sleep { ms } => {
                system.sleep_ns(ms * 1_000_000);
                Ok(Answer::Done)
            }
            _ => Err(system.lacks("call of this kind")),
        }
    }

    /// The names in a directory with the kinds of what they name, sorted.
    fn names(&mut self, path: &[u8]) -> Answered<Answer> {
        let mut names = self.system.readdir_path(path)?;
        if self.system.stat(path)?.ino == self.system.stat(b"/")?.ino {
            names.retain(|name| !self.latitude.own_entries.contains(&&name[..]));
        }
        names.sort();
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let kind = self.system.lstat(&[path, b"/", &name].concat())?.kind;
            found.push((name, kind));
        }
        Ok(Answer::Names(found))
    }

    fn attributes(&self, found: Attributes) -> Answer {
        let modified_s = found.modified_s.filter(|_| self.latitude.keeps_set_times);
        Answer::Attributes(Attributes { modified_s, ..found })
    }

    fn slot(&self, slot: usize) -> Answered<(Fd, How)> {
        self.slots.get(slot).copied().flatten().ok_or_else(|| Errno::BadF.into())
    }
}
