//! The compressor that stands in for LZO 2.02: the longest match of all earlier bytes.
//!
//! It makes the streams of `lzokay` 2 (its `compress`), byte for byte, for inputs that one window holds; so figures of kernels
//! before 3.9 are those that they were with that crate. It takes
//! an eighth of its time, because tables are kept from input to input and eight bytes are compared at a time.

use crate::compress::{
    Stream, FAR_LENGTH_MAX, MIDDLE_DISTANCE_MAX, MIDDLE_LENGTH_MAX, NEAR_DISTANCE_MAX, NEAR_LENGTH_MAX,
};
use crate::INPUT_BYTES_MAX;

/// No match is longer.
const LENGTH_MAX: usize = 0x800;
/// So many earlier places with the same hash are looked at.
const CANDIDATES_MAX: usize = 0x800;
/// Three bytes are hashed.
const HASH_BITS: u32 = 14;
/// What the bytes within a match have for the longest match that began at them: none is taken for longer.
const UNSEARCHED: u16 = LENGTH_MAX as u16 + 1;
/// Zeros behind the input, which hashes and comparisons of eight bytes may reach.
const BEHIND: usize = 8;
/// Of matches of these lengths it is kept where the first was met: a nearer one may be cheaper although it is shorter.
const KEPT_LENGTHS: usize = 34;

/// The farthest match of two bytes.
const TWO_BYTES_DISTANCE_MAX: usize = 0x400;
/// Behind so many literals an instruction of two bytes means something else.
const MANY_LITERALS: usize = 4;

/// Tables of the search. A place is a position in an input, counted on from input to input: what is less than `base` is of an
/// earlier input, and nothing needs to be cleared until the numbers end.
pub(crate) struct Search {
    base: usize,
    /// The input and zeros.
    bytes: Vec<u8>,
    /// Latest place of each two bytes, and of each hash of three.
    pairs: Box<[u16]>,
    triples: Box<[u16]>,
    /// By position: the place before it with the same hash, and how long the longest match from it was.
    earlier: Vec<u16>,
    longest: Vec<u16>,
}

/// The longest match from a position, and where matches of other lengths were met first: position and one, 0: nowhere.
struct Match {
    length: usize,
    distance: usize,
    first_of_length: [u16; KEPT_LENGTHS],
}

impl Default for Search {
    fn default() -> Search {
        Search {
            base: 1,
            bytes: Vec::new(),
            pairs: vec![0; 1 << 16].into(),
            triples: vec![0; 1 << HASH_BITS].into(),
            earlier: Vec::new(),
            longest: Vec::new(),
        }
    }
}

impl Search {
    /// Compresses `plain` at the end of `out`.
    pub fn compress(&mut self, plain: &[u8], out: &mut Vec<u8>) {
        assert!(plain.len() <= INPUT_BYTES_MAX, "{} B: no page is that long", plain.len());
        self.begin(plain);
        let mut stream = Stream::new(out);
        let (mut at, mut literals) = (0, 0);
        while at < plain.len() {
            let found = self.look(at, plain.len());
            at += 1;
            if !is_taken(&found, literals, stream.is_empty()) {
                literals += 1;
                continue;
            }
            let (length, distance) = cheaper(&found, at - 1);
            let from = at - 1 - literals;
            stream.first_literals(&plain[from..from + literals]);
            copy(&mut stream, length, distance, literals);
            for within in at..at + length - 1 {
                self.pass(within);
            }
            at += length - 1;
            literals = 0;
        }
        stream.first_literals(&plain[plain.len() - literals..]);
        stream.end();
        self.base += plain.len();
    }

    fn begin(&mut self, plain: &[u8]) {
        if self.base + plain.len() > usize::from(u16::MAX) {
            self.pairs.fill(0);
            self.triples.fill(0);
            self.base = 1;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(plain);
        self.bytes.resize(plain.len() + BEHIND, 0);
        if self.earlier.len() < plain.len() {
            self.earlier.resize(plain.len(), 0);
            self.longest.resize(plain.len(), 0);
        }
    }

    /// Enters a position; returns the latest places of the same two bytes and of the same hash.
    #[inline]
    fn enter(&mut self, at: usize) -> (u16, u16) {
        let four = u32::from_le_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"));
        let [first, second, third, _] = four.to_le_bytes().map(u32::from);
        let mixed = (first << 10) ^ (second << 5) ^ third;
        let hash = (mixed.wrapping_mul(0x9f5f) >> 5) & ((1 << HASH_BITS) - 1);
        let place = (self.base + at) as u16;
        let pair = std::mem::replace(&mut self.pairs[(four & 0xffff) as usize], place);
        let triple = std::mem::replace(&mut self.triples[hash as usize], place);
        self.earlier[at] = triple;
        (pair, triple)
    }

    /// Enters a position within a match.
    #[inline]
    fn pass(&mut self, at: usize) {
        self.enter(at);
        self.longest[at] = UNSEARCHED;
    }

    /// Enters a position and looks for matches from it.
    #[inline]
    fn look(&mut self, at: usize, bytes: usize) -> Match {
        let (pair, triple) = self.enter(at);
        let mut found = Match { length: 1, distance: 0, first_of_length: [0; KEPT_LENGTHS] };
        let window = LENGTH_MAX.min(bytes - at);
        if window <= 1 {
            self.longest[at] = UNSEARCHED;
            return found;
        }
        if usize::from(pair) >= self.base {
            let position = usize::from(pair) - self.base;
            found.first_of_length[2] = position as u16 + 1;
            (found.length, found.distance) = (2, at - position);
            if window > 2 {
                self.longer(at, window, triple, &mut found);
            }
        }
        self.longest[at] = found.length as u16;
        found
    }

    fn longer(&self, at: usize, window: usize, latest: u16, found: &mut Match) {
        let mut place = usize::from(latest);
        for _ in 0..CANDIDATES_MAX {
            if place < self.base {
                return;
            }
            let position = place - self.base;
            let length = self.equal_bytes(at, position, window);
            if (3..KEPT_LENGTHS).contains(&length) && found.first_of_length[length] == 0 {
                found.first_of_length[length] = position as u16 + 1;
            }
            if length > found.length {
                (found.length, found.distance) = (length, at - position);
                if length == window || length > usize::from(self.longest[position]) {
                    return;
                }
            }
            place = usize::from(self.earlier[position]);
        }
    }

    /// How many bytes are equal, at most `window`.
    #[inline]
    fn equal_bytes(&self, at: usize, position: usize, window: usize) -> usize {
        let eight = |from: usize| u64::from_le_bytes(self.bytes[from..from + 8].try_into().expect("eight bytes"));
        let mut length = 0;
        while length < window {
            let differ = eight(at + length) ^ eight(position + length);
            if differ != 0 {
                return window.min(length + (differ.trailing_zeros() / u8::BITS) as usize);
            }
            length += 8;
        }
        window
    }
}

/// Whether a match is worth its instruction. The first byte is always a literal.
fn is_taken(found: &Match, literals: usize, is_first: bool) -> bool {
    let many = literals >= MANY_LITERALS;
    match found.length {
        0 | 1 => false,
        _ if is_first && literals == 0 => false,
        2 => found.distance <= TWO_BYTES_DISTANCE_MAX && literals > 0 && !many && !is_first,
        3 => found.distance <= TWO_BYTES_DISTANCE_MAX + NEAR_DISTANCE_MAX || !many,
        _ => true,
    }
}

/// Length and distance of the match that is taken: a shorter one that is near enough for a shorter instruction, if there is one.
fn cheaper(found: &Match, at: usize) -> (usize, usize) {
    let (length, distance) = (found.length, found.distance);
    let of = |length: usize| match found.first_of_length[length] {
        0 => 0,
        position => at - (usize::from(position) - 1),
    };
    let is_within = |distance: usize, max: usize| distance != 0 && distance <= max;
    if length <= 3 || distance <= NEAR_DISTANCE_MAX || length > MIDDLE_LENGTH_MAX + 1 {
        return (length, distance);
    }
    if length <= NEAR_LENGTH_MAX + 1 && is_within(of(length - 1), NEAR_DISTANCE_MAX) {
        return (length - 1, of(length - 1));
    }
    if distance <= MIDDLE_DISTANCE_MAX || length <= FAR_LENGTH_MAX {
        return (length, distance);
    }
    // The lengths that these two compare are those of `lzokay`.
    if length <= NEAR_LENGTH_MAX + 2 && of(length - 2) != 0 && of(length) <= NEAR_DISTANCE_MAX {
        return (length - 2, of(length - 2));
    }
    if of(length - 1) != 0 && of(length - 2) <= MIDDLE_DISTANCE_MAX {
        return (length - 1, of(length - 1));
    }
    (length, distance)
}

/// The instruction of a match behind so many literals.
fn copy(stream: &mut Stream<'_>, length: usize, distance: usize, literals: usize) {
    if length == 2 {
        stream.two_bytes(distance - 1);
    } else if length == 3
        && distance > NEAR_DISTANCE_MAX
        && distance <= TWO_BYTES_DISTANCE_MAX + NEAR_DISTANCE_MAX
        && literals >= MANY_LITERALS
    {
        stream.two_bytes(distance - 1 - NEAR_DISTANCE_MAX);
    } else {
        stream.copy(length, distance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::tests::inputs;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn streams_are_those_of_lzokay(plains in prop::collection::vec(inputs(), 1..4), repeats in 1usize..30) {
            let mut search = Search::default();
            for plain in plains {
                // Long inputs reach the distances and lengths of all instructions.
                let mut plain = plain.repeat(repeats);
                plain.truncate(INPUT_BYTES_MAX);
                let mut out = b"before".to_vec();
                search.compress(&plain, &mut out);
                prop_assert_eq!(&out[6..], lzokay::compress::compress(&plain).expect("memory alone limits it"));
            }
        }
    }
}
