//! The keys of a kernel's profile, and what they say as the layers take it.

use crate::constant::{said, Amount, Sourced};
use ffslab_linux::{Kernel, NameHash, ReadAheadRules, ShrinkRules, WriteBackRules};
use ffslab_lzo::Release;
use ffslab_sim::units::us_to_ns;
use ffslab_sim::{ChipLock, Preemption, TimerWheel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Words of a profile, each of which stands for a variant of the same name.
macro_rules! words {
    ($name:ident for $rules:ident: $($word:literal $one:ident),+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
        enum $name {
            $(#[serde(rename = $word)] $one),+
        }

        impl From<$name> for $rules {
            fn from(name: $name) -> $rules {
                match name {
                    $($name::$one => $rules::$one),+
                }
            }
        }
    };
}

words!(ReadAheadName for ReadAheadRules: "2.6" V2_6, "5.10" V5_10, "6.1" V6_1, "6.11" V6_11);
words!(ShrinkName for ShrinkRules: "2.6" V2_6, "3.12" V3_12, "5.15" V5_15);
words!(WriteBackName for WriteBackRules: "2.6" V2_6, "6.1" V6_1);
words!(TimerWheelName for TimerWheel: "exact" Exact, "levels" Levels);
words!(ChipLockName for ChipLock: "mutex" Mutex, "queue" Queue);
words!(LzoName for Release: "2.02" Lzo2_02, "2.06" Lzo2_06);
words!(NameHashName for NameHash: "bytes" Bytes, "words32" Words32, "words64" Words64);

/// Ages of YAFFS2's sources that differ in what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Yaffs2Version {
    /// Before 2011-03: no block summaries.
    #[serde(rename = "2010")]
    Y2010,
    /// 2011-03 to 2012-06: block summaries, whole chunks bypass the short-op cache.
    #[serde(rename = "2011")]
    Y2011,
    /// From 2012-06 on: every write passes the cache.
    #[serde(rename = "2012")]
    Y2012,
    /// 2026: a full cache writes one chunk.
    #[serde(rename = "today")]
    Today,
}

/// Which kernel's file system is simulated, by the first that was read whose rules these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum FsRules {
    #[serde(rename = "2.6")]
    V2_6,
    #[serde(rename = "6.1")]
    V6_1,
}

/// Of what UBI keeps a share for blocks that go bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReserveOf {
    Partition,
    Chip,
}

/// How kernels drive SPI NAND (`drivers/mtd/nand/spi/core.c`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SpiNandRules {
    /// The status is read without a pause until the chip has finished.
    #[serde(rename = "4.19")]
    V4_19,
    /// It is read after a first delay, with pauses in between (`spi_mem_poll_status`).
    #[serde(rename = "5.14")]
    V5_14,
    /// As 5.14, and chips that can send page after page of an erase block (`spinand_mtd_continuous_page_read`).
    #[serde(rename = "6.12")]
    V6_12,
}

/// What kernels make of raw NAND whose cells hold several bits (`mtd->type`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum MlcRules {
    /// It is NAND like any other (`MTD_NANDFLASH`).
    #[serde(rename = "2.6")]
    V2_6,
    /// It has a type of its own (`MTD_MLCNANDFLASH`, since 3.13), and UBI refuses it.
    #[serde(rename = "4.17")]
    V4_17,
    /// UBI takes partitions in SLC mode (`MTD_SLC_ON_MLC_EMULATION`).
    #[serde(rename = "5.8")]
    V5_8,
}

/// How kernels read squashfs (`fs/squashfs`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum SquashfsRules {
    /// Through the page cache of the device, which is not followed.
    #[serde(rename = "2.6")]
    V2_6,
    /// Past it, page by page.
    #[serde(rename = "5.8")]
    V5_8,
    /// As 5.8, but nothing is read ahead, which is not followed.
    #[serde(rename = "5.18")]
    V5_18,
    /// Windows of read-ahead are read block by block.
    #[serde(rename = "6.0")]
    V6_0,
    /// As 6.0, and a shorter last block is not read twice.
    #[serde(rename = "6.12")]
    V6_12,
}

/// How kernels read EROFS (`fs/erofs`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum ErofsRules {
    /// Those before it, which were not read.
    #[serde(rename = "5.4")]
    V5_4,
    /// Clusters of one page, and no pages beside a window are filled.
    #[serde(rename = "5.10")]
    V5_10,
    /// Those after it, which were not read.
    #[serde(rename = "5.11")]
    V5_11,
    #[serde(rename = "6.1")]
    V6_1,
    /// Those after it, which were not read.
    #[serde(rename = "6.2")]
    V6_2,
    /// As 6.1, but other clusters are kept.
    #[serde(rename = "6.6")]
    V6_6,
}

/// How kernels lay one file system over another (`fs/overlayfs`), by the first that does so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum OverlayfsRules {
    /// Those before it, which were not read.
    #[serde(rename = "3.18")]
    V3_18,
    #[serde(rename = "6.1")]
    V6_1,
    /// Those after it, which were not read.
    #[serde(rename = "6.2")]
    V6_2,
}

/// Rules and defaults of a kernel: those of its version (`profiles/kernels.toml`), or what a file says. What a whole file leaves out that
/// is not needed is as in the kernels of today.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelProfile {
    /// What people read of it.
    pub title: String,
    /// Version or file of the kernel that says what this file does not.
    pub base: Option<String>,
    /// The first kernel whose rules of read-ahead it follows.
    read_ahead_rules: Sourced<ReadAheadName>,
    /// Read-ahead on MTD devices.
    #[serde(rename = "read_ahead_KiB")]
    pub(crate) read_ahead_kib: Sourced<u32>,
    /// Whether a read of several missing pages behind one another counts as random (2.6).
    sequential_miss_bug: Sourced<bool>,
    /// Unused names that drop_caches leaves in memory.
    dentries_spared_count: Sourced<usize>,
    /// The first kernel whose rule ends drop_caches. Absent: 5.15. It shows on a machine with nothing but the file system in memory.
    shrink_rules: Option<Sourced<ShrinkName>>,
    /// Whether each write(2) asks the file system for `security.capability`.
    write_looks_up_capability: Sourced<bool>,
    /// Whether the flusher adds up what all CPUs have counted of a device's dirty pages, so that it sees few of them (since 5.14).
    sums_dirty_pages: Sourced<bool>,
    /// Timer ticks per second (CONFIG_HZ).
    pub(crate) hz: Sourced<u32>,
    /// How late a sleep of a program ends.
    timer_slack_us: Sourced<Amount>,
    /// When timers fire: in the tick for which they are set, or by levels, the later the coarser. Absent: by levels, as since 4.8.
    timer_wheel: Option<Sourced<TimerWheelName>>,
    /// Whether the scheduler's clock stops from a wake-up that asks the running task to yield until it does. Absent: no, as since 4.0.
    clock_stops_when_asked: Option<Sourced<bool>>,
    /// Whether a kernel for several CPUs has a thread that waits for grace periods of RCU. Absent: yes, as since 3.7.
    grace_period_thread: Option<Sourced<bool>>,
    /// Whether a closed file waits for a grace period. Absent: yes, as until 6.6.
    frees_files_later: Option<Sourced<bool>>,
    /// How tasks wait for the chip. Absent: a mutex, as in all kernels of today.
    chip_lock: Option<Sourced<ChipLockName>>,
    /// What its hash of a name takes at once: bytes, or little-endian words of 32 or 64 bits. Absent: bytes.
    name_hash: Option<Sourced<NameHashName>>,
    /// Whether a read reports each bit that ECC corrected. Absent: from three quarters of its strength on.
    pub(crate) reports_each_bitflip: Option<Sourced<bool>>,
    /// The first kernel whose rules of MLC it follows. Absent: those of 5.8.
    mlc_rules: Option<Sourced<MlcRules>>,
    /// The first kernel whose rules of SPI NAND it follows. Absent: it drives none.
    spi_nand_rules: Option<Sourced<SpiNandRules>>,
    /// Version of the YAFFS2 sources with which the kernel was patched, as YAFFS2 is not part of Linux.
    yaffs2_version: Option<Sourced<Yaffs2Version>>,
    /// Whether the thread sync_supers has file systems write their changed super blocks, which YAFFS2 does. Absent: no, as since 3.6.
    syncs_super_blocks: Option<Sourced<bool>>,
    /// The kernel whose JFFS2 it has. Absent: that of 6.1.
    jffs2_rules: Option<Sourced<FsRules>>,
    /// Whether a write behind the end of a file on JFFS2, in its last page, brings back what a truncation had cut off. Absent: no, as
    /// since 23892d383bee of Linux 6.3 and in the stable series since the spring of 2023.
    jffs2_gap_bug: Option<Sourced<bool>>,
    /// The release of LZO, with which JFFS2 and UBIFS compress. Absent: 2.06, as since 3.9.
    lzo_release: Option<Sourced<LzoName>>,
    /// Whether UBI asks how long data will stay. Absent: no, as since 3.7.
    ubi_asks_data_life: Option<Sourced<bool>>,
    /// Whether a flush of UBI does all waiting works, whichever volume asks. Absent: no, as since 3.5.
    ubi_flushes_all_works: Option<Sourced<bool>>,
    /// Whether UBI reads back what could not be written. Absent: yes, as since 3.5.
    ubi_reads_failed_writes: Option<Sourced<bool>>,
    /// Of what UBI keeps a share for blocks that go bad, the partition or the chip. Absent: the chip, as since 3.7.
    ubi_reserve_of: Option<Sourced<ReserveOf>>,
    /// The kernel whose UBIFS it has. Absent: that of 6.1.
    ubifs_rules: Option<Sourced<FsRules>>,
    /// The first kernel whose rules of squashfs it follows. Absent: those of 6.0.
    squashfs_rules: Option<Sourced<SquashfsRules>>,
    /// The first kernel whose rules of EROFS it follows. Absent: those of 6.1.
    erofs_rules: Option<Sourced<ErofsRules>>,
    /// The first kernel whose rules of overlayfs it follows. Absent: those of 6.1.
    overlayfs_rules: Option<Sourced<OverlayfsRules>>,
    /// The first kernel whose rules of write-back it follows.
    write_back_rules: Sourced<WriteBackName>,
    /// How often the flusher looks for what is old (`vm.dirty_writeback_centisecs`).
    pub(crate) dirty_writeback_ms: Sourced<u32>,
    /// Age at which it writes (`vm.dirty_expire_centisecs`).
    pub(crate) dirty_expire_ms: Sourced<u32>,
    /// Share of memory that may be dirty before writers are held up (`vm.dirty_ratio`).
    pub(crate) dirty_ratio_pct: Sourced<u32>,
    /// Share of memory that may be dirty before the flusher begins (`vm.dirty_background_ratio`).
    pub(crate) dirty_background_ratio_pct: Sourced<u32>,
}

/// What file systems, UBI and drivers do that are part of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashRules {
    pub mlc: MlcRules,
    /// `None`: SPI NAND is not driven.
    pub spi_nand: Option<SpiNandRules>,
    pub yaffs2: Yaffs2Version,
    /// A thread has file systems write their changed super blocks.
    pub syncs_super_blocks: bool,
    pub jffs2: FsRules,
    /// A write behind the end of a file on JFFS2, but in the file's last page, lets bytes come back that a truncation had cut off
    /// (`jffs2_write_begin` of `fs/jffs2/file.c` before 23892d383bee).
    pub jffs2_gap_bug: bool,
    pub lzo: Release,
    pub ubi_asks_data_life: bool,
    pub ubi_flushes_all_works: bool,
    pub ubi_reads_failed_writes: bool,
    pub ubi_reserve_of: ReserveOf,
    pub ubifs: FsRules,
    pub squashfs: SquashfsRules,
    pub erofs: ErofsRules,
    pub overlayfs: OverlayfsRules,
}

impl KernelProfile {
    /// What the kernel called `name` does above its file systems.
    pub(crate) fn rules(&self, name: &str) -> Kernel {
        Kernel {
            name: name.to_string(),
            read_ahead: self.read_ahead_rules.value.into(),
            sequential_miss_bug: self.sequential_miss_bug.value,
            dentries_spared_count: self.dentries_spared_count.value,
            shrink: said(&self.shrink_rules).map_or(ShrinkRules::V5_15, ShrinkRules::from),
            write_looks_up_capability: self.write_looks_up_capability.value,
            sums_dirty_pages: self.sums_dirty_pages.value,
            write_back: self.write_back_rules.value.into(),
            timer_slack_ns: us_to_ns(self.timer_slack_us.value.0),
            timer_wheel: said(&self.timer_wheel).map_or(TimerWheel::Levels, TimerWheel::from),
            chip_lock: said(&self.chip_lock).map_or(ChipLock::Mutex, ChipLock::from),
            clock_stops_when_asked: said(&self.clock_stops_when_asked).unwrap_or(false),
            grace_period_thread: said(&self.grace_period_thread).unwrap_or(true),
            frees_files_later: said(&self.frees_files_later).unwrap_or(true),
            preemption: Preemption::None,
            unmount_wakes_worker: false,
            name_hash: said(&self.name_hash).map_or(NameHash::Bytes, NameHash::from),
        }
    }

    /// What its file systems and drivers do.
    pub fn flash_rules(&self) -> FlashRules {
        FlashRules {
            mlc: said(&self.mlc_rules).unwrap_or(MlcRules::V5_8),
            spi_nand: said(&self.spi_nand_rules),
            yaffs2: said(&self.yaffs2_version).unwrap_or(Yaffs2Version::Today),
            syncs_super_blocks: said(&self.syncs_super_blocks).unwrap_or(false),
            jffs2: said(&self.jffs2_rules).unwrap_or(FsRules::V6_1),
            jffs2_gap_bug: said(&self.jffs2_gap_bug).unwrap_or(false),
            lzo: said(&self.lzo_release).map_or(Release::Lzo2_06, Release::from),
            ubi_asks_data_life: said(&self.ubi_asks_data_life).unwrap_or(false),
            ubi_flushes_all_works: said(&self.ubi_flushes_all_works).unwrap_or(false),
            ubi_reads_failed_writes: said(&self.ubi_reads_failed_writes).unwrap_or(true),
            ubi_reserve_of: said(&self.ubi_reserve_of).unwrap_or(ReserveOf::Chip),
            ubifs: said(&self.ubifs_rules).unwrap_or(FsRules::V6_1),
            squashfs: said(&self.squashfs_rules).unwrap_or(SquashfsRules::V6_0),
            erofs: said(&self.erofs_rules).unwrap_or(ErofsRules::V6_1),
            overlayfs: said(&self.overlayfs_rules).unwrap_or(OverlayfsRules::V6_1),
        }
    }
}

/// The kernel of a board that names none: a long-term one of today, of which reference runs were made.
pub const KERNEL_DEFAULT: &str = "6.12";
