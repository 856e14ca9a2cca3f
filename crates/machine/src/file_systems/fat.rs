//! FAT of the crate `fatfs`, on flash by one of several translations.

use super::on_bare::{demand, refuse_options, OnBare, PathSettings};
use super::sectors::{wrong_cluster, SectorKeys, TranslationName, OF_FAT};
use crate::error::MachineError;
use crate::own_tables::{OwnKeys, OwnTables};
use crate::spec::EPOCH_S;
use ffslab_bare::paths::Make;
use ffslab_fat::{format, Config, Fat, FatType};
use ffslab_foreign::Translation;
use ffslab_fs::PathFileSystem;
use ffslab_mtd::{Capabilities, Mtd};
use ffslab_system::SystemError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Width of an entry of the allocation table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FatTypeName {
    #[serde(rename = "FAT12")]
    Fat12,
    #[serde(rename = "FAT16")]
    Fat16,
    #[serde(rename = "FAT32")]
    Fat32,
}

/// What FAT is made and mounted with, as in `[stack.fat]` (`docs/fat.md`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatKeys {
    /// What stands below it: "none", "wear-levelling", "dhara", "page-map"; "none" if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationName>,
    /// With "none": a sector. Absent: an erase block, or 512 bytes or a page where that is larger than FAT can take.
    #[serde(rename = "sector_size_B", default, skip_serializing_if = "Option::is_none")]
    pub sector_size_bytes: Option<u32>,
    /// With "wear-levelling": erases after which a block moves; 16 if absent.
    #[serde(rename = "update_rate", default, skip_serializing_if = "Option::is_none")]
    pub update_erases: Option<u32>,
    /// With "dhara": the library that `ffslab foreign build dhara` made, relative to the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhara_library: Option<String>,
    /// With "dhara": garbage collections for each write, of which more leave more room; 4 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_ratio: Option<u32>,
    /// With "page-map": share of the erase blocks that FAT does not see, for garbage collection; 0.15 if absent.
    #[serde(rename = "spare", default, skip_serializing_if = "Option::is_none")]
    pub spare_share: Option<f64>,
    /// A cluster; absent or 0: the crate chooses by the size of the volume.
    #[serde(rename = "cluster_size_B", default, skip_serializing_if = "Option::is_none")]
    pub cluster_size_bytes: Option<u32>,
    /// "FAT12", "FAT16" or "FAT32", which the number of clusters must make it. Absent: what it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fat_type: Option<FatTypeName>,
    /// Copies of the allocation table: 1 or 2; 2 if absent.
    #[serde(rename = "tables", default, skip_serializing_if = "Option::is_none")]
    pub table_copies: Option<u32>,
    /// Entries of the root directory of FAT12 and FAT16; 512 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_entries: Option<u32>,
    /// Sectors that stay in RAM; 4 if absent.
    #[serde(rename = "cache_sectors", default, skip_serializing_if = "Option::is_none")]
    pub cache_sectors_count: Option<u32>,
    /// Whether there is a clock. Without it, which is so if absent, entries have no date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<bool>,
    /// With `clock`: a read changes the date of the last access; false if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_accessed_date: Option<bool>,
}

const ROOT_ENTRIES_MAX: u32 = 65_535;
const CACHE_SECTORS_MAX: u32 = 1024;

impl OwnKeys for FatKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        self.dhara_library.iter_mut().collect()
    }
}

impl FatKeys {
    fn sectors(&mut self) -> SectorKeys<'_> {
        SectorKeys {
            names: OF_FAT,
            translation: &mut self.translation,
            sector_size_bytes: &mut self.sector_size_bytes,
            update_erases: &mut self.update_erases,
            dhara_library: &self.dhara_library,
            gc_ratio: &mut self.gc_ratio,
            spare_share: &mut self.spare_share,
        }
    }

    /// Values that are absent are filled in.
    ///
    /// Errors: values that FAT does not have.
    fn config(&mut self, sector_bytes: u32) -> Result<Config, MachineError> {
        let usual = Config::default();
        let cluster = *self.cluster_size_bytes.get_or_insert(0);
        let tables = *self.table_copies.get_or_insert(usual.tables_count.into());
        let root = *self.root_entries.get_or_insert(usual.root_entries_count.into());
        let cache = *self.cache_sectors_count.get_or_insert(usual.cache_sectors_count as u32);
        let clock = *self.clock.get_or_insert(false);
        let accessed = *self.update_accessed_date.get_or_insert(false);
        let wrong = wrong_cluster(cluster, sector_bytes);
        demand(wrong.is_none(), "fat.cluster_size_B", cluster, || wrong.unwrap_or_default())?;
        demand((1..=2).contains(&tables), "fat.tables", tables, || "1 or 2".to_string())?;
        demand((1..=ROOT_ENTRIES_MAX).contains(&root), "fat.root_entries", root, || {
            format!("1 to {ROOT_ENTRIES_MAX}")
        })?;
        demand((1..=CACHE_SECTORS_MAX).contains(&cache), "fat.cache_sectors", cache, || {
            format!("1 to {CACHE_SECTORS_MAX}")
        })?;
        demand(clock || !accessed, "fat.update_accessed_date", accessed, || {
            "without a clock there is no date: clock = true".to_string()
        })?;
        Ok(Config {
            cluster_bytes: (cluster > 0).then_some(cluster),
            fat_type: self.fat_type.map(|name| match name {
                FatTypeName::Fat12 => FatType::Fat12,
                FatTypeName::Fat16 => FatType::Fat16,
                FatTypeName::Fat32 => FatType::Fat32,
            }),
            tables_count: tables as u8,
            root_entries_count: root as u16,
            cache_sectors_count: cache as usize,
            epoch_s: clock.then_some(EPOCH_S),
            update_accessed_date: accessed,
        })
    }
}

/// The crate, on flash.
pub(crate) struct Linked;

impl OnBare for Linked {
    fn own_keys(&self) -> &'static [&'static str] {
        &["fat"]
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let keys = tables.of::<FatKeys>("fat").get_or_insert_default();
        let (translation, sector_bytes) = keys.sectors().translation(medium)?;
        let config = keys.config(sector_bytes)?;
        Ok(Arc::new(Settings { translation, config }))
    }
}

#[derive(Debug)]
struct Settings {
    translation: Translation,
    config: Config,
}

impl Make for Settings {
    fn mount(&self, medium: &Mtd, options: &[String]) -> Result<Box<dyn PathFileSystem>, SystemError> {
        refuse_options("fat", options, "no read-only mount of FAT on flash is simulated: leave it out")?;
        Ok(Box::new(Fat::mount(medium, self.translation, &self.config).map_err(SystemError::unusable)?))
    }

    fn format(&self, medium: &Mtd) -> Result<(), SystemError> {
        format(medium, self.translation, &self.config).map_err(SystemError::unusable)
    }
}
