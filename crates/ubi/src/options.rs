//! How a partition is attached, and what follows from that for the places of headers and data.
//!
//! NOR has units of a byte, so both headers and the data follow each other: 64 bytes each.
//!
//! From Linux 6.1 `drivers/mtd/ubi/build.c` (`io_init`, `get_bad_peb_limit`) and `Kconfig`; the rule of 2.6.37 from its
//! `misc.c` (`ubi_calculate_reserved`).

use ffslab_mtd::Mtd;
use ffslab_policy::{FreeSpec, LevellingSpec};

use crate::error::AttachError;
use crate::media::{Offsets, HEADER_BYTES};

/// Difference of erase counters from which on blocks are moved (`CONFIG_MTD_UBI_WL_THRESHOLD`).
pub const WL_THRESHOLD_DEFAULT: u32 = 4096;
/// How many erase blocks in 1024 a chip may lose (`CONFIG_MTD_UBI_BEB_LIMIT`).
pub const MAX_BEB_PER1024_DEFAULT: u32 = 20;
/// `MAX_MTD_UBI_BEB_LIMIT`
const MAX_BEB_PER1024_MAX: u32 = 768;

/// How many erase blocks are kept to replace bad ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReserve {
    /// Linux 3.7 and later: so many blocks in 1024 of the whole chip, less those that are bad already. 0 stands for the
    /// kernel's default, 20.
    Per1024OfChip(u32),
    /// Earlier kernels: a percentage of the partition's good blocks, at least 2 blocks (`CONFIG_MTD_UBI_BEB_RESERVE`,
    /// 1).
    PercentOfPartition(u32),
}

impl BadReserve {
    /// The number of blocks that should be in reserve now.
    pub fn level_pebs(self, chip_blocks: u32, good_pebs: u32, bad_pebs: u32) -> u32 {
        match self {
            BadReserve::Per1024OfChip(per_1024) => {
                let per_1024 = if per_1024 == 0 { MAX_BEB_PER1024_DEFAULT } else { per_1024 };
                let limit = (u64::from(chip_blocks) * u64::from(per_1024)).div_ceil(1024);
                (limit as u32).saturating_sub(bad_pebs)
            }
            BadReserve::PercentOfPartition(percent) => (good_pebs / 100).saturating_mul(percent).max(2),
        }
    }
}

/// How long data are expected to stay where they are written (`dtype` of `include/mtd/ubi-user.h` before Linux 3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLife {
    Short,
    #[default]
    Unknown,
    Long,
}

/// Rules that decide in place of the kernel's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WearRules {
    /// Which free block is handed out next. `None`: what belongs to the rule for levelling ([`LevellingSpec::free_rule`]), and without
    /// one the kernel's rule (`find_mean_wl_entry`), which leans on its threshold.
    pub free: Option<FreeSpec>,
    /// When data move only to level wear, and from which block; they move to the most worn free block. `None`: the kernel's rule
    /// ([`UbiOptions::wl_threshold_erases`]).
    pub levelling: Option<LevellingSpec>,
    /// Erases that a block bears by its data sheet, for rules that ask how much of its life is left.
    pub endurance_erases: u32,
    /// Start value of what rules draw at random.
    pub seed: u64,
}

/// Options of [`crate::Ubi::attach`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UbiOptions {
    /// Offset of the volume identifier header. `None`: it follows the erase counter header, in the next sub-page if
    /// there are sub-page writes, else in the next page. If both headers are in the same page and there are no sub-page
    /// writes, the partition can only be read.
    pub vid_header_offset_bytes: Option<u32>,
    /// The driver can program a sub-page ([`Mtd::write_partial`]). The chip must allow several programs of a page.
    pub subpage_writes: bool,
    pub bad_reserve: BadReserve,
    /// Erase blocks of the whole chip, if the simulated one is only a part of it.
    pub chip_blocks: Option<u32>,
    /// If the erase counters of two blocks differ by this much, data move from the less worn block to the more worn
    /// one.
    pub wl_threshold_erases: u32,
    pub wear_rules: WearRules,
    /// Kernels before 3.7 ask how long data will stay, and hand out the least worn block for a short time, a worn one for a long time
    /// (`ubi_wl_get_peb` of `drivers/mtd/ubi/wl.c`).
    pub asks_data_life: bool,
    /// Kernels before 3.5 know no other flush than that of all waiting works, whichever volume asks, and each work gives up the CPU
    /// before it begins (`ubi_wl_flush` and `do_work` of `drivers/mtd/ubi/wl.c`).
    pub flushes_all_works: bool,
    /// What could not be written is read back and printed, as kernels do since 3.5; earlier ones did it only if they were
    /// built for debugging.
    pub reads_failed_writes: bool,
    /// The kernel is built with `CONFIG_MTD_UBI_FASTMAP`: it attaches by a fastmap if there is one, and keeps it. It also keeps blocks for
    /// two of them, and hands out blocks from pools, whether or not there is one.
    pub fastmap: bool,
    /// With `fastmap`: a fastmap is written also where there was none (parameter `fm_autoconvert` of the module).
    pub fm_autoconvert: bool,
    /// Image sequence number that formatting writes. A real kernel draws it at random.
    pub image_number: u32,
}

impl Default for UbiOptions {
    fn default() -> UbiOptions {
        UbiOptions {
            vid_header_offset_bytes: None,
            subpage_writes: true,
            bad_reserve: BadReserve::Per1024OfChip(MAX_BEB_PER1024_DEFAULT),
            chip_blocks: None,
            wl_threshold_erases: WL_THRESHOLD_DEFAULT,
            wear_rules: WearRules::default(),
            asks_data_life: false,
            flushes_all_works: false,
            reads_failed_writes: true,
            fastmap: false,
            fm_autoconvert: false,
            image_number: 0x5542_4931,
        }
    }
}

impl UbiOptions {
    pub(crate) fn check(&self) -> Result<(), AttachError> {
        if let BadReserve::Per1024OfChip(per_1024) = self.bad_reserve {
            if per_1024 > MAX_BEB_PER1024_MAX {
                return Err(AttachError::BadReserve(per_1024));
            }
        }
        if !(2..=65536).contains(&self.wl_threshold_erases) {
            return Err(AttachError::WearThreshold(self.wl_threshold_erases));
        }
        let rules = &self.wear_rules;
        if self.fastmap && (rules.free.is_some() || rules.levelling.is_some()) {
            return Err(AttachError::Fastmap(
                "its pools follow the kernel's own rules of wear, and others stand in their place",
            ));
        }
        if self.fastmap && (self.asks_data_life || self.flushes_all_works) {
            return Err(AttachError::Fastmap("kernels before 3.7 have none"));
        }
        if self.fm_autoconvert && !self.fastmap {
            return Err(AttachError::Fastmap("fm_autoconvert asks for one, and the kernel has none"));
        }
        Ok(())
    }
}

/// Sizes and places that do not change while a partition is attached.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub pebs: u32,
    pub peb_bytes: u32,
    /// Smallest unit of data: a page.
    pub min_io_bytes: u32,
    /// Smallest unit of headers: a sub-page, or a page.
    pub header_io_bytes: u32,
    /// What is written for a header: whole such units (`ec_hdr_alsize`).
    pub header_bytes: u32,
    pub offsets: Offsets,
    pub leb_bytes: u32,
}

impl Layout {
    pub fn new(mtd: &Mtd, options: &UbiOptions) -> Result<Layout, AttachError> {
        let min_io_bytes = mtd.page_bytes();
        let header_io_bytes =
            if options.subpage_writes { mtd.capabilities().partial_program_bytes } else { min_io_bytes };
        let header_bytes = HEADER_BYTES as u32;
        let offset = options.vid_header_offset_bytes.unwrap_or(header_bytes.next_multiple_of(header_io_bytes));
        let refuse = |reason| Err(AttachError::Layout { offset, reason });
        let peb_bytes = mtd.erase_block_bytes();
        if offset > peb_bytes - 2 * header_bytes {
            return refuse("there is no room for data behind it");
        }
        let data_offset = (offset + header_bytes).next_multiple_of(min_io_bytes);
        if data_offset > peb_bytes - header_bytes {
            return refuse("there is no room for data behind it");
        }
        let written_bytes = header_bytes.next_multiple_of(header_io_bytes);
        if offset % header_io_bytes + header_bytes > written_bytes {
            return refuse("it crosses the border of a page or sub-page");
        }
        if !offset.is_multiple_of(4) {
            return refuse("it must be a multiple of 4");
        }
        if offset < header_bytes {
            return refuse("the erase counter header stands there");
        }
        Ok(Layout {
            pebs: mtd.blocks(),
            peb_bytes,
            min_io_bytes,
            header_io_bytes,
            header_bytes: written_bytes,
            offsets: Offsets { vid_header_offset: offset, data_offset },
            leb_bytes: peb_bytes - data_offset,
        })
    }

    /// Whether both headers are in the same unit of programming, so that nothing can be written.
    pub fn is_read_only(&self) -> bool {
        self.offsets.vid_header_offset + HEADER_BYTES as u32 <= self.header_io_bytes
    }

    /// Offset of the volume identifier header in its unit of programming.
    pub fn vid_header_shift(&self) -> usize {
        (self.offsets.vid_header_offset % self.header_io_bytes) as usize
    }

    /// Records in the volume table.
    pub fn volume_slots(&self) -> u32 {
        (self.leb_bytes / crate::media::RECORD_BYTES as u32).min(crate::media::VOLUMES_MAX)
    }

    /// Bytes of the volume table as it is written.
    pub fn table_bytes(&self) -> usize {
        (self.volume_slots() * crate::media::RECORD_BYTES as u32).next_multiple_of(self.min_io_bytes) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reserve_for_bad_blocks_follows_the_whole_chip_since_3_7() {
        // The measured partitions have 160 blocks at 1 of 1024 and 800 blocks at 4 of 1024, on a chip of 2048 blocks;
        // the default reserve there is 40 blocks.
        let of = |per_1024| BadReserve::Per1024OfChip(per_1024).level_pebs(2048, 160, 0);
        assert_eq!((of(1), of(4), of(0)), (2, 8, 40));
        assert_eq!(BadReserve::Per1024OfChip(20).level_pebs(2048, 160, 3), 37);
        assert_eq!(BadReserve::Per1024OfChip(1).level_pebs(1025, 160, 0), 2);
        assert_eq!(BadReserve::Per1024OfChip(1).level_pebs(1024, 160, 5), 0);
    }

    #[test]
    fn the_reserve_for_bad_blocks_was_a_part_of_the_partition_before() {
        let of = |good| BadReserve::PercentOfPartition(1).level_pebs(2048, good, 0);
        assert_eq!((of(160), of(299), of(800)), (2, 2, 8));
    }
}
