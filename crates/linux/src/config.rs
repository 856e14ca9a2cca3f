//! What the simulated kernel is and what its own work costs.

use ffslab_fs::NameHash;
use ffslab_policy::{ReadAheadPolicy, WriteBackOrder};
use ffslab_sim::{ChipLock, PowerMilliwatt, Preemption, TimerWheel};

/// Which kernel's read-ahead is simulated, the oldest first. The kernels differ in how much a window grows after cached
/// pages, how far it may exceed the maximum, which reads are taken as sequential, and how a request walks the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadAheadRules {
    /// `mm/readahead.c` and `mm/filemap.c` of Linux 2.6.31 to 2.6.39.
    V2_6,
    /// Linux 5.10: a request still walks page by page, the windows are those of 6.1 but for one comparison.
    V5_10,
    /// Linux 6.1: a request takes cached pages in batches (`filemap_read`).
    V6_1,
    /// Linux 6.11 and 6.12: what a missing page and what a mark does are two functions, and windows are not merged.
    V6_11,
}

/// Which kernel's write-back is simulated: `fs/fs-writeback.c` and `mm/page-writeback.c`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteBackRules {
    /// Linux 2.6.37. The inodes of a round share a portion of 1024 pages. The flusher compares dirty pages with the
    /// background limit only when a writer asks for it. A writer over the limit writes pages itself and then pauses,
    /// each time longer.
    V2_6,
    /// Linux 6.1. Each inode has a portion of its own. The flusher compares dirty pages with the background limit
    /// whenever it wakes. Writers only pause, for so long that no more pages are dirtied than are written.
    V6_1,
}

/// When `drop_caches` has done enough (`drop_slab` of `mm/vmscan.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkRules {
    /// Linux 2.6.37: caches are shrunk in portions, see [`Kernel::dentries_spared_count`].
    V2_6,
    /// From Linux 3.12 on: after a pass that has freed ten objects or fewer.
    V3_12,
    /// From Linux 5.15 on: after a pass that has freed fewer than two, the next one fewer than four, then eight, and so on.
    V5_15,
}

/// Properties of a kernel that decide which requests reach the file system.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// For reports: "2.6.37", "6.1.192" ...
    pub name: String,
    pub read_ahead: ReadAheadRules,
    /// On 32-bit kernels before 3.13 the distance to the previous read was a signed 64-bit number compared with 1, so
    /// that every cache miss behind the previous read counted as sequential.
    pub sequential_miss_bug: bool,
    pub write_back: WriteBackRules,
    /// `drop_caches` evicts no name, and so no inode, while fewer names than this are unused: kernels that shrink caches in
    /// hundreds (`fs/dcache.c` of 2.6.37, `shrink_dcache_memory`) have 100, others 0.
    pub dentries_spared_count: usize,
    /// When `drop_caches` has done enough.
    pub shrink: ShrinkRules,
    /// Each write(2) asks the file system for the capability that it would have to take away (`file_remove_suid` of
    /// `mm/filemap.c`), and nothing remembers that a file has none.
    pub write_looks_up_capability: bool,
    /// Where a device has a small share of the background limit, the flusher adds up what each CPU has counted of its dirty pages
    /// (`wb_over_bg_thresh` of `mm/page-writeback.c`, since 5.14). Before, on a kernel for several CPUs, it does not see fewer
    /// than a batch of them.
    pub sums_dirty_pages: bool,
    /// How late `nanosleep` ends: the timer slack of a normal process, 50,000 ns by default (`init/init_task.c`).
    pub timer_slack_ns: u64,
    /// When its timers fire.
    pub timer_wheel: TimerWheel,
    /// How tasks take the chip from each other.
    pub chip_lock: ChipLock,
    /// Where tasks may lose the CPU.
    pub preemption: Preemption,
    /// The clock of the scheduler stops between the request that the running task yield and its next scheduling point: see
    /// [`ffslab_sim::SimConfig::clock_stops_when_asked`].
    pub clock_stops_when_asked: bool,
    /// On a kernel for several CPUs a thread waits until nobody looks any more at what is to be freed, such as a closed file
    /// ([`ffslab_sim::SimConfig::grace_period_thread`]).
    pub grace_period_thread: bool,
    /// A closed file is such a thing (`file_free` of `fs/file_table.c`, until 6.7).
    pub frees_files_later: bool,
    /// An unmount waits until all readers have left the list of mounts, and a worker sees to that (`namespace_unlock` of
    /// `fs/namespace.c`, `synchronize_rcu_expedited`): the worker gets the CPU at once, and when it sleeps again, whoever has
    /// had the CPU least. Kernels for one CPU, and those before 6.1 that cannot be pre-empted, have nothing to wait for.
    pub unmount_wakes_worker: bool,
    /// How it hashes names on the machine that it was built for.
    pub name_hash: NameHash,
}

impl Default for Kernel {
    /// A kernel of today for one CPU, without a name.
    fn default() -> Kernel {
        Kernel {
            name: String::new(),
            read_ahead: ReadAheadRules::V6_1,
            sequential_miss_bug: false,
            write_back: WriteBackRules::V6_1,
            dentries_spared_count: 0,
            shrink: ShrinkRules::V5_15,
            write_looks_up_capability: false,
            sums_dirty_pages: true,
            timer_slack_ns: 50_000,
            timer_wheel: TimerWheel::Levels,
            chip_lock: ChipLock::Mutex,
            preemption: Preemption::None,
            clock_stops_when_asked: false,
            grace_period_thread: true,
            frees_files_later: true,
            unmount_wakes_worker: false,
            name_hash: NameHash::Bytes,
        }
    }
}

/// CPU time of the system calls themselves, without what the file system and the driver below spend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VfsCosts {
    /// One `gettimeofday` or `clock_gettime` of the measuring program.
    pub clock_read_ns: u64,
    /// Entry and exit of a system call.
    pub call_ns: u64,
    /// What write(2) does beside that before its first page and after its last one: checks, the inode's lock, its time stamps.
    pub write_ns: u64,
    /// Copying a page, or a part of one, between the page cache and the program. Measured cases whose clock ticks by
    /// pieces use this price; boards price copies by page and by byte, as [`ffslab_sim::Work`].
    pub page_ns: u64,
    /// Taking a page out of the page cache when its file is deleted or cut, when caches are dropped or the file system is unmounted
    /// (`mm/truncate.c`, `invalidate_mapping_pages` and `truncate_inode_pages`). A cache of many MiB takes some ten
    /// milliseconds, in which a background task may have its turn.
    pub page_drop_ns: u64,
    /// What it takes more when a file is deleted or cut, as the file system then forgets what it has stored for the page: keys of an
    /// index, references to nodes, chunks.
    pub page_delete_ns: u64,
    /// What `drop_caches` takes beside the pages that it drops: it looks at each inode and each directory entry of the machine
    /// (`fs/drop_caches.c`), also of file systems that are not simulated. Other tasks may have their turns meanwhile.
    pub drop_caches_ns: u64,
    /// Making a file, beside what the file system does: its name, its inode in memory.
    pub create_ns: u64,
    /// What the first file since the mount takes beside that: slabs and pages that such files need are not there yet.
    pub first_create_ns: u64,
    /// What an unmount takes before it waits for the readers of the list of mounts, and what the worker takes
    /// ([`Kernel::unmount_wakes_worker`]).
    pub unmount_ns: u64,
    /// Power that the CPU draws while these costs run.
    pub cpu_power: PowerMilliwatt,
}

/// The number of dirty pages at which the flusher starts writing at once, and the number at which writers are held up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyLimits {
    /// `dirty_ratio`, `dirty_background_ratio`: percentages of the memory that the page cache may take.
    Percent { dirty_percent: u32, background_percent: u32 },
    /// `dirty_bytes`, `dirty_background_bytes`.
    Bytes { dirty_bytes: u64, background_bytes: u64 },
}

/// Settings of write-back (`/proc/sys/vm`). They matter only to file systems that delay writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBackKnobs {
    /// How often the flusher looks for pages that have been dirty for too long (`dirty_writeback_centisecs`); 0: never.
    pub writeback_interval_ms: u32,
    /// After how long a dirty page is written (`dirty_expire_centisecs`).
    pub expire_ms: u32,
    pub limits: DirtyLimits,
}

impl Default for WriteBackKnobs {
    /// `mm/page-writeback.c` of all kernels in question.
    fn default() -> Self {
        let limits = DirtyLimits::Percent { dirty_percent: 20, background_percent: 10 };
        WriteBackKnobs { writeback_interval_ms: 5_000, expire_ms: 30_000, limits }
    }
}

/// Who decides in the page cache in place of the kernel; `None`: the kernel does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagePolicies {
    /// What is read when a page is missing in the cache, or one that carries the mark of read-ahead is touched, in reads and page
    /// faults. It is asked whatever `read_ahead_bytes` says; files that are opened with POSIX_FADV_RANDOM are left to the kernel.
    pub read_ahead: Option<ReadAheadPolicy>,
    /// Which file the flusher takes next.
    pub write_back: Option<WriteBackOrder>,
}

/// Everything [`crate::Vfs::new`] needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct VfsConfig {
    pub kernel: Kernel,
    /// Read-ahead of the backing device (`read_ahead_kb`); rounded down to pages, 0 switches it off.
    pub read_ahead_bytes: u32,
    /// Memory that the page cache may take; at least 16 pages are granted.
    pub page_cache_bytes: u64,
    pub write_back: WriteBackKnobs,
    pub policies: PagePolicies,
    pub costs: VfsCosts,
    /// Time of day at virtual time 0, in seconds since 1970.
    pub epoch_s: u64,
    /// How far its wall clock was in that second. File systems that keep times by whole seconds write an inode whenever a new
    /// second has begun, so it decides which of many writes also writes the inode.
    pub epoch_ns: u32,
    /// How many unused names and other objects the rest of the machine has for the first pass of the first `drop_caches`. `None`: so
    /// many, and always new ones, that passes follow each other until nothing is left. Only a machine that boots from an archive in
    /// memory, and does nothing else than run the program, has so few that the kernel's rule shows.
    pub others_unused_count: Option<usize>,
    /// The kernel is one for several CPUs (`CONFIG_SMP`), though the machine has one: its counters are seen in batches.
    pub smp: bool,
}
