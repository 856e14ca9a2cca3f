//! Images of YAFFS2, read as they stand, page by page.

use crate::format::Layout;
use crate::scan::{Hit, Scanned};
use ffslab_yaffs2::probe::{self, Claims, PageKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// Where a header has the name (`struct yaffs_obj_hdr`).
const NAME: Range<usize> = 10..10 + 256;

pub fn scan(image: &[u8], layout: &Layout, scanned: &mut Scanned) {
    let Some(probe) = layout.yaffs2 else { return };
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut objects = std::collections::BTreeSet::new();
    let mut claims = Claims::default();
    for block in 0..layout.blocks {
        if scanned.blocks[block as usize].is_bad == Some(true) {
            continue;
        }
        if image[layout.place(block, image)].iter().all(|&byte| byte == 0) {
            scanned.damaged(block, layout.offset_in_image(block, 0), "a block of zeros");
            scanned.blocks[block as usize].holds = "zeros".to_string();
            continue;
        }
        let mut sequence = None;
        let mut of_block: BTreeMap<&str, u32> = BTreeMap::new();
        for (index, page) in image[layout.place(block, image)].chunks(layout.stride_bytes()).enumerate() {
            let Some(tags) = probe.look(page) else { continue };
            if !probe.tags_ecc && !probe.is_inband() {
                claims.take(&probe, page, layout.offset_in_image(block, index as u32 * layout.page_bytes));
            }
            let name = match tags.kind {
                PageKind::Header => "object header",
                PageKind::Data => "data",
                PageKind::Summary => "block summary",
                PageKind::Checkpoint => "checkpoint",
                PageKind::BadBlock => "bad block",
                PageKind::Damage(what) => {
                    let offset = layout.offset_in_image(block, index as u32 * layout.page_bytes);
                    // Without right tags nobody knows whose page it is.
                    let hits =
                        (tags.chunk == 0 && probe.tags_are_right(page)).then(|| Hit::new(tags.object, None, None));
                    scanned.damaged_part(block, offset, what, hits);
                    "damaged"
                }
            };
            *counts.entry(name).or_default() += 1;
            *of_block.entry(name).or_default() += 1;
            if tags.kind == PageKind::Header {
                objects.insert(tags.object);
            }
            if ffslab_yaffs2::probe::PageTags::SEQUENCES.contains(&tags.sequence)
                && !matches!(tags.kind, PageKind::Damage(_))
            {
                if sequence.is_some_and(|first| first != tags.sequence) {
                    let offset = layout.offset_in_image(block, index as u32 * layout.page_bytes);
                    scanned.damaged(block, offset, "a page whose sequence number is not that of its block");
                }
                sequence = sequence.or(Some(tags.sequence));
            }
        }
        let facts = &mut scanned.blocks[block as usize];
        facts.sequence = sequence;
        let parts: Vec<String> = of_block.iter().map(|(name, count)| format!("{count} {name}")).collect();
        facts.holds = if parts.is_empty() { "erased".to_string() } else { parts.join(", ") };
    }
    for (offset, why) in claims.doubts(&probe) {
        let block = (offset / layout.stored_block_bytes() as u64) as u32;
        scanned.damaged(block, offset, format!("{why}: its tags have no ECC, and a bit in them may have flipped"));
    }
    if let Some((block, twin)) = repeated(image, layout, &probe, scanned) {
        let what = format!(
            "a block with the sequence number of block {twin}: what stands in both is of two YAFFS2 (read one of them, with --offset and \
             --size in bytes of page data), or one of them is a copy; which is newer nothing tells"
        );
        scanned.damaged(block, layout.offset_in_image(block, 0), what);
    }
    let sequences: Vec<u32> = scanned.blocks.iter().filter_map(|facts| facts.sequence).collect();
    for (name, count) in counts {
        scanned.fact(&format!("{name} pages"), count);
    }
    scanned.fact("objects with a header", objects.len());
    if let (Some(&low), Some(&high)) = (sequences.iter().min(), sequences.iter().max()) {
        let first = ffslab_yaffs2::probe::PageTags::SEQUENCES.start;
        let taken = u64::from(high.saturating_sub(first)) + 1;
        scanned.fact("lowest sequence number", low);
        scanned.fact("highest sequence number", high);
        scanned.fact("blocks taken to be written since the format", taken);
        scanned.fact("of them per block", taken as f64 / f64::from(layout.blocks.max(1)));
    }
}

/// A block whose sequence number an earlier one has, and that one. A YAFFS2 counts them up with each block that it begins
/// (`yaffs_find_alloc_block` of `yaffs_guts.c`); makers of images give all blocks the lowest one, and then no two of them have headers
/// of one object under different names.
fn repeated(image: &[u8], layout: &Layout, probe: &probe::Layout, scanned: &Scanned) -> Option<(u32, u32)> {
    let mut first_of: BTreeMap<u32, u32> = BTreeMap::new();
    let mut lowest = Vec::new();
    let low = scanned.blocks.iter().filter_map(|facts| facts.sequence).min()?;
    for facts in &scanned.blocks {
        let Some(sequence) = facts.sequence else { continue };
        if sequence == low {
            lowest.push(facts.block);
        } else if let Some(&twin) = first_of.get(&sequence) {
            return Some((facts.block, twin));
        }
        first_of.insert(sequence, facts.block);
    }
    let mut names: BTreeMap<u32, (u32, &[u8])> = BTreeMap::new();
    for block in lowest {
        for page in image[layout.place(block, image)].chunks(layout.stride_bytes()) {
            let Some(tags) = probe.look(page).filter(|tags| tags.kind == PageKind::Header) else { continue };
            let (twin, name) = *names.entry(tags.object).or_insert((block, &page[NAME]));
            if twin != block && name != &page[NAME] {
                return Some((block, twin));
            }
        }
    }
    None
}
