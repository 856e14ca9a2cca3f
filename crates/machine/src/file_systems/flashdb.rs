//! FlashDB's store of keys and values (KVDB), of a tree that a user has: its keys.

use super::demands::{demand, demand_nor, sector_bytes, store_code};
use crate::error::MachineError;
use crate::own_tables::OwnKeys;
use ffslab_foreign::StoreSetup;
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Its name.
pub(super) const NAME: &str = "flashdb";

/// What FlashDB is built and mounted with, as in `[stack.flashdb]` (`docs/key-value.md`); the granularity of its writes and its caches are
/// those that its library was built with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashdbKeys {
    /// The library that `ffslab foreign build flashdb` made of your tree, relative to the experiment.
    pub library: String,
    /// What it erases and collects at once: a power of two, one or several erase blocks of the medium, which is one if absent.
    #[serde(rename = "sector_size_B", default, skip_serializing_if = "Option::is_none")]
    pub sector_size_bytes: Option<u32>,
}

const SECTOR_KEY: &str = "flashdb.sector_size_B";
/// Addresses have 32 bits: more of the smallest erase blocks, of 4 KiB, have none.
pub(super) const SECTORS_MAX: u32 = 1 << 20;
const SECTOR_BYTES_MAX: u32 = 1 << 31;

impl OwnKeys for FlashdbKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.library]
    }
}

impl FlashdbKeys {
    /// Values that are absent are filled in.
    ///
    /// Errors: values that FlashDB or the medium does not have.
    pub(super) fn setup(&mut self, medium: &Capabilities) -> Result<StoreSetup, MachineError> {
        demand_nor(medium, NAME, "writes units of at most 32 bytes, or clears bit after bit")?;
        let sector = sector_bytes(&mut self.sector_size_bytes, SECTOR_KEY, medium, SECTOR_BYTES_MAX, SECTORS_MAX)?;
        demand(sector.is_power_of_two(), SECTOR_KEY, sector, || "a power of two".to_string())?;
        let rest = u64::from(medium.blocks) * u64::from(medium.erase_block_bytes) % u64::from(sector);
        demand(rest == 0, "partition_blocks", medium.blocks, || {
            format!("a whole number of sectors of {sector} bytes")
        })?;
        let code = store_code(NAME, "flashdb.library", &self.library)?;
        Ok(StoreSetup { name: NAME, code, settings: vec![("sector_size_B", sector.into())], names: None })
    }
}
