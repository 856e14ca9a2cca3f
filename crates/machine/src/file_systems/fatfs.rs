//! FatFs, of sources that a user has, on flash by one of several translations.

use super::descriptor::{Descriptor, Promises};
use super::foreign::{self, open_files};
use super::on_bare::{demand, no_library, OnBare, PathSettings};
use super::sectors::{wrong_cluster, SectorKeys, TranslationName, OF_FATFS};
use crate::error::MachineError;
use crate::own_tables::{OwnKeys, OwnTables};
use ffslab_foreign::{Code, Settings, Setup};
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

pub static FATFS: Descriptor = Descriptor {
    name: "fatfs",
    title: "FatFs",
    about: "the C code of ChaN's FatFs, compiled by `ffslab foreign build fatfs`: FAT on sectors that a translation brings to flash",
    mountable: None,
    on_rtems: None,
    on_bare: Some(&Loaded),
    image: None,
    promises: Promises {
        keeps_synced: false,
        about: "tables and directories are overwritten in place: a power cut can leave lost clusters, and without a translation it takes a whole erase block",
        ..Promises::SYNCED
    },
};

/// What FatFs is built, formatted and mounted with, as in `[stack.fatfs]` (`docs/fatfs.md`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatfsKeys {
    /// The library that `ffslab foreign build fatfs` made of your sources, relative to the experiment.
    pub library: String,
    /// What stands below it: "none", "wear-levelling", "dhara", "page-map"; "none" if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translation: Option<TranslationName>,
    /// With "dhara": the library that `ffslab foreign build dhara` made, relative to the experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dhara_library: Option<String>,
    /// With "none": a sector. Absent: an erase block, or 512 bytes or a page where that is larger than FAT can take.
    #[serde(rename = "sector_size_B", default, skip_serializing_if = "Option::is_none")]
    pub sector_size_bytes: Option<u32>,
    /// What `f_mkfs` is told of the size of a cluster; absent or 0: it chooses one.
    #[serde(rename = "cluster_size_B", default, skip_serializing_if = "Option::is_none")]
    pub cluster_size_bytes: Option<u32>,
    /// Copies of the allocation table: 1 or 2; 2 if absent.
    #[serde(rename = "tables", default, skip_serializing_if = "Option::is_none")]
    pub table_copies: Option<u32>,
    /// Entries of the root directory of FAT12 and FAT16; absent or 0: 512.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_entries: Option<u32>,
    /// Files that can be open at once; 16 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u32>,
    /// With "wear-levelling": erases after which a block moves; 16 if absent.
    #[serde(rename = "update_rate", default, skip_serializing_if = "Option::is_none")]
    pub update_erases: Option<u32>,
    /// With "dhara": garbage collections for each write, of which more leave more room; 4 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_ratio: Option<u32>,
    /// With "page-map": share of the erase blocks that FAT does not see, for garbage collection; 0.15 if absent.
    #[serde(rename = "spare", default, skip_serializing_if = "Option::is_none")]
    pub spare_share: Option<f64>,
}

const TABLES: u32 = 2;
const ROOT_ENTRIES_MAX: u32 = 65_535;

impl OwnKeys for FatfsKeys {
    fn files_mut(&mut self) -> Vec<&mut String> {
        std::iter::once(&mut self.library).chain(self.dhara_library.as_mut()).collect()
    }
}

impl FatfsKeys {
    fn sectors(&mut self) -> SectorKeys<'_> {
        SectorKeys {
            names: OF_FATFS,
            translation: &mut self.translation,
            sector_size_bytes: &mut self.sector_size_bytes,
            update_erases: &mut self.update_erases,
            dhara_library: &self.dhara_library,
            gc_ratio: &mut self.gc_ratio,
            spare_share: &mut self.spare_share,
        }
    }

    /// What the library calls so. Values that are absent are filled in.
    ///
    /// Errors: values that FAT does not have.
    fn settings(&mut self, sector_bytes: u32) -> Result<Settings, MachineError> {
        let cluster = *self.cluster_size_bytes.get_or_insert(0);
        let tables = *self.table_copies.get_or_insert(TABLES);
        let root = *self.root_entries.get_or_insert(0);
        let wrong = wrong_cluster(cluster, sector_bytes);
        demand(wrong.is_none(), "fatfs.cluster_size_B", cluster, || wrong.unwrap_or_default())?;
        demand((1..=2).contains(&tables), "fatfs.tables", tables, || "1 or 2".to_string())?;
        demand(root <= ROOT_ENTRIES_MAX, "fatfs.root_entries", root, || format!("at most {ROOT_ENTRIES_MAX}"))?;
        let files = open_files(&mut self.open_files, "fatfs.open_files")?;
        Ok(vec![
            ("cluster_size_B", cluster.into()),
            ("tables", tables.into()),
            ("root_entries", root.into()),
            ("open_files", files.into()),
        ])
    }
}

struct Loaded;

impl OnBare for Loaded {
    fn own_keys(&self) -> &'static [&'static str] {
        &["fatfs"]
    }

    fn settings(&self, tables: &mut OwnTables, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let hint = "`ffslab foreign build fatfs --source DIR` makes one of your sources";
        let Some(keys) = tables.of::<FatfsKeys>("fatfs") else {
            return Err(MachineError::Without { key: "fs = \"fatfs\"", other: "fatfs.library", hint });
        };
        let (translation, sector_bytes) = keys.sectors().translation(medium)?;
        let settings = keys.settings(sector_bytes)?;
        let loaded = Code::load(Path::new(&keys.library));
        let code = loaded.map_err(|error| no_library("fatfs.library", FATFS.name, error))?;
        let setup = Setup { fs: FATFS.name, code, settings, translation };
        Ok(foreign::settings(setup, "no read-only mount of FatFs is simulated: leave it out"))
    }
}
