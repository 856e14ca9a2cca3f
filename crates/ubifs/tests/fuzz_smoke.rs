//! A moment of what `fuzz/` does for hours: its program, given inputs that a seeded generator draws.

use crate::damage;
#[path = "../../../fuzz/fuzz_targets/ubifs_images/mod.rs"]
mod images;

#[test]
fn drawn_damage_is_survived() {
    for seed in 0..100 {
        let input = damage::drawn::input(seed);
        let done = std::panic::catch_unwind(|| images::check(&input));
        assert!(done.is_ok(), "seed {seed}: {input:02x?}");
    }
}
