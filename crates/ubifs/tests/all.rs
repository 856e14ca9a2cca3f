//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

// What a program of fuzz/ mounts is a module of that program, too, which is compiled alone there.
#![allow(clippy::duplicate_mod)]

mod accounting;
mod bulk_read;
mod chips;
mod conformance;
#[path = "../../../fuzz/fuzz_targets/damage/mod.rs"]
mod damage;
mod fuzz_smoke;
mod images;
mod in_vain;
mod inode_flags;
mod kernel_2_6;
mod read_only;
mod refusals;
mod subject;
mod support;
mod unmount;
mod xattr;
