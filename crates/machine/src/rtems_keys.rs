//! The `[stack]` table of an experiment with `system = "rtems"`.

use crate::device_keys::{size_kib, DeviceKeys, DiskSpec};
use crate::error::MachineError;
use crate::policy_keys::PolicyKeys;
use crate::stack_keys::CompressionName;
use ffslab_rtems::bdbuf::{BdbufConfig, Priority};
use ffslab_rtems::{Quirks, UnknownQuirks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

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
    /// File system, which is mounted on /mnt.
    #[schemars(extend("x-names" = "file systems of rtems"))]
    pub fs: String,
    /// Block device, for file systems that stand on one: a profile or its path, or flash behind a translation layer, as in
    /// `{ ftl = "page-map", part = "k9f1g08u0a" }` (`docs/ftl.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceKeys>,
    /// Who decides in place of the translation layer, as in `[stack.policy]`: `victim`, `seed` (`docs/policies.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyKeys>,
    /// Size of the block device, or of the flash of jffs2 and yaffs2, which lies in memory. Flash behind a translation layer has
    /// `blocks` and `spare`.
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

pub(crate) const FLASH_KIB: u32 = 32 << 10;

/// Tells whether a key is given.
pub(crate) type IsGiven = fn(&RtemsKeys) -> bool;

/// Keys that only some file systems have. Which ones says each file system's descriptor
/// ([`crate::file_systems::OnRtems::own_keys`]).
pub(crate) const OWNED_KEYS: [(&str, IsGiven); 10] = [
    ("device", |keys| keys.device.is_some()),
    ("policy", |keys| keys.policy.is_some()),
    ("device_KiB", |keys| keys.device_kib.is_some()),
    ("media_block_B", |keys| keys.media_block_bytes.is_some()),
    ("image", |keys| keys.image.is_some()),
    ("quirks", |keys| keys.quirks.is_some()),
    ("fs_block_B", |keys| keys.fs_block_bytes.is_some()),
    ("cluster_B", |keys| keys.cluster_bytes.is_some()),
    ("erase_block_KiB", |keys| keys.erase_block_kib.is_some()),
    ("compression", |keys| keys.compression.is_some()),
];

impl RtemsKeys {
    /// Whether a file system can own this key.
    pub(crate) fn can_be_owned(key: &str) -> bool {
        OWNED_KEYS.iter().any(|(name, _)| *name == key)
    }

    /// "2018" where nothing is said.
    ///
    /// Errors: a word that is neither.
    pub fn quirks(&self) -> Result<Quirks, UnknownQuirks> {
        self.quirks.as_ref().map_or(Ok(Quirks::default()), |name| name.parse())
    }

    /// The size of the medium, filled in.
    ///
    /// Errors: one that is too small or too large for memory.
    pub fn size_kib(&mut self, by_default_kib: u32) -> Result<u32, MachineError> {
        size_kib(&mut self.device_kib, by_default_kib)
    }

    /// The block device, its values filled in.
    ///
    /// Errors: an unknown profile, sizes that no device has.
    pub fn disk(&mut self, base_dir: &Path) -> Result<DiskSpec, MachineError> {
        let device = self.device.get_or_insert_with(|| DeviceKeys::Profile("ram-disk-beaglebone".to_string()));
        let policy = self.policy.as_ref();
        policy.map_or(Ok(()), |policy| policy.without_page_cache("RTEMS"))?;
        let mut disk = DiskSpec::of(device, policy, &mut self.media_block_bytes, &mut self.device_kib, base_dir)?;
        disk.image = self.image.as_ref().map(|file| base_dir.join(file));
        Ok(disk)
    }

    /// The block cache, its values filled in.
    pub(crate) fn bdbuf(&mut self) -> BdbufConfig {
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
