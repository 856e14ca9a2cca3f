//! Sectors of Zephyr's FCB: a header with a magic number of the program and a number that goes up, and behind it entries of a length, data
//! and a check sum of both, each in whole units of what the flash writes at once.

use crate::crc8::crc8;
use crate::little_endian::{u16_at, u32_at};
use ffslab_mtd::is_erased;
use std::ops::Range;

const HEADER_BYTES: usize = 8;
const NO_MAGIC: u32 = 0xFFFF_FFFF;
/// In the place of a check sum where a program wants none (`CONFIG_FCB_ALLOW_FIXED_ENDMARKER`).
const FIXED_END: u8 = 0xAB;
const SECTOR_BYTES_STEP: usize = 512;
const SECTOR_BYTES_MAX: usize = 256 << 10;
/// Of several sizes with which a log of few entries makes sense.
const SECTOR_BYTES_USUAL: usize = 4096;
const UNITS_BYTES: [usize; 6] = [1, 2, 4, 8, 16, 32];
/// Without a word from the user so many right entries say that it is a log.
const ENTRIES_MIN: usize = 3;

/// The sizes of a log, which only the program knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub sector_bytes: usize,
    pub unit_bytes: usize,
    pub magic: u32,
    /// Entries end with a mark and no check sum.
    pub has_fixed_ends: bool,
}

impl Geometry {
    pub fn whole(&self, bytes: usize) -> usize {
        bytes.next_multiple_of(self.unit_bytes)
    }
}

/// A place in a sector where an entry begins.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Position in the sector.
    pub at_bytes: usize,
    /// Where the data are in the sector.
    pub data: Range<usize>,
    /// What stands behind the data.
    pub is_right: bool,
    /// All of it, with what surrounds the data.
    pub taken_bytes: usize,
}

pub struct Sector {
    pub number: u32,
    /// Position in the image.
    pub at_bytes: usize,
    /// `None`: the sector is not in use.
    pub id: Option<u16>,
    pub is_erased: bool,
    pub entries: Vec<Entry>,
    /// Behind the last entry.
    pub end_bytes: usize,
    /// Behind that, of what is not erased.
    pub of_nobody_bytes: usize,
}

impl Sector {
    /// Reads the sector; `bytes` is fewer than its size where the image ends in it.
    pub fn of(bytes: &[u8], number: u32, geometry: &Geometry) -> Sector {
        let head = u32_at(bytes, 0).filter(|magic| *magic == geometry.magic && bytes.get(5) == Some(&0xFF));
        let mut sector = Sector {
            number,
            at_bytes: number as usize * geometry.sector_bytes,
            id: head.and_then(|_| u16_at(bytes, 6)),
            is_erased: is_erased(bytes),
            entries: Vec::new(),
            end_bytes: 0,
            of_nobody_bytes: 0,
        };
        if sector.id.is_some() {
            sector.end_bytes = geometry.whole(HEADER_BYTES);
            while let Some(entry) = entry(bytes, sector.end_bytes, geometry) {
                sector.end_bytes = entry.at_bytes + entry.taken_bytes;
                sector.entries.push(entry);
            }
            let rest = bytes.get(sector.end_bytes..).unwrap_or_default();
            sector.of_nobody_bytes = rest.iter().filter(|&&byte| byte != 0xFF).count();
        }
        sector
    }

    pub fn right(&self) -> impl Iterator<Item = (usize, &Entry)> {
        self.entries.iter().enumerate().filter(|(_, entry)| entry.is_right)
    }
}

/// The entry that begins there. `None`: there is none, or one that would not end in the sector.
fn entry(bytes: &[u8], at: usize, geometry: &Geometry) -> Option<Entry> {
    let length = bytes.get(at..at + 2).filter(|length| *length != [0xFF, 0xFF])?;
    let (of_length, size) = match length[0] & 0x80 {
        0 => (1, usize::from(length[0])),
        _ => (2, usize::from(length[0] & 0x7F) | usize::from(length[1]) << 7),
    };
    let start = at + geometry.whole(of_length);
    let (data, end) = (start..start + size, start + geometry.whole(size));
    let stored = *bytes.get(end)?;
    let taken_bytes = end + geometry.whole(1) - at;
    let sum = crc8(&[&length[..of_length], &bytes[data.clone()]].concat());
    let is_right = if geometry.has_fixed_ends { stored == FIXED_END || stored == sum } else { stored == sum };
    (at + taken_bytes <= bytes.len()).then_some(Entry { at_bytes: at, data, is_right, taken_bytes })
}

/// What speaks for such sizes, if anything does, and how many entries are right.
fn score(image: &[u8], geometry: &Geometry, least: usize) -> Option<(i64, usize)> {
    let (mut right, mut wrong, mut named, mut of_nobody) = (0, 0, 0, 0);
    let (mut begun, mut headless) = (0, 0);
    for (number, bytes) in (0..).zip(image.chunks(geometry.sector_bytes)) {
        let sector = Sector::of(bytes, number, geometry);
        begun += usize::from(sector.id.is_some());
        headless += usize::from(sector.id.is_none() && !sector.is_erased);
        right += sector.right().count();
        wrong += sector.entries.iter().filter(|entry| !entry.is_right).count();
        named += sector.end_bytes;
        of_nobody += sector.of_nobody_bytes;
    }
    // A sector may be damaged, but with a size that is too small every other one has no header.
    let is_enough = right >= least && right > 2 * wrong && of_nobody * 4 <= named && headless * 2 <= begun;
    let is_usual = usize::from(geometry.sector_bytes == SECTOR_BYTES_USUAL);
    is_enough.then(|| ((16 * right + is_usual) as i64 - (64 * wrong + 4 * of_nobody + 1024 * headless) as i64, right))
}

/// The sizes that suit the image best, and how many entries say so. `said`: the sector size, if it is given; `is_given`: that it is such a
/// log, so that less evidence does.
pub fn find(image: &[u8], said: Option<usize>, is_given: bool) -> Option<(Geometry, usize)> {
    let least = if is_given { 1 } else { ENTRIES_MIN };
    // The first sector that is in use begins with the magic number.
    let first = image.chunks(SECTOR_BYTES_STEP).find(|bytes| !is_erased(bytes))?;
    let magic = u32_at(first, 0).filter(|magic| *magic != NO_MAGIC && first.get(5) == Some(&0xFF))?;
    let steps = (1..=SECTOR_BYTES_MAX / SECTOR_BYTES_STEP).rev().map(|step| step * SECTOR_BYTES_STEP);
    // Of an image whose end is missing powers of two are tried.
    let is_possible = |size: &usize| image.len().is_multiple_of(*size) || size.is_power_of_two();
    let sizes = steps.filter(|size| said.map_or(is_possible(size), |said| said == *size));
    let mut best: Option<(i64, Geometry, usize)> = None;
    for sector_bytes in sizes.filter(|size| image.len() >= *size) {
        for (unit_bytes, has_fixed_ends) in UNITS_BYTES.into_iter().flat_map(|unit| [(unit, false), (unit, true)]) {
            let geometry = Geometry { sector_bytes, unit_bytes, magic, has_fixed_ends };
            let Some((score, right)) = score(image, &geometry, least) else { continue };
            if best.as_ref().is_none_or(|(most, ..)| score > *most) {
                best = Some((score, geometry, right));
            }
        }
    }
    best.map(|(_, geometry, right)| (geometry, right))
}
