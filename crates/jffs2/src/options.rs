//! Mount options and the few behaviours that differ between kernels.

use crate::compress::Compression;
use crate::format::Endian;

/// When data that wait in the write buffer are written by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WbufTimer {
    /// A delayed work that is queued with the first byte (Linux 6.1 `wbuf.c`, `jffs2_dirty_trigger`).
    DelayedWork,
    /// The `sync_supers` thread looks every period whether the superblock is dirty (Linux 2.6.37 `mm/backing-dev.c`).
    SyncSupers,
}

/// What happens to wake-ups that reach the garbage collection thread while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeDuringPass {
    /// They stay pending, so the next round starts at once (`sigprocmask`, Linux 6.1 `background.c`).
    Kept,
    /// They are lost (`disallow_signal`, Linux 2.6.37).
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub compression: Compression,
    /// Erase block summaries (`CONFIG_JFFS2_SUMMARY`).
    pub summary: bool,
    pub wbuf_timer: WbufTimer,
    /// `dirty_writeback_interval`: how long data may wait in the write buffer.
    pub wbuf_delay_ms: u32,
    pub wake_during_pass: WakeDuringPass,
    /// Byte order of the medium.
    pub endian: Endian,
    /// Nothing is written, and there is no garbage collection thread (`ro`).
    pub read_only: bool,
}

impl Default for Options {
    /// Linux 6.1 with default settings, compression off.
    fn default() -> Self {
        Options {
            compression: Compression::None,
            summary: false,
            wbuf_timer: WbufTimer::DelayedWork,
            wbuf_delay_ms: 5_000,
            wake_during_pass: WakeDuringPass::Kept,
            endian: Endian::Little,
            read_only: false,
        }
    }
}

impl Options {
    /// As Linux 2.6.37 behaves.
    pub fn linux_2_6_37() -> Self {
        Options { wbuf_timer: WbufTimer::SyncSupers, wake_during_pass: WakeDuringPass::Lost, ..Options::default() }
    }
}
