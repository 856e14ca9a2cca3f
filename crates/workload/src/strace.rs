//! Reads what `strace -f -ttt -T` wrote: the file system calls of a real program, to be replayed on a simulated stack.
//!
//! Role: turns the text into [`Record`]s whose paths are relative to one directory (the root of the replay) and whose
//! descriptors are resolved to open file descriptions, across dup, fork, threads and close-on-exec. Follows the output
//! format of strace 4.x to 6.x as its manual page describes it, also with `-y` and `-yy`, plain or gzipped.
//! Leaves out what a replay cannot repeat: memory mappings, locks, asynchronous I/O, contents. Such calls on files
//! below the root are listed in [`Trace::ignored`], never dropped silently.

mod args;
mod calls;
mod descriptors;
mod error;
mod existing;
mod follow;
mod groups;
mod interpreter;
mod line;
mod scope;

pub use error::StraceError;

use crate::trace::source::Open;
use ffslab_text::words::io_reason;
use follow::Whole;
pub use scope::Kept;
use std::io::{BufRead, Read};
use std::path::Path;

pub use crate::trace::{
    Advice, Call, Existing, ExistingKind, Handle, OpenFlags, Outcome, Record, Target, Trace, TraceError, Whence,
};

/// A line of a trace is refused beyond this length; strace itself stays far below.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// A call takes some 300 bytes of memory until it is replayed, so this number takes 600 MiB.
const CALLS_MAX: usize = 2_000_000;

/// Reads a trace from text; `path` only names it in errors. Only calls on files below `root` become records. Without a
/// `root` it is the deepest directory that contains all files that the program may have changed.
pub fn parse(path: &Path, text: impl BufRead, root: Option<&str>) -> Result<Trace, TraceError> {
    let mut calls = Vec::new();
    let followed = follow(path, text, &mut |call, _| {
        calls.push(call);
        calls.len() <= CALLS_MAX
    })?;
    if calls.len() > CALLS_MAX {
        let line = calls.iter().rev().find_map(|call| call.record.as_ref()).map_or(1, |record| record.line);
        let why = StraceError::ManyCalls { most: CALLS_MAX }.into();
        return Err(TraceError::Line { path: path.to_path_buf(), line, why });
    }
    scope::restrict(path, Whole { calls, ..followed }, root)
}

/// Reads a trace that is too large for memory in several passes over its text. Only the state of files and descriptors
/// is kept in memory.
pub struct Passes {
    root: Vec<u8>,
}

impl Passes {
    /// Finds the root in a pass of its own, if none is given. `open` opens the text for a pass.
    pub fn new(path: &Path, open: &Open, root: Option<&str>) -> Result<Passes, TraceError> {
        let root = match root {
            Some(given) => scope::given_root(given),
            None => {
                let mut detector = scope::Detector::default();
                follow(path, open()?, &mut |call, _| {
                    detector.see(&call);
                    true
                })?;
                detector.root()
            }
        };
        Ok(Passes { root: root.map_err(|why| scope::content(path, why))? })
    }

    /// Makes a pass. `each` is called with every call below the root and returns whether to continue. Returns what must
    /// exist before the trace, and what was left out.
    pub fn pass(&self, path: &Path, open: &Open, each: &mut dyn FnMut(Record) -> bool) -> Result<Kept, TraceError> {
        let mut part = scope::Part::new(self.root.clone());
        follow(path, open()?, &mut |call, handles| part.take(call, handles).is_none_or(&mut *each))?;
        part.finish(path)
    }
}

/// Reads a trace to its end, or until `each` returns `false`. `each` is called with every call and the paths of all
/// handles so far. Returns the rest.
fn follow(
    path: &Path,
    mut text: impl BufRead,
    each: &mut dyn FnMut(follow::Followed, &[Vec<u8>]) -> bool,
) -> Result<Whole, TraceError> {
    let at_line = |line, why: StraceError| TraceError::Line { path: path.to_path_buf(), line, why: why.into() };
    let mut follower = follow::Follower::default();
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        number += 1;
        let read = text.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(n) if n as u64 == LINE_BYTES_MAX => return Err(at_line(number, StraceError::LongLine)),
            Ok(_) => {}
            Err(e) => return Err(at_line(number, StraceError::Unreadable { why: io_reason(&e) })),
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| at_line(number, StraceError::NoText))?;
        follower.line(number, text.trim_end_matches(['\n', '\r'])).map_err(|why| at_line(number, why))?;
        let (calls, handles) = follower.take();
        let mut goes_on = true;
        calls.for_each(|call| goes_on = goes_on && each(call, handles));
        if !goes_on {
            return Ok(follower.finish());
        }
    }
    let followed = follower.finish();
    if followed.calls_seen == 0 {
        return Err(scope::content(path, StraceError::Empty));
    }
    Ok(followed)
}

/// What a line should look like; part of the errors.
const WANTED: &str = "expected lines of `strace -f -ttt -T`, such as `4711 1700000000.123456 close(3) = 0 <0.000010>`";

#[cfg(test)]
mod tests;
