//! Binary BCH codes (Lin and Costello, *Error Control Coding*, chapter 6), systematic: the code follows the data.
//!
//! The first bit of a word is its highest coefficient. The code is what remains of the data, moved up by its length, after a division by the
//! product of the minimal polynomials of the first 2t powers of the primitive element.

use crate::bits::Bits;
use crate::field::{locator, roots, Field};
use std::rc::Rc;

/// Bits of a code, the highest coefficient first. What is left behind them is zero.
pub type Parity = [u64; PARITY_WORDS];
pub const PARITY_WORDS: usize = 15;
/// The longest code.
pub const PARITY_BITS_MAX: usize = 64 * PARITY_WORDS;

/// A code that corrects t wrong bits in words of up to 2^m - 1 bits.
pub struct Bch {
    field: Rc<Field>,
    strength: usize,
    bits: usize,
    /// The words of [`Parity`] that the code takes.
    words: usize,
    /// The generator polynomial without its highest coefficient.
    generator: Parity,
    /// What each byte adds to the remainder when it leaves it at the top.
    table: Vec<Parity>,
}

impl Bch {
    /// `None`: the code would be longer than any that is known, or empty.
    pub fn new(field: Rc<Field>, strength: usize) -> Option<Bch> {
        // The lowest coefficient is the highest bit, so that a product with x is a shift to the right.
        let mut generator: Parity = [0; PARITY_WORDS];
        generator[0] = 1 << 63;
        let mut bits = 0;
        let mut taken = vec![false; field.order()];
        for exponent in (1..2 * strength).step_by(2) {
            if taken[exponent % field.order()] {
                continue;
            }
            let minimal = minimal_polynomial(&field, exponent, &mut taken);
            bits += minimal.len() - 1;
            // The highest coefficient has no place here if the code fills all words.
            if bits >= PARITY_BITS_MAX {
                return None;
            }
            let terms = minimal.iter().enumerate().filter(|(_, bit)| **bit == 1);
            generator = terms.fold([0; PARITY_WORDS], |sum, (by, _)| differing(&sum, &moved_down(&generator, by)));
        }
        if bits < 8 {
            return None;
        }
        let mut top = [0; PARITY_WORDS];
        for at in (0..bits).filter(|at| generator[at / 64] >> (63 - at % 64) & 1 == 1) {
            let at = bits - 1 - at;
            top[at / 64] |= 1 << (63 - at % 64);
        }
        let words = bits.div_ceil(64);
        let mut code = Bch { field, strength, bits, words, generator: top, table: vec![[0; PARITY_WORDS]; 256] };
        for bit in 0..8 {
            let alone = 1usize << bit;
            let mut remainder = [0; PARITY_WORDS];
            (0..8).rev().for_each(|at| code.take_bit(&mut remainder, u8::from(at == bit)));
            // Those of bytes with lower bits are sums.
            for low in 0..alone {
                code.table[alone | low] = differing(&remainder, &code.table[low]);
            }
        }
        Some(code)
    }

    pub fn m(&self) -> u32 {
        self.field.m()
    }

    /// Wrong bits of a word that are corrected.
    pub fn strength(&self) -> usize {
        self.strength
    }

    /// Bits of the code.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Bits of data that a word may have.
    pub fn data_bits_max(&self) -> usize {
        self.field.order() - self.bits
    }

    fn take_bit(&self, remainder: &mut Parity, bit: u8) {
        let leaves = (remainder[0] >> 63) as u8 ^ bit;
        for at in 0..self.words {
            let next = if at + 1 < self.words { remainder[at + 1] >> 63 } else { 0 };
            remainder[at] = remainder[at] << 1 | next;
        }
        if leaves == 1 {
            remainder.iter_mut().zip(&self.generator).for_each(|(word, add)| *word ^= add);
        }
    }

    /// The code of some data.
    pub fn parity(&self, data: &Bits) -> Parity {
        let mut remainder = [0; PARITY_WORDS];
        let words = self.words;
        let whole = data.len() / 8;
        for &byte in &data.bytes()[..whole] {
            let added = &self.table[usize::from((remainder[0] >> 56) as u8 ^ byte)];
            for at in 0..words - 1 {
                remainder[at] = (remainder[at] << 8 | remainder[at + 1] >> 56) ^ added[at];
            }
            remainder[words - 1] = remainder[words - 1] << 8 ^ added[words - 1];
        }
        (8 * whole..data.len()).for_each(|at| self.take_bit(&mut remainder, data.bit(at)));
        remainder
    }

    /// Which bits of a word of so many, data and code, are wrong, by the difference between the code of its data and what stands
    /// there. `None`: more than the code corrects.
    pub fn wrong_bits(&self, difference: &Parity, word_bits: usize) -> Option<Vec<usize>> {
        if *difference == [0; PARITY_WORDS] {
            return Some(Vec::new());
        }
        let locator = locator(&self.field, &self.syndromes(difference));
        if locator.len() - 1 > self.strength {
            return None;
        }
        let places = roots(&self.field, &locator, word_bits)?;
        Some(places.into_iter().map(|power| word_bits - 1 - power).collect())
    }

    /// Whether no more than so many bits seem to be wrong: that is told without finding them, so it is quick, and true of few words that are
    /// none of the code.
    pub fn seems_to_have(&self, difference: &Parity, wrong_bits_max: usize) -> bool {
        locator(&self.field, &self.syndromes(difference)).len() - 1 <= wrong_bits_max
    }

    /// The difference as a polynomial, at the first 2t powers of the primitive element.
    fn syndromes(&self, difference: &Parity) -> Vec<u16> {
        let mut syndromes = vec![0u16; 2 * self.strength];
        let order = self.field.order();
        for (word, &bits) in difference.iter().enumerate().take(self.words) {
            let mut left = bits;
            while left != 0 {
                let at = left.leading_zeros() as usize;
                left &= !(1 << 63 >> at);
                let power = self.bits - 1 - (64 * word + at);
                let mut exponent = power % order;
                for syndrome in syndromes.iter_mut().step_by(2) {
                    *syndrome ^= self.field.power(exponent);
                    exponent = (exponent + 2 * power) % order;
                }
            }
        }
        // Over two elements the square of a polynomial is the polynomial of the squares.
        for at in (1..syndromes.len()).step_by(2) {
            let half = syndromes[at / 2];
            syndromes[at] = self.field.times(half, half);
        }
        syndromes
    }

    /// The share of words with more errors than the code corrects, in random places, which it takes for others: words of so many
    /// bits within its reach of one of its words (Lin and Costello, section 6.5; the bound of spheres).
    pub fn wrongly_corrected_share(&self, word_bits: usize) -> f64 {
        let (mut ways, mut all) = (1.0, 1.0);
        for errors in 1..=self.strength {
            ways *= (word_bits + 1 - errors) as f64 / errors as f64;
            all += ways;
        }
        all * (-(self.bits as f64)).exp2()
    }
}

fn moved_down(bits: &Parity, by: usize) -> Parity {
    let (words, within) = (by / 64, by % 64);
    let word = |at: usize| at.checked_sub(words).map_or(0, |at| bits[at]);
    std::array::from_fn(|at| match within {
        0 => word(at),
        _ => word(at) >> within | at.checked_sub(1).map_or(0, word) << (64 - within),
    })
}

/// The sum of two rows of bits, which is their difference.
pub fn differing(a: &Parity, b: &Parity) -> Parity {
    std::array::from_fn(|at| a[at] ^ b[at])
}

/// The polynomial over two elements whose roots are a power of the primitive element and its squares, the lowest coefficient first.
fn minimal_polynomial(field: &Field, exponent: usize, taken: &mut [bool]) -> Vec<u8> {
    let mut product = vec![1u16];
    let mut root = exponent % field.order();
    while !taken[root] {
        taken[root] = true;
        let mut next = vec![0; product.len() + 1];
        for (at, &factor) in product.iter().enumerate() {
            next[at + 1] ^= factor;
            next[at] ^= field.times(factor, field.power(root));
        }
        product = next;
        root = 2 * root % field.order();
    }
    product.into_iter().map(|factor| factor as u8).collect()
}
