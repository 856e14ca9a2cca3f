//! The sizes of a store, which nothing in it says: those with which its bytes make sense.

use super::sector::{has_crc, Close, Geometry, Sector, CRC_BYTES};

/// Offsets in a sector have 16 bits.
pub const SECTOR_BYTES_MAX: usize = 64 << 10;
const SECTOR_BYTES_STEP: usize = 512;
/// Places for entries: 8 B, in whole units of what the flash writes at once (1 to 32 B).
const ATES_BYTES: [usize; 3] = [8, 16, 32];
/// A store has at least two sectors, so that one can be erased.
pub const SECTORS_MIN: usize = 2;
/// Without a word from the user so many right entries, each behind the data of the one before it, say that it is one.
const ATES_MIN: usize = 3;
/// Data that nobody names may be there after a power cut, but are not the most of it.
const OF_NOBODY_SHARE: usize = 4;
/// A candidate of which the first so many sectors make no sense is given up.
const SECTORS_TRIED: usize = 64;
/// It is given up sooner when so many entries are wrong, and hardly any right.
const WRONG_MAX: usize = 64;

/// What speaks for a candidate.
#[derive(Default)]
struct Evidence {
    right: usize,
    wrong: usize,
    wrong_ends: usize,
    of_nobody_bytes: usize,
    named_bytes: usize,
    /// Bytes of values that are erased, where a value is expected.
    blank_bytes: usize,
    crc_right: usize,
    crc_wrong: usize,
}

impl Evidence {
    fn of(image: &[u8], geometry: &Geometry) -> Option<Evidence> {
        let mut all = Evidence::default();
        for (number, bytes) in image.chunks(geometry.sector_bytes).enumerate() {
            // The places of the entries alone tell of most candidates that they are none.
            let end = bytes.len().saturating_sub(2 * geometry.ate_bytes);
            let is_open = bytes.len() == geometry.sector_bytes && ffslab_mtd::is_erased(&bytes[end..]);
            if is_open
                && ffslab_mtd::is_erased(&bytes[..bytes.len().min(16)])
                && all.right == 0
                && number + 1 < SECTORS_TRIED
            {
                // Most likely erased; if not, its bytes are nobody's.
                all.of_nobody_bytes += bytes.iter().filter(|&&byte| byte != 0xFF).count();
                continue;
            }
            all.add(&Sector::of(bytes, number as u32, geometry), bytes);
            let is_hopeless = all.wrong + all.wrong_ends > WRONG_MAX + 4 * all.right;
            if is_hopeless || number == SECTORS_TRIED && all.right <= 2 * (all.wrong + all.wrong_ends) {
                return None;
            }
        }
        Some(all)
    }

    fn add(&mut self, sector: &Sector, bytes: &[u8]) {
        self.wrong_ends += usize::from(sector.close == Close::Damaged);
        // Bytes behind the data of the last entry are those of the next, or nobody's; if that one is damaged, its.
        let (mut end, mut is_lost) = (0, false);
        for slot in &sector.slots {
            let Some(ate) = slot.ate else {
                (self.wrong, is_lost) = (self.wrong + 1, true);
                continue;
            };
            if !is_lost {
                self.of_nobody_bytes += bytes[end..ate.offset].iter().filter(|&&byte| byte != 0xFF).count();
            }
            (end, is_lost) = (ate.offset + ate.bytes, false);
            self.right += 1;
            let data = &bytes[ate.data()];
            self.named_bytes += data.len();
            if data.len() >= CRC_BYTES && ffslab_mtd::is_erased(data) {
                self.blank_bytes += data.len();
            }
            match has_crc(data) {
                Some(true) => self.crc_right += 1,
                Some(false) => self.crc_wrong += 1,
                None => {}
            }
        }
        if !is_lost {
            self.of_nobody_bytes += sector.of_nobody(bytes);
        }
    }

    fn is_enough(&self, least: usize) -> bool {
        self.right >= least
            && self.right > 2 * (self.wrong + self.wrong_ends)
            && self.of_nobody_bytes * OF_NOBODY_SHARE <= self.named_bytes + self.right * 8
    }

    fn score(&self) -> i64 {
        16 * (self.right as i64 - self.wrong as i64 - 4 * self.wrong_ends as i64)
            - (self.of_nobody_bytes + self.blank_bytes) as i64
    }
}

/// The sizes that suit the image best, and how many entries say so. `said`: the sector size, if it is given; `is_given`: that it is such
/// a store, so that less evidence does.
pub fn find(image: &[u8], said: Option<usize>, is_given: bool) -> Option<(Geometry, usize)> {
    let least = if is_given { 1 } else { ATES_MIN };
    let mut best: Option<(i64, Geometry, usize)> = None;
    for sector_bytes in sizes(image.len(), said) {
        for ate_bytes in ATES_BYTES {
            let mut geometry = Geometry { sector_bytes, ate_bytes, has_data_crc: false };
            let Some(evidence) = Evidence::of(image, &geometry).filter(|found| found.is_enough(least)) else {
                continue;
            };
            geometry.has_data_crc = evidence.crc_right > evidence.crc_wrong;
            let score = evidence.score();
            if best.as_ref().is_none_or(|(most, ..)| score > *most) {
                best = Some((score, geometry, evidence.right));
            }
        }
    }
    best.map(|(_, geometry, ates)| (geometry, ates))
}

/// Sector sizes with which the image has whole sectors, the largest first; powers of two also where its end is missing.
fn sizes(image_bytes: usize, said: Option<usize>) -> Vec<usize> {
    let steps = (1..=SECTOR_BYTES_MAX / SECTOR_BYTES_STEP).rev().map(|step| step * SECTOR_BYTES_STEP);
    let is_possible = |size: &usize| {
        (image_bytes.is_multiple_of(*size) || size.is_power_of_two()) && image_bytes / size >= SECTORS_MIN
    };
    steps.filter(is_possible).filter(|size| said.is_none_or(|said| said == *size)).collect()
}
