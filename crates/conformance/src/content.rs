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
pub fn pattern(seed: u64, at: u64, bytes: usize) -> Vec<u8> {
    (at..at + bytes as u64)
        .map(|offset| {
            let word = mix(((seed << 40) ^ (offset / 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let byte = (word >> (offset % 8 * 8)) as u8;
            if byte == 0 || byte == 0xFF {
                0x5A
            } else {
                byte
            }
        })
        .collect()
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
    }
}
