//! A block: its literals and matches, and in which of three ways it is the shortest (`_tr_flush_block`; RFC 1951, 3.2.3
//! to 3.2.7).

use crate::bits::{Bits, BLOCK_HEAD_BITS, FIXED_BLOCK};
use crate::huffman::{least_bits, Codes, Lengths, CODE_BITS_MAX, SYMBOLS_MAX};
use crate::matches::{MATCH_BYTES_MAX, MATCH_BYTES_MIN};
use std::sync::LazyLock;

const END: usize = 256;
const LITERALS_AND_LENGTHS: usize = 286;
const DISTANCES: usize = 30;
/// The alphabet in which code lengths are written: the lengths, the last one again, short and long runs of none.
const LENGTH_SYMBOLS: usize = 19;
const AGAIN: usize = 16;
const NONE_SHORT: usize = 17;
const NONE_LONG: usize = 18;
const LENGTH_CODE_BITS_MAX: usize = 7;
/// In this order their own lengths are written; what comes last is mostly 0 and left out.
const LENGTH_ORDER: [usize; LENGTH_SYMBOLS] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// Numbers of codes: literals and lengths (5 bits), distances (5), code lengths (4).
const COUNTS_BITS: u32 = 14;
/// So many of the code lengths' own lengths are written, of three bits each, whichever occur.
const WRITTEN_COUNT_MIN: u32 = 4;

const STORED_BLOCK: u16 = 0;
const DYNAMIC_BLOCK: u16 = 2 << 1;
/// Length, twice, of a block that is stored as it is.
const STORED_LENGTH_BYTES: usize = 4;

/// The smallest match of each length code, and the smallest distance of each distance code.
static LENGTH_BASES: [u16; 29] =
    [3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258];
static DISTANCE_BASES: [u16; DISTANCES] = [
    1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145,
    8193, 12289, 16385, 24577,
];

/// Bits behind the code of a symbol: of a length, to tell which one it is.
static EXTRA_BITS: [u8; LITERALS_AND_LENGTHS] = {
    let mut extra = [0; LITERALS_AND_LENGTHS];
    let mut code = 8;
    while code < 28 {
        extra[END + 1 + code] = code as u8 / 4 - 1;
        code += 1;
    }
    extra
};

/// The same of distances.
static DISTANCE_EXTRA_BITS: [u8; DISTANCES] = {
    let mut extra = [0; DISTANCES];
    let mut code = 4;
    while code < DISTANCES {
        extra[code] = code as u8 / 2 - 1;
        code += 1;
    }
    extra
};

/// Bits behind a symbol of the code lengths.
fn extra_of_run(symbol: usize) -> u32 {
    match symbol {
        AGAIN => 2,
        NONE_SHORT => 3,
        NONE_LONG => 7,
        _ => 0,
    }
}

/// The last code whose base is not larger, of each value less one in so large units.
const fn codes_of<const VALUES: usize>(bases: &[u16], unit: usize) -> [u8; VALUES] {
    let (mut codes, mut value, mut code) = ([0; VALUES], 0, 0);
    while value < VALUES {
        while code + 1 < bases.len() && bases[code + 1] as usize - 1 <= value * unit {
            code += 1;
        }
        codes[value] = code as u8;
        value += 1;
    }
    codes
}

const NEAR: usize = 256;
/// Codes of distances that are not near begin at multiples of this, and one.
const FAR_UNIT: usize = 128;
static LENGTH_CODES: [u8; MATCH_BYTES_MAX] = codes_of(&LENGTH_BASES, 1);
static NEAR_CODES: [u8; NEAR] = codes_of(&DISTANCE_BASES, 1);
static FAR_CODES: [u8; (1 << 15) / FAR_UNIT] = codes_of(&DISTANCE_BASES, FAR_UNIT);

fn length_code(length: u16) -> usize {
    usize::from(LENGTH_CODES[usize::from(length) - 1])
}

fn distance_code(distance: u16) -> usize {
    let before = usize::from(distance) - 1;
    usize::from(if before < NEAR { NEAR_CODES[before] } else { FAR_CODES[before / FAR_UNIT] })
}

/// The fixed codes of RFC 1951, 3.2.6.
static FIXED: LazyLock<(Codes, Codes)> = LazyLock::new(|| {
    let mut lengths = [8; SYMBOLS_MAX];
    lengths[144..256].fill(9);
    lengths[256..280].fill(7);
    let mut distances = [0; SYMBOLS_MAX];
    distances[..DISTANCES].fill(5);
    let codes = |of, last_symbol| Codes::of_lengths(Lengths { of, last_symbol });
    (codes(lengths, SYMBOLS_MAX - 1), codes(distances, DISTANCES - 1))
});

/// A literal, whose distance is 0, or a match.
#[derive(Clone, Copy)]
struct Symbol {
    distance: u16,
    /// The byte, or the length.
    value: u16,
}

/// What goes into the next block.
pub struct Block {
    symbols: Vec<Symbol>,
    counts: [u32; LITERALS_AND_LENGTHS],
    distance_counts: [u32; DISTANCES],
}

impl Default for Block {
    fn default() -> Self {
        Block { symbols: Vec::new(), counts: [0; LITERALS_AND_LENGTHS], distance_counts: [0; DISTANCES] }
    }
}

impl Block {
    pub fn reset(&mut self) {
        self.symbols.clear();
        self.counts.fill(0);
        self.distance_counts.fill(0);
    }

    pub fn literal(&mut self, byte: u8) {
        self.counts[usize::from(byte)] += 1;
        self.symbols.push(Symbol { distance: 0, value: u16::from(byte) });
    }

    pub fn copy(&mut self, length: usize, distance: usize) {
        debug_assert!(length >= MATCH_BYTES_MIN && distance > 0, "no match: {length} B from {distance} B before");
        let symbol = Symbol { distance: distance as u16, value: length as u16 };
        self.counts[END + 1 + length_code(symbol.value)] += 1;
        self.distance_counts[distance_code(symbol.distance)] += 1;
        self.symbols.push(symbol);
    }

    /// Writes the block, which stands for `data`, and begins a new one.
    pub fn write(&mut self, data: &[u8], is_last: bool, bits: &mut Bits) {
        self.counts[END] = 1;
        let (fixed, fixed_distances) = &*FIXED;
        let whole_bytes = |bits: u32| ((bits + BLOCK_HEAD_BITS) as usize).div_ceil(8);
        let fixed_bytes = whole_bytes(self.bits_with(&fixed.lengths, &fixed_distances.lengths));
        let stored_bytes = data.len() + STORED_LENGTH_BYTES;
        // Most blocks of small nodes and of random data are not worth codes of their own, which a bound tells without making them.
        let may_be_shorter = fixed_bytes.min(stored_bytes) > whole_bytes(self.dynamic_bits_at_least());
        let codes = may_be_shorter.then(|| OwnCodes::of(self));
        let dynamic_bytes = codes
            .as_ref()
            .map_or(usize::MAX, |own| whole_bytes(self.bits_with(&own.lengths, &own.distances) + own.head.bits()));
        let last = u16::from(is_last);
        if stored_bytes <= fixed_bytes.min(dynamic_bytes) {
            bits.push(STORED_BLOCK + last, BLOCK_HEAD_BITS);
            let length = data.len() as u16;
            bits.bytes(&length.to_le_bytes());
            bits.bytes(&(!length).to_le_bytes());
            bits.bytes(data);
            // Whole bytes end it, which is as good as a code of eight bits.
            bits.block_ends_with(8);
        } else if let Some(own) = codes.filter(|_| dynamic_bytes < fixed_bytes) {
            bits.push(DYNAMIC_BLOCK + last, BLOCK_HEAD_BITS);
            own.head.write(&own.lengths, &own.distances, bits);
            self.write_symbols(&Codes::of_lengths(own.lengths), &Codes::of_lengths(own.distances), bits);
        } else {
            bits.push(FIXED_BLOCK + last, BLOCK_HEAD_BITS);
            self.write_symbols(fixed, fixed_distances, bits);
        }
        if is_last {
            bits.fill_byte();
        }
        self.reset();
    }

    /// Size of all symbols and of the end in such codes.
    fn bits_with(&self, lengths: &Lengths, distances: &Lengths) -> u32 {
        let of = |counts: &[u32], lengths: &Lengths, extra: &[u8]| -> u32 {
            let symbols = counts.iter().zip(&lengths.of).zip(extra);
            symbols.map(|((count, &length), &extra)| count * (u32::from(length) + u32::from(extra))).sum()
        };
        of(&self.counts, lengths, &EXTRA_BITS) + of(&self.distance_counts, distances, &DISTANCE_EXTRA_BITS)
    }

    /// No codes of the block's own make it shorter: none are shorter than Huffman's, which may be as long as they like here,
    /// and of the code lengths each run takes a bit at least.
    fn dynamic_bits_at_least(&self) -> u32 {
        let extra = |counts: &[u32], extra: &[u8]| -> u32 {
            counts.iter().zip(extra).map(|(count, &extra)| count * u32::from(extra)).sum()
        };
        let extra_bits = extra(&self.counts, &EXTRA_BITS) + extra(&self.distance_counts, &DISTANCE_EXTRA_BITS);
        let head_bits = COUNTS_BITS + 3 * WRITTEN_COUNT_MIN + length_runs_bits_at_least(&self.counts);
        head_bits + extra_bits + least_bits(&self.counts) + least_bits(&self.distance_counts)
    }

    fn write_symbols(&self, codes: &Codes, distances: &Codes, bits: &mut Bits) {
        for symbol in &self.symbols {
            if symbol.distance == 0 {
                codes.push(usize::from(symbol.value), bits);
                continue;
            }
            let code = length_code(symbol.value);
            codes.push(END + 1 + code, bits);
            bits.push(symbol.value - LENGTH_BASES[code], u32::from(EXTRA_BITS[END + 1 + code]));
            let code = distance_code(symbol.distance);
            distances.push(code, bits);
            bits.push(symbol.distance - DISTANCE_BASES[code], u32::from(DISTANCE_EXTRA_BITS[code]));
        }
        codes.push(END, bits);
        bits.block_ends_with(u32::from(codes.lengths.of[END]));
    }
}

/// Bits that the lengths of these symbols' codes take at least in the head, each symbol of a run being one bit or more.
fn length_runs_bits_at_least(counts: &[u32]) -> u32 {
    let of_run = |run: &[u32]| match (run[0], run.len() as u32) {
        // The first length stands for itself, the others for themselves or, up to six, in one repetition.
        (1.., length) => {
            let again_bits = 1 + extra_of_run(AGAIN);
            1 + (length - 1) / 6 * again_bits + ((length - 1) % 6).min(again_bits)
        }
        (0, length @ 0..3) => length,
        (0, 3..11) => 1 + extra_of_run(NONE_SHORT),
        (0, _) => 1 + extra_of_run(NONE_LONG),
    };
    // Behind the end of a block there are the lengths of matches, which may not occur.
    let last = counts.iter().rposition(|&count| count > 0).unwrap_or(0);
    counts[..=last].chunk_by(|a, b| (*a > 0) == (*b > 0)).map(of_run).sum()
}

/// Codes for the symbols of one block.
struct OwnCodes {
    lengths: Lengths,
    distances: Lengths,
    head: DynamicHead,
}

impl OwnCodes {
    fn of(block: &Block) -> OwnCodes {
        let lengths = Lengths::for_counts(&block.counts, CODE_BITS_MAX);
        let distances = Lengths::for_counts(&block.distance_counts, CODE_BITS_MAX);
        let head = DynamicHead::of(&lengths, &distances);
        OwnCodes { lengths, distances, head }
    }
}

/// The code lengths at the begin of a block that has codes of its own.
struct DynamicHead {
    /// Symbol of the code lengths, and the number in the bits behind it.
    runs: Vec<(usize, u16)>,
    counts: [u32; LENGTH_SYMBOLS],
    lengths: Lengths,
    /// How many of the code lengths' own lengths are written.
    written_count: usize,
}

impl DynamicHead {
    fn of(lengths: &Lengths, distances: &Lengths) -> DynamicHead {
        let mut runs = Vec::new();
        for lengths in [lengths, distances] {
            for run in lengths.of[..=lengths.last_symbol].chunk_by(|a, b| a == b) {
                add_run(usize::from(run[0]), run.len(), &mut runs);
            }
        }
        let mut counts = [0; LENGTH_SYMBOLS];
        for &(symbol, _) in &runs {
            counts[symbol] += 1;
        }
        let lengths = Lengths::for_counts(&counts, LENGTH_CODE_BITS_MAX);
        let last = LENGTH_ORDER.iter().rposition(|&symbol| lengths.of[symbol] > 0).unwrap_or(0);
        DynamicHead { runs, counts, lengths, written_count: (last + 1).max(WRITTEN_COUNT_MIN as usize) }
    }

    fn bits(&self) -> u32 {
        let of_symbol =
            |symbol: usize| self.counts[symbol] * (u32::from(self.lengths.of[symbol]) + extra_of_run(symbol));
        COUNTS_BITS + 3 * self.written_count as u32 + (0..LENGTH_SYMBOLS).map(of_symbol).sum::<u32>()
    }

    fn write(self, lengths: &Lengths, distances: &Lengths, bits: &mut Bits) {
        bits.push((lengths.last_symbol - END) as u16, 5);
        bits.push(distances.last_symbol as u16, 5);
        bits.push((self.written_count as u32 - WRITTEN_COUNT_MIN) as u16, 4);
        for &symbol in &LENGTH_ORDER[..self.written_count] {
            bits.push(u16::from(self.lengths.of[symbol]), 3);
        }
        let codes = Codes::of_lengths(self.lengths);
        for (symbol, number) in self.runs {
            codes.push(symbol, bits);
            bits.push(number, extra_of_run(symbol));
        }
    }
}

/// A run of equal code lengths, in pieces as zlib cuts it (`scan_tree`).
fn add_run(length: usize, mut count: usize, runs: &mut Vec<(usize, u16)>) {
    let mut is_first = true;
    while count > 0 {
        // A length that was not the last one is written once, before its repetition.
        let once = usize::from(is_first && length > 0);
        let most = if length == 0 { 138 } else { 6 + once };
        let piece = count.min(most);
        if piece < 3 + once {
            runs.extend((0..piece).map(|_| (length, 0)));
        } else if length > 0 {
            runs.extend((0..once).map(|_| (length, 0)));
            runs.push((AGAIN, (piece - once - 3) as u16));
        } else if piece <= 10 {
            runs.push((NONE_SHORT, (piece - 3) as u16));
        } else {
            runs.push((NONE_LONG, (piece - 11) as u16));
        }
        is_first = false;
        count -= piece;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Symbols in runs and apart, few and often: no codes are shorter than the bound says.
        #[test]
        fn codes_of_a_block_are_no_shorter_than_the_bound(
            runs in prop::collection::vec((0u8..=255, 1usize..40, 1usize..9), 0..12),
            copies in prop::collection::vec((3usize..=258, 1usize..=20_000), 0..20),
        ) {
            let mut block = Block::default();
            for (first, length, times) in runs {
                (0..length * times).for_each(|at| block.literal(first.wrapping_add((at / times) as u8)));
            }
            copies.iter().for_each(|&(length, distance)| block.copy(length, distance));
            block.counts[END] = 1;
            let own = OwnCodes::of(&block);
            let bits = block.bits_with(&own.lengths, &own.distances) + own.head.bits();
            prop_assert!(block.dynamic_bits_at_least() <= bits);
        }

        /// The least that any code lengths can take, were every symbol of theirs one bit.
        #[test]
        fn runs_of_lengths_take_no_less_than_the_bound(used in prop::collection::vec((0u32..2, 1usize..30), 1..12)) {
            let mut counts: Vec<u32> = used.iter().flat_map(|&(count, length)| vec![count; length]).collect();
            counts.push(1);
            let mut runs = Vec::new();
            for run in counts.chunk_by(|a, b| a == b) {
                add_run(run[0] as usize, run.len(), &mut runs);
            }
            let bits: u32 = runs.iter().map(|&(symbol, _)| 1 + extra_of_run(symbol)).sum();
            prop_assert!(length_runs_bits_at_least(&counts) <= bits, "{runs:?}");
        }
    }
}
