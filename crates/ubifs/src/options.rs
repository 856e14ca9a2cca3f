//! How a file system is made and mounted, and where kernels differ.

use crate::compress::Compression;
use ffslab_lzo::Release as LzoRelease;

/// How to make and mount a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// For new files (`compr=`); also the default that formatting writes.
    pub compression: Compression,
    /// Where kernels differ.
    pub rules: KernelRules,
    /// The release of LZO in the kernel (`lib/lzo`).
    pub lzo: LzoRelease,
    /// A 2.6.37 built with `CONFIG_UBIFS_FS_DEBUG`: a new file system has a second LEB for orphans (`fs/ubifs/sb.c`), and each
    /// commit reads the root of the index that it has written (`dbg_check_old_index` of `fs/ubifs/commit.c`).
    pub fs_debug: bool,
    /// Check data nodes' check sums at every read (`chk_data_crc`).
    pub check_data_crc: bool,
    /// Files that are read page after page are read in larger pieces (`bulk_read`).
    pub bulk_read: bool,
    /// Nothing is written; recovery after a power cut happens in memory (`ro`).
    pub read_only: bool,
    /// How long data wait in a write buffer (`dirty_writeback_interval`).
    pub wbuf_delay_ms: u32,
    /// Formatting: branches of an index node; `None`: 8.
    pub children_count: Option<u32>,
    /// Formatting: log and journal together; `None`: 5 % of the volume.
    pub journal_bytes: Option<u64>,
    /// What a real kernel draws at random: the identifier of a new file system, cookies of directory entries.
    pub seed: u64,
}

impl Default for Options {
    /// Linux 6.1 with default settings, compression off.
    fn default() -> Self {
        Options {
            compression: Compression::None,
            rules: KernelRules::default(),
            lzo: LzoRelease::default(),
            fs_debug: false,
            check_data_crc: false,
            bulk_read: false,
            read_only: false,
            wbuf_delay_ms: 5_000,
            children_count: None,
            journal_bytes: None,
            seed: 1,
        }
    }
}

/// Which kernel's UBIFS is simulated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelRules {
    /// Linux 2.6.37: a new file system has one LEB for orphans (`fs/ubifs/sb.c`; more with [`Options::fs_debug`]), and the
    /// budget keeps none for the head of garbage collection (`fs/ubifs/budget.c`, `ubifs_calc_available`). Each
    /// request for a commit runs one (`fs/ubifs/commit.c`).
    V2_6,
    /// Linux 6.1: two LEBs for orphans unless the volume is tiny, and one is kept for each journal head. No commit is run
    /// when nothing has changed since the last one (`nothing_to_commit`, since 3.0).
    #[default]
    V6_1,
}
