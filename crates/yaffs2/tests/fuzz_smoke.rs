//! A moment of what `fuzz/` does for hours: its program, given inputs that a seeded generator draws.

use crate::damage;
use crate::images;

#[test]
fn drawn_damage_is_survived() {
    for seed in 0..200 {
        let input = damage::drawn::input(seed);
        let done = std::panic::catch_unwind(|| images::check(&input));
        assert!(done.is_ok(), "seed {seed}: {input:02x?}");
    }
}
