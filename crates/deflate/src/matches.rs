//! The search for strings that have come before: chains of equal hashes, the newest first (`deflate_fast`, level 3).

use crate::block::Block;

pub const MATCH_BYTES_MIN: usize = 3;
pub const MATCH_BYTES_MAX: usize = 258;
/// The settings of level 3: longer matches leave most of their strings out of the hash, a match as long as this is
/// searched no further, and so many candidates are looked at.
const INSERTED_BYTES_MAX: usize = 6;
const NICE_BYTES: usize = 32;
const CANDIDATES_MAX: usize = 32;
const HASH_BITS: u32 = 15;
const HASH_SHIFT: u32 = HASH_BITS.div_ceil(MATCH_BYTES_MIN as u32);

/// The data of a stream, and at which places strings of three bytes are.
pub struct Window {
    bytes: Box<[u8]>,
    /// The newest place of each hash; 0 is none, so the first string is never found.
    newest: Box<[u16; 1 << HASH_BITS]>,
    /// The place before, of the same hash, for each place.
    before: Box<[u16]>,
    at: usize,
    end: usize,
    block_begin: usize,
}

impl Default for Window {
    fn default() -> Self {
        // A match at the end of the data is compared with what lies beyond, and then cut.
        let places = crate::INPUT_BYTES_MAX + MATCH_BYTES_MAX + MATCH_BYTES_MIN;
        Window {
            bytes: vec![0; places].into(),
            newest: Box::new([0; 1 << HASH_BITS]),
            before: vec![0; places].into(),
            at: 0,
            end: 0,
            block_begin: 0,
        }
    }
}

impl Window {
    pub fn reset(&mut self) {
        self.newest.fill(0);
        (self.at, self.end, self.block_begin) = (0, 0, 0);
    }

    /// Appends `input` and gives all of it to the block, as literals and matches.
    pub fn take(&mut self, input: &[u8], block: &mut Block) {
        self.bytes[self.end..self.end + input.len()].copy_from_slice(input);
        self.end += input.len();
        while self.at < self.end {
            let ahead = self.end - self.at;
            // The last two strings of a piece are not put into the hash.
            let candidate = if ahead >= MATCH_BYTES_MIN { self.insert(self.at) } else { 0 };
            let found = if candidate == 0 { None } else { self.longest(candidate) };
            let Some((length, distance)) = found else {
                block.literal(self.bytes[self.at]);
                self.at += 1;
                continue;
            };
            block.copy(length, distance);
            if length <= INSERTED_BYTES_MAX && ahead - length >= MATCH_BYTES_MIN {
                for place in self.at + 1..self.at + length {
                    self.insert(place);
                }
            }
            self.at += length;
        }
    }

    /// The data since this was last asked.
    pub fn since_last_block(&mut self) -> &[u8] {
        let begin = std::mem::replace(&mut self.block_begin, self.at);
        &self.bytes[begin..self.at]
    }

    /// Puts the string at a place into the hash: the place where one of the same hash was last, or 0.
    fn insert(&mut self, place: usize) -> usize {
        let three = &self.bytes[place..place + MATCH_BYTES_MIN];
        let hash = three.iter().fold(0, |hash, &byte| hash << HASH_SHIFT ^ usize::from(byte)) & ((1 << HASH_BITS) - 1);
        let before = std::mem::replace(&mut self.newest[hash], place as u16);
        self.before[place] = before;
        usize::from(before)
    }

    /// The longest match of the string here among the candidates: length and distance. Of equally long ones the nearest.
    fn longest(&self, mut candidate: usize) -> Option<(usize, usize)> {
        let here = &self.bytes[self.at..self.at + MATCH_BYTES_MAX];
        let ahead = self.end - self.at;
        let nice_bytes = NICE_BYTES.min(ahead);
        let mut best = (MATCH_BYTES_MIN - 1, 0);
        for _ in 0..CANDIDATES_MAX {
            let there = &self.bytes[candidate..candidate + MATCH_BYTES_MAX];
            if there[best.0] == here[best.0] && there[best.0 - 1] == here[best.0 - 1] {
                let length = here.iter().zip(there).take_while(|(a, b)| a == b).count();
                if length > best.0 {
                    best = (length, self.at - candidate);
                    if length >= nice_bytes {
                        break;
                    }
                }
            }
            candidate = usize::from(self.before[candidate]);
            if candidate == 0 {
                break;
            }
        }
        let length = best.0.min(ahead);
        (length >= MATCH_BYTES_MIN).then_some((length, best.1))
    }
}
