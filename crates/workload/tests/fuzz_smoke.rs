//! A moment of what `fuzz/` does for hours: its program, given inputs that a seeded generator draws.

#[path = "../../../fuzz/fuzz_targets/recordings/mod.rs"]
mod recordings;

use ffslab_workload::prng::SplitMix64;

#[test]
fn drawn_damage_is_survived() {
    for seed in 0..20_000 {
        let mut prng = SplitMix64::new(seed);
        let patches = 1 + prng.below(4);
        let mut input = vec![prng.below(6) as u8];
        (0..3 * patches).for_each(|_| input.push(prng.next_u64() as u8));
        let done = std::panic::catch_unwind(|| recordings::check(&input));
        assert!(done.is_ok(), "seed {seed}: {input:02x?}");
    }
}
