//! The compressor: a greedy search with one candidate for each hash of four bytes.

/// The longest input: how far back a match can reach, and one byte.
pub const INPUT_BYTES_MAX: usize = 0xc000;

/// At the end of the input so many bytes are never searched for matches: shorter inputs are copied.
pub const UNSEARCHED_BYTES: usize = 20;
/// So many bytes are hashed, and equal in a match at least.
const HASHED_BYTES: usize = 4;
/// The first bytes are always literals: the search begins with the one step that follows a literal.
const FIRST_SEARCHED: usize = 5;
const HASH_BITS: u32 = 13;
const HASH_FACTOR: u32 = 0x1824_429d;
/// After 32 literals in a row the search skips one byte more at each step, after 64 two, and so on.
const SKIP_SHIFT: u32 = 5;
/// Matches grow by so many bytes before it is asked whether the search has ended: a last stride is taken whole.
const STRIDE_BYTES: usize = 8;

/// The longest match and the farthest one of an instruction with one byte of distance.
pub(crate) const NEAR_LENGTH_MAX: usize = 8;
pub(crate) const NEAR_DISTANCE_MAX: usize = 0x800;
/// The same of the two instructions with two bytes of distance. Longer matches have their length in bytes of their own.
pub(crate) const MIDDLE_LENGTH_MAX: usize = 33;
pub(crate) const MIDDLE_DISTANCE_MAX: usize = 0x4000;
pub(crate) const FAR_LENGTH_MAX: usize = 9;
const MIDDLE_MARK: u8 = 0x20;
const FAR_MARK: u8 = 0x10;

/// So many literals stand in the last bits of the instruction before them.
const LITERALS_IN_INSTRUCTION_MAX: usize = 3;
/// So many have an instruction of one byte.
const LITERALS_IN_BYTE_MAX: usize = 18;
/// So many may stand first in a stream, where their count has a code of its own.
const LITERALS_FIRST_MAX: usize = 238;

/// Compresses `plain` at the end of `out`.
pub fn compress(plain: &[u8], out: &mut Vec<u8>) {
    assert!(plain.len() <= INPUT_BYTES_MAX, "{} B: the kernel cuts longer inputs into pieces", plain.len());
    let mut stream = Stream::new(out);
    let mut literals_from = 0;
    if plain.len() > UNSEARCHED_BYTES {
        let search_end = plain.len() - UNSEARCHED_BYTES;
        let mut latest = [0u16; 1 << HASH_BITS];
        let mut at = FIRST_SEARCHED;
        while at < search_end {
            let four = four_bytes(plain, at);
            let hash = (four.wrapping_mul(HASH_FACTOR) >> (32 - HASH_BITS)) as usize;
            let candidate = usize::from(latest[hash]);
            latest[hash] = at as u16;
            if four != four_bytes(plain, candidate) {
                at += 1 + ((at - literals_from) >> SKIP_SHIFT);
                continue;
            }
            stream.literals(&plain[literals_from..at]);
            let length = match_length(plain, at, candidate, search_end);
            stream.copy(length, at - candidate);
            at += length;
            literals_from = at;
        }
    }
    stream.last_literals(&plain[literals_from..]);
    stream.end();
}

fn four_bytes(plain: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(plain[at..at + HASHED_BYTES].try_into().expect("four bytes"))
}

/// How many bytes from `at` on equal those from `candidate` on, of which the hashed ones do. A match that reaches
/// `search_end` ends with the stride in which it does.
///
/// The kernel compares 8, 4 or 1 byte at a time, as the processor allows, and stops at the same byte each time.
fn match_length(plain: &[u8], at: usize, candidate: usize, search_end: usize) -> usize {
    let mut length = HASHED_BYTES;
    loop {
        let differ = stride(plain, at + length) ^ stride(plain, candidate + length);
        if differ != 0 {
            return length + (differ.trailing_zeros() / u8::BITS) as usize;
        }
        length += STRIDE_BYTES;
        if at + length >= search_end {
            return length;
        }
    }
}

fn stride(plain: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(plain[at..at + STRIDE_BYTES].try_into().expect("eight bytes"))
}

/// The stream as it grows behind what `out` held before.
pub(crate) struct Stream<'a> {
    begin: usize,
    out: &'a mut Vec<u8>,
}

impl<'a> Stream<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> Stream<'a> {
        Stream { begin: out.len(), out }
    }

    pub fn is_empty(&self) -> bool {
        self.out.len() == self.begin
    }

    /// Literals between two matches.
    fn literals(&mut self, literals: &[u8]) {
        if literals.is_empty() {
            return;
        }
        if literals.len() <= LITERALS_IN_INSTRUCTION_MAX {
            // The last but one byte is the one of the instruction before that has room for the count.
            let instruction = self.out.len() - 2;
            self.out[instruction] |= literals.len() as u8;
        } else if literals.len() <= LITERALS_IN_BYTE_MAX {
            self.out.push(literals.len() as u8 - 3);
        } else {
            self.out.push(0);
            self.rest_of_length(literals.len() - LITERALS_IN_BYTE_MAX);
        }
        self.out.extend_from_slice(literals);
    }

    /// Literals behind the last match; where there was none, all of the input.
    fn last_literals(&mut self, literals: &[u8]) {
        if literals.is_empty() {
            return;
        }
        self.first_literals(literals);
    }

    /// Literals, which may stand first in the stream.
    pub fn first_literals(&mut self, literals: &[u8]) {
        if self.is_empty() && literals.len() <= LITERALS_FIRST_MAX {
            self.out.push(17 + literals.len() as u8);
            self.out.extend_from_slice(literals);
        } else {
            self.literals(literals);
        }
    }

    /// A copy of two or three bytes: what that means depends on the instruction before.
    pub fn two_bytes(&mut self, back: usize) {
        self.out.extend([((back & 3) << 2) as u8, (back >> 2) as u8]);
    }

    /// A copy of `length` bytes that stand `distance` bytes before.
    pub fn copy(&mut self, length: usize, distance: usize) {
        if length <= NEAR_LENGTH_MAX && distance <= NEAR_DISTANCE_MAX {
            let back = distance - 1;
            self.out.push(((length - 1) << 5 | (back & 7) << 2) as u8);
            self.out.push((back >> 3) as u8);
        } else if distance <= MIDDLE_DISTANCE_MAX {
            self.long_copy(MIDDLE_MARK, length, MIDDLE_LENGTH_MAX, distance - 1);
        } else {
            let back = distance - MIDDLE_DISTANCE_MAX;
            // The highest bit of the distance stands in the instruction.
            self.long_copy(
                FAR_MARK | ((back >> 11) & 8) as u8,
                length,
                FAR_LENGTH_MAX,
                back & (MIDDLE_DISTANCE_MAX - 1),
            );
        }
    }

    fn long_copy(&mut self, mark: u8, length: usize, length_max: usize, back: usize) {
        if length <= length_max {
            self.out.push(mark | (length - 2) as u8);
        } else {
            self.out.push(mark);
            self.rest_of_length(length - length_max);
        }
        self.out.extend([(back << 2) as u8, (back >> 6) as u8]);
    }

    /// What of a length did not fit into an instruction: a zero for each whole 255, and the rest, which is no zero.
    fn rest_of_length(&mut self, rest: usize) {
        let zeros = (rest - 1) / 255;
        self.out.resize(self.out.len() + zeros, 0);
        self.out.push((rest - zeros * 255) as u8);
    }

    /// A copy from distance 0 of the far instruction ends the stream.
    pub fn end(&mut self) {
        self.out.extend([FAR_MARK | 1, 0, 0]);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::decompress;
    use proptest::prelude::*;

    fn compressed(plain: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        compress(plain, &mut out);
        out
    }

    #[test]
    fn a_page_of_zeros_is_what_the_kernel_makes_of_it() {
        // Five literals, one match whose length goes on for sixteen bytes, fifteen literals, the end.
        let stream = compressed(&[0; 4096]);
        assert_eq!(stream.len(), 44, "the kernel's size");
        assert_eq!(stream[..6], [2, 0, 0, 0, 0, 0]);
        assert_eq!(stream[6], MIDDLE_MARK);
        assert_eq!(stream[stream.len() - 3..], [FAR_MARK | 1, 0, 0]);
    }

    #[test]
    fn short_inputs_are_literals() {
        assert_eq!(compressed(b""), [17, 0, 0]);
        assert_eq!(compressed(b"ab"), [19, b'a', b'b', 17, 0, 0]);
        assert_eq!(compressed(&[7; 20]).len(), 24);
    }

    #[test]
    fn a_match_takes_its_last_stride_whole() {
        // The search ends at byte 76. The match from 5 on has strides from 65 and 73: the last ends at 81.
        let literals_behind = |plain: &[u8]| {
            let stream = compressed(plain);
            plain.len() - 5 - (usize::from(stream[7]) + MIDDLE_LENGTH_MAX)
        };
        assert_eq!(literals_behind(&[1; 96]), 96 - 81);
        let mut plain = [1; 96];
        plain[78] = 2;
        assert_eq!(literals_behind(&plain), 96 - 78, "a difference within the stride ends it");
    }

    pub fn inputs() -> impl Strategy<Value = Vec<u8>> {
        let noise = prop::collection::vec(any::<u8>(), 0..300);
        let runs = prop::collection::vec((any::<u8>(), 1usize..400), 0..40)
            .prop_map(|runs| runs.into_iter().flat_map(|(byte, length)| vec![byte; length]).collect());
        let words = prop::collection::vec((0usize..5000, 0u8..4), 0..2000).prop_map(|words| {
            words.iter().flat_map(|(word, kind)| format!("{word:x}{kind} ").into_bytes()).collect::<Vec<u8>>()
        });
        prop_oneof![noise, runs, words]
    }

    proptest! {
        #[test]
        fn what_is_compressed_comes_back(plain in inputs()) {
            let stream = compressed(&plain);
            let mut back = vec![0; plain.len()];
            prop_assert_eq!(decompress(&stream, &mut back), Some(plain.len()));
            prop_assert_eq!(&back, &plain);
            prop_assert!(stream.len() <= plain.len() + plain.len() / 16 + 67);
        }
    }
}
