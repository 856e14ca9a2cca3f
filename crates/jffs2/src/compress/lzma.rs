//! LZMA as OpenWrt's kernels write it (`target/linux/generic/pending-*/*-jffs2-lzma*.patch`): a raw stream with lc 0, lp 0, pb 0
//! and a dictionary of 8 KiB, without a header. Only expanded here: nothing that is simulated writes it.
//!
//! The format is that of `DOC/lzma-specification.txt` of the LZMA SDK, which is in the public domain.

const PROBABILITY_BITS: u32 = 11;
const MOVE_BITS: u32 = 5;
const TOP: u32 = 1 << 24;
const STATES: usize = 12;
const LENGTH_MIN: usize = 2;
const ALIGN_BITS: u32 = 4;
const FULL_DISTANCES: usize = 128;
const SLOT_OF_MODELS_END: u32 = 14;
const NO_DISTANCE: u32 = u32::MAX;

type Probability = u16;
const EVEN: Probability = 1 << (PROBABILITY_BITS - 1);

/// The arithmetic decoder. Behind the end of the input it reads zeros, which make no right data.
struct Range<'a> {
    range: u32,
    code: u32,
    rest: std::slice::Iter<'a, u8>,
    is_short: bool,
}

impl Range<'_> {
    fn next(&mut self) -> u32 {
        let byte = self.rest.next().copied();
        self.is_short |= byte.is_none();
        byte.unwrap_or(0).into()
    }

    fn normalise(&mut self) {
        if self.range < TOP {
            self.range <<= 8;
            self.code = self.code << 8 | self.next();
        }
    }

    fn bit(&mut self, probability: &mut Probability) -> u32 {
        let bound = (self.range >> PROBABILITY_BITS) * u32::from(*probability);
        let bit = u32::from(self.code >= bound);
        if bit == 0 {
            self.range = bound;
            *probability += ((1 << PROBABILITY_BITS) - *probability) >> MOVE_BITS;
        } else {
            (self.range, self.code) = (self.range - bound, self.code - bound);
            *probability -= *probability >> MOVE_BITS;
        }
        self.normalise();
        bit
    }

    /// Bits whose chances are even.
    fn direct(&mut self, bits: u32) -> u32 {
        let mut value = 0;
        for _ in 0..bits {
            self.range >>= 1;
            let bit = u32::from(self.code >= self.range);
            self.code -= self.range * bit;
            value = value << 1 | bit;
            self.normalise();
        }
        value
    }

    fn tree(&mut self, probabilities: &mut [Probability], bits: u32) -> u32 {
        let mut at = 1;
        for _ in 0..bits {
            at = at << 1 | self.bit(&mut probabilities[at as usize]);
        }
        at - (1 << bits)
    }

    /// As [`Range::tree`], the lowest bit first.
    fn reverse_tree(&mut self, probabilities: &mut [Probability], bits: u32) -> u32 {
        let (mut at, mut value) = (1, 0);
        for k in 0..bits {
            let bit = self.bit(&mut probabilities[at as usize]);
            at = at << 1 | bit;
            value |= bit << k;
        }
        value
    }
}

/// With pb 0 there is one position state.
struct Lengths {
    choices: [Probability; 2],
    low: [Probability; 8],
    middle: [Probability; 8],
    high: [Probability; 256],
}

impl Lengths {
    fn new() -> Lengths {
        Lengths { choices: [EVEN; 2], low: [EVEN; 8], middle: [EVEN; 8], high: [EVEN; 256] }
    }

    fn read(&mut self, from: &mut Range<'_>) -> usize {
        let length = if from.bit(&mut self.choices[0]) == 0 {
            from.tree(&mut self.low, 3)
        } else if from.bit(&mut self.choices[1]) == 0 {
            8 + from.tree(&mut self.middle, 3)
        } else {
            16 + from.tree(&mut self.high, 8)
        };
        length as usize + LENGTH_MIN
    }
}

struct Model {
    literals: [Probability; 0x300],
    is_match: [Probability; STATES],
    is_repeat: [Probability; STATES],
    is_repeat_0: [Probability; STATES],
    is_repeat_1: [Probability; STATES],
    is_repeat_2: [Probability; STATES],
    is_long: [Probability; STATES],
    lengths: Lengths,
    repeat_lengths: Lengths,
    slots: [[Probability; 64]; 4],
    distances: [Probability; FULL_DISTANCES],
    align: [Probability; 1 << ALIGN_BITS],
}

impl Model {
    fn new() -> Model {
        let even = [EVEN; STATES];
        Model {
            literals: [EVEN; 0x300],
            is_match: even,
            is_repeat: even,
            is_repeat_0: even,
            is_repeat_1: even,
            is_repeat_2: even,
            is_long: even,
            lengths: Lengths::new(),
            repeat_lengths: Lengths::new(),
            slots: [[EVEN; 64]; 4],
            distances: [EVEN; FULL_DISTANCES],
            align: [EVEN; 1 << ALIGN_BITS],
        }
    }

    /// `matched`: the byte at the last distance, if a match came before.
    fn literal(&mut self, from: &mut Range<'_>, matched: Option<u8>) -> u8 {
        let mut symbol = 1_usize;
        if let Some(matched) = matched {
            for k in (0..8).rev() {
                let expected = usize::from(matched >> k & 1);
                let bit = from.bit(&mut self.literals[((1 + expected) << 8) + symbol]) as usize;
                symbol = symbol << 1 | bit;
                if bit != expected {
                    break;
                }
            }
        }
        while symbol < 0x100 {
            symbol = symbol << 1 | from.bit(&mut self.literals[symbol]) as usize;
        }
        symbol as u8
    }

    fn distance(&mut self, from: &mut Range<'_>, length: usize) -> u32 {
        let slot = from.tree(&mut self.slots[(length - LENGTH_MIN).min(3)], 6);
        if slot < 4 {
            return slot;
        }
        let bits = (slot >> 1) - 1;
        let base = (2 | slot & 1) << bits;
        if slot < SLOT_OF_MODELS_END {
            let at = (base - slot) as usize;
            return base + from.reverse_tree(&mut self.distances[at..], bits);
        }
        let high = from.direct(bits - ALIGN_BITS) << ALIGN_BITS;
        base.wrapping_add(high).wrapping_add(from.reverse_tree(&mut self.align, ALIGN_BITS))
    }
}

/// Fills `plain` from a stream. False: it is none, or too short.
pub fn decompress(stored: &[u8], plain: &mut [u8]) -> bool {
    let Some((0, rest)) = stored.split_first() else { return false };
    let mut from = Range { range: u32::MAX, code: 0, rest: rest.iter(), is_short: false };
    for _ in 0..4 {
        from.code = from.code << 8 | from.next();
    }
    let mut model = Model::new();
    let (mut state, mut repeats, mut at) = (0_usize, [0_u32; 4], 0_usize);
    while at < plain.len() {
        // Reading on would bring nothing, and is no end.
        if from.is_short {
            return false;
        }
        if from.bit(&mut model.is_match[state]) == 0 {
            let back = at.checked_sub(repeats[0] as usize + 1);
            let matched = if state >= 7 { back.map(|back| plain[back]) } else { None };
            plain[at] = model.literal(&mut from, matched);
            at += 1;
            state = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 4, 5][state];
            continue;
        }
        let is_after_literal = state < 7;
        let length = if from.bit(&mut model.is_repeat[state]) == 0 {
            let length = model.lengths.read(&mut from);
            let distance = model.distance(&mut from, length);
            if distance == NO_DISTANCE {
                return false;
            }
            repeats = [distance, repeats[0], repeats[1], repeats[2]];
            state = if is_after_literal { 7 } else { 10 };
            length
        } else {
            if from.bit(&mut model.is_repeat_0[state]) == 0 {
                if from.bit(&mut model.is_long[state]) == 0 {
                    state = if is_after_literal { 9 } else { 11 };
                    let Some(back) = at.checked_sub(repeats[0] as usize + 1) else { return false };
                    plain[at] = plain[back];
                    at += 1;
                    continue;
                }
            } else {
                let which = match from.bit(&mut model.is_repeat_1[state]) {
                    0 => 1,
                    _ => 2 + from.bit(&mut model.is_repeat_2[state]) as usize,
                };
                repeats[..=which].rotate_right(1);
            }
            state = if is_after_literal { 8 } else { 11 };
            model.repeat_lengths.read(&mut from)
        };
        let Some(back) = at.checked_sub(repeats[0] as usize + 1) else { return false };
        for k in 0..length.min(plain.len() - at) {
            plain[at + k] = plain[back + k];
        }
        at += length.min(plain.len() - at);
    }
    !from.is_short
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What liblzma made of the text.
    const STORED: &str = "00309cb869dba1af4abf4e6324eb2b17d9f3224ef49f78eabc112578d6920d14c54cd0f0b80e54ff230a18991ddb9ebe4451a64aaaaba96bca0580\
                          455dade8db9128adb989fff6215c00";

    #[test]
    fn what_another_encoder_wrote_is_expanded_and_what_is_cut_off_is_not() {
        let digits = STORED.as_bytes().chunks(2);
        let stored: Vec<u8> =
            digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect();
        let text = "all work and no play makes jack a dull boy. ".repeat(3) + "abcabcabd, and 0123456789 so on";
        let mut plain = vec![0; text.len()];
        assert!(decompress(&stored, &mut plain));
        assert_eq!(plain, text.as_bytes());
        for bytes in 0..stored.len() - 12 {
            assert!(!decompress(&stored[..bytes], &mut plain), "{bytes} B of it");
        }
    }

    #[test]
    fn noise_ends() {
        let mut plain = vec![0; 4096];
        for seed in 0..200_u32 {
            let noise: Vec<u8> =
                (0..300_u32).map(|at| ((at + seed * 977).wrapping_mul(2_654_435_761) >> 23) as u8).collect();
            decompress(&[&[0], &noise[..]].concat(), &mut plain);
        }
    }
}
