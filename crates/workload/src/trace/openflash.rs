//! The CSV of OpenFlash's tracers: "1400731050.26;read;3;0;100;/mnt/flash/test.db;0.000458", that is time in seconds,
//! call, arguments (open: descriptor and three more; read and write: descriptor, offset, bytes; close: descriptor), file,
//! and perhaps the duration in seconds. Lines that begin with "#" are comments.
//!
//! Follows the traces that the public repository olivierpierre/openflash holds. The tracer knows neither fsync nor unlink,
//! so a replay of its traces lacks them. Times resolve 10 ms.

use super::error::RowError;
use super::rows::{Refused, Row};
use super::source::Lines;
use super::table::decimal;
use std::collections::BTreeMap;

const SECOND_NS: u64 = 1_000_000_000;
const WANTED: &str = "\"TIME;read;FD;OFFSET;BYTES;/FILE[;DURATION]\", or open, write, close (OpenFlash's CSV)";

fn row(line: u64, text: &str) -> Option<Row> {
    let fields: Vec<&str> = text.split(';').map(str::trim).collect();
    let start_ns = decimal(fields.first()?, SECOND_NS)?;
    let op = *fields.get(1)?;
    let arguments = match op {
        "open" => 4,
        "read" | "write" => 3,
        "close" => 1,
        _ => return None,
    };
    let number = |i: usize| fields.get(2 + i)?.parse::<u64>().ok();
    let (descriptor, path) = (number(0)?, *fields.get(2 + arguments)?);
    let transfers = arguments == 3;
    let duration_ns = match fields.get(3 + arguments) {
        Some(text) => Some(decimal(text, SECOND_NS)?),
        None => None,
    };
    if !path.starts_with('/') || fields.len() > 4 + arguments || descriptor > u64::from(u32::MAX) {
        return None;
    }
    Some(Row {
        line,
        start_ns: Some(start_ns),
        duration_ns,
        op: op.to_string(),
        path: Some(path.to_string()),
        offset: if transfers { Some(i64::try_from(number(1)?).ok()?) } else { None },
        bytes: if transfers { Some(number(2)?) } else { None },
        ..Row::default()
    })
}

pub fn is_line(line: &str) -> bool {
    row(1, line).is_some()
}

pub fn rows(
    mut lines: Lines,
    each: &mut dyn FnMut(Row) -> Result<(), Refused>,
) -> Result<BTreeMap<String, u64>, Refused> {
    let mut first_ns = None;
    while let Some((line, text)) = lines.next()? {
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let mut row = row(line, text).ok_or((line, RowError::Format { line: WANTED }))?;
        // The times of the tracer count from 1970, so they are made relative to the first one.
        let first_ns = *first_ns.get_or_insert(row.start_ns.unwrap_or(0));
        row.start_ns = row.start_ns.map(|start_ns| start_ns.saturating_sub(first_ns));
        each(row)?;
    }
    Ok(BTreeMap::new())
}
