//! SPIFFS, of sources that a user has.

use super::descriptor::{Descriptor, Promises};
use super::foreign::{self, open_files};
use super::on_bare::{demand, no_library, OnBare, PathSettings};
use crate::error::MachineError;
use crate::own_tables::{OwnKeys, OwnTables};
use ffslab_foreign::{Code, Settings, Setup, Translation};
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub static SPIFFS: Descriptor = Descriptor {
    name: "spiffs",
    title: "SPIFFS",
    about: "the C code of SPIFFS, compiled by `ffslab foreign build spiffs`: pages with indices, no directories",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded),
    image: Some(&ffslab_images::spiffs::InImages),
    promises: Promises {
        keeps_synced: false,
        about: "pages are written in place of others without a journal: SPIFFS_check may have to repair what a power cut leaves",
        ..Promises::SYNCED
    },
};

/// What SPIFFS is built and mounted with, as in `[stack.spiffs]` (`docs/spiffs.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpiffsKeys {
    /// The library that `ffslab foreign build spiffs` made of your sources, relative to the experiment.
    pub library: String,
    /// What it erases and collects at once: one or several erase blocks of the medium, which is one if absent.
    #[serde(rename = "log_block_size_B", default, skip_serializing_if = "Option::is_none")]
    pub log_block_size_bytes: Option<u32>,
    /// Its page; 256 if absent.
    #[serde(rename = "log_page_size_B", default, skip_serializing_if = "Option::is_none")]
    pub log_page_size_bytes: Option<u32>,
    /// Pages of its cache; 4 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_pages: Option<u32>,
    /// Files that can be open at once; 16 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
}

const PAGE_BYTES: u32 = 256;
/// A page holds a header and something after it; a block is a whole number of pages, and each has an entry in its look-up page.
const PAGE_BYTES_MIN: u32 = 64;
const CACHE_PAGES: u32 = 4;
const CACHE_PAGES_MAX: u32 = 32;
/// With 16 bits for the number of a page.
const PAGES_MAX: u64 = 1 << 16;

impl OwnKeys for SpiffsKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        vec![&mut self.library]
    }
}

impl SpiffsKeys {
    fn code(&self) -> Result<Code, MachineError> {
        let loaded = Code::load(Path::new(&self.library));
        loaded.map_err(|error| no_library("spiffs.library", SPIFFS.name, error))
    }

    /// What the library calls so, on such a medium. Values that are absent are filled in.
    ///
    /// Errors: values that SPIFFS or the medium does not have.
    fn settings(&mut self, medium: &Capabilities) -> Result<Settings, MachineError> {
        let needs = "a medium is needed whose bits can be cleared one after the other: NOR";
        demand(medium.clears_bits_again, "fs", "spiffs", || needs.to_string())?;
        let page = *self.log_page_size_bytes.get_or_insert(PAGE_BYTES);
        let block = *self.log_block_size_bytes.get_or_insert(medium.erase_block_bytes);
        let cache = *self.cache_pages.get_or_insert(CACHE_PAGES);
        demand(page.is_power_of_two() && page >= PAGE_BYTES_MIN, "spiffs.log_page_size_B", page, || {
            format!("a power of two, {PAGE_BYTES_MIN} at least")
        })?;
        demand(block > 0 && block.is_multiple_of(medium.erase_block_bytes), "spiffs.log_block_size_B", block, || {
            format!("a multiple of the {} bytes that the medium erases", medium.erase_block_bytes)
        })?;
        demand(block / page >= 8, "spiffs.log_block_size_B", block, || format!("8 pages of {page} bytes at least"))?;
        let medium_bytes = u64::from(medium.blocks) * u64::from(medium.erase_block_bytes);
        demand(medium_bytes >= 3 * u64::from(block), "partition_blocks", medium.blocks, || {
            format!("3 blocks of {block} bytes at least")
        })?;
        demand(medium_bytes / u64::from(page) <= PAGES_MAX, "spiffs.log_page_size_B", page, || {
            format!("the partition has more than {PAGES_MAX} such pages, which SPIFFS cannot number")
        })?;
        demand(cache <= CACHE_PAGES_MAX, "spiffs.cache_pages", cache, || format!("at most {CACHE_PAGES_MAX}"))?;
        let files = open_files(&mut self.open_files, "spiffs.open_files")?;
        Ok(vec![
            ("log_page_size_B", page.into()),
            ("log_block_size_B", block.into()),
            ("cache_pages", cache.into()),
            ("open_files", files.into()),
        ])
    }
}

struct Loaded;

impl OnBare for Loaded {
    fn own_keys(&self) -> &'static [&'static str] {
        &["spiffs"]
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let hint = "`ffslab foreign build spiffs --source DIR` makes one of your sources";
        let Some(keys) = tables.of::<SpiffsKeys>("spiffs") else {
            return Err(MachineError::Without { key: "fs = \"spiffs\"", other: "spiffs.library", hint });
        };
        let settings = keys.settings(medium)?;
        let setup = Setup { fs: SPIFFS.name, code: keys.code()?, settings, translation: Translation::Flash };
        Ok(foreign::settings(setup, "SPIFFS has no read-only mounts: leave it out"))
    }
}
