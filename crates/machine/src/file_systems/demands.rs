//! What keys of file systems have to be, and what a library that one names: below the keys of all of them.

use crate::error::MachineError;
use ffslab_foreign::{LoadError, StoreCode};
use ffslab_mtd::Capabilities;
use std::path::Path;

/// Errors: a value that is not as it is needed.
pub(super) fn demand(
    holds: bool,
    key: &'static str,
    value: impl ToString,
    needed: impl FnOnce() -> String,
) -> Result<(), MachineError> {
    if holds {
        Ok(())
    } else {
        Err(MachineError::Value { key, value: value.to_string(), needed: needed() })
    }
}

/// Why the library that a key names cannot be used. `adapter` is what `ffslab foreign build` makes it of.
pub(super) fn no_library(key: &'static str, adapter: &str, error: LoadError) -> MachineError {
    match error {
        LoadError::Unloadable { file, why } => {
            // The loader names the file once more.
            let why = why.strip_prefix(&format!("{file}: ")).unwrap_or(&why);
            let needed = format!("{why}: `ffslab foreign build {adapter}` makes a library of your sources");
            MachineError::word(key, &file, needed)
        }
        LoadError::Limit { file, why } => MachineError::word(key, &file, why),
        LoadError::Absent { file } => {
            let needed = format!("there is no such file: `ffslab foreign build {adapter}` makes it of your sources");
            MachineError::word(key, &file, needed)
        }
        LoadError::OtherStore { file, store } => {
            let needed =
                format!("it is a library of {store}: `ffslab foreign build {adapter}` makes one of your sources");
            MachineError::word(key, &file, needed)
        }
        LoadError::OtherAbi { file } => {
            let needed =
                format!("it was built for another ffslab: build it again with `ffslab foreign build {adapter}`");
            MachineError::word(key, &file, needed)
        }
    }
}

/// The code that `key` names.
///
/// Errors: there is none of this store.
pub(super) fn store_code(fs: &'static str, key: &'static str, library: &str) -> Result<StoreCode, MachineError> {
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
