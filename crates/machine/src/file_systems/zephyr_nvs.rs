//! Zephyr's NVS, of a tree that a user has: its keys.

use super::demands::{demand, demand_nor, sector_bytes, store_code};
use crate::error::MachineError;
use ffslab_foreign::{NumberNames, StoreSetup};
use ffslab_mtd::Capabilities;
use ffslab_workload::steps::path_of_many;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name.
pub(super) const NAME: &str = "zephyr-nvs";

/// What Zephyr's NVS is built and mounted with, as in `[stack.zephyr_nvs]` (`docs/key-value.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZephyrNvsKeys {
    /// The library that `ffslab foreign build zephyr-nvs` made of your tree, relative to the experiment.
    pub library: String,
    /// What it erases and collects at once: one or several erase blocks of the medium, which is one if absent.
    #[serde(rename = "sector_size_B", default, skip_serializing_if = "Option::is_none")]
    pub sector_size_bytes: Option<u32>,
    /// What the driver writes at once: 1, 2, 4, 8, 16 or 32; 1 if absent, as the driver of SPI NOR has it.
    #[serde(rename = "write_block_B", default, skip_serializing_if = "Option::is_none")]
    pub write_block_bytes: Option<u32>,
    /// Names by which steps call the numbers: the `#` stand for the number, as in `name` of the step `set`; "key####" if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
}

/// `NVS_MAX_SECTOR_SIZE` of `nvs_priv.h`: offsets have 16 bits.
const SECTOR_BYTES_MAX: u32 = 64 << 10;
/// `NVS_BLOCK_SIZE` of `nvs_priv.h`.
const WRITE_BLOCK_BYTES_MAX: u32 = 32;
/// The numbers of sectors have 16 bits.
pub(super) const SECTORS_MAX: u32 = u16::MAX as u32;
const NVS_NAMES: &str = "key####";

impl ZephyrNvsKeys {
    /// Values that are absent are filled in.
    ///
    /// Errors: values that NVS or the medium does not have.
    pub(super) fn setup(&mut self, medium: &Capabilities) -> Result<StoreSetup, MachineError> {
        demand_nor(medium, NAME, &format!("writes units of at most {WRITE_BLOCK_BYTES_MAX} bytes"))?;
        let size = &mut self.sector_size_bytes;
        let sector = sector_bytes(size, "zephyr_nvs.sector_size_B", medium, SECTOR_BYTES_MAX, SECTORS_MAX)?;
        let written = *self.write_block_bytes.get_or_insert(1);
        let pattern = self.names.get_or_insert_with(|| NVS_NAMES.to_string());
        demand(
            written.is_power_of_two() && written <= WRITE_BLOCK_BYTES_MAX,
            "zephyr_nvs.write_block_B",
            written,
            || format!("1, 2, 4, 8, 16 or {WRITE_BLOCK_BYTES_MAX}"),
        )?;
        let places = pattern.split(|letter| letter != '#').filter(|run| !run.is_empty()).count();
        if places != 1 {
            let needed = "one run of # that stands for the number, as in \"key####\"";
            return Err(MachineError::word("zephyr_nvs.names", pattern, needed));
        }
        let names = NumberNames { pattern: pattern.clone(), name: |pattern, number| path_of_many("", pattern, number) };
        let code = store_code(NAME, "zephyr_nvs.library", &self.library)?;
        let settings = vec![("sector_size_B", sector.into()), ("write_block_B", written.into())];
        Ok(StoreSetup { name: NAME, code, settings, names: Some(names) })
    }
}
