//! Stores of Zephyr whose keys are numbers (NVS, ZMS), of a tree that a user has: their keys, and what those have in common with FCB's.

use super::demands::{demand, demand_nor, sector_bytes, store_code};
use crate::error::MachineError;
use crate::own_tables::OwnKeys;
use ffslab_foreign::{NumberNames, StoreSetup};
use ffslab_mtd::Capabilities;
use ffslab_workload::steps::path_of_many;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a store of Zephyr whose keys are numbers is built and mounted with, as in `[stack.zephyr_nvs]` and `[stack.zephyr_zms]`
/// (`docs/key-value.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZephyrKeys {
    /// The library that `ffslab foreign build` made of your tree, relative to the experiment.
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

impl OwnKeys for ZephyrKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.library]
    }
}

/// Those of a table of `[stack]`.
macro_rules! key_names {
    ($table:literal) => {
        KeyNames {
            library: concat!($table, ".library"),
            sector_size: concat!($table, ".sector_size_B"),
            write_block: concat!($table, ".write_block_B"),
            names: concat!($table, ".names"),
        }
    };
}

pub(super) const NVS: Numbered = Numbered {
    name: "zephyr-nvs",
    keys: key_names!("zephyr_nvs"),
    // `NVS_MAX_SECTOR_SIZE` of `nvs_priv.h`: offsets have 16 bits, and so do the numbers of sectors.
    sector_bytes_max: 64 << 10,
    sectors_max: u16::MAX as u32,
};

pub(super) const ZMS: Numbered = Numbered {
    name: "zephyr-zms",
    keys: key_names!("zephyr_zms"),
    // Offsets in a sector have 32 bits (`zms.h`); those on a device are signed ones of 32 bits in firmware, so that there are no more of
    // the smallest erase blocks, of 4 KiB.
    sector_bytes_max: 1 << 31,
    sectors_max: 1 << 19,
};

/// What is said of such a store, and the sectors that it can have.
pub(super) struct Numbered {
    pub name: &'static str,
    pub keys: KeyNames,
    pub sector_bytes_max: u32,
    pub sectors_max: u32,
}

/// What the keys are called in messages.
pub(super) struct KeyNames {
    pub library: &'static str,
    pub sector_size: &'static str,
    pub write_block: &'static str,
    pub names: &'static str,
}

/// The buffers of the stores (`NVS_BLOCK_SIZE`, `ZMS_BLOCK_SIZE`, `FCB_TMP_BUF_SZ`), of which each has room for what is written at once.
pub(super) const WRITE_BLOCK_BYTES_MAX: u32 = 32;
const NAMES: &str = "key####";

impl Numbered {
    /// What its keys make of it. Values that are absent are filled in.
    ///
    /// Errors: values that it or the medium does not have.
    pub fn setup(&self, keys: &mut ZephyrKeys, medium: &Capabilities) -> Result<StoreSetup, MachineError> {
        demand_nor(medium, self.name, &format!("writes units of at most {WRITE_BLOCK_BYTES_MAX} bytes"))?;
        let (size, key) = (&mut keys.sector_size_bytes, self.keys.sector_size);
        let sector = sector_bytes(size, key, medium, self.sector_bytes_max, self.sectors_max)?;
        let written = write_block_bytes(&mut keys.write_block_bytes, self.keys.write_block)?;
        let names = number_names(&mut keys.names, self.keys.names)?;
        let code = store_code(self.name, self.keys.library, &keys.library)?;
        let settings = vec![("sector_size_B", sector.into()), ("write_block_B", written.into())];
        Ok(StoreSetup { name: self.name, code, settings, names: Some(names) })
    }
}

/// What the driver writes at once, which `key` says: 1 if it is absent, as `drivers/flash/spi_nor.c` has it.
///
/// Errors: none that the stores have.
pub(super) fn write_block_bytes(given: &mut Option<u32>, key: &'static str) -> Result<u32, MachineError> {
    let bytes = *given.get_or_insert(1);
    demand(bytes.is_power_of_two() && bytes <= WRITE_BLOCK_BYTES_MAX, key, bytes, || {
        format!("1, 2, 4, 8, 16 or {WRITE_BLOCK_BYTES_MAX}")
    })?;
    Ok(bytes)
}

/// By which names steps call keys that are numbers, which `key` says: "key####" if it is absent.
///
/// Errors: no pattern, or one with several places for the number.
fn number_names(given: &mut Option<String>, key: &'static str) -> Result<NumberNames, MachineError> {
    let pattern = given.get_or_insert_with(|| NAMES.to_string());
    let places = pattern.split(|letter| letter != '#').filter(|run| !run.is_empty()).count();
    if places != 1 {
        return Err(MachineError::word(key, pattern, "one run of # that stands for the number, as in \"key####\""));
    }
    Ok(NumberNames { pattern: pattern.clone(), name: |pattern, number| path_of_many("", pattern, number) })
}
