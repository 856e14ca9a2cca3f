//! Restricts a trace to one directory, and makes its paths relative to it.

use super::existing::Watcher;
use super::follow::{is_special, Followed, Whole};
use super::{Call, Handle, Outcome, Record, Target, Trace, TraceError};
use std::collections::BTreeMap;
use std::path::Path;

/// Keeps what lies below `root` (or the directory found by [`detect`]).
pub fn restrict(path: &Path, whole: Whole, root: Option<&str>) -> Result<Trace, TraceError> {
    let content = |message| TraceError::Content { path: path.to_path_buf(), message };
    let root = match root {
        Some(given) => given_root(given).map_err(content)?,
        None => detect(&whole).map_err(content)?,
    };
    let scope = Scope::new(root, &whole.handles);
    let mut ignored: BTreeMap<String, u64> = BTreeMap::new();
    let mut records = Vec::new();
    let mut watcher = Watcher::default();
    let mut latest_end_ns = None;
    for Followed { record, ignored: why, paths, evidence, .. } in whole.calls {
        let inside = paths.iter().filter(|p| scope.holds(p)).count();
        match (record, why) {
            (None, why) if inside > 0 || paths.iter().any(Vec::is_empty) => {
                *ignored.entry(why.unwrap_or_default()).or_default() += 1;
            }
            (Some(record), _) if inside == paths.len() => {
                let call = scope.relative(record.call);
                let end_ns = record.at_ns.saturating_add(record.duration_ns);
                let think_ns = latest_end_ns.map_or(0, |end| record.at_ns.saturating_sub(end));
                latest_end_ns = latest_end_ns.max(Some(end_ns));
                let record = Record { call, think_ns, ..record };
                watcher.watch(&record, &evidence);
                records.push(record);
            }
            (Some(_), _) if inside > 0 => {
                *ignored.entry("rename or link across the root".to_string()).or_default() += 1;
            }
            _ => {}
        }
    }
    let mut ignored: Vec<(String, u64)> = ignored.into_iter().collect();
    ignored.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let root = String::from_utf8_lossy(&scope.root).into_owned();
    if !records.iter().any(|r| r.call != Call::Sync) {
        return Err(content(format!("no file system call on a file below {root}: give another root")));
    }
    Ok(Trace {
        path: path.to_path_buf(),
        root,
        records,
        existing: watcher.finish(),
        ignored,
        calls_seen: whole.calls_seen,
        handles: scope.handles.iter().flatten().count() as u32,
    })
}

struct Scope {
    root: Vec<u8>,
    /// New number of each handle below the root.
    handles: Vec<Option<Handle>>,
}

impl Scope {
    fn new(root: Vec<u8>, paths: &[Vec<u8>]) -> Self {
        let mut scope = Scope { root, handles: Vec::new() };
        let mut next = 0;
        for path in paths {
            let inside = scope.holds(path);
            scope.handles.push(inside.then_some(next));
            next += u32::from(inside);
        }
        scope
    }

    /// `path` without the root in front of it.
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

    /// A link's target keeps its form; an absolute one below the root begins at the new root.
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
            Call::Open { handle, path, mode, permissions } => {
                Call::Open { handle: h(handle), path: self.path(path), mode, permissions }
            }
            Call::Close { handle } => Call::Close { handle: h(handle) },
            Call::Read { handle, bytes } => Call::Read { handle: h(handle), bytes },
            Call::Write { handle, bytes } => Call::Write { handle: h(handle), bytes },
            Call::ReadAt { handle, offset, bytes } => Call::ReadAt { handle: h(handle), offset, bytes },
            Call::WriteAt { handle, offset, bytes } => Call::WriteAt { handle: h(handle), offset, bytes },
            Call::Seek { handle, offset, from } => Call::Seek { handle: h(handle), offset, from },
            Call::Fsync { handle, data_only } => Call::Fsync { handle: h(handle), data_only },
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

fn given_root(given: &str) -> Result<Vec<u8>, String> {
    let trimmed = given.trim_end_matches('/');
    match trimmed {
        "" if given.starts_with('/') => Ok(b"/".to_vec()),
        _ if trimmed.starts_with('/') || trimmed == "." || trimmed.starts_with("./") => Ok(trimmed.as_bytes().to_vec()),
        _ => {
            Err(format!("root = \"{given}\": an absolute directory of the traced machine is needed, such as /tmp/work"))
        }
    }
}

/// Where programs live; reading there says nothing about what a program works on.
const SYSTEM: &[&str] =
    &["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/run", "/sbin", "/usr", "/var/lib"];

/// The deepest directory that holds all files which the program could change; if there are none, all files that it
/// opened outside the system's own directories.
fn detect(whole: &Whole) -> Result<Vec<u8>, String> {
    let succeeded = |f: &&Followed| f.record.as_ref().is_some_and(|r| matches!(r.result, Outcome::Value(_)));
    let directories = |wanted: &dyn Fn(&Call) -> bool, system: bool| -> Vec<Vec<u8>> {
        // Inherited descriptors, such as a redirected standard input, are not what the program works on.
        let calls = whole
            .calls
            .iter()
            .filter(succeeded)
            .filter(|f| !(system && f.implied))
            .filter(|f| f.record.as_ref().is_some_and(|r| wanted(&r.call)));
        let paths = calls.flat_map(|f| f.paths.iter()).filter(|p| !is_special(p));
        let paths = paths.filter(|p| system || !SYSTEM.iter().any(|s| below(p, s.as_bytes())));
        paths.map(|p| directory_of(p).to_vec()).collect()
    };
    let mut found = directories(&changes, true);
    if found.is_empty() {
        found = directories(&|call| matches!(call, Call::Open { .. }), false);
    }
    let Some(first) = found.first() else {
        return Err("the program opened no file outside the system's directories: give the root to replay".to_string());
    };
    let mut common = first.clone();
    for directory in &found {
        while !below(directory, &common) {
            common = directory_of(&common).to_vec();
        }
        if common == b"/" {
            return Err(format!(
                "the program works in {} and {}, which have no common directory: give the root to replay, such as \
                 root = \"/tmp/work\"",
                String::from_utf8_lossy(first),
                String::from_utf8_lossy(directory)
            ));
        }
    }
    Ok(common)
}

fn changes(call: &Call) -> bool {
    match call {
        Call::Open { mode, .. } => mode.write || mode.create,
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
