//! Families of calls: the common part of their members.

use super::args;
use super::calls::{on_path, plain, with_evidence, Effect};
use super::descriptors::Object;
use super::error::StraceError;
use super::follow::{is_special, Evidence};
use super::interpreter::{Interpreter, Known};
use super::{Advice, Call, Handle, OpenFlags, Outcome, Target, Whence};
use std::rc::Rc;

/// What a call changes, and its absolute path.
type Changed = (Target, Vec<u8>);

impl Interpreter<'_> {
    pub fn open(
        &mut self,
        directory: Option<usize>,
        path: usize,
        flags: usize,
        permissions: usize,
    ) -> Result<Effect, StraceError> {
        let Some(path) = self.path(directory, path)? else { return Ok(Effect::Nothing) };
        let how = if flags == usize::MAX { "O_WRONLY|O_CREAT|O_TRUNC" } else { self.text(flags)? };
        let how = if how.starts_with('{') { args::field(how, "flags").unwrap_or("") } else { how }.to_string();
        let has = |flag| args::has_flag(&how, flag);
        let descriptor = match self.result {
            Outcome::Value(descriptor) => i32::try_from(*descriptor).ok(),
            Outcome::Error(_) => None,
        };
        let set = |s: &mut Self, object| {
            if let Some(descriptor) = descriptor {
                // The number of the new descriptor was free. If the tables still have an object there, it was closed
                // without a trace.
                let closed = s.follower.processes().set(s.place.process, descriptor, Rc::new(object), has("O_CLOEXEC"));
                s.follower.close_handles(s.place, 0, closed);
            }
        };
        if has("O_PATH") {
            set(self, Object::PathOnly { path: path.clone() });
            return Ok(Effect::Ignored { why: "open with O_PATH".into(), path });
        }
        if has("O_TMPFILE") {
            set(self, Object::Other);
            return Ok(Effect::Ignored { why: "open with O_TMPFILE".into(), path });
        }
        if is_special(&path) {
            set(self, Object::Other);
            return Ok(Effect::Nothing);
        }
        let flags = OpenFlags {
            read: !has("O_WRONLY"),
            write: has("O_WRONLY") || has("O_RDWR"),
            create: has("O_CREAT"),
            exclusive: has("O_EXCL"),
            truncate: has("O_TRUNC"),
            append: has("O_APPEND"),
            sync: has("O_SYNC"),
            dsync: has("O_DSYNC"),
            directory: has("O_DIRECTORY"),
            no_follow: has("O_NOFOLLOW"),
            direct: has("O_DIRECT"),
            unnamed: false,
        };
        let given = self.parsed.arguments.get(permissions).copied().unwrap_or_default();
        let given = args::field(given, "mode").unwrap_or(given);
        let permissions = args::number(given).map_or(0o644, |n| n as u32 & 0o7777);
        let handle = self.follower.new_handle(&path);
        set(self, Object::File { handle, path: path.clone() });
        Ok(plain(Call::Open { handle, path: path.clone(), flags, permissions }, vec![path]))
    }

    pub fn close_range(&mut self) -> Result<Effect, StraceError> {
        if args::has_flag(self.parsed.arguments.get(2).copied().unwrap_or(""), "CLOSE_RANGE_CLOEXEC") {
            return Ok(Effect::Nothing);
        }
        let first = i32::try_from(self.unsigned(0)?).unwrap_or(i32::MAX);
        let last = self.unsigned(1).ok().and_then(|n| i32::try_from(n).ok()).unwrap_or(i32::MAX);
        let process = self.place.process;
        let processes = self.follower.processes();
        let open = processes.in_range(process, first, last);
        Ok(Effect::Close(open.into_iter().filter_map(|d| processes.close(process, d)).collect()))
    }

    pub fn transfer(&mut self, vector: bool) -> Result<Effect, StraceError> {
        let name = self.parsed.name;
        let bytes = if vector {
            let done = if let Outcome::Value(n) = self.result { *n } else { 0 };
            args::vector_bytes(self.text(1)?).unwrap_or(done.max(0) as u64)
        } else {
            self.unsigned(2)?
        };
        let positioned = name.starts_with('p') && args::number(self.text(3)?) != Some(-1);
        let offset = if positioned { self.unsigned(3)? } else { 0 };
        let write = name.contains("write");
        self.on_handle(0, |handle| match (positioned, write) {
            (true, true) => Call::WriteAt { handle, offset, bytes },
            (true, false) => Call::ReadAt { handle, offset, bytes },
            (false, true) => Call::Write { handle, bytes },
            (false, false) => Call::Read { handle, bytes },
        })
    }

    pub fn seek(&mut self) -> Result<Effect, StraceError> {
        let (from, result) = match self.parsed.name {
            "lseek" => (2, None),
            _ => (3, args::number(self.text(2)?.trim_matches(['[', ']']))),
        };
        let offset = args::number(self.text(1)?).ok_or_else(|| self.wrong(1, "a number"))?;
        let whence = match self.text(from)? {
            "SEEK_SET" => Whence::Set,
            "SEEK_CUR" => Whence::Current,
            "SEEK_END" => Whence::End,
            other => {
                let why = format!("lseek with {other}");
                return self.unsupported(0, &why);
            }
        };
        // _llseek returns the new offset through memory, and is replayed as a seek to that offset.
        match (result, self.result) {
            (Some(offset), Outcome::Value(_)) => {
                self.on_handle(0, |handle| Call::Seek { handle, offset, whence: Whence::Set })
            }
            _ => self.on_handle(0, |handle| Call::Seek { handle, offset, whence }),
        }
    }

    pub fn rename_with_flags(&mut self) -> Result<Effect, StraceError> {
        let flags = self.text(4)?.to_string();
        if args::has_flag(&flags, "RENAME_EXCHANGE") || args::has_flag(&flags, "RENAME_WHITEOUT") {
            let path = self.path(Some(0), 1)?.unwrap_or_default();
            return Ok(Effect::Ignored { why: format!("renameat2 with {flags}"), path });
        }
        let no_replace = args::has_flag(&flags, "RENAME_NOREPLACE");
        self.two_paths(Some(0), 1, Some(2), 3, |from, to| Call::Rename { from, to, no_replace })
    }

    pub fn two_paths(
        &mut self,
        from_directory: Option<usize>,
        from: usize,
        to_directory: Option<usize>,
        to: usize,
        call: impl FnOnce(Vec<u8>, Vec<u8>) -> Call,
    ) -> Result<Effect, StraceError> {
        let from = self.path(from_directory, from)?;
        let to = self.path(to_directory, to)?;
        Ok(match (from, to) {
            (Some(from), Some(to)) => plain(call(from.clone(), to.clone()), vec![from, to]),
            _ => Effect::Nothing,
        })
    }

    pub fn stat_no_follow(&mut self) -> Result<Effect, StraceError> {
        let path = self.path(None, 0)?;
        let evidence = self.stat_evidence(1);
        let effect = on_path(path, |path| Call::Stat { target: Target::Path { path, follow: false } });
        Ok(with_evidence(effect, evidence))
    }

    pub fn stat(
        &mut self,
        directory: Option<usize>,
        path: usize,
        buffer: usize,
        flags: Option<usize>,
    ) -> Result<Effect, StraceError> {
        let evidence = self.stat_evidence(buffer);
        let flags = flags.map(|at| self.text(at)).transpose()?.unwrap_or("").to_string();
        let unnamed = matches!(self.text(path)?, "\"\"" | "NULL");
        let effect = match directory {
            Some(descriptor) if unnamed && args::has_flag(&flags, "AT_EMPTY_PATH") => {
                self.on_handle(descriptor, |handle| Call::Stat { target: Target::Handle(handle) })?
            }
            _ => {
                let follow = !args::has_flag(&flags, "AT_SYMLINK_NOFOLLOW");
                on_path(self.path(directory, path)?, |path| Call::Stat { target: Target::Path { path, follow } })
            }
        };
        Ok(with_evidence(effect, evidence))
    }

    pub fn stat_evidence(&self, buffer: usize) -> Evidence {
        let Some(structure) = self.parsed.arguments.get(buffer) else { return Evidence::None };
        if matches!(self.result, Outcome::Error(_)) {
            return Evidence::None;
        }
        let mode = args::field(structure, "st_mode").or_else(|| args::field(structure, "stx_mode"));
        let size = args::field(structure, "st_size").or_else(|| args::field(structure, "stx_size"));
        let size_bytes = size.and_then(args::number).map_or(0, |n| n.max(0) as u64);
        match mode {
            Some(mode) if mode.contains("S_IFDIR") => Evidence::Stat { directory: true, size_bytes: 0 },
            Some(mode) if mode.contains("S_IFREG") => Evidence::Stat { directory: false, size_bytes },
            _ => Evidence::None,
        }
    }

    /// What a call of the families of chmod, chown and utime changes, and the index of the argument after it.
    pub fn target_of_change(&mut self, by_descriptor: bool, at: bool) -> Result<(Option<Changed>, usize), StraceError> {
        if by_descriptor {
            let target = match self.known(0)? {
                Known::File(handle, path) => Some((Target::Handle(handle), path)),
                _ => None,
            };
            return Ok((target, if at { 2 } else { 1 }));
        }
        let last = self.parsed.arguments.last().copied().unwrap_or("");
        let follow = !self.parsed.name.starts_with("lchown") && !args::has_flag(last, "AT_SYMLINK_NOFOLLOW");
        let path = if at { self.path(Some(0), 1)? } else { self.path(None, 0)? };
        Ok((path.map(|path| (Target::Path { path: path.clone(), follow }, path)), if at { 2 } else { 1 }))
    }

    pub fn advise(&mut self, offset: usize, bytes: usize, advice: usize) -> Result<Effect, StraceError> {
        let (offset, bytes) = (self.unsigned(offset)?, self.unsigned(bytes)?);
        let advice = match self.text(advice)? {
            "POSIX_FADV_NORMAL" => Advice::Normal,
            "POSIX_FADV_RANDOM" => Advice::Random,
            "POSIX_FADV_SEQUENTIAL" => Advice::Sequential,
            "POSIX_FADV_WILLNEED" => Advice::WillNeed,
            "POSIX_FADV_DONTNEED" => Advice::DontNeed,
            "POSIX_FADV_NOREUSE" => Advice::NoReuse,
            _ => return Err(self.wrong(advice, "POSIX_FADV_...")),
        };
        self.on_handle(0, |handle| Call::Advise { handle, offset, bytes, advice })
    }

    pub fn duplicate(&mut self, close_on_exec: bool) -> Result<Effect, StraceError> {
        let (descriptor, annotation) = self.descriptor(0)?;
        let Outcome::Value(new) = self.result else { return Ok(Effect::Nothing) };
        let Ok(new) = i32::try_from(*new) else { return Ok(Effect::Nothing) };
        if new == descriptor {
            return Ok(Effect::Nothing);
        }
        let object = self.follower.object(self.place, descriptor, annotation).unwrap_or_else(|| Rc::new(Object::Other));
        let closed = self.follower.processes().set(self.place.process, new, object, close_on_exec);
        Ok(Effect::Close(closed.into_iter().collect()))
    }

    pub fn control(&mut self) -> Result<Effect, StraceError> {
        let command = self.text(1)?.to_string();
        match command.as_str() {
            "F_DUPFD" => self.duplicate(false),
            "F_DUPFD_CLOEXEC" => self.duplicate(true),
            "F_SETFD" => {
                let on = args::has_flag(self.text(2)?, "FD_CLOEXEC");
                let descriptor = self.descriptor(0)?.0;
                self.follower.processes().set_close_on_exec(self.place.process, descriptor, on);
                Ok(Effect::Nothing)
            }
            "F_GETFD" | "F_GETFL" | "F_SETFL" => Ok(Effect::Nothing),
            lock if lock.contains("LK") => self.unsupported(0, "fcntl lock"),
            other => self.unsupported(0, &format!("fcntl {other}")),
        }
    }

    pub fn enter(&mut self, path: Option<Vec<u8>>) -> Result<Effect, StraceError> {
        if let (Some(path), Outcome::Value(_)) = (path, self.result) {
            self.follower.processes().set_directory(self.place.process, path);
        }
        Ok(Effect::Nothing)
    }

    /// Notes that the call returned a descriptor that is not a file.
    pub fn no_file(&mut self) -> Result<Effect, StraceError> {
        if let Outcome::Value(descriptor) = self.result {
            if let Ok(descriptor) = i32::try_from(*descriptor) {
                self.follower.processes().set(self.place.process, descriptor, Rc::new(Object::Other), false);
            }
        }
        Ok(Effect::Nothing)
    }

    /// Notes that the call returned two descriptors that are not files: `[3, 4]`.
    pub fn no_files(&mut self, at: usize) -> Result<Effect, StraceError> {
        if matches!(self.result, Outcome::Value(_)) {
            let pair = self.text(at)?.trim_matches(['[', ']']).to_string();
            for (descriptor, _) in pair.split(", ").filter_map(args::descriptor) {
                self.follower.processes().set(self.place.process, descriptor, Rc::new(Object::Other), false);
            }
        }
        Ok(Effect::Nothing)
    }

    pub fn on_handle(&mut self, at: usize, call: impl FnOnce(Handle) -> Call) -> Result<Effect, StraceError> {
        Ok(match self.known(at)? {
            Known::File(handle, path) => plain(call(handle), vec![path]),
            other => self.not_a_file(other),
        })
    }

    pub fn unsupported(&mut self, at: usize, why: &str) -> Result<Effect, StraceError> {
        Ok(match self.known(at)? {
            Known::File(_, path) => Effect::Ignored { why: why.to_string(), path },
            _ => Effect::Nothing,
        })
    }

    pub fn unsupported_of_two(&mut self, one: usize, other: usize) -> Result<Effect, StraceError> {
        let name = self.parsed.name;
        match self.unsupported(one, name)? {
            Effect::Nothing => self.unsupported(other, name),
            ignored => Ok(ignored),
        }
    }

    pub fn not_a_file(&self, known: Known) -> Effect {
        match known {
            Known::Unknown => Effect::Ignored {
                why: format!("{} on a descriptor that was open before the trace began", self.parsed.name),
                path: Vec::new(),
            },
            _ => Effect::Nothing,
        }
    }
}
