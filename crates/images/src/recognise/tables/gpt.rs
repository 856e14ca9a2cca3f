//! The table of UEFI's disks: a header behind the first sector and a copy of it at the end, each with a check sum over itself and one over
//! the entries.
//!
//! **Follows.** UEFI Specification 2.10, chapter 5.3; which copy is used: `block/partitions/efi.c` of Linux.

use super::look::{Entry, Look, SECTOR_BYTES};
use super::mbr;
use crate::little_endian::{u32_at, u64_at};
use std::ops::Range;

const NAME: &str = "a GPT";
const MAGIC: &[u8] = b"EFI PART";
const HEADER_BYTES_MIN: usize = 92;
const ENTRY_BYTES_MIN: usize = 128;
const ENTRIES_MAX: usize = 1024;
/// Sizes of the sectors that are counted.
const SECTORS_BYTES: [usize; 2] = [SECTOR_BYTES, 4096];

/// A header whose check sums are right.
struct Header {
    entries: Vec<Entry>,
    other_at: u64,
}

pub(super) fn find(image: &[u8]) -> Option<Look> {
    SECTORS_BYTES.iter().find_map(|&sector_bytes| find_by_sectors(image, sector_bytes))
}

fn find_by_sectors(image: &[u8], sector_bytes: usize) -> Option<Look> {
    let last = (image.len() / sector_bytes).checked_sub(1)? as u64;
    let look = |entries, doubt: Option<String>| Some(Look { table: NAME, entries, doubts: Vec::from_iter(doubt) });
    if let Some(Header { entries, other_at }) = header(image, 1, sector_bytes) {
        let doubt = match header(image, other_at, sector_bytes) {
            Some(_) => None,
            None if other_at > last => Some("a GPT has its copy behind the end of the file".to_string()),
            None => Some(format!("the copy of a GPT, at sector {other_at}, is damaged")),
        };
        return look(entries, doubt);
    }
    let says = |at: u64| place(image, at, sector_bytes).is_some_and(|range| image[range].starts_with(MAGIC));
    let is_named = says(1) || says(last);
    if !is_named && !is_protected(image) {
        return None;
    }
    if let Some(Header { entries, .. }) = header(image, last, sector_bytes) {
        let doubt = "the header of a GPT, or its list, is damaged: the copy at the end is used";
        return look(entries, Some(doubt.to_string()));
    }
    let doubt = "a GPT is not used, because its check sums are wrong, those of its copy too";
    if is_named {
        look(Vec::new(), Some(doubt.to_string()))
    } else {
        None
    }
}

/// Whether the first sector says that a GPT follows.
fn is_protected(image: &[u8]) -> bool {
    let rows = image.get(..SECTOR_BYTES).and_then(mbr::rows);
    rows.is_some_and(|rows| rows.iter().any(|row| row.kind == mbr::PROTECTIVE))
}

/// From the begin of a sector to the end of the image.
fn place(image: &[u8], at: u64, sector_bytes: usize) -> Option<Range<usize>> {
    let from = usize::try_from(at).ok()?.checked_mul(sector_bytes)?;
    (from < image.len()).then_some(from..image.len())
}

fn header(image: &[u8], at: u64, sector_bytes: usize) -> Option<Header> {
    let bytes = &image[place(image, at, sector_bytes)?];
    let size = u32_at(bytes, 12)? as usize;
    if !bytes.starts_with(MAGIC) || !(HEADER_BYTES_MIN..=sector_bytes).contains(&size) {
        return None;
    }
    let mut own = bytes.get(..size)?.to_vec();
    own[16..20].fill(0);
    if crc32fast::hash(&own) != u32_at(bytes, 16)? || u64_at(bytes, 24)? != at {
        return None;
    }
    let (count, entry_bytes) = (u32_at(bytes, 80)? as usize, u32_at(bytes, 84)? as usize);
    if count > ENTRIES_MAX || !(ENTRY_BYTES_MIN..=sector_bytes).contains(&entry_bytes) {
        return None;
    }
    let list = image[place(image, u64_at(bytes, 72)?, sector_bytes)?].get(..count * entry_bytes)?;
    if crc32fast::hash(list) != u32_at(bytes, 88)? {
        return None;
    }
    let entries = list.chunks_exact(entry_bytes).filter_map(|entry| used(entry, sector_bytes as u64)).collect();
    Some(Header { entries, other_at: u64_at(bytes, 32)? })
}

/// An entry that is used: its type is not zero.
fn used(entry: &[u8], sector_bytes: u64) -> Option<Entry> {
    let (first, last) = (u64_at(entry, 32)?, u64_at(entry, 40)?);
    if entry[..16].iter().all(|&byte| byte == 0) || last < first {
        return None;
    }
    let units: Vec<u16> = entry[56..128].as_chunks::<2>().0.iter().map(|two| u16::from_le_bytes(*two)).collect();
    let name = String::from_utf16_lossy(units.split(|&unit| unit == 0).next().unwrap_or_default());
    let size_bytes = (last - first).checked_add(1)?.checked_mul(sector_bytes)?;
    Some(Entry { name, offset_bytes: first.checked_mul(sector_bytes)?, size_bytes })
}
