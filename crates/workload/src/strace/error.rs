//! What is wrong with a line of strace's output, or with all of them.

use super::{LINE_BYTES_MAX, WANTED};
use thiserror::Error;

/// Why a trace of strace cannot be used. One line, without the file and the line in it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StraceError {
    // ---- a line --------------------------------------------------------------------------------------------------
    /// `found`: its beginning.
    #[error("{WANTED}, found `{}`", found.escape_debug())]
    NoLine { found: String },
    #[error("the line is longer than {LINE_BYTES_MAX} bytes: {WANTED}")]
    LongLine,
    #[error("this is no text: {WANTED}")]
    NoText,
    #[error("cannot be read: {why}")]
    Unreadable { why: String },
    #[error("the time `{time}` is a time of day: record with -ttt (seconds since 1970)")]
    TimeOfDay { time: String },
    // ---- a call --------------------------------------------------------------------------------------------------
    #[error("`{call}(` has no end: expected `) = RESULT <SECONDS>` (is the trace cut off here?)")]
    NoEnd { call: String },
    #[error("`{call}(` has no result (is the trace cut off here?)")]
    NoResult { call: String },
    #[error("`{call}` ended with `{result}`: expected a number or `?`")]
    Result { call: String, result: String },
    #[error("`{call}` lacks its duration `<SECONDS>` at the end: record with -T (or is the trace cut off here?)")]
    NoDuration { call: String },
    #[error("`{call}` has {count} arguments: expected at least {needed}")]
    FewArguments { call: String, count: usize, needed: usize },
    /// `number` from 1.
    #[error("argument {number} of `{call}` is `{found}`: expected {expected}")]
    Argument { call: String, number: usize, found: String, expected: &'static str },
    // ---- all of it -----------------------------------------------------------------------------------------------
    #[error("holds no system call: {WANTED}")]
    Empty,
    #[error("there are more than {most} calls on files: replay a part of it")]
    ManyCalls { most: usize },
    #[error("root = \"{given}\": an absolute directory of the traced machine is needed, such as /tmp/work")]
    Root { given: String },
    #[error("the program opened no file outside the system's directories: give the root to replay")]
    NoFiles,
    #[error(
        "the program works in {one} and {other}, which have no common directory: give the root to replay, such as \
         root = \"/tmp/work\""
    )]
    NoCommonRoot { one: String, other: String },
    #[error("no file system call on a file below {root}: give another root")]
    NothingBelow { root: String },
}
