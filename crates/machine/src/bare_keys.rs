//! The `[stack]` table of an experiment with `system = "bare"`: a program that calls a file system directly.

use crate::device_keys::DeviceKeys;
use crate::file_systems::fat::FatKeys;
use crate::file_systems::fatfs::FatfsKeys;
use crate::file_systems::flashdb::FlashdbKeys;
use crate::file_systems::littlefs::LittlefsKeys;
use crate::file_systems::spiffs::SpiffsKeys;
use crate::file_systems::stores::{EkvKeys, SequentialStorageKeys, StoreKeys};
use crate::file_systems::zephyr::ZephyrKeys;
use crate::file_systems::zephyr_fcb::ZephyrFcbKeys;
use crate::own_tables::OwnTables;
use crate::policy_keys::PolicyKeys;
use ffslab_profiles::{EccName, Yaffs2Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The system of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BareName {
    #[serde(rename = "bare")]
    Bare,
}

/// A program with its file system on a board's chip, without an operating system. The keys mean what they mean with Linux.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BareKeys {
    pub system: BareName,
    /// Name of a board profile, or the path of one, relative to the experiment.
    #[serde(default = "default_board")]
    pub board: String,
    /// Name or path of a NAND part, instead of the board's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Erase blocks of the whole chip, where it has more or fewer than the part says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chip_blocks: Option<u32>,
    /// NOR: size of its erase blocks, where the part can erase 4 KiB, too.
    #[serde(rename = "erase_block_KiB", default, skip_serializing_if = "Option::is_none")]
    pub erase_block_kib: Option<u32>,
    /// File system with an interface for such programs: "yaffs2", "littlefs" ...; or a store of keys and values: "sequential-storage" ...; "none" for a program that only drives the flash (`mtd_loop`),
    /// "block-device" for one that drives `device`: the file `disk` is all of it.
    pub fs: String,
    /// Block device: a profile or its path, or flash behind a translation layer, as in `{ ftl = "page-map", part = "k9f1g08u0a" }`
    /// (`docs/ftl.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceKeys>,
    /// What the block device addresses (512 if absent).
    #[serde(rename = "media_block_B", default, skip_serializing_if = "Option::is_none")]
    pub media_block_bytes: Option<u32>,
    /// Size of a block device of a profile.
    #[serde(rename = "device_KiB", default, skip_serializing_if = "Option::is_none")]
    pub device_kib: Option<u32>,
    /// Who decides in place of the file system or the translation layer, as in `[stack.policy]`: `victim`, `seed`
    /// (`docs/policies.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyKeys>,
    /// First erase block of the partition.
    #[serde(default)]
    pub first_block: u32,
    /// Erase blocks of the partition.
    #[serde(default = "default_partition_blocks")]
    pub partition_blocks: u32,
    /// Configuration of littlefs, as in `[stack.littlefs]`: `block_size_B`, `cache_size_B`, `lookahead_size_B`, `block_cycles` ...
    /// (`docs/littlefs.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub littlefs: Option<LittlefsKeys>,
    /// What a store of keys and values stands on, as in `[stack.store]`: `translation`, `spare` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreKeys>,
    /// Configuration of sequential-storage, as in `[stack.sequential_storage]`: `word_B`, `buffer_B`, `cache`, `cache_keys`
    /// (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequential_storage: Option<SequentialStorageKeys>,
    /// Configuration of ekv, as in `[stack.ekv]`: `random_seed` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ekv: Option<EkvKeys>,
    /// SPIFFS of your sources, as in `[stack.spiffs]`: `library`, `log_page_size_B`, `log_block_size_B`, `cache_pages` ... (`docs/spiffs.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spiffs: Option<SpiffsKeys>,
    /// FatFs of your sources, as in `[stack.fatfs]`: `library`, `translation`, `cluster_size_B` ... (`docs/fatfs.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fatfs: Option<FatfsKeys>,
    /// FAT of the crate fatfs, as in `[stack.fat]`: `translation`, `cluster_size_B`, `cache_sectors` ... (`docs/fat.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fat: Option<FatKeys>,
    /// NVS of your Zephyr tree, as in `[stack.zephyr_nvs]`: `library`, `sector_size_B`, `write_block_B`, `names` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zephyr_nvs: Option<ZephyrKeys>,
    /// ZMS of your Zephyr tree, as in `[stack.zephyr_zms]`: `library`, `sector_size_B`, `write_block_B`, `names` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zephyr_zms: Option<ZephyrKeys>,
    /// FCB of your Zephyr tree, as in `[stack.zephyr_fcb]`: `library`, `sector_size_B`, `write_block_B`, `when_full` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zephyr_fcb: Option<ZephyrFcbKeys>,
    /// FlashDB of your tree, as in `[stack.flashdb]`: `library`, `sector_size_B` (`docs/key-value.md`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flashdb: Option<FlashdbKeys>,
    /// Age of YAFFS2's sources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yaffs2_version: Option<Yaffs2Version>,
    /// YAFFS2's tags lie at the end of the page's data area.
    #[serde(default)]
    pub inband_tags: bool,
    /// Who corrects bit errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccName>,
    /// What reading the clock takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_read_ns: Option<u64>,
}

fn default_board() -> String {
    "omap3evm".to_string()
}

pub(crate) fn default_partition_blocks() -> u32 {
    400
}

impl BareKeys {
    pub(crate) fn own_tables(&mut self) -> OwnTables<'_> {
        OwnTables(vec![
            ("littlefs", &mut self.littlefs),
            ("sequential_storage", &mut self.sequential_storage),
            ("ekv", &mut self.ekv),
            ("store", &mut self.store),
            ("spiffs", &mut self.spiffs),
            ("fatfs", &mut self.fatfs),
            ("fat", &mut self.fat),
            ("zephyr_nvs", &mut self.zephyr_nvs),
            ("zephyr_zms", &mut self.zephyr_zms),
            ("zephyr_fcb", &mut self.zephyr_fcb),
            ("flashdb", &mut self.flashdb),
        ])
    }

    /// Files that keys name, relative to the experiment.
    pub(crate) fn files_mut(&mut self) -> Vec<&mut String> {
        self.own_tables().0.into_iter().flat_map(|(_, table)| table.files_mut()).collect()
    }
}
