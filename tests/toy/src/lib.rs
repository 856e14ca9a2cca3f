//! # toy: a file system that is not part of ffslab
//!
//! **Role.** Shows, and proves as a test, what it takes to add a file system: the trait of `ffslab-fs`, a partition of
//! `ffslab-mtd`, and one descriptor, registered in one line. It passes the conformance kit, runs in experiments, is looked
//! into by `inspect` and mounted. The same for a medium ([`medium`]).
//!
//! **Follows.** Nothing that exists: a log of records on the pages of one half of the partition. When it is full,
//! everything is written into the other half. All inodes and names are in memory.
//!
//! **Leaves out.** Extended attributes, levelling of wear, and every thought of speed.

mod descriptor;
mod fs;
pub mod log;
pub mod medium;

pub use descriptor::TOY;
pub use fs::Toy;

/// Makes the toy known to the laboratory. Only the first call has anything to do.
pub fn register() {
    // The second time there is a file system of this name already, which is this one.
    let _known = ffslab_machine::register(&TOY);
}
