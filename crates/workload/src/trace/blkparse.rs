//! The text that blkparse prints of a block device's events: "8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]".
//!
//! Format: blkparse(1), "DEFAULT OUTPUT". Of an event's life the queueing (Q) is taken, or the issue to the device (D)
//! when there is no Q. Each device becomes a file that is read and written where the device was; a flush becomes an
//! fsync, a discard a trim. A write whose kind begins with F, or has an F after the W, is preceded or followed by an fsync
//! (`blk_fill_rwbs` of `kernel/trace/blktrace.c`: flush before it, forced unit access): calls know no unit access of one write.
//! Meant for stacks with a block device; on a file system it stands for one large file.

use super::error::RowError;
use super::rows::{Refused, Row};
use super::source::Lines;
use std::collections::BTreeMap;

const SECTOR_BYTES: u64 = 512;
const WANTED: &str = "\"8,0 3 1 0.000000000 697 Q W 223490 + 8 [program]\" (blkparse)";

struct Event<'a> {
    device: &'a str,
    start_ns: u64,
    process: u32,
    action: &'a str,
    kind: &'a str,
    /// First sector and number of sectors.
    range: Option<(u64, u64)>,
}

fn event(line: &str) -> Option<Event<'_>> {
    let mut words = line.split_whitespace();
    let device = words.next()?;
    let (major, minor) = device.split_once(',')?;
    let (_cpu, _sequence) = (words.next()?.parse::<u32>().ok()?, words.next()?.parse::<u64>().ok()?);
    let start_ns = super::table::decimal(words.next()?, 1_000_000_000)?;
    let process = words.next()?.parse().ok()?;
    let (action, kind) = (words.next()?, words.next()?);
    major.parse::<u32>().ok().and(minor.parse::<u32>().ok())?;
    let range = match (words.next().and_then(|word| word.parse().ok()), words.next(), words.next()) {
        (Some(sector), Some("+"), Some(count)) => count.parse().ok().map(|count| (sector, count)),
        _ => None,
    };
    let plain = action.len() <= 2 && action.chars().all(|c| c.is_ascii_uppercase());
    plain.then_some(Event { device, start_ns, process, action, kind, range })
}

/// What a request does, by the letters of its kind: "FWFS" is a flush, then a write that lasts when it ends (S: the program
/// waits for it).
struct Kind {
    flushes_before: bool,
    op: Option<&'static str>,
    flushes_after: bool,
}

impl Kind {
    fn of(letters: &str) -> Option<Kind> {
        let rest = letters.strip_prefix('F');
        let (flushes_before, rest) = (rest.is_some(), rest.unwrap_or(letters));
        let op = match rest.chars().next() {
            Some('W') => Some("write"),
            Some('R') => Some("read"),
            Some('D') => Some("trim"),
            _ if flushes_before => None,
            _ => return None,
        };
        Some(Kind { flushes_before, op, flushes_after: op == Some("write") && rest.contains('F') })
    }
}

pub fn is_line(line: &str) -> bool {
    event(line).is_some()
}

/// The next line of an event. blkparse ends with a summary, which begins with "CPU0 (8,0):" or "Total (8,0):".
fn next_event<'a>(lines: &'a mut Lines) -> Result<Option<(u64, &'a str)>, Refused> {
    let found = lines.next()?;
    Ok(found.filter(|(_, text)| !(text.starts_with("CPU") || text.starts_with("Total"))))
}

fn is_blank(text: &str) -> bool {
    text.is_empty() || text.starts_with('#')
}

/// The action that is taken from each request's life: its queueing if the text has any, otherwise its issue.
pub fn taken(mut lines: Lines) -> Result<&'static str, Refused> {
    while let Some((_, text)) = next_event(&mut lines)? {
        if !is_blank(text) && event(text).is_some_and(|event| event.action == "Q") {
            return Ok("Q");
        }
    }
    Ok("D")
}

pub fn rows(
    mut lines: Lines,
    taken: &str,
    each: &mut dyn FnMut(Row) -> Result<(), Refused>,
) -> Result<BTreeMap<String, u64>, Refused> {
    let mut ignored = BTreeMap::new();
    while let Some((line, text)) = next_event(&mut lines)? {
        if is_blank(text) {
            continue;
        }
        let wanted = || (line, RowError::Format { line: WANTED });
        let event = event(text).ok_or_else(wanted)?;
        if event.action != taken {
            continue;
        }
        let Some(kind) = Kind::of(event.kind) else {
            *ignored.entry(format!("event {}", event.kind)).or_default() += 1;
            continue;
        };
        let mut call = |op: &str, range: Option<(u64, u64)>| {
            each(Row {
                line,
                start_ns: Some(event.start_ns),
                process: event.process,
                op: op.to_string(),
                path: Some(event.device.to_string()),
                offset: range.and_then(|(sector, _)| i64::try_from(sector.saturating_mul(SECTOR_BYTES)).ok()),
                bytes: range.map(|(_, count)| count.saturating_mul(SECTOR_BYTES)),
                ..Row::default()
            })
        };
        let range = event.range.filter(|(_, count)| *count > 0);
        if kind.flushes_before {
            call("fsync", None)?;
        }
        match (kind.op, range) {
            (Some(op), Some(_)) => call(op, range)?,
            // A flush is told as a write of nothing.
            (_, None) if kind.flushes_before => {}
            (None, _) => {}
            (Some(_), None) => return Err(wanted()),
        }
        if kind.flushes_after {
            call("fsync", None)?;
        }
    }
    Ok(ignored)
}
