//! The laws of time: what is drawn against what the law says, and a chip that obeys them.

use crate::common;

use common::*;
use ffslab_flash::{ChipPowerMilliwatt, Law, Laws, Pairing, Spent, TimeLaw, Timing};
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::Pcg32;

const DRAWS: u32 = 100_000;

fn draws(law: Law, max_ns: u64, seed: u64) -> Vec<u64> {
    let law = TimeLaw { law, max_ns };
    law.check().unwrap();
    let mut random = Pcg32::seed_from_u64(seed);
    (0..DRAWS).map(|page| law.draw_ns(&mut random, page % 64)).collect()
}

fn mean_and_deviation(draws: &[u64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().map(|&ns| ns as f64).sum::<f64>() / n;
    let variance = draws.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// Mean and deviation of 10^5 draws lie within four standard errors of those of the law: `deviation / sqrt(n)` for the
/// mean, and `deviation x sqrt((kurtosis - 1) / 4n)` for the deviation.
fn assert_moments(law: Law, mean: f64, deviation: f64, kurtosis: f64) {
    for seed in [1, 2, 3] {
        let (found_mean, found_deviation) = mean_and_deviation(&draws(law.clone(), u64::MAX, seed));
        let n = f64::from(DRAWS);
        assert!((found_mean - mean).abs() < 4.0 * deviation / n.sqrt() + 0.5, "{law:?}: mean {found_mean}");
        let bound = 4.0 * deviation * ((kurtosis - 1.0) / (4.0 * n)).sqrt() + 0.5;
        assert!((found_deviation - deviation).abs() < bound, "{law:?}: deviation {found_deviation}");
    }
}

#[test]
fn means_and_deviations_are_those_of_the_laws() {
    assert_moments(Law::Normal { mean_ns: 250_000.0, deviation_ns: 20_000.0 }, 250_000.0, 20_000.0, 3.0);
    assert_moments(Law::Exponential { base_ns: 100_000, mean_ns: 30_000.0 }, 130_000.0, 30_000.0, 9.0);
    let (min_ns, max_ns) = (100_000, 700_000);
    let deviation = (max_ns - min_ns) as f64 / 12f64.sqrt();
    assert_moments(Law::MinMax { min_ns, max_ns }, 400_000.0, deviation, 1.8);
    // 200 with 3/4, 1000 with 1/4: mean 400, variance 3/4 x 200^2 + 1/4 x 600^2 = 120000, fourth moment 3/4 x 200^4 +
    // 1/4 x 600^4, which is 2.333 times the square of the variance.
    let table = Law::Table { ns_and_weights: [(200_000, 3), (1_000_000, 1)].into() };
    assert_moments(table, 400_000.0, 120_000f64.sqrt() * 1000.0, 2.3334);
}

#[test]
fn the_shape_is_that_of_the_law() {
    let within = |law: Law, from: u64, to: u64| {
        draws(law, u64::MAX, 7).iter().filter(|&&ns| (from..to).contains(&ns)).count() as f64 / f64::from(DRAWS)
    };
    let normal = || Law::Normal { mean_ns: 10_000.0, deviation_ns: 1_000.0 };
    for (deviations, share) in [(1, 0.6827), (2, 0.9545), (3, 0.9973)] {
        let found = within(normal(), 10_000 - deviations * 1_000, 10_000 + deviations * 1_000);
        assert!((found - share).abs() < 0.006, "{deviations}: {found}");
    }
    let exponential = within(Law::Exponential { base_ns: 5_000, mean_ns: 10_000.0 }, 5_000, 15_000);
    assert!((exponential - 0.6321).abs() < 0.006, "{exponential}");
    assert_eq!(within(Law::MinMax { min_ns: 3, max_ns: 5 }, 3, 6), 1.0);
}

#[test]
fn fast_and_slow_pages() {
    let pairing = Pairing::distance_3(64).unwrap();
    let found = draws(Law::fast_and_slow(300, 900, &pairing, 64), u64::MAX, 1);
    assert_eq!(found[..8], [300, 300, 900, 300, 900, 300, 900, 300]);
    assert_eq!(found[62..66], [900, 900, 300, 300]);
    assert_eq!(draws(Law::even_odd(10, 20), u64::MAX, 1)[..4], [10, 20, 10, 20]);
}

#[test]
fn no_draw_is_above_the_maximum_or_below_zero() {
    let law = Law::Exponential { base_ns: 0, mean_ns: 1_000.0 };
    let capped = draws(law.clone(), 1_500, 5);
    let free = draws(law, u64::MAX, 5);
    assert!(capped.iter().zip(&free).all(|(&capped, &free)| capped == free.min(1_500)));
    assert!(free.iter().any(|&ns| ns > 1_500));
    let wide = draws(Law::Normal { mean_ns: 10.0, deviation_ns: 100.0 }, u64::MAX, 5);
    assert!(wide.iter().filter(|&&ns| ns == 0).count() > 40_000);
}

#[test]
fn the_same_seed_gives_the_same_times() {
    let law = || Law::Normal { mean_ns: 250_000.0, deviation_ns: 20_000.0 };
    assert_eq!(draws(law(), u64::MAX, 3), draws(law(), u64::MAX, 3));
    assert_ne!(draws(law(), u64::MAX, 3), draws(law(), u64::MAX, 4));
    // Draws are part of results: a change of these numbers changes what users have published.
    assert_eq!(draws(law(), u64::MAX, 3)[..3], [243_753, 237_612, 246_432]);
}

#[test]
fn impossible_laws_are_refused() {
    for law in [
        Law::Normal { mean_ns: f64::NAN, deviation_ns: 1.0 },
        Law::Normal { mean_ns: 1.0, deviation_ns: -1.0 },
        Law::Exponential { base_ns: 1, mean_ns: f64::INFINITY },
        Law::MinMax { min_ns: 2, max_ns: 1 },
        Law::ByPage { ns: [].into() },
        Law::Table { ns_and_weights: [(5, 0)].into() },
    ] {
        assert!(TimeLaw { law: law.clone(), max_ns: u64::MAX }.check().is_err(), "{law:?}");
        let laws = Laws { read: TimeLaw { law, max_ns: 1 }, ..Laws::constant(1, 1, 1) };
        assert!(chip().set_laws(laws).is_err());
    }
}

/// A law changes the array's part of an operation, not the bus's.
#[test]
fn a_chip_obeys_its_laws() {
    let mut chip = chip();
    let laws = Laws {
        program: TimeLaw { law: Law::even_odd(150_000, 950_000), max_ns: 900_000 },
        erase: TimeLaw { law: Law::MinMax { min_ns: 400_000, max_ns: 600_000 }, max_ns: u64::MAX },
        ..Laws::constant(30_000, 0, 0)
    };
    chip.set_laws(laws).unwrap();
    let sim = chip.sim().clone();
    let mut last_ns = 0;
    let mut took = || {
        let duration_ns = sim.now_ns() - last_ns;
        last_ns = sim.now_ns();
        duration_ns
    };
    let bus_ns = 2112 * 50;
    for page in 0..4 {
        chip.program_page(page, &[0; PAGE], None).unwrap();
        assert_eq!(took(), bus_ns + if page % 2 == 0 { 150_000 } else { 900_000 });
    }
    chip.program_oob(5, &[0; OOB]).unwrap();
    assert_eq!(took(), 64 * 50 + 900_000);
    chip.read_page(0, &mut [0; PAGE], None).unwrap();
    assert_eq!(took(), bus_ns + 30_000);
    chip.read_mark(0).unwrap();
    assert_eq!(took(), 30_000);
    let erases: Vec<u64> = (0..50).map(|_| chip.erase(0).map(|()| took()).unwrap()).collect();
    assert!(erases.iter().all(|ns| (400_000..=600_000).contains(ns)) && erases[0] != erases[1]);
    let drawn = chip.drawn().unwrap();
    assert_eq!(drawn.erase_ns, erases.iter().sum());
    assert_eq!((drawn.read_ns, drawn.program_ns), (60_000, 2 * 150_000 + 3 * 900_000));
    assert_eq!(chip.sim().total().busy_ns, sim.now_ns());
}

#[test]
fn constant_laws_become_the_timing() {
    let mut chip = chip();
    chip.set_laws(Laws::constant(1_000, 2_000, 3_000)).unwrap();
    let bus_ps_per_byte = timing().bus_ps_per_byte;
    assert_eq!(chip.timing(), Timing { read_ns: 1_000, program_ns: 2_000, erase_ns: 3_000, bus_ps_per_byte });
    chip.read_page(0, &mut [0; PAGE], None).unwrap();
    assert_eq!(chip.sim().now_ns(), 1_000 + 2112 * 50);
    assert_eq!(chip.drawn(), None);
}

/// 3.3 V and the currents of a usual SLC part: 25 us at 20 mA, and 105.6 us of bus at 5 mA.
#[test]
fn energy_from_currents() {
    let [read, program, erase, bus, standby] = [20.0, 25.0, 15.0, 5.0, 0.05].map(|milliampere| 3.3 * milliampere);
    let power = ChipPowerMilliwatt { read, program, erase, bus, standby };
    let mut chip = chip();
    chip.read_page(0, &mut [0; PAGE], None).unwrap();
    chip.program_page(0, &[0; PAGE], None).unwrap();
    chip.erase(0).unwrap();
    let spent = Spent::of_counts(&chip.sim().total(), &chip.timing());
    assert_eq!(spent.total_ns(), chip.sim().now_ns());
    let energy = power.energy(&spent, 1_000_000);
    let close = |found: f64, uj: f64| assert!((found - uj).abs() < 1e-9, "{found} {uj}");
    close(energy.read_uj, 3.3 * (20.0 * 25.0 + 5.0 * 105.6) / 1000.0);
    close(energy.program_uj, 3.3 * (25.0 * 200.0 + 5.0 * 105.6) / 1000.0);
    close(energy.erase_uj, 3.3 * 15.0 * 500.0 / 1000.0);
    close(energy.standby_uj, 3.3 * 0.05 * 1000.0 / 1000.0);
    close(energy.total_uj(), energy.read_uj + energy.program_uj + energy.erase_uj + energy.standby_uj);
}
