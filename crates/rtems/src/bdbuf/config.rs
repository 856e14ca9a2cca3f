//! The options of `confdefs.h` that shape the block device buffer cache, and what it counts.

use std::ops::Sub;
use thiserror::Error;

/// A task's priority: 1 is the most urgent, 255 the least (RTEMS's classic order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Priority(pub u8);

/// `CONFIGURE_BDBUF_*`; the defaults are those of RTEMS (`cpukit/sapi/include/confdefs.h`, `cpukit/include/rtems/bdbuf.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BdbufConfig {
    /// `CONFIGURE_BDBUF_BUFFER_MIN_SIZE`: the smallest buffer.
    pub buffer_min_bytes: u32,
    /// `CONFIGURE_BDBUF_BUFFER_MAX_SIZE`: the largest buffer, a multiple of the smallest. Groups are that large.
    pub buffer_max_bytes: u32,
    /// `CONFIGURE_BDBUF_CACHE_MEMORY_SIZE`.
    pub cache_memory_bytes: u32,
    /// `CONFIGURE_BDBUF_MAX_READ_AHEAD_BLOCKS`; 0: there is no read-ahead task.
    pub max_read_ahead_blocks: u32,
    /// `CONFIGURE_BDBUF_MAX_WRITE_BLOCKS`: buffers in one request to a driver.
    pub max_write_blocks: u32,
    /// `CONFIGURE_SWAPOUT_TASK_PRIORITY`.
    pub swapout_task_priority: Priority,
    /// `CONFIGURE_SWAPOUT_SWAP_PERIOD`: how often the swap-out task looks.
    pub swapout_swap_period_ms: u32,
    /// `CONFIGURE_SWAPOUT_BLOCK_HOLD`: how long a modified buffer stays in memory.
    pub swapout_block_hold_ms: u32,
    /// `CONFIGURE_SWAPOUT_WORKER_TASKS`.
    pub swapout_worker_tasks_count: u32,
    /// `CONFIGURE_SWAPOUT_WORKER_TASK_PRIORITY`.
    pub swapout_worker_task_priority: Priority,
    /// `CONFIGURE_BDBUF_READ_AHEAD_TASK_PRIORITY`.
    pub read_ahead_task_priority: Priority,
    /// `CONFIGURE_BDBUF_TASK_STACK_SIZE`: memory of each of these tasks.
    pub task_stack_bytes: u32,
    /// `CONFIGURE_MICROSECONDS_PER_TICK`: the period of the clock tick; a wait with a timeout ends at a tick.
    pub tick_us: u32,
    /// Priority of the one application task.
    pub application_priority: Priority,
}

impl Default for BdbufConfig {
    fn default() -> Self {
        Self {
            buffer_min_bytes: 512,
            buffer_max_bytes: 4096,
            cache_memory_bytes: 64 * 512,
            max_read_ahead_blocks: 0,
            max_write_blocks: 16,
            swapout_task_priority: Priority(15),
            swapout_swap_period_ms: 250,
            swapout_block_hold_ms: 1000,
            swapout_worker_tasks_count: 0,
            swapout_worker_task_priority: Priority(15),
            read_ahead_task_priority: Priority(15),
            task_stack_bytes: 4096,
            tick_us: 10_000,
            application_priority: Priority(1),
        }
    }
}

impl BdbufConfig {
    /// Minimum-size buffers in a group.
    pub(super) fn slots_per_group(&self) -> u32 {
        self.buffer_max_bytes / self.buffer_min_bytes
    }

    /// Groups that fit the memory; integer divisions, as in `rtems_bdbuf_do_init`.
    pub(super) fn groups(&self) -> u32 {
        self.cache_memory_bytes / self.buffer_min_bytes / self.slots_per_group()
    }

    /// Refuses what `rtems_bdbuf_do_init` refuses, and configurations with which RTEMS would crash.
    pub(super) fn check(&self) -> Result<(), BdbufError> {
        let bad = |what: String| Err(BdbufError::Configuration { what });
        if self.buffer_min_bytes == 0 || self.buffer_max_bytes == 0 {
            return bad("a buffer has at least one byte".into());
        }
        if !self.buffer_max_bytes.is_multiple_of(self.buffer_min_bytes) {
            let (max, min) = (self.buffer_max_bytes, self.buffer_min_bytes);
            return bad(format!("the largest buffer ({max} B) must be a multiple of the smallest ({min} B)"));
        }
        if self.groups() == 0 {
            let (memory, max) = (self.cache_memory_bytes, self.buffer_max_bytes);
            return bad(format!(
                "the cache memory ({memory} B) does not hold one buffer of the largest size ({max} B)"
            ));
        }
        if self.cache_memory_bytes > 1 << 30 {
            return bad(format!("the cache memory ({} B) exceeds 1 GiB", self.cache_memory_bytes));
        }
        if self.max_write_blocks == 0 {
            return bad("a write request holds at least one block (max_write_blocks is 0)".into());
        }
        if self.tick_us == 0 || self.swapout_swap_period_ms == 0 {
            return bad("the tick and the swap-out period are longer than 0".into());
        }
        if self.swapout_worker_tasks_count > 64 {
            return bad(format!("{} swap-out workers; at most 64", self.swapout_worker_tasks_count));
        }
        Ok(())
    }
}

/// Why a call into the cache failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BdbufError {
    #[error("bdbuf: {what}")]
    Configuration { what: String },
    /// `RTEMS_INVALID_ID`.
    #[error("bdbuf: block {block} is beyond the end of the device, which has {blocks} blocks")]
    NoSuchBlock { block: u32, blocks: u32 },
    /// `RTEMS_INVALID_NUMBER`.
    #[error("bdbuf: block size {bytes} B must be between 1 B and the largest buffer, {max_bytes} B")]
    BlockSize { bytes: u32, max_bytes: u32 },
    /// The driver failed.
    #[error("bdbuf: the device reported an error")]
    Io,
    /// The simulated power went away.
    #[error("bdbuf: the power was cut")]
    PowerCut,
    /// The real system would hang: the task waits for a buffer that only the task itself could give back.
    #[error("bdbuf: every buffer that fits is held by the caller; the cache is too small for this file system")]
    Deadlock,
}

impl From<BdbufError> for ffslab_fs::Errno {
    /// File systems report whatever went wrong in the cache as EIO (`rtems-rfs-buffer-bdbuf.c`, `fat.c`).
    fn from(error: BdbufError) -> Self {
        match error {
            BdbufError::PowerCut => ffslab_fs::Errno::PowerCut,
            _ => ffslab_fs::Errno::Io,
        }
    }
}

/// Calls into the cache and requests to drivers since the start. The names are those of the measured cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BdbufCounts {
    pub read_calls: u64,
    pub get_calls: u64,
    pub release_calls: u64,
    pub release_modified_calls: u64,
    pub syncdev_calls: u64,
    pub set_block_size_calls: u64,
    pub read_hits_count: u64,
    pub read_misses_count: u64,
    pub read_requests: u64,
    pub read_buffers_count: u64,
    pub read_bytes: u64,
    pub write_requests: u64,
    pub write_buffers_count: u64,
    pub write_bytes: u64,
    pub read_ahead_requests: u64,
    /// Part of `write_bytes`: what the setup of an experiment had left in the cache.
    pub of_setup_bytes: u64,
}

impl BdbufCounts {
    /// Name in the measured cases and value of each counter.
    pub fn named(&self) -> [(&'static str, u64); 14] {
        [
            ("bdbuf_read", self.read_calls),
            ("bdbuf_get", self.get_calls),
            ("bdbuf_release", self.release_calls),
            ("bdbuf_release_modified", self.release_modified_calls),
            ("bdbuf_syncdev", self.syncdev_calls),
            ("bdbuf_set_block_size", self.set_block_size_calls),
            ("read_hits", self.read_hits_count),
            ("read_misses", self.read_misses_count),
            ("dev_read_requests", self.read_requests),
            ("dev_read_buffers", self.read_buffers_count),
            ("dev_read_bytes", self.read_bytes),
            ("dev_write_requests", self.write_requests),
            ("dev_write_buffers", self.write_buffers_count),
            ("dev_write_bytes", self.write_bytes),
        ]
    }
}

impl Sub for BdbufCounts {
    type Output = BdbufCounts;
    fn sub(self, before: BdbufCounts) -> BdbufCounts {
        BdbufCounts {
            read_calls: self.read_calls - before.read_calls,
            get_calls: self.get_calls - before.get_calls,
            release_calls: self.release_calls - before.release_calls,
            release_modified_calls: self.release_modified_calls - before.release_modified_calls,
            syncdev_calls: self.syncdev_calls - before.syncdev_calls,
            set_block_size_calls: self.set_block_size_calls - before.set_block_size_calls,
            read_hits_count: self.read_hits_count - before.read_hits_count,
            read_misses_count: self.read_misses_count - before.read_misses_count,
            read_requests: self.read_requests - before.read_requests,
            read_buffers_count: self.read_buffers_count - before.read_buffers_count,
            read_bytes: self.read_bytes - before.read_bytes,
            write_requests: self.write_requests - before.write_requests,
            write_buffers_count: self.write_buffers_count - before.write_buffers_count,
            write_bytes: self.write_bytes - before.write_bytes,
            read_ahead_requests: self.read_ahead_requests - before.read_ahead_requests,
            of_setup_bytes: self.of_setup_bytes - before.of_setup_bytes,
        }
    }
}
