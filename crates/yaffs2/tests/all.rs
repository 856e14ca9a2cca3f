//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

// What a program of fuzz/ mounts is a module of that program, too, which is compiled alone there.
#![allow(clippy::duplicate_mod)]

mod assembled;
mod background;
mod chips;
mod conformance;
mod counts;
#[path = "../../../fuzz/fuzz_targets/damage/mod.rs"]
mod damage;
mod direct;
mod formats;
mod fuzz_smoke;
#[path = "../../../fuzz/fuzz_targets/yaffs2_images/mod.rs"]
mod images;
mod inodes;
mod medium;
mod subject;
mod support;
