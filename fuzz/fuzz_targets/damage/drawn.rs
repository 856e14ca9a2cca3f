//! Inputs drawn by a seeded generator: what a moment without libFuzzer tries.

use ffslab_workload::prng::SplitMix64;

const PATCHES_MAX: u64 = 4;
const PATCH_BYTES_MAX: u64 = 16;

/// An input of up to [`PATCHES_MAX`] patches, of the form that [`super::apply`] reads. Half of the patches name a structure.
pub fn input(seed: u64) -> Vec<u8> {
    let mut prng = SplitMix64::new(seed);
    let mut input = vec![prng.next_u64() as u8];
    for _ in 0..=prng.below(PATCHES_MAX) {
        let length = 1 + prng.below(PATCH_BYTES_MAX);
        input.extend_from_slice(&prng.next_u64().to_le_bytes()[..4]);
        input.push(length as u8);
        input.extend((0..length).map(|_| prng.next_u64() as u8));
    }
    input
}
