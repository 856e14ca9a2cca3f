//! A sector of Zephyr's ZMS: data grow up from its start, the table of what they are (allocation table entries, ATEs) grows down from its
//! end. The last place has the header, which says by its cycle which other entries are of now; the one before it the entry that closes.

use crate::crc8::crc8;
use crate::little_endian::{u16_at, u32_at, u64_at};
use ffslab_mtd::is_erased;
use std::ops::Range;

/// Bytes of an entry that mean something; the rest of its place is padding.
pub const ATE_BYTES: usize = 16;
/// Of headers: version 1 and the magic number.
const METADATA: [u8; 2] = [1, 0x42];
const OPEN_LEN: usize = 0xFFFF;

/// How numbers and sizes stand in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number of 32 bits behind the size.
    Narrow,
    /// A number of 32 bits before the size, as in the first months of ZMS.
    Early,
    /// A number of 64 bits behind the size (`CONFIG_ZMS_ID_64BIT`).
    Wide,
}

impl Form {
    /// The largest value that stands in its entry.
    pub fn within_bytes(self) -> usize {
        if self == Form::Wide {
            4
        } else {
            8
        }
    }
}

/// The sizes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub sector_bytes: usize,
    pub ate_bytes: usize,
    pub form: Form,
    /// Entries have a check sum of values that do not stand in them (`CONFIG_ZMS_DATA_CRC`).
    pub has_data_crc: bool,
}

/// An entry whose check sum is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ate {
    pub id: u64,
    pub cycle_number: u8,
    pub bytes: usize,
    /// Where its data are in the sector: in the entry, or from the start of the sector on.
    pub offset: usize,
    pub is_within: bool,
    /// The check sum of the data.
    pub data_crc: u32,
    is_of_nobody: bool,
}

impl Ate {
    /// The entry that stands at `at` in its sector.
    pub fn of(bytes: &[u8], at: usize, form: Form) -> Option<Ate> {
        let bytes: &[u8; ATE_BYTES] = bytes.first_chunk()?;
        let (id, size) = match form {
            Form::Narrow => (u64::from(u32_at(bytes, 4)?), u16_at(bytes, 2)?),
            Form::Early => (u64::from(u32_at(bytes, 2)?), u16_at(bytes, 6)?),
            Form::Wide => (u64_at(bytes, 4)?, u16_at(bytes, 2)?),
        };
        let behind = if form == Form::Wide { 12 } else { 8 };
        let is_within = usize::from(size) <= form.within_bytes();
        let nobody = if form == Form::Wide { u64::MAX } else { u32::MAX.into() };
        let ate = Ate {
            id,
            cycle_number: bytes[1],
            bytes: size.into(),
            offset: if is_within { at + behind } else { u32_at(bytes, behind)? as usize },
            is_within,
            data_crc: if form == Form::Wide { 0 } else { u32_at(bytes, 12)? },
            is_of_nobody: id == nobody,
        };
        (crc8(&bytes[1..]) == bytes[0]).then_some(ate)
    }

    /// It says nothing of a value, but that a garbage collection came to its end, or that the sector is full.
    pub fn is_mark(&self) -> bool {
        self.is_of_nobody && self.bytes == 0
    }

    fn is_header(&self) -> bool {
        self.is_of_nobody && self.bytes == OPEN_LEN
    }

    pub fn data(&self) -> Range<usize> {
        self.offset..self.offset + self.bytes
    }
}

/// The form of entries that a header tells of, but for the early one, whose headers are the same.
pub fn header_form(entry: &[u8]) -> Option<Form> {
    let form = match entry.get(14)? & 0xF {
        0 => Form::Narrow,
        1 => Form::Wide,
        _ => return None,
    };
    (entry[12..14] == METADATA && Ate::of(entry, 0, form)?.is_header()).then_some(form)
}

/// A place in the table.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// Position in the sector.
    pub at_bytes: usize,
    /// `None`: something with a wrong check sum, or of another cycle.
    pub ate: Option<Ate>,
}

/// What the end of a sector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has used it.
    Erased,
    /// It has no right header.
    Headless,
    Open,
    /// The table ends there.
    Closed(usize),
}

pub struct Sector {
    pub number: u32,
    /// Position in the image.
    pub at_bytes: usize,
    pub state: State,
    /// How often it was begun, if the header counts that.
    pub cycles_count: Option<u32>,
    /// The place before the header holds something else than the entry that closes the sector.
    pub is_close_damaged: bool,
    /// From the first that was written to the last that is right.
    pub slots: Vec<Slot>,
    /// Behind the last data that an entry names.
    pub data_end_bytes: usize,
    /// Of the last place of the table that is used.
    pub table_at_bytes: usize,
    /// Between the last data and the table, of what is not erased.
    pub of_nobody_bytes: usize,
}

impl Sector {
    /// Reads the sector; `bytes` is fewer than its size where the image ends in it.
    pub fn of(bytes: &[u8], number: u32, geometry: &Geometry) -> Sector {
        let size = geometry.sector_bytes;
        let mut sector = Sector {
            number,
            at_bytes: number as usize * size,
            state: if is_erased(bytes) { State::Erased } else { State::Headless },
            cycles_count: None,
            is_close_damaged: false,
            slots: Vec::new(),
            data_end_bytes: 0,
            table_at_bytes: size,
            of_nobody_bytes: 0,
        };
        let last = size - geometry.ate_bytes;
        // Without its end there is no table.
        let head = bytes.get(last..size).filter(|place| header_form(place).is_some());
        let Some(head) = head.and_then(|place| Some((place, Ate::of(place, last, geometry.form)?))) else {
            return sector;
        };
        if geometry.form != Form::Wide {
            sector.cycles_count = u32_at(head.0, 8).filter(|count| *count > 0);
        }
        let cycle = head.1.cycle_number;
        sector.table_at_bytes = last - geometry.ate_bytes;
        sector.read_close(bytes, cycle, geometry);
        sector.read_table(bytes, cycle, geometry);
        let between = &bytes[sector.data_end_bytes.min(sector.table_at_bytes)..sector.table_at_bytes];
        sector.of_nobody_bytes = between.iter().filter(|&&byte| byte != 0xFF).count();
        sector
    }

    fn read_close(&mut self, bytes: &[u8], cycle: u8, geometry: &Geometry) {
        let at = self.table_at_bytes;
        let place = &bytes[at..at + geometry.ate_bytes];
        let read = Ate::of(place, at, geometry.form).filter(Ate::is_mark);
        let offset = u32_at(place, if geometry.form == Form::Wide { 12 } else { 8 }).unwrap_or(0) as usize;
        let is_place = offset < at && (geometry.sector_bytes - offset).is_multiple_of(geometry.ate_bytes);
        self.state = match read {
            Some(ate) if ate.cycle_number == cycle && is_place => State::Closed(offset),
            _ => State::Open,
        };
        self.is_close_damaged = read.is_none() && !is_erased(place);
    }

    /// On memory without erases old entries stay below those of this cycle: an open table ends with the last right one.
    fn read_table(&mut self, bytes: &[u8], cycle: u8, geometry: &Geometry) {
        let end = match self.state {
            State::Closed(last) => last,
            _ => 0,
        };
        let (mut at, mut right) = (self.table_at_bytes, 0);
        while at >= geometry.ate_bytes + end.max(self.data_end_bytes) {
            at -= geometry.ate_bytes;
            let ate =
                Ate::of(&bytes[at..at + geometry.ate_bytes], at, geometry.form).filter(|ate| ate.cycle_number == cycle);
            // Data are only appended: what names an earlier place, or one behind the table, is no entry.
            let ate = ate
                .filter(|ate| !ate.is_header())
                .filter(|ate| ate.is_within || ate.offset >= self.data_end_bytes && ate.offset + ate.bytes <= at);
            if let Some(ate) = ate.filter(|ate| !ate.is_within) {
                self.data_end_bytes = ate.offset + ate.bytes;
            }
            self.slots.push(Slot { at_bytes: at, ate });
            if ate.is_some() {
                (right, self.table_at_bytes) = (self.slots.len(), at);
            }
        }
        if end == 0 {
            self.slots.truncate(right);
        } else {
            self.table_at_bytes = end;
        }
    }

    pub fn ates(&self) -> impl DoubleEndedIterator<Item = (usize, Ate)> + '_ {
        self.slots.iter().enumerate().filter_map(|(number, slot)| Some((number, slot.ate?)))
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed(_))
    }

    /// It has a header and no entry.
    pub fn is_empty(&self) -> bool {
        self.state == State::Open && self.slots.is_empty()
    }

    /// Whether garbage collection into it came to its end.
    pub fn is_collected(&self) -> bool {
        self.ates().any(|(_, ate)| ate.is_mark())
    }
}
