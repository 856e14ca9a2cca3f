//! Zephyr's ZMS: values under numbers in a ring of sectors, with an allocation table at the end of each. Each sector has a header with a
//! cycle, so that memory without erases can be written again: entries of other cycles do not count.
//!
//! **Follows.** Of Zephyr `doc/services/storage/zms/zms.rst`, `subsys/kvss/zms/zms_priv.h` and `zms.c` (entries of 32 and 64 bits, which of
//! them count, order of sectors, what a start finds after a power cut), which were in `subsys/fs/zms`, and
//! `subsys/settings/include/settings/settings_zms.h` (names of settings).
//!
//! **Leaves out.** Sectors that are no multiple of 512 B.

mod geometry;
mod sector;
mod store;

use crate::format::{Evidence, Given, ImageFormat, ImageFs, Layout};
use crate::key_values::{self, is_possible, layout};
use crate::scan::Scanned;
use crate::tree::{Content, CutOff, Tree, TreeError};
use sector::{Form, Geometry, State};
use store::Partition;

/// How they are recognised, read and explained.
pub struct InImages;

/// The sizes of a store whose sectors have these bytes.
fn sizes(image: &[u8], layout: &Layout) -> Option<Geometry> {
    geometry::find(image, Some(layout.block_bytes as usize)).map(|(geometry, _)| geometry)
}

impl ImageFormat for InImages {
    fn sign(&self) -> &'static str {
        "sector of Zephyr's ZMS"
    }

    fn evidence(&self) -> &'static [Evidence] {
        &[Evidence::Headers]
    }

    fn recognise(&self, fs: ImageFs, image: &[u8], given: &Given, _evidence: Evidence) -> Option<Layout> {
        if !is_possible(given) {
            return None;
        }
        let said = given.block_bytes.map(|bytes| bytes as usize);
        let (geometry, headers) = geometry::find(image, said)?;
        let mut layout = layout(fs, geometry.sector_bytes as u32, image, given);
        if !geometry.has_data_crc {
            layout = layout.unchecked(
                "this ZMS was written without CONFIG_ZMS_DATA_CRC, so that nothing checks its values of more than a few bytes: a changed bit in them does not show",
            );
        }
        Some(layout.because(format!("{headers} sectors of {} B end with a right header", geometry.sector_bytes)))
    }

    fn read(&self, image: &[u8], layout: &Layout, content: Content) -> Result<Tree, TreeError> {
        let geometry = sizes(image, layout).ok_or_else(|| TreeError::refused("no sector ends with a right header"))?;
        Ok(key_values::tree(&Partition::of(image, geometry).store, image, content))
    }

    fn scan(&self, image: &[u8], layout: &Layout, scanned: &mut Scanned) {
        let Some(geometry) = sizes(image, layout) else { return };
        let partition = Partition::of(image, geometry);
        facts(&partition, scanned);
        for (facts, sector) in scanned.blocks.iter_mut().zip(&partition.sectors) {
            facts.holds = match sector.state {
                State::Erased => "erased",
                State::Headless => "damaged",
                State::Closed(_) => "closed",
                State::Open if sector.is_empty() => "empty",
                State::Open => "open",
            }
            .to_string();
        }
        key_values::scan(&partition.store, image, layout, scanned);
    }

    fn cut_off(&self, image: &[u8], layout: &Layout) -> Option<CutOff> {
        key_values::cut_off(image, layout, "a sector, whose table is at its end")
    }
}

fn facts(partition: &Partition, scanned: &mut Scanned) {
    let Geometry { sector_bytes, ate_bytes, form, has_data_crc } = partition.geometry;
    scanned.fact("sector size, B", sector_bytes);
    scanned.fact("sectors", partition.sectors.len());
    scanned.fact("entry of the table, B", ate_bytes);
    scanned.fact(
        "numbers",
        match form {
            Form::Narrow => "32 bits",
            Form::Early => "32 bits, before the size: of the first months of ZMS",
            Form::Wide => "64 bits",
        },
    );
    scanned.fact("check sums of values", if has_data_crc { "yes" } else { "no" });
    if let Some(number) = partition.written_sector_number {
        scanned.fact("sector that is written", number);
    }
    // On memory without erases it is how often the header was written.
    if let Some(count) = partition.sectors.iter().filter_map(|sector| sector.cycles_count).max() {
        scanned.fact("most cycles of a sector", count);
    }
    scanned.fact("entries", partition.sectors.iter().map(|sector| sector.ates().count()).sum::<usize>());
    scanned.fact("deletions", partition.deletions_count);
    scanned.fact("free for values and their entries, B", partition.free_bytes);
}
