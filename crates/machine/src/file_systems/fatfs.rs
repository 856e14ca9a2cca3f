//! FatFs, of sources that a user has, on flash by one of several translations.

use super::descriptor::{Descriptor, Promises};
use super::foreign::{self, open_files};
use super::on_bare::{demand, no_library, OnBare, PathSettings};
use crate::bare::BareKeys;
use crate::error::MachineError;
use ffslab_foreign::{wear_levelling_capacity_bytes, Code, DharaCode, Settings, Setup, Translation};
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

/// How sectors come to lie on flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TranslationName {
    /// Each where its number says; a write reads, erases and programs an erase block.
    #[serde(rename = "none")]
    None,
    /// ESP-IDF's wear levelling.
    #[serde(rename = "wear-levelling")]
    WearLevelling,
    /// Dhara of your sources.
    #[serde(rename = "dhara")]
    Dhara,
}

/// What FatFs is built, formatted and mounted with, as in `[stack.fatfs]` (`docs/fatfs.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FatfsKeys {
    /// The library that `ffslab foreign build fatfs` made of your sources, relative to the experiment.
    pub library: String,
    /// What stands below it: "none", "wear-levelling", "dhara"; "none" if absent.
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
}

const SECTOR_BYTES_MIN: u32 = 512;
const SECTOR_BYTES_MAX: u32 = 4096;
const CLUSTER_SECTORS_MAX: u32 = 128;
const TABLES: u32 = 2;
const ROOT_ENTRIES_MAX: u32 = 65_535;
/// `WL_DEFAULT_UPDATERATE` of ESP-IDF.
const UPDATE_RATE: u32 = 16;
const UPDATE_RATE_MAX: u32 = 65_535;
const GC_RATIO: u32 = 4;
const GC_RATIO_MAX: u32 = 255;

impl FatfsKeys {
    /// Files that keys name.
    pub fn files_mut(&mut self) -> impl Iterator<Item = &mut String> {
        std::iter::once(&mut self.library).chain(self.dhara_library.as_mut())
    }

    /// The translation on such a medium, and its sectors. Values that are absent are filled in.
    ///
    /// Errors: a medium that it does not work on, keys of another one.
    fn translation(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let name = *self.translation.get_or_insert(TranslationName::None);
        let others = [
            ("fatfs.sector_size_B", self.sector_size_bytes.is_some(), TranslationName::None, "none"),
            ("fatfs.update_rate", self.update_erases.is_some(), TranslationName::WearLevelling, "wear-levelling"),
            ("fatfs.dhara_library", self.dhara_library.is_some(), TranslationName::Dhara, "dhara"),
            ("fatfs.gc_ratio", self.gc_ratio.is_some(), TranslationName::Dhara, "dhara"),
        ];
        if let Some((key, _, _, owner)) = others.iter().find(|(_, given, owner, _)| *given && *owner != name) {
            let needed = format!("it says something with fatfs.translation = \"{owner}\" alone: leave it out");
            return Err(MachineError::Value { key, value: "...".to_string(), needed });
        }
        match name {
            TranslationName::None => self.direct(medium),
            TranslationName::WearLevelling => self.wear_levelling(medium),
            TranslationName::Dhara => self.dhara(medium),
        }
    }

    fn direct(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let usual = match medium.erase_block_bytes {
            block @ ..=SECTOR_BYTES_MAX => block,
            _ => medium.program_bytes.max(SECTOR_BYTES_MIN),
        };
        let sector_bytes = *self.sector_size_bytes.get_or_insert(usual);
        demand(
            is_sector(sector_bytes) && medium.erase_block_bytes.is_multiple_of(sector_bytes),
            "fatfs.sector_size_B",
            sector_bytes,
            || {
                format!(
                    "512, 1024, 2048 or 4096, of which erase blocks of {} bytes are whole numbers",
                    medium.erase_block_bytes
                )
            },
        )?;
        Ok((Translation::Direct { sector_bytes }, sector_bytes))
    }

    fn wear_levelling(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let update_rate = *self.update_erases.get_or_insert(UPDATE_RATE);
        let sector_bytes = medium.erase_block_bytes;
        demand(medium.clears_bits_again && is_sector(sector_bytes), "fatfs.translation", "\"wear-levelling\"", || {
            "NOR with erase blocks of at most 4096 bytes is needed: erase_block_KiB = 4".to_string()
        })?;
        demand((1..=UPDATE_RATE_MAX).contains(&update_rate), "fatfs.update_rate", update_rate, || {
            format!("1 to {UPDATE_RATE_MAX}")
        })?;
        let size_bytes = u64::from(medium.blocks) * u64::from(sector_bytes);
        demand(wear_levelling_capacity_bytes(size_bytes, sector_bytes) > 0, "partition_blocks", medium.blocks, || {
            "the wear levelling takes four blocks and more, and leaves none for FAT".to_string()
        })?;
        Ok((Translation::WearLevelling { update_rate }, sector_bytes))
    }

    fn dhara(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let gc_ratio = *self.gc_ratio.get_or_insert(GC_RATIO);
        let sector_bytes = medium.program_bytes;
        let hint = "`ffslab foreign build dhara --source DIR` makes one of your sources";
        let Some(library) = &self.dhara_library else {
            let key = "fatfs.translation = \"dhara\"";
            return Err(MachineError::Without { key, other: "fatfs.dhara_library", hint });
        };
        demand(!medium.clears_bits_again && is_sector(sector_bytes), "fatfs.translation", "\"dhara\"", || {
            "NAND with pages of 512 to 4096 bytes is needed".to_string()
        })?;
        demand((1..=GC_RATIO_MAX).contains(&gc_ratio), "fatfs.gc_ratio", gc_ratio, || format!("1 to {GC_RATIO_MAX}"))?;
        let code =
            DharaCode::load(Path::new(library)).map_err(|error| no_library("fatfs.dhara_library", "dhara", error))?;
        Ok((Translation::Dhara { code, gc_ratio }, sector_bytes))
    }

    /// What the library calls so. Values that are absent are filled in.
    ///
    /// Errors: values that FAT does not have.
    fn settings(&mut self, sector_bytes: u32) -> Result<Settings, MachineError> {
        let cluster = *self.cluster_size_bytes.get_or_insert(0);
        let tables = *self.table_copies.get_or_insert(TABLES);
        let root = *self.root_entries.get_or_insert(0);
        let cluster_max = sector_bytes * CLUSTER_SECTORS_MAX;
        let is_cluster = cluster == 0 || (cluster.is_power_of_two() && (sector_bytes..=cluster_max).contains(&cluster));
        demand(is_cluster, "fatfs.cluster_size_B", cluster, || {
            format!("0, or a power of two from {sector_bytes} to {cluster_max}")
        })?;
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

/// Whether FAT can have sectors of this size.
fn is_sector(bytes: u32) -> bool {
    bytes.is_power_of_two() && (SECTOR_BYTES_MIN..=SECTOR_BYTES_MAX).contains(&bytes)
}

struct Loaded;

impl OnBare for Loaded {
    fn own_keys(&self) -> &'static [&'static str] {
        &["fatfs"]
    }

    fn settings(&self, keys: &mut BareKeys, medium: &Capabilities) -> Result<Arc<dyn PathSettings>, MachineError> {
        let hint = "`ffslab foreign build fatfs --source DIR` makes one of your sources";
        let Some(keys) = &mut keys.fatfs else {
            return Err(MachineError::Without { key: "fs = \"fatfs\"", other: "fatfs.library", hint });
        };
        let (translation, sector_bytes) = keys.translation(medium)?;
        let settings = keys.settings(sector_bytes)?;
        let loaded = Code::load(Path::new(&keys.library));
        let code = loaded.map_err(|error| no_library("fatfs.library", FATFS.name, error))?;
        let setup = Setup { fs: FATFS.name, code, settings, translation };
        Ok(foreign::settings(setup, "no read-only mount of FatFs is simulated: leave it out"))
    }
}
