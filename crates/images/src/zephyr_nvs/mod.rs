//! Zephyr's NVS: values under numbers in a ring of sectors, with an allocation table at the end of each.
//!
//! **Follows.** Of Zephyr `subsys/fs/nvs/nvs.c` and `nvs_priv.h`, which are in `subsys/kvss/nvs` since 2026 (entries, which of them count,
//! order of sectors, what a start finds after a power cut, check sums of values), `include/zephyr/fs/nvs.h`, and
//! `subsys/settings/include/settings/settings_nvs.h` (names of settings).
//!
//! **Leaves out.** Flash whose erased bytes are 0x00. Which of two settings is meant where a name is stored twice: Zephyr takes either.

mod geometry;
mod sector;
mod store;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::key_values::{self, is_possible, layout};
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, Tree, TreeError};
use sector::{Close, Geometry};
use store::Partition;

/// How they are recognised, read and explained.
pub struct InImages;

/// The sizes of a store whose sectors have these bytes.
fn sizes(image: &[u8], layout: &Layout) -> Option<Geometry> {
    geometry::find(image, Some(layout.block_bytes as usize), true).map(|(geometry, _)| geometry)
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "sector of Zephyr's NVS"
    }

    /// Its entries have check sums of eight bits, so that all others are asked first.
    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::FewHeaders]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        if !is_possible(given) {
            return None;
        }
        let said = given.block_bytes.map(|bytes| bytes as usize);
        let (geometry, ates) = geometry::find(image, said, given.fs.is_some())?;
        let mut layout = layout(fs, geometry.sector_bytes as u32, image, given);
        if !geometry.has_data_crc {
            layout = layout.unchecked(
                "this NVS was written without CONFIG_NVS_DATA_CRC, so that nothing checks its values: a changed bit in them does not show",
            );
        }
        let said = crate::recognise::said(given, said.is_some(), "with them entries and data stand where they say");
        Some(layout.because(format!("{ates} entries of allocation tables have right check sums")).because(format!(
            "sectors of {} B with entries of {} B are {said}",
            geometry.sector_bytes, geometry.ate_bytes
        )))
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let geometry = sizes(image, layout).ok_or_else(no_entries)?;
        Ok(key_values::tree(&Partition::of(image, geometry).store, image, content))
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let Some(geometry) = sizes(image, layout) else { return };
        let partition = Partition::of(image, geometry);
        facts(&partition, scanned);
        for (facts, sector) in scanned.blocks.iter_mut().zip(&partition.sectors) {
            facts.holds = match sector.close {
                _ if sector.is_erased => "erased",
                Close::At(_) => "closed",
                Close::Damaged => "damaged",
                Close::Open => "open",
            }
            .to_string();
        }
        key_values::scan(&partition.store, image, layout, scanned);
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        key_values::cut_off(image, layout, "a sector, whose table is at its end")
    }
}

fn no_entries() -> TreeError {
    TreeError::refused("no entry of an allocation table has a right check sum")
}

fn facts(partition: &Partition, scanned: &mut Scanned) {
    let Geometry { sector_bytes, ate_bytes, has_data_crc } = partition.geometry;
    scanned.fact("sector size, B", sector_bytes);
    scanned.fact("sectors", partition.sectors.len());
    scanned.fact("entry of the table, B", ate_bytes);
    scanned.fact("write block size, B", partition.write_block_text());
    scanned.fact("check sums of values", if has_data_crc { "yes" } else { "no" });
    if let Some(number) = partition.written_sector_number {
        scanned.fact("sector that is written", number);
    }
    scanned.fact("entries", partition.sectors.iter().map(|sector| sector.ates().count()).sum::<usize>());
    scanned.fact("deletions", partition.deletions_count);
    scanned.fact("free for values and their entries, B", partition.free_bytes);
}
