//! A code of a controller, whatever its kind, and what it makes of a word.

pub use crate::bch::differing;
use crate::bch::{Bch, Parity, PARITY_WORDS};
use crate::bits::Bits;
use crate::field::Field;
use crate::reed_solomon::{Packing, ReedSolomon};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Which code it is. Two that are equal compute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeKind {
    /// `polynomial`: the primitive one that makes the field.
    Bch { polynomial: u32, strength: usize },
    /// Bytes as symbols of 10 bits (TI DaVinci, 4-bit ECC).
    ReedSolomon10,
    /// Symbols of 12 bits (CAFE, Marvell 88ALP01).
    ReedSolomon12,
}

impl CodeKind {
    /// Bits of the code, as long as no two of its roots have one minimal polynomial, which those of NAND have not.
    pub fn bits(self) -> usize {
        match self {
            CodeKind::Bch { polynomial, strength } => polynomial.checked_ilog2().unwrap_or(0) as usize * strength,
            CodeKind::ReedSolomon10 => 8 * 10,
            CodeKind::ReedSolomon12 => 8 * 12,
        }
    }

    /// Wrong bits of a word that are corrected, or wrong symbols.
    pub fn strength(self) -> usize {
        match self {
            CodeKind::Bch { strength, .. } => strength,
            CodeKind::ReedSolomon10 | CodeKind::ReedSolomon12 => 4,
        }
    }
}

pub enum Code {
    Bch(Bch),
    ReedSolomon(ReedSolomon),
}

/// What became of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    Right,
    /// The bits of the word, data and code, that are wrong.
    Corrected(Vec<usize>),
    /// More is wrong than the code corrects.
    Hopeless,
}

impl Code {
    /// `None`: there is no such code.
    pub fn new(kind: CodeKind) -> Option<Code> {
        Some(match kind {
            CodeKind::Bch { polynomial, strength } => Code::Bch(Bch::new(Rc::new(Field::new(polynomial)?), strength)?),
            // The generator polynomial has the roots 1 to 8, data bytes are symbols, the code is packed from its lowest bit on
            // (`nand_davinci_4bit_calculate_ecc` in U-Boot's davinci_nand.c; the host tool genecc.c of TI's flash utilities).
            CodeKind::ReedSolomon10 => {
                let packing =
                    Packing { data_bits: 8, lead_bits: 0, is_lowest_bit_first: true, is_lowest_symbol_first: true };
                Code::ReedSolomon(ReedSolomon::new(Field::new(0x409)?, 1, 8, packing))
            }
            // Roots 0 to 7 in a field of its own, four zero bits before the first byte (`cafe_nand_read_page` and `cafe_mul` in Linux's
            // drivers/mtd/nand/raw/cafe_nand.c).
            CodeKind::ReedSolomon12 => {
                let packing =
                    Packing { data_bits: 12, lead_bits: 4, is_lowest_bit_first: false, is_lowest_symbol_first: false };
                let field = Field::by_steps(12, &|element| tower_times(element, 0xe01))?;
                Code::ReedSolomon(ReedSolomon::new(field, 0, 8, packing))
            }
        })
    }

    /// Bits of the code.
    pub fn bits(&self) -> usize {
        match self {
            Code::Bch(code) => code.bits(),
            Code::ReedSolomon(code) => code.bits(),
        }
    }

    /// Wrong bits of a word that are corrected, or wrong symbols.
    pub fn strength(&self) -> usize {
        match self {
            Code::Bch(code) => code.strength(),
            Code::ReedSolomon(code) => code.strength(),
        }
    }

    /// The code of some data.
    pub fn parity(&self, data: &Bits) -> Parity {
        match self {
            Code::Bch(code) => code.parity(data),
            Code::ReedSolomon(code) => code.parity(data),
        }
    }

    /// What the difference between the code of the data and that which stands there says.
    pub fn check(&self, difference: &Parity, data_bits: usize) -> Checked {
        if *difference == [0; PARITY_WORDS] {
            return Checked::Right;
        }
        let wrong = match self {
            Code::Bch(code) => code.wrong_bits(difference, data_bits + code.bits()),
            Code::ReedSolomon(code) => code.wrong_bits(difference, data_bits),
        };
        wrong.map_or(Checked::Hopeless, Checked::Corrected)
    }

    /// Of the words with more errors than are corrected, the share that is taken for right or is made another word.
    pub fn wrongly_corrected_share(&self, data_bits: usize) -> f64 {
        match self {
            Code::Bch(code) => code.wrongly_corrected_share(data_bits + code.bits()),
            Code::ReedSolomon(code) => code.wrongly_corrected_share(data_bits),
        }
    }

    /// As people write it.
    pub fn text(&self) -> String {
        match self {
            Code::Bch(code) => format!("BCH, {} bits over GF(2^{})", code.strength(), code.m()),
            Code::ReedSolomon(code) => {
                format!("Reed-Solomon, {} symbols of {} bits", code.strength(), code.symbol_bits())
            }
        }
    }
}

/// Fields that were made, so that each is made once. Codes are made anew: that is quick, and they are large.
#[derive(Default)]
pub struct Codes {
    fields: RefCell<BTreeMap<u32, Option<Rc<Field>>>>,
}

impl Codes {
    pub fn get(&self, kind: CodeKind) -> Option<Rc<Code>> {
        let code = match kind {
            CodeKind::Bch { polynomial, strength } => Code::Bch(Bch::new(self.field(polynomial)?, strength)?),
            other => Code::new(other)?,
        };
        Some(Rc::new(code))
    }

    pub fn field(&self, polynomial: u32) -> Option<Rc<Field>> {
        let mut fields = self.fields.borrow_mut();
        fields.entry(polynomial).or_insert_with(|| Field::new(polynomial).map(Rc::new)).clone()
    }
}

/// The code that stands in a range of bits.
pub fn stored(page: &[u8], range: std::ops::Range<usize>) -> Parity {
    let bits = Bits::taken(page, range);
    let mut parity = [0; PARITY_WORDS];
    for (word, bytes) in parity.iter_mut().zip(bits.bytes().chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_be_bytes(eight);
    }
    parity
}

/// Bits of a code in bytes, for those who write it.
pub fn bits_of(parity: &Parity, bits: usize) -> Bits {
    let bytes: Vec<u8> = parity.iter().flat_map(|word| word.to_be_bytes()).collect();
    Bits::taken(&bytes, 0..bits)
}

/// A product of two elements of GF(64) over x^6 + x + 1.
fn gf64_times(a: u32, b: u32) -> u32 {
    let product = (0..6).filter(|bit| a >> bit & 1 == 1).fold(0, |sum, bit| sum ^ b << bit);
    (6..11).rev().fold(product, |left, bit| if left >> bit & 1 == 1 { left ^ 0x43 << (bit - 6) } else { left })
}

/// A product in GF(64)[x] / (x^2 + x + 1/a), a the primitive element of GF(64): the field of CAFE.
fn tower_times(a: u32, b: u32) -> u32 {
    let (a_high, a_low, b_high, b_low) = (a >> 6, a & 0x3F, b >> 6, b & 0x3F);
    let low = gf64_times(a_low, b_low);
    let high = gf64_times(a_high ^ a_low, b_high ^ b_low) ^ low;
    high << 6 | gf64_times(gf64_times(a_high, b_high), 0x21) ^ low
}
