//! The text of a recording, read from its beginning as often as needed, and line by line.

use super::error::{RowError, TraceError};
use super::rows::Refused;
use ffslab_text::input::{self, Input, InputKind};
use ffslab_text::words::io_reason;
use std::io::{BufRead, Read};
use std::path::Path;

/// Longer lines are refused. The lines of all formats are far shorter.
pub(super) const LINE_BYTES_MAX: u64 = 1 << 20;
/// How many bytes are examined to tell the formats apart.
pub(super) const LOOK_BYTES: u64 = 64 << 10;

/// A function that opens a text at its beginning.
pub type Open<'a> = dyn Fn() -> Result<Box<dyn BufRead + 'a>, TraceError> + 'a;

/// The text of a file, unpacked if it is gzipped.
pub fn open(path: &Path) -> Result<Box<dyn BufRead>, TraceError> {
    let text = input::open(path, InputKind::Trace).and_then(Input::unpacked);
    text.map_err(|e| TraceError::Unreadable { path: path.to_path_buf(), why: io_reason(&e) })
}

/// A text whose reading fails as soon as `goes_on` returns `false`.
pub struct Watched<'a> {
    pub text: Box<dyn BufRead>,
    pub goes_on: &'a dyn Fn() -> bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.text.read(into)
    }
}

impl BufRead for Watched<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        if !(self.goes_on)() {
            return Err(std::io::Error::other("stopped"));
        }
        self.text.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.text.consume(bytes);
    }
}

/// The lines of a text, with their numbers from 1.
pub struct Lines<'a> {
    text: &'a mut dyn BufRead,
    bytes: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    pub fn of(text: &'a mut dyn BufRead) -> Lines<'a> {
        Lines { text, bytes: Vec::new(), number: 0 }
    }

    /// The next line without spaces around it; `None` at the end.
    ///
    /// Errors: a line that cannot be read, or is not text.
    pub fn next(&mut self) -> Result<Option<(u64, &str)>, Refused> {
        self.bytes.clear();
        self.number += 1;
        match self.text.take(LINE_BYTES_MAX).read_until(b'\n', &mut self.bytes) {
            Ok(0) => Ok(None),
            Ok(n) if n as u64 == LINE_BYTES_MAX => Err((self.number, RowError::LongLine)),
            Ok(_) => {
                let text = std::str::from_utf8(&self.bytes).map_err(|_| (0, RowError::NoText))?;
                Ok(Some((self.number, text.trim())))
            }
            Err(error) => Err((0, RowError::Unreadable { why: io_reason(&error) })),
        }
    }
}
