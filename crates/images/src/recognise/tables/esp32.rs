//! The table of ESP32s: up to 95 entries in a sector of its own, ended by one with the MD5 of those before it.
//!
//! **Follows.** `components/esp_partition`, `components/bootloader_support/include/esp_flash_partitions.h` and
//! `components/partition_table/gen_esp32part.py` of ESP-IDF.

use super::look::{Entry, Look};
use crate::little_endian::u32_at;
use md5::{Digest, Md5};

const NAME: &str = "ESP32's table";
/// `CONFIG_PARTITION_TABLE_OFFSET`: the usual one, and those that people take for larger boot loaders.
const PLACES: [usize; 8] = [0x8000, 0x9000, 0xA000, 0xC000, 0xD000, 0xE000, 0xF000, 0x10000];
const TABLE_BYTES: usize = 0xC00;
const ENTRY_BYTES: usize = 32;
const MAGIC: [u8; 2] = [0xAA, 0x50];
const MD5_MAGIC: [u8; 2] = [0xEB, 0xEB];
const MD5_AT: usize = 16;
const SECTOR_BYTES: u32 = 0x1000;

pub(super) fn find(image: &[u8]) -> Option<Look> {
    PLACES.iter().find_map(|&at| {
        let table = image.get(at..image.len().min(at + TABLE_BYTES))?;
        let rows = table.chunks_exact(ENTRY_BYTES);
        let used = rows.clone().take_while(|row| row.starts_with(&MAGIC)).count();
        let end = table.get(used * ENTRY_BYTES..(used + 1) * ENTRY_BYTES)?;
        let has_md5 = end.starts_with(&MD5_MAGIC);
        // With an MD5 behind them rows that cannot be are damaged ones.
        let can_be = rows.clone().take(used).all(is_possible);
        if used == 0 || !(has_md5 || can_be) {
            return None;
        }
        let is_right = if has_md5 {
            Md5::digest(&table[..used * ENTRY_BYTES])[..] == end[MD5_AT..]
        } else {
            // Before ESP-IDF 3.1, and where somebody leaves it out, erased flash ends it.
            ffslab_mtd::is_erased(end)
        };
        if !is_right || !can_be {
            let doubt = format!("{NAME}, at {at:#x}, is not used, because its MD5 is wrong, or it has no end");
            return Some(Look { table: NAME, entries: Vec::new(), doubts: vec![doubt] });
        }
        let entries = rows.take(used).filter_map(entry).collect();
        Some(Look { table: NAME, entries, doubts: Vec::new() })
    })
}

/// Partitions are whole sectors of the flash, behind the table.
fn is_possible(row: &[u8]) -> bool {
    let [offset, size] = [4, 8].map(|at| u32_at(row, at).unwrap_or(0));
    offset > 0 && size > 0 && offset.is_multiple_of(SECTOR_BYTES) && size.is_multiple_of(SECTOR_BYTES)
}

fn entry(row: &[u8]) -> Option<Entry> {
    let label = row[12..28].split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(label).into_owned();
    Some(Entry { name, offset_bytes: u32_at(row, 4)?.into(), size_bytes: u32_at(row, 8)?.into() })
}
