//! FlashDB's store of keys and values (KVDB), of a tree that a user has.

use super::descriptor::Descriptor;
use super::loaded_stores::{code, demand_nor, sector_bytes, LoadedStore};
use super::on_bare::demand;
use super::stores::EACH_CALL;
use crate::bare::BareKeys;
use crate::error::MachineError;
use ffslab_foreign::StoreSetup;
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub static FLASHDB: Descriptor = Descriptor {
    name: "flashdb",
    title: "FlashDB",
    about: "the C code of FlashDB, compiled by `ffslab foreign build flashdb`: values under names in a ring of sectors",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&LoadedStore { own_keys: &["store", "flashdb"], sectors_max: SECTORS_MAX, setup }),
    image: None,
    promises: EACH_CALL,
};

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
const SECTORS_MAX: u32 = 1 << 20;
const SECTOR_BYTES_MAX: u32 = 1 << 31;

fn setup(keys: &mut BareKeys, medium: &Capabilities) -> Result<StoreSetup, MachineError> {
    let hint = "`ffslab foreign build flashdb --source DIR` makes one of your tree";
    let none = MachineError::Without { key: "fs = \"flashdb\"", other: "flashdb.library", hint };
    let keys = keys.flashdb.as_mut().ok_or(none)?;
    demand_nor(medium, FLASHDB.name, "writes units of at most 32 bytes, or clears bit after bit")?;
    let sector = sector_bytes(&mut keys.sector_size_bytes, SECTOR_KEY, medium, SECTOR_BYTES_MAX, SECTORS_MAX)?;
    demand(sector.is_power_of_two(), SECTOR_KEY, sector, || "a power of two".to_string())?;
    let code = code(FLASHDB.name, "flashdb.library", &keys.library)?;
    let settings = vec![("sector_size_B", sector.into())];
    Ok(StoreSetup { name: FLASHDB.name, code, settings, names: None })
}
