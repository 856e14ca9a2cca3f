//! The codes: those of others for the same data, and what they make of words with seeded errors.

use ffslab_ecc::bits::Bits;
use ffslab_ecc::code::{bits_of, differing, Checked};
use ffslab_ecc::{Code, CodeKind};
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

const BCH8: CodeKind = CodeKind::Bch { polynomial: 0x201b, strength: 8 };

fn code(kind: CodeKind) -> Code {
    Code::new(kind).expect("there is such a code")
}

/// Pseudo-random bytes: Knuth's 64-bit linear congruential generator, its top byte.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn reversed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte.reverse_bits()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the kernel's lib/bch.c computes for the same bytes, by the Python package bchlib 2.1.3, which wraps it: polynomial, strength,
/// bytes, `swap_bits`, code.
const OF_THE_KERNEL: [(u32, usize, usize, bool, &str); 12] = [
    (0x201b, 1, 512, false, "8b90"),
    (0x201b, 2, 522, true, "3ceebf01"),
    (0x201b, 4, 512, false, "773a5d80993470"),
    (0x201b, 8, 512, false, "8a49e27a821e7969231cf7e918"),
    (0x201b, 8, 512, true, "f2e3e642bdd3c2dc484a907602"),
    (0x201b, 16, 512, false, "69e4660f8f4801a5f80d2e84e0896d6b2b1e5a44cd7d43f36fad"),
    (0x402b, 8, 514, false, "f5424fe1356b80da5f38750f4c8b"),
    (0x402b, 24, 1024, false, "447e3ba4ef40f1069863a4cee23d53c7e2b49e963bb6fef4fc9181259763eae161589a70e67480cf9660"),
    (0x4443, 24, 1024, true, "03eb1629fd1cc6815f761cc912483a7765ca76989a535be124af2cc393c7cc2c90d40ad7b211f8266a8b"),
    (0x5803, 24, 1028, true, "ce1771739ab0d0ceab20352099cd40c1836ebf69d48ea8b0cb1d23849ea6a7ebf9f196fb4ac63089c632"),
    (
        0x5803,
        60,
        1028,
        true,
        "0e5914115372f85297c09448b516eb1b0fa36b689d15773e60f1897584b0df0f0d0535653a3b531da3567e2c42b89c4c6421330185f5a4bd\
         cff88c5f87410a1ea52aa22b65f6c0dd39f85c57897863c87fd9fcd89e1e569eacbc972c7aabeac5a06c25470d832653dd",
    ),
    (0x8003, 16, 2048, false, "cf794223cf34b6640ea1d153f6c6970ef8d3b334642252058e9236e971d2"),
];

#[test]
fn codes_are_those_of_the_kernel() {
    for (polynomial, strength, count, is_lowest_first, wanted) in OF_THE_KERNEL {
        let code = code(CodeKind::Bch { polynomial, strength });
        let data = if is_lowest_first { reversed(&bytes(count)) } else { bytes(count) };
        let parity = bits_of(&code.parity(&Bits::of(&data)), code.bits());
        let found = if is_lowest_first { reversed(parity.bytes()) } else { parity.bytes().to_vec() };
        assert_eq!(hex(&found), wanted, "{polynomial:#x}, {strength} bits");
    }
}

/// What drivers add to what hardware computes, so that the code of erased data is erased: `bch8_polynomial` and `bch4_polynomial` of
/// Linux's drivers/mtd/nand/raw/omap2.c, and `xor_data` of python-bchlib's test for Samsung's S5PV210 and Exynos.
#[test]
fn codes_of_erased_sectors_are_those_of_hardware() {
    let of_hardware = [
        (4, "2813cc3996ac7f"),
        (8, "ef512e09ed939ac29779e524b5"),
        (16, "9ad7ef918880fbf7063a5c9f4924d07502e359e0e4bc1e20702e"),
    ];
    for (strength, wanted) in of_hardware {
        let code = code(CodeKind::Bch { polynomial: 0x201b, strength });
        let parity = bits_of(&code.parity(&Bits::of(&[0xFF; 512])), code.bits());
        let added: Vec<u8> = parity.bytes().iter().map(|byte| byte ^ 0xFF).collect();
        assert_eq!(hex(&added), wanted);
    }
}

/// The code of TI's host tool genecc.c, computed once by a program of its own.
#[test]
fn the_code_of_davinci_is_that_of_its_host_tool() {
    let code = code(CodeKind::ReedSolomon10);
    let parity = bits_of(&code.parity(&Bits::of(&reversed(&bytes(512)))), code.bits());
    assert_eq!(hex(&reversed(parity.bytes())), "19561ea1dbca8cf1e07c");
}

/// A word is data and code; an error in one symbol of a Reed-Solomon code counts as one.
struct Words {
    code: Code,
    data: Bits,
    draw: Pcg32,
}

impl Words {
    fn new(kind: CodeKind, data_bits: usize) -> Words {
        let data = Bits::taken(&bytes(data_bits.div_ceil(8)), 0..data_bits);
        Words { code: code(kind), data, draw: Pcg32::seed_from_u64(7) }
    }

    fn below(&mut self, end: usize) -> usize {
        self.draw.next_u32() as usize % end
    }

    /// What becomes of a word with so many wrong bits, and which they are. `apart`: bits of a symbol.
    fn checked(&mut self, errors: usize, apart: usize) -> (Checked, Vec<usize>) {
        let all = self.data.len() + self.code.bits();
        let mut wrong: Vec<usize> = Vec::new();
        while wrong.len() < errors {
            let bit = self.below(all);
            if wrong.iter().all(|other| other.abs_diff(bit) >= apart) {
                wrong.push(bit);
            }
        }
        wrong.sort_unstable();
        let before = self.code.parity(&self.data);
        let mut data = self.data.clone();
        let mut after = before;
        for &bit in &wrong {
            match bit.checked_sub(data.len()) {
                None => data.flip(bit),
                Some(bit) => after[bit / 64] ^= 1 << (63 - bit % 64),
            }
        }
        let difference = differing(&self.code.parity(&data), &after);
        let checked = match self.code.check(&difference, data.len()) {
            Checked::Corrected(mut bits) => {
                bits.sort_unstable();
                Checked::Corrected(bits)
            }
            other => other,
        };
        (checked, wrong)
    }
}

#[test]
fn up_to_their_strength_errors_are_corrected_and_more_are_not() {
    let bch = |polynomial, strength| CodeKind::Bch { polynomial, strength };
    let kinds = [
        (bch(0x201b, 4), 4096 + 76, 1),
        (BCH8, 4096, 1),
        (bch(0x201b, 40), 4096, 1),
        (bch(0x402b, 24), 8192, 1),
        (bch(0x5803, 60), 8224, 1),
        (bch(0x8003, 16), 16640, 1),
        (CodeKind::ReedSolomon10, 4096, 10),
        (CodeKind::ReedSolomon12, 16400, 12),
    ];
    for (kind, data_bits, apart) in kinds {
        let mut words = Words::new(kind, data_bits);
        let strength = words.code.strength();
        for turn in 0..40 {
            let errors = if turn < 3 { [0, 1, strength][turn] } else { words.below(strength + 1) };
            let (checked, wrong) = words.checked(errors, apart);
            let wanted = if errors == 0 { Checked::Right } else { Checked::Corrected(wrong) };
            assert_eq!(checked, wanted, "{kind:?}, {errors} errors");
            // More than that are refused, or, seldom, taken for others: then as many as the strength at most.
            let (checked, wrong) = words.checked(strength + 1 + turn % 2, apart);
            match checked {
                Checked::Hopeless => {}
                Checked::Right => panic!("{kind:?}: {wrong:?} are seen"),
                Checked::Corrected(bits) => {
                    assert!(strength < 8, "{kind:?}: {wrong:?} were taken for {bits:?}");
                    assert_ne!(bits, wrong);
                }
            }
        }
    }
}

/// The share of words that are made another word is that of the bound of spheres: 0.27 % of those with five errors.
#[test]
fn words_that_are_made_others_are_as_many_as_the_bound_says() {
    let mut words = Words::new(CodeKind::Bch { polynomial: 0x201b, strength: 4 }, 4096);
    let bound = words.code.wrongly_corrected_share(4096);
    assert!((0.0025..0.0030).contains(&bound), "{bound}");
    let tried = 6000;
    let wrong = (0..tried).filter(|_| words.checked(5, 1).0 != Checked::Hopeless).count() as f64 / f64::from(tried);
    assert!((0.4 * bound..2.0 * bound).contains(&wrong), "{wrong} of {bound}");
}
