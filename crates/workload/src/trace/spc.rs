//! Traces in the format of the Storage Performance Council, as the UMass trace repository has them: "0,20941264,8192,W,0.551706",
//! that is application storage unit, first block, size in bytes, R or W, seconds since the begin; further fields may follow.
//!
//! Format: "SPC I/O Trace File Format Specification", revision 1.0.1; blocks have 512 bytes. Each unit becomes a file `asuN`.
//! How long a request took is not in it, so the whole distance between two requests counts as think time.

use super::error::RowError;
use super::rows::{Refused, Row};
use super::source::Lines;
use super::table::decimal;
use std::collections::BTreeMap;

const BLOCK_BYTES: i64 = 512;
const SECOND_NS: u64 = 1_000_000_000;
const WANTED: &str = "\"ASU,BLOCK,SIZE,R,SECONDS\", or W (SPC)";

fn row(line: u64, text: &str) -> Option<Row> {
    let mut fields = text.split(',').map(str::trim);
    let (unit, block) = (fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<i64>().ok()?);
    let bytes = fields.next()?.parse::<u64>().ok()?;
    let op = match fields.next()? {
        "R" | "r" => "read",
        "W" | "w" => "write",
        _ => return None,
    };
    Some(Row {
        line,
        start_ns: Some(decimal(fields.next()?, SECOND_NS)?),
        op: op.to_string(),
        path: Some(format!("asu{unit}")),
        offset: Some(block.checked_mul(BLOCK_BYTES).filter(|offset| *offset >= 0)?),
        bytes: Some(bytes),
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
    while let Some((line, text)) = lines.next()? {
        if !text.is_empty() && !text.starts_with('#') {
            each(row(line, text).ok_or((line, RowError::Format { line: WANTED }))?)?;
        }
    }
    Ok(BTreeMap::new())
}
