//! Cuts the power after every flash operation of many random runs, and says how many cuts nothing was lost in.
//!
//! `cargo run --release -p ffslab-ftl --example power_cut_soak [SEEDS [WORD]]`; WORD: only settings in whose name it stands.

#[path = "../tests/support/mod.rs"]
mod support;

use ffslab_flash::{Faults, Weak};

fn main() {
    let seeds: u64 = std::env::args().nth(1).map_or(20, |text| text.parse().expect("SEEDS is a number"));
    let word = std::env::args().nth(2).unwrap_or_default();
    let weakpages = [20, 41, 77, 110].map(|number| Weak { number, good_operations: 6 });
    let failing = Faults { badblocks: vec![6], weakpages: weakpages.to_vec(), ..Faults::default() };
    let mut total = 0;
    for setup in support::setups().into_iter().filter(|setup| setup.name().contains(&word)) {
        let mut cuts = 0;
        for seed in 0..seeds {
            let faults = if seed % 3 == 2 { failing.clone() } else { Faults::default() };
            cuts += support::cut_everywhere(&setup, &faults, seed, 250 + 13 * seed as u32, 30, 1);
        }
        println!("{}: {cuts} cuts, nothing lost", setup.name());
        total += cuts;
    }
    println!("{total} cuts, nothing flushed was lost");
}
