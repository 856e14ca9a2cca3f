//! What stands between flash and a file system that overwrites sectors: the keys that `[stack.fat]`, `[stack.fatfs]` and `[stack.store]` have in common.

use super::on_bare::{demand, no_library};
use crate::error::MachineError;
use ffslab_foreign::{page_map_pages, wear_levelling_capacity_bytes, DharaCode, Translation};
use ffslab_mtd::Capabilities;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;

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
    /// A page map in the program's RAM.
    #[serde(rename = "page-map")]
    PageMap,
}

/// What the keys are called in messages.
pub(super) struct Names {
    table: &'static str,
    translation: &'static str,
    on_dhara: &'static str,
    sector_size: &'static str,
    update_rate: &'static str,
    dhara_library: &'static str,
    gc_ratio: &'static str,
    spare: &'static str,
}

/// Those of a table of `[stack]`.
macro_rules! names {
    ($table:literal) => {
        $crate::file_systems::sectors::Names {
            table: $table,
            translation: concat!($table, ".translation"),
            on_dhara: concat!($table, ".translation = \"dhara\""),
            sector_size: concat!($table, ".sector_size_B"),
            update_rate: concat!($table, ".update_rate"),
            dhara_library: concat!($table, ".dhara_library"),
            gc_ratio: concat!($table, ".gc_ratio"),
            spare: concat!($table, ".spare"),
        }
    };
}

pub(super) const OF_FAT: Names = names!("fat");
pub(super) const OF_FATFS: Names = names!("fatfs");
pub(super) const OF_STORE: Names = names!("store");

/// The keys of a table. Values that are absent are filled in.
pub(super) struct SectorKeys<'a> {
    pub names: Names,
    pub translation: &'a mut Option<TranslationName>,
    pub sector_size_bytes: &'a mut Option<u32>,
    pub update_erases: &'a mut Option<u32>,
    pub dhara_library: &'a Option<String>,
    pub gc_ratio: &'a mut Option<u32>,
    pub spare_share: &'a mut Option<f64>,
}

const SECTOR_BYTES_MIN: u32 = 512;
const SECTOR_BYTES_MAX: u32 = 4096;
const CLUSTER_SECTORS_MAX: u32 = 128;
/// `WL_DEFAULT_UPDATERATE` of ESP-IDF.
const UPDATE_RATE: u32 = 16;
const UPDATE_RATE_MAX: u32 = 65_535;
const GC_RATIO: u32 = 4;
const GC_RATIO_MAX: u32 = 255;
/// Of the erase blocks, for the garbage collection of a page map.
const SPARE_SHARE: f64 = 0.15;

impl SectorKeys<'_> {
    /// The translation on such a medium, and its sectors, in bytes.
    ///
    /// Errors: a medium that it does not work on, keys of another one.
    pub fn translation(mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let name = *self.translation.get_or_insert(TranslationName::None);
        let others = [
            (self.names.sector_size, self.sector_size_bytes.is_some(), TranslationName::None, "none"),
            (self.names.update_rate, self.update_erases.is_some(), TranslationName::WearLevelling, "wear-levelling"),
            (self.names.dhara_library, self.dhara_library.is_some(), TranslationName::Dhara, "dhara"),
            (self.names.gc_ratio, self.gc_ratio.is_some(), TranslationName::Dhara, "dhara"),
            (self.names.spare, self.spare_share.is_some(), TranslationName::PageMap, "page-map"),
        ];
        if let Some((key, _, _, owner)) = others.iter().find(|(_, given, owner, _)| *given && *owner != name) {
            let needed =
                format!("it says something with {}.translation = \"{owner}\" alone: leave it out", self.names.table);
            return Err(MachineError::Value { key, value: "...".to_string(), needed });
        }
        match name {
            TranslationName::None => self.direct(medium),
            TranslationName::WearLevelling => self.wear_levelling(medium),
            TranslationName::Dhara => self.dhara(medium),
            TranslationName::PageMap => self.page_map(medium),
        }
    }

    fn direct(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let usual = match medium.erase_block_bytes {
            block @ ..=SECTOR_BYTES_MAX => block,
            _ => medium.program_bytes.max(SECTOR_BYTES_MIN),
        };
        let sector_bytes = *self.sector_size_bytes.get_or_insert(usual);
        let is_part = is_sector(sector_bytes) && medium.erase_block_bytes.is_multiple_of(sector_bytes);
        demand(is_part, self.names.sector_size, sector_bytes, || {
            let block_bytes = medium.erase_block_bytes;
            format!("512, 1024, 2048 or 4096, of which erase blocks of {block_bytes} bytes are whole numbers")
        })?;
        Ok((Translation::Direct { sector_bytes }, sector_bytes))
    }

    fn wear_levelling(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let update_rate = *self.update_erases.get_or_insert(UPDATE_RATE);
        let sector_bytes = medium.erase_block_bytes;
        let fits = medium.clears_bits_again && is_sector(sector_bytes);
        demand(fits, self.names.translation, "\"wear-levelling\"", || {
            "NOR with erase blocks of at most 4096 bytes is needed: erase_block_KiB = 4".to_string()
        })?;
        demand((1..=UPDATE_RATE_MAX).contains(&update_rate), self.names.update_rate, update_rate, || {
            format!("1 to {UPDATE_RATE_MAX}")
        })?;
        let size_bytes = u64::from(medium.blocks) * u64::from(sector_bytes);
        demand(wear_levelling_capacity_bytes(size_bytes, sector_bytes) > 0, "partition_blocks", medium.blocks, || {
            "the wear levelling takes four blocks and more, and leaves none for FAT".to_string()
        })?;
        Ok((Translation::WearLevelling { update_rate }, sector_bytes))
    }

    /// Errors: NOR, pages that are no sectors.
    fn demand_pages(&self, medium: &Capabilities, value: &str) -> Result<u32, MachineError> {
        let sector_bytes = medium.program_bytes;
        demand(!medium.clears_bits_again && is_sector(sector_bytes), self.names.translation, value, || {
            "NAND with pages of 512 to 4096 bytes is needed".to_string()
        })?;
        Ok(sector_bytes)
    }

    fn dhara(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let gc_ratio = *self.gc_ratio.get_or_insert(GC_RATIO);
        let hint = "`ffslab foreign build dhara --source DIR` makes one of your sources";
        let Some(library) = self.dhara_library else {
            return Err(MachineError::Without { key: self.names.on_dhara, other: self.names.dhara_library, hint });
        };
        let sector_bytes = self.demand_pages(medium, "\"dhara\"")?;
        demand((1..=GC_RATIO_MAX).contains(&gc_ratio), self.names.gc_ratio, gc_ratio, || {
            format!("1 to {GC_RATIO_MAX}")
        })?;
        let loaded = DharaCode::load(Path::new(library));
        let code = loaded.map_err(|error| no_library(self.names.dhara_library, "dhara", error))?;
        Ok((Translation::Dhara { code, gc_ratio }, sector_bytes))
    }

    fn page_map(&mut self, medium: &Capabilities) -> Result<(Translation, u32), MachineError> {
        let spare_share = *self.spare_share.get_or_insert(SPARE_SHARE);
        let sector_bytes = self.demand_pages(medium, "\"page-map\"")?;
        let logical_pages = page_map_pages(medium, spare_share);
        let is_share = (0.0..1.0).contains(&spare_share) && logical_pages > 0;
        demand(is_share, self.names.spare, spare_share, || "a share is needed, such as 0.15".to_string())?;
        Ok((Translation::PageMap { logical_pages }, sector_bytes))
    }
}

/// Whether FAT can have sectors of this size.
fn is_sector(bytes: u32) -> bool {
    bytes.is_power_of_two() && (SECTOR_BYTES_MIN..=SECTOR_BYTES_MAX).contains(&bytes)
}

/// What is needed of a cluster beside being a power of two; `None`: it is right.
pub(super) fn wrong_cluster(cluster_bytes: u32, sector_bytes: u32) -> Option<String> {
    let most = sector_bytes * CLUSTER_SECTORS_MAX;
    let fits =
        cluster_bytes == 0 || (cluster_bytes.is_power_of_two() && (sector_bytes..=most).contains(&cluster_bytes));
    (!fits).then(|| format!("0, or a power of two from {sector_bytes} to {most}"))
}
