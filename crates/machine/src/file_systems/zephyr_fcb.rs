//! Zephyr's FCB, a log of entries, of a tree that a user has: its keys.

use super::demands::{demand_nor, sector_bytes, store_code};
use super::zephyr::{write_block_bytes, WRITE_BLOCK_BYTES_MAX};
use crate::error::MachineError;
use crate::own_tables::OwnKeys;
use ffslab_foreign::StoreSetup;
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) const NAME: &str = "zephyr-fcb";
/// The count of sectors has 8 bits (`f_sector_cnt` of `fcb.h`).
pub(super) const SECTORS_MAX: u32 = u8::MAX as u32;
const SECTOR_BYTES_MAX: u32 = 1 << 31;

/// What Zephyr's FCB is built and mounted with, as in `[stack.zephyr_fcb]` (`docs/key-value.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZephyrFcbKeys {
    /// The library that `ffslab foreign build zephyr-fcb` made of your tree, relative to the experiment.
    pub library: String,
    /// What it erases at once: one or several erase blocks of the medium, which is one if absent.
    #[serde(rename = "sector_size_B", default, skip_serializing_if = "Option::is_none")]
    pub sector_size_bytes: Option<u32>,
    /// What the driver writes at once: 1, 2, 4, 8, 16 or 32; 1 if absent, as the driver of SPI NOR has it.
    #[serde(rename = "write_block_B", default, skip_serializing_if = "Option::is_none")]
    pub write_block_bytes: Option<u32>,
    /// What is done with an entry for which no sector is left; "stop" if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_full: Option<WhenFull>,
}

/// What a program does with an entry for which no sector of an FCB is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It gives up: there is no space.
    #[default]
    Stop,
    /// The oldest sector is erased with its entries, as a log does it.
    Rotate,
    /// What still counts of the oldest sector is appended to one that was kept empty, and then it is erased, as Zephyr's settings do it.
    Compress,
}

impl OwnKeys for ZephyrFcbKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.library]
    }
}

impl ZephyrFcbKeys {
    /// Values that are absent are filled in.
    ///
    /// Errors: values that FCB or the medium does not have.
    pub(super) fn setup(&mut self, medium: &Capabilities) -> Result<StoreSetup, MachineError> {
        demand_nor(medium, NAME, &format!("writes units of at most {WRITE_BLOCK_BYTES_MAX} bytes"))?;
        let (size, key) = (&mut self.sector_size_bytes, "zephyr_fcb.sector_size_B");
        let sector = sector_bytes(size, key, medium, SECTOR_BYTES_MAX, SECTORS_MAX)?;
        let written = write_block_bytes(&mut self.write_block_bytes, "zephyr_fcb.write_block_B")?;
        let when_full = *self.when_full.get_or_insert_default();
        let code = store_code(NAME, "zephyr_fcb.library", &self.library)?;
        // `enum when_full` of `fcb_log.c`.
        let settings =
            vec![("sector_size_B", sector.into()), ("write_block_B", written.into()), ("when_full", when_full as i64)];
        Ok(StoreSetup { name: NAME, code, settings, names: None })
    }
}
