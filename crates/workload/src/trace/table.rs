//! Traces as tables: the canonical form of a recording, and any CSV whose column names say their units.
//!
//! A row is a call. Canonical are the columns of [`TraceColumns`], in Parquet or CSV; a reader takes any subset that has
//! `op` and `path` (or `file`), with other units (`start_ms`, `offset_KiB`), separated by commas, semicolons or tabs.
//! docs/traces.md lists columns and ops.

use super::error::RowError;
use super::names::to_text;
use super::rows::{Refused, Row};
use super::source::LINE_BYTES_MAX;
use super::{Advice, Call, Existing, ExistingKind, OpenFlags, Outcome, Record, Target, Trace, Whence};
use ffslab_text::words::io_reason;
use std::collections::BTreeMap;
use std::io::{BufRead, Cursor, Read};

/// The operations that a row may have.
pub const OPS: &[&str] = &[
    "open",
    "close",
    "read",
    "write",
    "pread",
    "pwrite",
    "lseek",
    "fsync",
    "fdatasync",
    "trim",
    "sync",
    "syncfs",
    "truncate",
    "ftruncate",
    "rename",
    "rename-noreplace",
    "unlink",
    "mkdir",
    "rmdir",
    "link",
    "symlink",
    "readlink",
    "stat",
    "lstat",
    "fstat",
    "getdents",
    "chmod",
    "chown",
    "lchown",
    "utimens",
    "lutimens",
    "statfs",
    "fadvise",
    "exists-file",
    "exists-directory",
    "exists-symlink",
];

/// The canonical columns, of equal length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceColumns {
    pub op: Vec<&'static str>,
    pub path: Vec<Option<String>>,
    /// New name of `rename` and `link`, content of a symbolic link.
    pub to: Vec<Option<String>>,
    pub handle: Vec<Option<u32>>,
    pub process: Vec<u32>,
    pub start_ns: Vec<u64>,
    pub duration_ns: Vec<u64>,
    pub think_ns: Vec<u64>,
    pub offset_bytes: Vec<Option<i64>>,
    pub size_bytes: Vec<Option<u64>>,
    pub flags: Vec<Option<String>>,
    pub permissions: Vec<Option<u32>>,
    pub uid: Vec<Option<u32>>,
    pub gid: Vec<Option<u32>>,
    pub result: Vec<Option<i64>>,
    pub error: Vec<Option<String>>,
}

impl TraceColumns {
    /// The table of a trace. Reading it gives the same calls.
    pub fn of(trace: &Trace) -> TraceColumns {
        let mut columns = TraceColumns::default();
        trace.existing.iter().for_each(|existing| columns.push_existing(existing));
        trace.records.iter().for_each(|record| columns.push_record(record));
        columns
    }

    /// Adds a row for something that must exist before the first call.
    pub fn push_existing(&mut self, existing: &Existing) {
        let mut row = Row { path: Some(path_text(&existing.path)), ..Row::default() };
        let op = match &existing.kind {
            ExistingKind::Directory => "exists-directory",
            ExistingKind::File { size_bytes } => {
                row.bytes = Some(*size_bytes);
                "exists-file"
            }
            ExistingKind::Symlink { target } => {
                row.to = Some(to_text(target));
                "exists-symlink"
            }
        };
        self.push(op, row);
    }

    /// Adds a row for a call.
    pub fn push_record(&mut self, record: &Record) {
        let (op, mut row) = row_of(&record.call);
        (row.start_ns, row.duration_ns) = (Some(record.at_ns), Some(record.duration_ns));
        (row.think_ns, row.process) = (Some(record.think_ns), record.process);
        match &record.result {
            Outcome::Value(value) => row.result = Some(*value),
            Outcome::Error(error) => row.error = Some(error.clone()),
        }
        self.push(op, row);
    }

    fn push(&mut self, op: &'static str, row: Row) {
        self.op.push(op);
        self.path.push(row.path);
        self.to.push(row.to);
        self.handle.push(row.handle);
        self.process.push(row.process);
        self.start_ns.push(row.start_ns.unwrap_or(0));
        self.duration_ns.push(row.duration_ns.unwrap_or(0));
        self.think_ns.push(row.think_ns.unwrap_or(0));
        self.offset_bytes.push(row.offset);
        self.size_bytes.push(row.bytes);
        self.flags.push(row.flags);
        self.permissions.push(row.permissions);
        self.uid.push(row.uid);
        self.gid.push(row.gid);
        self.result.push(row.result);
        self.error.push(row.error);
    }
}

/// The path of a row. The root has an empty path, which a table would read as no path.
fn path_text(path: &[u8]) -> String {
    if path.is_empty() {
        ".".to_string()
    } else {
        to_text(path)
    }
}

fn row_of(call: &Call) -> (&'static str, Row) {
    let path = |path: &[u8]| Row { path: Some(path_text(path)), ..Row::default() };
    let handle = |handle: u32| Row { handle: Some(handle), ..Row::default() };
    let on = |target: &Target| match target {
        Target::Path { path: name, .. } => path(name),
        Target::Handle(number) => handle(*number),
    };
    let no_follow = |target: &Target| matches!(target, Target::Path { follow: false, .. });
    let signed = |offset: u64| i64::try_from(offset).ok();
    match call {
        Call::Open { handle, path: name, flags, permissions } => {
            let flags = Some(flags.words().collect::<Vec<_>>().join("|"));
            ("open", Row { handle: Some(*handle), flags, permissions: Some(*permissions), ..path(name) })
        }
        Call::Close { handle: number } => ("close", handle(*number)),
        Call::Read { handle: number, bytes } => ("read", Row { bytes: Some(*bytes), ..handle(*number) }),
        Call::Write { handle: number, bytes } => ("write", Row { bytes: Some(*bytes), ..handle(*number) }),
        Call::ReadAt { handle: number, offset, bytes } => {
            ("pread", Row { offset: signed(*offset), bytes: Some(*bytes), ..handle(*number) })
        }
        Call::WriteAt { handle: number, offset, bytes } => {
            ("pwrite", Row { offset: signed(*offset), bytes: Some(*bytes), ..handle(*number) })
        }
        Call::Seek { handle: number, offset, whence } => {
            let from = match whence {
                Whence::Set => "start",
                Whence::Current => "current",
                Whence::End => "end",
            };
            ("lseek", Row { offset: Some(*offset), flags: Some(from.to_string()), ..handle(*number) })
        }
        Call::Fsync { handle: number, data_only: false } => ("fsync", handle(*number)),
        Call::Fsync { handle: number, data_only: true } => ("fdatasync", handle(*number)),
        Call::Trim { handle: number, offset, bytes } => {
            ("trim", Row { offset: signed(*offset), bytes: Some(*bytes), ..handle(*number) })
        }
        Call::Sync => ("sync", Row::default()),
        Call::SyncFs { handle: number } => ("syncfs", handle(*number)),
        Call::Truncate { target, bytes } => ("truncate", Row { bytes: Some(*bytes), ..on(target) }),
        Call::Rename { from, to, no_replace } => {
            let op = if *no_replace { "rename-noreplace" } else { "rename" };
            (op, Row { to: Some(to_text(to)), ..path(from) })
        }
        Call::Unlink { path: name } => ("unlink", path(name)),
        Call::MakeDirectory { path: name, permissions } => {
            ("mkdir", Row { permissions: Some(*permissions), ..path(name) })
        }
        Call::RemoveDirectory { path: name } => ("rmdir", path(name)),
        Call::Link { from, to } => ("link", Row { to: Some(to_text(to)), ..path(from) }),
        Call::Symlink { target, path: name } => ("symlink", Row { to: Some(to_text(target)), ..path(name) }),
        Call::ReadLink { path: name } => ("readlink", path(name)),
        Call::Stat { target } => (if no_follow(target) { "lstat" } else { "stat" }, on(target)),
        Call::ListDirectory { handle: number } => ("getdents", handle(*number)),
        Call::ChangeMode { target, permissions } => ("chmod", Row { permissions: Some(*permissions), ..on(target) }),
        Call::ChangeOwner { target, uid, gid } => {
            (if no_follow(target) { "lchown" } else { "chown" }, Row { uid: *uid, gid: *gid, ..on(target) })
        }
        Call::ChangeTimes { target } => (if no_follow(target) { "lutimens" } else { "utimens" }, on(target)),
        Call::StatFs { target } => ("statfs", on(target)),
        Call::Advise { handle: number, offset, bytes, advice } => {
            let flags = Some(advice.name().to_string());
            ("fadvise", Row { offset: signed(*offset), bytes: Some(*bytes), flags, ..handle(*number) })
        }
    }
}

const ADVICE: &[Advice] =
    &[Advice::Normal, Advice::Random, Advice::Sequential, Advice::WillNeed, Advice::DontNeed, Advice::NoReuse];

/// The advice that the flags of a row state.
pub(super) fn advice(row: &Row) -> Result<Advice, RowError> {
    let word = row.flags.as_deref().unwrap_or("normal");
    let found = ADVICE.iter().copied().find(|advice| advice.name() == word);
    let known = || ADVICE.iter().map(|advice| advice.name()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| RowError::Word { what: "advice", word: word.to_string(), known: known() })
}

/// The origin of a seek that the flags of a row state.
pub(super) fn whence(row: &Row) -> Result<Whence, RowError> {
    match row.flags.as_deref().unwrap_or("start") {
        "start" => Ok(Whence::Set),
        "current" => Ok(Whence::Current),
        "end" => Ok(Whence::End),
        word => {
            let known = "start, current, end".to_string();
            Err(RowError::Word { what: "origin", word: word.to_string(), known })
        }
    }
}

/// What the flags of a row say: "rdwr|create".
pub(super) fn open_flags(flags: &str) -> Result<OpenFlags, RowError> {
    let mut given = OpenFlags::default();
    for word in flags.split('|').map(str::trim) {
        if !given.set(word) {
            let known =
                "rdonly, wronly, rdwr, create, exclusive, truncate, append, sync, dsync, directory, nofollow, direct";
            return Err(RowError::Word { what: "flag", word: word.to_string(), known: known.to_string() });
        }
    }
    if given.read || given.write {
        Ok(given)
    } else {
        Err(RowError::NoAccess { flags: flags.to_string() })
    }
}

/// The meaning of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Op,
    Path,
    To,
    Handle,
    Process,
    Flags,
    Permissions,
    Uid,
    Gid,
    Result,
    Error,
    /// Times, with their unit in nanoseconds.
    Start(u64),
    Duration(u64),
    Think(u64),
    /// Sizes, with their unit in bytes.
    Offset(u64),
    Size(u64),
}

const PLAIN: &[(&str, Column)] = &[
    ("op", Column::Op),
    ("path", Column::Path),
    ("file", Column::Path),
    ("to", Column::To),
    ("handle", Column::Handle),
    ("process", Column::Process),
    ("flags", Column::Flags),
    ("permissions", Column::Permissions),
    ("uid", Column::Uid),
    ("gid", Column::Gid),
    ("result", Column::Result),
    ("error", Column::Error),
    ("bytes", Column::Size(1)),
];
/// The names of units, and how many of the smallest unit each is.
type Units = &'static [(&'static str, u64)];
const TIMES: Units = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const SIZES: Units = &[("B", 1), ("sectors", 512), ("KiB", 1 << 10), ("MiB", 1 << 20)];

impl Column {
    fn of(name: &str) -> Result<Column, RowError> {
        if let Some((_, column)) = PLAIN.iter().find(|(plain, _)| *plain == name) {
            return Ok(*column);
        }
        let (base, unit) = name.rsplit_once('_').unwrap_or((name, ""));
        let (units, make): (Units, fn(u64) -> Column) = match base {
            "start" => (TIMES, Column::Start),
            "duration" => (TIMES, Column::Duration),
            "think" => (TIMES, Column::Think),
            "offset" => (SIZES, Column::Offset),
            "size" => (SIZES, Column::Size),
            _ => {
                let known = PLAIN.iter().map(|(name, _)| *name);
                let known: Vec<&str> =
                    known.chain(["start_us", "duration_us", "think_us", "offset_B", "size_B"]).collect();
                let hint = ffslab_text::words::nearest(name, known.iter().copied())
                    .map_or(format!("known: {}", known.join(", ")), |near| format!("did you mean `{near}`?"));
                return Err(RowError::UnknownColumn { name: name.to_string(), hint });
            }
        };
        let factor = units.iter().find(|(known, _)| *known == unit).map(|(_, factor)| *factor);
        let example = |(unit, _): &(&str, u64)| format!("{base}_{unit}");
        factor.map(make).ok_or_else(|| {
            let names = units.iter().map(example).collect();
            RowError::NoUnit { name: name.to_string(), names }
        })
    }
}

impl Column {
    /// A description of what the column holds, unless it holds any text.
    fn holds(self) -> &'static str {
        match self {
            Column::Start(_) | Column::Duration(_) | Column::Think(_) | Column::Size(_) => "a number of 0 or more",
            Column::Offset(_) => "a number",
            Column::Result => "a whole number",
            _ => "a whole number of 0 or more",
        }
    }
}

fn separator(head: &str) -> u8 {
    let most =
        [b',', b';', b'\t'].into_iter().max_by_key(|&separator| head.bytes().filter(|&b| b == separator).count());
    most.unwrap_or(b',')
}

/// Whether a line is the head of a table.
pub(super) fn is_head(line: &str) -> bool {
    let names: Vec<&str> = line.split(char::from(separator(line))).map(|name| name.trim().trim_matches('"')).collect();
    names.contains(&"op") && (names.contains(&"path") || names.contains(&"file"))
}

/// Reads a table.
pub(super) fn rows(
    text: &mut dyn BufRead,
    each: &mut dyn FnMut(Row) -> Result<(), Refused>,
) -> Result<BTreeMap<String, u64>, Refused> {
    let mut head = Vec::new();
    let read = text.take(LINE_BYTES_MAX).read_until(b'\n', &mut head);
    read.map_err(|error| (0, RowError::Unreadable { why: io_reason(&error) }))?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(&String::from_utf8_lossy(&head)))
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .from_reader(Cursor::new(&head).chain(text));
    let broken = |error: csv::Error| {
        if let csv::ErrorKind::Utf8 { .. } = error.kind() {
            return (0, RowError::NoText);
        }
        let line = error.position().map_or(0, csv::Position::line);
        (line, RowError::NoRow { why: error.to_string() })
    };
    let names = reader.headers().map_err(broken)?.clone();
    let columns = columns(&names).map_err(|why| (1, why))?;
    for record in reader.records() {
        let record = record.map_err(broken)?;
        let line = record.position().map_or(0, csv::Position::line);
        let mut row = Row { line, ..Row::default() };
        for ((column, name), field) in columns.iter().zip(&names).zip(&record) {
            if field.is_empty() {
                continue;
            }
            set(&mut row, *column, field).ok_or_else(|| {
                let (column, value, expected) = (name.to_string(), field.to_string(), column.holds());
                (line, RowError::Value { column, value, expected })
            })?;
        }
        if let Some(offset) = row.offset.filter(|offset| *offset < 0 && row.op != "lseek") {
            return Err((line, RowError::Negative { offset_bytes: offset, op: row.op }));
        }
        each(row)?;
    }
    Ok(BTreeMap::new())
}

/// The meaning of the columns with these names.
///
/// Errors: unknown names, and two columns with the same meaning, of which only one could be used.
fn columns<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Column>, RowError> {
    let mut columns: Vec<(Column, &str)> = Vec::new();
    for name in names {
        let column = Column::of(name)?;
        let same = |(known, _): &&(Column, &str)| std::mem::discriminant(known) == std::mem::discriminant(&column);
        match columns.iter().find(same) {
            Some((_, other)) if *other == name => return Err(RowError::ColumnTwice { name: name.to_string() }),
            Some((_, other)) => {
                return Err(RowError::SameColumns { one: other.to_string(), other: name.to_string() });
            }
            None => columns.push((column, name)),
        }
    }
    Ok(columns.into_iter().map(|(column, _)| column).collect())
}

fn set(row: &mut Row, column: Column, field: &str) -> Option<()> {
    let text = || Some(field.to_string());
    let number = || field.parse::<u32>().ok();
    match column {
        Column::Op => row.op = field.to_string(),
        Column::Path => row.path = text(),
        Column::To => row.to = text(),
        Column::Flags => row.flags = text(),
        Column::Error => row.error = text(),
        Column::Handle => row.handle = Some(number()?),
        Column::Process => row.process = number()?,
        Column::Permissions => row.permissions = Some(number()?),
        Column::Uid => row.uid = Some(number()?),
        Column::Gid => row.gid = Some(number()?),
        Column::Result => row.result = Some(field.parse().ok()?),
        Column::Start(unit) => row.start_ns = Some(decimal(field, unit)?),
        Column::Duration(unit) => row.duration_ns = Some(decimal(field, unit)?),
        Column::Think(unit) => row.think_ns = Some(decimal(field, unit)?),
        Column::Size(unit) => row.bytes = Some(decimal(field, unit)?),
        Column::Offset(unit) => {
            let (sign, digits) = field.strip_prefix('-').map_or((1, field), |digits| (-1, digits));
            row.offset = Some(sign * i64::try_from(decimal(digits, unit)?).ok()?);
        }
    }
    Some(())
}

/// A decimal number times `unit`, without rounding; the fraction is cut off.
pub(super) fn decimal(text: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !(fraction.is_empty() || digits(fraction)) {
        return None;
    }
    let whole = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let fraction = &fraction[..fraction.len().min(18)];
    let part = match fraction {
        "" => 0,
        digits => u128::from(digits.parse::<u64>().ok()?) * u128::from(unit) / 10u128.pow(digits.len() as u32),
    };
    whole.checked_add(part as u64)
}
