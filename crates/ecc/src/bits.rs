//! Bits of a page as a code takes them one after the other: bit 0 is the highest bit of the first byte.

use std::ops::Range;

/// Bits one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bits {
    bytes: Vec<u8>,
    count: usize,
}

impl Bits {
    pub fn of(bytes: &[u8]) -> Bits {
        Bits { bytes: bytes.to_vec(), count: 8 * bytes.len() }
    }

    /// Bits of some ranges of bits of a page.
    pub fn gathered(page: &[u8], ranges: &[Range<usize>]) -> Bits {
        let mut bits = Bits::default();
        ranges.iter().for_each(|range| bits.push(page, range.clone()));
        bits
    }

    /// One range of bits of a page.
    pub fn taken(page: &[u8], range: Range<usize>) -> Bits {
        let mut bits = Bits::default();
        bits.push(page, range);
        bits
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The bits in whole bytes; what is missing in the last one is zero.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bit(&self, at: usize) -> u8 {
        self.bytes[at / 8] >> (7 - at % 8) & 1
    }

    pub fn flip(&mut self, at: usize) {
        self.bytes[at / 8] ^= 0x80 >> (at % 8);
    }

    /// So many of the bits are zero.
    pub fn zeros(&self) -> usize {
        self.count - self.bytes.iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
    }

    /// Adds a range of bits of a page.
    pub fn push(&mut self, page: &[u8], range: Range<usize>) {
        let mut at = range.start;
        if self.count.is_multiple_of(8) && at.is_multiple_of(8) {
            let whole = range.len() / 8;
            self.bytes.extend_from_slice(&page[at / 8..at / 8 + whole]);
            self.count += 8 * whole;
            at += 8 * whole;
        }
        while at < range.end {
            let count = (range.end - at).min(8);
            let pair = u16::from(page[at / 8]) << 8 | page.get(at / 8 + 1).map_or(0, |&byte| u16::from(byte));
            let piece = (pair << (at % 8) >> 8) as u8 & (0xFF00u16 >> count) as u8;
            self.push_piece(piece, count);
            at += count;
        }
    }

    /// Adds the highest bits of a byte whose other bits are zero.
    fn push_piece(&mut self, piece: u8, count: usize) {
        let used = self.count % 8;
        if used == 0 {
            self.bytes.push(piece);
        } else {
            if let Some(last) = self.bytes.last_mut() {
                *last |= piece >> used;
            }
            if count > 8 - used {
                self.bytes.push(piece << (8 - used));
            }
        }
        self.count += count;
    }

    /// Puts the bits into ranges of bits of a page.
    pub fn scatter(&self, page: &mut [u8], ranges: &[Range<usize>]) {
        for (from, to) in ranges.iter().cloned().flatten().enumerate() {
            let mask = 0x80 >> (to % 8);
            page[to / 8] = page[to / 8] & !mask | if self.bit(from) == 1 { mask } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_no_bytes_are_gathered_and_put_back() {
        let page: Vec<u8> = (0..40u32).map(|at| (at * 37 + 11) as u8).collect();
        let ranges = [3..14, 14..14, 64..101, 200..203];
        let bits = Bits::gathered(&page, &ranges);
        let bit = |at: usize| page[at / 8] >> (7 - at % 8) & 1;
        let wanted: Vec<u8> = ranges.iter().cloned().flatten().map(bit).collect();
        assert_eq!((0..bits.len()).map(|at| bits.bit(at)).collect::<Vec<_>>(), wanted);
        assert_eq!(bits.zeros(), wanted.iter().filter(|bit| **bit == 0).count());
        let mut other = vec![0xA5; 40];
        bits.scatter(&mut other, &ranges);
        assert_eq!(Bits::gathered(&other, &ranges), bits);
        assert_eq!(other[30], 0xA5);
    }
}
