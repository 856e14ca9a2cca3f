//! fio's logs of I/O (`write_iolog`), versions 2 and 3. They hold when a request was issued and not how long it took, so
//! the whole distance between two requests counts as think time.

use super::rows::{Refused, Row};
use super::source::Lines;
use crate::fio::iolog::{Event, Reader};
use std::collections::BTreeMap;

pub fn rows(
    mut lines: Lines,
    each: &mut dyn FnMut(Row) -> Result<(), Refused>,
) -> Result<BTreeMap<String, u64>, Refused> {
    let mut ignored = BTreeMap::new();
    let mut reader = Reader::default();
    while let Some((line, text)) = lines.next()? {
        let Some(entry) = reader.line(line, text).map_err(|(line, why)| (line, why.into()))? else { continue };
        let (op, offset, bytes) = match entry.event {
            Event::Add => continue,
            Event::Open => ("open", None, None),
            Event::Close => ("close", None, None),
            Event::Read { offset, bytes } => ("read", i64::try_from(offset).ok(), Some(bytes)),
            Event::Write { offset, bytes } => ("write", i64::try_from(offset).ok(), Some(bytes)),
            Event::Trim { offset, bytes } => ("trim", i64::try_from(offset).ok(), Some(bytes)),
            Event::Sync => ("fsync", None, None),
            Event::DataSync => ("fdatasync", None, None),
            Event::Wait { .. } => {
                *ignored.entry("wait".to_string()).or_default() += 1;
                continue;
            }
        };
        let start_ns = entry.at_us.map(|us| us.saturating_mul(1_000));
        let (line, path) = (entry.line, Some(entry.file));
        each(Row { line, start_ns, op: op.to_string(), path, offset, bytes, ..Row::default() })?;
    }
    Ok(ignored)
}
