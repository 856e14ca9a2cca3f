//! Volumes whose superblocks say where they begin and end.

use crate::format::ImageFs;
use std::ops::Range;

/// All volumes in an image, in their order. Where two claim the same bytes the first one has them.
pub fn volumes(image: &[u8], formats: &[ImageFs]) -> Vec<(ImageFs, Range<usize>)> {
    let of = |fs: &ImageFs| fs.format().places(image).into_iter().map(|place| (*fs, place)).collect::<Vec<_>>();
    let mut found: Vec<(ImageFs, Range<usize>)> = formats.iter().flat_map(of).collect();
    found.sort_by_key(|(_, place)| place.start);
    let mut end = 0;
    found.retain(|(_, place)| {
        let is_free = place.start >= end;
        end = if is_free { place.end } else { end };
        is_free
    });
    found
}

/// Whether an image begins with a volume of this file system, and something stands behind it.
pub fn ends_early(image: &[u8], fs: ImageFs) -> bool {
    let places = fs.format().places(image);
    places.first().is_some_and(|place| place.start == 0 && !is_padding(&image[place.end..]))
}

/// Whether nothing stands there: tools fill with either value.
pub fn is_padding(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0xFF) || bytes.iter().all(|&byte| byte == 0)
}
