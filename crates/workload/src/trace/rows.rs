//! From rows, one for each event, to a [`Trace`]: opens descriptors, finds what must exist, and computes think time.
//!
//! If a recording names files and no descriptors, each file gets one descriptor, which is opened before its first use.
//! If a recording does not tell how a file was opened, the file is opened with the access that its calls need.

use super::error::RowError;
use super::names::from_text;
use super::{Call, Existing, ExistingKind, Handle, OpenFlags, Outcome, Record, Target, Trace};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// An error: line (0: none), and what is wrong there.
pub type Refused = (u64, RowError);

/// Calls that are not replayed: their name and how many there were.
pub type LeftOut = Vec<(String, u64)>;

/// One event of a recording. A field that the recording does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Line of the recording, from 1.
    pub line: u64,
    pub start_ns: Option<u64>,
    pub duration_ns: Option<u64>,
    pub think_ns: Option<u64>,
    pub process: u32,
    pub op: String,
    pub handle: Option<Handle>,
    /// As text, see [`super::names`].
    pub path: Option<String>,
    pub to: Option<String>,
    pub offset: Option<i64>,
    pub bytes: Option<u64>,
    /// Words separated by "|".
    pub flags: Option<String>,
    pub permissions: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub result: Option<i64>,
    pub error: Option<String>,
}

impl Row {
    fn needs(&self, what: &'static str) -> RowError {
        RowError::Needs { op: self.op.clone(), what }
    }
}

/// How the calls of the recording use a path.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    reads: bool,
    writes: bool,
    opened: bool,
    directory: bool,
}

/// Makes the trace. `path` is the recording's path; `ignored`: kinds of events that are left out, and how many of each.
///
/// Errors: impossible rows, or no rows at all.
pub fn trace(
    path: &Path,
    rows: Vec<Row>,
    ignored: BTreeMap<String, u64>,
    root: Option<&str>,
) -> Result<Trace, Refused> {
    let mut survey = Survey::default();
    rows.iter().for_each(|row| survey.see(row));
    let root = survey.root(root)?;
    let mut maker = Maker::new(&survey, &root);
    for row in &rows {
        maker.row(row).map_err(|why| (row.line, why))?;
    }
    let (records, handles) = (maker.take().collect(), maker.next_handle);
    let (existing, ignored) = maker.finish(ignored)?;
    Ok(Trace { path: path.to_path_buf(), root, records, existing, ignored, calls_seen: survey.rows_n, handles })
}

/// What must be known about all rows before the first of them becomes a call.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    rows_n: u64,
    /// The recording has rows that tell what existed, and its paths are relative to the root already.
    told: bool,
    /// The use of each path, as it is written in the recording.
    uses: BTreeMap<String, Use>,
    /// The new names and targets that calls have.
    targets: BTreeSet<String>,
}

impl Survey {
    pub fn see(&mut self, row: &Row) {
        self.rows_n += 1;
        self.told |= row.op.starts_with("exists");
        if let Some(to) = row.to.as_ref().filter(|to| !self.targets.contains(*to)) {
            self.targets.insert(to.clone());
        }
        let Some(path) = &row.path else { return };
        if !self.uses.contains_key(path) {
            self.uses.insert(path.clone(), Use::default());
        }
        let Some(used) = self.uses.get_mut(path) else { return };
        used.reads |= matches!(row.op.as_str(), "read" | "pread");
        used.writes |= matches!(row.op.as_str(), "write" | "pwrite" | "ftruncate" | "trim");
        used.opened |= row.op == "open";
        used.directory |= row.op == "getdents";
    }

    /// The directory to which paths are relative: the given one, or the one that all paths have in common.
    ///
    /// Errors: no rows at all.
    pub fn root(&self, given: Option<&str>) -> Result<String, Refused> {
        if self.rows_n == 0 {
            return Err((0, RowError::Empty));
        }
        Ok(match (given, self.told) {
            (Some(root), _) => root.trim_end_matches('/').to_string(),
            (None, true) => String::new(),
            (None, false) => common_directory(self.uses.keys().chain(&self.targets).map(String::as_str)),
        })
    }
}

/// The deepest directory that holds every absolute path; "" when there is none.
fn common_directory<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut common: Option<Vec<&str>> = None;
    let all: BTreeSet<&str> = paths.filter(|path| path.starts_with('/')).collect();
    for &path in &all {
        // A path with other paths below it is a directory. Of any other path the parent directory counts.
        let inside = format!("{path}/");
        let is_directory = all.range(&inside[..]..).next().is_some_and(|other| other.starts_with(&inside));
        let directory = if is_directory { path } else { path.rsplit_once('/').map_or("", |(above, _)| above) };
        let parts: Vec<&str> = directory.split('/').collect();
        common = Some(match common {
            None => parts,
            Some(before) => before.iter().zip(&parts).take_while(|(a, b)| a == b).map(|(a, _)| *a).collect(),
        });
    }
    common.map_or_else(String::new, |parts| parts.join("/"))
}

/// Turns rows into calls, one after the other.
pub struct Maker<'a> {
    root: &'a str,
    uses: BTreeMap<Vec<u8>, Use>,
    records: Vec<Record>,
    /// Whether any call was made.
    is_used: bool,
    outside: u64,
    next_handle: Handle,
    /// The descriptors of the recording.
    by_number: BTreeMap<Handle, (Handle, Vec<u8>)>,
    /// Descriptors by file, for recordings without descriptors.
    by_path: BTreeMap<Vec<u8>, Handle>,
    positions: BTreeMap<Handle, u64>,
    latest_end_ns: Option<u64>,
    /// The size of each file at the start and now, as far as the calls show it.
    sizes: BTreeMap<Vec<u8>, (u64, u64)>,
    /// The files and directories that calls have made.
    made: BTreeSet<Vec<u8>>,
    needed: BTreeMap<Vec<u8>, ExistingKind>,
    /// The recording has rows that tell what existed.
    told: bool,
}

impl<'a> Maker<'a> {
    pub fn new(survey: &Survey, root: &'a str) -> Maker<'a> {
        let mut maker = Maker {
            root,
            uses: BTreeMap::new(),
            records: Vec::new(),
            is_used: false,
            outside: 0,
            next_handle: 0,
            by_number: BTreeMap::new(),
            by_path: BTreeMap::new(),
            positions: BTreeMap::new(),
            latest_end_ns: None,
            sizes: BTreeMap::new(),
            made: BTreeSet::new(),
            needed: BTreeMap::new(),
            told: survey.told,
        };
        let mut uses: BTreeMap<Vec<u8>, Use> = BTreeMap::new();
        for (path, found) in &survey.uses {
            let Some(path) = maker.inside(path) else { continue };
            let used = uses.entry(path).or_default();
            used.reads |= found.reads;
            used.writes |= found.writes;
            used.opened |= found.opened;
            used.directory |= found.directory;
        }
        // A path that is the parent of another path is a directory.
        let above: BTreeSet<Vec<u8>> = uses.keys().flat_map(|path| parents(path)).collect();
        for (path, used) in &mut uses {
            used.directory |= path.is_empty() || above.contains(path);
        }
        maker.uses = uses;
        maker
    }

    /// The calls since the last time that this was called.
    pub fn take(&mut self) -> std::vec::Drain<'_, Record> {
        self.is_used |= !self.records.is_empty();
        self.records.drain(..)
    }

    /// What must exist, and what was left out; `ignored`: what the reader has left out.
    ///
    /// Errors: no call was below the root.
    pub fn finish(mut self, ignored: BTreeMap<String, u64>) -> Result<(Vec<Existing>, LeftOut), Refused> {
        let mut ignored: Vec<(String, u64)> = ignored.into_iter().collect();
        if self.outside > 0 {
            ignored.push((format!("outside of {}", self.root), self.outside));
        }
        if self.is_used {
            Ok((self.existing(), ignored))
        } else {
            Err((0, RowError::NothingBelow { root: self.root.to_string() }))
        }
    }

    /// The path relative to the root; `None` if it is not below the root.
    fn inside(&self, path: &str) -> Option<Vec<u8>> {
        if path == "." {
            return Some(Vec::new());
        }
        let below = if path.starts_with('/') { path.strip_prefix(self.root)? } else { path };
        (below.is_empty() || below.starts_with('/') || !path.starts_with('/'))
            .then(|| from_text(below.trim_start_matches('/')))
    }

    /// Turns a row into calls.
    ///
    /// Errors: an impossible row.
    pub fn row(&mut self, row: &Row) -> Result<(), RowError> {
        let path = match &row.path {
            Some(path) => match self.inside(path) {
                Some(path) => Some(path),
                None => {
                    self.outside += 1;
                    return Ok(());
                }
            },
            None => None,
        };
        let to = row.to.as_deref();
        if let Some(kind) = row.op.strip_prefix("exists") {
            return self.exists(kind, path.ok_or(RowError::ExistsWithoutPath)?, row);
        }
        let needs_path = || path.clone().ok_or_else(|| row.needs("a path"));
        let inside_to = || to.and_then(|to| self.inside(to)).ok_or_else(|| row.needs("a column `to`"));
        let target = |follow: bool| match (row.handle, &path) {
            (Some(_), _) => None,
            (None, Some(path)) => Some(Target::Path { path: path.clone(), follow }),
            (None, None) => None,
        };
        let bytes = row.bytes.unwrap_or(0);
        let call = match row.op.as_str() {
            "open" => return self.open(row, needs_path()?),
            "sync" => Call::Sync,
            "rename" | "rename-noreplace" => {
                let to = inside_to()?;
                self.made.insert(to.clone());
                Call::Rename { from: needs_path()?, to, no_replace: row.op != "rename" }
            }
            "unlink" => {
                let path = needs_path()?;
                self.made.insert(path.clone());
                Call::Unlink { path }
            }
            "mkdir" => {
                let path = needs_path()?;
                self.made.insert(path.clone());
                Call::MakeDirectory { path, permissions: row.permissions.unwrap_or(0o755) }
            }
            "rmdir" => Call::RemoveDirectory { path: needs_path()? },
            "link" => Call::Link { from: needs_path()?, to: inside_to()? },
            "symlink" => Call::Symlink { target: from_text(to.unwrap_or("")), path: needs_path()? },
            "readlink" => Call::ReadLink { path: needs_path()? },
            "truncate" if target(true).is_some() => Call::Truncate { target: target(true).expect("is some"), bytes },
            "stat" | "lstat" if target(true).is_some() => {
                Call::Stat { target: target(row.op == "stat").expect("is some") }
            }
            "chmod" if target(true).is_some() => {
                let permissions = row.permissions.unwrap_or(0o644);
                Call::ChangeMode { target: target(true).expect("is some"), permissions }
            }
            "chown" | "lchown" if target(true).is_some() => {
                let target = target(row.op == "chown").expect("is some");
                Call::ChangeOwner { target, uid: row.uid, gid: row.gid }
            }
            "utimens" | "lutimens" if target(true).is_some() => {
                Call::ChangeTimes { target: target(row.op == "utimens").expect("is some") }
            }
            "statfs" if target(true).is_some() => Call::StatFs { target: target(true).expect("is some") },
            _ => return self.on_open_file(row, path),
        };
        self.push(row, call, 0);
        Ok(())
    }

    fn exists(&mut self, kind: &str, path: Vec<u8>, row: &Row) -> Result<(), RowError> {
        let kind = match kind {
            "-directory" => ExistingKind::Directory,
            "-file" => ExistingKind::File { size_bytes: row.bytes.unwrap_or(0) },
            "-symlink" => ExistingKind::Symlink { target: from_text(row.to.as_deref().unwrap_or("")) },
            _ => {
                let hint = "exists-file, exists-directory or exists-symlink".to_string();
                return Err(RowError::UnknownOp { op: row.op.clone(), hint });
            }
        };
        self.needed.insert(path, kind);
        Ok(())
    }

    /// Turns a row with a call on a descriptor into calls.
    fn on_open_file(&mut self, row: &Row, path: Option<Vec<u8>>) -> Result<(), RowError> {
        let known = super::table::OPS;
        if !known.contains(&row.op.as_str()) {
            let hint = ffslab_text::words::nearest(&row.op, known.iter().copied())
                .map_or(format!("known: {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
            return Err(RowError::UnknownOp { op: row.op.clone(), hint });
        }
        let (handle, path) = self.descriptor(row, path)?;
        let bytes = row.bytes.unwrap_or(0);
        let offset = row.offset.and_then(|offset| u64::try_from(offset).ok());
        let call = match (row.op.as_str(), offset) {
            ("read" | "pread", Some(offset)) => Call::ReadAt { handle, offset, bytes },
            ("write" | "pwrite", Some(offset)) => Call::WriteAt { handle, offset, bytes },
            ("read", None) => Call::Read { handle, bytes },
            ("write", None) => Call::Write { handle, bytes },
            ("trim", Some(offset)) => Call::Trim { handle, offset, bytes },
            ("pread" | "pwrite" | "trim", None) => return Err(row.needs("an offset")),
            ("fsync", _) => Call::Fsync { handle, data_only: false },
            ("fdatasync", _) => Call::Fsync { handle, data_only: true },
            ("syncfs", _) => Call::SyncFs { handle },
            ("lseek", _) => Call::Seek { handle, offset: row.offset.unwrap_or(0), whence: super::table::whence(row)? },
            ("fadvise", _) => {
                Call::Advise { handle, offset: offset.unwrap_or(0), bytes, advice: super::table::advice(row)? }
            }
            ("getdents", _) => Call::ListDirectory { handle },
            ("truncate" | "ftruncate", _) => Call::Truncate { target: Target::Handle(handle), bytes },
            ("stat" | "fstat" | "lstat", _) => Call::Stat { target: Target::Handle(handle) },
            ("chmod", _) => {
                let permissions = row.permissions.unwrap_or(0o644);
                Call::ChangeMode { target: Target::Handle(handle), permissions }
            }
            ("chown" | "lchown", _) => Call::ChangeOwner { target: Target::Handle(handle), uid: row.uid, gid: row.gid },
            ("utimens" | "lutimens", _) => Call::ChangeTimes { target: Target::Handle(handle) },
            ("statfs", _) => Call::StatFs { target: Target::Handle(handle) },
            _ => {
                self.by_path.remove(&path);
                if let Some(number) = row.handle {
                    self.by_number.remove(&number);
                }
                Call::Close { handle }
            }
        };
        self.follow_sizes(&call, &path);
        let moves = matches!(row.op.as_str(), "read" | "pread" | "write" | "pwrite");
        self.push(row, call, if moves { bytes as i64 } else { 0 });
        Ok(())
    }

    /// The descriptor of a row. If the recording has none, the file is opened.
    fn descriptor(&mut self, row: &Row, path: Option<Vec<u8>>) -> Result<(Handle, Vec<u8>), RowError> {
        if let Some(number) = row.handle {
            return self.by_number.get(&number).cloned().ok_or(RowError::HandleNotOpen { number });
        }
        let path = path.ok_or_else(|| row.needs("a path or a handle"))?;
        if let Some(&handle) = self.by_path.get(&path) {
            return Ok((handle, path));
        }
        if row.op == "close" {
            return Err(RowError::NotOpen);
        }
        let opening =
            Row { op: "open".to_string(), duration_ns: None, flags: None, result: None, error: None, ..row.clone() };
        self.open(&opening, path.clone())?;
        Ok((self.by_path[&path], path))
    }

    fn open(&mut self, row: &Row, path: Vec<u8>) -> Result<(), RowError> {
        let used = self.uses.get(&path).copied().unwrap_or_default();
        let flags = match &row.flags {
            Some(flags) => super::table::open_flags(flags)?,
            None if used.directory => OpenFlags { read: true, directory: true, ..OpenFlags::default() },
            None => {
                let write = used.writes;
                OpenFlags { read: used.reads || !write, write, create: write, ..OpenFlags::default() }
            }
        };
        let handle = self.next_handle;
        self.next_handle += 1;
        if row.error.is_none() {
            match row.handle {
                Some(number) => drop(self.by_number.insert(number, (handle, path.clone()))),
                None => drop(self.by_path.insert(path.clone(), handle)),
            }
            let must_exist = !flags.create && !self.made.contains(&path) && !path.is_empty();
            if must_exist && !self.told {
                let kind = if flags.directory { ExistingKind::Directory } else { ExistingKind::File { size_bytes: 0 } };
                self.needed.entry(path.clone()).or_insert(kind);
            }
            if flags.truncate {
                self.sizes.insert(path.clone(), (self.sizes.get(&path).map_or(0, |sizes| sizes.0), u64::MAX));
            }
        }
        let permissions = row.permissions.unwrap_or(0o644);
        let call = Call::Open { handle, path, flags, permissions };
        self.push(row, call, i64::from(handle));
        Ok(())
    }

    /// Notes which bytes of a file existed at the start: those that are read without having been written before.
    fn follow_sizes(&mut self, call: &Call, path: &[u8]) {
        let (handle, offset, bytes, write) = match call {
            Call::ReadAt { handle, offset, bytes } => (*handle, Some(*offset), *bytes, false),
            Call::WriteAt { handle, offset, bytes } => (*handle, Some(*offset), *bytes, true),
            Call::Read { handle, bytes } => (*handle, None, *bytes, false),
            Call::Write { handle, bytes } => (*handle, None, *bytes, true),
            Call::Truncate { target: Target::Handle(_), bytes } => {
                // After a truncation, sizes tell nothing about the start any more.
                self.sizes.entry(path.to_vec()).or_default().1 = (*bytes).max(u64::MAX / 2);
                return;
            }
            _ => return,
        };
        let position = self.positions.entry(handle).or_default();
        let end = offset.unwrap_or(*position).saturating_add(bytes);
        if offset.is_none() {
            *position = end;
        }
        let made = self.made.contains(path);
        let (first, now) = self.sizes.entry(path.to_vec()).or_default();
        if end > *now {
            *now = end;
            if !write && !made {
                *first = end;
            }
        }
    }

    fn push(&mut self, row: &Row, call: Call, result: i64) {
        let at_ns = row.start_ns.unwrap_or_else(|| self.latest_end_ns.unwrap_or(0));
        let duration_ns = row.duration_ns.unwrap_or(0);
        let think_ns = row.think_ns.unwrap_or_else(|| self.latest_end_ns.map_or(0, |end| at_ns.saturating_sub(end)));
        let end_ns = at_ns.saturating_add(duration_ns);
        self.latest_end_ns = Some(self.latest_end_ns.map_or(end_ns, |latest| latest.max(end_ns)));
        let result = match &row.error {
            Some(error) => Outcome::Error(error.clone()),
            None => Outcome::Value(row.result.unwrap_or(result)),
        };
        self.records.push(Record { line: row.line, process: row.process, at_ns, think_ns, duration_ns, call, result });
    }

    /// What must exist before the replay, parents first.
    fn existing(&mut self) -> Vec<Existing> {
        let mut needed = std::mem::take(&mut self.needed);
        if !self.told {
            for (path, &(first, _)) in self.sizes.iter().filter(|(_, sizes)| sizes.0 > 0) {
                needed.insert(path.clone(), ExistingKind::File { size_bytes: first });
            }
            let opened = self.uses.keys().filter(|path| !path.is_empty());
            let parents: BTreeSet<Vec<u8>> = opened.chain(needed.keys()).flat_map(|path| parents(path)).collect();
            for parent in parents.into_iter().filter(|parent| !self.made.contains(parent)) {
                needed.insert(parent, ExistingKind::Directory);
            }
        }
        needed.into_iter().map(|(path, kind)| Existing { path, kind }).collect()
    }
}

/// All directories above a path.
fn parents(path: &[u8]) -> Vec<Vec<u8>> {
    path.iter().enumerate().filter(|(_, &byte)| byte == b'/').map(|(at, _)| path[..at].to_vec()).collect()
}
