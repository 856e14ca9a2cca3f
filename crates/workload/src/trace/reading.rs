//! Which reader a recording has, and how it is read.

use super::error::{placed, RowError, TraceError};
use super::rows::{self, Refused};
use super::source::{self, Lines, Open};
use super::{blkparse, fio_log, msr, openflash, spc, table, Trace, ROWS_MAX};
use crate::strace;
use ffslab_text::input;
use ffslab_text::words::io_reason;
use std::collections::BTreeMap;
use std::io::{Cursor, Read};
use std::path::Path;

/// Recordings that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Strace,
    FioLog,
    Blkparse,
    OpenFlash,
    MsrCambridge,
    Spc,
    Table,
}

/// Reads a recording, gzipped or not, of any format. Only calls on files below `root` are replayed; without a `root` it
/// is the deepest directory that holds all files that matter.
///
/// Errors: one line with file, line, what was expected.
pub fn read(path: &Path, root: Option<&str>) -> Result<Trace, TraceError> {
    let unreadable = |e: std::io::Error| TraceError::Unreadable { path: path.to_path_buf(), why: io_reason(&e) };
    let mut plain = input::open(path, input::InputKind::Trace).and_then(input::Input::unpacked).map_err(unreadable)?;
    let mut start = Vec::new();
    plain.by_ref().take(source::LOOK_BYTES).read_to_end(&mut start).map_err(unreadable)?;
    let format = format_of(&String::from_utf8_lossy(&start));
    if format == Format::Strace {
        return strace::parse(path, Cursor::new(start).chain(plain), root);
    }
    plain.read_to_end(&mut start).map_err(unreadable)?;
    let text = String::from_utf8(start).map_err(|_| placed(path, (0, RowError::NoText)))?;
    parse(path, &text, root)
}

/// As [`read`], from text in memory; `path` only names it in errors. Not for strace.
pub fn parse(path: &Path, text: &str, root: Option<&str>) -> Result<Trace, TraceError> {
    let lines = text.bytes().filter(|&byte| byte == b'\n').count();
    if lines > ROWS_MAX {
        return Err(placed(path, (0, RowError::ManyLines { lines })));
    }
    collect(path, format_of(text), &|| Ok(Box::new(text.as_bytes())), root)
}

fn collect(path: &Path, format: Format, open: &Open, root: Option<&str>) -> Result<Trace, TraceError> {
    let mut rows = Vec::new();
    let ignored = each_row(path, format, open, &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    rows::trace(path, rows, ignored, root).map_err(|refused| placed(path, refused))
}

/// Number of events of each kind that is left out.
pub(super) type Ignored = BTreeMap<String, u64>;

/// Hands every row of a recording, in order, to `each`.
pub(super) fn each_row(
    path: &Path,
    format: Format,
    open: &Open,
    each: &mut dyn FnMut(rows::Row) -> Result<(), Refused>,
) -> Result<Ignored, TraceError> {
    let mut text = open()?;
    let done = match format {
        Format::FioLog => fio_log::rows(Lines::of(&mut text), each),
        Format::Blkparse => {
            let taken = blkparse::taken(Lines::of(&mut *open()?));
            taken.and_then(|taken| blkparse::rows(Lines::of(&mut text), taken, each))
        }
        Format::OpenFlash => openflash::rows(Lines::of(&mut text), each),
        Format::MsrCambridge => msr::rows(Lines::of(&mut text), each),
        Format::Spc => spc::rows(Lines::of(&mut text), each),
        Format::Table | Format::Strace => table::rows(&mut text, each),
    };
    done.map_err(|refused| placed(path, refused))
}

fn format_of(text: &str) -> Format {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("");
    if first.starts_with("fio version") {
        return Format::FioLog;
    }
    if table::is_head(first) {
        return Format::Table;
    }
    let first_data = std::iter::once(first).chain(lines).find(|line| !line.starts_with('#')).unwrap_or("");
    type IsLine = fn(&str) -> bool;
    let known: [(IsLine, Format); 4] = [
        (openflash::is_line, Format::OpenFlash),
        (msr::is_line, Format::MsrCambridge),
        (spc::is_line, Format::Spc),
        (blkparse::is_line, Format::Blkparse),
    ];
    known.iter().find(|(is_line, _)| is_line(first_data)).map_or(Format::Strace, |(_, format)| *format)
}

/// The format of a file, which its first bytes tell.
pub(super) fn format_of_file(path: &Path) -> Result<Format, TraceError> {
    let mut start = Vec::new();
    let read = source::open(path)?.take(source::LOOK_BYTES).read_to_end(&mut start);
    read.map_err(|e| TraceError::Unreadable { path: path.to_path_buf(), why: io_reason(&e) })?;
    Ok(format_of(&String::from_utf8_lossy(&start)))
}
