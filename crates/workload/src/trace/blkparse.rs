//! The text that blkparse prints of a block device's events: "8,0 3 1 0.000000000 697 Q W 223490 + 8 [kjournald]".
//!
//! Format: blkparse(1), "DEFAULT OUTPUT". Of an event's life the queueing (Q) is taken, or the issue to the device (D)
//! when there is no Q. Each device becomes a file that is read and written where the device was; a flush becomes an
//! fsync. Meant for stacks with a block device; on a file system it stands for one large file.

use super::rows::{Refused, Row, Rows};

const SECTOR_BYTES: u64 = 512;

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

pub fn is_line(line: &str) -> bool {
    event(line).is_some()
}

pub fn rows(text: &str) -> Result<Rows, Refused> {
    // blkparse ends with a summary, which begins with "CPU0 (8,0):" or "Total (8,0):".
    let is_summary = |line: &str| line.starts_with("CPU") || line.starts_with("Total");
    let events: Vec<(u64, &str)> = text
        .lines()
        .enumerate()
        .map(|(i, line)| (i as u64 + 1, line.trim()))
        .take_while(|(_, line)| !is_summary(line))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let has_queueing = events.iter().filter_map(|(_, line)| event(line)).any(|event| event.action == "Q");
    let taken = if has_queueing { "Q" } else { "D" };
    let mut rows = Rows::default();
    for (line, text) in events {
        let wanted = || (line, "expected \"8,0 3 1 0.000000000 697 Q W 223490 + 8 [program]\" (blkparse)".to_string());
        let event = event(text).ok_or_else(wanted)?;
        if event.action != taken {
            continue;
        }
        let op = match event.kind {
            kind if kind.contains('D') => {
                *rows.ignored.entry("discard".to_string()).or_default() += 1;
                continue;
            }
            kind if kind.starts_with('F') && event.range.is_none_or(|(_, count)| count == 0) => "fsync",
            kind if kind.contains('W') => "write",
            kind if kind.contains('R') => "read",
            _ => {
                *rows.ignored.entry(format!("event {}", event.kind)).or_default() += 1;
                continue;
            }
        };
        let range = if op == "fsync" { None } else { Some(event.range.ok_or_else(wanted)?) };
        rows.rows.push(Row {
            line,
            start_ns: Some(event.start_ns),
            process: event.process,
            op: op.to_string(),
            path: Some(event.device.to_string()),
            offset: range.and_then(|(sector, _)| i64::try_from(sector.saturating_mul(SECTOR_BYTES)).ok()),
            bytes: range.map(|(_, count)| count.saturating_mul(SECTOR_BYTES)),
            ..Row::default()
        });
    }
    Ok(rows)
}
