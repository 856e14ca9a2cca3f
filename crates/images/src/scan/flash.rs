//! What all images of raw flash have in common: bad blocks, and an end within a block.

use super::{BlockFacts, Scanned};
use crate::format::Layout;

pub fn begin(image: &[u8], layout: &Layout) -> Scanned {
    let marks_are_none = layout.marks_are_none(image);
    let mut scanned = Scanned {
        blocks: (0..layout.blocks).map(|block| BlockFacts { block, ..BlockFacts::default() }).collect(),
        bad_blocks: if marks_are_none { None } else { bad_blocks(image, layout) },
        ..Scanned::default()
    };
    if marks_are_none {
        scanned.notes.push(
            "the byte of the OOB area that marks bad blocks is other than 0xFF in most blocks: it is no mark in this image"
                .to_string(),
        );
    }
    if let Some(bad) = &scanned.bad_blocks {
        scanned.blocks.iter_mut().for_each(|facts| facts.is_bad = Some(false));
        for &block in bad {
            scanned.blocks[block as usize].is_bad = Some(true);
            scanned.blocks[block as usize].holds = "bad".to_string();
        }
    }
    if layout.blocks > 0 && !image.len().is_multiple_of(layout.stored_block_bytes()) {
        let last = layout.place(layout.blocks - 1, image).len();
        scanned.notes.push(format!("the last erase block has only {last} of {} B", layout.stored_block_bytes()));
    }
    scanned
}

/// The numbers of the blocks whose first or second page has a bad block mark: a byte other than 0xFF, which is the
/// first of the OOB area, or the sixth if the pages are small (`drivers/mtd/nand/raw/nand_base.c`). `None`: the image
/// has no OOB areas, or their first bytes are tags, as `mkyaffs2image` writes them.
fn bad_blocks(image: &[u8], layout: &Layout) -> Option<Vec<u32>> {
    if layout.oob_bytes == 0 || layout.tags_offset == Some(layout.page_bytes) {
        return None;
    }
    Some((0..layout.blocks).filter(|&block| layout.has_bad_mark(block, image)).collect())
}
