//! Stores of keys and values of sources that a user has: what their keys and settings have in common.

use super::on_bare::{demand, no_library, refuse_options, OnBare, PathSettings};
use super::stores::StoreGround;
use crate::bare::BareKeys;
use crate::error::MachineError;
use ffslab_bare::paths::Make;
use ffslab_foreign::{StoreCode, StoreSetup};
use ffslab_fs::{PathFileSystem, WithoutFiles};
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_stores::is_blank;
use ffslab_system::SystemError;
use std::path::Path;
use std::sync::Arc;

/// A store of a library, as its own file describes it.
pub(super) struct LoadedStore {
    /// Tables of `[stack]`.
    pub own_keys: &'static [&'static str],
    pub sectors_max: u32,
    /// What the keys make of it on a medium as it sees it. Values that are absent are filled in.
    pub setup: fn(&mut BareKeys, &Capabilities) -> Result<StoreSetup, MachineError>,
}

impl OnBare for LoadedStore {
    fn own_keys(&self) -> &'static [&'static str] {
        self.own_keys
    }

    fn settings(&self, keys: &mut BareKeys, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let ground = StoreGround::of(&mut keys.store, medium, self.sectors_max)?;
        let setup = (self.setup)(keys, &ground.seen(medium))?;
        Ok(Arc::new(LoadedSettings { setup, ground }))
    }
}

/// The code that `key` names.
///
/// Errors: there is none of this store.
pub(super) fn code(fs: &'static str, key: &'static str, library: &str) -> Result<StoreCode, MachineError> {
    StoreCode::load(Path::new(library), fs).map_err(|error| no_library(key, fs, error))
}

/// What a store erases and collects at once, which `key` says: an erase block if it is absent.
///
/// Errors: none that the medium and the store have, or too few or too many of them.
pub(super) fn sector_bytes(
    given: &mut Option<u32>,
    key: &'static str,
    medium: &Capabilities,
    bytes_max: u32,
    sectors_max: u32,
) -> Result<u32, MachineError> {
    let block = medium.erase_block_bytes;
    let sector = *given.get_or_insert(block);
    demand(sector > 0 && sector.is_multiple_of(block) && sector <= bytes_max, key, sector, || {
        format!("a multiple of the {block} bytes that the medium erases, at most {bytes_max}")
    })?;
    let sectors = u64::from(medium.blocks) * u64::from(block) / u64::from(sector);
    demand((2..=u64::from(sectors_max)).contains(&sectors), "partition_blocks", medium.blocks, || {
        format!("2 to {sectors_max} sectors of {sector} bytes")
    })?;
    Ok(sector)
}

/// Errors: a medium that is no NOR. `why`: what the store does to it.
pub(super) fn demand_nor(medium: &Capabilities, fs: &str, why: &str) -> Result<(), MachineError> {
    demand(medium.program_bytes == 1 && medium.clears_bits_again, "fs", format!("\"{fs}\""), || {
        format!(
            "it needs NOR flash, since it {why}, and this medium programs {} bytes at once. Take a NOR \
             part (part = \"w25q128jv\"), or a page map below the store (store.translation = \"page-map\")",
            medium.program_bytes
        )
    })
}

#[derive(Debug)]
struct LoadedSettings {
    setup: StoreSetup,
    ground: StoreGround,
}

impl Make for LoadedSettings {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        refuse_options(self.setup.name, options, "a store of keys and values has no read-only mounts: leave it out")?;
        let store = self.setup.mount(&self.ground.nor(medium, false)?).map_err(SystemError::unusable)?;
        Ok(Box::new(WithoutFiles(Box::new(store))))
    }

    /// New flash is an empty store.
    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        let nor = self.ground.nor(medium, true)?;
        if is_blank(&nor) {
            return Ok(());
        }
        self.setup.format(&nor).map_err(SystemError::unusable)
    }

    fn is_new(&self, medium: &Mtd) -> bool {
        is_blank(medium)
    }
}
