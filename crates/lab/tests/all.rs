//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod ageing;
mod boot;
mod boot_stages;
mod claims_readahead;
mod compression;
mod driver_level;
mod experiments;
mod initial_states;
mod left_by_setup;
mod lives;
mod posix_extras;
mod programs;
mod rtems;
mod rtems_file_system;
mod settled;
mod steps;
mod where_the_time_goes;
