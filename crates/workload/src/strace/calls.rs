//! The meaning of each system call for files and descriptors.

use super::args;
use super::descriptors::Object;
use super::error::StraceError;
use super::follow::{Evidence, Follower, Place};
use super::interpreter::{Interpreter, Known};
use super::line::Parsed;
use super::{Advice, Call, Handle, Outcome, Target};
use std::rc::Rc;

/// The effect of a call.
pub enum Effect {
    Nothing,
    /// The call is to be replayed. `paths`: its absolute paths, which decide whether it is below the root.
    Call {
        call: Call,
        paths: Vec<Vec<u8>>,
        evidence: Evidence,
    },
    /// The call concerns a file but cannot be replayed. The path is empty if the file is not known.
    Ignored {
        why: String,
        path: Vec<u8>,
    },
    Close(Vec<Handle>),
}

/// The calls that are interpreted. All others have nothing to do with files.
const KNOWN: &str = " open openat openat2 creat close close_range read write pread64 pwrite64 pread pwrite readv writev \
    preadv pwritev preadv2 pwritev2 lseek _llseek fsync fdatasync sync syncfs ftruncate ftruncate64 truncate truncate64 \
    rename renameat renameat2 unlink unlinkat mkdir mkdirat rmdir link linkat symlink symlinkat readlink readlinkat \
    stat lstat fstat stat64 lstat64 fstat64 newfstatat fstatat64 statx access faccessat faccessat2 getdents getdents64 \
    chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat chown32 lchown32 fchown32 utime utimes utimensat \
    futimesat statfs statfs64 fstatfs fstatfs64 fadvise64 fadvise64_64 arm_fadvise64_64 readahead dup dup2 dup3 fcntl \
    fcntl64 chdir fchdir getcwd execve execveat fork vfork clone clone3 pipe pipe2 socketpair mmap mmap2 ioctl flock \
    fallocate sync_file_range copy_file_range sendfile sendfile64 splice io_submit io_uring_enter ";

/// Calls that return a descriptor that is not a file.
const NO_FILE: &str = " socket accept accept4 epoll_create epoll_create1 eventfd eventfd2 memfd_create timerfd_create \
    signalfd signalfd4 inotify_init inotify_init1 pidfd_open userfaultfd io_uring_setup perf_event_open fanotify_init ";

fn contains_word(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split(' ').any(|w| w == word)
}

pub fn is_known(name: &str) -> bool {
    contains_word(KNOWN, name) || contains_word(NO_FILE, name)
}

/// Interprets a complete call and updates the descriptor tables. `held`: the object to which its first argument
/// referred when the call began, if other processes ran before it returned. The error names the wrong argument.
pub fn interpret(
    follower: &mut Follower,
    place: Place,
    parsed: &Parsed<'_>,
    result: &Outcome,
    held: Option<Rc<Object>>,
) -> Result<Effect, StraceError> {
    Interpreter { follower, place, parsed, result, held }.call()
}

impl Interpreter<'_> {
    fn call(&mut self) -> Result<Effect, StraceError> {
        let name = self.parsed.name;
        let path_at = |s: &mut Self, i: usize| s.path(None, i);
        match name {
            "open" => self.open(None, 0, 1, 2),
            "openat" => self.open(Some(0), 1, 2, 3),
            "openat2" => self.open(Some(0), 1, 2, 2),
            "creat" => self.open(None, 0, usize::MAX, 1),
            "close" => {
                let descriptor = self.descriptor(0)?.0;
                let closed = self.follower.processes().close(self.place.process, descriptor);
                Ok(Effect::Close(closed.into_iter().collect()))
            }
            "close_range" => self.close_range(),
            "read" | "write" | "pread64" | "pread" | "pwrite64" | "pwrite" => self.transfer(false),
            "readv" | "writev" | "preadv" | "pwritev" | "preadv2" | "pwritev2" => self.transfer(true),
            "lseek" | "_llseek" => self.seek(),
            "fsync" => self.on_handle(0, |handle| Call::Fsync { handle, data_only: false }),
            "fdatasync" => self.on_handle(0, |handle| Call::Fsync { handle, data_only: true }),
            "sync" => Ok(Effect::Call { call: Call::Sync, paths: Vec::new(), evidence: Evidence::None }),
            "syncfs" => self.on_handle(0, |handle| Call::SyncFs { handle }),
            "ftruncate" | "ftruncate64" => {
                let bytes = self.unsigned(1)?;
                self.on_handle(0, |handle| Call::Truncate { target: Target::Handle(handle), bytes })
            }
            "truncate" | "truncate64" => {
                let bytes = self.unsigned(1)?;
                let path = path_at(self, 0)?;
                Ok(on_path(path, |path| Call::Truncate { target: Target::Path { path, follow: true }, bytes }))
            }
            "rename" => self.two_paths(None, 0, None, 1, |from, to| Call::Rename { from, to, no_replace: false }),
            "renameat" => {
                self.two_paths(Some(0), 1, Some(2), 3, |from, to| Call::Rename { from, to, no_replace: false })
            }
            "renameat2" => self.rename_with_flags(),
            "unlink" => Ok(on_path(path_at(self, 0)?, |path| Call::Unlink { path })),
            "unlinkat" => {
                let path = self.path(Some(0), 1)?;
                let directory = args::has_flag(self.text(2)?, "AT_REMOVEDIR");
                Ok(on_path(path, |path| if directory { Call::RemoveDirectory { path } } else { Call::Unlink { path } }))
            }
            "mkdir" | "mkdirat" => {
                let at = usize::from(name == "mkdirat");
                let path = self.path((at == 1).then_some(0), at)?;
                let permissions = self.unsigned(at + 1)? as u32;
                Ok(on_path(path, |path| Call::MakeDirectory { path, permissions }))
            }
            "rmdir" => Ok(on_path(path_at(self, 0)?, |path| Call::RemoveDirectory { path })),
            "link" => self.two_paths(None, 0, None, 1, |from, to| Call::Link { from, to }),
            "linkat" => self.two_paths(Some(0), 1, Some(2), 3, |from, to| Call::Link { from, to }),
            "symlink" | "symlinkat" => {
                let target = self.string(0)?;
                let path = if name == "symlink" { self.path(None, 1)? } else { self.path(Some(1), 2)? };
                Ok(on_path(path, |path| Call::Symlink { target, path }))
            }
            "readlink" | "readlinkat" => {
                let at = usize::from(name == "readlinkat");
                let path = self.path((at == 1).then_some(0), at)?;
                let target = args::string(self.text(at + 1)?);
                let evidence = match (self.result, target) {
                    (Outcome::Value(_), Some(target)) => Evidence::Link { target },
                    _ => Evidence::None,
                };
                Ok(with_evidence(on_path(path, |path| Call::ReadLink { path }), evidence))
            }
            "stat" | "stat64" => self.stat(None, 0, 1, None),
            "lstat" | "lstat64" => self.stat_no_follow(),
            "fstat" | "fstat64" => {
                let evidence = self.stat_evidence(1);
                let effect = self.on_handle(0, |handle| Call::Stat { target: Target::Handle(handle) })?;
                Ok(with_evidence(effect, evidence))
            }
            "newfstatat" | "fstatat64" => self.stat(Some(0), 1, 2, Some(3)),
            "statx" => self.stat(Some(0), 1, 4, Some(2)),
            "access" => {
                Ok(on_path(path_at(self, 0)?, |path| Call::Stat { target: Target::Path { path, follow: true } }))
            }
            "faccessat" | "faccessat2" => {
                let path = self.path(Some(0), 1)?;
                Ok(on_path(path, |path| Call::Stat { target: Target::Path { path, follow: true } }))
            }
            "getdents" | "getdents64" => match self.known(0)? {
                Known::File(handle, path) => Ok(if self.follower.first_listing(handle) {
                    plain(Call::ListDirectory { handle }, vec![path])
                } else {
                    Effect::Nothing
                }),
                other => Ok(self.not_a_file(other)),
            },
            "chmod" | "fchmodat" | "fchmodat2" | "fchmod" => {
                let (target, at) = self.target_of_change(name == "fchmod", name.starts_with("fchmodat"))?;
                let permissions = self.unsigned(at)? as u32 & 0o7777;
                Ok(on_target(target, |target| Call::ChangeMode { target, permissions }))
            }
            "chown" | "lchown" | "fchown" | "chown32" | "lchown32" | "fchown32" | "fchownat" => {
                let (target, at) =
                    self.target_of_change(name.starts_with("fchown") && name != "fchownat", name == "fchownat")?;
                let (uid, gid) = (self.owner(at)?, self.owner(at + 1)?);
                Ok(on_target(target, |target| Call::ChangeOwner { target, uid, gid }))
            }
            "utime" | "utimes" | "utimensat" | "futimesat" => {
                let at = name.ends_with("at");
                let by_descriptor = at && self.text(1)? == "NULL";
                let (target, _) = self.target_of_change(by_descriptor, at)?;
                Ok(on_target(target, |target| Call::ChangeTimes { target }))
            }
            "statfs" | "statfs64" => {
                let path = path_at(self, 0)?;
                Ok(on_path(path, |path| Call::StatFs { target: Target::Path { path, follow: true } }))
            }
            "fstatfs" | "fstatfs64" => self.on_handle(0, |handle| Call::StatFs { target: Target::Handle(handle) }),
            "fadvise64" | "fadvise64_64" => self.advise(1, 2, 3),
            "arm_fadvise64_64" => self.advise(2, 3, 1),
            "readahead" => {
                let (offset, bytes) = (self.unsigned(1)?, self.unsigned(2)?);
                self.on_handle(0, |handle| Call::Advise { handle, offset, bytes, advice: Advice::WillNeed })
            }
            "dup" | "dup2" | "dup3" => {
                let close_on_exec = name == "dup3" && args::has_flag(self.text(2)?, "O_CLOEXEC");
                self.duplicate(close_on_exec)
            }
            "fcntl" | "fcntl64" => self.control(),
            "chdir" => {
                let path = path_at(self, 0)?;
                self.enter(path)
            }
            "fchdir" => match self.known(0)? {
                Known::File(_, path) | Known::PathOnly(path) => self.enter(Some(path)),
                _ => Ok(Effect::Nothing),
            },
            "getcwd" => self.enter(args::string(self.text(0)?)),
            "execve" | "execveat" => {
                let done = matches!(self.result, Outcome::Value(0));
                let closed = if done { self.follower.processes().exec(self.place.process) } else { Vec::new() };
                Ok(Effect::Close(closed))
            }
            "pipe" | "pipe2" => self.no_files(0),
            "socketpair" => self.no_files(3),
            "mmap" | "mmap2" => self.unsupported(4, "mmap"),
            "ioctl" | "flock" | "fallocate" | "sync_file_range" => self.unsupported(0, name),
            "copy_file_range" | "splice" => self.unsupported_of_two(0, 2),
            "sendfile" | "sendfile64" => self.unsupported_of_two(0, 1),
            "io_submit" | "io_uring_enter" => Ok(Effect::Ignored { why: name.to_string(), path: Vec::new() }),
            _ => self.no_file(),
        }
    }
}

pub fn plain(call: Call, paths: Vec<Vec<u8>>) -> Effect {
    Effect::Call { call, paths, evidence: Evidence::None }
}

pub fn on_path(path: Option<Vec<u8>>, call: impl FnOnce(Vec<u8>) -> Call) -> Effect {
    match path {
        Some(path) => plain(call(path.clone()), vec![path]),
        None => Effect::Nothing,
    }
}

pub fn on_target(target: Option<(Target, Vec<u8>)>, call: impl FnOnce(Target) -> Call) -> Effect {
    match target {
        Some((target, path)) => plain(call(target), vec![path]),
        None => Effect::Nothing,
    }
}

pub fn with_evidence(effect: Effect, evidence: Evidence) -> Effect {
    match effect {
        Effect::Call { call, paths, .. } => Effect::Call { call, paths, evidence },
        other => other,
    }
}
