//! What the stores can be told, and what they demand of a medium.

use ffslab_mtd::Capabilities;
use thiserror::Error;

/// Why a store does not take a configuration or a medium: the key, its value, what is needed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} = {value}: {needed}")]
pub struct ConfigError {
    pub key: &'static str,
    pub value: String,
    pub needed: String,
}

/// Refuses what does not hold.
pub(crate) fn demand(
    holds: bool,
    key: &'static str,
    value: impl ToString,
    needed: impl FnOnce() -> String,
) -> Result<(), ConfigError> {
    if holds {
        Ok(())
    } else {
        Err(ConfigError { key, value: value.to_string(), needed: needed() })
    }
}

/// A medium that programs any bytes, and clears further bits of what it has programmed. `why` says what of the store NAND cannot do.
pub(crate) fn demand_nor(store: &str, why: &str, medium: &Capabilities) -> Result<(), ConfigError> {
    demand(medium.program_bytes == 1 && medium.clears_bits_again, "fs", format!("\"{store}\""), || {
        format!(
            "it needs NOR flash, which programs single bytes, and this medium programs {} bytes at once: {why}. Take a NOR part (part = \"w25q128jv\"), a page \
             map below the store (store.translation = \"page-map\"), or a file system for NAND, on which set and get work, too (fs = \"littlefs\")",
            medium.program_bytes
        )
    })
}

/// An erase block of one of these sizes.
pub(crate) fn demand_block(store: &str, medium: &Capabilities, known: &[u32]) -> Result<(), ConfigError> {
    let bytes = medium.erase_block_bytes;
    demand(known.contains(&bytes), "erase_block_KiB", bytes >> 10, || {
        let known: Vec<String> = known.iter().map(|bytes| (bytes >> 10).to_string()).collect();
        format!("{store} is compiled here for erase blocks of {} KiB", known.join(", "))
    })
}

/// At least so many erase blocks.
pub(crate) fn demand_blocks(store: &str, medium: &Capabilities, least: u32, most: u32) -> Result<(), ConfigError> {
    demand((least..=most).contains(&medium.blocks), "partition_blocks", medium.blocks, || {
        format!("{store} needs {least} to {most} erase blocks")
    })
}
