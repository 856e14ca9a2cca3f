//! The table of PCs' disks: four entries in the first sector, and a chain of further ones in an extended partition.
//!
//! **Follows.** `block/partitions/msdos.c` of Linux and its rules for what is no table; its numbers (5 and up for the chain).

use super::look::{Entry, Look, SECTOR_BYTES};
use crate::little_endian::u32_at;

const ENTRIES_AT: usize = 446;
const ENTRY_BYTES: usize = 16;
const MAGIC: [u8; 2] = [0x55, 0xAA];
/// Types of partitions that hold a chain of further ones.
const EXTENDED: [u8; 3] = [0x05, 0x0F, 0x85];
/// The type that says that there is a GPT.
pub(super) const PROTECTIVE: u8 = 0xEE;
const FIRST_OF_CHAIN: usize = 5;
/// Longer chains are a circle.
const CHAIN_MAX: usize = 128;

/// An entry that is used. Positions are sectors.
pub(super) struct Row {
    number: usize,
    pub kind: u8,
    first: u64,
    count: u64,
}

/// The entries of a sector that are used. `None`: the sector holds no table.
pub(super) fn rows(sector: &[u8]) -> Option<Vec<Row>> {
    let table = sector.get(ENTRIES_AT..SECTOR_BYTES)?;
    if !table.ends_with(&MAGIC) {
        return None;
    }
    let mut rows = Vec::new();
    for (number, entry) in (1..).zip(table.chunks_exact(ENTRY_BYTES).take(4)) {
        // Whether it is booted is said by one bit; in a boot sector of FAT there is code in its place.
        if entry[0] & 0x7F != 0 {
            return None;
        }
        let (first, count) = (u64::from(u32_at(entry, 8)?), u64::from(u32_at(entry, 12)?));
        let kind = entry[4];
        if kind != 0 && count > 0 {
            rows.push(Row { number, kind, first, count });
        }
    }
    Some(rows)
}

pub(super) fn find(image: &[u8]) -> Option<Look> {
    let rows = rows(image.get(..SECTOR_BYTES)?)?;
    // Its own sector belongs to no partition, and all of them begin on the disk.
    let sectors = (image.len() / SECTOR_BYTES) as u64;
    let is_possible = |row: &Row| row.first > 0 && row.first < sectors && row.kind != PROTECTIVE;
    if rows.is_empty() || !rows.iter().all(is_possible) {
        return None;
    }
    let (mut entries, mut doubts) = (Vec::new(), Vec::new());
    for row in rows {
        if EXTENDED.contains(&row.kind) {
            chain(image, row.first, &mut entries, &mut doubts);
        } else {
            entries.push(entry(row.number, row.first, row.count));
        }
    }
    Some(Look { table: "an MBR", entries, doubts })
}

fn entry(number: usize, first: u64, count: u64) -> Entry {
    let sector = SECTOR_BYTES as u64;
    Entry { name: format!("part{number}"), offset_bytes: first * sector, size_bytes: count * sector }
}

/// The partitions in an extended one: a sector before each says where it begins, from that sector on, and where the next such sector is,
/// from the begin of the extended partition.
fn chain(image: &[u8], begins: u64, entries: &mut Vec<Entry>, doubts: &mut Vec<String>) {
    let mut at = begins;
    for link in 0..=CHAIN_MAX {
        let sector = usize::try_from(at).ok().and_then(|at| image.get(at.checked_mul(SECTOR_BYTES)?..));
        let Some(rows) = sector.and_then(|from| rows(from.get(..SECTOR_BYTES)?)).filter(|_| link < CHAIN_MAX) else {
            doubts.push(format!("an MBR has a chain of partitions that breaks off at sector {at}"));
            return;
        };
        let mut next = None;
        for row in rows {
            if EXTENDED.contains(&row.kind) {
                next = next.or(Some(begins + row.first));
            } else {
                let number = FIRST_OF_CHAIN + link;
                entries.push(entry(number, at + row.first, row.count));
            }
        }
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
}
