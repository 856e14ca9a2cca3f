//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod ageing;
mod common;
mod ecc;
mod media;
mod nor;
mod page_cache;
mod requests;
mod slc_mode;
mod spi_nand;
