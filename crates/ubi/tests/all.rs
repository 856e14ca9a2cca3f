//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod counts;
mod fastmap;
mod faults;
mod hostile;
mod images;
mod model;
mod power_cuts;
mod support;
mod volumes;
mod wear;
