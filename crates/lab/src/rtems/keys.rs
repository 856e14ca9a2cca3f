//! The `[stack]` table of an experiment with `system = "rtems"`.

use crate::file_systems;
use crate::media::{FlashSpec, Sizes, NOR, RAM_FLASH};
use crate::profile::{find_text, Kind};
use crate::stack_keys::CompressionName;
use ffslab_jffs2::Compression;
use ffslab_mtd::ram;
use ffslab_rtems::bdbuf::{BdbufConfig, Priority};
use ffslab_rtems::cpu::CpuCosts;
use ffslab_rtems::imfs::BlockSize;
use ffslab_rtems::profile::DeviceProfile;
use ffslab_rtems::Quirks;
use ffslab_workload::text::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The system of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SystemName {
    #[serde(rename = "rtems")]
    Rtems,
}

/// RTEMS with one file system. The defaults are those of RTEMS; of the memory and the board those of the study by Agarwal et
/// al. (2018).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtemsKeys {
    pub system: SystemName,
    /// What the code costs: a board profile, its path relative to the experiment, or "none" where code takes no time.
    #[serde(default = "default_board")]
    pub board: String,
    /// File system: "imfs", "mini-imfs", "rfs", "dosfs", "jffs2" or "yaffs2". It is mounted on /mnt.
    pub fs: String,
    /// Block device of rfs and dosfs: a profile or its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Size of the block device, or of the flash of jffs2 and yaffs2, which lies in memory.
    #[serde(rename = "device_KiB", default, skip_serializing_if = "Option::is_none")]
    pub device_kib: Option<u32>,
    /// What the block device addresses.
    #[serde(rename = "media_block_B", default, skip_serializing_if = "Option::is_none")]
    pub media_block_bytes: Option<u32>,
    /// An image that the block device holds at the start; then the first mount does not format it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Block of rfs (default 512), memory block of imfs (128).
    #[serde(rename = "fs_block_B", default, skip_serializing_if = "Option::is_none")]
    pub fs_block_bytes: Option<u32>,
    /// Cluster of dosfs; the formatter chooses by the size of the device.
    #[serde(rename = "cluster_B", default, skip_serializing_if = "Option::is_none")]
    pub cluster_bytes: Option<u32>,
    /// Erase block of jffs2's NOR flash (default 64).
    #[serde(rename = "erase_block_KiB", default, skip_serializing_if = "Option::is_none")]
    pub erase_block_kib: Option<u32>,
    /// Compressor of jffs2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compression: Option<CompressionName>,
    /// rfs and dosfs: "2018" has the bugs of that year, "fixed" does what was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quirks: Option<String>,
    /// CONFIGURE_BDBUF_BUFFER_MIN_SIZE.
    #[serde(rename = "bdbuf_buffer_min_B", default, skip_serializing_if = "Option::is_none")]
    pub buffer_min_bytes: Option<u32>,
    /// CONFIGURE_BDBUF_BUFFER_MAX_SIZE.
    #[serde(rename = "bdbuf_buffer_max_B", default, skip_serializing_if = "Option::is_none")]
    pub buffer_max_bytes: Option<u32>,
    /// CONFIGURE_BDBUF_CACHE_MEMORY_SIZE.
    #[serde(rename = "bdbuf_cache_KiB", default, skip_serializing_if = "Option::is_none")]
    pub cache_kib: Option<u32>,
    /// CONFIGURE_BDBUF_MAX_READ_AHEAD_BLOCKS; 0: there is no read-ahead task.
    #[serde(rename = "bdbuf_read_ahead_blocks", default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_blocks: Option<u32>,
    /// CONFIGURE_BDBUF_MAX_WRITE_BLOCKS.
    #[serde(rename = "bdbuf_write_blocks", default, skip_serializing_if = "Option::is_none")]
    pub write_blocks: Option<u32>,
    /// CONFIGURE_SWAPOUT_TASK_PRIORITY; 1 is the most urgent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapout_priority: Option<u8>,
    /// CONFIGURE_SWAPOUT_SWAP_PERIOD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapout_period_ms: Option<u32>,
    /// CONFIGURE_SWAPOUT_BLOCK_HOLD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swapout_hold_ms: Option<u32>,
    /// CONFIGURE_SWAPOUT_WORKER_TASKS.
    #[serde(rename = "swapout_workers", default, skip_serializing_if = "Option::is_none")]
    pub swapout_workers_count: Option<u32>,
    /// Priority of the program's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application_priority: Option<u8>,
    /// CONFIGURE_MICROSECONDS_PER_TICK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_us: Option<u32>,
}

fn default_board() -> String {
    "beaglebone-black".to_string()
}

/// The name of the board on which code takes no time.
const NO_BOARD: &str = "none";
/// The RAM disk of the study: 512 B x 262,144.
const DISK_KIB: u32 = 128 << 10;
const FLASH_KIB: u32 = 32 << 10;
const ERASE_BLOCK_KIB: u32 = 64;
/// A device is held in memory.
const DEVICE_KIB_MAX: u32 = 2 << 20;

/// Everything that building needs.
#[derive(Clone, Debug)]
pub struct RtemsSpec {
    pub cpu: Option<CpuCosts>,
    pub bdbuf: BdbufConfig,
    pub fs: RtemsFs,
    pub quirks: Quirks,
}

impl RtemsSpec {
    /// Size of the medium; memory files may take what IMFS has.
    pub fn medium_bytes(&self) -> u64 {
        match &self.fs {
            RtemsFs::Imfs { .. } => u64::from(DISK_KIB) << 10,
            RtemsFs::Rfs { disk, .. } | RtemsFs::Dosfs { disk, .. } => {
                u64::from(disk.media_block_bytes) * u64::from(disk.media_blocks)
            }
            RtemsFs::Jffs2 { flash, .. } | RtemsFs::Yaffs2 { flash } => flash.sizes.size_bytes,
        }
    }
}

/// A block device to build.
#[derive(Clone, Debug)]
pub struct DiskSpec {
    pub profile: DeviceProfile,
    pub media_block_bytes: u32,
    pub media_blocks: u32,
    pub image: Option<PathBuf>,
}

/// A file system with its medium.
#[derive(Clone, Debug)]
pub enum RtemsFs {
    Imfs {
        mini: bool,
        block_size: BlockSize,
    },
    Rfs {
        disk: DiskSpec,
        block_bytes: u32,
    },
    /// 0: the formatter chooses.
    Dosfs {
        disk: DiskSpec,
        sectors_per_cluster_count: u32,
    },
    Jffs2 {
        compression: Compression,
        flash: FlashSpec,
    },
    Yaffs2 {
        flash: FlashSpec,
    },
}

impl RtemsFs {
    pub fn disk(&self) -> Option<&DiskSpec> {
        match self {
            RtemsFs::Rfs { disk, .. } | RtemsFs::Dosfs { disk, .. } => Some(disk),
            _ => None,
        }
    }

    /// The flash of file systems with their own flash driver.
    pub fn flash(&self) -> Option<&FlashSpec> {
        match self {
            RtemsFs::Jffs2 { flash, .. } | RtemsFs::Yaffs2 { flash } => Some(flash),
            _ => None,
        }
    }
}

impl RtemsKeys {
    /// Fills in what is absent; gives what is to be built and the keys with all values.
    ///
    /// Errors: unknown profiles and file systems, keys that the file system does not have, sizes that do not fit.
    pub fn resolve(&self, base_dir: &Path) -> Result<(RtemsSpec, RtemsKeys), String> {
        let mut keys = self.clone();
        keys.refuse_what_does_not_apply()?;
        let cpu = match keys.board.as_str() {
            NO_BOARD => None,
            name => {
                let text = find_text(Kind::RtemsBoard, name, base_dir)?;
                Some(CpuCosts::parse(&text.0, &text.1).map_err(|error| error.to_string())?)
            }
        };
        let quirks = match &keys.quirks {
            Some(name) => name.parse()?,
            None => Quirks::default(),
        };
        let bdbuf = keys.bdbuf();
        let fs = match keys.fs.as_str() {
            "imfs" | "mini-imfs" => {
                let bytes = *keys.fs_block_bytes.get_or_insert(BlockSize::default().bytes());
                let block_size = BlockSize::new(bytes)
                    .map_err(|_| format!("fs_block_B = {bytes}: imfs has 16, 32, 64, 128, 256 and 512"))?;
                RtemsFs::Imfs { mini: keys.fs == "mini-imfs", block_size }
            }
            "rfs" => {
                let disk = keys.disk(base_dir)?;
                let block_bytes = *keys.fs_block_bytes.get_or_insert(disk.media_block_bytes);
                if block_bytes == 0 || !block_bytes.is_multiple_of(disk.media_block_bytes) {
                    let media = disk.media_block_bytes;
                    return Err(format!("fs_block_B = {block_bytes}: rfs has multiples of the medium's {media} B"));
                }
                if block_bytes > bdbuf.buffer_max_bytes {
                    let most = bdbuf.buffer_max_bytes;
                    return Err(format!("fs_block_B = {block_bytes} exceeds bdbuf_buffer_max_B = {most}"));
                }
                RtemsFs::Rfs { disk, block_bytes }
            }
            "dosfs" => {
                let disk = keys.disk(base_dir)?;
                let cluster_bytes = keys.cluster_bytes.unwrap_or(0);
                let sectors = cluster_bytes / disk.media_block_bytes;
                if cluster_bytes > 0
                    && !(sectors.is_power_of_two() && cluster_bytes.is_multiple_of(disk.media_block_bytes))
                {
                    let media = disk.media_block_bytes;
                    return Err(format!("cluster_B = {cluster_bytes}: a cluster has 1, 2, 4 ... sectors of {media} B"));
                }
                RtemsFs::Dosfs { disk, sectors_per_cluster_count: sectors }
            }
            "jffs2" => {
                let name = *keys.compression.get_or_insert(CompressionName::None);
                let compression = match name {
                    CompressionName::None => Compression::None,
                    CompressionName::Zlib => Compression::Zlib,
                    CompressionName::Rtime => Compression::Rtime,
                    _ => return Err("compression: jffs2 of RTEMS has none, zlib and rtime".to_string()),
                };
                let erase_block_kib = *keys.erase_block_kib.get_or_insert(ERASE_BLOCK_KIB);
                if !(4..=4096).contains(&erase_block_kib) {
                    return Err(format!("erase_block_KiB = {erase_block_kib}: 4 to 4096 is needed"));
                }
                let erase_block_bytes = erase_block_kib << 10;
                let blocks = keys.size_kib(FLASH_KIB)? / erase_block_kib;
                let size_bytes = u64::from(erase_block_bytes) * u64::from(blocks);
                let flash = FlashSpec { medium: &NOR, sizes: Sizes { erase_block_bytes, size_bytes } };
                RtemsFs::Jffs2 { compression, flash }
            }
            _ => {
                let size_bytes = u64::from(keys.size_kib(FLASH_KIB)?) << 10;
                let erase_block_bytes = ram::geometry(size_bytes).block_bytes();
                let sizes = Sizes { erase_block_bytes, size_bytes };
                RtemsFs::Yaffs2 { flash: FlashSpec { medium: &RAM_FLASH, sizes } }
            }
        };
        Ok((RtemsSpec { cpu, bdbuf, fs, quirks }, keys))
    }

    /// A key that nothing would look at is a mistake.
    fn refuse_what_does_not_apply(&self) -> Result<(), String> {
        let fs = self.fs.as_str();
        let known = file_systems::on_rtems();
        if !known.contains(&fs) {
            let hint = nearest(fs, known.iter().copied());
            let hint = hint.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
            return Err(format!("fs = \"{fs}\": {hint}RTEMS has {}", known.join(", ")));
        }
        let (block, flash) = (matches!(fs, "rfs" | "dosfs"), matches!(fs, "jffs2" | "yaffs2"));
        let given: [(&str, bool, bool, &str); 9] = [
            ("device", self.device.is_some(), block, "rfs and dosfs"),
            ("device_KiB", self.device_kib.is_some(), block || flash, "rfs, dosfs, jffs2 and yaffs2"),
            ("media_block_B", self.media_block_bytes.is_some(), block, "rfs and dosfs"),
            ("image", self.image.is_some(), block, "rfs and dosfs"),
            ("quirks", self.quirks.is_some(), block, "rfs and dosfs"),
            ("fs_block_B", self.fs_block_bytes.is_some(), !flash && fs != "dosfs", "rfs, imfs and mini-imfs"),
            ("cluster_B", self.cluster_bytes.is_some(), fs == "dosfs", "dosfs"),
            ("erase_block_KiB", self.erase_block_kib.is_some(), fs == "jffs2", "jffs2"),
            ("compression", self.compression.is_some(), fs == "jffs2", "jffs2"),
        ];
        match given.iter().find(|(_, is_given, applies, _)| *is_given && !applies) {
            Some((key, _, _, who)) => Err(format!("{key} belongs to {who}, not to {fs}: leave it out")),
            None => Ok(()),
        }
    }

    fn size_kib(&mut self, by_default_kib: u32) -> Result<u32, String> {
        let kib = *self.device_kib.get_or_insert(by_default_kib);
        match (64..=DEVICE_KIB_MAX).contains(&kib) {
            true => Ok(kib),
            false => Err(format!("device_KiB = {kib}: 64 to {DEVICE_KIB_MAX} is needed")),
        }
    }

    fn disk(&mut self, base_dir: &Path) -> Result<DiskSpec, String> {
        let name = self.device.get_or_insert_with(|| "ram-disk-beaglebone".to_string());
        let text = find_text(Kind::BlockDevice, name, base_dir)?;
        let profile = DeviceProfile::parse(&text.0, &text.1).map_err(|error| error.to_string())?;
        let media_block_bytes = *self.media_block_bytes.get_or_insert(512);
        if !media_block_bytes.is_power_of_two() || !(512..=4096).contains(&media_block_bytes) {
            return Err(format!("media_block_B = {media_block_bytes}: 512, 1024, 2048 or 4096 is needed"));
        }
        let media_blocks = (u64::from(self.size_kib(DISK_KIB)?) * 1024 / u64::from(media_block_bytes)) as u32;
        let image = self.image.as_ref().map(|file| base_dir.join(file));
        Ok(DiskSpec { profile, media_block_bytes, media_blocks, image })
    }

    fn bdbuf(&mut self) -> BdbufConfig {
        let of = BdbufConfig::default();
        BdbufConfig {
            buffer_min_bytes: *self.buffer_min_bytes.get_or_insert(of.buffer_min_bytes),
            buffer_max_bytes: *self.buffer_max_bytes.get_or_insert(of.buffer_max_bytes),
            cache_memory_bytes: self.cache_kib.get_or_insert(of.cache_memory_bytes >> 10).saturating_mul(1024),
            max_read_ahead_blocks: *self.read_ahead_blocks.get_or_insert(of.max_read_ahead_blocks),
            max_write_blocks: *self.write_blocks.get_or_insert(of.max_write_blocks),
            swapout_task_priority: Priority(*self.swapout_priority.get_or_insert(of.swapout_task_priority.0)),
            swapout_swap_period_ms: *self.swapout_period_ms.get_or_insert(of.swapout_swap_period_ms),
            swapout_block_hold_ms: *self.swapout_hold_ms.get_or_insert(of.swapout_block_hold_ms),
            swapout_worker_tasks_count: *self.swapout_workers_count.get_or_insert(of.swapout_worker_tasks_count),
            application_priority: Priority(*self.application_priority.get_or_insert(of.application_priority.0)),
            tick_us: *self.tick_us.get_or_insert(of.tick_us),
            ..of
        }
    }
}
