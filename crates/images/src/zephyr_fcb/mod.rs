//! Zephyr's FCB (flash circular buffer): a log of entries in a ring of sectors, also that in which Zephyr's settings keep their values.
//!
//! **Follows.** Of Zephyr `subsys/fs/fcb` (`fcb_priv.h`, `fcb.c`, `fcb_append.c`, `fcb_elem_info.c`: headers, lengths, check sums, order of
//! sectors) and `subsys/settings/src/settings_fcb.c` (an entry is `name=value`, the newest counts, one without a value is a deletion).
//!
//! **Leaves out.** Flash whose erased bytes are 0x00. Settings of Zephyr before 1.14, whose values are in base64: they are shown so.

mod log;
mod store;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::key_values::{self, is_possible, layout};
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, Tree, TreeError};
use log::Geometry;
use store::Partition;

/// How they are recognised, read and explained.
pub struct InImages;

/// The sizes of a log whose sectors have these bytes.
fn sizes(image: &[u8], layout: &Layout) -> Option<Geometry> {
    log::find(image, Some(layout.block_bytes as usize), true).map(|(geometry, _)| geometry)
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "sector of Zephyr's FCB"
    }

    /// Its magic number is one of the program's, and its entries have check sums of eight bits, so that all others are asked first.
    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::FewHeaders]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        if !is_possible(given) {
            return None;
        }
        let said = given.block_bytes.map(|bytes| bytes as usize);
        let (geometry, entries) = log::find(image, said, given.fs.is_some())?;
        let mut layout = layout(fs, geometry.sector_bytes as u32, image, given);
        if geometry.has_fixed_ends {
            layout = layout.unchecked(
                "this FCB was written without check sums, so that nothing checks its entries: a changed bit in them does not show",
            );
        }
        let said = crate::recognise::said(given, said.is_some(), "with them entries follow each other");
        Some(layout.because(format!("{entries} entries end with what they should")).because(format!(
            "sectors of {} B, written in units of {} B, are {said}",
            geometry.sector_bytes, geometry.unit_bytes
        )))
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let geometry = sizes(image, layout).ok_or_else(|| TreeError::refused("no entry ends with what it should"))?;
        Ok(key_values::tree(&Partition::of(image, geometry).store, image, content))
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let Some(geometry) = sizes(image, layout) else { return };
        let partition = Partition::of(image, geometry);
        let used = || partition.sectors.iter().filter(|sector| sector.id.is_some());
        scanned.fact("sector size, B", geometry.sector_bytes);
        scanned.fact("sectors", partition.sectors.len());
        scanned.fact("sectors in use", used().count());
        scanned.fact("write block size, B", geometry.unit_bytes);
        scanned.fact("magic number", format!("{:#010x}", geometry.magic));
        scanned.fact("entries", if partition.has_settings { "settings, as name=value" } else { "of a log" });
        scanned.fact("right entries", used().map(|sector| sector.right().count()).sum::<usize>());
        scanned.fact("deletions", partition.deletions_count);
        scanned.fact("free, B", partition.free_bytes);
        for (facts, sector) in scanned.blocks.iter_mut().zip(&partition.sectors) {
            facts.holds = match sector.id {
                Some(id) => format!("number {id}"),
                None if sector.is_erased => "erased".to_string(),
                None => "damaged".to_string(),
            };
        }
        key_values::scan(&partition.store, image, layout, scanned);
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        key_values::cut_off(image, layout, "a sector")
    }
}
