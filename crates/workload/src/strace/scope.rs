//! Restricts a trace to one directory, and makes its paths relative to it.

use super::error::StraceError;
use super::existing::Watcher;
use super::follow::{is_special, Followed, Whole};
use super::{Call, Existing, Handle, Outcome, Record, Target, Trace, TraceError};
use std::collections::BTreeMap;
use std::path::Path;

/// Keeps the calls below `root`, or below the directory that [`Detector`] finds.
pub fn restrict(path: &Path, whole: Whole, root: Option<&str>) -> Result<Trace, TraceError> {
    let root = match root {
        Some(given) => given_root(given),
        None => {
            let mut detector = Detector::default();
            whole.calls.iter().for_each(|followed| detector.see(followed));
            detector.root()
        }
    };
    let mut part = Part::new(root.map_err(|why| content(path, why))?);
    let records = whole.calls.into_iter().filter_map(|followed| part.take(followed, &whole.handles)).collect();
    let handles = part.scope.handles.iter().flatten().count() as u32;
    let Kept { root, existing, ignored } = part.finish(path)?;
    Ok(Trace { path: path.to_path_buf(), root, records, existing, ignored, calls_seen: whole.calls_seen, handles })
}

pub fn content(path: &Path, why: StraceError) -> TraceError {
    TraceError::Content { path: path.to_path_buf(), why: why.into() }
}

/// The part of a trace below a directory, call by call.
pub struct Part {
    scope: Scope,
    ignored: BTreeMap<String, u64>,
    watcher: Watcher,
    latest_end_ns: Option<u64>,
    /// Whether there was a call on a file.
    is_used: bool,
}

/// The result of a `Part` at its end.
pub struct Kept {
    pub root: String,
    pub existing: Vec<Existing>,
    pub ignored: Vec<(String, u64)>,
}

impl Part {
    pub fn new(root: Vec<u8>) -> Part {
        let scope = Scope { root, handles: Vec::new(), next: 0 };
        Part { scope, ignored: BTreeMap::new(), watcher: Watcher::default(), latest_end_ns: None, is_used: false }
    }

    /// Turns a call into the record to be replayed, if it is below the root. `handles`: paths of all handles so far.
    pub fn take(&mut self, followed: Followed, handles: &[Vec<u8>]) -> Option<Record> {
        self.scope.learn(handles);
        let Followed { record, ignored: why, paths, evidence, .. } = followed;
        let inside = paths.iter().filter(|p| self.scope.holds(p)).count();
        match (record, why) {
            (None, why) if inside > 0 || paths.iter().any(Vec::is_empty) => {
                *self.ignored.entry(why.unwrap_or_default()).or_default() += 1;
            }
            (Some(record), _) if inside == paths.len() => {
                let call = self.scope.relative(record.call);
                let end_ns = record.at_ns.saturating_add(record.duration_ns);
                let think_ns = self.latest_end_ns.map_or(0, |end| record.at_ns.saturating_sub(end));
                self.latest_end_ns = self.latest_end_ns.max(Some(end_ns));
                let record = Record { call, think_ns, ..record };
                self.watcher.watch(&record, &evidence);
                self.is_used |= record.call != Call::Sync;
                return Some(record);
            }
            (Some(_), _) if inside > 0 => {
                *self.ignored.entry("rename or link across the root".to_string()).or_default() += 1;
            }
            _ => {}
        }
        None
    }

    /// Ends the part.
    ///
    /// Errors: no call was below the root.
    pub fn finish(self, path: &Path) -> Result<Kept, TraceError> {
        let mut ignored: Vec<(String, u64)> = self.ignored.into_iter().collect();
        ignored.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let root = String::from_utf8_lossy(&self.scope.root).into_owned();
        if !self.is_used {
            return Err(content(path, StraceError::NothingBelow { root }));
        }
        Ok(Kept { root, existing: self.watcher.finish(), ignored })
    }
}

struct Scope {
    root: Vec<u8>,
    /// The new number of each handle below the root.
    handles: Vec<Option<Handle>>,
    next: Handle,
}

impl Scope {
    /// Gives numbers to the handles that are new in `paths`.
    fn learn(&mut self, paths: &[Vec<u8>]) {
        for path in &paths[self.handles.len()..] {
            let inside = self.holds(path);
            self.handles.push(inside.then_some(self.next));
            self.next += u32::from(inside);
        }
    }

    /// `path` relative to the root; `None` if it is not below the root.
    fn strip<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        let rest = path.strip_prefix(&self.root[..])?;
        match rest {
            b"" => Some(rest),
            _ if self.root == b"/" => Some(rest),
            [b'/', inner @ ..] => Some(inner),
            _ => None,
        }
    }

    fn holds(&self, path: &[u8]) -> bool {
        self.strip(path).is_some()
    }

    fn path(&self, path: Vec<u8>) -> Vec<u8> {
        self.strip(&path).map(<[u8]>::to_vec).unwrap_or(path)
    }

    /// Translates the target of a symbolic link. Relative targets stay; an absolute one below the root becomes a path
    /// from the new root.
    fn link_target(&self, target: Vec<u8>) -> Vec<u8> {
        match self.strip(&target) {
            Some(inner) if target.starts_with(b"/") => [b"/", inner].concat(),
            _ => target,
        }
    }

    fn handle(&self, handle: Handle) -> Handle {
        self.handles[handle as usize].unwrap_or(handle)
    }

    fn target(&self, target: Target) -> Target {
        match target {
            Target::Path { path, follow } => Target::Path { path: self.path(path), follow },
            Target::Handle(handle) => Target::Handle(self.handle(handle)),
        }
    }

    fn relative(&self, call: Call) -> Call {
        let h = |handle| self.handle(handle);
        match call {
            Call::Open { handle, path, flags, permissions } => {
                Call::Open { handle: h(handle), path: self.path(path), flags, permissions }
            }
            Call::Close { handle } => Call::Close { handle: h(handle) },
            Call::Read { handle, bytes } => Call::Read { handle: h(handle), bytes },
            Call::Write { handle, bytes } => Call::Write { handle: h(handle), bytes },
            Call::ReadAt { handle, offset, bytes } => Call::ReadAt { handle: h(handle), offset, bytes },
            Call::WriteAt { handle, offset, bytes } => Call::WriteAt { handle: h(handle), offset, bytes },
            Call::Seek { handle, offset, whence } => Call::Seek { handle: h(handle), offset, whence },
            Call::Fsync { handle, data_only } => Call::Fsync { handle: h(handle), data_only },
            Call::Trim { handle, offset, bytes } => Call::Trim { handle: h(handle), offset, bytes },
            Call::Sync => Call::Sync,
            Call::SyncFs { handle } => Call::SyncFs { handle: h(handle) },
            Call::Truncate { target, bytes } => Call::Truncate { target: self.target(target), bytes },
            Call::Rename { from, to, no_replace } => {
                Call::Rename { from: self.path(from), to: self.path(to), no_replace }
            }
            Call::Unlink { path } => Call::Unlink { path: self.path(path) },
            Call::MakeDirectory { path, permissions } => Call::MakeDirectory { path: self.path(path), permissions },
            Call::RemoveDirectory { path } => Call::RemoveDirectory { path: self.path(path) },
            Call::Link { from, to } => Call::Link { from: self.path(from), to: self.path(to) },
            Call::Symlink { target, path } => Call::Symlink { target: self.link_target(target), path: self.path(path) },
            Call::ReadLink { path } => Call::ReadLink { path: self.path(path) },
            Call::Stat { target } => Call::Stat { target: self.target(target) },
            Call::ListDirectory { handle } => Call::ListDirectory { handle: h(handle) },
            Call::ChangeMode { target, permissions } => Call::ChangeMode { target: self.target(target), permissions },
            Call::ChangeOwner { target, uid, gid } => Call::ChangeOwner { target: self.target(target), uid, gid },
            Call::ChangeTimes { target } => Call::ChangeTimes { target: self.target(target) },
            Call::StatFs { target } => Call::StatFs { target: self.target(target) },
            Call::Advise { handle, offset, bytes, advice } => Call::Advise { handle: h(handle), offset, bytes, advice },
        }
    }
}

pub fn given_root(given: &str) -> Result<Vec<u8>, StraceError> {
    let trimmed = given.trim_end_matches('/');
    match trimmed {
        "" if given.starts_with('/') => Ok(b"/".to_vec()),
        _ if trimmed.starts_with('/') || trimmed == "." || trimmed.starts_with("./") => Ok(trimmed.as_bytes().to_vec()),
        _ => Err(StraceError::Root { given: given.to_string() }),
    }
}

/// Where programs are installed. Reads there tell nothing about the files on which a program works.
const SYSTEM: &[&str] =
    &["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/run", "/sbin", "/usr", "/var/lib"];

/// Finds the deepest directory that contains all files that the program may have changed. If there are none, it takes
/// all files that the program opened outside the system's own directories.
#[derive(Default)]
pub struct Detector {
    changed: Common,
    opened: Common,
}

/// The deepest directory that contains all directories added so far.
#[derive(Default)]
struct Common {
    first: Vec<u8>,
    /// `None`: no directory was added yet.
    directory: Option<Vec<u8>>,
    /// The first directory that has no parent except "/" in common with `first`.
    elsewhere: Option<Vec<u8>>,
}

impl Common {
    fn add(&mut self, directory: &[u8]) {
        let Some(common) = &mut self.directory else {
            (self.first, self.directory) = (directory.to_vec(), Some(directory.to_vec()));
            return;
        };
        while !below(directory, common) {
            *common = directory_of(common).to_vec();
        }
        if common == b"/" && self.elsewhere.is_none() {
            self.elsewhere = Some(directory.to_vec());
        }
    }
}

impl Detector {
    pub fn see(&mut self, followed: &Followed) {
        let Some(record) = followed.record.as_ref().filter(|r| matches!(r.result, Outcome::Value(_))) else { return };
        let paths = followed.paths.iter().filter(|path| !is_special(path));
        // Inherited descriptors, such as a redirected standard input, are not files on which the program works.
        if changes(&record.call) && !followed.implied {
            paths.for_each(|path| self.changed.add(directory_of(path)));
        } else if matches!(record.call, Call::Open { .. }) {
            let own = paths.filter(|path| !SYSTEM.iter().any(|system| below(path, system.as_bytes())));
            own.for_each(|path| self.opened.add(directory_of(path)));
        }
    }

    /// Returns the directory.
    ///
    /// Errors: only "/" contains all files.
    pub fn root(self) -> Result<Vec<u8>, StraceError> {
        let Common { first, directory, elsewhere } =
            if self.changed.directory.is_some() { self.changed } else { self.opened };
        let Some(common) = directory else {
            return Err(StraceError::NoFiles);
        };
        // A single directory may be the root "/" itself.
        let elsewhere = elsewhere.or_else(|| (common == b"/").then(|| first.clone()));
        match elsewhere {
            None => Ok(common),
            Some(other) => Err(StraceError::NoCommonRoot {
                one: String::from_utf8_lossy(&first).into_owned(),
                other: String::from_utf8_lossy(&other).into_owned(),
            }),
        }
    }
}

fn changes(call: &Call) -> bool {
    match call {
        Call::Open { flags, .. } => flags.write || flags.create,
        Call::Truncate { target: Target::Path { .. }, .. }
        | Call::Rename { .. }
        | Call::Unlink { .. }
        | Call::MakeDirectory { .. }
        | Call::RemoveDirectory { .. }
        | Call::Link { .. }
        | Call::Symlink { .. } => true,
        _ => false,
    }
}

fn below(path: &[u8], directory: &[u8]) -> bool {
    directory == b"/" || path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn directory_of(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|b| *b == b'/') {
        Some(0) | None => b"/",
        Some(at) => &path[..at],
    }
}
