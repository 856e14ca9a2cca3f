//! FAT that stands on the pages of a flash as they are, in a dump with the OOB areas between them. Nothing in FAT says how large pages are,
//! but it has two equal tables, and the mark of a bad block is erased in the OOB areas of good ones.

use super::plain::Plain;
use crate::areas::data_areas;
use crate::format::Given;
use crate::recognise::strides;
use crate::rtems_volumes::fat;
use ffslab_mtd::is_erased;

/// So many pages with a mark and data show that there is one; fewer may be chance.
const MARKED_PAGES_MIN: usize = 4;

/// The page data alone. Sizes that are given are not looked for.
pub fn undo(image: &[u8], given: &Given) -> Option<Plain> {
    let volume = Volume::of(image)?;
    let with_oob = Given { has_oob: Some(true), ..*given };
    let mut sizes = strides(&with_oob).map(|(page, oob)| (page as usize, oob as usize));
    let (page, oob) = sizes.find(|&(page, oob)| volume.stands_on(image, page, oob) && has_marks(image, page, oob))?;
    Some(without_oob(image, page, oob))
}

/// As [`undo`], on pages whose sizes are known.
pub fn undo_of(image: &[u8], page: usize, oob: usize) -> Option<Plain> {
    Volume::of(image)?.stands_on(image, page, oob).then(|| without_oob(image, page, oob))
}

fn without_oob(image: &[u8], page: usize, oob: usize) -> Plain {
    let said = format!(
        "FAT stands on pages of {page} + {oob} B: the OOB areas were left out; positions in what follows are those of the volume, not of \
         the file"
    );
    Plain { image: data_areas(image, page, oob).into_owned(), said: vec![said], doubts: Vec::new() }
}

/// What the boot sector says, all in bytes.
struct Volume {
    tables_at: usize,
    table_bytes: usize,
    tables_count: u32,
    bytes: usize,
}

impl Volume {
    fn of(image: &[u8]) -> Option<Volume> {
        let boot = fat(image, image.len() as u64)?;
        let sector = boot.sector_bytes as usize;
        Some(Volume {
            tables_at: boot.reserved_sectors_count as usize * sector,
            table_bytes: boot.fat_sectors_count as usize * sector,
            tables_count: boot.fats_count,
            bytes: boot.sectors_count as usize * sector,
        })
    }

    /// Whether pages of these sizes hold it, and its tables are equal on them.
    fn stands_on(&self, image: &[u8], page: usize, oob: usize) -> bool {
        let stride = page + oob;
        if !image.len().is_multiple_of(stride) || image.len() / stride * page < self.bytes {
            return false;
        }
        let end = (self.tables_at + 2 * self.table_bytes).div_ceil(page) * stride;
        let tables = data_areas(&image[..image.len().min(end)], page, oob);
        let table = |number: usize| {
            tables.get(self.tables_at + number * self.table_bytes..self.tables_at + (number + 1) * self.table_bytes)
        };
        self.tables_count < 2 || table(0).is_some() && table(0) == table(1)
    }
}

/// Whether pages that hold something all have an erased mark of bad blocks (the first byte of the OOB area, of small pages the sixth), and
/// what stands there is not erased everywhere because the whole image is.
fn has_marks(image: &[u8], page: usize, oob: usize) -> bool {
    let mark_at = page + if page > 512 { 0 } else { 5 };
    // One value throughout, as of what was erased or filled, shows nothing.
    let holds = |bytes: &[u8]| bytes.iter().any(|byte| *byte != bytes[0]);
    let mut pages = image.chunks_exact(page + oob).filter(|stored| holds(&stored[page - 64..page]));
    let mut count = 0;
    pages.all(|stored| {
        count += 1;
        is_erased(&stored[mark_at..=mark_at])
    }) && count >= MARKED_PAGES_MIN
}
