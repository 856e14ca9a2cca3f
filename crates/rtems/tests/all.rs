//! All integration tests of this crate as one program: each program is linked, and only the tests of one run side by side.
//! A file here that is not named below is not compiled; `tests/project/test_rust_tests.py` looks for such.

mod bdbuf;
mod cpu_time;
mod fat_tools;
mod features;
mod formatters;
mod hostile;
mod jffs2;
mod model;
mod power_cuts;
mod rfs_options;
#[path = "support/system.rs"]
mod system;
mod yaffs2;
