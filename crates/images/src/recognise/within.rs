//! Volumes whose superblocks say where they end, in an image that holds more: a kernel before them, another image behind them, an
//! overlay. What stands between is unknown data.

use super::part::{own_name, whole, Part, UNKNOWN};
use super::superblocks::{is_padding, volumes};
use super::{content, recognise, Given};
use crate::format::{BlockLook, ImageFs};
use crate::unrecognised::Unrecognised;
use std::ops::Range;

/// The partitions of an image that holds a volume and something behind it. `None`: it does not.
pub fn several(image: &[u8], given: &Given, formats: &[ImageFs]) -> Option<Vec<Part>> {
    let asked: Vec<ImageFs> = formats.iter().copied().filter(|fs| given.fs.is_none_or(|given| given == *fs)).collect();
    let found = volumes(image, &asked);
    let (_, first) = found.first()?;
    let (_, last) = found.last()?;
    if (found.len() == 1 && is_padding(&image[last.end..])) || are_files(image, first.start, given, formats) {
        return None;
    }
    let mut parts = Vec::new();
    add_to(&mut parts, image, 0..image.len(), given, formats);
    parts.retain(|part| given.fs.is_none_or(|fs| part.layout.as_ref().is_ok_and(|layout| layout.fs == fs)));
    (!parts.is_empty()).then_some(parts)
}

/// Whether the volumes in an image, the first of which begins there, are files of a file system or volumes of UBI, because something of
/// that stands before them.
fn are_files(image: &[u8], first_at: usize, given: &Given, formats: &[ImageFs]) -> bool {
    let Ok(Part { layout: Ok(layout), place_bytes: place, .. }) = whole(image, given, formats) else { return false };
    if place.start >= first_at {
        return false;
    }
    let before = &image[place.start..first_at];
    let (page_bytes, oob_bytes) = (layout.page_bytes, layout.oob_bytes);
    let Some(owns) = layout.fs.format().block_owner(&image[place], page_bytes, oob_bytes) else {
        // Its superblock stands at its start.
        return true;
    };
    let mut stored = (0..layout.blocks).map(|block| (&before[layout.place(block, before)], layout.data(block, before)));
    stored.any(|(stored, data)| owns(&BlockLook { stored, data: &data, page_bytes, oob_bytes }).is_some())
}

/// Adds what stands in a place of the image: volumes, each with the padding behind it, and what nobody knows.
pub fn add_to(parts: &mut Vec<Part>, image: &[u8], place: Range<usize>, given: &Given, formats: &[ImageFs]) {
    let held = &image[place.clone()];
    let found = volumes(held, formats);
    let mut at = 0;
    for (number, (fs, volume)) in found.iter().enumerate() {
        if volume.start > at {
            unknown(parts, image, place.start + at..place.start + volume.start);
        }
        let next = found.get(number + 1).map_or(held.len(), |(_, next)| next.start);
        at = if is_padding(&held[volume.end..next]) { next } else { volume.end };
        let place_bytes = place.start + volume.start..place.start + at;
        let given = Given { fs: Some(*fs), starts_at_bytes: place_bytes.start as u64, ..*given };
        let layout = recognise(&image[place_bytes.clone()], &given, formats);
        push(parts, fs.name(), place_bytes, layout);
    }
    if at < held.len() {
        unknown(parts, image, place.start + at..place.end);
    }
}

fn unknown(parts: &mut Vec<Part>, image: &[u8], mut place: Range<usize>) {
    // Blocks of nobody and the start of one in which a volume begins are one thing.
    if let Some(before) = parts.pop_if(|part| part.layout.is_err() && part.place_bytes.end == place.start) {
        place.start = before.place_bytes.start;
    }
    let holds = content::described(&image[place.clone()]);
    push(parts, UNKNOWN, place, Err(Unrecognised::NoFileSystem { holds }));
}

fn push(parts: &mut Vec<Part>, name: &str, place_bytes: Range<usize>, layout: Result<super::Layout, Unrecognised>) {
    let (offset_bytes, size_bytes) = (place_bytes.start as u64, place_bytes.len() as u64);
    parts.push(Part { name: own_name(parts, name), offset_bytes, size_bytes, place_bytes, layout });
}
