//! A first look at whether words may be words of a BCH code: each such code has the primitive element as a root, so right words have
//! one value there, or differ from it by the value of one constant. The value of any bits of a page follows from two sums that
//! are made once.

use crate::field::Field;
use crate::layout::Word;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// Sums are kept for each of so many bytes, so that they take little memory.
const APART_BYTES: usize = 16;

/// What all bytes before a byte of a page come to.
#[derive(Clone, Copy)]
struct Before {
    value: u16,
    zeros: u32,
}

/// The pages of a sample, in one order of bits, with the values of their bits in a field.
pub(crate) struct Values {
    field: Rc<Field>,
    /// The factor by which a value moves when a byte follows.
    byte_step: u16,
    pages: Vec<(Rc<[u8]>, Vec<Before>)>,
}

impl Values {
    pub fn of(field: Rc<Field>, pages: &[Rc<[u8]>]) -> Values {
        let mut values = Values { byte_step: field.power(8), field, pages: Vec::with_capacity(pages.len()) };
        for page in pages {
            let mut before = Before { value: 0, zeros: 0 };
            let mut sums = vec![before];
            for bytes in page.chunks(APART_BYTES) {
                before = bytes.iter().fold(before, |before, byte| values.with(before, *byte));
                sums.push(before);
            }
            values.pages.push((page.clone(), sums));
        }
        values
    }

    fn with(&self, before: Before, byte: u8) -> Before {
        let value = self.field.times(before.value, self.byte_step) ^ u16::from(byte);
        Before { value, zeros: before.zeros + byte.count_zeros() }
    }

    fn before_byte(&self, page: usize, byte: usize) -> Before {
        let (bytes, sums) = &self.pages[page];
        let from = byte / APART_BYTES;
        bytes[APART_BYTES * from..byte].iter().fold(sums[from], |before, byte| self.with(before, *byte))
    }

    /// The value of all bits before one.
    fn before(&self, page: usize, bit: usize) -> u16 {
        let whole = self.before_byte(page, bit / 8).value;
        let step = self.field.power(1);
        (0..bit % 8).fold(whole, |value, at| {
            self.field.times(value, step) ^ u16::from(self.pages[page].0[bit / 8] >> (7 - at) & 1)
        })
    }

    /// The value of bits that follow on others with this one.
    pub fn behind(&self, value: u16, page: usize, range: &Range<usize>) -> u16 {
        let moved = self.field.power(range.len());
        let before = self.field.times(self.before(page, range.start) ^ value, moved);
        before ^ self.before(page, range.end)
    }

    /// So many bits of whole bytes of a range are zero.
    pub fn zeros(&self, page: usize, range: &Range<usize>) -> usize {
        let [from, to] = [range.start.div_ceil(8), range.end / 8].map(|byte| self.before_byte(page, byte).zeros);
        (to - from) as usize
    }

    /// How many of the words of a layout, each once, have the value that most have. `zeros_min`: words with fewer zero bits, or no others,
    /// tell nothing; at most `words_max` are looked at.
    pub fn most_alike(&self, words: &[Word], zeros_min: usize, words_max: usize) -> usize {
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        let mut known: BTreeSet<(u16, u16)> = BTreeSet::new();
        let places = (0..words.len()).flat_map(|round| (0..self.pages.len()).map(move |page| (page, round + page)));
        for (page, at) in places {
            let word = &words[at % words.len()];
            let zeros: usize = word.data_bits.iter().map(|range| self.zeros(page, range)).sum();
            let bits: usize = word.data_bits.iter().map(|range| range.len() / 8 * 8).sum();
            if zeros < zeros_min || zeros >= bits {
                continue;
            }
            let data = word.data_bits.iter().fold(0, |value, range| self.behind(value, page, range));
            let all = self.behind(data, page, &word.code_bits);
            if known.insert((data, all)) {
                *counts.entry(all).or_default() += 1;
            }
            if known.len() == words_max {
                break;
            }
        }
        counts.into_values().max().unwrap_or(0)
    }
}
