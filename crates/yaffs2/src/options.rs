//! What differs between the YAFFS2 versions that boards run, and what mount options choose.

use ffslab_sim::Sim;

/// The age of the sources. YAFFS2 has no version numbers; these are the changes that move counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// Before 2011-03: no block summaries; whole chunks bypass the short-op cache.
    Y2010,
    /// 2011-03 to 2012-06: block summaries; whole chunks bypass the cache.
    Y2011,
    /// From 2012-06 on: every write passes the cache, which therefore reads the old chunk first; a full cache writes
    /// all dirty chunks of a file.
    Y2012,
    /// June 2026: a full cache writes only its least recently used chunk, and flushed chunks stay cached.
    Today,
}

/// The background thread of the Linux port (`yaffs_bg_thread_fn`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Background {
    /// Pause between two updates of changed directories.
    pub directory_update_ns: u64,
    /// Pause after a garbage collection step at urgency 0, 1 and 2.
    pub collect_ns: [u64; 3],
    /// How much later than due the thread runs. Linux: one tick, because it arms its timer for the tick after.
    pub timer_late_ns: u64,
}

impl Background {
    /// As the Linux port computes it from the tick rate (`HZ`, `HZ * 2`, `HZ / 10 + 1`, `HZ / 20 + 1`).
    pub fn linux(tick_rate_hz: u32) -> Background {
        let tick_ns = 1_000_000_000 / u64::from(tick_rate_hz.max(1));
        let ticks = |count: u32| u64::from(count) * tick_ns;
        Background {
            directory_update_ns: ticks(tick_rate_hz),
            collect_ns: [ticks(2 * tick_rate_hz), ticks(tick_rate_hz / 10 + 1), ticks(tick_rate_hz / 20 + 1)],
            timer_late_ns: tick_ns,
        }
    }

    /// The present time as the thread sees it: Linux measures it in ticks, so it is rounded down to a tick.
    pub(crate) fn now_ns(&self, sim: &Sim) -> u64 {
        let now_ns = sim.now_ns();
        now_ns - now_ns.checked_rem(self.timer_late_ns).unwrap_or(0)
    }
}

/// Settings of a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub generation: Generation,
    /// Writes of whole chunks go past the short-op cache (`cache_bypass_aligned`).
    pub cache_bypass_aligned: bool,
    /// The last chunks of each block hold the tags of the others. Off: mount option `disable-summary`.
    pub block_summaries: bool,
    /// Size of the short-op cache, at most 20 chunks; 0 switches it off (mount option `no-cache`).
    pub short_op_cache_pages: u32,
    /// Erase blocks that only the garbage collection may use; at least 2.
    pub reserved_blocks: u32,
    /// The oldest block is rewritten each time so many blocks have been collected; below 10 never.
    pub refresh_period_blocks: u32,
    /// Tags carry an ECC of their own (`tags-ecc-on`).
    pub tags_ecc: bool,
    /// Tags lie at the end of the page's data area instead of the OOB area (`inband-tags`).
    pub inband_tags: bool,
    /// A mount reads object headers only when they are needed.
    pub lazy_loading: bool,
    /// A mount deletes what lies in lost+found.
    pub empty_lost_and_found: bool,
    /// A directory whose entries changed gets its new time stamp later (background thread or sync), not at once.
    pub deferred_directory_update: bool,
    /// A mount uses a checkpoint if there is one. Off: mount option `no-checkpoint-read`.
    pub checkpoint_read: bool,
    /// Unmount and sync write checkpoints. Off: mount option `no-checkpoint-write`.
    pub checkpoint_write: bool,
    /// sync(2) writes a checkpoint, too (`yaffs_auto_checkpoint` of 1 or more).
    pub checkpoint_at_sync: bool,
    /// Width of a pointer on the machine, in bits. The space kept for a checkpoint depends on the size of tnodes in
    /// memory, which holds pointers.
    pub pointer_bits: u32,
    /// `None`: there is no background thread, as below RTEMS.
    pub background: Option<Background>,
    /// How often the kernel looks whether the super block has changed (`dirty_writeback_interval`), upon which the port
    /// writes what is dirty (`yaffs_write_super`). `None`: never, as since Linux 3.6 and without Linux.
    pub super_sync_interval_ms: Option<u32>,
    /// A program or RTEMS calls YAFFS2 without Linux in between: there are no inodes, and attributes are those of
    /// objects.
    pub direct: bool,
    /// Nothing is changed, and there is no background thread (`ro`). As in the original, a mount after a power cut may still
    /// erase blocks that hold nothing any more.
    pub read_only: bool,
}

impl Options {
    /// The defaults of the Linux port of that time, on a 32-bit machine with 100 ticks per second.
    pub fn of(generation: Generation) -> Options {
        Options {
            generation,
            cache_bypass_aligned: generation < Generation::Y2012,
            block_summaries: generation >= Generation::Y2011,
            short_op_cache_pages: 10,
            reserved_blocks: 5,
            refresh_period_blocks: 500,
            tags_ecc: true,
            inband_tags: false,
            lazy_loading: true,
            empty_lost_and_found: true,
            deferred_directory_update: true,
            checkpoint_read: true,
            checkpoint_write: true,
            checkpoint_at_sync: true,
            pointer_bits: 32,
            background: Some(Background::linux(100)),
            super_sync_interval_ms: None,
            direct: false,
            read_only: false,
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::of(Generation::Today)
    }
}
