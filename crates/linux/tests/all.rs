//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod append;
mod clocks;
mod equals_a_byte_array;
mod host_without_cache;
mod maps;
mod measured_reads;
mod names;
mod nodes;
mod page_policies;
mod read_ahead_2_6;
mod read_ahead_6_1;
mod support;
mod unlink_while_open;
mod write_back;
mod write_back_2_6;
