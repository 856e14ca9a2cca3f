//! Mount options and the few behaviours that differ between kernels.

use crate::compress::Compression;
use crate::format::Endian;
use ffslab_fs::NameHash;
use ffslab_lzo::Release;

/// When the write buffer is written although nobody has asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WbufTimer {
    /// A delayed work is queued with the first byte that waits (Linux 6.1 `wbuf.c`, `jffs2_dirty_trigger`).
    DelayedWork,
    /// The `sync_supers` thread checks periodically whether the superblock is dirty (Linux 2.6.37 `mm/backing-dev.c`).
    SyncSupers,
}

/// What happens to a signal that is sent to the garbage collection thread while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeDuringPass {
    /// It stays pending, so the next pass starts at once (`sigprocmask`, Linux 6.1 `background.c`).
    Kept,
    /// It is lost (`disallow_signal`, Linux 2.6.37).
    Lost,
}

/// How `sync` writes the page that waits in the write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncManner {
    /// It is padded (Linux 6.1 `super.c`, `jffs2_sync_fs`).
    Pads,
    /// Garbage collection fills it, as at `fsync`, and what is left is padded (Linux 2.6.37 `super.c`, `jffs2_sync_fs`,
    /// which calls `jffs2_write_super`). Blocks that wait for an erase are erased before a node moves.
    Collects,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub compression: Compression,
    /// The release of LZO in the kernel (`lib/lzo`).
    pub lzo: Release,
    /// Erase block summaries (`CONFIG_JFFS2_SUMMARY`).
    pub summary: bool,
    /// Extended attributes in the namespaces `user`, `trusted` and `security` (`CONFIG_JFFS2_FS_XATTR` and
    /// `CONFIG_JFFS2_FS_SECURITY`). Without them a medium that holds some cannot be mounted (`fs/jffs2/scan.c`:
    /// `JFFS2_FEATURE_INCOMPAT`).
    pub xattrs: bool,
    pub wbuf_timer: WbufTimer,
    /// `dirty_writeback_interval`: how long data may wait in the write buffer.
    pub wbuf_delay_ms: u32,
    pub wake_during_pass: WakeDuringPass,
    pub sync_manner: SyncManner,
    /// A write behind the end of a file, but in the file's last page, makes no node for the gap, so bytes that a truncation had cut
    /// off come back after the next mount (`fs/jffs2/file.c`, `jffs2_write_begin` before 23892d383bee of Linux 6.3, which the stable
    /// series have taken, too).
    pub gaps_in_page_stay: bool,
    /// By which hash of its names a directory is ordered (`nodelist.c`, `jffs2_add_fd_to_list`).
    pub name_hash: NameHash,
    /// Byte order of the medium.
    pub endian: Endian,
    /// Nothing is written, and there is no garbage collection thread (`ro`).
    pub read_only: bool,
    /// The caller has no page cache, counts the users of inodes himself and gives no tasks, as RTEMS and eCos do; see
    /// `direct.rs` for the calls. There are no summaries, and the tick counter begins at 0.
    pub direct: bool,
}

impl Default for Options {
    /// Linux 6.1 with default settings, compression off, on a machine that hashes names by the byte.
    fn default() -> Self {
        Options {
            compression: Compression::None,
            lzo: Release::Lzo2_06,
            summary: false,
            // Debian's kernels have them (debian/config/config of linux 6.1), and the 2.6.37 of the papers' board
            // (arch/arm/configs/omap3_evm_defconfig).
            xattrs: true,
            wbuf_timer: WbufTimer::DelayedWork,
            wbuf_delay_ms: 5_000,
            wake_during_pass: WakeDuringPass::Kept,
            sync_manner: SyncManner::Pads,
            gaps_in_page_stay: false,
            name_hash: NameHash::Bytes,
            endian: Endian::Little,
            read_only: false,
            direct: false,
        }
    }
}

impl Options {
    /// As Linux 2.6.37 behaves.
    pub fn linux_2_6_37() -> Self {
        Options {
            lzo: Release::Lzo2_02,
            wbuf_timer: WbufTimer::SyncSupers,
            wake_during_pass: WakeDuringPass::Lost,
            sync_manner: SyncManner::Collects,
            gaps_in_page_stay: true,
            ..Options::default()
        }
    }
}
