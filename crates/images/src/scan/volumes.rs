//! What all volumes of block devices have in common: they have areas instead of erase blocks.

use super::{BlockFacts, Scanned};
use crate::format::Layout;

/// The areas of a volume, of which nothing is known yet.
pub fn begin(layout: &Layout) -> Scanned {
    Scanned {
        blocks: (0..layout.blocks).map(|block| BlockFacts { block, ..BlockFacts::default() }).collect(),
        ..Scanned::default()
    }
}

/// Describes the content of each area by the number of bytes in use.
pub fn finish(scanned: &mut Scanned) {
    for facts in &mut scanned.blocks {
        let (used, free) = (facts.valid_bytes.unwrap_or(0), facts.free_bytes.unwrap_or(0));
        facts.invalid_bytes = Some(0);
        facts.holds = if used == 0 && free > 0 { "free".to_string() } else { "in use".to_string() };
    }
    scanned.notes.push(
        "a block file system: the blocks are areas of equal size, and nothing in them waits to be collected"
            .to_string(),
    );
}
