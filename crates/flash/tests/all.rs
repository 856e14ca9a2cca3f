//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod array_constraints;
mod array_copy_back;
mod array_model;
mod array_power_cuts;
mod array_times;
#[path = "common/arrays.rs"]
mod arrays;
mod common;
mod faults;
mod images;
mod laws;
mod model;
mod modifications;
mod operations;
mod pairing;
mod power_cuts;
