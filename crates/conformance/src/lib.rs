//! # conformance: what every file system must pass
//!
//! **Role.** Checks that are written once, over [`ffslab_fs::FileSystem`], and applied by each file system crate with
//! a few lines in its own tests: implement [`Subject`], call [`sequences::check`], [`power_cuts::check`],
//! [`hostile::check`], [`full::check`] and [`counts::check`]. The file system is driven through the system calls of
//! [`ffslab_linux::Vfs`] on a simulated chip, so that page cache, file system and medium are tested together.
//!
//! **Follows.** POSIX and the Linux manual pages for what a call answers; fsync(2) and rename(2) for what survives a
//! power cut; littlefs's `test_powerloss.toml` and `test_badblocks.toml` for the way of testing it.
//!
//! **Leaves out.** Images exchanged with the real tools, counts against measured systems (`lab` compares those),
//! permissions (everything runs as root), access and change times, link counts and sizes of directories (each file
//! system has its own), several processes.

pub mod board;
pub mod call;
pub mod content;
pub mod counts;
pub mod cpu_time;
pub mod exhibits;
pub mod failing;
mod file_history;
pub mod files;
pub mod full;
pub mod history;
pub mod hostile;
pub mod memory;
pub mod model;
pub mod mutate;
pub mod nodes;
pub mod older_files;
pub mod on;
pub mod policies;
pub mod power_cuts;
pub mod program;
pub mod real_tools;
pub mod rig;
pub mod sequences;
pub mod soak;
pub mod systems;
pub mod tree;
pub mod workloads;

pub use board::Board;
pub use on::On;
pub use rig::{Machine, Rig};

use ffslab_flash::Geometry;
use ffslab_fs::FileSystem;
use ffslab_mtd::Mtd;
use ffslab_sim::Sim;

/// A file system under test.
pub trait Subject: Send + Sync {
    fn name(&self) -> &str;

    /// The chip to test on: by default 40 erase blocks of 128 KiB, 5 MiB.
    fn geometry(&self) -> Geometry {
        Geometry { page_bytes: 2048, oob_bytes: 64, pages_per_block: 64, blocks: 40 }
    }

    /// The medium to test on: by default a NAND chip of [`Subject::geometry`]. Images and faults are tested on NAND alone.
    ///
    /// Errors: a geometry that no chip can have.
    fn medium(&self, sim: &Sim) -> Result<Mtd, Failure> {
        board::nand(sim, self.geometry())
    }

    /// Mounts the partition. An erased partition becomes an empty file system. The error is one clear line.
    fn mount(&self, mtd: Mtd) -> Result<Box<dyn FileSystem>, String>;

    /// Whether a mount may be refused after a power cut, as long as nothing on the partition was durable yet. A file
    /// system that can distinguish its own unfinished formatting from foreign data returns `false`, which is the
    /// default.
    fn may_refuse_unfinished_format(&self) -> bool {
        false
    }

    /// Whether a power cut during rename(2) may leave both names. The default is `false`: only the old or the new name.
    fn rename_may_leave_both_names(&self) -> bool {
        false
    }

    /// Entries of the root directory that the file system makes by itself. The kit does not touch them.
    fn own_entries(&self) -> &[&[u8]] {
        &[]
    }

    /// Whether a time that utimens(2) has set stays as it is when data are written out later. The default is yes.
    fn keeps_set_times(&self) -> bool {
        true
    }

    /// Whether a power cut during unlink(2) of a file with hard links may leave a directory with the same name twice.
    /// The default is no.
    fn unlink_may_double_a_name(&self) -> bool {
        false
    }

    /// Whether unlink(2) on a full medium may fail with ENOSPC until background work has had time. The default is no.
    fn unlink_may_want_time(&self) -> bool {
        false
    }

    /// Whether data that were overwritten or cut off long ago may come back after a power cut, in a file that was cut
    /// and has grown again. The default is no.
    fn older_data_may_return(&self) -> bool {
        false
    }

    /// Whether a mount may bring back an extended attribute that was removed, with a value that it or that of an earlier
    /// file had before, and whether after a power cut attributes may be missing or have such values. The default is no.
    fn older_xattrs_may_return(&self) -> bool {
        false
    }

    /// Whether a change of an extended attribute may fail for lack of space though it would be refused for another reason,
    /// because the space is reserved first. The default is no.
    fn xattrs_reserve_space_first(&self) -> bool {
        false
    }

    /// The features beyond the calls that every file system must support. The default is none.
    fn features(&self) -> Features {
        Features::default()
    }

    /// Corrects the check sums of a damaged image (pages with their out-of-band bytes, in order), so that they do not
    /// reveal the damage. The default leaves them wrong.
    fn reseal(&self, _image: &mut [u8]) {}
}

/// Optional features. They are tested in file systems that have them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Extended attributes in the namespaces `user.`, `trusted.` and `security.`.
    pub xattrs: bool,
    /// renameat2(2) with `RENAME_EXCHANGE` and `RENAME_WHITEOUT`.
    pub rename_flags: bool,
    /// `O_TMPFILE`, and linkat(2) of what it makes.
    pub unnamed_files: bool,
}

impl Features {
    pub const NONE: Features = Features { xattrs: false, rename_flags: false, unnamed_files: false };

    /// Whether all features in `needed` are there.
    pub fn include(self, needed: Features) -> bool {
        (self.xattrs || !needed.xattrs)
            && (self.rename_flags || !needed.rename_flags)
            && (self.unnamed_files || !needed.unnamed_files)
    }
}

/// Why a file system does not conform: what was done, what was expected, what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    pub fn new(text: impl Into<String>) -> Failure {
        Failure(text.into())
    }

    pub(crate) fn of(error: impl std::fmt::Display) -> Failure {
        Failure(error.to_string())
    }

    /// Adds the place of the failure to its text.
    pub(crate) fn at(self, place: impl std::fmt::Display) -> Failure {
        Failure(format!("{place}: {}", self.0))
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// Checks sequences and power cuts on a machine whose tasks sleep while the chip works.
pub fn check_asleep(subject: &dyn Subject) -> Result<power_cuts::Report, Failure> {
    let machine = Machine::ASLEEP;
    sequences::check(subject, &sequences::Options { seed: 5, machine, ..sequences::Options::default() })?;
    power_cuts::check(subject, &power_cuts::Options { points_max: 25, machine, ..power_cuts::Options::default() })
}

/// Prints the report of a check. A failure ends the test with its text.
#[track_caller]
pub fn must<T: std::fmt::Debug>(result: Result<T, Failure>) -> T {
    let report = result.unwrap_or_else(|failure| panic!("{failure}"));
    println!("{report:?}");
    report
}
