//! littlefs.

use super::descriptor::{Descriptor, Promises};
use super::on_bare::{no_library, refuse_options, OnBare, PathSettings};
use crate::error::MachineError;
use crate::own_tables::{OwnKeys, OwnTables};
use ffslab_bare::paths::Make;
use ffslab_fs::PathFileSystem;
use ffslab_littlefs::{format_by, Config, ConfigError, Littlefs, MountError, Version, DISK_VERSION, DISK_VERSION_MIN};
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_system::SystemError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub static LITTLEFS: Descriptor = Descriptor {
    name: "littlefs",
    title: "littlefs",
    about: "the C code of littlefs v2: logs of pairs of blocks for directories, backward lists of blocks for files",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Linked),
    image: Some(&ffslab_images::littlefs::InImages),
    promises: Promises {
        about:
            "what was synced or closed is there as it was then; a file that is open otherwise holds what it held before",
        may_refuse_unfinished: true,
        ..Promises::SYNCED
    },
};

/// The configuration of littlefs (`struct lfs_config`), as in `[stack.littlefs]`. Without the table it has that of a usual port for
/// the medium (`docs/littlefs.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LittlefsKeys {
    /// A library that `ffslab foreign build littlefs` made of other sources, relative to the experiment: another version of
    /// littlefs than 2.9, or one that was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// What it erases at once: one or several erase blocks of the medium, which is one if absent.
    #[serde(rename = "block_size_B", default, skip_serializing_if = "Option::is_none")]
    pub block_size_bytes: Option<u32>,
    /// Smallest read. Absent: a page of NAND, 128 bytes of NOR.
    #[serde(rename = "read_size_B", default, skip_serializing_if = "Option::is_none")]
    pub read_size_bytes: Option<u32>,
    /// Smallest program. Absent: a page of NAND, 128 bytes of NOR.
    #[serde(rename = "prog_size_B", default, skip_serializing_if = "Option::is_none")]
    pub prog_size_bytes: Option<u32>,
    /// Of the caches of reads, of programs and of each open file. Absent: a page, at least 512 bytes.
    #[serde(rename = "cache_size_B", default, skip_serializing_if = "Option::is_none")]
    pub cache_size_bytes: Option<u32>,
    /// Of the map of free blocks, a bit for each; 128 if absent.
    #[serde(rename = "lookahead_size_B", default, skip_serializing_if = "Option::is_none")]
    pub lookahead_size_bytes: Option<u32>,
    /// Erases after which the log of a directory moves to other blocks; -1: never; 512 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_cycles: Option<i32>,
    /// Of a block how much the log of a directory may fill; absent or 0: all of it.
    #[serde(rename = "metadata_max_B", default, skip_serializing_if = "Option::is_none")]
    pub metadata_max_bytes: Option<u32>,
    /// Largest file that stands in its directory; absent or 0: as large as can be; -1: none.
    #[serde(rename = "inline_max_B", default, skip_serializing_if = "Option::is_none")]
    pub inline_max_bytes: Option<i64>,
    /// From which length on its own garbage collection compacts logs; -1: never; absent or 0: from 88 % of a block on.
    #[serde(rename = "compact_thresh_B", default, skip_serializing_if = "Option::is_none")]
    pub compact_thresh_bytes: Option<i64>,
    /// Longest name; absent or 0: 255.
    #[serde(rename = "name_max_B", default, skip_serializing_if = "Option::is_none")]
    pub name_max_bytes: Option<u32>,
    /// Of the format: "2.0" or "2.1", which is the newest and taken if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_version: Option<String>,
}

impl OwnKeys for LittlefsKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        self.library.as_mut().into_iter().collect()
    }
}

impl LittlefsKeys {
    /// The littlefs of the key `library`, or the one that is built in.
    ///
    /// Errors: it cannot be loaded.
    fn version(&self) -> Result<Version, MachineError> {
        let Some(library) = &self.library else { return Ok(Version::LINKED) };
        let loaded = Version::load(Path::new(library));
        loaded.map_err(|error| no_library("littlefs.library", LITTLEFS.name, error))
    }

    /// The configuration on such a medium. Values that are absent are filled in.
    ///
    /// Errors: values that littlefs or the medium does not have.
    fn config(&mut self, medium: &Capabilities) -> Result<Config, MachineError> {
        let usual = Config::usual(medium);
        let read = *self.read_size_bytes.get_or_insert(usual.read_size_bytes);
        let prog = *self.prog_size_bytes.get_or_insert(usual.prog_size_bytes);
        let config = Config {
            read_size_bytes: read,
            prog_size_bytes: prog,
            // With larger reads or programs than usual the cache cannot be the usual one.
            cache_size_bytes: *self.cache_size_bytes.get_or_insert(usual.cache_size_bytes.max(read).max(prog)),
            block_size_bytes: *self.block_size_bytes.get_or_insert(usual.block_size_bytes),
            lookahead_size_bytes: *self.lookahead_size_bytes.get_or_insert(usual.lookahead_size_bytes),
            block_cycles: *self.block_cycles.get_or_insert(usual.block_cycles),
            metadata_max_bytes: *self.metadata_max_bytes.get_or_insert(usual.metadata_max_bytes),
            inline_max_bytes: or_none("inline_max_B", *self.inline_max_bytes.get_or_insert(0))?,
            compact_thresh_bytes: or_none("compact_thresh_B", *self.compact_thresh_bytes.get_or_insert(0))?,
            name_max_bytes: *self.name_max_bytes.get_or_insert(usual.name_max_bytes),
            disk_version: match self.disk_version.get_or_insert_with(|| "2.1".to_string()).as_str() {
                "2.0" => DISK_VERSION_MIN,
                "2.1" => DISK_VERSION,
                other => return Err(MachineError::word("littlefs.disk_version", other, "known are 2.0 and 2.1")),
            },
        };
        config.check(medium).map_err(|ConfigError { key, value, needed }| {
            let key = KEYS.iter().find(|known| known.ends_with(key)).copied().unwrap_or("partition_blocks");
            MachineError::Value { key, value, needed }
        })?;
        Ok(config)
    }
}

/// Its keys as messages write them.
const KEYS: [&str; 11] = [
    "littlefs.block_size_B",
    "littlefs.read_size_B",
    "littlefs.prog_size_B",
    "littlefs.cache_size_B",
    "littlefs.lookahead_size_B",
    "littlefs.block_cycles",
    "littlefs.metadata_max_B",
    "littlefs.inline_max_B",
    "littlefs.compact_thresh_B",
    "littlefs.name_max_B",
    "littlefs.disk_version",
];

/// A limit of which -1 stands for none.
fn or_none(key: &'static str, bytes: i64) -> Result<u32, MachineError> {
    match bytes {
        -1 => Ok(u32::MAX),
        _ => u32::try_from(bytes).ok().filter(|&bytes| bytes < u32::MAX).ok_or_else(|| MachineError::Value {
            key: KEYS.iter().find(|known| known.ends_with(key)).copied().unwrap_or(key),
            value: bytes.to_string(),
            needed: "bytes, or -1, are needed".to_string(),
        }),
    }
}

struct Linked;

impl OnBare for Linked {
    fn own_keys(&self) -> &'static [&'static str] {
        &["littlefs"]
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let keys = tables.of::<LittlefsKeys>("littlefs").get_or_insert_default();
        let version = keys.version()?;
        Ok(Arc::new(LittlefsSettings { version, config: keys.config(medium)? }))
    }
}

#[derive(Debug)]
struct LittlefsSettings {
    version: Version,
    config: Config,
}

impl Make for LittlefsSettings {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        refuse_options(LITTLEFS.name, options, "littlefs has no read-only mounts: leave it out")?;
        Ok(Box::new(Littlefs::mount_by(self.version, medium, &self.config).map_err(refused)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        format_by(self.version, medium, &self.config).map_err(refused)
    }
}

fn refused(error: MountError) -> SystemError {
    SystemError::unusable(error)
}
