//! Reed-Solomon codes (Lin and Costello, *Error Control Coding*, chapter 7), as some older controllers have them: symbols of 10 or 12 bits, of
//! which four may be wrong.

use crate::bch::{Parity, PARITY_WORDS};
use crate::bits::Bits;
use crate::field::{locator, roots, Field};

/// How symbols stand in a row of bits.
#[derive(Clone, Copy)]
pub struct Packing {
    /// Bits of the data that make a symbol; higher bits of it are zero.
    pub data_bits: usize,
    /// Zero bits that stand before the data in its first symbol.
    pub lead_bits: usize,
    /// The first bit of a symbol is its lowest.
    pub is_lowest_bit_first: bool,
    /// The first symbol of the code is its lowest coefficient.
    pub is_lowest_symbol_first: bool,
}

/// A code with so many roots, successive powers of the primitive element.
pub struct ReedSolomon {
    field: Field,
    first_root: usize,
    /// Coefficients of the generator polynomial, the highest first, without the first one.
    generator: Vec<u16>,
    packing: Packing,
}

impl ReedSolomon {
    pub fn new(field: Field, first_root: usize, roots: usize, packing: Packing) -> ReedSolomon {
        let mut generator = vec![1u16];
        for root in first_root..first_root + roots {
            let mut next = generator.clone();
            next.push(0);
            for (at, &factor) in generator.iter().enumerate() {
                next[at + 1] ^= field.times(factor, field.power(root));
            }
            generator = next;
        }
        generator.remove(0);
        ReedSolomon { field, first_root, generator, packing }
    }

    /// Wrong symbols of a word that are corrected.
    pub fn strength(&self) -> usize {
        self.generator.len() / 2
    }

    /// Bits of the code.
    pub fn bits(&self) -> usize {
        self.generator.len() * self.symbol_bits()
    }

    pub fn symbol_bits(&self) -> usize {
        self.field.m() as usize
    }

    fn data_symbols(&self, data_bits: usize) -> usize {
        (data_bits + self.packing.lead_bits).div_ceil(self.packing.data_bits)
    }

    /// Where in the data a bit of one of its symbols stands. `None`: it is one of those that are always zero.
    fn place(&self, symbol: usize, bit: usize, data_bits: usize) -> Option<usize> {
        let Packing { data_bits: width, lead_bits, is_lowest_bit_first, .. } = self.packing;
        if bit >= width {
            return None;
        }
        let within = if is_lowest_bit_first { bit } else { width - 1 - bit };
        (symbol * width + within).checked_sub(lead_bits).filter(|at| *at < data_bits)
    }

    /// The same for a symbol of the code, counted from its lowest coefficient.
    fn code_place(&self, power: usize, bit: usize) -> usize {
        let (bits, count) = (self.symbol_bits(), self.generator.len());
        let symbol = if self.packing.is_lowest_symbol_first { power } else { count - 1 - power };
        symbol * bits + if self.packing.is_lowest_bit_first { bit } else { bits - 1 - bit }
    }

    /// The code of some data.
    pub fn parity(&self, data: &Bits) -> Parity {
        let mut remainder = vec![0u16; self.generator.len()];
        for symbol in 0..self.data_symbols(data.len()) {
            let bit = |bit: usize| self.place(symbol, bit, data.len()).map_or(0, |at| u16::from(data.bit(at)) << bit);
            let leaves = (0..self.packing.data_bits).fold(remainder[0], |value, at| value ^ bit(at));
            remainder.rotate_left(1);
            if let Some(last) = remainder.last_mut() {
                *last = 0;
            }
            if leaves != 0 {
                let terms = remainder.iter_mut().zip(&self.generator);
                terms.for_each(|(term, &factor)| *term ^= self.field.times(leaves, factor));
            }
        }
        let mut parity = [0; PARITY_WORDS];
        for (power, &symbol) in remainder.iter().rev().enumerate() {
            for bit in (0..self.symbol_bits()).filter(|bit| symbol >> bit & 1 == 1) {
                let at = self.code_place(power, bit);
                parity[at / 64] |= 1 << (63 - at % 64);
            }
        }
        parity
    }

    /// As [`crate::bch::Bch::wrong_bits`].
    pub fn wrong_bits(&self, difference: &Parity, data_bits: usize) -> Option<Vec<usize>> {
        if *difference == [0; PARITY_WORDS] {
            return Some(Vec::new());
        }
        let field = &self.field;
        let count = self.generator.len();
        let symbol = |power: usize| {
            (0..self.symbol_bits()).fold(0u16, |value, bit| {
                let at = self.code_place(power, bit);
                value | ((difference[at / 64] >> (63 - at % 64) & 1) as u16) << bit
            })
        };
        let differences: Vec<u16> = (0..count).map(symbol).collect();
        let syndrome = |root: usize| {
            let terms = differences.iter().enumerate();
            terms
                .fold(0, |sum, (power, &value)| sum ^ field.times(value, field.power((self.first_root + root) * power)))
        };
        let syndromes: Vec<u16> = (0..count).map(syndrome).collect();
        let locator = locator(field, &syndromes);
        if locator.len() - 1 > self.strength() {
            return None;
        }
        let symbols = self.data_symbols(data_bits);
        let mut wrong = Vec::new();
        for power in roots(field, &locator, symbols + count)? {
            let value = self.value(&syndromes, &locator, power);
            for bit in (0..self.symbol_bits()).filter(|bit| value >> bit & 1 == 1) {
                wrong.push(match power.checked_sub(count) {
                    None => data_bits + self.code_place(power, bit),
                    Some(above) => self.place(symbols - 1 - above, bit, data_bits)?,
                });
            }
        }
        Some(wrong)
    }

    /// By how much the symbol at a power of x is wrong (Forney's formula).
    fn value(&self, syndromes: &[u16], locator: &[u16], power: usize) -> u16 {
        let field = &self.field;
        let inverse = field.order() - power % field.order();
        let at_inverse = |terms: &[(usize, u16)]| {
            terms.iter().fold(0, |sum, &(exponent, factor)| sum ^ field.times(factor, field.power(inverse * exponent)))
        };
        let evaluator: Vec<(usize, u16)> = (0..syndromes.len())
            .map(|at| {
                let terms = locator.iter().take(at + 1).enumerate();
                (at, terms.fold(0, |sum, (index, &factor)| sum ^ field.times(factor, syndromes[at - index])))
            })
            .collect();
        // Of the derivative only terms of odd exponents are left.
        let derivative: Vec<(usize, u16)> =
            locator.iter().enumerate().skip(1).step_by(2).map(|(at, &factor)| (at - 1, factor)).collect();
        let below = at_inverse(&derivative);
        if below == 0 {
            return 0;
        }
        // x^(1 - first root) at the place of the error.
        let exponent = power * ((field.order() + 1 - self.first_root % field.order()) % field.order());
        field.times(field.power(exponent), field.over(at_inverse(&evaluator), below))
    }

    /// As [`crate::bch::Bch::wrongly_corrected_share`], in symbols.
    pub fn wrongly_corrected_share(&self, data_bits: usize) -> f64 {
        let symbols = self.data_symbols(data_bits) + self.generator.len();
        let (mut ways, mut all) = (1.0, 1.0);
        for errors in 1..=self.strength() {
            ways *= (symbols + 1 - errors) as f64 / errors as f64 * self.field.order() as f64;
            all += ways;
        }
        all * (-(self.bits() as f64)).exp2()
    }
}
