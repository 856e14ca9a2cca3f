//! Damaged recordings of programs and devices: see `recordings/mod.rs` for what an input means.

#![no_main]

mod recordings;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| recordings::check(input));
