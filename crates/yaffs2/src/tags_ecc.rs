//! The ECC over packed tags: Hamming code for any number of bytes, corrects one bit.
//!
//! Follows `yaffs_ecc.c` (`yaffs_ecc_calc_other`, `yaffs_ecc_correct_other`). Twelve bytes on flash: the column parity,
//! three bytes that nothing gives a meaning, line parity and inverse line parity as little-endian words.

use crate::tags::TAGS_BYTES;

pub const ECC_BYTES: usize = 12;

/// Column parities (bits 7 to 2) and parity (bit 0) of a byte: bit `k` of the byte counts into the upper or lower bit of
/// three pairs, as the binary digits of `k` say.
const COLUMN_PARITY: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut k = 0;
        while k < 8 {
            if byte >> k & 1 == 1 {
                let fours = if k & 4 != 0 { 0x80 } else { 0x40 };
                let twos = if k & 2 != 0 { 0x20 } else { 0x10 };
                let ones = if k & 1 != 0 { 0x08 } else { 0x04 };
                table[byte] ^= fours | twos | ones | 1;
            }
            k += 1;
        }
        byte += 1;
    }
    table
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Code {
    column: u8,
    line: u32,
    line_inverse: u32,
}

/// What became of tags when their ECC was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    Right,
    Corrected,
    Wrong,
}

fn code(tags: &[u8; TAGS_BYTES]) -> Code {
    let (mut column, mut line, mut line_inverse) = (0u8, 0u32, 0u32);
    for (i, &byte) in tags.iter().enumerate() {
        let parity = COLUMN_PARITY[usize::from(byte)];
        column ^= parity;
        if parity & 1 != 0 {
            line ^= i as u32;
            line_inverse ^= !(i as u32);
        }
    }
    Code { column: column >> 2 & 0x3F, line, line_inverse }
}

/// The ECC of `tags`, as it lies on flash.
pub fn compute(tags: &[u8; TAGS_BYTES]) -> [u8; ECC_BYTES] {
    let Code { column, line, line_inverse } = code(tags);
    let mut ecc = [0; ECC_BYTES];
    ecc[0] = column;
    ecc[4..8].copy_from_slice(&line.to_le_bytes());
    ecc[8..12].copy_from_slice(&line_inverse.to_le_bytes());
    ecc
}

/// Compares `tags` with the ECC that was read with them and corrects one wrong bit.
pub fn correct(tags: &mut [u8; TAGS_BYTES], ecc: &[u8; ECC_BYTES]) -> Checked {
    let word = |at: usize| u32::from_le_bytes([ecc[at], ecc[at + 1], ecc[at + 2], ecc[at + 3]]);
    let now = code(tags);
    let column = ecc[0] ^ now.column;
    let line = word(4) ^ now.line;
    let line_inverse = word(8) ^ now.line_inverse;
    if column == 0 && line == 0 && line_inverse == 0 {
        return Checked::Right;
    }
    // A single wrong bit changes exactly one parity of each pair.
    if line == !line_inverse && (column ^ column >> 1) & 0x15 == 0x15 {
        let Some(byte) = tags.get_mut(line as usize) else { return Checked::Wrong };
        *byte ^= 1 << ((column >> 5 & 1) << 2 | (column >> 3 & 1) << 1 | column >> 1 & 1);
        return Checked::Corrected;
    }
    if column.count_ones() + line.count_ones() + line_inverse.count_ones() == 1 {
        return Checked::Corrected;
    }
    Checked::Wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_bit_error_is_corrected() {
        let good: [u8; TAGS_BYTES] = std::array::from_fn(|i| (i * 37 + 11) as u8);
        let ecc = compute(&good);
        assert_eq!(correct(&mut good.clone(), &ecc), Checked::Right);
        for bit in 0..TAGS_BYTES * 8 {
            let mut tags = good;
            tags[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(correct(&mut tags, &ecc), Checked::Corrected, "bit {bit}");
            assert_eq!(tags, good, "bit {bit}");
        }
    }

    #[test]
    fn a_single_wrong_bit_of_the_ecc_is_harmless() {
        let good: [u8; TAGS_BYTES] = std::array::from_fn(|i| (i * 91 + 5) as u8);
        for bit in (0..6).chain(32..96) {
            let mut ecc = compute(&good);
            ecc[bit / 8] ^= 1 << (bit % 8);
            let mut tags = good;
            assert_eq!(correct(&mut tags, &ecc), Checked::Corrected, "bit {bit}");
            assert_eq!(tags, good);
        }
    }

    #[test]
    fn two_wrong_bits_are_noticed() {
        let good = [0x5A; TAGS_BYTES];
        let ecc = compute(&good);
        for (a, b) in [(0, 1), (3, 77), (8, 127), (40, 41)] {
            let mut tags = good;
            tags[a / 8] ^= 1 << (a % 8);
            tags[b / 8] ^= 1 << (b % 8);
            assert_eq!(correct(&mut tags, &ecc), Checked::Wrong, "bits {a} and {b}");
        }
    }
}
