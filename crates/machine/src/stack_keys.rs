//! The `[stack]` table of an experiment: a board by name, and what differs from it.

use crate::ageing_keys::AgeingKeys;
use crate::error::MachineError;
use crate::exact_micros::ExactMicros;
use crate::fault_keys::FaultKeys;
use crate::mounts::MountKeys;
use crate::policy_keys::PolicyKeys;
use crate::vm_keys::VmKeys;
use crate::yaffs2_keys::Yaffs2Keys;
use ffslab_images::recognise::arranged::{Arranged, Said};
use ffslab_images::Wanted;
use ffslab_jffs2::Endian;
use ffslab_linux::{DirtyLimits, WriteBackKnobs};
use ffslab_profiles::{EccName, NandWaitName, Yaffs2Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Value of `fs` for a partition that is never mounted.
pub const NO_FS: &str = "none";

/// The machine and its file system. What is absent comes from the board, its part and its kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackKeys {
    /// Name of a board profile, or the path of one, relative to the experiment.
    pub board: String,
    /// Name or path of a kernel profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Name or path of a NAND part, instead of the board's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// A chip that has no profile, as in `[stack.chip]`: the keys of a part's profile, `base` among them. Absent: `part`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip: Option<BTreeMap<String, serde_json::Value>>,
    /// Erase blocks of the whole chip, where it has more or fewer than the part says; all else stays that of the part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_blocks: Option<u32>,
    /// NOR: size of its erase blocks, where the part can erase 4 KiB, too. Absent: the larger ones.
    #[serde(rename = "erase_block_KiB", default, skip_serializing_if = "Option::is_none")]
    pub erase_block_kib: Option<u32>,
    /// File system; "none" for a partition that only `mtd_loop` works on.
    #[schemars(extend("x-names" = "file systems of linux"))]
    pub fs: String,
    /// What holds the partition; what the part is for if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-names" = "media of linux"))]
    pub medium: Option<String>,
    /// First erase block of the partition.
    #[serde(default)]
    pub first_block: u32,
    /// Erase blocks of the partition.
    pub partition_blocks: u32,
    /// What is wrong with the chip, as in `[stack.faults]`: `badblocks`, `weakblocks`, `weakpages`, `gravepages`, `bitflips`, `seed`;
    /// nothing if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultKeys>,
    /// How the chip ages, as in `[stack.ageing]`: `pe_cycles`, `temperature_C` and what `docs/ageing.md` lists; not at all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ageing: Option<AgeingKeys>,
    /// Who decides in place of the kernel, as in `[stack.policy]`: `victim`, `read_ahead`, `write_back`, `seed` (`docs/policies.md`);
    /// the kernel's own rules if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyKeys>,
    /// Read-ahead of the mounted file system; 0 switches it off.
    #[serde(rename = "read_ahead_KiB", default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kib: Option<u32>,
    /// Memory that the page cache may take.
    #[serde(rename = "page_cache_KiB", default, skip_serializing_if = "Option::is_none")]
    pub page_cache_kib: Option<u64>,
    /// Memory of the machine (`MemTotal`), of which the page cache may take what the board's kernel leaves; instead of
    /// `page_cache_KiB`.
    #[serde(rename = "memory_KiB", default, skip_serializing_if = "Option::is_none")]
    pub memory_kib: Option<u64>,
    /// Settings of write-back, as in `[stack.vm]`; those of the kernel if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmKeys>,
    /// How much may be dirty before writers are held up (`vm.dirty_bytes`), instead of the kernel profile's share of the page
    /// cache.
    #[serde(rename = "dirty_KiB", default, skip_serializing_if = "Option::is_none")]
    pub dirty_kib: Option<u64>,
    /// How much may be dirty before the flusher begins (`vm.dirty_background_bytes`); without it half of `dirty_KiB`.
    #[serde(rename = "dirty_background_KiB", default, skip_serializing_if = "Option::is_none")]
    pub dirty_background_kib: Option<u64>,
    /// The file system's compressor. Absent, it is that of a kernel and a mkfs that nobody told otherwise: `zlib-rtime` of JFFS2, of
    /// UBIFS `lzo`, or what the superblock of its image says; YAFFS2 has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionName>,
    /// UBI: erase blocks of 1024 of the whole chip that are kept to replace bad ones.
    #[serde(rename = "max_beb_per1024", default, skip_serializing_if = "Option::is_none")]
    pub bad_reserve_per_1024: Option<u32>,
    /// UBI: difference of erase counters from which on it moves data to level wear (`CONFIG_MTD_UBI_WL_THRESHOLD`); 4096 without
    /// the key. Parts that bear few erases need less.
    #[serde(rename = "wl_threshold", default, skip_serializing_if = "Option::is_none")]
    pub wl_threshold_erases: Option<u32>,
    /// UBI: the kernel is built with `CONFIG_MTD_UBI_FASTMAP`, which the kernels of most distributions are not. It attaches by the
    /// fastmap on the chip, keeps blocks for two of them, and hands out blocks from pools.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fastmap: bool,
    /// UBI: with `fastmap`, one is written also where there was none (parameter `fm_autoconvert` of the module).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fm_autoconvert: bool,
    /// UBIFS: files that are read page after page are read in larger pieces (mount option `bulk_read`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bulk_read: bool,
    /// UBI: where in an erase block the volume identifier header stands, if not in the first sub-page or page behind the
    /// erase counter header (`-O` of ubinize).
    #[serde(rename = "vid_hdr_offset_B", default, skip_serializing_if = "Option::is_none")]
    pub vid_header_offset_bytes: Option<u32>,
    /// UBI: the partition by which the reserve for bad blocks was counted before Linux 3.7, in per cent
    /// (`CONFIG_MTD_UBI_BEB_RESERVE`), instead of `max_beb_per1024`.
    #[serde(rename = "beb_reserve_pct", default, skip_serializing_if = "Option::is_none")]
    pub bad_reserve_percent: Option<u32>,
    /// UBI: whether it writes its headers by sub-pages. Absent: it does, where the chip has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subpage_writes: Option<bool>,
    /// The kernel's UBIFS is built with its debugging code (`CONFIG_UBIFS_FS_DEBUG`, before Linux 3.7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ubifs_debug: bool,
    /// JFFS2's erase block summaries.
    #[serde(default)]
    pub summary: bool,
    /// An image that the partition holds at the start, relative to the experiment: what `nandwrite` takes. One without
    /// OOB may come from `mkfs.jffs2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// In the image each page is followed by its OOB area, as in `nanddump --oob`; found in it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_oob: Option<bool>,
    /// The OOB areas in the image begin with the bytes that belong to the chip's free ones, as in images of
    /// `mkyaffs2image`: they are put there (`nandwrite --autoplace`). Found in it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_autoplace: Option<bool>,
    /// The image is the dump of a whole chip, and these are its partitions, as on the kernel's command line:
    /// "nand:512k(boot)ro,8M(root),-(data)".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_mtdparts: Option<String>,
    /// The image's partition that is meant, one of `image_mtdparts` or of those that are found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_partition: Option<String>,
    /// Where in the image the partition begins, without OOB areas.
    #[serde(rename = "image_offset_B", default, skip_serializing_if = "Option::is_none")]
    pub image_offset_bytes: Option<u64>,
    /// Bytes of the partition in the image, not counting OOB areas; absent: to the end.
    #[serde(rename = "image_size_B", default, skip_serializing_if = "Option::is_none")]
    pub image_size_bytes: Option<u64>,
    /// Age of YAFFS2's sources; that of the kernel profile if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yaffs2_version: Option<Yaffs2Version>,
    /// How YAFFS2 was built, as in `[stack.yaffs2]`; as its sources say if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yaffs2: Option<Yaffs2Keys>,
    /// squashfs, erofs: what it stands on: `ubiblock`, a UBI volume, if absent; or `mtdblock`, the partition itself, where a bad block would be in
    /// the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_device: Option<BlockDeviceName>,
    /// YAFFS2 keeps its tags in the data area of a page instead of the OOB area.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inband_tags: bool,
    /// Byte order of JFFS2's nodes.
    #[serde(default, skip_serializing_if = "EndianName::is_little")]
    pub endian: EndianName,
    /// Who corrects bit errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccName>,
    /// Bits that it corrects in a step of 512 bytes, by a BCH code: of a controller, or of software BCH, which has 4 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc_strength_bits: Option<u32>,
    /// Flipped bits in a step from which on a read reports them, so that UBI moves the data (`bitflip_threshold` of an MTD device);
    /// absent: the kernel's share of what ECC corrects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bitflip_threshold_bits: Option<u32>,
    /// Of the pages of MLC that share their cells only the first is used, as in a partition with `slc-mode` in the device tree: half
    /// of the bytes, and no power cut in a program harms an earlier one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slc_mode: bool,
    /// What a task does while the chip works; absent: what the board's driver does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nand_wait: Option<NandWaitName>,
    /// Whether the driver knows bad blocks by a table in memory; absent: what the board's driver has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_block_table: Option<bool>,
    /// The kernel is built for several CPUs (`CONFIG_SMP`), though one runs; absent: as the board says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smp: Option<bool>,
    /// Bits of the processor's words, 32 or 64, by which kernels since 4.8 hash names; absent: as the board or the kernel says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub word_bits: Option<u32>,
    /// Timer ticks per second (CONFIG_HZ).
    #[serde(rename = "hz", default, skip_serializing_if = "Option::is_none")]
    pub tick_rate_hz: Option<u32>,
    /// How long the machine has been up when the simulation begins. JFFS2 chooses blocks by the tick counter, so
    /// runs with other values show how much results scatter. Absent: as the board says, or 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uptime_us: Option<ExactMicros>,
    /// How far into its second the wall clock is then: a file system that keeps times by seconds writes an inode when a new one has begun.
    /// Absent: as the board says, or as far as the uptime is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_clock_us: Option<ExactMicros>,
    /// The tracers run with which the board was measured, and take their time: only for comparing with such measurements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
    /// What reading the clock costs the measuring program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<u64>,
    /// Further mounts, `[[stack.mount]]`: `at` is the directory, `partition_blocks` the size of a partition behind the one before,
    /// or `volume_B` that of a volume of the UBI of `[stack]`; `options` are those of mount(8), all others keys of `[stack]` that
    /// are not about the machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub mount: Vec<MountKeys>,
}

/// Whether a key says something; its default says nothing.
pub(crate) type IsGiven = fn(&StackKeys) -> bool;

/// Keys that only some file systems have. Which ones says each file system's descriptor
/// ([`crate::file_systems::Mountable::own_keys`]).
pub(crate) const OWNED_KEYS: [(&str, IsGiven); 16] = [
    // Where nothing can be compressed, "none" is true.
    ("compression", |keys| keys.compression.is_some_and(|name| name != CompressionName::None)),
    ("summary", |keys| keys.summary),
    ("endian", |keys| !keys.endian.is_little()),
    ("yaffs2_version", |keys| keys.yaffs2_version.is_some()),
    ("inband_tags", |keys| keys.inband_tags),
    ("bulk_read", |keys| keys.bulk_read),
    ("max_beb_per1024", |keys| keys.bad_reserve_per_1024.is_some()),
    ("wl_threshold", |keys| keys.wl_threshold_erases.is_some()),
    ("fastmap", |keys| keys.fastmap),
    ("fm_autoconvert", |keys| keys.fm_autoconvert),
    ("beb_reserve_pct", |keys| keys.bad_reserve_percent.is_some()),
    ("subpage_writes", |keys| keys.subpage_writes.is_some()),
    ("ubifs_debug", |keys| keys.ubifs_debug),
    ("yaffs2", |keys| keys.yaffs2.is_some()),
    ("vid_hdr_offset_B", |keys| keys.vid_header_offset_bytes.is_some()),
    ("block_device", |keys| keys.block_device.is_some()),
];

impl StackKeys {
    /// A board with a file system on a partition of so many erase blocks; all other keys have their defaults.
    pub fn of(board: &str, fs: &str, partition_blocks: u32) -> StackKeys {
        let keys = serde_json::json!({ "board": board, "fs": fs, "partition_blocks": partition_blocks });
        serde_json::from_value(keys).expect("all other keys have defaults")
    }

    /// Whether a file system can own this key.
    pub(crate) fn can_be_owned(key: &str) -> bool {
        OWNED_KEYS.iter().any(|(name, _)| *name == key)
    }

    /// Whether a key that only some file systems have says something.
    pub(crate) fn gives(&self, key: &str) -> bool {
        OWNED_KEYS.iter().any(|(name, is_given)| *name == key && is_given(self))
    }

    /// The settings of write-back that the keys say, else those of the kernel.
    ///
    /// Errors: a limit without meaning, or said twice.
    pub fn write_back(&self, of_kernel: WriteBackKnobs) -> Result<WriteBackKnobs, MachineError> {
        let knobs = self.vm.as_ref().map_or(of_kernel, |vm| vm.knobs(of_kernel));
        Ok(WriteBackKnobs { limits: self.dirty_limits(knobs.limits)?, ..knobs })
    }

    /// How much may be dirty, if the keys say so, else `by_default`.
    ///
    /// Errors: a limit without meaning.
    fn dirty_limits(&self, by_default: DirtyLimits) -> Result<DirtyLimits, MachineError> {
        match (self.dirty_kib, self.dirty_background_kib) {
            (None, None) => Ok(by_default),
            (None, Some(_)) => {
                let hint = "give both, or dirty_KiB alone";
                Err(MachineError::Without { key: "dirty_background_KiB", other: "dirty_KiB", hint })
            }
            (Some(0), _) => Err(MachineError::number("dirty_KiB", 0u64, "at least 1 is needed")),
            (Some(dirty), Some(background)) if background > dirty => {
                let needed = format!("at most dirty_KiB = {dirty} makes sense");
                Err(MachineError::number("dirty_background_KiB", background, needed))
            }
            (Some(dirty), background) => Ok(DirtyLimits::Bytes {
                dirty_bytes: dirty.saturating_mul(1024),
                background_bytes: background.unwrap_or(dirty / 2).saturating_mul(1024),
            }),
        }
    }
}

/// The mount option `compr=`. JFFS2: none, zlib, rtime, lzo and its compiled-in modes zlib-rtime, priority and size. UBIFS: none,
/// lzo, zlib, zstd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompressionName {
    None,
    Zlib,
    Rtime,
    Lzo,
    Zstd,
    /// JFFS2 as its Kconfig builds it: zlib, or rtime where that does not help.
    #[serde(rename = "zlib-rtime")]
    ZlibRtime,
    /// JFFS2 in a kernel that was built with LZO, too: LZO, zlib, rtime, the first that helps.
    Priority,
    /// JFFS2: LZO, zlib, rtime, the one that helps most.
    Size,
}

/// A read-only block device on raw flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlockDeviceName {
    /// On a UBI volume (`drivers/mtd/ubi/block.c`).
    #[default]
    Ubiblock,
    /// On the partition itself (`drivers/mtd/mtdblock.c`).
    Mtdblock,
}

/// Byte order of a medium: that of the CPU that wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EndianName {
    #[default]
    Little,
    Big,
}

impl EndianName {
    /// The default, which needs not be written out.
    pub fn is_little(&self) -> bool {
        *self == EndianName::Little
    }
}

impl StackKeys {
    /// What the keys say about the image.
    pub(crate) fn image_said(&self) -> Said {
        Said {
            oob: self.image_oob,
            autoplace: self.image_autoplace,
            wanted: Wanted {
                mtdparts: self.image_mtdparts.clone(),
                offset_bytes: self.image_offset_bytes,
                size_bytes: self.image_size_bytes,
                partition: self.image_partition.clone(),
                ..Wanted::default()
            },
        }
    }

    /// Fills in what was found in the image.
    ///
    /// Errors: the keys say otherwise than the image of this path.
    pub(crate) fn take(&mut self, path: &Path, arranged: &Arranged) -> Result<(), MachineError> {
        let contradiction = |key, value, found| {
            let path = path.display().to_string();
            Err(MachineError::Contradiction { path, key, value, found })
        };
        self.image_oob = arranged.oob.then_some(true).or(self.image_oob);
        self.image_autoplace = arranged.autoplace.then_some(true).or(self.image_autoplace);
        let Some(layout) = &arranged.layout else { return Ok(()) };
        if self.inband_tags && layout.yaffs2.is_some() && !arranged.is_inband() {
            return contradiction("inband_tags", "true", "tags stand in the OOB areas");
        }
        self.inband_tags |= arranged.is_inband();
        match (self.endian, layout.endian) {
            (EndianName::Big, Some(Endian::Little)) => {
                return contradiction("endian", "\"big\"", "nodes are little-endian");
            }
            (_, Some(Endian::Big)) => self.endian = EndianName::Big,
            _ => {}
        }
        self.vid_header_offset_bytes = self.vid_header_offset_bytes.or(layout.ubi_at_bytes.map(|(vid, _)| vid));
        Ok(())
    }
}
