//! Images looked at as they stand, by the format that they are of.

use super::{flash, volumes, Damage, Scanned};
use crate::format::Layout;

/// At most so many pieces of damage are reported to a user who reads the files of an image.
const DAMAGE_TOLD_MAX: usize = 8;

/// Describes the damage of an image, a line for each piece; of much damage only the first pieces and the number of the
/// others. The files that the damage belongs to may be missing from the tree without any error, because a mount skips
/// broken nodes and pages. The image begins at `starts_at` in its file.
pub(crate) fn damage_of(image: &[u8], layout: &Layout, starts_at: usize) -> Vec<String> {
    let scanned = scan(image, layout);
    let told = scanned.damage.iter().take(DAMAGE_TOLD_MAX).map(|damage| {
        let Damage { block, offset, what, .. } = damage;
        let offset = offset + starts_at as u64;
        format!("block {block}, offset {offset:#x}: {what}: files or parts of them may be missing")
    });
    let mut told: Vec<String> = told.collect();
    let more = scanned.damage_count.saturating_sub(told.len() as u64);
    if more > 0 {
        told.push(format!("{more} more pieces of damage: ffslab inspect lists them"));
    }
    told
}

/// Looks at an image of this layout.
pub fn scan(image: &[u8], layout: &Layout) -> Scanned {
    let format = layout.fs.format();
    let mut scanned = if format.is_volume() { volumes::begin(layout) } else { flash::begin(image, layout) };
    format.scan(image, layout, &mut scanned);
    if format.is_volume() {
        volumes::finish(&mut scanned);
    }
    scanned
}
