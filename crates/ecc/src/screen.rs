//! A first look at whether words may be words of a BCH code: each such code has the primitive element as a root, so right words have
//! one value there, or differ from it by the value of one constant. The value of any bits of a page follows from two sums that
//! are made once.

use crate::field::Field;
use crate::layout::Word;
use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

/// Counts of zeros are kept for each of so many bytes.
const APART_BYTES: usize = 16;

struct Page {
    bytes: Rc<[u8]>,
    /// What all bytes before a byte come to.
    before: Vec<u16>,
    /// Bits before each of [`APART_BYTES`] that are zero.
    zeros: Vec<u32>,
}

/// The pages of a sample, in one order of bits, with the values of their bits in a field.
pub(crate) struct Values {
    field: Rc<Field>,
    pages: Vec<Page>,
}

impl Values {
    pub fn of(field: Rc<Field>, pages: &[Rc<[u8]>]) -> Values {
        // The factor by which a value moves when a byte follows.
        let byte_step = field.power(8);
        let page = |bytes: &Rc<[u8]>| {
            let (mut before, mut zeros) = (Vec::with_capacity(bytes.len() + 1), vec![0]);
            before.push(0);
            for chunk in bytes.chunks(APART_BYTES) {
                for byte in chunk {
                    before.push(field.times(before[before.len() - 1], byte_step) ^ u16::from(*byte));
                }
                zeros.push(zeros[zeros.len() - 1] + zero_bits(chunk));
            }
            Page { bytes: bytes.clone(), before, zeros }
        };
        Values { pages: pages.iter().map(page).collect(), field }
    }

    /// The value of all bits before one.
    fn before(&self, page: usize, bit: usize) -> u16 {
        let page = &self.pages[page];
        let (byte, bits) = (bit / 8, bit % 8);
        if bits == 0 {
            return page.before[byte];
        }
        self.field.times(page.before[byte], self.field.power(bits)) ^ u16::from(page.bytes[byte] >> (8 - bits))
    }

    /// The value of bits that follow on others with this one.
    pub fn behind(&self, value: u16, page: usize, range: &Range<usize>) -> u16 {
        let moved = self.field.power(range.len());
        let before = self.field.times(self.before(page, range.start) ^ value, moved);
        before ^ self.before(page, range.end)
    }

    /// So many bits of whole bytes of a range are zero.
    pub fn zeros(&self, page: usize, range: &Range<usize>) -> usize {
        let page = &self.pages[page];
        let before = |byte: usize| {
            let kept = byte / APART_BYTES;
            page.zeros[kept] + zero_bits(&page.bytes[kept * APART_BYTES..byte])
        };
        let [from, to] = [range.start.div_ceil(8), range.end / 8].map(before);
        (to - from) as usize
    }

    /// How many of the words of a layout, each once, have the value that most have. `zeros_min`: words with fewer zero bits, or fewer others,
    /// tell nothing; at most `words_max` are looked at.
    pub fn most_alike(&self, words: &[Word], zeros_min: usize, words_max: usize) -> usize {
        let mut values = Vec::with_capacity(words_max);
        let mut known: BTreeSet<(u16, u16)> = BTreeSet::new();
        let places = (0..words.len()).flat_map(|round| (0..self.pages.len()).map(move |page| (page, round + page)));
        for (page, at) in places {
            let word = &words[at % words.len()];
            let zeros: usize = word.data_bits.iter().map(|range| self.zeros(page, range)).sum();
            let bits: usize = word.data_bits.iter().map(|range| range.len() / 8 * 8).sum();
            if zeros < zeros_min || zeros + zeros_min > bits {
                continue;
            }
            let data = word.data_bits.iter().fold(0, |value, range| self.behind(value, page, range));
            let all = self.behind(data, page, &word.code_bits);
            if known.insert((data, all)) {
                values.push(all);
            }
            if known.len() == words_max {
                break;
            }
        }
        most_equal(&mut values)
    }
}

/// How many of the values are equal, at most.
pub(crate) fn most_equal(values: &mut [u16]) -> usize {
    values.sort_unstable();
    values.chunk_by(u16::eq).map(<[u16]>::len).max().unwrap_or(0)
}

fn zero_bits(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_zeros()).sum()
}
