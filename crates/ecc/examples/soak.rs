//! A million words of each scheme with 0 to t + 2 seeded errors: how many are corrected, refused, and made another word.
//!
//!     cargo run --release -p ffslab-ecc --example soak -- 1000000

use ffslab_ecc::bits::Bits;
use ffslab_ecc::code::{differing, Checked, Codes};
use ffslab_ecc::CodeKind;
use rand_pcg::rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;
use std::time::Instant;

const ROWS: [(&str, CodeKind, usize); 12] = [
    ("software BCH 4, Freescale IFC, OMAP", bch(0x201b, 4), 4096),
    ("Broadcom, 4 bits, 9.5 B of OOB", bch(0x201b, 4), 4172),
    ("Qualcomm, 4 bits, 516 B", bch(0x201b, 4), 4128),
    ("OMAP ELM, PMECC, GPMI, 8 bits", bch(0x201b, 8), 4096),
    ("Amlogic, 8 bits, 514 B", bch(0x402b, 8), 4112),
    ("MediaTek, 12 bits, 520 B", bch(0x201b, 12), 4160),
    ("Exynos, OMAP, 16 bits", bch(0x201b, 16), 4096),
    ("software BCH 24, 1024 B", bch(0x402b, 24), 8192),
    ("GPMI, 40 bits", bch(0x201b, 40), 4096),
    ("Allwinner, 60 bits, 1028 B", bch(0x5803, 60), 8224),
    ("DaVinci, Reed-Solomon", CodeKind::ReedSolomon10, 4096),
    ("CAFE, Reed-Solomon", CodeKind::ReedSolomon12, 16400),
];

const fn bch(polynomial: u32, strength: usize) -> CodeKind {
    CodeKind::Bch { polynomial, strength }
}

/// Words of each kind of end.
#[derive(Default)]
struct Ends {
    right: u64,
    corrected: u64,
    refused: u64,
    /// With more errors than the strength.
    beyond: u64,
    made_others: u64,
    /// With no more errors than the strength, and not corrected; there are none.
    failed: u64,
}

fn main() {
    let words: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(10_000);
    let only = std::env::args().nth(2);
    let columns = ["scheme", "right", "corrected", "refused", "others", "share", "bound", "failed", "us a word"];
    println!("{}", line(columns.map(String::from)));
    for (name, kind, data_bits) in
        ROWS.iter().filter(|row| only.as_ref().is_none_or(|only| row.0.contains(only.as_str())))
    {
        let began = Instant::now();
        let (ends, bound) = ends(*kind, *data_bits, words);
        let share = ends.made_others as f64 / ends.beyond.max(1) as f64;
        let took = format!("{:.1}", began.elapsed().as_secs_f64() * 1e6 / words as f64);
        let counts = [ends.right, ends.corrected, ends.refused, ends.made_others].map(|count| count.to_string());
        let [right, corrected, refused, others] = counts;
        let (share, bound) = (format!("{share:.2e}"), format!("{bound:.2e}"));
        println!(
            "{}",
            line([name.to_string(), right, corrected, refused, others, share, bound, ends.failed.to_string(), took])
        );
    }
}

fn line(cells: [String; 9]) -> String {
    let [name, rest @ ..] = cells;
    rest.into_iter().fold(format!("{name:<36}"), |line, cell| line + &format!(" {cell:>9}"))
}

fn ends(kind: CodeKind, data_bits: usize, words: u64) -> (Ends, f64) {
    let code = Codes::default().get(kind).expect("there is such a code");
    let mut draw = Pcg32::seed_from_u64(2026);
    let mut ends = Ends::default();
    let all = data_bits + code.bits();
    // Of a Reed-Solomon code symbols count.
    let apart = if matches!(kind, CodeKind::Bch { .. }) { 1 } else { 12 };
    let mut bytes = vec![0; data_bits.div_ceil(8)];
    for number in 0..words {
        draw.fill_bytes(&mut bytes);
        let mut data = Bits::taken(&bytes, 0..data_bits);
        let mut stored = code.parity(&data);
        let errors = (number % (code.strength() as u64 + 3)) as usize;
        let mut wrong: Vec<usize> = Vec::new();
        while wrong.len() < errors {
            let bit = draw.next_u32() as usize % all;
            if wrong.iter().all(|other| other.abs_diff(bit) >= apart) {
                wrong.push(bit);
            }
        }
        for &bit in &wrong {
            match bit.checked_sub(data_bits) {
                None => data.flip(bit),
                Some(bit) => stored[bit / 64] ^= 1 << (63 - bit % 64),
            }
        }
        wrong.sort_unstable();
        let is_beyond = errors > code.strength();
        ends.beyond += u64::from(is_beyond);
        match code.check(&differing(&code.parity(&data), &stored), data_bits) {
            Checked::Right if errors == 0 => ends.right += 1,
            Checked::Hopeless if is_beyond => ends.refused += 1,
            Checked::Corrected(_) | Checked::Right if is_beyond => ends.made_others += 1,
            Checked::Corrected(mut found) => {
                found.sort_unstable();
                let count = if found == wrong { &mut ends.corrected } else { &mut ends.failed };
                *count += 1;
            }
            _ => ends.failed += 1,
        }
    }
    (ends, code.wrongly_corrected_share(data_bits))
}
