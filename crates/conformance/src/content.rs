//! File contents that show where they belong, and the seeded random numbers of the kit.

/// splitmix64 (Steele, Lea, Flood 2014), the generator that the measured cases use, too.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number in `0..limit`, uniform enough for tests; 0 for a limit of 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            0
        } else {
            self.draw() % limit
        }
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// `bytes` bytes for offset `at` of a file, different for every `seed`. They cannot be compressed and are never 0x00 or
/// 0xFF, so that holes and erased flash cannot be taken for data.
///
/// Made a word at a time: of what the tests of a file system compute, this is a large part.
pub fn pattern(seed: u64, at: u64, bytes: usize) -> Vec<u8> {
    let mut data = Vec::with_capacity(bytes + 2 * WORD_BYTES as usize);
    for number in at / WORD_BYTES..(at + bytes as u64).div_ceil(WORD_BYTES) {
        let word = mix(((seed << 40) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut word_bytes = word.to_le_bytes();
        if has_zero_byte(word) || has_zero_byte(!word) {
            word_bytes.iter_mut().filter(|byte| matches!(**byte, 0 | 0xFF)).for_each(|byte| *byte = 0x5A);
        }
        data.extend_from_slice(&word_bytes);
    }
    data.drain(..(at % WORD_BYTES) as usize);
    data.truncate(bytes);
    data
}

const WORD_BYTES: u64 = 8;

/// The test of eight bytes at once (Warren, Hacker's Delight, 6-1).
fn has_zero_byte(word: u64) -> bool {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_the_pattern_is_the_pattern_of_the_piece() {
        let whole = pattern(7, 0, 1000);
        assert_eq!(pattern(7, 333, 100), whole[333..433]);
        assert_ne!(pattern(8, 0, 1000), whole);
        assert!(whole.iter().all(|&byte| byte != 0 && byte != 0xFF));
        assert!(pattern(7, 333, 0).is_empty() && pattern(7, 8, 0).is_empty());
    }

    /// Cuts, sequences and kept hashes stand on these bytes.
    #[test]
    fn each_byte_is_the_one_of_its_offset() {
        let byte_at = |offset: u64| {
            let word = mix(((9 << 40) ^ (offset / 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            match (word >> (offset % 8 * 8)) as u8 {
                0 | 0xFF => 0x5A,
                byte => byte,
            }
        };
        for at in 0..20 {
            assert_eq!(pattern(9, at, 4_000), (at..at + 4_000).map(byte_at).collect::<Vec<u8>>(), "from byte {at}");
        }
    }
}
