//! Why a recording cannot be used.

use super::source::LINE_BYTES_MAX;
use super::ROWS_MAX;
use crate::fio::iolog::LogError;
use crate::strace::StraceError;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A trace that cannot be used; one line: file, line number, what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("{}: cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    #[error("{}:{line}: {why}", path.display())]
    Line { path: PathBuf, line: u64, why: Fault },
    #[error("{}: {why}", path.display())]
    Content { path: PathBuf, why: Fault },
}

/// What is wrong in a recording, in the words of its reader.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    #[error(transparent)]
    Strace(#[from] StraceError),
    #[error(transparent)]
    Row(#[from] RowError),
}

/// What is wrong with a row of a recording, with the line that it stands on, or with all of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RowError {
    // ---- the text ------------------------------------------------------------------------------------------------
    #[error("cannot be read: {why}")]
    Unreadable { why: String },
    #[error(
        "is no text: known are strace, fio's logs, blkparse, OpenFlash, MSR Cambridge, SPC and tables (docs/traces.md)"
    )]
    NoText,
    #[error("the line is longer than {LINE_BYTES_MAX} bytes")]
    LongLine,
    #[error("it has {lines} lines, and {ROWS_MAX} is the limit: replay a part of it")]
    ManyLines { lines: usize },
    #[error("holds no event that could be replayed")]
    Empty,
    #[error("holds no call on a file below {root}")]
    NothingBelow { root: String },
    /// `names`: those that it has.
    #[error("has no file or device `{name}`: it has {names}")]
    NoSuchFile { name: String, names: String },
    #[error("has not one file or device but these, of which `only` must name one: {names}")]
    SeveralFiles { names: String },
    // ---- lines of a format ---------------------------------------------------------------------------------------
    #[error("expected {line}")]
    Format { line: &'static str },
    #[error(transparent)]
    FioLog(#[from] LogError),
    #[error("is no row of the table: {why}")]
    NoRow { why: String },
    // ---- columns -------------------------------------------------------------------------------------------------
    /// `hint`: the nearest name, or all names.
    #[error("unknown column `{name}`: {hint}")]
    UnknownColumn { name: String, hint: String },
    #[error("column `{name}` does not say its unit: write one of {}", names.join(", "))]
    NoUnit { name: String, names: Vec<String> },
    #[error("the column `{name}` is there twice: keep one")]
    ColumnTwice { name: String },
    #[error("the columns `{one}` and `{other}` say the same: keep one")]
    SameColumns { one: String, other: String },
    #[error("{column}: \"{value}\" is not {expected}")]
    Value { column: String, value: String, expected: &'static str },
    #[error("an offset of {offset_bytes} B: `{op}` needs 0 or more, only lseek goes back")]
    Negative { offset_bytes: i64, op: String },
    // ---- calls ---------------------------------------------------------------------------------------------------
    #[error("unknown op `{op}`: {hint}")]
    UnknownOp { op: String, hint: String },
    /// A word in the flags of a call: `what` it stands for, and what would be one.
    #[error("unknown {what} `{word}`: {known}")]
    Word { what: &'static str, word: String, known: String },
    #[error("flags `{flags}` hold none of rdonly, wronly, rdwr")]
    NoAccess { flags: String },
    #[error("needs a path")]
    ExistsWithoutPath,
    #[error("`{op}` needs {what}")]
    Needs { op: String, what: &'static str },
    #[error("handle {number} is not open")]
    HandleNotOpen { number: u32 },
    #[error("it is not open")]
    NotOpen,
}

/// What is wrong with a line, with its place; 0: with all of the recording.
pub(super) fn placed(path: &Path, (line, why): (u64, RowError)) -> TraceError {
    let (path, why) = (path.to_path_buf(), why.into());
    match line {
        0 => TraceError::Content { path, why },
        line => TraceError::Line { path, line, why },
    }
}
