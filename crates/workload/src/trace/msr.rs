//! The CSV of Microsoft Research Cambridge: "128166372003061629,hm,1,Read,383496192,32768,413", that is when the request
//! came (units of 100 ns since 1601, Windows' file time), host, disk, Read or Write, offset and size in bytes, response time
//! (units of 100 ns).
//!
//! Format: README of the traces "MSR Cambridge Block I/O Traces" at SNIA IOTTA (D. Narayanan, A. Donnelly, A. Rowstron, "Write
//! off-loading", FAST 2008). Each disk of a host becomes a file `HOST_DISK`, as the files of the collection are named. Lines
//! are taken in their order. Caches above the disks were there when it was recorded; flushes and trims are not in it.

use super::error::RowError;
use super::rows::{Refused, Row};
use super::source::Lines;
use std::collections::BTreeMap;

/// A unit of Windows' file time.
const TICK_NS: u64 = 100;
const WANTED: &str = "\"TIME,HOST,DISK,Read,OFFSET,SIZE,RESPONSE_TIME\", or Write (MSR Cambridge)";
/// The names of the columns, which some copies of the traces have as their first line.
const HEAD: &str = "timestamp,hostname,disknumber,type,offset,size,responsetime";

/// A line, and when the request came in units of 100 ns.
fn row(line: u64, text: &str) -> Option<(u64, Row)> {
    let mut fields = text.split(',').map(str::trim);
    let at_ticks = fields.next()?.parse::<u64>().ok()?;
    let (host, disk) = (fields.next()?, fields.next()?.parse::<u32>().ok()?);
    let op = match fields.next()? {
        kind if kind.eq_ignore_ascii_case("read") => "read",
        kind if kind.eq_ignore_ascii_case("write") => "write",
        _ => return None,
    };
    let offset_bytes = fields.next()?.parse::<i64>().ok().filter(|offset| *offset >= 0)?;
    let (bytes, response_ticks) = (fields.next()?.parse::<u64>().ok()?, fields.next()?.parse::<u64>().ok()?);
    if fields.next().is_some() || host.is_empty() {
        return None;
    }
    let row = Row {
        line,
        duration_ns: Some(response_ticks.saturating_mul(TICK_NS)),
        op: op.to_string(),
        path: Some(format!("{host}_{disk}")),
        offset: Some(offset_bytes),
        bytes: Some(bytes),
        ..Row::default()
    };
    Some((at_ticks, row))
}

pub fn is_line(line: &str) -> bool {
    is_head(line) || row(1, line).is_some()
}

fn is_head(line: &str) -> bool {
    line.eq_ignore_ascii_case(HEAD)
}

pub fn rows(
    mut lines: Lines,
    each: &mut dyn FnMut(Row) -> Result<(), Refused>,
) -> Result<BTreeMap<String, u64>, Refused> {
    let mut first_ticks = None;
    while let Some((line, text)) = lines.next()? {
        if text.is_empty() || text.starts_with('#') || (line == 1 && is_head(text)) {
            continue;
        }
        let (at_ticks, row) = row(line, text).ok_or((line, RowError::Format { line: WANTED }))?;
        // The times count from 1601, so they are made relative to the first one.
        let first_ticks = *first_ticks.get_or_insert(at_ticks);
        let start_ns = at_ticks.saturating_sub(first_ticks).saturating_mul(TICK_NS);
        each(Row { start_ns: Some(start_ns), ..row })?;
    }
    Ok(BTreeMap::new())
}
