//! A sector of Zephyr's NVS: data grow up from its start, the table of what they are (allocation table entries, ATEs) grows down from its
//! end. The last entry is written when the sector is full, and says where the table ends.

use crate::crc8::crc8;
use ffslab_mtd::is_erased;
use std::ops::Range;

/// Bytes of an entry that mean something; the rest of its place is padding.
pub const ATE_BYTES: usize = 8;
const CLOSE_ID: u16 = 0xFFFF;
/// The field for values in several parts, which nothing uses. Versions up to 3.0 leave it as it comes in marks (`nvs_sector_close`,
/// `nvs_add_gc_done_ate` of `nvs.c`), and none looks at it.
const NO_PART: u8 = 0xFF;

/// Of the check sum behind a value.
pub const CRC_BYTES: usize = 4;

/// The sizes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub sector_bytes: usize,
    pub ate_bytes: usize,
    /// Values have a check sum behind them (`CONFIG_NVS_DATA_CRC`).
    pub has_data_crc: bool,
}

impl Geometry {
    /// Where the value is in the data of an entry.
    pub fn value(&self, data: Range<usize>) -> Range<usize> {
        if self.has_data_crc {
            data.start..data.end.saturating_sub(CRC_BYTES).max(data.start)
        } else {
            data
        }
    }
}

/// Whether data end with the check sum of those before it. `None`: they are too short for one.
pub fn has_crc(data: &[u8]) -> Option<bool> {
    let (value, crc) = data.split_last_chunk::<CRC_BYTES>().filter(|(value, _)| !value.is_empty())?;
    Some(crc32fast::hash(value) == u32::from_le_bytes(*crc))
}

/// An entry whose check sum is right, and whose data stand before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ate {
    pub id: u16,
    pub offset: usize,
    pub bytes: usize,
}

impl Ate {
    /// The entry that stands at `at` in its sector.
    pub fn of(bytes: &[u8], at: usize) -> Option<Ate> {
        let bytes: &[u8; ATE_BYTES] = bytes.first_chunk()?;
        let word = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let ate = Ate { id: word(0), offset: word(2).into(), bytes: word(4).into() };
        let is_possible = (bytes[6] == NO_PART || ate.is_mark()) && ate.offset + ate.bytes <= at;
        (is_possible && crc8(&bytes[..7]) == bytes[7]).then_some(ate)
    }

    /// It says nothing of a value, but that a garbage collection came to its end, or that the sector is full.
    pub fn is_mark(&self) -> bool {
        self.id == CLOSE_ID && self.bytes == 0
    }

    pub fn data(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }
}

/// What stands in the last place of a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// The sector is being written, or was not used.
    Open,
    /// The table ends there.
    At(usize),
    Damaged,
}

/// A place in the table.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Position in the sector.
    pub at_bytes: usize,
    /// `None`: something with a wrong check sum.
    pub ate: Option<Ate>,
}

pub struct Sector {
    pub number: u32,
    /// Position in the image.
    pub at_bytes: usize,
    pub close: Close,
    /// From the first that was written to the last.
    pub slots: Vec<Slot>,
    pub is_erased: bool,
    /// Behind the last data that an entry names.
    pub data_end_bytes: usize,
    /// Of the first place for an entry that is not used; 0 if there is none.
    pub table_at_bytes: usize,
}

impl Sector {
    /// Reads the sector; `bytes` is fewer than its size where the image ends in it.
    pub fn of(bytes: &[u8], number: u32, geometry: &Geometry) -> Sector {
        let (size, ate_bytes) = (geometry.sector_bytes, geometry.ate_bytes);
        let mut sector = Sector {
            number,
            at_bytes: number as usize * size,
            close: Close::Open,
            slots: Vec::new(),
            is_erased: is_erased(bytes),
            data_end_bytes: 0,
            table_at_bytes: 0,
        };
        // Without its end there is no table.
        if bytes.len() < size || sector.is_erased {
            sector.table_at_bytes = size.saturating_sub(ate_bytes);
            return sector;
        }
        sector.close = close(bytes, size - ate_bytes, ate_bytes);
        let last = match sector.close {
            Close::At(last) => last,
            _ => 0,
        };
        let mut at = size - ate_bytes;
        while at >= ate_bytes + last.max(sector.data_end_bytes) {
            let place = &bytes[at - ate_bytes..at];
            if is_erased(place) {
                break;
            }
            at -= ate_bytes;
            let ate = Ate::of(place, at).filter(|_| is_erased(&place[ATE_BYTES..]));
            // Data are only appended: what names an earlier place is no entry.
            let ate = ate.filter(|ate| ate.offset >= sector.data_end_bytes);
            if let Some(ate) = ate {
                sector.data_end_bytes = ate.offset + ate.bytes;
            }
            sector.slots.push(Slot { at_bytes: at, ate });
        }
        sector.table_at_bytes = at;
        sector.leave_data_alone();
        sector
    }

    /// Where the table of an open sector reaches down to bytes that are not erased, those may be data of a write that was cut off: behind
    /// the last right entry at most one is torn.
    fn leave_data_alone(&mut self) {
        let right = self.slots.iter().rposition(|slot| slot.ate.is_some()).map_or(0, |last| last + 1);
        if self.close == Close::Open && self.slots.len() > right + 1 {
            self.slots.truncate(right + 1);
            self.table_at_bytes = self.slots.last().map_or(self.table_at_bytes, |slot| slot.at_bytes);
        }
    }

    pub fn ates(&self) -> impl DoubleEndedIterator<Item = (usize, Ate)> + '_ {
        self.slots.iter().enumerate().filter_map(|(number, slot)| Some((number, slot.ate?)))
    }

    /// Bytes between the last data and the table that are not erased.
    pub fn of_nobody(&self, bytes: &[u8]) -> usize {
        let from = self.data_end_bytes.min(bytes.len());
        let between = &bytes[from..self.table_at_bytes.clamp(from, bytes.len())];
        between.iter().filter(|&&byte| byte != 0xFF).count()
    }

    /// Whether garbage collection into it came to its end.
    pub fn is_collected(&self) -> bool {
        self.ates().any(|(_, ate)| ate.is_mark())
    }
}

fn close(sector: &[u8], at: usize, ate_bytes: usize) -> Close {
    let place = &sector[at..at + ate_bytes];
    if is_erased(place) {
        return Close::Open;
    }
    let is_close = |ate: &Ate| ate.is_mark() && (sector.len() - ate.offset).is_multiple_of(ate_bytes);
    match Ate::of(place, at).filter(is_close) {
        Some(ate) if is_erased(&place[ATE_BYTES..]) => Close::At(ate.offset),
        _ => Close::Damaged,
    }
}
